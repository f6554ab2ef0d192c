/*
 * watch.c - see watch.h.
 *
 * watch.lock guards the rules, stop and woken; it is held for nothing else, and
 * the wakers take it last.
 */
#include "watch.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "controller.h"
#include "deaths.h"
#include "errors.h"
#include "highest.h"
#include "history.h"
#include "memory.h"
#include "process_memory.h"
#include "thread.h"

enum {
    SECOND_MS = 1000,
    INTO_SECOND_MS = 20, /* of sampling, so that none is met twice */
    STATS_EVERY_MS = 10 * SECOND_MS,
    /* Figures of a second ago, which were asked for a second ago. */
    STATS_AGE_MS = 2500,
    PLACE_EVERY_MS = 60 * SECOND_MS, /* a process seldom changes its cgroup */
    REFUSAL_EVERY_MS = 600 * SECOND_MS, /* the same is told again */
    DEATHS_LOOKED_AT = 8,
    ENDED_MS = 3 * SECOND_MS,  /* what comes back before was away, not gone */
    LIVED_MS = 10 * SECOND_MS, /* what ends earlier was no database */
    STACK_BYTES = 256 * 1024
};

struct watch {
    struct controller *controller;
    struct history *history;
    const char *state_dir; /* or NULL */
    bool keeps_ends;
    void (*log)(const char *line);
    pthread_t thread;
    bool runs;

    pthread_mutex_t lock;
    pthread_cond_t wakes; /* on the monotonic clock */
    struct marks_rules rules;
    bool new_rules, stop, woken;

    /* The thread's own. */
    struct marks marks;
    struct highest highest;
    struct cgroup_place place;
    bool placed;
    int32_t placed_pid;
    uint64_t placed_ms, stats_ms;      /* monotonic: when it was done last */
    struct ticket *stats, *snapshot;   /* asked for */
    struct marks_rules snapshot_rules; /* by which the snapshot is taken */
    struct marks_now snapshot_now;
    char snapshot_reason[SNAPSHOT_REASON_MAX + 1];
    char refused[ERROR_TEXT_MAX]; /* why, as it was told; "": not refused */
    uint64_t refused_ms;          /* monotonic: when it was told */
    struct stats *latest;         /* of the allocator, not in a sample yet */
    int32_t pid;                  /* the database that marks are of */
    uint64_t start_ticks;
    struct history_sample seen; /* the last one, of the database exe */
    char exe[DEATH_PROGRAM_MAX];
};

