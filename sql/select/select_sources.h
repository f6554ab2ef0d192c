/*
 * select_sources.h - the snapshots that a SELECT reads, the same for all its
 * tables.
 *
 * A source stands for a name, and lasts as long as the statement.  Its snapshot
 * is loaded when a table reads it, and may be dropped to make room: so a
 * statement can read all kept snapshots in the memory of a few.  If a snapshot
 * is replaced under the same name meanwhile, the statement fails.
 */
#ifndef HW_SELECT_SOURCES_H
#define HW_SELECT_SOURCES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "call_tree.h"
#include "part_rows.h"
#include "pool_rows.h"
#include "waste_rows.h"
#include "snapshot.h"

struct call_tree;
struct functions;
struct handle;
struct view_options;

enum {
    SELECT_SNAPSHOTS_MAX = 1000, /* snapshots that one statement names */
    SELECT_SNAPSHOTS_LOADED = 16 /* of these in memory at one time */
};

/* A snapshot that the statement reads, or the difference of two. */
struct select_source {
    struct snapshot *snapshot;     /* a reference; NULL: dropped to make room */
    struct profile *difference;    /* owned; NULL: no difference */
    const struct profile *profile; /* of the snapshot, or the difference */
    struct functions *functions;   /* of profile */
    struct call_tree *tree;        /* of profile; NULL: not made yet */
    struct call_rows calls;        /* of tree */
    struct part_rows parts;        /* of profile */
    struct waste_rows waste;       /* of profile */
    /* A difference with pools as its roots; NULL: not made yet, or it is the
     * profile of pool_sum. */
    struct profile *by_pool;
    struct snapshot *pool_sum;
    struct functions *pool_functions;
    struct pool_rows pools;
    const char *label; /* the name as the statement wrote it */
    const char *base;  /* the base's name as written; NULL: no difference */
    size_t number;     /* within the statement, from 1; 0: the fresh one */
    unsigned readers;  /* it stays in memory while any table reads it */
    bool warned;   /* the warning that it is unreadable or empty was given */
    uint64_t used; /* when a table last asked for it, as a count */
    struct select_source *now_source,
        *base_source; /* the two snapshots of a difference */
    uint64_t serial;  /* of a kept one; 0: not kept */
    bool observed;    /* of a kept one: not of the heap */
    char name[SNAPSHOT_NAME_MAX + 1], alias[SNAPSHOT_NAME_MAX + 1];
};

/* The sources of a statement; zeroed: none. */
struct select_sources {
    struct select_source fresh;
    struct select_source
        *list[SELECT_SNAPSHOTS_MAX]; /* without the fresh one */
    size_t count, loaded;
    uint64_t uses;
    bool listed;  /* it contains all kept snapshots */
    bool no_base; /* the warning that the base has no name was given */
};

void select_sources_fini(struct select_sources *sources);

/*
 * Pins, for a table, the kept snapshot called name, the fresh one (NULL or
 * SNAPSHOT_NOW), or a profile that is taken for it; with base, the difference
 * of the two.  Returns SQLite's codes, as fetch_needs does.  The caller is one
 * of its readers from then on.
 */
int select_source_pin(struct handle *handle, const char *name, const char *base,
                      struct select_source **out);

/* The options with which functions and calls are made; wrappers has
 * WRAPPERS_TEXT_BYTES. */
struct view_options select_source_options(const struct handle *handle,
                                          char *wrappers);

/* Makes the tree and the calls of a source that is read.  Returns as
 * select_source_pin. */
int select_source_calls(struct handle *handle, struct select_source *source);

/* Makes its rows by thread and by age. *has: threads, or (ages) ages are
 * known; else it warns once why not.  Returns as select_source_pin. */
int select_source_parts(struct handle *handle, struct select_source *source,
                        bool ages, bool *has);
/* Makes its rows of waste; the rest as select_source_parts. */
int select_source_waste(struct handle *handle, struct select_source *source,
                        bool *has);
/* Makes a difference's rows by pool; the rest as select_source_parts. */
int select_source_pools(struct handle *handle, struct select_source *source,
                        bool *has);
/* Is it known what was allocated and freed?  Else it warns once why not. */
bool select_source_counts(struct handle *handle, struct select_source *source);

/*
 * Pins the next kept snapshot from *at on, which starts at 0; before these the
 * fresh one, if the statement names it.  Those of the heap; observed: the
 * others.  *out NULL: no more.  Skips, with a warning, those that cannot be
 * read or compared.  Returns as select_source_pin.
 */
int select_source_next(struct handle *handle, size_t *at, const char *base,
                       bool observed, struct select_source **out);

#endif
