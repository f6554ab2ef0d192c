/* companion.c - see companion.h. */
#include "companion.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

#include "clock.h"
#include "linger.h"
#include "supervise.h"

void
companion_init(struct companion *companion, const struct plan *plan)
{
    memset(companion, 0, sizeof(*companion));
    companion->plan = plan;
}

/* A session of its own, no signal blocked or ignored, none of our descriptors
 * but stderr. */
static int
spawn(struct companion *companion)
{
    const struct plan *plan = companion->plan;
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attr;
    sigset_t none, all;
    int error;

    sigemptyset(&none);
    sigfillset(&all);
    error = posix_spawn_file_actions_init(&actions);
    if (error != 0)
        return error;
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null",
                                     O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null",
                                     O_WRONLY, 0);
    if (companion->quiet)
        posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null",
                                         O_WRONLY, 0);
    posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
    error = posix_spawnattr_init(&attr);
    if (error == 0) {
        posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSID |
                                            POSIX_SPAWN_SETSIGMASK |
                                            POSIX_SPAWN_SETSIGDEF);
        posix_spawnattr_setsigmask(&attr, &none);
        posix_spawnattr_setsigdefault(&attr, &all);
        error = posix_spawn(&companion->pid, plan->heapwired, &actions, &attr,
                            plan->heapwired_argv, plan->heapwired_envp);
        posix_spawnattr_destroy(&attr);
    }
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

static void
start_now(struct companion *companion)
{
    int error = 0;

    companion->restart_ms = 0;
    if (companion->plan->heapwired)
        error = spawn(companion);
    if (error == 0)
        return;
    companion->pid = 0;
    errno = error;
    fprintf(stderr, "heapwire-run: cannot start heapwired: %m; the database "
                    "runs without it\n");
}

void
companion_start(struct companion *companion)
{
    const struct plan *plan = companion->plan;

    if (plan->heapwired && plan->state_dir && linger_end_of(plan->state_dir)) {
        companion->predecessor_ms = clock_ms() + PREDECESSOR_MS;
        companion->restart_ms = clock_ms() + PREDECESSOR_STEP_MS;
    } else {
        start_now(companion);
    }
}

int
companion_tick(struct companion *companion)
{
    uint64_t now = clock_ms();

    if (companion->restart_ms == 0)
        return -1;
    if (now < companion->restart_ms)
        return (int)(companion->restart_ms - now);
    if (now < companion->predecessor_ms &&
        linger_end_of(companion->plan->state_dir)) {
        companion->restart_ms = now + PREDECESSOR_STEP_MS;
        return PREDECESSOR_STEP_MS;
    }
    companion->predecessor_ms = 0;
    start_now(companion);
    return -1;
}

/* False when it has crashed too often. */
static bool
may_restart(struct companion *companion)
{
    uint64_t now = clock_ms();
    uint64_t *oldest =
        &companion->restarts[companion->restart_count % RESTARTS_MAX];

    if (companion->restart_count >= RESTARTS_MAX &&
        now - *oldest < RESTARTS_WINDOW_MS)
        return false;
    *oldest = now;
    companion->restart_count++;
    companion->restart_ms = now + RESTART_DELAY_MS;
    return true;
}

/* By sysexits.h, what heapwired means by its status. */
void
companion_ended(struct companion *companion, int status)
{
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    const char *then;

    companion->pid = 0;
    switch (code) {
    case EX_OK:
    case EX_CONFIG:
        return; /* it was told to, or has told why */
    case EX_TEMPFAIL:
        companion->quiet = true;
        companion->restart_ms = clock_ms() + RETRY_DELAY_MS;
        return;
    default:
        then = may_restart(companion) ? "starting it again"
                                      : "too often: it stays down until the "
                                        "database is started again, or "
                                        "heapwired by hand";
    }
    if (WIFSIGNALED(status))
        fprintf(stderr, "heapwire-run: heapwired was killed by signal %d; %s\n",
                WTERMSIG(status), then);
    else
        fprintf(stderr, "heapwire-run: heapwired ended with status %d; %s\n",
                code, then);
}
