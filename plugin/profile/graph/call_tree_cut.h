/*
 * call_tree_cut.h - the heaviest frames of a call tree, where all are too many.
 *
 * A child is never heavier than its parent and comes after it, so those that
 * are kept are a tree.
 */
#ifndef HW_CALL_TREE_CUT_H
#define HW_CALL_TREE_CUT_H

#include <stdbool.h>
#include <stdint.h>

struct call_tree;

enum { CALL_TREE_DEPTH_MAX = 1000 };

struct call_tree_cut {
    double least;   /* what weighs as much is kept */
    double lighter; /* and of what weighs as much as this */
    uint32_t end; /* the nodes before this one: as many as there is room for */
    uint32_t kept, deepest;
};

/* At most frames_max, which is above CALL_TREE_DEPTH_MAX, and none lighter than
 * least. */
struct call_tree_cut call_tree_cut_at(const struct call_tree *tree,
                                      double least, uint32_t frames_max);
bool call_tree_cut_keeps(const struct call_tree_cut *cut,
                         const struct call_tree *tree, uint32_t i);

#endif
