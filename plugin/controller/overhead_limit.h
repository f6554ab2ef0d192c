/*
 * overhead_limit.h - estimates what profiling costs the database, and ends it
 * when that is over budget.
 *
 * The estimate is pure: it takes readings at any pace, gives figures and a
 * verdict.  The limit takes the readings and puts the report into the node's
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
 * The overhead is estimated: samples a second, times
 * overhead_estimate_sample_us() for each, or less where stacks are walked by
 * unwind tables.  That cost was measured with tests/bench/sample_cost.c.  The
 * report also has the process's measured CPU time before and since; the verdict
 * does not use it, because the load changes for other reasons, too.
 *
 * The recorder counts its samples; jemalloc does where opt.prof_stats is on.
 * Otherwise each 2^lg_sample allocated bytes count as one, which is a lower
 * bound: what a thread's cache serves is added to jemalloc's figures only when
 * the cache is filled or flushed, and a loop that frees what it has just
 * allocated does neither.  by_library is counted in any case, and is another
 * lower bound.
 */
enum {
    OVERHEAD_READINGS = 3, /* profiling ends after so many in a row above */
    OVERHEAD_REASON_MAX = 256,
    OVERHEAD_SAMPLES_MAX = 128,
    OVERHEAD_CPUS = 8 /* budget_percent is of one CPU for so many */
};

struct overhead_settings {
    /* Percent of one CPU, for every eight CPUs that the machine has or begins;
     * 0: no budget. */
    double budget_percent;
    unsigned cpus;
};

struct overhead_reading {
    int64_t at_ms; /* monotonic */
    bool active;   /* if not, only the CPU time need be known */
    uint32_t lg_sample;
    double frames; /* of the mean stack; 0: not known yet */
    struct stats_figure allocated_ever, allocated, metadata; /* bytes */
    struct stats_figure sampled_ever;                        /* times */
    struct stats_figure by_library; /* of them; not known: all */
    struct stats_figure cpu_ms;     /* of the process, ever */
};

/* The report.  In CPUs 1 is one CPU fully used. */
struct overhead_report {
    bool estimated; /* the next five are known, from two readings */
    bool counted;   /* samples were counted; else a lower bound */
    double bytes_per_second, samples_per_second, sample_us, cpus;
    bool measured_before, measured_since;
    double cpus_before, cpus_since;   /* of the process: off, on */
    double budget_cpus;               /* 0: none */
    uint64_t metadata_growth;         /* bytes, since it is on */
    int64_t switched_off_ms;          /* wall clock; 0: not for its cost */
    char reason[OVERHEAD_REASON_MAX]; /* of switching it off; "" */
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

/* The cost of a sample in microseconds, at stacks of so many frames (0: a
 * guess), by the library's unwinder. */
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