static void say(const struct watch *w, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void
say(const struct watch *w, const char *format, ...)
{
    char line[1024];
    va_list args;

    if (!w->log)
        return;
    va_start(args, format);
    vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    w->log(line);
}

static void
wake(void *arg)
{
    struct watch *w = arg;

    pthread_mutex_lock(&w->lock);
    w->woken = true;
    pthread_cond_signal(&w->wakes);
    pthread_mutex_unlock(&w->lock);
}

/* ---- the allocator's figures ---- */

static void
take_stats(struct watch *w)
{
    struct job_result result = {0};
    struct error err;
    enum ticket_state state;

    if (!w->stats)
        return;
    state = ticket_poll(w->stats, &result, &err);
    if (state == TICKET_WAITING)
        return;
    ticket_free(w->stats);
    w->stats = NULL;
    if (state == TICKET_DONE) {
        stats_unref(w->latest);
        w->latest = result.stats;
    }
}

/* Behind a dump the request waits its turn: the channel does one thing at a
 * time. */
static void
ask_stats(struct watch *w, const struct node_status *status, uint64_t now_ms)
{
    struct job_request request = {.kind = JOB_STATS};
    struct waker waker = {wake, w};
    struct error err;

    if (w->stats || w->snapshot || status->state != NODE_CONNECTED ||
        status->hello.allocator == AGENT_NO_JEMALLOC ||
        (w->stats_ms != 0 && now_ms - w->stats_ms < STATS_EVERY_MS))
        return;
    w->stats_ms = now_ms;
    w->stats = controller_submit(w->controller, &request, waker, &err);
}

/* ---- samples ---- */

static const struct cgroup_place *
place_of(struct watch *w, int32_t pid, uint64_t now_ms)
{
    if (pid != w->placed_pid || now_ms - w->placed_ms >= PLACE_EVERY_MS) {
        w->placed = process_memory_place(pid, &w->place);
        w->placed_pid = pid;
        w->placed_ms = now_ms;
    }
    return w->placed ? &w->place : NULL;
}

/* With the rss of their moment, if the agent took it; what is too old is asked
 * for again. */
static void
add_allocators(struct watch *w, struct history_sample *sample,
               const struct stats *stats)
{
    if (sample->at_ms - stats->allocator_ms > STATS_AGE_MS) {
        w->stats_ms = 0;
        return;
    }
    if (stats->rss.known)
        sample->rss = stats->rss;
    sample->allocated = stats->allocated;
    sample->active = stats->active;
    sample->metadata = stats->metadata;
    sample->resident = stats->resident;
    sample->mapped = stats->mapped;
    sample->retained = stats->retained;
}

/* False: there is no database to look at. */
static bool
sample(struct watch *w, const struct node_status *status,
       struct history_sample *out)
{
    const struct agent_hello *hello = &status->hello;
    struct stats kernel = {0};

    memset(out, 0, sizeof(*out));
    if (status->state != NODE_CONNECTED && status->state != NODE_UNRESPONSIVE)
        return false;
    if (status->peer != 0)
        process_memory_read_at(status->peer,
                               place_of(w, status->peer, clock_ms()), &kernel);
    if (status->peer != 0 && !kernel.rss.known)
        return false; /* it has just ended */
    out->at_ms = clock_wall_ms();
    out->pid = hello->pid;
    out->start_ticks = hello->start_ticks;
    out->started_ms = hello->started_ms;
    out->profiling = hello->active;
    out->unresponsive = status->state == NODE_UNRESPONSIVE;
    out->rss = kernel.rss;
    out->cgroup_current = kernel.cgroup_current;
    out->cgroup_cache = kernel.cgroup_cache;
    out->cgroup_limit = kernel.cgroup_limit;
    if (w->latest) {
        add_allocators(w, out, w->latest);
        stats_unref(w->latest);
        w->latest = NULL;
    }
    return true;
}

/* ---- snapshots ---- */

static uint64_t
ram_bytes(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);

    return pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : 0;
}

/* Of a cgroup what the kernel cannot simply take back; without a limit that
 * can be reached, the process beside the machine's RAM. */
static void
measure(const struct history_sample *sample, struct marks_now *now)
{
    uint64_t ram = ram_bytes(), cache = sample->cgroup_cache.value;

    now->rss = sample->rss.value;
    now->used = now->rss;
    now->total = ram;
    if (!sample->cgroup_limit.known || !sample->cgroup_current.known ||
        sample->cgroup_limit.value == 0 ||
        (ram > 0 && sample->cgroup_limit.value >= ram))
        return;
    now->of_cgroup = true;
    now->total = sample->cgroup_limit.value;
    now->used = sample->cgroup_current.value;
    now->used -= cache < now->used ? cache : now->used;
}

/* Tries follow each other as fast as the rules say: the same refusal is not
 * told of each. */
static bool
is_news(struct watch *w, const char *why)
{
    uint64_t now_ms = clock_ms();

    if (strncmp(w->refused, why, sizeof(w->refused) - 1) == 0 &&
        now_ms - w->refused_ms < REFUSAL_EVERY_MS)
        return false;
    snprintf(w->refused, sizeof(w->refused), "%s", why);
    w->refused_ms = now_ms;
    return true;
}

static void
say_refused(struct watch *w, const char *reason, const char *why)
{
    if (is_news(w, why))
        say(w, "no snapshot by itself (%s): %s", reason, why);
}

static void
ask_snapshot(struct watch *w, const struct marks_due *due)
{
    struct job_request request = {
        .kind = JOB_SNAPSHOT, .cause = due->cause, .reason = due->reason};
    struct waker waker = {wake, w};
    struct error err;

    w->snapshot = controller_submit(w->controller, &request, waker, &err);
    if (!w->snapshot)
        say_refused(w, due->reason, err.text);
    memcpy(w->snapshot_reason, due->reason, sizeof(w->snapshot_reason));
}

