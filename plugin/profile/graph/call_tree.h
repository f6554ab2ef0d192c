/*
 * call_tree.h - a profile as a tree: stacks share their common beginnings.
 *
 * Collapsed stacks, tree and flame graph are drawn from it.  Equal profiles
 * give equal trees.
 */
#ifndef HW_CALL_TREE_H
#define HW_CALL_TREE_H

#include <stdbool.h>
#include <stdint.h>

struct arena;
struct buffer;
struct error;
struct profile;
struct view_options;

enum call_tree_names {
    CALL_TREE_SHORT, /* as in the call graph */
    /* The symbols' names, with arguments, and "[inline]" after inlined ones, as
     * "jeprof --collapsed" has them.  For functions only: other granularities
     * have the graph's names. */
    CALL_TREE_FULL
};

/* The order of siblings. */
enum call_tree_order {
    CALL_TREE_HEAVIEST, /* or the most grown, if the options say so */
    CALL_TREE_BY_NAME
};

struct call_tree_node {
    const char *name; /* never ""; the root's is "" */
    /* module of the first such frame, or ""; owned by the profile */
    const char *module;
    uint32_t text; /* a number below text_count; equal for equal names */
    /* child is the first one, next a sibling; 0: none */
    uint32_t parent, child, next;
    uint32_t depth;     /* the root's is 0 */
    double self, total; /* signed in a difference */
    double changed;     /* the sum of all sizes below, without signs */
    double variance;    /* of total, where the measure has one; else 0 */
};

struct call_tree {
    /* A node comes after its parent; the root first. */
    struct call_tree_node *nodes;
    uint32_t count;
    uint32_t text_count;
    double heaviest; /* the largest size of any node's total */
    /* standard errors from which a change is significant; 0 unless it is a
     * difference */
    double errors;
    struct arena *arena;
};

/* options NULL: view_defaults.  Only the modules' names need the profile
 * afterwards.  NULL with *err: no memory, past the ceiling, cancelled, or the
 * measure was not counted. */
struct call_tree *call_tree_new(const struct profile *profile,
                                const struct view_options *options,
                                enum call_tree_names names,
                                enum call_tree_order order, struct error *err);
void call_tree_free(struct call_tree *tree); /* NULL is fine */

/* In a difference: may the node's change be chance? */
bool call_tree_is_noise(const struct call_tree *tree,
                        const struct call_tree_node *node);

/*
 * The heaviest frames of a call tree, where all are too many.
 *
 * A child is never heavier than its parent and comes after it, so those that
 * are kept are a tree.
 */
enum { CALL_TREE_DEPTH_MAX = 1000 };

struct call_tree_cut {
    double least;   /* a node of at least this weight is kept */
    double lighter; /* and, of at least this weight, */
    uint32_t end;   /* those before this index, as many as there is room for */
    uint32_t kept, deepest;
};

/* Keeps at most frames_max nodes, which is above CALL_TREE_DEPTH_MAX, and none
 * lighter than least. */
struct call_tree_cut call_tree_cut_at(const struct call_tree *tree,
                                      double least, uint32_t frames_max);
bool call_tree_cut_keeps(const struct call_tree_cut *cut,
                         const struct call_tree *tree, uint32_t i);

/*
 * A call tree as a list of frames: what flame graphs are drawn from, and the
 * table heap_flame_graph.
 *
 * In the order of a walk that comes to callers first, the root first.  What is
 * too much or too deep is left out, and one row has the sum of what a frame
 * called besides.
 */

enum { CALL_ROWS_FRAMES_MAX = 100000, CALL_ROWS_NAME_MAX = 400 };

/* A frame; or, if left_out is not 0, the sum of that many of its callees that
 * have no rows. */
struct call_row {
    uint32_t node, left_out;
    double total, changed;
};

struct call_rows {
    const struct call_tree *tree; /* borrowed */
    struct call_row *list;
    uint32_t count;
};

/* The rows of tree, with siblings in its order; options may cancel it.  -1 with
 * *err, and nothing to free. */
int call_rows_init(struct call_rows *out, const struct call_tree *tree,
                   const struct view_options *options, struct error *err);
void call_rows_fini(struct call_rows *rows); /* zeroed is fine */
uint32_t call_row_depth(const struct call_rows *rows, uint32_t i);

/* The row's value without its callees. */
double call_row_self(const struct call_rows *rows, uint32_t i);

/* Appends the row's name, clean (shown_name()): "all" for the root, or "(3
 * smaller callees)". */
void call_row_name(const struct call_rows *rows, uint32_t i,
                   struct buffer *out);

#endif
