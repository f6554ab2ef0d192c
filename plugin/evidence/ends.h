/*
 * ends.h - records the end of a database that nothing else has seen.
 *
 * heapwire-run records how its own child ended (deaths.h).  It cannot where a
 * wrapper starts another database, and where it ended together with the
 * database: by a power failure, docker kill, or memory.oom.group.  Then history
 * has a life without an end, which the next heapwired records.
 *
 * Of one thread; may wait for the disk.
 */
#ifndef HW_ENDS_H
#define HW_ENDS_H

#include <stdbool.h>
#include <stdint.h>

#include "deaths.h"
#include "history.h"

struct node_status;
struct store;

struct ends {
    const char *state_dir; /* or NULL: nothing is kept */
    bool keeps;            /* ends that are seen: there is no heapwire-run */
    void (*log)(const char *line);
    struct history_sample seen; /* the last one, of the database exe */
    char exe[DEATH_PROGRAM_MAX];
    /* It is of a database that an earlier heapwired looked at. */
    bool adopted;
    struct stats_figure growth;
    uint64_t adopted_ms; /* monotonic */
};

/* Finds the database that an earlier heapwired looked at last. */
void ends_adopt(struct ends *ends, struct history *history,
                struct store *store);
/* The database, of that executable, was looked at. */
void ends_note(struct ends *ends, const struct history_sample *now,
               const char *exe);
/* Call it with each look, whether there is a database or not. */
void ends_look(struct ends *ends, const struct node_status *status);

#endif
