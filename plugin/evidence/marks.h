/*
 * marks.h - when the node takes a snapshot by itself, how soon it looks at
 * memory again, and which of these snapshots stays.
 *
 * Pure but for highest_: looks at figures and remembers; no clock, no locks.
 */
#ifndef HW_MARKS_H
#define HW_MARKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "snapshot.h"

struct store;

enum {
    MARKS_MAX = 8,
    MARKS_FALL = 3,     /* points below a mark, before it counts again */
    MARKS_CEILING = 97, /* percent: above, a dump might be the last straw */
    /* If growth would reach the limit sooner than this, a snapshot is taken
     * without waiting for a mark, from this percent on. */
    MARKS_AHEAD_MS = 5000,
    MARKS_AHEAD_PERCENT = 25,
    /* The mark of hours left counts again once that many percent more are left,
     * or once the limit has not been within those hours for so long. */
    MARKS_HOURS_FALL = 50,
    MARKS_HOURS_QUIET_MS = 1800 * 1000
};

/* Zeroed: never. */
struct marks_rules {
    uint8_t at_percent[MARKS_MAX]; /* ascending */
    size_t percents;
    uint64_t growth;     /* bytes; 0: whatever it grows by */
    uint64_t every_ms;   /* 0: no schedule */
    uint32_t hours_left; /* until the limit, as outlook.h has it; 0: no mark */
    uint64_t ring_ms; /* between two of the ring (ring.h); 0: there is none */
    /* The least time between two snapshots by growth or schedule, and between
     * two of the same mark; failed attempts count. */
    uint64_t min_interval_ms;
    /* The time between two checks of budgets (budget_watch.h); 0: none.  It is
     * here because it is set with the rest. */
    uint64_t budgets_ms;
};
/* 80, 90 and 95 percent, each at most once a minute; 6 hours left; no ring;
 * budgets are checked, too. */
extern const struct marks_rules marks_defaults;

struct marks_now {
    uint64_t now_ms; /* monotonic */
    bool ready;      /* the node serves and profiling is on */
    uint64_t rss;
    uint64_t used, total; /* bytes; total 0: not known */
    uint64_t growth;      /* of used, bytes a second; 0: does not grow */
    double left_s; /* until the limit, by outlook.h; below 0: it has no end */
    bool left_of_cgroup; /* and that limit is the cgroup's */
    /* Since the last snapshot of the ring, of this database; UINT64_MAX:
     * none. */
    uint64_t ring_ago_ms;
    bool of_cgroup; /* total is a cgroup's limit, not the machine's RAM */
};

/* What is remembered; a zeroed struct knows nothing. */
struct marks {
    bool begun;        /* it was ready before */
    uint64_t tried_ms; /* when any was due last; 0: never */
    uint64_t scheduled_ms;
    uint64_t lowest;        /* rss, since the last snapshot */
    bool passed[MARKS_MAX]; /* of rules.at_percent; and a snapshot was taken */
    /* When a snapshot was due by this mark last, and by speed; 0: never. */
    uint64_t mark_ms[MARKS_MAX], speed_ms;
    bool hours_passed;  /* and a snapshot was asked for */
    uint64_t hours_ms;  /* when fewer hours were left last; 0: never */
    uint64_t ringed_ms; /* when one of the ring was due last, or it began */
};

enum marks_answer {
    MARKS_NOTHING,
    MARKS_TAKE,
    MARKS_TOO_FULL /* it would be taken, but for the ceiling */
};

struct marks_due {
    enum snapshot_cause cause;
    char reason[SNAPSHOT_REASON_MAX + 1]; /* also why not, of MARKS_TOO_FULL */
};

/* Call it for every sample.  A mark that memory exceeded when profiling was
 * switched on counts only after a fall below it. */
enum marks_answer marks_check(struct marks *marks,
                              const struct marks_rules *rules,
                              const struct marks_now *now,
                              struct marks_due *due);
/* Whether memory is above the ceiling, where no snapshot is taken. */
bool marks_too_full(const struct marks_now *now);
/* Records that the snapshot was taken; a failed one is tried again later. */
void marks_taken(struct marks *marks, const struct marks_rules *rules,
                 const struct marks_now *now);
/* Whether marks_check will begin anew with now, which then needs
 * ring_ago_ms. */
bool marks_begin_with(const struct marks *marks, const struct marks_now *now);

enum {
    PACE_MIN_MS = 100, /* between two checks */
    PACE_MAX_MS = 1000,
    PACE_CHECKS = 16, /* until the limit is reached, at that growth */
    PACE_URGENT_PERCENT =
        70 /* the allocator's figures are wanted each second */
};

/* How fast the memory of one database grows; a zeroed struct has seen nothing.
 */
struct pace {
    uint64_t at_ms, used; /* the last check; 0: none */
    uint64_t growth;      /* since the one before it, bytes a second */
};

/* Sets now->growth: the least of the last two steps, for one step may be a
 * burst that is over. */
void pace_update(struct pace *pace, struct marks_now *now);

/* Milliseconds until the next check: short already after a single fast step. */
uint64_t pace_next_ms(const struct pace *pace, const struct marks_now *now);
bool pace_is_urgent(const struct marks_now *now);

/* Of the automatic snapshots, the one at the highest memory is pinned in the
 * store, so that later ones do not push it out: one for this run of the
 * database, and one for the previous run.  May wait for the disk. */
struct highest_snapshot {
    char name[SNAPSHOT_NAME_MAX + 1]; /* "": none */
    int32_t pid;
    uint64_t start_ticks, rss;
};

/* Begins the reason of a snapshot that was taken after memory had fallen: it is
 * deleted when another of that database is higher. */
#define HIGHEST_PEAK "the peak"

/* A zeroed struct has none. */
struct highest {
    struct highest_snapshot now, before;
};

/* Finds the snapshot that an earlier heapwired pinned. */
void highest_adopt(struct highest *highest, struct store *store);
/* Call it with each automatic snapshot. */
void highest_note(struct highest *highest, struct store *store,
                  const struct snapshot *snapshot);

#endif