static void
take_snapshot(struct watch *w)
{
    struct job_result result = {0};
    struct error err;
    enum ticket_state state;

    if (!w->snapshot)
        return;
    state = ticket_poll(w->snapshot, &result, &err);
    if (state == TICKET_WAITING)
        return;
    ticket_free(w->snapshot);
    w->snapshot = NULL;
    if (state == TICKET_FAILED) {
        say_refused(w, w->snapshot_reason, err.text);
        return;
    }
    w->refused[0] = '\0';
    marks_taken(&w->marks, &w->snapshot_rules, &w->snapshot_now);
    highest_note(&w->highest, controller_store(w->controller), result.snapshot);
    say(w, "took the snapshot %s by itself: %s", result.snapshot->name,
        w->snapshot_reason);
    snapshot_unref(result.snapshot);
}

static void
look_at_marks(struct watch *w, const struct history_sample *sample, bool there)
{
    struct marks_now now = {.now_ms = clock_ms()};
    struct marks_due due;

    /* Who does not answer for a while has not passed its marks untold. */
    if (w->snapshot || (there && sample->unresponsive))
        return;
    now.ready = there && sample->profiling && sample->rss.known;
    if (now.ready)
        measure(sample, &now);
    pthread_mutex_lock(&w->lock);
    if (sample->pid != w->pid || sample->start_ticks != w->start_ticks ||
        w->new_rules)
        w->marks.begun = false;
    w->new_rules = false;
    w->snapshot_rules = w->rules;
    pthread_mutex_unlock(&w->lock);
    w->pid = sample->pid;
    w->start_ticks = sample->start_ticks;
    w->snapshot_now = now;
    switch (marks_look(&w->marks, &w->snapshot_rules, &now, &due)) {
    case MARKS_TAKE:
        ask_snapshot(w, &due);
        break;
    case MARKS_TOO_FULL:
        if (is_news(w, "too full")) /* its percent goes up and down */
            say(w, "no snapshot by itself: %s", due.reason);
        break;
    case MARKS_NOTHING:
        break;
    }
}

/* ---- a database that went unseen ---- */

/*
 * heapwire-run tells how its own child ended.  A wrapper that starts another
 * database lives on: all that is known is that the first is gone.  Two that
 * lived at one time are no such two (one is the other's child), and what did
 * not live long was none.
 */
static bool
took_its_place(const struct history_sample *before,
               const struct history_sample *now)
{
    return before->pid != 0 &&
           (before->pid != now->pid ||
            before->start_ticks != now->start_ticks) &&
           before->at_ms - before->started_ms >= LIVED_MS &&
           now->started_ms > before->at_ms;
}

/* A heapwired that lingers meets the successor that heapwire-run has started
 * beside it, and how its own database ended is told already. */
static bool
is_told(const struct watch *w)
{
    struct death last[DEATHS_LOOKED_AT];
    size_t count = deaths_read(w->state_dir, last, DEATHS_LOOKED_AT);

    for (size_t i = 0; i < count; i++)
        if (last[i].pid == w->seen.pid && last[i].at_ms >= w->seen.started_ms)
            return true;
    return false;
}

/* The database seen last, at that time. */
static void
keep_end(struct watch *w, int64_t at_ms)
{
    struct death death = {.at_ms = at_ms,
                          .started_ms = w->seen.started_ms,
                          .pid = w->seen.pid,
                          .unknown = true};
    struct error err;

    if (!w->state_dir || is_told(w))
        return;
    memcpy(death.program, w->exe, sizeof(death.program));
    if (deaths_append(w->state_dir, &death, &err) != 0)
        say(w, "that %s (pid %d) ended is not kept: %s", w->exe, w->seen.pid,
            err.text);
}

/* Where there is no heapwire-run, nobody else tells that it ended. */
static void
look_at_end(struct watch *w, const struct node_status *status)
{
    if (!w->keeps_ends || w->seen.pid == 0 || status->state != NODE_GONE ||
        clock_wall_ms() - status->since_ms < ENDED_MS)
        return;
    keep_end(w, status->since_ms);
    w->seen.pid = 0;
}

