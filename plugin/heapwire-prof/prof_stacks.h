/*
 * prof_stacks.h - the stacks of a large raw profile, made ready on another core
 * while its addresses are named.
 */
#ifndef HW_PROF_STACKS_H
#define HW_PROF_STACKS_H

#include <pthread.h>
#include <stdbool.h>

struct heap_dump;
struct profile;

struct prof_stacks {
    struct heap_dump *dump; /* its stacks are not to be touched */
    bool started;
    pthread_t thread;
    struct profile *begun; /* by the thread */
};

/* Borrows dump.  Few stacks, or on one core, wait until they are taken. */
void prof_stacks_init(struct prof_stacks *stacks, struct heap_dump *dump);
/* Ends the thread. */
void prof_stacks_fini(struct prof_stacks *stacks);

/* What profile_begin answers, for profile_finish. */
struct profile *prof_stacks_take(struct prof_stacks *stacks);

#endif
