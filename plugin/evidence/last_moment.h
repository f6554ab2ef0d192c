/*
 * last_moment.h - the heap of a recorded database (plugin/recorder) when it
 * ended, and at its peak.
 *
 * The recorder's segment has all that is needed, and the database is asked
 * nothing.  Each second it is copied into the file "last_moment" of the state
 * directory, for a death that takes heapwired with it, or a program that takes
 * the segment over at once.  The next heapwired finds the copy at its start:
 * "last_moment.again" is what is being made a snapshot, tried twice at most.
 * The peak's copy is in memory alone until memory has fallen.
 *
 * Of one thread; may wait for the disk.
 */
#ifndef HW_LAST_MOMENT_H
#define HW_LAST_MOMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "controller.h"
#include "segment_file.h"
#include "snapshot.h"

struct highest;
struct history_sample;
struct node_status;
struct store;

#define LAST_MOMENT_FILE  "last_moment"
#define LAST_MOMENT_AGAIN "last_moment.again"

enum { LAST_MOMENT_DUE_MAX = 4 };

/* A recording that is to become a snapshot. */
struct last_due {
    struct recording recording;
    char reason[SNAPSHOT_REASON_MAX + 1];
    bool has_file; /* LAST_MOMENT_AGAIN is removed with it */
};

struct last_moment {
    int segment;           /* borrowed; -1: there is no recorder */
    const char *state_dir; /* or NULL: nothing is kept on disk */
    struct store *store;
    void (*log)(const char *line);
    uint64_t began_ms; /* monotonic */

    struct segment_owner owner;    /* whom the rest is about; pid 0: nobody */
    struct segment_owner done;     /* nothing more is kept of this one */
    struct agent_hello hello;      /* its greeting, or a substitute */
    struct snapshot_memory memory; /* at the last sample */
    int64_t last_seen_ms;          /* wall clock: when it was alive last */
    uint64_t missed_ms; /* monotonic: since when it is missing; 0: it lives */
    struct segment_file *file;    /* its copies, or NULL */
    int64_t copied_ms;            /* wall clock, of the newest copy; 0: none */
    uint64_t copied_monotonic_ms; /* likewise */
    uint64_t copy_ms;             /* monotonic: when the next copy is due */
    bool faulty;                  /* the last copy failed, which was logged */
    struct recording peak;        /* segment -1: none, or handed on */
    uint64_t peak_rss, peak_live; /* bytes */
    uint64_t peak_kept_ms;        /* monotonic: the last time; 0: never */
    struct recording found;       /* the copy that an earlier heapwired left */
    struct last_due due[LAST_MOMENT_DUE_MAX];
    size_t due_count;
};

/* Call it with a zeroed struct whose first four fields are set. */
void last_moment_start(struct last_moment *last);
void last_moment_stop(struct last_moment *last);

/* Call it with each round.  sample: of the database, or NULL.  ends: heapwired
 * ends, so that a process that is missing is not waited for. */
void last_moment_check(struct last_moment *last,
                       const struct node_status *status,
                       const struct history_sample *sample,
                       const struct highest *highest, bool ends);

/* The recording to submit next; NULL: none. */
const struct last_due *last_moment_due(const struct last_moment *last);
/* It was submitted: its segment belongs to the job now. */
void last_moment_given(struct last_moment *last);
/* Its job is done.  kept false: it failed, and the next heapwired tries it once
 * more. */
void last_moment_done(struct last_moment *last, bool kept);

#endif
