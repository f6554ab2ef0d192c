/*
 * heap_trend.h - which functions' memory grows, judged by the ring's snapshots
 * and a fresh one.
 *
 * Only snapshots of one run of one database are compared, with one rate and no
 * reset between them.  A function is the leaf of a stack, as in heap_functions;
 * those are judged that hold TREND_SHARE of the heap, or of what it grew by.
 *
 * The sums by function of each snapshot are remembered, so that its file is
 * read once.
 */
#ifndef HW_HEAP_TREND_H
#define HW_HEAP_TREND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "snapshot.h"
#include "trend.h"

struct arena;
struct error;
struct heap_trends;
struct store;
struct view_options;

#define TREND_SHARE 0.01

enum {
    HEAP_TREND_ROWS_MAX = 200,   /* twice as many as TREND_SHARE can let
                                  * through */
    HEAP_TREND_FUNCTIONS = 1024, /* of a snapshot, the largest */
    HEAP_TREND_STACKS = 2048,    /* of a snapshot, the largest */
    HEAP_TREND_AGES_MAX = 256,   /* bytes of the text */
    HEAP_TREND_FOLDED_MAX = 8192
};

struct heap_trend_row {
    const char *function;
    double bytes;       /* now */
    struct trend trend; /* bytes a second */
    double share; /* share of the growth of all growing functions; below 0: it
                   * does not grow */
    const char *ages; /* "under 1 s 3 %, over 1 day 97 %"; "": not known */
    /* The percentage of its bytes that is older than old_s, which is a part of
     * the time that the trend is judged from.  -1: unknown. */
    int old_percent;
    uint32_t old_s;
    /* The change of all that is allocated (or of rss, where that is unknown)
     * over the same time, of TREND_GROWS; exact, not sampled. */
    bool total_gain_known;
    double total_gain;
    const char *folded;                /* its stack that grew most */
    char since[SNAPSHOT_NAME_MAX + 1]; /* the first snapshot that the trend is
                                        * judged from */
    int64_t since_ms;
};

struct heap_trend_rows {
    struct heap_trend_row *list; /* what grows most first, then the largest */
    size_t count;
    char now[SNAPSHOT_NAME_MAX + 1]; /* the last snapshot */
    struct arena *arena;
};

/* The store outlives it.  NULL: no memory. */
struct heap_trends *heap_trends_new(struct store *store);
void heap_trends_free(struct heap_trends *trends); /* NULL is fine */

/* now: a fresh snapshot, or NULL: the last of the ring; without either there
 * are no rows.  options: for the names (wrappers, cancelled).  May wait for the
 * disk; any thread.  -1 with *err, and nothing to free. */
int heap_trend_init(struct heap_trends *trends, struct snapshot *now,
                    const struct view_options *options,
                    struct heap_trend_rows *out, struct error *err);
void heap_trend_fini(struct heap_trend_rows *rows);

#endif
