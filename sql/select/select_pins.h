/*
 * select_pins.h - the snapshots that a SELECT reads, each one the same for all
 * of its tables.
 *
 * A pin stands for a name, and lasts as long as the statement.  Its snapshot is
 * read when a table wants it, and may be dropped to make room: so a statement
 * can read all kept snapshots in the memory of a few.  A snapshot that was
 * replaced under the same name meanwhile is an error.
 */
#ifndef HW_SELECT_PINS_H
#define HW_SELECT_PINS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "snapshot.h"

struct functions;
struct handle;

enum {
    SELECT_SNAPSHOTS_MAX = 1000, /* that one statement names */
    SELECT_SNAPSHOTS_HELD = 16   /* of them in its memory */
};

/* A snapshot that the statement reads, or what grew since another. */
struct select_pin {
    struct snapshot *snapshot;     /* a reference; NULL: let go of */
    struct profile *difference;    /* owned; NULL: */
    const struct profile *profile; /* the snapshot's, or the difference */
    struct functions *functions;   /* of the profile */
    const char *label;             /* as it was asked for */
    const char *base;              /* likewise; NULL: no difference */
    size_t number;                 /* in the statement; 0: the fresh one */
    unsigned readers;              /* of them; it stays while any reads it */
    bool warned;                   /* that it cannot be read, or is empty */
    uint64_t used;                 /* when it was asked for; a count */
    struct select_pin *of, *since; /* of a difference; or */
    uint64_t serial;               /* of a kept one; 0: it is not */
    char name[SNAPSHOT_NAME_MAX + 1], alias[SNAPSHOT_NAME_MAX + 1];
};

/* Of a statement; zeroed: none. */
struct select_pins {
    struct select_pin fresh;
    struct select_pin *list[SELECT_SNAPSHOTS_MAX]; /* without the fresh one */
    size_t count, held;
    uint64_t uses;
    bool listed;  /* all that are kept are among them */
    bool no_base; /* the warning that a base must be named was given */
};

/* The fresh one came; takes it. */
void select_pins_take(struct select_pins *pins, struct snapshot *fresh);
void select_pins_end(struct select_pins *pins);

/*
 * For tables, with SQLite's codes as select_need: the kept snapshot of that
 * name, NULL or SNAPSHOT_NOW: the fresh one; or what it has more than that of
 * base has (NULL: no difference).  The caller reads it until it says
 * otherwise.
 */
int select_pin(struct handle *handle, const char *name, const char *base,
               struct select_pin **out);
void select_unpin(struct select_pin *pin); /* NULL is fine */

/*
 * Likewise the first of those that are kept from *at on, which is 0 at first;
 * the fresh one before them, when the statement names it.  *out NULL: no more.
 * What cannot be read or compared is passed over with a warning.
 */
int select_pin_next(struct handle *handle, size_t *at, const char *base,
                    struct select_pin **out);

#endif
