/*
 * kept.h - the snapshots that stay until newer ones push them out.
 *
 * Guarded by the controller's lock.
 */
#ifndef HW_KEPT_H
#define HW_KEPT_H

#include <stddef.h>

struct snapshot;

enum { KEPT_MAX = 8, KEPT_MAX_BYTES = 256 << 20 };

/* A zeroed struct is empty. */
struct kept {
    struct snapshot *list[KEPT_MAX]; /* oldest first, a reference each */
    size_t count;
    unsigned serial; /* of names */
};

void kept_fini(struct kept *kept);

/* Gives a new snapshot a name that no other of this run has. */
void kept_name(struct kept *kept, struct snapshot *snapshot);
/* Takes a reference of its own; lets the oldest go past the ceilings. */
void kept_add(struct kept *kept, struct snapshot *snapshot);
/* New references, oldest first, at most max; how many. */
size_t kept_list(struct kept *kept, struct snapshot **out, size_t max);
/* A new reference, or NULL. */
struct snapshot *kept_find(struct kept *kept, const char *name);

#endif
