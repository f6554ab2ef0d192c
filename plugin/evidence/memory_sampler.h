/*
 * memory_sampler.h - the thread that reads the database's memory each second.
 *
 * It writes the history, takes snapshots where marks.h says so, where a budget
 * is crossed (budget_watch.h) and of recorded databases that ended
 * (last_moment.h), and records the death of one that no heapwire-run watches
 * (deaths.h).  It asks the controller like any other client and never waits for
 * an answer.
 */
#ifndef HW_MEMORY_SAMPLER_H
#define HW_MEMORY_SAMPLER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "deaths.h"
#include "history.h"
#include "marks.h"

struct budgets;
struct controller;
struct error;
struct heap_trends;
struct memory_sampler;
struct node_status;
struct store;

/* ---- ends.c ----
 * Records the end of a database that nothing else has seen.  heapwire-run
 * records how its own child ended (deaths.h).  It cannot where a wrapper starts
 * another database, and where it ended together with the database: by a power
 * failure, docker kill, or memory.oom.group.  Then history has a run without
 * an end, which the next heapwired records.  Of one thread; may wait for the
 * disk. */

struct ends {
    const char *state_dir; /* or NULL: nothing is kept */
    bool keeps;            /* ends that are seen: there is no heapwire-run */
    void (*log)(const char *line);
    struct history_sample seen; /* the last one, of the database exe */
    char exe[DEATH_PROGRAM_MAX];
    /* seen is of a database that an earlier heapwired sampled. */
    bool adopted;
    struct stats_figure growth;
    uint64_t adopted_ms; /* monotonic */
};

/* Finds the last database of an earlier heapwired, in history. */
void ends_adopt(struct ends *ends, struct history *history,
                struct store *store);
/* Call it with each sample; exe: the database's executable. */
void ends_note(struct ends *ends, const struct history_sample *now,
               const char *exe);
/* Call it with each check, whether there is a database or not. */
void ends_check(struct ends *ends, const struct node_status *status);

/* ---- memory_sampler.c ---- */

struct memory_sampler_options {
    /* NULL: the history is in memory alone.  Outlives the sampler. */
    const char *state_dir;
    struct marks_rules rules;
    void (*log)(const char *line); /* NULL: no messages */
    bool keeps_ends;               /* that are seen: no heapwire-run does */
    int segment; /* of the database's recorder; borrowed; -1: none */
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
/* Lives as long as the sampler. */
struct heap_trends *memory_sampler_trends(struct memory_sampler *sampler);
struct budgets *memory_sampler_budgets(struct memory_sampler *sampler);

/* Other rules from now on. */
void memory_sampler_set_rules(struct memory_sampler *sampler,
                              const struct marks_rules *rules);

/* Gives the history's file to another user.  -1 with errno. */
int memory_sampler_give(struct memory_sampler *sampler, uid_t uid, gid_t gid);

#endif
