/*
 * node_facts.h - the facts of this node, from all that looks at it.
 */
#ifndef HW_NODE_FACTS_H
#define HW_NODE_FACTS_H

#include "facts.h"

struct arena;
struct controller;
struct error;
struct heap_trends;
struct history;
struct memory_map;
struct snapshot;
struct stats;
struct view_options;

/* What is borrowed may be NULL, if nothing else is said: the facts that it
 * would give are then unknown. */
struct node_sources {
    struct controller *controller; /* never NULL */
    const char *state_dir;
    struct history *history;
    struct heap_trends *trends;
    const struct stats *stats;
    struct snapshot *snapshot; /* a fresh one */
    const char *no_snapshot;   /* why there is none */
    const struct memory_map *map;
    const struct view_options *options; /* for names; never NULL */
};

/* The texts lie in arena.  -1 with *err: cancelled, or no memory. */
int node_facts_gather(const struct node_sources *from, struct arena *arena,
                      struct diagnosis_facts *out, struct error *err);

#endif
