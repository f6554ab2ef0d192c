/*
 * sample_ptrace.c - samples by stopping threads for some microseconds.
 *
 * At each tick /proc says which threads have run since the last one.  Of the
 * processor's time, those that run at this moment are stopped, and the sample
 * stands for all processor time of the thread since its last one: so sums are
 * exact, and shares are those of random moments.  Of the clock's time, a thread
 * is stopped if it ran since its last stop, and its state is kept until it has
 * run again: one that sleeps is stopped once, for whatever time.
 *
 * The stop itself makes a sleeping thread run twice, for microseconds: to the
 * stop, and back to sleep.  That is no run of its own.
 *
 * This thread looks before all others on its processor, where that is allowed
 * and threads are few enough for that to take no more than a millisecond:
 * on a busy machine it would else come to look when the program has just gone
 * to sleep (seen: 45 % instead of 50 % of the time on the processor).  What
 * takes the samples runs as before.
 *
 * The program pays with the pauses, and the machine with looking.  Both have a
 * budget: stops beyond the first are left out (report->lost), and ticks come
 * further apart, where a share of the time is used up.  Nothing of what is
 * measured depends on the ticks: each sample has its own weight.
 */
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "agent_protocol.h"
#include "confined.h"
#include "errors.h"
#include "memory.h"
#include "sample_refused.h"
#include "sample_run.h"
#include "sample_task.h"
#include "thread_tracer.h"

enum {
    PAUSE_SHARE = 100,        /* all pauses: at most 1/100 of the time */
    PAUSE_CREDIT_US = 2000,   /* so much of it may come at once */
    SCAN_CPU_RATIO = 20,      /* looking: at most 1/20 of a core */
    FIRST_THREADS = 200,      /* with more threads, no real-time priority */
    STOP_SLICES = 2,          /* runs of a sleeper that a stop causes */
    STOP_RUN_NS = 200 * 1000, /* and their time at most */
    /* bytes of kept stacks; above the half each thread has a share */
    KEPT_MAX = 64 << 20
};

/* The copy of a stopped thread, valid until it runs again. */
struct stack_copy {
    struct thread_registers registers;
    size_t size;
    uint64_t start;
    uint8_t bytes[];
};

struct watched {
    int32_t tid, pid;
    bool own;                  /* heapwire's own, left out of wall profiles */
    bool seen, failed;         /* a copy was made; could not be made */
    bool stopped;              /* times lacks the slices of a stop */
    bool pending;              /* it ran, but no pause was left for it */
    bool blind;                /* unknown what it does since given */
    struct sample_times times; /* at the last scan */
    bool born;                 /* after the first tick, and not sampled yet */
    uint64_t given;            /* run_ns or time up to which it has samples */
    struct stack_copy *kept;   /* NULL: none */
};

struct sampler {
    struct sample_run *run;
    struct watched *list; /* ascending by tid */
    size_t count;
    struct sample_tids tids;
    struct thread_tracer *tracer;
    struct thread_copies copies;
    size_t kept_bytes;
    uint64_t unseen_ns, paused_us; /* paused: but for first stops */
    uint32_t random;
    uint64_t ticks, slow_ticks, tick_ns, since_tick_ns;
    int policy; /* of this thread, while it does not look */
    struct sched_param priority;
    bool begun; /* the first tick listed its threads */
    char *why;  /* why none could be stopped so far */
};

/* Only where a look is short: at real-time priority nothing else would run on
 * this processor meanwhile. */
static void
raise_tracer_priority(const struct sampler *s)
{
    const struct sched_param first = {.sched_priority = 1};

    if (s->count <= FIRST_THREADS && confined_spares(CONFINED_PRIORITY))
        (void)sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &first);
}

static void
restore_tracer_priority(const struct sampler *s)
{
    if (confined_spares(CONFINED_PRIORITY))
        (void)sched_setscheduler(0, s->policy, &s->priority);
}

static int
deliver_ptrace_sample(const struct sampler *s, const struct sample *sample,
                      struct error *err)
{
    int rc;