static void
look_at_successor(struct watch *w, const struct history_sample *now,
                  const struct node_status *status)
{
    if (took_its_place(&w->seen, now))
        keep_end(w, w->seen.at_ms);
    w->seen = *now;
    snprintf(w->exe, sizeof(w->exe), "%s", status->hello.exe);
}

/* ---- the thread ---- */

static void
look(struct watch *w)
{
    struct history_sample now;
    struct node_status status;
    bool there;

    controller_status(w->controller, &status);
    ask_stats(w, &status, clock_ms());
    there = sample(w, &status, &now);
    if (there) {
        look_at_successor(w, &now, &status);
        history_add(w->history, &now);
    }
    look_at_end(w, &status);
    look_at_marks(w, &now, there);
}

/* Until the next second of the wall clock begins, so that each has its sample;
 * answers are taken meanwhile.  False: it is to stop. */
static bool
rest(struct watch *w)
{
    uint64_t until = clock_ms() + SECOND_MS + INTO_SECOND_MS -
                     (uint64_t)clock_wall_ms() % SECOND_MS;
    struct timespec at = {.tv_sec = (time_t)(until / SECOND_MS),
                          .tv_nsec = (long)(until % SECOND_MS) * 1000000};
    int rc = 0;
    bool stop;

    pthread_mutex_lock(&w->lock);
    while (!w->stop && rc != ETIMEDOUT) {
        w->woken = false;
        pthread_mutex_unlock(&w->lock);
        take_stats(w);
        take_snapshot(w);
        pthread_mutex_lock(&w->lock);
        if (!w->woken && !w->stop)
            rc = pthread_cond_timedwait(&w->wakes, &w->lock, &at);
    }
    stop = w->stop;
    pthread_mutex_unlock(&w->lock);
    return !stop;
}

static void *
watch_main(void *arg)
{
    struct watch *w = arg;

    highest_adopt(&w->highest, controller_store(w->controller));
    while (rest(w))
        look(w);
    return NULL;
}

struct watch *
watch_start(struct controller *controller, const struct watch_options *options,
            struct error *err)
{
    struct watch *w = mem_zalloc(1, sizeof(*w));
    struct thread_start thread = {"hw-watch", STACK_BYTES, watch_main, w};
    pthread_condattr_t monotonic;

    if (!w) {
        error_memory(err, "the watch of memory");
        return NULL;
    }
    pthread_mutex_init(&w->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&w->wakes, &monotonic);
    pthread_condattr_destroy(&monotonic);
    w->controller = controller;
    w->rules = options->rules;
    w->log = options->log;
    w->state_dir = options->state_dir;
    w->keeps_ends = options->keeps_ends;
    w->history = history_open(options->state_dir, options->log);
    if (!w->history)
        error_memory(err, "the history of memory");
    else
        w->runs = thread_start(&w->thread, &thread, err) == 0;
    if (!w->runs) {
        watch_stop(w);
        return NULL;
    }
    return w;
}

void
watch_stop(struct watch *w)
{
    if (!w)
        return;
    pthread_mutex_lock(&w->lock);
    w->stop = true;
    pthread_cond_signal(&w->wakes);
    pthread_mutex_unlock(&w->lock);
    if (w->runs)
        pthread_join(w->thread, NULL);
    ticket_free(w->stats);
    ticket_free(w->snapshot);
    stats_unref(w->latest);
    history_close(w->history);
    pthread_cond_destroy(&w->wakes);
    pthread_mutex_destroy(&w->lock);
    mem_free(w);
}

struct history *
watch_history(struct watch *w)
{
    return w->history;
}

void
watch_set_rules(struct watch *w, const struct marks_rules *rules)
{
    pthread_mutex_lock(&w->lock);
    w->rules = *rules;
    w->new_rules = true;
    pthread_mutex_unlock(&w->lock);
}

int
watch_give(struct watch *w, uid_t uid, gid_t gid)
{
    return history_give(w->history, uid, gid);
}
