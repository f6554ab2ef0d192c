/*
 * memory_sampler.c - see memory_sampler.h.
 *
 * Every second must have its sample, also while the agent hangs or a snapshot
 * is made: so the thread never waits for an answer, but submits requests to the
 * controller and takes results when a waker tells.  RSS and cgroup come from
 * /proc, which costs the database nothing; the allocator's figures from the
 * agent each ten seconds (each second when memory is nearly full), since they
 * take jemalloc's locks.  One snapshot at a time is outstanding.
 *
 * sampler.lock guards the rules, stop and woken; it is held for nothing else,
 * and the wakers take it last.
 */
#include "memory_sampler.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "budget_watch.h"
#include "clock.h"
#include "controller.h"
#include "errors.h"
#include "heap_trend.h"
#include "history.h"
#include "last_moment.h"
#include "log.h"
#include "measure.h"
#include "memory.h"
#include "node_status.h"
#include "outlook.h"
#include "process_memory.h"
#include "refusal.h"
#include "store.h"
#include "thread.h"

enum {
    SECOND_MS = 1000,
    INTO_SECOND_MS = 20, /* so that rounding never hits a second twice */
    STATS_EVERY_MS = 10 * SECOND_MS,
    STATS_URGENT_MS = SECOND_MS + 30, /* the agent renews them each second */
    /* of the second before, for which a second ago was asked */
    STATS_AGE_MS = 2500,
    AHEAD_EVERY_MS = 10 * SECOND_MS,
    EXPIRE_EVERY_MS = 10 * SECOND_MS, /* snapshots too old, or deleted */
    CGROUP_EVERY_MS = 60 * SECOND_MS, /* a process seldom changes its cgroup */
    LAST_MS = 2000,                   /* for the last profile of a database */
    LAST_STEP_MS = 20,
    STACK_BYTES = 256 * 1024
};

struct memory_sampler {
    struct controller *controller;
    struct history *history;
    struct heap_trends *trends;
    void (*log)(const char *line);
    pthread_t thread;
    bool runs;

    pthread_mutex_t lock;
    pthread_cond_t wakeup; /* on the monotonic clock */
    struct marks_rules rules;
    bool new_rules, stop, woken;

    /* The thread's own. */
    struct marks marks;
    struct highest highest;
    struct cgroup_path cgroup;
    bool has_cgroup;
    bool urgent;   /* pace_is_urgent */
    bool recorded; /* snapshot is of last's */
    int32_t cgroup_pid;
    uint64_t cgroup_ms, stats_ms, expired_ms; /* monotonic: done last */
    struct seat *stats, *snapshot;            /* asked for */
    struct marks_rules asked_rules; /* by which the snapshot is taken */
    struct marks_now snapshot_now;
    char snapshot_reason[SNAPSHOT_REASON_MAX + 1];
    struct refusal refused;
    struct stats *latest; /* of the allocator, not in a sample yet */
    int32_t pid;          /* the database that marks are of */
    uint64_t start_ticks;
    struct pace pace;        /* of that database */
    uint64_t next_sample_ms; /* monotonic: the next one is due */
    struct marks_now ahead;  /* measure_left, */
    uint64_t ahead_ms;       /* monotonic: as of then */
    struct ends ends;
    struct last_moment last;
    struct budget_watch budgets;
};

static void
notify_memory_sampler(void *arg)
{
    struct memory_sampler *sampler = arg;

    pthread_mutex_lock(&sampler->lock);
    sampler->woken = true;
    pthread_cond_signal(&sampler->wakeup);
    pthread_mutex_unlock(&sampler->lock);
}

/* True if new figures have come. */
static bool
take_stats(struct memory_sampler *sampler)
{
    struct job_result result = {0};
    struct error err;
    enum flight_state state;

    if (!sampler->stats)
        return false;
    state = controller_poll_job(sampler->stats, &result, &err);
    if (state == FLIGHT_RUNS)
        return false;
    flight_leave(sampler->stats);
    sampler->stats = NULL;
    if (state != FLIGHT_DONE)
        return false;
    stats_unref(sampler->latest);
    sampler->latest = result.stats;
    return true;
}

