/*
 * start_watch.c - see supervise.h.
 *
 * The agent sends datagrams to an abstract socket whose name and secret stand
 * in the database's environment: at its load and at main.  A pipe would be
 * inherited by everything that the database starts, and a file would have to
 * lie somewhere.  Datagrams may be lost when the queue is full, and then
 * nothing is concluded (`unsure`).  Every doubt leads to doing nothing, for a
 * database that runs must never be killed by a mistake of ours.  One thread,
 * the supervisor's.
 */
#include "supervise.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "agent_protocol.h"
#include "leave_reason.h"
#include "clock.h"
#include "files.h"
#include "process_facts.h"

/* The kernel queues at most ten datagrams (net.unix.max_dgram_qlen), unless
 * that limit was raised: after eight in one look some may have been lost. */
enum {
    MILESTONES_SURE = 8,
    MILESTONES_MAX = 64,
    HALT_STEPS = 100, /* looks: for a second in all */
    HALT_STEP_MS = 10
};

int
start_watch_open(struct start_watch *w)
{
    char name[MILESTONE_SOCKET_NAME];
    unsigned char bytes[16];

    memset(w, 0, sizeof(*w));
    w->fd = -1;
    w->taken = true;
    /* The socket's name is open to all: the secret tells the agent from others.
     */
    if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
        return -1;
    for (size_t i = 0; i < sizeof(bytes); i++)
        snprintf(w->secret + 2 * i, 3, "%02x", bytes[i]);
    w->fd = milestone_socket_open(name);
    if (w->fd < 0)
        return -1;
    snprintf(w->address, sizeof(w->address), "%s %s", name, w->secret);
    return 0;
}

void
start_watch_close(struct start_watch *w)
{
    fd_close(w->fd);
    w->fd = -1;
}

static bool
has_suspects(const struct plan *plan)
{
    return plan->start_ms > 0 &&
           (plan->prof || plan->segment >= 0 || plan->jemalloc);
}

void
start_watch_begin(struct start_watch *w, const struct plan *plan, pid_t child)
{
    w->plan = plan;
    w->child = child;
    w->started_ms = clock_ms();
    /* 0: no deadline, as there is nothing to blame or to leave out. */
    w->due_ms = w->fd < 0 || w->restart || !has_suspects(plan)
                    ? 0
                    : w->started_ms + plan->start_ms;
    w->loaded = w->reached = w->hung = w->served = false;
    w->check_due_ms =
        w->fd < 0 || w->restart ? 0 : w->started_ms + START_CHECK_FIRST_MS;
}

/* ---- milestones ---- */

/* Receives one milestone and its sender, whose pid is 0 if the kernel does not
 * say.  -1: there is none. */
static ssize_t
receive_milestone(const struct start_watch *w, char *word, size_t size,
                  struct ucred *sender)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(struct ucred))];
    } control;
    struct iovec part = {word, size};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof(control.bytes)};
    ssize_t n = recvmsg(w->fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    struct cmsghdr *header = n < 0 ? NULL : CMSG_FIRSTHDR(&message);

    sender->pid = 0;
    sender->uid = (uid_t)-1;
    if (header && header->cmsg_level == SOL_SOCKET &&
        header->cmsg_type == SCM_CREDENTIALS)
        memcpy(sender, CMSG_DATA(header), sizeof(*sender));
    return n;
}

static void
take_agent_milestone(struct start_watch *w, char milestone,
                     const struct ucred *sender)
{
    bool ours = sender->pid != 0 && sender->pid == w->child;

    if (milestone == AGENT_LOADED) {
        w->loaded = w->loaded || ours;
        /* Any process of that executable may be the database: the last one
         * counts.
         */
    } else if (milestone == AGENT_AT_MAIN) {
        w->reached = w->reached || ours;
        w->reached_any = true;
        w->uid = sender->uid;
        w->database = sender->pid;
        w->taken = false;
        w->arrived_ms = clock_ms();
    }
}

static void
process_milestones(struct start_watch *w)
{
    size_t secret = strlen(w->secret);
    struct ucred sender;
    char word[AGENT_NAME_MAX];
    unsigned count = 0;
    ssize_t n;

    while (count < MILESTONES_MAX &&
           (n = receive_milestone(w, word, sizeof(word), &sender)) >= 0) {
        count++;
        if ((size_t)n == secret + 1 && memcmp(word, w->secret, secret) == 0)
            take_agent_milestone(w, word[secret], &sender);
    }
    w->unsure = w->unsure || count >= MILESTONES_SURE;
}

