/*
 * history.h - the database's memory over the last weeks: a sample a second of
 * the last hours, of each minute before, and of each hour before that.
 *
 * Rings of fixed size, in memory and, where there is a directory, in the file
 * "history" there: each sample is one write of its own, so it outlives
 * heapwired, the database and the machine, and a reader skips a torn one.  Of a
 * minute or an hour stays the sample with the highest rss, as it was: of those
 * that have the allocator's figures, which are asked for each ten seconds, or
 * of all where none has.
 *
 * One thread adds; any thread reads.
 */
#ifndef HW_HISTORY_H
#define HW_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "stats.h"

enum {
    HISTORY_SECONDS = 2 * 3600,
    HISTORY_MINUTES = 7 * 24 * 60,
    HISTORY_HOURS = 12 * 7 * 24,
    HISTORY_SAMPLES = HISTORY_SECONDS + HISTORY_MINUTES + HISTORY_HOURS,
    HISTORY_RECORD = 128, /* bytes of one, and of the file's head */
    HISTORY_FILE_MAX = (HISTORY_SAMPLES + 1) * HISTORY_RECORD
};

#define HISTORY_FILE "history"

/* Figures that were not taken then are unknown. */
struct history_sample {
    int64_t at_ms; /* wall clock */
    /* Which database: its pid and start, from the agent's greeting. */
    int32_t pid;
    uint64_t start_ticks;
    int64_t started_ms;
    bool profiling;    /* was on */
    bool unresponsive; /* it did not answer */
    struct stats_figure rss, cgroup_current, cgroup_cache, cgroup_limit;
    struct stats_figure allocated, active, metadata, resident, mapped, retained;
    int64_t allocator_ms; /* set by history_last: when these six were taken */
    /* set by history_read: the span of which it is the peak */
    uint32_t seconds;
};

struct history;

/* dir NULL: in memory alone.  A file there that is no history of ours is
 * renamed to "history.damaged"; log (or NULL) gets a line about that, and about
 * a file that cannot be written.  NULL without memory. */
struct history *history_open(const char *dir, void (*log)(const char *line));
void history_close(struct history *history); /* NULL is fine */

/* May wait for the disk. */
void history_add(struct history *history, const struct history_sample *sample);

/* Replaces the last sample: the same second was sampled again. */
void history_renew(struct history *history,
                   const struct history_sample *sample);

/* Reads at most max samples from *next on (0: the oldest), in the finest steps
 * that exist for each time, and moves *next behind the last one.  Returns their
 * number: 0 at the end, or if history is NULL. */
size_t history_read(struct history *history, uint64_t *next,
                    struct history_sample *out, size_t max);

/* The latest sample between the two times; allocator's figures that it lacks
 * come from the latest sample of the same database that has them.  false: none.
 */
bool history_last(struct history *history, int64_t from_ms, int64_t until_ms,
                  struct history_sample *out);

/* Makes the file another user's.  -1 with errno. */
int history_give(struct history *history, uid_t uid, gid_t gid);

static inline bool
history_same_process(const struct history_sample *a,
                     const struct history_sample *b)
{
    return a->pid == b->pid && a->start_ticks == b->start_ticks;
}

#endif
