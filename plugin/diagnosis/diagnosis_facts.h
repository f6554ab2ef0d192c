/*
 * diagnosis_facts.h - what is known of a database's memory, from all that looks
 * at it: what a diagnosis is made of.
 *
 * Bytes, if nothing else is said.  A figure that is not known has known false,
 * a text NULL; no figure stands for an unknown one.  The texts are the
 * gatherer's and outlive the diagnosis.
 */
#ifndef HW_DIAGNOSIS_FACTS_H
#define HW_DIAGNOSIS_FACTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    FACTS_HOLDERS = 8,
    FACTS_TRENDS = 16,
    FACTS_WASTES = 8,
    FACTS_OWNERS = 8
};

struct fact {
    bool known;
    uint64_t value;
};

/* A function, or what else holds memory. */
struct fact_holder {
    const char *name;
    uint64_t bytes;
};

enum fact_trend_kind {
    FACT_UNCERTAIN, /* too few snapshots, or they say nothing */
    FACT_STEADY,
    FACT_SAW_TOOTH, /* up and down; the lower ends do not grow */
    FACT_FILLS,     /* grows, but slower and slower */
    FACT_GROWS
};

/* Of a function, over the automatic snapshots. */
struct fact_trend {
    const char *function;
    enum fact_trend_kind kind;
    uint64_t bytes;             /* now */
    double per_hour, low, high; /* bytes an hour, and its interval */
    struct fact old_part; /* per cent of its bytes from before the last hour */
};

/* What a function's survivors pin: free regions of slabs. */
struct fact_waste {
    const char *function;
    uint64_t size_class; /* 0: of several */
    uint64_t live, waste, low, high;
};

enum fact_state { FACT_SERVES, FACT_HANGS, FACT_ENDED, FACT_ABSENT };

/* NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): by subject */
struct diagnosis_facts {
    int64_t now_ms; /* wall clock */
    enum fact_state state;
    int64_t state_since_ms;    /* wall clock; 0: unknown */
    const char *state_why;     /* "was killed by signal 9 (SIGKILL)" */
    bool ended_clean;          /* on request, or without a fault */
    struct fact oom_kills;     /* of those ends */
    const char *last_snapshot; /* of the database that has ended */
    int64_t figures_ms;        /* wall clock: when those below were taken */

    struct fact rss, rss_file, rss_shared, swap;
    struct fact allocated, active, metadata, resident, retained;
    struct fact elsewhere_resident; /* in jemallocs that are not profiled */
    bool has_jemalloc;
    struct fact limit, used; /* of the cgroup; used is without file pages */
    struct fact available;   /* of the machine, where no cgroup limits */

    struct fact background_thread; /* 0 or 1 */
    struct fact dirty_decay_ms;    /* of most arenas; UINT64_MAX: never */
    struct fact dirty, muzzy;      /* of all arenas together */
    /* Of the arena with the most dirty pages: its number, its threads. */
    struct fact dirtiest_arena, dirtiest_threads, dirtiest_bytes;

    bool profiling;
    const char *profiling_why; /* why it is off, or NULL */
    struct fact profile_bytes; /* in use, of what the profile has seen */
    struct fact_holder holders[FACTS_HOLDERS]; /* functions, largest first */
    size_t holder_count;

    /* What it uses, over its history: bytes an hour with an interval. */
    bool growth_judged;     /* whether it grows is known */
    const char *growth_why; /* it is not, or it does not grow; or NULL */
    bool grows;
    double growth, growth_low, growth_high;
    double growth_hours; /* that it was looked at */
    double hours_left;   /* until the limit; negative: not known */
    struct fact_trend trends[FACTS_TRENDS]; /* the fastest first */
    size_t trend_count;
    const char *trend_why; /* why there are none, or NULL */

    struct fact_waste wastes[FACTS_WASTES]; /* largest first */
    size_t waste_count;
    struct fact_holder
        owners[FACTS_OWNERS]; /* outside jemalloc, largest first */
    size_t owner_count;
    const char *owners_why; /* why there are none, or NULL */
};

#endif
