/*
 * diagnosis_facts.h - all that is known of a database's memory: the input of a
 * diagnosis.
 *
 * Numbers are bytes, if nothing else is said.  A figure that is not known has
 * known false, a text is NULL; no figure stands for an unknown one.  The texts
 * are the gatherer's and outlive the diagnosis.
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

/* A function, a pool of threads, or an owner of mappings. */
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

/* The trend of a function over the automatic snapshots. */
struct fact_trend {
    const char *function;
    enum fact_trend_kind kind;
    uint64_t bytes;             /* now */
    double per_hour, low, high; /* bytes an hour, and its interval */
    size_t points;              /* snapshots that this is from */
    /* Of FACT_GROWS: its last speed divided by its first (1: the same), the
     * interval of that, and the hours over which it was seen. */
    double pace, pace_low, pace_high, hours;
    /* True if all that is allocated has grown by less than half as much in that
     * time: by that exact count, the sample errs, or others have shrunk. */
    bool alone;
    /* The percentage of its bytes that are older than old_s, which is less than
     * half of the time of the snapshots. */
    struct fact old_part;
    uint32_t old_s;
};

/* Free regions in slabs that a function's live objects keep from being
 * freed. */
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
    int32_t stopped_pid;    /* stopped by a signal; 0: not, or not seen */
    struct fact oom_kills;  /* processes that the kernel killed in those ends */
    /* Kept snapshots of this database's heap, or NULL: the oldest that can be
     * compared with now, and the last. */
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
    /* The least of the last half minute: what comes and goes is not unusual.
     * least_resident: RSS without file pages, and of that no more than is
     * allocated. */
    struct fact least_inside, least_free_pages, least_outside, least_resident;
    /* The most that it can have: the cgroup's limit, or what it has plus what
     * the machine has left. */
    struct fact limit;
    const char *free_why; /* free_pages_write()'s sentence */
    const char *variable; /* the one that its jemalloc reads: "MALLOC_CONF" */

    const char *profiling_why; /* why it is off, or NULL */
    struct fact profile_bytes; /* in use, of what the profile has seen */
    struct fact_holder holders[FACTS_HOLDERS]; /* functions, largest first */
    size_t holder_count;
    /* The same by the threads that allocated it: pools, or threads where there
     * is one pool; none where one has everything. */
    struct fact_holder threads[FACTS_HOLDERS];
    size_t thread_count;

    /* The growth of what it uses, over its history: bytes an hour with an
     * interval. */
    const char *growth_why; /* why it is not known, or not; or NULL */
    double growth, growth_low, growth_high;
    double growth_hours; /* over which it was seen */
    double hours_left;   /* until the limit; negative: not known */
    /* The same, where it is farther ahead than what was seen can tell; 0: it is
     * not. */
    double hours_far;
    struct fact_trend trends[FACTS_TRENDS]; /* the fastest first */
    size_t trend_count;
    const char *trend_why; /* why there are none, or NULL */

    struct fact_waste waste; /* the largest */
    /* Owners of the part of RSS that no jemalloc has, the largest first; only
     * read if it is large enough (owners_are_wanted). */
    struct fact_holder owners[FACTS_OWNERS];
    size_t owner_count;
    struct fact owners_more;       /* of the ones not in owners */
    struct fact owned_by_jemalloc; /* the part of RSS that jemallocs have */
    const char *owners_why;        /* why there are none, or NULL */
    int64_t owners_ms;             /* wall clock: when they were read */
    struct fact page_tables;       /* likewise; not a part of RSS */
};

#endif