/* ---- what is reported ---- */

/* Names what samples, or NULL: nothing does. */
static const char *
name_profiler(const struct start_watch *w)
{
    if (w->restart)
        return NULL;
    if (w->plan->segment >= 0)
        return "the recorder preloaded";
    return w->plan->prof ? "prof:true set" : NULL;
}

/* Writes "prof:true set and /usr/lib/libjemalloc.so.2 preloaded". */
static void
name_suspects(const struct start_watch *w, bool agent, char *out, size_t size)
{
    const char *profiler = name_profiler(w);
    const char *jemalloc = w->restart ? NULL : w->plan->jemalloc;
    const char *and = agent && profiler && jemalloc ? ", " : " and ";

    snprintf(out, size, "%s%s%s%s%s%s", agent ? "heapwire's agent in it" : "",
             agent && (profiler || jemalloc) ? and : "",
             profiler ? profiler : "", profiler && jemalloc ? " and " : "",
             jemalloc ? jemalloc : "", jemalloc ? " preloaded" : "");
}

static void
name_switches(const struct start_watch *w, char *out, size_t size)
{
    const char *profiler = name_profiler(w);
    bool jemalloc = w->plan->jemalloc && !w->restart;

    snprintf(out, size, "%s%s%s%s", profiler ? "--profiling off: never " : "",
             profiler ? (w->plan->prof ? "prof:true" : "the recorder") : "",
             profiler && jemalloc ? "; " : "",
             jemalloc ? "--jemalloc no: never that preload" : "");
}

static const char *
name_program(const struct start_watch *w)
{
    return w->plan->exe ? w->plan->exe : w->plan->program;
}

static void
report_failed_start(const struct start_watch *w, const char *what,
                    enum death_restart again)
{
    static const char *const ends[] = {
        [DEATH_FINAL] = ", which may be why it did",
        [DEATH_WITHOUT_OPTIONS] = ": it is started again without",
        [DEATH_WITHOUT_HEAPWIRE] =
            (", which may be why it did: it is started again, once, without "
             "any of that; heapwire knows nothing of it then"),
    };
    char suspects[1200], switches[128];

    name_suspects(w, again == DEATH_WITHOUT_HEAPWIRE, suspects,
                  sizeof(suspects));
    name_switches(w, switches, sizeof(switches));
    fprintf(stderr, "heapwire-run: %s (pid %d) %s, with %s%s%s%s%s\n",
            name_program(w), w->child, what, suspects, ends[again],
            *switches ? " (" : "", switches, *switches ? ")" : "");
}

/* Says what the end of the start without heapwire shows. */
static void
print_crash_cause(const struct start_watch *w, int status)
{
    bool same = WIFSIGNALED(status) && WTERMSIG(status) == w->signal;

    fprintf(stderr, "heapwire-run: %s (pid %d) %s\n", name_program(w), w->child,
            same ? "has ended the same way without heapwire in it: heapwire "
                   "was not the cause"
                 : "has not ended the same way without heapwire in it: "
                   "heapwire may have been the cause");
}

/* False for signals that somebody sends on purpose, that the kernel's want of
 * memory sends, that a timer sends, or that mean that the reader of its output
 * has left. */
static bool
is_its_own(int signal)
{
    static const int others[] = {SIGKILL, SIGTERM, SIGINT,  SIGQUIT, SIGHUP,
                                 SIGPIPE, SIGALRM, SIGUSR1, SIGUSR2};

    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        if (others[i] == signal)
            return false;
    return true;
}

static bool
may_restart_without_options(const struct start_watch *w)
{
    return has_suspects(w->plan) && w->loaded && !w->reached && !w->unsure &&
           !w->restart;
}

static bool
is_early(const struct start_watch *w)
{
    return clock_ms() - w->started_ms < START_EARLY_MS;
}

/* Chooses how to start again after a fault. */
static enum death_restart
choose_death_restart(const struct start_watch *w)
{
    if (may_restart_without_options(w))
        return DEATH_WITHOUT_OPTIONS;
    return w->plan->start_ms > 0 && w->loaded && is_early(w) && !w->served
               ? DEATH_WITHOUT_HEAPWIRE
               : DEATH_FINAL;
}

/* ---- what becomes of the start ---- */

