/*
 * companion.c - see supervise.h.
 *
 * heapwired must never matter to the database: it is started by posix_spawn in
 * a session of its own, gets no descriptors but those named below, and whatever
 * becomes of it, its parent only waits and tries again, with pauses that
 * double.  A hang is found by missed heartbeats, counted in periods of the
 * supervisor's own loop, so that a machine that slept does not look like a
 * heapwired that hangs.  One thread; all times are monotonic.
 */
#include "supervise.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

#include "leave_reason.h"
#include "clock.h"
#include "errors.h"
#include "files.h"
#include "process_facts.h"
#include "spawn_program.h"
#include "state_dir.h"
#include "supervised_env.h"

void
companion_init(struct companion *companion, const struct plan *plan)
{
    memset(companion, 0, sizeof(*companion));
    companion->plan = plan;
    companion->line = -1;
}

/* Passes on only the line, the recorder's segment, and stderr if there is one.
 */
static int
spawn_companion(struct companion *companion, int line)
{
    const struct plan *plan = companion->plan;
    bool says = !companion->quiet && fcntl(STDERR_FILENO, F_GETFD) >= 0;
    const struct spawn_program heapwired = {
        .program = plan->heapwired,
        .argv = plan->heapwired_argv,
        .environment = plan->heapwired_envp,
        .fds = {line, plan->segment, says ? STDERR_FILENO : -1},
        .session = true,
        .ready = true /* a database may end before it */};

    return spawn_program(&heapwired, &companion->pid);
}

/* Says whose the database is.  A root heapwired then becomes that user, since
 * the agent of a database that left root before its main waits for the
 * directory. */
static void
send_database_identity(const struct companion *companion)
{
    char word[SUPERVISED_MESSAGE_MAX];
    int size = snprintf(word, sizeof(word), SUPERVISED_DATABASE,
                        (unsigned)companion->uid, (int)companion->database);

    /* A full line is no reason to wait: the next heapwired is told again. */
    if (companion->line >= 0 && companion->database != 0)
        (void)!send(companion->line, word, (size_t)size,
                    MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* Returns 0 or an errno. */
static int
start_with_line(struct companion *companion)
{
    int ends[2], error;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0,
                   ends) != 0)
        return errno;
    error = spawn_companion(companion, ends[1]);
    fd_close(ends[1]);
    if (error != 0) {
        fd_close(ends[0]);
        return error;
    }
    companion->line = ends[0];
    send_database_identity(companion);
    return 0;
}

void
companion_send_database(struct companion *companion, uid_t uid, pid_t pid)
{
    companion->uid = uid;
    companion->database = pid;
    send_database_identity(companion);
}

/* Logs each pause, but a pause that repeats for ever only once. */
static void
plan_restart(struct companion *companion, const char *what)
{
    uint64_t pause_ms = companion->pause_ms * 2;

    if (pause_ms < PAUSE_MIN_MS)
        pause_ms = PAUSE_MIN_MS;
    if (pause_ms > PAUSE_MAX_MS)
        pause_ms = PAUSE_MAX_MS;
    companion->pause_ms = pause_ms;
    companion->restart_ms = clock_ms() + pause_ms;
    if (companion->quiet)
        return;
    companion->quiet = pause_ms == PAUSE_MAX_MS;
    if (what)
        fprintf(stderr, "heapwire-run: %s; it is started again %s %llu s%s\n",
                what, companion->quiet ? "each" : "in",
                (unsigned long long)pause_ms / 1000,
                companion->quiet ? ", and this is not said again" : "");
}

static void
start_now(struct companion *companion)
{
    char what[256];
    int error;

    companion->restart_ms = 0;
    companion->beaten = companion->hung = false;
    companion->missed = 0;
    companion->started_ms = clock_ms();
    /* The first heartbeat may come a period later. */
    companion->heartbeat_due_ms =
        companion->started_ms + companion->plan->beat_ms;
    if (!companion->plan->heapwired)
        return;
    error = start_with_line(companion);
    if (error == 0)
        return;
    companion->pid = 0;
    errno = error;
    snprintf(what, sizeof(what), "cannot start heapwired: %m");
    plan_restart(companion, what);
}

/* Is there an elder: a database in this directory whose heapwire-run was
 * killed, and whose heapwired serves it?  Ours cannot serve there before that
 * one has ended.  Until then, either database may be the one that stays. */
static bool
look_for_elder(struct companion *companion)
{
    const char *dir = companion->plan->state_dir;
    bool first = !companion->begun;
    pid_t pid = 0;

    companion->begun = true;
    if (!first && !companion->elder)
        return false;
    companion->elder = agent_lock_is_held(dir, &pid) &&
                       linger_lock_is_held(dir) &&
                       (first || pid == companion->elder_pid);
    companion->elder_pid = pid;
    if (first && companion->elder)
        fprintf(stderr,
                "heapwire-run: a database (pid %d) whose heapwire-run was "
                "killed still runs in %s: its heapwired serves it until it "
                "ends, and then the new one begins\n",
                pid, dir);
    return companion->elder;
}