    restore_tracer_priority(s);
    rc = sample_run_give(s->run, sample, err);
    raise_tracer_priority(s);
    return rc;
}

/* ---- the threads that are there ---- */

static struct sample
sample_of(const struct watched *w, uint64_t nanoseconds)
{
    return (struct sample){
        .tid = w->tid,
        .nanoseconds = nanoseconds,
        .registers = w->kept->registers,
        .stack = {w->kept->start, w->kept->bytes, w->kept->size}};
}

/* Wall clock: gives the kept copy as a sample of the time until now, or counts
 * that as unseen.  A thread's first copy stands for the time before it, too. */
static int
deliver_wall_time(struct sampler *s, struct watched *w, uint64_t now_ns,
                  struct error *err)
{
    struct sample sample;
    int rc = 0;

    if (w->kept) {
        sample = sample_of(w, now_ns - w->given);
        rc = deliver_ptrace_sample(s, &sample, err);
        s->kept_bytes -= sizeof(*w->kept) + w->kept->size;
        mem_free(w->kept);
        w->kept = NULL;
        w->given = now_ns;
    } else if (w->blind) {
        s->unseen_ns += now_ns - w->given;
        w->given = now_ns;
    }
    w->blind = false;
    return rc;
}

static int
drop_watched_thread(struct sampler *s, struct watched *w, struct error *err)
{
    if (w->own)
        return 0;
    if (w->failed && (s->run->options->wall || !w->seen))
        s->run->report->unseen++;
    else if (s->run->options->wall && !w->seen) {
        s->run->report->unmet++;
        w->blind = true;
    }
    return deliver_wall_time(s, w, sample_now_ns(), err);
}

/* Whoever was not listed by the first tick was born later. */
static struct watched
new_thread(struct sampler *s, struct sample_tid thread)
{
    struct watched w = {
        .tid = thread.tid, .pid = thread.pid, .given = s->run->begin_ns};
    char name[32];

    w.own = s->run->options->wall &&
            sample_task_read(w.pid, w.tid, "comm", name, sizeof(name)) &&
            strcmp(name, AGENT_THREAD_NAME "\n") == 0;
    if (w.own)
        return w;
    sample_run_see(s->run, w.tid);
    w.born = s->begun;
    if (!s->begun)
        sample_task_times(w.pid, w.tid, &w.times);
    else
        w.given = sample_now_ns();
    if (!s->run->options->wall)
        w.given = w.times.run_ns;
    return w;
}

/* A tid may be another process's thread by now. */
static bool
is_before(const struct watched *w, const struct sample_tid *thread)
{
    return w->tid < thread->tid ||
           (w->tid == thread->tid && w->pid != thread->pid);
}

/* Merges the listed threads into the watched ones: both ascend by tid. */
static int
update_watched_threads(struct sampler *s, struct error *err)
{
    const struct sample_tids *tids = &s->tids;
    struct watched *list;
    size_t old = 0;
    int rc = sample_run_tids(s->run, &s->tids, err);

    if (rc != 0)
        return -1;
    list = mem_zalloc(tids->count + 1, sizeof(*list));
    if (!list) {
        error_memory(err, "the threads of a process");
        return -1;
    }
    for (size_t i = 0; i < tids->count; i++) {
        for (; old < s->count && is_before(&s->list[old], &tids->list[i]);
             old++)
            rc |= drop_watched_thread(s, &s->list[old], err);
        if (old < s->count && s->list[old].tid == tids->list[i].tid)
            list[i] = s->list[old++];
        else
            list[i] = new_thread(s, tids->list[i]);
    }
    for (; old < s->count; old++)
        rc |= drop_watched_thread(s, &s->list[old], err);
    mem_free(s->list);
    s->list = list;
    s->count = tids->count;
    if (!s->begun)
        s->run->report->threads_first = s->run->report->threads;
    s->begun = true;
    return rc;
}

/* ---- one thread ---- */

