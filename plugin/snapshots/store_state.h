/*
 * store_state.h - what the store's files share: its state, and the small tools.
 *
 * Two locks, disk taken first.  disk is held across I/O and by every change, so
 * what its holder has read stays true until its work is done.  lock guards the
 * list for readers and is never held across I/O. A reader needs one of them; a
 * change of the list, or of what is stored, needs both.
 */
#ifndef HW_STORE_STATE_H
#define HW_STORE_STATE_H

#include <pthread.h>

#include "file_store.h"
#include "store.h"

struct stored_snapshot {
    struct store_entry entry;
    struct snapshot *snapshot; /* a reference, or NULL: in its file alone */
    /* value of uses when it was last asked for; guarded by lock */
    uint64_t used;
};

struct store {
    pthread_mutex_t disk, lock;
    struct store_options options; /* options.dir is not used */
    /* guarded by lock; becomes options.ring_ms when a snapshot is added, or
     * expired ones are looked for */
    uint64_t ring_ms;
    struct file_store dir; /* fd -1: memory alone */
    void (*log)(const char *line);
    struct stored_snapshot *list[STORE_COUNT_MAX]; /* oldest first */
    size_t count;
    uint64_t uses;
    unsigned serial; /* of store_make_name() */
};

void stored_snapshot_free(struct stored_snapshot *stored); /* NULL is fine */

/* Copies ring_ms to the options.  Call with disk. */
void store_take_ring(struct store *store);

/* Whether it counts towards the ring's room instead of the general one. */
bool store_in_ring(const struct store *store, const struct store_entry *entry);

/* Call with a lock; NULL: no such name. */
struct stored_snapshot *store_lookup(const struct store *store,
                                     const char *name);

/* Whether the name stands for a profile that a statement takes. */
bool store_means_sampling(const char *name);

/* Removes it from the list and from memory, not from the directory.  Call with
 * both. */
void store_remove_entry(struct store *store,
                        const struct stored_snapshot *stored);

/* Marks it as used now: above the ceiling others leave memory before it.  Call
 * with both. */
void store_use(struct store *store, struct stored_snapshot *stored);

uint64_t store_memory_of(const struct snapshot *snapshot);

/* NAME.snapshot, or NAME.pinned, which is never evicted. */
#define STORE_ENDING ".snapshot"
#define STORE_PINNED ".pinned"
void store_file(const char *name, bool pinned, char file[FILE_STORE_NAME]);

/* Removes its file and its entry.  Call with disk. */
int store_let_go(struct store *store, struct stored_snapshot *stored,
                 struct error *err);

#endif
