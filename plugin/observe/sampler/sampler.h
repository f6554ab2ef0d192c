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
    /* Bytes that are copied of a stack, at most: perf's own ceiling. */
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
    uint32_t milliseconds, hz; /* hz 0: the default */
    /* Time by the clock, also of threads that wait; else processor time. */
    bool wall;
    bool kernel; /* with frames in the kernel: by perf alone */
    enum sampler_way way;
    const atomic_bool *cancelled;
    /* NULL, or called with perf_event_open once all events are open: from then
     * on the process need not be dumpable. */
    void (*attached)(void *arg);
    void *attached_arg;
};

/* One sample.  nanoseconds is the time of the thread that it stands for, which
 * may be many ticks. */
struct sample {
    int32_t tid;
    uint64_t nanoseconds;
    struct thread_registers registers;
    struct thread_stack stack;
    /* Frames in the kernel, called from those, leaf first, as in
     * perf_event_open(2). */
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
    uint32_t threads_first; /* of these, those that existed at the beginning */
    bool slow_scans;    /* ptrace: looking at all threads made ticks rarer */
    uint32_t unseen;    /* threads that could not be looked at */
    uint32_t unmet;     /* wall: threads for which there was no time */
    uint64_t unseen_ms; /* wall: time in which threads could not be looked at */
    uint32_t children;  /* child processes that were sampled */
    uint32_t born;      /* child processes forked meanwhile, not sampled */
    uint32_t beyond;    /* child processes for which there was no room */
    uint32_t closed;    /* children that may not be looked at */
    bool ended;         /* the process ended before the time was over */
    bool kernel;        /* time in the kernel is sampled, too */
    /* Processor time of the process and all its children, also in other
     * programs, by the kernel's count.  Samples of processor time add up to it,
     * apart from incomplete ticks of perf and, without kernel, time in the
     * kernel. */
    uint64_t processor_ms;
    /* ptrace: number of stops, and how long they took. */
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
    struct thread_stack stack; /* bytes lie in the tracer's memory */
    uint64_t pause_us;         /* for how long the thread was stopped */
    uint64_t slices;           /* if it was not stopped: how often it had run */
};

#endif