/* Whether the pauses so far leave room for one more. */
static bool
may_pause(struct sampler *s)
{
    uint64_t elapsed_us = (sample_now_ns() - s->run->begin_ns) / 1000;

    return s->paused_us <= PAUSE_CREDIT_US + elapsed_us / PAUSE_SHARE;
}

static void
count_stop(struct sampler *s, struct watched *w, uint64_t pause_us)
{
    struct sampler_report *report = s->run->report;

    if (w->seen)
        s->paused_us += pause_us;
    w->seen = true;
    report->stops++;
    report->pause_total_us += pause_us;
    if (pause_us > report->pause_max_us)
        report->pause_max_us = pause_us;
}

/* Handles the failure in s->copies.  A thread that has just ended is none. */
static void
count_copy_failure(struct sampler *s, struct watched *w)
{
    const struct thread_copies *copies = &s->copies;

    if (copies->gone)
        return;
    w->failed = true;
    if (s->run->report->stops == 0 && copies->err.code == ER_NOT_SUPPORTED)
        snprintf(s->why, SAMPLE_REFUSED_MAX, "%s", copies->err.text);
}

/* Copies a thread into s->copies.  False: it could not be stopped. */
static bool
stop_thread(struct sampler *s, struct watched *w, char state)
{
    const struct thread_wanted wanted = {w->pid, w->tid, state};

    thread_tracer_copy(&s->tracer, &wanted, 1, &s->copies);
    if (s->copies.failed)
        count_copy_failure(s, w);
    else
        count_stop(s, w, s->copies.list->pause_us);
    return !s->copies.failed;
}

/* Keeps the copy until the thread has run again. */
static void
keep_copy(struct sampler *s, struct watched *w, const struct thread_copy *copy)
{
    size_t size = copy->stack.size, share = KEPT_MAX / 2 / (s->count + 1);
    size_t bytes;

    if (s->kept_bytes > KEPT_MAX / 2 && size > share - sizeof(*w->kept))
        size = share - sizeof(*w->kept);
    bytes = sizeof(*w->kept) + size;
    if (s->kept_bytes + bytes <= KEPT_MAX)
        w->kept = mem_alloc_unset(bytes); /* some KB, all written below */
    if (!w->kept) {
        s->run->report->lost++;
        w->failed = w->blind = true;
        return;
    }
    s->kept_bytes += bytes;
    w->kept->registers = copy->registers;
    w->kept->start = copy->stack.start;
    w->kept->size = size;
    memcpy(w->kept->bytes, copy->stack.bytes, size);
}

static int
give_copy(struct sampler *s, struct watched *w, uint64_t nanoseconds,
          struct error *err)
{
    struct sample sample = {.tid = w->tid,
                            .nanoseconds = nanoseconds,
                            .registers = s->copies.list->registers,
                            .stack = s->copies.list->stack};

    return deliver_ptrace_sample(s, &sample, err);
}

/* Processor time since the thread's last sample.  The first one of a newborn
 * also stands for threads that came and went between two ticks: for all time
 * since the last tick, less its share of waiting for a processor. */
static uint64_t
unsampled_processor_ns(const struct sampler *s, const struct watched *w)
{
    const struct sample_times *t = &w->times;
    uint64_t own_ns = t->run_ns - w->given, all_ns = 0;

    if (w->born)
        all_ns = (uint64_t)((double)s->since_tick_ns * (double)t->run_ns /
                            (double)(t->run_ns + t->waited_ns + 1));
    return own_ns > all_ns ? own_ns : all_ns;
}

/* Processor time: stops the thread if it runs now; else a later sample
 * counts. */
static int
sample_running_thread(struct sampler *s, struct watched *w, struct error *err)
{
    uint64_t nanoseconds;

    if (w->times.run_ns <= w->given || sample_task_state(w->pid, w->tid) != 'R')
        return 0;
    if (!may_pause(s)) {
        s->run->report->lost++;
        return 0;
    }
    if (!stop_thread(s, w, 'R'))
        return 0;
    nanoseconds = unsampled_processor_ns(s, w);
    w->given = w->times.run_ns;
    w->born = false;
    return give_copy(s, w, nanoseconds, err);
}

