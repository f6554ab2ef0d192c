/*
 * marks.h - when the node takes a snapshot by itself.
 *
 * Pure: looks at figures and remembers; no clock, no locks.
 */
#ifndef HW_MARKS_H
#define HW_MARKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "snapshot.h"

enum {
    MARKS_MAX = 8,
    MARKS_FALL = 3,    /* points below a mark, before it counts again */
    MARKS_CEILING = 97 /* percent: above, a dump might be the last straw */
};

/* Zeroed: never. */
struct marks_rules {
    uint8_t at_percent[MARKS_MAX]; /* ascending */
    size_t percents;
    uint64_t growth;          /* bytes; 0: whatever it grows by */
    uint64_t every_ms;        /* 0: no schedule */
    uint64_t min_interval_ms; /* between two snapshots, or attempts */
};
/* 80, 90 and 95 percent, a minute at least between two of them. */
extern const struct marks_rules marks_defaults;

struct marks_now {
    uint64_t now_ms; /* monotonic */
    bool ready;      /* the node serves and profiling is on */
    uint64_t rss;
    uint64_t used, total; /* bytes; total 0: not known */
    bool of_cgroup;       /* total is a cgroup's limit, not the machine's RAM */
};

/* What is remembered; a zeroed struct knows nothing. */
struct marks {
    bool begun; /* it was ready before */
    bool tried; /* at tried_ms */
    uint64_t tried_ms, scheduled_ms;
    uint64_t lowest;        /* rss, since the last snapshot */
    bool passed[MARKS_MAX]; /* of rules.at_percent; and a snapshot was taken */
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
enum marks_answer marks_look(struct marks *marks,
                             const struct marks_rules *rules,
                             const struct marks_now *now,
                             struct marks_due *due);
/* Records that the snapshot was taken; a failed one is tried again later. */
void marks_taken(struct marks *marks, const struct marks_rules *rules,
                 const struct marks_now *now);

#endif
