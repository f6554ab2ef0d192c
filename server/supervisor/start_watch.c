/* start_watch.c - see start_watch.h. */
#include "start_watch.h"

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
#include "clock.h"
#include "files.h"
#include "process_look.h"
#include "supervise.h"
#include "word_socket.h"

/* The kernel keeps at most ten, unless that limit was raised. */
enum { WORDS_SURE = 8, WORDS_MAX = 64, HALT_STEPS = 100, HALT_STEP_MS = 10 };

int
start_watch_open(struct start_watch *w)
{
    char name[WORD_SOCKET_NAME];
    unsigned char bytes[16];

    memset(w, 0, sizeof(*w));
    w->fd = -1;
    w->taken = true;
    if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
        return -1;
    for (size_t i = 0; i < sizeof(bytes); i++)
        snprintf(w->secret + 2 * i, 3, "%02x", bytes[i]);
    w->fd = word_socket_open(name);
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
    return plan->start_ms > 0 && (plan->prof || plan->jemalloc);
}

void
start_watch_begin(struct start_watch *w, const struct plan *plan, pid_t child)
{
    w->plan = plan;
    w->child = child;
    w->started_ms = clock_ms();
    w->due_ms = w->fd < 0 || w->again || !has_suspects(plan)
                    ? 0
                    : w->started_ms + plan->start_ms;
    w->loaded = w->reached = w->hung = false;
}

/* ---- words ---- */

/* One word and its sender; 0: there is none, or it is a stranger's. */
static ssize_t
receive(const struct start_watch *w, char *word, size_t size,
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
take(struct start_watch *w, char milestone, const struct ucred *sender)
{
    bool ours = sender->pid != 0 && sender->pid == w->child;

    if (milestone == AGENT_LOADED) {
        w->loaded = w->loaded || ours;
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
take_words(struct start_watch *w)
{
    size_t secret = strlen(w->secret);
    struct ucred sender;
    char word[AGENT_NAME_MAX];
    unsigned count = 0;
    ssize_t n;

    while (count < WORDS_MAX &&
           (n = receive(w, word, sizeof(word), &sender)) >= 0) {
        count++;
        if ((size_t)n == secret + 1 && memcmp(word, w->secret, secret) == 0)
            take(w, word[secret], &sender);
    }
    w->unsure = w->unsure || count >= WORDS_SURE;
}

/* ---- what is said ---- */

/* "prof:true set and /usr/lib/libjemalloc.so.2 preloaded" */
static void
name_suspects(const struct plan *plan, char *out, size_t size)
{
    snprintf(out, size, "%s%s%s%s", plan->prof ? "prof:true set" : "",
             plan->prof && plan->jemalloc ? " and " : "",
             plan->jemalloc ? plan->jemalloc : "",
             plan->jemalloc ? " preloaded" : "");
}

static void
name_switches(const struct plan *plan, char *out, size_t size)
{
    snprintf(out, size, "%s%s%s",
             plan->prof ? "--profiling off: never prof:true" : "",
             plan->prof && plan->jemalloc ? "; " : "",
             plan->jemalloc ? "--jemalloc no: never that preload" : "");
}

static void
say(const struct start_watch *w, const char *what, bool again)
{
    const struct plan *plan = w->plan;
    char suspects[1200], switches[128];

    name_suspects(plan, suspects, sizeof(suspects));
    name_switches(plan, switches, sizeof(switches));
    fprintf(stderr, "heapwire-run: %s (pid %d) %s, with %s%s (%s)\n",
            plan->exe ? plan->exe : plan->program, w->child, what, suspects,
            again ? ": it is started again without"
                  : ", which may be why it did",
            switches);
}

static bool
is_fault(int signal)
{
    static const int faults[] = {SIGSEGV, SIGABRT, SIGBUS, SIGILL,
                                 SIGFPE,  SIGTRAP, SIGSYS};

    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
        if (faults[i] == signal)
            return true;
    return false;
}

static bool
may_start_again(const struct start_watch *w)
{
    return has_suspects(w->plan) && w->loaded && !w->reached && !w->unsure &&
           !w->again;
}

/* ---- what becomes of it ---- */

bool
start_watch_arrived(struct start_watch *w)
{
    if (w->taken || clock_ms() - w->arrived_ms < START_SETTLE_MS)
        return false;
    w->taken = true;
    return w->database != 0 && (kill(w->database, 0) == 0 || errno == EPERM);
}

/* Stops it first: it may reach its main at this very moment. */
static bool
kill_hung(struct start_watch *w)
{
    const struct timespec step = {.tv_nsec = HALT_STEP_MS * 1000000L};

    kill(w->child, SIGSTOP);
    for (int i = 0; i < HALT_STEPS && !process_is_stopped(w->child); i++)
        nanosleep(&step, NULL);
    take_words(w);
    w->hung = may_start_again(w) && process_is_stopped(w->child);
    kill(w->child, w->hung ? SIGKILL : SIGCONT);
    return w->hung;
}

static void
look(struct start_watch *w, uint64_t now)
{
    char what[96];
    pid_t served;

    if (process_is_traced(w->child) || process_is_stopped(w->child)) {
        w->due_ms = now + START_HELD_MS;
        return;
    }
    w->due_ms = 0;
    /* If words do not come through, its agent serves nevertheless. */
    if (process_serves(w->plan->state_dir, &served))
        return;
    snprintf(what, sizeof(what), "did not reach its main in %llu s",
             (unsigned long long)w->plan->start_ms / 1000);
    say(w, what, may_start_again(w) && kill_hung(w));
}

int
start_watch_tick(struct start_watch *w)
{
    uint64_t now = clock_ms(), due;

    if (w->fd < 0)
        return -1;
    take_words(w);
    if (w->reached || w->reached_any)
        w->due_ms = 0;
    if (w->reached && now - w->started_ms >= START_EARLY_MS) {
        start_watch_close(w);
        return -1;
    }
    if (w->due_ms != 0 && now >= w->due_ms)
        look(w, now);
    due = w->due_ms;
    if (!w->taken && (due == 0 || w->arrived_ms + START_SETTLE_MS < due))
        due = w->arrived_ms + START_SETTLE_MS;
    return due == 0 ? -1 : due > now ? (int)(due - now) : 0;
}

bool
start_watch_ended(struct start_watch *w, int status)
{
    bool early = clock_ms() - w->started_ms < START_EARLY_MS;
    char what[96];
    int signal;

    if (w->fd < 0)
        return false;
    take_words(w);
    w->due_ms = 0;
    if (w->hung) {
        w->again = true;
        return true;
    }
    if (w->again || !has_suspects(w->plan) || !WIFSIGNALED(status) ||
        !is_fault(WTERMSIG(status)) || (!early && w->reached_any))
        return false;
    signal = WTERMSIG(status);
    snprintf(what, sizeof(what), "was killed by signal %d (SIG%s)%s", signal,
             sigabbrev_np(signal),
             may_start_again(w) ? " before its main was reached"
                                : " soon after its start");
    if (!may_start_again(w)) {
        say(w, what, false);
        return false;
    }
    say(w, what, true);
    w->again = true;
    return true;
}
