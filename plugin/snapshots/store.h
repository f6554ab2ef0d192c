/*
 * store.h - the snapshots that are kept: in memory and, where there is a
 * directory, on disk, so that they outlive heapwired and the database.
 *
 * One file a snapshot (snapshot_file.h), complete or not there at all.  All
 * functions are callable from any thread.  store_list, store_find and
 * the two functions of names are quick; the others may wait for the disk: not
 * for the event loop, and not under a lock.  The locks in here are the last of
 * all.
 */
#ifndef HW_STORE_H
#define HW_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "profile_kind.h"
#include "ring.h"
#include "snapshot.h"

struct error;
struct store;

enum {
    STORE_KEEP_MAX = 256, /* upper bound of options.count */
    STORE_COUNT_MAX = STORE_KEEP_MAX + RING_MAX,
    /* Bytes of decoded snapshots that stay in memory, as they can be read again
     * from their files; without a directory, of all snapshots. */
    STORE_MEMORY_MAX = 128 << 20 /* less than decoding has (memory_budget.h) */
};

struct store_options {
    const char *dir; /* NULL: memory alone; made 0700 where missing */
    uint32_t count;  /* number of snapshots */
    /* bytes of their files, or of memory without a directory */
    uint64_t bytes;
    int64_t age_ms; /* older ones are deleted; 0: none is */
    /* Interval of the ring of automatic snapshots, which has room of its own;
     * 0: no ring. */
    uint64_t ring_ms;
};
extern const struct store_options store_defaults;

/* What can be listed of a snapshot without reading it whole. */
struct store_entry {
    char name[SNAPSHOT_NAME_MAX + 1];
    uint64_t serial; /* the snapshot's */
    int64_t taken_ms;
    int64_t kept_ms; /* when it was kept; decides which is oldest */
    uint32_t node_id;
    enum snapshot_cause cause;
    char reason[SNAPSHOT_REASON_MAX + 1];
    bool pinned;   /* never evicted */
    bool on_disk;  /* it survives heapwired */
    uint64_t size; /* bytes on disk, or in memory */
    struct agent_hello hello;
    struct snapshot_memory memory;
    enum profile_kind kind;
    uint64_t duration_ms; /* how long it was sampled; 0: of the heap */
    uint64_t rate, samples, stacks;
    /* of time: nanoseconds and samples (profile_kind.h) */
    double bytes, objects;
    bool truncated;
    char note[256];
};

/* Skips damaged files, with a line to log (or NULL). NULL with *err. */
struct store *store_open(const struct store_options *options,
                         void (*log)(const char *line), struct error *err);
/* The same, but in memory alone if the directory cannot be used.  That is
 * logged, and the table heapwire.snapshots shows it for each snapshot. */
struct store *store_open_or_in_memory(const struct store_options *options,
                                      void (*log)(const char *line),
                                      struct error *err);
void store_close(struct store *store); /* NULL is fine */

/* A name that no other has: "heap_20261121_151347_1", or "cpu_…", "wall_…", or
 * "auto_…" of the ring. */
void store_make_name(struct store *store, struct snapshot *snapshot);
/* Checks a name for a new snapshot: -1 with *err if it is taken or malformed.
 */
int store_check_name(struct store *store, const char *name, struct error *err);

/* Keeps snapshot under its name.  Above a ceiling evicts the oldest first,
 * automatic snapshots before manual ones, and never pinned ones.  The ring is
 * counted separately: it has its own ceiling, none goes for another's sake, but
 * for the ring's where the disk is full; a pinned one belongs to the others. -1
 * with *err, and nothing changed: the name is taken, the disk is full, all
 * others are pinned. */
int store_add(struct store *store, struct snapshot *snapshot,
              struct error *err);
/* A name may also be SNAPSHOT_LAST or SNAPSHOT_PREVIOUS from here on: of the
 * ring only where nothing else is kept. */
/* A new reference, or NULL with *err. */
struct snapshot *store_get(struct store *store, const char *name,
                           struct error *err);
int store_delete(struct store *store, const char *name, struct error *err);
int store_pin(struct store *store, const char *name, bool pinned,
              struct error *err);
/* The entry of one; -1 with *err when none has the name. */
int store_find(struct store *store, const char *name, struct store_entry *out,
               struct error *err);
/* Fills at most max entries, oldest first; returns their number. */
size_t store_list(struct store *store, struct store_entry *out, size_t max);
/* Removes those that are older than the options allow.  A snapshot whose file
 * somebody deleted is written again if it is in memory, and stays there while
 * that fails; else it leaves the list.  Call it now and then: it does nothing
 * while another thread writes. */
void store_expire(struct store *store);

/* Sets the interval of the ring; 0: no ring, and its snapshots count as other
 * automatic ones.  Does not wait for the disk: a write that is under way still
 * uses the old interval. */
void store_set_ring(struct store *store, uint64_t every_ms);
uint64_t store_get_ring(struct store *store);

/* Gives the files to another user; the store works on as that user. */
int store_give(struct store *store, uid_t uid, gid_t gid, struct error *err);

#endif
