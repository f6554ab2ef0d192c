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

#include "free_pages.h"

enum { FACTS_HOLDERS = 5, FACTS_TRENDS = 16, FACTS_OWNERS = 8 };

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
    size_t points;              /* snapshots that this is from */
    /* Of FACT_GROWS: how fast at last beside at first (1: the same), and the
     * interval of that; over how long that was seen. */
    double pace, pace_low, pace_high, hours;
    /* Whether all that is allocated has not grown by half as much meanwhile: by
     * that count, which is exact, the sample errs, or others shrink. */
    bool alone;
    /* Per cent of its bytes that are older than old_s, which is less than half
     * of the time that those are from. */
    struct fact old_part;
    uint32_t old_s;
};

/* What a function's survivors pin: free regions of slabs. */
struct fact_waste {
    const char *function; /* NULL: not known */
    uint64_t size_class, waste, low, high;
};

enum fact_state { FACT_SERVES, FACT_HANGS, FACT_ENDED, FACT_ABSENT };

/* NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): by subject */
struct diagnosis_facts {
    uint32_t node_id;
    enum fact_state state;
    enum free_pages_cause free_cause;
    bool ended_clean; /* on request, or without a fault */
    bool has_jemalloc;
    bool has_levers;        /* the agent can change jemalloc for a time */
    bool limit_is_machines; /* else the cgroup's */
    bool profiling;         /* now; */
    bool was_profiling;     /* of one that has ended: at its end */
    bool growth_judged;     /* whether it grows is known */
    bool grows;

    int64_t state_since_ms; /* wall clock; 0: unknown */
    const char *state_why;  /* "was killed by signal 9 (SIGKILL)" */
    int32_t stopped_pid;    /* a signal has stopped it; 0: none, or not seen */
    struct fact oom_kills;  /* of those ends */
    /* Kept of this database's heap, or NULL: the oldest that can be compared
     * with now, and the last. */
    const char *first_snapshot, *last_snapshot;
    int64_t figures_ms; /* wall clock: when those below were taken */

    struct fact rss, rss_file;
    /* RSS in parts: in use, free within pages in use, the page that jemalloc
     * adds to each large block, free pages, what else it counts as resident,
     * other jemallocs, and what none of them counts. */
    struct fact allocated, inside, padding, free_pages, bookkeeping, elsewhere,
        outside;
    /* Of free_pages those that the kernel may have taken back: jemalloc does
     * not count them as resident. */
    struct fact muzzy;
    /* The least of the last half minute: what comes and goes is no illness.
     * held: RSS without file pages, and of that no more than is allocated. */
    struct fact least_inside, least_free_pages, least_outside, least_resident;
    /* What it can have at most: of the cgroup; or what it has and what the
     * machine has left. */
    struct fact limit;
    const char *free_why; /* free_pages_write()'s sentence */
    const char *variable; /* that this jemalloc reads: "MALLOC_CONF" */

    const char *profiling_why; /* why it is off, or NULL */
    struct fact profile_bytes; /* in use, of what the profile has seen */
    struct fact_holder holders[FACTS_HOLDERS]; /* functions, largest first */
    size_t holder_count;
    /* The same by who allocated it: pools of threads, or threads where there is
     * one pool; none where one has all. */
    struct fact_holder threads[FACTS_HOLDERS];
    size_t thread_count;

    /* What it uses, over its history: bytes an hour with an interval. */
    const char *growth_why; /* it is not, or it does not grow; or NULL */
    double growth, growth_low, growth_high;
    double growth_hours; /* that it was looked at */
    double hours_left;   /* until the limit; negative: not known */
    /* At that rate, where it is too far ahead to be known; 0: it is not. */
    double hours_far;
    struct fact_trend trends[FACTS_TRENDS]; /* the fastest first */
    size_t trend_count;
    const char *trend_why; /* why there are none, or NULL */

    struct fact_waste waste; /* the largest */
    /* Of RSS what no jemalloc has, largest first; looked at once it is worth
     * the time that this takes (owners_are_wanted). */
    struct fact_holder owners[FACTS_OWNERS];
    size_t owner_count;
    struct fact owners_more;       /* of those that found no place there */
    struct fact owned_by_jemalloc; /* what all jemallocs have of RSS */
    const char *owners_why;        /* why there are none, or NULL */
    int64_t owners_ms;             /* wall clock: when they were looked at */
    struct fact page_tables;       /* likewise; not a part of RSS */
};

#endif
