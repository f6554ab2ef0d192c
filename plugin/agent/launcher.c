/*
 * launcher.c - starts heapwired from inside the database; see agent.h.
 *
 * A program that links the agent, or loads the plugin, has no heapwire-run that
 * would start heapwired and start it again.  An ordinary child would be the
 * host's: it would get SIGCHLD, and its wait calls would find a process that it
 * never made.  So an intermediate process starts heapwired and ends; init
 * adopts it.  Nothing of the host leaks into it: own session, default signals,
 * no descriptors, an environment of its own.  Attempts are repeated with a
 * pause that doubles up to a minute; the lock of the state directory prevents
 * two.
 */
#include "agent.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent_protocol.h"
#include "agent_tools.h"
#include "confined.h"
#include "shared_fds.h"

#define LOCK_NAME "heapwired.lock"
#define LOG_NAME  "start.log"

enum { STACK_BYTES = 32 * 1024 };

/* heapwired's arguments, which point into the settings. */
struct command {
    const char *argv[LAUNCHER_OPTIONS_MAX + 4];
    int log; /* its stderr; -1: none */
};

/* ---- the command ---- */

/* Fills the arguments; 0, or E2BIG. */
static int
build_heapwired_arguments(struct command *command, const char *settings)
{
    int count = 0;

    command->argv[count++] = agent_settings_get(settings, AGENT_ENV_HEAPWIRED);
    command->argv[count++] = "--state-dir";
    command->argv[count++] = agent_settings_get(settings, AGENT_ENV_STATE);
    for (const char *option = agent_settings_get(settings, AGENT_ENV_OPTION);
         option; option = agent_settings_next(option, AGENT_ENV_OPTION)) {
        if (count == LAUNCHER_OPTIONS_MAX + 3)
            return E2BIG;
        command->argv[count++] = option;
    }
    command->argv[count] = NULL;
    return 0;
}

int
launcher_check(const char *settings)
{
    const char *path = agent_settings_get(settings, AGENT_ENV_HEAPWIRED);
    struct command command;

    if (!path)
        return 0;
    if (path[0] != '/')
        return EINVAL;
    return access(path, X_OK) != 0
               ? errno
               : build_heapwired_arguments(&command, settings);
}

/* ---- starting ---- */

static int
spawn_heapwired(const struct command *command)
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
    if (command->log >= 0)
        posix_spawn_file_actions_adddup2(&actions, command->log, STDERR_FILENO);
    confined_add_closefrom(&actions, STDERR_FILENO + 1);
    error = posix_spawnattr_init(&attr);
    if (error == 0) {
        posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSID |
                                            POSIX_SPAWN_SETSIGMASK |
                                            POSIX_SPAWN_SETSIGDEF);
        posix_spawnattr_setsigmask(&attr, &none);
        posix_spawnattr_setsigdefault(&attr, &all);
        error = posix_spawn(&pid, command->argv[0], &actions, &attr,
                            (char *const *)command->argv, envp);
        posix_spawnattr_destroy(&attr);
    }
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

static int
run_intermediate_process(void *arg)
{
    _exit(spawn_heapwired(arg) != 0);
}

/* The intermediate process shares our memory, as with vfork(), and ends at
 * once, so that init adopts heapwired.  It sends no signal at its end, and only
 * __WCLONE waits for it: the host cannot notice it. */
static void
spawn_detached(struct command *command)
{
    _Alignas(16) char stack[STACK_BYTES];
    pid_t pid = clone(run_intermediate_process, stack + sizeof(stack),
                      CLONE_VM | CLONE_VFORK, command);

    while (pid > 0 && waitpid(pid, NULL, __WCLONE) < 0 && errno == EINTR)
        ;
}

static void
start_one(struct launcher *launcher)
{
    struct command command;

    if (build_heapwired_arguments(&command, launcher->settings) != 0)
        return;
    command.log = openat(launcher->directory, LOG_NAME,
                         O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_NOFOLLOW |
                             O_NONBLOCK | O_CLOEXEC,
                         0600);
    if (command.log >= 0)
        shared_fds_add(command.log);
    spawn_detached(&command);
    if (command.log >= 0) {
        shared_fds_drop(command.log);
        close(command.log);
    }
}

/* True if another process holds heapwired's lock: tries the lock and releases
 * it. */
static bool
is_heapwired_running(const struct launcher *launcher)
{
    int fd = openat(launcher->directory, LOCK_NAME,
                    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    bool locked;

    if (fd < 0)
        return false;
    locked = flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    flock(fd, LOCK_UN); /* a child forked just now may hold it, too */
    close(fd);
    return locked;
}

/* ---- when ---- */

void
launcher_begin(struct launcher *launcher, const char *settings, int directory)
{
    memset(launcher, 0, sizeof(*launcher));
    launcher->settings = settings;
    launcher->directory = directory;
    launcher->due_ms = agent_monotonic_ms();
}

static void
pause_longer(struct launcher *launcher, int64_t now)
{
    int64_t pause_ms = launcher->pause_ms * 2;

    if (pause_ms < LAUNCHER_PAUSE_MIN_MS)
        pause_ms = LAUNCHER_PAUSE_MIN_MS;
    if (pause_ms > LAUNCHER_PAUSE_MAX_MS)
        pause_ms = LAUNCHER_PAUSE_MAX_MS;
    launcher->pause_ms = pause_ms;
    launcher->due_ms = now + pause_ms;
}

int
launcher_tick(struct launcher *launcher, bool connected)
{
    int64_t now = agent_monotonic_ms();

    if (!agent_settings_get(launcher->settings, AGENT_ENV_HEAPWIRED))
        return -1;
    if (connected) {
        launcher->pause_ms = launcher->due_ms = 0;
        return -1;
    }
    if (launcher->due_ms == 0)
        pause_longer(launcher, now);
    if (now >= launcher->due_ms) {
        if (!is_heapwired_running(launcher))
            start_one(launcher);
        pause_longer(launcher, now);
    }
    return (int)(launcher->due_ms - now);
}

void
launcher_end(const struct launcher *launcher)
{
    int fd;

    if (!agent_settings_get(launcher->settings, AGENT_ENV_HEAPWIRED))
        return;
    fd = openat(launcher->directory, AGENT_LINGER,
                O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return;
    (void)!pwrite(fd, "x", 1, 0);
    close(fd);
}