/* Not beside a snapshot: the agent serves one request at a time. */
static void
ask_stats(struct memory_sampler *sampler, const struct node_status *status,
          uint64_t now_ms)
{
    struct job_request request = {.kind = JOB_STATS};
    struct waker waker = {notify_memory_sampler, sampler};
    struct error err;

    if (sampler->stats || sampler->snapshot ||
        status->state != NODE_CONNECTED ||
        status->hello.allocator == AGENT_NO_JEMALLOC ||
        (sampler->stats_ms != 0 &&
         now_ms - sampler->stats_ms <
             (sampler->urgent ? STATS_URGENT_MS : STATS_EVERY_MS)))
        return;
    sampler->stats_ms = now_ms;
    sampler->stats =
        controller_submit(sampler->controller, &request, waker, &err);
}

static const struct cgroup_path *
update_cgroup(struct memory_sampler *sampler, int32_t pid)
{
    if (pid != sampler->cgroup_pid ||
        clock_ms() - sampler->cgroup_ms >= CGROUP_EVERY_MS) {
        sampler->has_cgroup = process_memory_find_cgroup(pid, &sampler->cgroup);
        sampler->cgroup_pid = pid;
        sampler->cgroup_ms = clock_ms();
    }
    return sampler->has_cgroup ? &sampler->cgroup : NULL;
}

/* The rss of that moment is left out: the sample has its own.  Figures that are
 * too old are dropped, and asked for again. */
static void
add_allocator_figures(struct memory_sampler *sampler,
                      struct history_sample *sample, const struct stats *stats)
{
    if (sample->at_ms - stats->allocator_ms > STATS_AGE_MS) {
        sampler->stats_ms = 0;
        return;
    }
    sample->allocated = stats->allocated;
    sample->active = stats->active;
    sample->metadata = stats->metadata;
    sample->resident = stats->resident;
    sample->mapped = stats->mapped;
    sample->retained = stats->retained;
}

/* False: there is no database to look at. */
static bool
take_memory_sample(struct memory_sampler *sampler,
                   const struct node_status *status, struct history_sample *out)
{
    const struct agent_hello *hello = &status->hello;
    struct stats kernel = {0};

    memset(out, 0, sizeof(*out));
    if (status->state != NODE_CONNECTED && status->state != NODE_UNRESPONSIVE)
        return false;
    if (status->peer != 0)
        process_memory_read_at(status->peer,
                               update_cgroup(sampler, status->peer), &kernel);
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
    if (sampler->latest) {
        add_allocator_figures(sampler, out, sampler->latest);
        stats_unref(sampler->latest);
        sampler->latest = NULL;
    }
    return true;
}

static void
log_refused(struct memory_sampler *sampler, const char *reason, const char *why)
{
    if (refusal_note(&sampler->refused, why, clock_ms()))
        log_to(sampler->log, "no automatic snapshot (%s): %s", reason, why);
}

static void
ask_snapshot(struct memory_sampler *sampler, const struct marks_due *due)
{
    struct job_request request = {
        .kind = JOB_SNAPSHOT, .cause = due->cause, .reason = due->reason};
    struct waker waker = {notify_memory_sampler, sampler};
    struct error err;

    sampler->recorded = false;
    sampler->snapshot =
        controller_submit(sampler->controller, &request, waker, &err);
    if (!sampler->snapshot)
        log_refused(sampler, due->reason, err.text);
    memcpy(sampler->snapshot_reason, due->reason,
           sizeof(sampler->snapshot_reason));
}

static void
take_snapshot_result(struct memory_sampler *sampler)
{
    struct job_result result = {0};
    struct error err;
    enum flight_state state;
    bool in_ring;

    if (!sampler->snapshot)
        return;
    state = controller_poll_job(sampler->snapshot, &result, &err);
    if (state == FLIGHT_RUNS)
        return;
    flight_leave(sampler->snapshot);
    sampler->snapshot = NULL;
    if (sampler->recorded)
        last_moment_done(&sampler->last, state == FLIGHT_DONE);
    if (state == FLIGHT_FAILED) {
        log_refused(sampler, sampler->snapshot_reason, err.text);
        return;
    }
    sampler->refused = (struct refusal){0};
    in_ring = result.snapshot->cause == SNAPSHOT_RING;
    if (!sampler->recorded && !in_ring)
        marks_taken(&sampler->marks, &sampler->asked_rules,
                    &sampler->snapshot_now);
    budget_watch_see(&sampler->budgets, result.snapshot);
    if (!in_ring)
        highest_note(&sampler->highest, controller_store(sampler->controller),
                     result.snapshot);
    log_to(sampler->log, "took the automatic snapshot %s: %s",
           result.snapshot->name, sampler->snapshot_reason);
    snapshot_unref(result.snapshot);
}

