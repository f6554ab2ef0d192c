/*
 * highest.h - of the snapshots that the node took by itself, the one at the
 * highest memory stays: it is pinned in the store.
 *
 * One of the database that runs, and one of the one before it.  May wait for
 * the disk.
 */
#ifndef HW_HIGHEST_H
#define HW_HIGHEST_H

#include <stdint.h>

#include "snapshot.h"

struct store;

struct highest_pin {
    char name[SNAPSHOT_NAME_MAX + 1]; /* "": none */
    int32_t pid;
    uint64_t start_ticks, rss;
};

/* A zeroed struct has none. */
struct highest {
    struct highest_pin now, before;
};

/* Finds the snapshot that an earlier heapwired pinned. */
void highest_adopt(struct highest *highest, struct store *store);

/* Call it with each automatic snapshot. */
void highest_note(struct highest *highest, struct store *store,
                  const struct snapshot *snapshot);

#endif
