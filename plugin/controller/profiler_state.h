/*
 * profiler_state.h - the profiler's state, in words for people.
 *
 * Pure: reads the status alone.
 */
#ifndef HW_PROFILER_STATE_H
#define HW_PROFILER_STATE_H

#include <stddef.h>
#include <stdint.h>

struct agent_hello;
struct buffer;
struct node_status;

enum profiler_state {
    PROFILER_UNKNOWN,     /* no database answers */
    PROFILER_NO_JEMALLOC, /* none serves the database */
    PROFILER_UNUSABLE,    /* one that cannot be called, or is not chosen */
    PROFILER_NOT_BUILT,   /* jemalloc without --enable-prof */
    PROFILER_OPT_OFF,     /* started without prof:true */
    PROFILER_INACTIVE,
    PROFILER_NOTHING_YET, /* active; the last profile had no samples */
    PROFILER_ACTIVE
};

enum profiler_state profiler_state_of(const struct node_status *status);
/* How many bytes are allocated from one sample to the next; 0: not known. */
uint64_t profiler_state_distance(const struct agent_hello *hello);
/* Who samples: "interposed", "jemalloc"; "": nobody can. */
const char *profiler_state_source(const struct node_status *status);
/* "active", "opt.prof is off", ... */
const char *profiler_state_word(enum profiler_state state);

/* Writes lines: the state, its reason and a remedy, times, rate, samples,
 * overhead, budget, risks. */
void profiler_state_write(const struct node_status *status, struct buffer *out);

/* When profiling was last switched off unasked, and why: by heapwired for its
 * cost, or by the agent because heapwired was away; 0 and "": never. */
int64_t profiler_state_switched_off(const struct node_status *status,
                                    const char **reason);

/* The risks alone, "; " between them. */
void profiler_state_risks(const struct node_status *status, struct buffer *out);

#endif