static void
measure_growth_pace(struct memory_sampler *sampler, struct marks_now *now)
{
    uint64_t next_ms;

    if (now->total == 0) {
        sampler->pace = (struct pace){0};
        sampler->urgent = false;
        return;
    }
    pace_update(&sampler->pace, now);
    next_ms = pace_next_ms(&sampler->pace, now);
    if (next_ms < PACE_MAX_MS)
        sampler->next_sample_ms = now->now_ms + next_ms;
    sampler->urgent = pace_is_urgent(now);
    if (sampler->urgent && sampler->stats_ms + STATS_URGENT_MS > now->now_ms &&
        sampler->stats_ms + STATS_URGENT_MS < sampler->next_sample_ms)
        sampler->next_sample_ms = sampler->stats_ms + STATS_URGENT_MS;
}

/* The outlook changes slowly: it is computed each ten seconds. */
static void
update_outlook(struct memory_sampler *sampler, struct marks_now *now)
{
    if (!now->ready)
        return;
    if (sampler->ahead_ms == 0 ||
        now->now_ms - sampler->ahead_ms >= AHEAD_EVERY_MS) {
        sampler->ahead_ms = now->now_ms;
        measure_left(sampler->history, &sampler->ahead);
    }
    now->left_s = sampler->ahead.left_s;
    now->left_of_cgroup = sampler->ahead.left_of_cgroup;
}

static void
check_snapshot_marks(struct memory_sampler *sampler,
                     const struct history_sample *sample, bool there)
{
    struct marks_now now = {.now_ms = clock_ms(), .left_s = -1};
    struct marks_due due;

    /* Keep the marks of an unresponsive database: it has not passed them. */
    sampler->next_sample_ms = UINT64_MAX;
    if (there && sample->unresponsive)
        return;
    now.ready = there && sample->profiling && sample->rss.known;
    if (there && sample->rss.known)
        measure_sample(sample, &now);
    measure_growth_pace(sampler, &now);
    update_outlook(sampler, &now);
    if (sampler->snapshot)
        return;
    pthread_mutex_lock(&sampler->lock);
    if (sample->pid != sampler->pid ||
        sample->start_ticks != sampler->start_ticks || sampler->new_rules)
        sampler->marks.begun = false;
    sampler->new_rules = false;
    sampler->asked_rules = sampler->rules;
    pthread_mutex_unlock(&sampler->lock);
    sampler->pid = sample->pid;
    sampler->start_ticks = sample->start_ticks;
    if (marks_begin_with(&sampler->marks, &now))
        now.ring_ago_ms =
            measure_ring_ago_ms(controller_store(sampler->controller), sample);
    sampler->snapshot_now = now;
    switch (marks_check(&sampler->marks, &sampler->asked_rules, &now, &due)) {
    case MARKS_TAKE:
        ask_snapshot(sampler, &due);
        break;
    case MARKS_TOO_FULL:
        /* the text has a percentage, which varies: log by a fixed key */
        if (refusal_note(&sampler->refused, "too full", clock_ms()))
            log_to(sampler->log, "no automatic snapshot: %s", due.reason);
        break;
    case MARKS_NOTHING:
        break;
    }
}