bool
start_watch_arrived(struct start_watch *w)
{
    if (w->taken || clock_ms() - w->arrived_ms < START_SETTLE_MS)
        return false;
    w->taken = true;
    return w->database != 0 && (kill(w->database, 0) == 0 || errno == EPERM);
}

/* Stops it first, since it may reach its main at this very moment; and then
 * looks once more. */
static bool
kill_hung(struct start_watch *w)
{
    const struct timespec step = {.tv_nsec = HALT_STEP_MS * 1000000L};

    kill(w->child, SIGSTOP);
    for (int i = 0; i < HALT_STEPS && !process_is_stopped(w->child); i++)
        nanosleep(&step, NULL);
    process_milestones(w);
    w->hung = may_restart_without_options(w) && process_is_stopped(w->child);
    kill(w->child, w->hung ? SIGKILL : SIGCONT);
    return w->hung;
}

static void
check_start_deadline(struct start_watch *w, uint64_t now)
{
    char what[96];

    /* Somebody debugs it: the time does not count. */
    if (process_is_traced(w->child) || process_is_stopped(w->child)) {
        w->due_ms = now + START_STOPPED_MS;
        return;
    }
    w->due_ms = 0;
    /* Milestones may not get through (another network namespace); its agent
     * then serves nevertheless. */
    if (agent_lock_is_held(w->plan->state_dir, NULL))
        return;
    snprintf(what, sizeof(what), "did not reach its main in %llu s",
             (unsigned long long)w->plan->start_ms / 1000);
    report_failed_start(w, what,
                        may_restart_without_options(w) && kill_hung(w)
                            ? DEATH_WITHOUT_OPTIONS
                            : DEATH_FINAL);
}

/* The earlier of two times, where 0 means never. */
static uint64_t
earlier_due_ms(uint64_t a, uint64_t b)
{
    return a == 0 || (b != 0 && b < a) ? b : a;
}

/* The pause between two checks whether it listens: short at first, then longer.
 */
static uint64_t
pause_of(uint64_t age_ms)
{
    return age_ms < START_CHECK_MS ? age_ms : START_CHECK_MS;
}

int
start_watch_tick(struct start_watch *w)
{
    uint64_t now = clock_ms(), due;

    if (w->fd < 0)
        return -1;
    process_milestones(w);
    if (w->reached || w->reached_any)
        w->due_ms = 0;
    /* It has started, and no fault is early any more: nothing is left to watch.
     */
    if (w->reached && now - w->started_ms >= START_EARLY_MS) {
        start_watch_close(w);
        return -1;
    }
    if (w->due_ms != 0 && now >= w->due_ms)
        check_start_deadline(w, now);
    if (w->check_due_ms != 0 && now >= w->check_due_ms) {
        w->served = process_may_serve(w->child);
        w->check_due_ms =
            w->served || !is_early(w) ? 0 : now + pause_of(now - w->started_ms);
    }
    due = earlier_due_ms(w->due_ms, w->check_due_ms);
    if (!w->taken)
        due = earlier_due_ms(due, w->arrived_ms + START_SETTLE_MS);
    return due == 0 ? -1 : due > now ? (int)(due - now) : 0;
}

bool
start_watch_ended(struct start_watch *w, int status)
{
    enum death_restart again;
    char what[96];

    if (w->fd < 0)
        return false;
    process_milestones(w);
    w->due_ms = w->check_due_ms = 0;
    if (w->hung) {
        w->restart = DEATH_WITHOUT_OPTIONS;
        return true;
    }
    if (w->restart == DEATH_WITHOUT_HEAPWIRE) {
        print_crash_cause(w, status);
        return false;
    }
    if (!WIFSIGNALED(status) || !is_its_own(WTERMSIG(status)))
        return false;
    w->signal = WTERMSIG(status);
    again = choose_death_restart(w);
    /* No restart: is it worth a line at least? */
    if (again == DEATH_FINAL && (w->restart || !has_suspects(w->plan) ||
                                 (!is_early(w) && w->reached_any)))
        return false;
    snprintf(what, sizeof(what), "was killed by signal %d (SIG%s)%s", w->signal,
             sigabbrev_np(w->signal) ? sigabbrev_np(w->signal) : "?",
             again == DEATH_WITHOUT_OPTIONS    ? " before its main was reached"
             : again == DEATH_WITHOUT_HEAPWIRE ? " before it served"
                                               : " soon after its start");
    report_failed_start(w, what, again);
    w->restart = again;
    return again != DEATH_FINAL;
}