/* Wall clock: stops the thread, as it has run since its last stop. */
static int
sample_waiting_thread(struct sampler *s, struct watched *w, struct error *err)
{
    uint64_t now_ns = sample_now_ns();
    bool copied;
    char state;
    int rc;

    if (w->seen && !may_pause(s)) {
        w->pending = true;
        s->run->report->lost++;
        return 0;
    }
    state = sample_task_state(w->pid, w->tid);
    w->pending = false; /* one in state D is tried again once it has run */
    copied = stop_thread(s, w, state);
    w->stopped = copied && state != 'R';
    rc = deliver_wall_time(s, w, now_ns, err);
    if (copied)
        keep_copy(s, w, s->copies.list);
    else
        w->blind = true;
    return rc;
}

static int
sample_one_thread(struct sampler *s, struct watched *w, struct error *err)
{
    struct sample_times now;
    bool ran;

    if (w->own)
        return 0;
    if (!sample_task_times(w->pid, w->tid, &now))
        return 0; /* the thread has just ended */
    ran = now.run_ns != w->times.run_ns || now.slices != w->times.slices;
    if (w->stopped && now.slices - w->times.slices <= STOP_SLICES &&
        now.run_ns - w->times.run_ns <= STOP_RUN_NS &&
        sample_task_state(w->pid, w->tid) != 'R')
        ran = false;
    w->stopped = false;
    w->times = now;
    if (!s->run->options->wall)
        return ran ? sample_running_thread(s, w, err) : 0;
    return ran || (!w->seen && !w->failed) || w->pending
               ? sample_waiting_thread(s, w, err)
               : 0;
}

/* ---- all of them ---- */

/* Copies threads from index i on, up to one of heapwire's own; returns how many
 * were dealt with. */
static size_t
meet_some(struct sampler *s, size_t i, const struct thread_wanted *wanted)
{
    const struct thread_copies *copies = &s->copies;
    size_t count = 0;

    while (i + count < s->count && !s->list[i + count].own)
        count++;
    if (count == 0)
        return 1;
    thread_tracer_copy(&s->tracer, wanted, count, &s->copies);
    for (size_t k = 0; k < copies->count; k++) {
        struct watched *w = &s->list[i + k];

        count_stop(s, w, copies->list[k].pause_us);
        w->stopped = wanted[k].state != 'R';
        keep_copy(s, w, &copies->list[k]);
    }
    if (copies->failed) {
        count_copy_failure(s, &s->list[i + copies->count]);
        s->list[i + copies->count].blind = true;
    }
    return copies->count + copies->failed;
}

/* Wall clock, first tick: each thread is stopped once, without a budget, as
 * each pays for its own stop only. */
static int
meet_all(struct sampler *s, struct error *err)
{
    struct thread_wanted *wanted = mem_zalloc(s->count + 1, sizeof(*wanted));
    int rc = 0;

    if (!wanted) {
        error_memory(err, "the threads of a process");
        return -1;
    }
    for (size_t i = 0; i < s->count; i++)
        wanted[i] = (struct thread_wanted){
            s->list[i].pid, s->list[i].tid,
            sample_task_state(s->list[i].pid, s->list[i].tid)};
    for (size_t i = 0;
         i < s->count && rc == 0 && sample_now_ns() < s->run->end_ns;) {
        i += meet_some(s, i, wanted + i);
        rc = sample_run_cancelled(s->run, err);
    }
    mem_free(wanted);
    return rc;
}

/* ---- ticks ---- */

static int
sample_all_threads(struct sampler *s, struct error *err)
{
    size_t first;
    int rc = 0;

    /* Begins at a random thread: if the budget ends within a tick, it must not
     * always be the same threads that are left out. */
    first = s->count > 0 ? s->random % s->count : 0;
    for (size_t i = 0;
         i < s->count && rc == 0 && sample_now_ns() < s->run->end_ns; i++) {
        rc = sample_one_thread(s, &s->list[(first + i) % s->count], err);
        rc = rc != 0 ? rc : sample_run_cancelled(s->run, err);
    }
    return rc;
}

