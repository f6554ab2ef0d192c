/*
 * call_tree.h - a profile as a tree: the stacks joined where they begin alike.
 *
 * What collapsed stacks, tree and flame graph are drawn from.  Equal profiles
 * give equal trees.
 */
#ifndef HW_CALL_TREE_H
#define HW_CALL_TREE_H

#include <stdint.h>

struct arena;
struct error;
struct profile;
struct profile_stack;
struct view_options;

enum call_tree_names {
    CALL_TREE_SHORT, /* as in the call graph */
    /* As symbols are, with arguments and "[inline]" after inlined ones:
     * "jeprof --collapsed".  Of functions only: other granularities have the
     * graph's names. */
    CALL_TREE_FULL
};

/* Siblings in which order. */
enum call_tree_order {
    CALL_TREE_HEAVIEST, /* or what grew most, where the options say so */
    CALL_TREE_BY_NAME
};

struct call_tree_node {
    const char *name;             /* never ""; the root's is "" */
    uint32_t parent, child, next; /* the first child, next sibling; 0: none */
    uint32_t depth;               /* the root's is 0 */
    double self, total;           /* of a difference signed */
    double changed;  /* sum of the sizes of what is below, signs apart */
    double variance; /* of total, of bytes in use; otherwise 0 */
};

struct call_tree {
    /* A node comes after its parent; the root first. */
    struct call_tree_node *nodes;
    uint32_t count;
    double heaviest; /* the largest size of any node's total */
    double errors;   /* by which a total of a difference is significant */
    struct arena *arena;
};

/* A stack of which no frame is left is called this. */
extern const char call_tree_nameless[];

/* Options NULL: view_defaults.  Needs the profile no more.  NULL with *err
 * without memory, past the ceiling, cancelled, or where the measure was not
 * counted. */
struct call_tree *call_tree_new(const struct profile *profile,
                                const struct view_options *options,
                                enum call_tree_names names,
                                enum call_tree_order order, struct error *err);
void call_tree_free(struct call_tree *tree); /* NULL is fine */

#endif
