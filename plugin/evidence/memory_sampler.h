/*
 * memory_sampler.h - the thread that looks at the database's memory each
 * second.
 *
 * It writes the history, takes snapshots where marks.h says so, and records the
 * death of a database that no heapwire-run watches (deaths.h). It asks the
 * controller like any other client and never waits for an answer.
 */
#ifndef HW_MEMORY_SAMPLER_H
#define HW_MEMORY_SAMPLER_H

#include <stdbool.h>
#include <sys/types.h>

#include "marks.h"

struct controller;
struct error;
struct history;
struct memory_sampler;

struct memory_sampler_options {
    /* NULL: the history is in memory alone.  Outlives the sampler. */
    const char *state_dir;
    struct marks_rules rules;
    void (*log)(const char *line); /* NULL: no messages */
    bool keeps_ends;               /* that are seen: no heapwire-run does */
};

/* The controller outlives it.  NULL with *err. */
struct memory_sampler *
memory_sampler_start(struct controller *controller,
                     const struct memory_sampler_options *options,
                     struct error *err);
/* Wakes and joins.  NULL is fine. */
void memory_sampler_stop(struct memory_sampler *sampler);

/* Lives as long as the sampler. */
struct history *memory_sampler_history(struct memory_sampler *sampler);

/* Other rules from now on. */
void memory_sampler_set_rules(struct memory_sampler *sampler,
                              const struct marks_rules *rules);

/* Its file becomes another user's.  -1 with errno. */
int memory_sampler_give(struct memory_sampler *sampler, uid_t uid, gid_t gid);

#endif
