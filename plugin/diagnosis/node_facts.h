/*
 * node_facts.h - gathers all that is known of this node, for its diagnosis.
 */
#ifndef HW_NODE_FACTS_H
#define HW_NODE_FACTS_H

#include "diagnosis.h"
#include "diagnosis_facts.h"

struct arena;
struct await;
struct controller;
struct error;
struct heap_trends;
struct history;
struct snapshot;
struct view_options;

/* Borrowed pointers may be NULL where nothing else is said: the facts that they
 * would give are then unknown. */
struct node_sources {
    struct controller *controller; /* never NULL */
    uint32_t node_id;              /* for commands */
    struct await *await;           /* NULL: nothing more is asked */
    const char *user;              /* who asks */
    const char *state_dir;
    struct history *history;
    struct heap_trends *trends;
    struct snapshot *snapshot;          /* a fresh one */
    const char *no_snapshot;            /* why there is none */
    const struct view_options *options; /* for names; never NULL */
};

struct node_diagnosis {
    struct diagnosis_facts facts;
    struct diagnosis diagnosis;
    struct arena *arena; /* of the facts' texts */
};

/* Gathers the facts and finds what is unusual; asks the database for its
 * figures, and reads its mappings where that is worth the time (owners.h).
 * NULL with *err: cancelled, or no memory. */
struct node_diagnosis *node_diagnosis_new(const struct node_sources *from,
                                          struct error *err);
void node_diagnosis_free(struct node_diagnosis *made); /* NULL is fine */

#endif
