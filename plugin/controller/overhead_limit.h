/*
 * overhead_limit.h - what profiling costs the database; it ends when that is
 * above the budget.
 *
 * The estimate is pure: it takes readings at any pace, gives figures and a
 * verdict.  The limit takes its readings and puts its report into the node's
 * status.  Call it with the agent: jobs.h.
 */
#ifndef HW_OVERHEAD_LIMIT_H
#define HW_OVERHEAD_LIMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stats.h"

struct agent_client;

/*
 * The overhead is estimated: so many samples are taken in a second, and each
 * costs the thread that makes it overhead_estimate_sample_us(), or less where
 * stacks are walked by unwind tables. That was measured with
 * tests/bench/sample_cost.c.  The report also has the process's
 * measured CPU time before and since; the verdict does not use it, because the
 * load changes for other reasons, too.
 *
 * The recorder counts its samples; jemalloc does where opt.prof_stats is on.
 * Else each 2^lg_sample bytes that are allocated are one, a lower bound: what a
 * thread's cache serves is added to jemalloc's figures only when the cache is
 * filled or flushed, and a loop that frees what it has just allocated does
 * neither.  They are at least as many as by_library has, which is counted.
 */
enum {
    OVERHEAD_READINGS = 3, /* in a row above the budget, and profiling ends */
    OVERHEAD_REASON_MAX = 256,
    OVERHEAD_SAMPLES_MAX = 128,
    OVERHEAD_CPUS = 8 /* that budget_percent is of one for */
};

struct overhead_settings {
    /* Percent of one CPU, for every eight that the machine has or begins to
     * have; 0: whatever it costs. */
    double budget_percent;
    unsigned cpus;
};

struct overhead_reading {
    int64_t at_ms; /* monotonic */
    bool active;   /* while not, all but the CPU time may be unknown */
    uint32_t lg_sample;
    double frames; /* of the mean stack; 0: not known yet */
    struct stats_figure allocated_ever, allocated, metadata; /* bytes */
    struct stats_figure sampled_ever;                        /* times */
    struct stats_figure by_library; /* of them; not known: all */
    struct stats_figure cpu_ms;     /* of the process, ever */
};

/* The report.  In CPUs 1 is one CPU fully used. */
struct overhead_report {
    bool estimated; /* the next five are known, as of the last two readings */
    bool counted;   /* the samples were; else there may have been more */
    double bytes_per_second, samples_per_second, sample_us, cpus;
    bool measured_before, measured_since;
    double cpus_before, cpus_since;   /* of the process: off, on */
    double budget_cpus;               /* 0: none */
    uint64_t metadata_growth;         /* bytes, since it is on */
    int64_t switched_off_ms;          /* wall clock; 0: not for its cost */
    char reason[OVERHEAD_REASON_MAX]; /* of that; "" */
};

/* A zeroed struct has seen nothing yet. */
struct overhead_estimate {
    struct overhead_reading idle;        /* where cpus_before begins */
    struct overhead_reading first, last; /* since it is on */
    bool on;
    unsigned above; /* readings in a row */
    struct overhead_report report;
};

/* True when profiling must be switched off for report.reason: once, and again
 * if it stays on. */
bool overhead_estimate_read(struct overhead_estimate *overhead,
                            const struct overhead_settings *settings,
                            const struct overhead_reading *reading);

/* Microseconds that a sample costs, at stacks of so many frames (0: a guess),
 * by the library's unwinder. */
double overhead_estimate_sample_us(double frames);

/* "200 samples a second, counted, 5.0 us each" */
void overhead_estimate_samples_text(const struct overhead_report *report,
                                    char *text, size_t size);

double overhead_estimate_budget_cpus(const struct overhead_settings *settings);

struct overhead_limit {
    struct overhead_settings settings;
    void (*log)(const char *line); /* or NULL */
    struct overhead_estimate estimate;
    uint64_t next_ms; /* monotonic: the next reading of statistics */
};

/* percent: see struct overhead_settings. */
void overhead_limit_init(struct overhead_limit *limit, double percent,
                         void (*log)(const char *line));

/* The process changed: discards earlier readings. */
void overhead_limit_reset(struct overhead_limit *limit,
                          struct agent_client *client);

/* Call it after each greeting.  While profiling is on it reads statistics every
 * few seconds.  frames: of the mean stack; 0: unknown.  True when it has
 * switched profiling off. */
bool overhead_limit_check(struct overhead_limit *limit,
                          struct agent_client *client, double frames);

#endif