static int
run_sampler_tick(struct sampler *s, struct error *err)
{
    uint64_t began_ns = sample_now_ns();
    int rc = update_watched_threads(s, err);

    if (s->count > FIRST_THREADS)
        restore_tracer_priority(s);
    else
        raise_tracer_priority(s);
    s->since_tick_ns = began_ns - s->tick_ns;
    if (rc == 0)
        rc = s->run->options->wall && s->ticks == 0
                 ? meet_all(s, err)
                 : sample_all_threads(s, err);
    s->ticks++;
    s->tick_ns = began_ns;
    return rc;
}

/* Processor time of this thread. */
static uint64_t
own_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Random intervals, 3/4 to 5/4 of the mean: at equal ones, work that the
 * program does by a timer would always or never be met. */
static uint64_t
interval_ns(struct sampler *s, uint64_t look_ns)
{
    uint64_t interval = 1000000000 / s->run->hz;

    if (look_ns * SCAN_CPU_RATIO > interval) {
        interval = look_ns * SCAN_CPU_RATIO;
        s->slow_ticks++;
    }
    s->random = s->random * 1664525 + 1013904223;
    return interval * 3 / 4 + interval / 2 * (s->random >> 16) / 65536;
}

/* 1: nothing can be stopped.  The first tick is made even if the time is over:
 * it counts the threads that could not be met. */
static int
run_ptrace_sampling(struct sampler *s, struct error *err)
{
    const struct sampler_report *report = s->run->report;
    uint64_t next = sample_now_ns(), used_ns;
    bool over = false;
    int rc;

    for (;;) {
        rc = sample_run_rest(s->run, next, &over, err);
        if (rc != 0 || report->ended || (over && s->ticks > 0))
            return rc;
        used_ns = own_ns();
        rc = run_sampler_tick(s, err);
        if (rc != 0)
            return rc;
        if (report->stops == 0 && s->why[0])
            return 1;
        next = sample_now_ns() + interval_ns(s, own_ns() - used_ns);
    }
}

/* Stops the main thread once, to see whether ptrace is allowed. */
static bool
probe_thread_stops(struct sampler *s)
{
    int32_t pid = s->run->options->pid;
    struct watched main_thread = {.tid = pid, .pid = pid};

    stop_thread(s, &main_thread, sample_task_state(pid, pid));
    return s->why[0] == '\0';
}

int
sample_by_ptrace(struct sample_run *run, char *why, struct error *err)
{
    struct sampler s = {.run = run, .why = why};
    struct sampler_report *report = run->report;
    uint64_t elapsed_ns;
    int rc = 1, forgotten = 0;

    if (run->hz > SAMPLER_PTRACE_HZ_MAX)
        run->hz = SAMPLER_PTRACE_HZ_MAX;
    report->kernel = true;
    s.random = (uint32_t)sample_now_ns();
    if (!probe_thread_stops(&s))
        goto out;
    s.policy = sched_getscheduler(0);
    sched_getparam(0, &s.priority);
    sample_run_begin(run);
    rc = run_ptrace_sampling(&s, err);
    for (size_t i = 0; i < s.count; i++) {
        if (rc == 0 && forgotten == 0)
            forgotten = drop_watched_thread(&s, &s.list[i], err);
        mem_free(s.list[i].kept);
    }
    elapsed_ns = sample_now_ns() - run->begin_ns;
    report->hz = (uint32_t)(s.ticks * 1000000000 / (elapsed_ns + 1)) + 1;
    report->slow_scans = s.slow_ticks > s.ticks / 2;
    report->unseen += (uint32_t)s.tids.left_out;
    report->unseen_ms = s.unseen_ns / 1000000;
    report->born = sample_run_born(run);
    if (forgotten != 0)
        rc = forgotten;
    restore_tracer_priority(&s);
out:
    thread_tracer_free(s.tracer);
    mem_free(s.list);
    sample_tids_fini(&s.tids);
    return rc;
}
