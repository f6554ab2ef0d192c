/*
 * call_tree_cut.h - the heaviest frames of a call tree, where all are too many.
 *
 * A child is never heavier than its parent, so those that are kept are a tree.
 */
#ifndef HW_CALL_TREE_CUT_H
#define HW_CALL_TREE_CUT_H

#include <stdbool.h>
#include <stdint.h>

struct call_tree;
struct call_tree_node;

enum { CALL_TREE_DEPTH_MAX = 1000 };

struct call_tree_cut {
    double least; /* weight of the lightest frame that is kept */
    uint32_t kept, deepest;
};

/* At most frames_max, which is above CALL_TREE_DEPTH_MAX, and none lighter than
 * least. */
struct call_tree_cut call_tree_cut_at(const struct call_tree *tree,
                                      double least, uint32_t frames_max);
bool call_tree_cut_keeps(const struct call_tree_cut *cut,
                         const struct call_tree_node *node);

#endif
