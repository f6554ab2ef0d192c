/* listener.c - see listener.h. */
#include "listener.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

#include "clock.h"
#include "files.h"
#include "supervise.h"

enum { MESSAGE_MAX = 4096 };

void
listener_init(struct listener *listener, const struct plan *plan)
{
    memset(listener, 0, sizeof(*listener));
    listener->plan = plan;
    listener->messages = -1;
}

/* The last line that it said, without "heapwired: "; "" when none. */
static void
last_message(struct listener *listener, char *out, size_t size)
{
    static const char name[] = "heapwired: ";
    char text[MESSAGE_MAX];
    ssize_t n = 0, used = 0;
    char *line;

    while (listener->messages >= 0 && used < MESSAGE_MAX - 1) {
        n = read(listener->messages, text + used,
                 (size_t)(MESSAGE_MAX - 1 - used));
        if (n <= 0)
            break;
        used += n;
    }
    while (used > 0 && text[used - 1] == '\n')
        used--;
    text[used] = '\0';
    line = strrchr(text, '\n');
    line = line ? line + 1 : text;
    if (strncmp(line, name, sizeof(name) - 1) == 0)
        line += sizeof(name) - 1;
    snprintf(out, size, "%s", line);
}

/* A session of its own, no signal blocked or ignored, none of the database's
 * descriptors.  Writing never blocks it, though nobody reads while it runs. */
static int
spawn(struct listener *listener, int messages)
{
    const struct plan *plan = listener->plan;
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
    if (!plan->log_to_stderr)
        posix_spawn_file_actions_adddup2(&actions, messages, STDERR_FILENO);
    posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
    error = posix_spawnattr_init(&attr);
    if (error == 0) {
        posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSID |
                                            POSIX_SPAWN_SETSIGMASK |
                                            POSIX_SPAWN_SETSIGDEF);
        posix_spawnattr_setsigmask(&attr, &none);
        posix_spawnattr_setsigdefault(&attr, &all);
        error = posix_spawn(&listener->pid, plan->heapwired, &actions, &attr,
                            plan->heapwired_argv, plan->heapwired_envp);
        posix_spawnattr_destroy(&attr);
    }
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

void
listener_start(struct listener *listener)
{
    int ends[2] = {-1, -1}, error = 0;

    listener->restart_ms = 0;
    if (!listener->plan->heapwired)
        return;
    fd_close(listener->messages);
    listener->messages = -1;
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
        error = errno;
    else
        error = spawn(listener, ends[1]);
    fd_close(ends[1]);
    if (error != 0) {
        listener->pid = 0;
        fd_close(ends[0]);
        errno = error;
        fprintf(stderr,
                "heapwire-run: cannot start heapwired: %m; the database runs "
                "without it\n");
        return;
    }
    listener->messages = ends[0];
}

int
listener_tick(struct listener *listener)
{
    uint64_t now = clock_ms();

    if (listener->restart_ms == 0)
        return -1;
    if (now < listener->restart_ms)
        return (int)(listener->restart_ms - now);
    listener_start(listener);
    return -1;
}

/* False when it has crashed too often. */
static bool
may_restart(struct listener *listener)
{
    uint64_t now = clock_ms();
    uint64_t *oldest =
        &listener->restarts[listener->restart_count % RESTARTS_MAX];

    if (listener->restart_count >= RESTARTS_MAX &&
        now - *oldest < RESTARTS_WINDOW_MS)
        return false;
    *oldest = now;
    listener->restart_count++;
    listener->restart_ms = now + RESTART_DELAY_MS;
    return true;
}

void
listener_ended(struct listener *listener, int status)
{
    char message[512], how[64];
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    const char *then = "it stays down";

    listener->pid = 0;
    last_message(listener, message, sizeof(message));
    if (code == EX_TEMPFAIL) {
        listener->restart_ms = clock_ms() + RETRY_DELAY_MS;
        then = "trying again every minute";
        if (listener->told_status == code)
            return;
    } else if (code != EX_OK && code != EX_CONFIG) {
        then = may_restart(listener) ? "starting it again"
                                     : "that is too often: it stays down";
    }
    listener->told_status = code;
    if (WIFSIGNALED(status))
        snprintf(how, sizeof(how), "was killed by signal %d", WTERMSIG(status));
    else
        snprintf(how, sizeof(how), "ended with status %d", code);
    fprintf(stderr,
            "heapwire-run: heapwired %s%s%s; %s, the database runs "
            "on\n",
            how, *message ? ": " : "", message, then);
}
