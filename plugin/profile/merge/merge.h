/*
 * merge.h - adds up the profiles of several nodes into one profile.
 *
 * An address in a file of one build-id is one location, wherever the nodes have
 * mapped it.  Places of different builds stay apart, but a function of both is
 * one function in every view, because views go by name.  Estimates and
 * variances are added.  Addresses are the first node's; where another node's
 * would collide, they are made up.
 *
 * Nodes are added one after the other and may be freed at once: memory grows
 * with what differs between the nodes, not with their number.
 */
#ifndef HW_MERGE_H
#define HW_MERGE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct error;
struct merge;
struct profile;

enum {
    MERGE_MEMORY_MAX = 512 << 20, /* of a sum */
    MERGE_MODULES_MAX = 16384,    /* further ones keep no address */
    MERGE_SHARES_SHOWN = 8,       /* the others are shown as one number */
    MERGE_NOTES_SHOWN = 8         /* the others are left out */
};

/* by_node: the root of every stack is a frame "node 10001".  NULL with *err. */
struct merge *merge_new(bool by_node, struct error *err);
void merge_free(struct merge *merge); /* NULL is fine */

/* 0 if the profile is of the same kind as the others; else -1 with *err. */
int merge_check(const struct merge *merge, const struct profile *profile,
                struct error *err);

/*
 * Adds a node's profile, which merge_check() has passed.  If one is a
 * difference, all must be.  Stops once *cancelled (or NULL) is set.  After -1
 * with *err, merge may only be freed.
 */
int merge_add(struct merge *merge, uint64_t node, const struct profile *profile,
              const atomic_bool *cancelled, struct error *err);

/*
 * Takes the sum out of merge.  Its memory text gives each node's share; its
 * note gives missing first (which nodes are not in it; "": none is missing),
 * then what the nodes could not name.  NULL with *err.
 */
struct profile *merge_finish(struct merge *merge, const char *missing,
                             struct error *err);

#endif
