/*
 * merge.h - the profiles of several nodes added up: a profile.
 *
 * A place in a file of one build-id is one location, wherever the nodes have
 * mapped it; places of different builds stay apart, but a function that both
 * have is one function in every view, for its name is.  Estimates and variances
 * are added.  Addresses are those of the first node, and made up where others
 * would collide with them.
 *
 * Nodes are added one after the other, and none is needed any more once it was:
 * a thousand of them take as much memory as what is different among them.
 */
#ifndef HW_MERGE_H
#define HW_MERGE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct merge;
struct profile;

enum {
    MERGE_MEMORY_MAX = 512 << 20, /* of a sum */
    MERGE_MODULES_MAX = 16384,    /* that are told apart */
    MERGE_SHARES_SHOWN = 8        /* the others are one number */
};

/* by_node: every stack stands on a frame "node 10001".  NULL with *err. */
struct merge *merge_new(bool by_node, struct error *err);
void merge_free(struct merge *merge); /* NULL is fine */

/*
 * Adds what a node has, be it a difference: then all must be such.  Stops once
 * *cancelled (or NULL) is set.  -1 with *err: nothing can be done with it any
 * more.
 */
int merge_add(struct merge *merge, uint64_t node, const struct profile *profile,
              const atomic_bool *cancelled, struct error *err);

/*
 * The sum; merge has it no more.  What profile->memory says is each node's
 * share, the note what of them could not be named, and before that missing:
 * which nodes are not in it, "" none.  NULL with *err.
 */
struct profile *merge_finish(struct merge *merge, const char *missing,
                             struct error *err);

#endif