void
companion_start(struct companion *companion)
{
    const struct plan *plan = companion->plan;

    if (plan->heapwired && plan->state_dir && look_for_elder(companion)) {
        companion->restart_ms = clock_ms() + ELDER_STEP_MS;
        return;
    }
    if (plan->heapwired && !companion->last && plan->state_dir &&
        linger_end_of(plan->state_dir)) {
        /* A heapwired that lingers for a database that is dead gives way when
         * it is asked. */
        companion->predecessor_ms = clock_ms() + PREDECESSOR_MS;
        companion->restart_ms = clock_ms() + PREDECESSOR_STEP_MS;
    } else {
        start_now(companion);
    }
}

/* ---- heartbeats ---- */

static bool
has_beaten(const struct companion *companion)
{
    char bytes[64];
    bool any = false;

    while (recv(companion->line, bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
        any = true;
    return any;
}

/* A heapwired that has left root may be unable to make its directory again
 * where somebody deleted it: it waits for heapwire-run to do so. */
static void
remake_state_dir(const struct companion *companion)
{
    const char *dir = companion->plan->state_dir;
    uid_t uid = process_user(companion->pid);
    struct error err;
    struct stat st;

    if (geteuid() != 0 || uid == 0 || uid == (uid_t)-1 ||
        lstat(dir, &st) == 0 || errno != ENOENT)
        return;
    if (state_dir_make_for(dir, uid, &err) != 0)
        fprintf(stderr, "heapwire-run: %s\n", err.text);
}

static void
check_companion_beats(struct companion *companion, uint64_t now)
{
    unsigned limit;

    if (now < companion->heartbeat_due_ms)
        return;
    companion->heartbeat_due_ms = now + companion->plan->beat_ms;
    remake_state_dir(companion);
    if (has_beaten(companion)) {
        companion->beaten = companion->served = true;
        companion->missed = 0;
        return;
    }
    limit = companion->beaten ? BEATS_MISSED : BEATS_MISSED_STARTING;
    if (process_is_traced(companion->pid))
        /* A debugger holds it: that is no hang. */
        companion->missed = 0;
    else if (++companion->missed >= limit) {
        companion->hung = true;
        kill(companion->pid, SIGKILL);
    }
}

int
companion_tick(struct companion *companion)
{
    uint64_t now = clock_ms();

    if (companion->pid != 0 && companion->plan->beat_ms > 0) {
        check_companion_beats(companion, now);
        return (int)(companion->heartbeat_due_ms - now);
    }
    if (companion->restart_ms == 0)
        return -1;
    if (now < companion->restart_ms)
        return (int)(companion->restart_ms - now);
    if (companion->predecessor_ms == 0) {
        companion_start(companion);
    } else if (now < companion->predecessor_ms &&
               linger_end_of(companion->plan->state_dir)) {
        companion->restart_ms = now + PREDECESSOR_STEP_MS;
    } else {
        companion->predecessor_ms = 0;
        start_now(companion);
    }
    return PREDECESSOR_STEP_MS; /* then look again */
}

void
companion_ended(struct companion *companion, int status)
{
    uint64_t now = clock_ms();
    char what[512];

    companion->pid = 0;
    fd_close(companion->line);
    companion->line = -1;
    if (now - companion->started_ms >= RAN_WELL_MS) {
        companion->pause_ms = 0;
        companion->quiet = false;
    }
    if (companion->hung)
        snprintf(what, sizeof(what),
                 "heapwired gave no sign of life for %llu s and was killed",
                 (unsigned long long)companion->missed *
                     companion->plan->beat_ms / 1000);
    else if (WIFSIGNALED(status))
        snprintf(what, sizeof(what), "heapwired was killed by signal %d",
                 WTERMSIG(status));
    else if (WEXITSTATUS(status) == SUPERVISED_STATE_DIR_LOST)
        snprintf(what, sizeof(what),
                 "the state directory %.300s was deleted, and heapwired makes "
                 "it again",
                 companion->plan->state_dir);
    else
        snprintf(what, sizeof(what), "heapwired ended with status %d",
                 WEXITSTATUS(status));
    if (WIFEXITED(status) && WEXITSTATUS(status) == EX_TEMPFAIL) {
        plan_restart(
            companion,
            NULL); /* another heapwired serves there, and has said so itself */
        companion->quiet = true;
    } else {
        plan_restart(companion, what);
    }
}

void
companion_stop(struct companion *companion)
{
    static const struct timespec step = {0, STOP_STEP_MS * 1000000L};
    uint64_t until = clock_ms() + STOP_MS;
    int status;

    if (companion->pid == 0)
        return;
    kill(companion->pid, SIGTERM);
    /* Signals are blocked, so waitpid is polled. */
    while (waitpid(companion->pid, &status, WNOHANG) == 0) {
        if (clock_ms() >= until) {
            kill(companion->pid, SIGKILL);
            waitpid(companion->pid, &status, 0);
            break;
        }
        nanosleep(&step, NULL);
    }
    companion->pid = 0;
}
