/*
 * prof_stacks.h - prepares the stacks of a large raw profile on another core
 * while its addresses are named.
 */
#ifndef HW_PROF_STACKS_H
#define HW_PROF_STACKS_H

#include <pthread.h>
#include <stdbool.h>

struct heap_dump;
struct profile;

struct prof_stacks {
    struct heap_dump *dump; /* the thread uses its stacks */
    bool started;
    pthread_t thread;
    struct profile *begun; /* the thread's result */
};

/* Borrows dump.  Few stacks, or those on one core, are prepared by
 * prof_stacks_take. */
void prof_stacks_init(struct prof_stacks *stacks, struct heap_dump *dump);
/* Ends the thread. */
void prof_stacks_fini(struct prof_stacks *stacks);

/* The result of profile_begin, for profile_finish. */
struct profile *prof_stacks_take(struct prof_stacks *stacks);

#endif
