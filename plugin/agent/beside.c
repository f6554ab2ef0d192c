/* beside.c - see beside.h. */
#include "beside.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include "confined.h"

#define LOCK_NAME "heapwired.lock"
#define LOG_NAME  "start.log"

enum { STACK_BYTES = 32 * 1024 };

/* heapwired's arguments; what they point at are the settings. */
struct job {
    const char *argv[BESIDE_OPTIONS_MAX + 4];
    int log; /* its stderr; -1: none */
};

/* ---- what is to be started ---- */

/* E2BIG, or 0. */
static int
collect(struct job *job, const struct agent_start *start)
{
    int count = 0;

    job->argv[count++] = agent_setting(start, AGENT_ENV_HEAPWIRED);
    job->argv[count++] = "--state-dir";
    job->argv[count++] = agent_setting(start, AGENT_ENV_STATE);
    for (const char *option = agent_setting(start, AGENT_ENV_OPTION); option;
         option = agent_next_setting(option, AGENT_ENV_OPTION)) {
        if (count == BESIDE_OPTIONS_MAX + 3)
            return E2BIG;
        job->argv[count++] = option;
    }
    job->argv[count] = NULL;
    return 0;
}

int
beside_check(const struct agent_start *start)
{
    const char *path = agent_setting(start, AGENT_ENV_HEAPWIRED);
    struct job job;

    if (!path)
        return 0;
    if (path[0] != '/')
        return EINVAL;
    return access(path, X_OK) != 0 ? errno : collect(&job, start);
}

/* ---- starting ---- */

static int
spawn(const struct job *job)
{
    static char path[] = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:"
                         "/usr/bin:/sbin:/bin",
                started[] = AGENT_ENV_STARTED "=1";
    char *const envp[] = {path, started, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attr;
    sigset_t none, all;
    pid_t pid;
    int error;

    sigemptyset(&none);
    sigfillset(&all);
    error = posix_spawn_file_actions_init(&actions);
    if (error != 0)
        return error;
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_RDWR, 0);
    if (job->log >= 0)
        posix_spawn_file_actions_adddup2(&actions, job->log, STDERR_FILENO);
    confined_add_closefrom(&actions, STDERR_FILENO + 1);
    error = posix_spawnattr_init(&attr);
    if (error == 0) {
        posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSID |
                                            POSIX_SPAWN_SETSIGMASK |
                                            POSIX_SPAWN_SETSIGDEF);
        posix_spawnattr_setsigmask(&attr, &none);
        posix_spawnattr_setsigdefault(&attr, &all);
        error = posix_spawn(&pid, job->argv[0], &actions, &attr,
                            (char *const *)job->argv, envp);
        posix_spawnattr_destroy(&attr);
    }
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

static int
between(void *arg)
{
    _exit(spawn(arg) != 0);
}

/* A process in between, in our memory like one of vfork(), which ends at once:
 * heapwired is init's.  It sends no signal when it ends, and only __WCLONE sees
 * it. */
static void
spawn_detached(struct job *job)
{
    _Alignas(16) char stack[STACK_BYTES];
    pid_t pid =
        clone(between, stack + sizeof(stack), CLONE_VM | CLONE_VFORK, job);

    while (pid > 0 && waitpid(pid, NULL, __WCLONE) < 0 && errno == EINTR)
        ;
}

static void
start_one(struct beside *beside)
{
    struct job job;

    if (collect(&job, beside->start) != 0)
        return;
    job.log = openat(beside->directory, LOG_NAME,
                     O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_NOFOLLOW |
                         O_NONBLOCK | O_CLOEXEC,
                     0600);
    if (job.log >= 0)
        agent_shared_add(job.log);
    spawn_detached(&job);
    if (job.log >= 0) {
        agent_shared_drop(job.log);
        close(job.log);
    }
}

/* Its lock is tried, and let go at once. */
static bool
is_served(const struct beside *beside)
{
    int fd = openat(beside->directory, LOCK_NAME,
                    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    bool locked;

    if (fd < 0)
        return false;
    locked = flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    flock(fd, LOCK_UN); /* a child that was forked just now may have it, too */
    close(fd);
    return locked;
}

/* ---- when ---- */

void
beside_begin(struct beside *beside, const struct agent_start *start,
             int directory)
{
    memset(beside, 0, sizeof(*beside));
    beside->start = start;
    beside->directory = directory;
    beside->due_ms = agent_monotonic_ms();
}

static void
pause_longer(struct beside *beside, int64_t now)
{
    int64_t pause_ms = beside->pause_ms * 2;

    if (pause_ms < BESIDE_PAUSE_MIN_MS)
        pause_ms = BESIDE_PAUSE_MIN_MS;
    if (pause_ms > BESIDE_PAUSE_MAX_MS)
        pause_ms = BESIDE_PAUSE_MAX_MS;
    beside->pause_ms = pause_ms;
    beside->due_ms = now + pause_ms;
}

int
beside_tick(struct beside *beside, bool connected)
{
    int64_t now = agent_monotonic_ms();

    if (!agent_setting(beside->start, AGENT_ENV_HEAPWIRED))
        return -1;
    if (connected) {
        beside->pause_ms = beside->due_ms = 0;
        return -1;
    }
    if (beside->due_ms == 0)
        pause_longer(beside, now);
    if (now >= beside->due_ms) {
        if (!is_served(beside))
            start_one(beside);
        pause_longer(beside, now);
    }
    return (int)(beside->due_ms - now);
}

void
beside_end(const struct beside *beside)
{
    int fd;

    if (!agent_setting(beside->start, AGENT_ENV_HEAPWIRED))
        return;
    fd = openat(beside->directory, AGENT_LINGER,
                O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return;
    (void)!pwrite(fd, "x", 1, 0);
    close(fd);
}
