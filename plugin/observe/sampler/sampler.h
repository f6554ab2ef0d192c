/*
 * sampler.h - what a process's threads do, sampled from outside of it.
 *
 * Two ways: perf_event_open, where the kernel copies registers and stack at
 * each tick of a thread's processor time; and ptrace, which stops a thread for
 * some microseconds.  The best that is allowed here is taken, and the report
 * says why not a better one.  Either asks nothing of the process: it may hang.
 */
#ifndef HW_SAMPLER_H
#define HW_SAMPLER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "errors.h"
#include "thread_state.h"

enum {
    SAMPLER_HZ = 99, /* unless told otherwise */
    SAMPLER_WALL_HZ = 20,
    SAMPLER_PTRACE_HZ_MAX = 50, /* of ptrace, whatever was asked for */
    /* Of a stack that are copied, at most: perf's own ceiling. */
    SAMPLER_STACK_BYTES = (64 << 10) - 8
};

enum sampler_way {
    SAMPLER_ANY, /* the best that is allowed */
    SAMPLER_PERF,
    SAMPLER_PTRACE
};

struct sampler_options {
    /* As this process sees it.  What it forked is sampled, too (processes.h);
     * by perf_event_open also what it forks meanwhile. */
    int32_t pid;
    uint32_t milliseconds, hz; /* hz 0: as above */
    /* Time of the clock: of threads that wait, too; else of the processor. */
    bool wall;
    bool kernel; /* with frames in the kernel: by perf alone */
    enum sampler_way way;
    const atomic_bool *cancelled;
    /* Or NULL.  By perf_event_open: all events are there, and the process need
     * not let itself be looked at any more. */
    void (*attached)(void *arg);
    void *attached_arg;
};

/* One sample: it stands for so much time of that thread, which may be that of
 * many ticks. */
struct sample {
    int32_t tid;
    uint64_t nanoseconds;
    struct thread_registers registers;
    struct thread_stack stack;
    /* In the kernel, above those, leaf first: as perf_event_open(2) has them.
     */
    const uint64_t *kernel;
    size_t kernel_count;
};

struct sampler_report {
    enum sampler_way way;
    uint32_t milliseconds; /* that it lasted */
    uint32_t hz;           /* ticks a second, as they were; at least 1 */
    uint32_t hz_wanted;    /* as they were asked for, or are by default */
    uint64_t samples;
    uint64_t lost;          /* the kernel, or we, had no room or time for */
    uint32_t threads;       /* seen */
    uint32_t threads_first; /* of them: when the time began */
    bool slow_scans; /* of ptrace: looking at all of them makes ticks rarer */
    uint32_t unseen; /* threads that could not be looked at, */
    uint32_t unmet;  /* of the clock: for which there was no time */
    uint64_t unseen_ms; /* of the clock: or not all the time; those times */
    uint32_t children;  /* processes that it forked, in this */
    uint32_t born;      /* likewise, meanwhile, and not in this */
    uint32_t beyond;    /* likewise, for which there was no room */
    uint32_t closed;    /* children that may not be looked at */
    bool ended;         /* the process did, before the time was over */
    bool kernel;        /* time in the kernel is sampled, too */
    /* That the process used, as the kernel says: what samples of processor time
     * add up to, but for the rests of perf's ticks, and, without kernel, the
     * kernel's.  With all that its children used, in other programs, too. */
    uint64_t processor_ms;
    /* Of ptrace: how long threads were stopped, in microseconds. */
    uint64_t stops, pause_total_us, pause_max_us;
    char why_not_better[ERROR_TEXT_MAX]; /* "" where there is no better way */
};

/*
 * Calls take for each sample, from this thread; take returns -1 with *err to
 * end it.  Returns 0 when the time is over or the process has ended; -1 with
 * *err: no way is allowed (it says what would be needed), no such process,
 * cancelled, take.
 */
int sampler_run(const struct sampler_options *options,
                int (*take)(void *arg, const struct sample *sample,
                            struct error *err),
                void *arg, struct sampler_report *report, struct error *err);

/* ---- one thread, stopped for a moment: thread_tracer.h ---- */

struct thread_copy {
    struct thread_registers registers;
    struct thread_stack stack; /* in the tracer's memory */
    uint64_t pause_us;         /* that the thread was stopped for */
    uint64_t slices;           /* where it was not: how often it had run */
};

#endif