/* One at a time, and only when no mark's snapshot is outstanding. */
static void
ask_recorded(struct memory_sampler *sampler)
{
    const struct last_due *due = last_moment_due(&sampler->last);
    struct waker waker = {notify_memory_sampler, sampler};
    struct error err;

    if (!due || sampler->snapshot)
        return;
    sampler->snapshot =
        controller_submit(sampler->controller,
                          &(struct job_request){.kind = JOB_RECORDED,
                                                .cause = SNAPSHOT_MARK,
                                                .reason = due->reason,
                                                .recording = &due->recording},
                          waker, &err);
    sampler->recorded = sampler->snapshot != NULL;
    memcpy(sampler->snapshot_reason, due->reason,
           sizeof(sampler->snapshot_reason));
    if (sampler->recorded)
        last_moment_given(&sampler->last);
    else
        log_refused(sampler, due->reason, err.text); /* it stays due */
}

/* History has one sample of each second, the latest.  One without the
 * allocator's figures is added beside one that has them. */
static bool
is_same_second_sample(const struct memory_sampler *sampler,
                      const struct history_sample *now)
{
    const struct history_sample *seen = &sampler->ends.seen;

    return now->pid == seen->pid && now->start_ticks == seen->start_ticks &&
           now->at_ms / SECOND_MS == seen->at_ms / SECOND_MS &&
           (now->allocated.known || !seen->allocated.known);
}

/* Deleting old snapshots may wait for the disk; this thread waits for the same
 * disk anyway, so one that hangs stops nobody else. */
static void
expire_snapshots(struct memory_sampler *sampler, uint64_t now_ms)
{
    if (now_ms - sampler->expired_ms < EXPIRE_EVERY_MS)
        return;
    sampler->expired_ms = now_ms;
    store_expire(controller_store(sampler->controller));
}

static void
run_sampler_round(struct memory_sampler *sampler)
{
    struct marks_due due = {.cause = SNAPSHOT_MARK};
    struct history_sample now;
    struct node_status status;
    bool there, same_second;

    controller_status(sampler->controller, &status);
    ask_stats(sampler, &status, clock_ms());
    there = take_memory_sample(sampler, &status, &now);
    same_second = there && is_same_second_sample(sampler, &now);
    if (there) {
        ends_note(&sampler->ends, &now, status.hello.exe);
        if (same_second)
            history_renew(sampler->history, &now);
        else
            history_add(sampler->history, &now);
    }
    ends_check(&sampler->ends, &status);
    check_snapshot_marks(sampler, &now, there);
    if (!sampler->snapshot &&
        budget_watch_check(&sampler->budgets, &status, &sampler->snapshot_now,
                           &sampler->asked_rules, due.reason))
        ask_snapshot(sampler, &due);
    last_moment_check(&sampler->last, &status, there ? &now : NULL,
                      &sampler->highest, false);
    ask_recorded(sampler);
    expire_snapshots(sampler, clock_ms());
}

/* Waits until the wall clock's next second begins, or less where memory grows
 * fast; takes answers meanwhile.  woken is cleared before they are taken, so
 * that no wake-up is lost.  False: the thread is to stop. */
static bool
wait_for_next_round(struct memory_sampler *sampler)
{
    uint64_t until = clock_ms() + SECOND_MS + INTO_SECOND_MS -
                     (uint64_t)clock_wall_ms() % SECOND_MS;
    int rc = 0;
    bool stop;

    if (sampler->next_sample_ms < until)
        until = sampler->next_sample_ms;

    pthread_mutex_lock(&sampler->lock);
    while (!sampler->stop && rc != ETIMEDOUT) {
        sampler->woken = false;
        pthread_mutex_unlock(&sampler->lock);
        if (take_stats(sampler))
            rc = ETIMEDOUT; /* they are written at once */
        take_snapshot_result(sampler);
        budget_watch_take(&sampler->budgets);
        pthread_mutex_lock(&sampler->lock);
        if (!sampler->woken && !sampler->stop && rc == 0)
            rc = clock_cond_wait(&sampler->wakeup, &sampler->lock, until);
    }
    stop = sampler->stop;
    pthread_mutex_unlock(&sampler->lock);
    return !stop;
}

/* heapwire-run stops heapwired when the database has ended soon after its
 * start: what the recorder has of it is saved first. */
static void
take_last(struct memory_sampler *sampler)
{
    uint64_t until = clock_ms() + LAST_MS;
    struct node_status status;

    do {
        controller_status(sampler->controller, &status);
        last_moment_check(&sampler->last, &status, NULL, &sampler->highest,
                          true);
        take_snapshot_result(sampler);
        ask_recorded(sampler);
        if (!sampler->snapshot && !last_moment_due(&sampler->last))
            return;
        pthread_mutex_lock(&sampler->lock);
        clock_cond_wait(&sampler->wakeup, &sampler->lock,
                        clock_ms() + LAST_STEP_MS);
        pthread_mutex_unlock(&sampler->lock);
    } while (clock_ms() < until);
}

static void *
sampler_main(void *arg)
{
    struct memory_sampler *sampler = arg;

    highest_adopt(&sampler->highest, controller_store(sampler->controller));
    ends_adopt(&sampler->ends, sampler->history,
               controller_store(sampler->controller));
    last_moment_start(&sampler->last);
    while (wait_for_next_round(sampler))
        run_sampler_round(sampler);
    take_last(sampler);
    last_moment_stop(&sampler->last);
    return NULL;
}

struct memory_sampler *
memory_sampler_start(struct controller *controller,
                     const struct memory_sampler_options *options,
                     struct error *err)
{
    struct memory_sampler *sampler = mem_zalloc(1, sizeof(*sampler));
    struct thread_start thread = {"hw-sampler", STACK_BYTES, sampler_main,
                                  sampler};

    if (!sampler) {
        error_memory(err, "the memory sampler");
        return NULL;
    }
    pthread_mutex_init(&sampler->lock, NULL);
    clock_cond_init(&sampler->wakeup);
    sampler->controller = controller;
    sampler->next_sample_ms = UINT64_MAX;
    sampler->rules = options->rules;
    sampler->log = options->log;
    sampler->ends.state_dir = options->state_dir;
    sampler->ends.keeps = options->keeps_ends;
    sampler->ends.log = options->log;
    sampler->last.segment = options->segment;
    sampler->last.state_dir = options->state_dir;
    sampler->last.store = controller_store(controller);
    sampler->last.log = options->log;
    store_set_ring(controller_store(controller), options->rules.ring_ms);
    sampler->trends = heap_trends_new(controller_store(controller));
    sampler->history = history_open(options->state_dir, options->log);
    if (!sampler->history || !sampler->trends ||
        budget_watch_open(&sampler->budgets, controller, options->state_dir,
                          (struct waker){notify_memory_sampler, sampler},
                          options->log) != 0)
        error_memory(err, "the history of memory");
    else
        sampler->runs = thread_start(&sampler->thread, &thread, err) == 0;
    if (!sampler->runs) {
        memory_sampler_stop(sampler);
        return NULL;
    }
    return sampler;
}

void
memory_sampler_stop(struct memory_sampler *sampler)
{
    if (!sampler)
        return;
    pthread_mutex_lock(&sampler->lock);
    sampler->stop = true;
    pthread_cond_signal(&sampler->wakeup);
    pthread_mutex_unlock(&sampler->lock);
    if (sampler->runs)
        pthread_join(sampler->thread, NULL);
    flight_leave(sampler->stats);
    flight_leave(sampler->snapshot);
    budget_watch_close(&sampler->budgets);
    stats_unref(sampler->latest);
    outlook_detach(sampler->history);
    history_close(sampler->history);
    heap_trends_free(sampler->trends);
    pthread_cond_destroy(&sampler->wakeup);
    pthread_mutex_destroy(&sampler->lock);
    mem_free(sampler);
}

struct history *
memory_sampler_history(struct memory_sampler *sampler)
{
    return sampler->history;
}

struct heap_trends *
memory_sampler_trends(struct memory_sampler *sampler)
{
    return sampler->trends;
}

struct budgets *
memory_sampler_budgets(struct memory_sampler *sampler)
{
    return sampler->budgets.budgets;
}

void
memory_sampler_set_rules(struct memory_sampler *sampler,
                         const struct marks_rules *rules)
{
    pthread_mutex_lock(&sampler->lock);
    sampler->rules = *rules;
    sampler->new_rules = true;
    pthread_mutex_unlock(&sampler->lock);
    store_set_ring(controller_store(sampler->controller), rules->ring_ms);
}

int
memory_sampler_give(struct memory_sampler *sampler, uid_t uid, gid_t gid)
{
    return history_give(sampler->history, uid, gid);
}
