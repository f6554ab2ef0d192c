/*
 * node_status.h - why a node cannot do what is asked, in words for people.
 *
 * node_status_check, _check_job and _check_request read the status alone, and
 * may be called with any lock held; the others read the state directory and
 * /proc.
 */
#ifndef HW_NODE_STATUS_H
#define HW_NODE_STATUS_H

#include <stddef.h>
#include <stdint.h>

#include "controller.h"

struct agent_hello;
struct buffer;
struct error;
struct node_status;

/* Says of an agent that it is older than this heapwired. */
#define NODE_OLDER                                                             \
    "is of an older heapwire and lacks newer functions; restart the database " \
    "to load the new one"

/* 0 if the node can take requests now; else fills *err with the reason. */
int node_status_check(const struct node_status *status, struct error *err);

/* 0 if the node's jemalloc can do such a job; else fills *err. */
int node_status_check_job(const struct node_status *status, enum job_kind kind,
                          struct error *err);

/* Whether such a request may go to the agent: 0, or -1 with *err. */
int node_status_check_request(const struct node_status *status,
                              const struct job_request *request,
                              struct error *err);

/* Whether its profile is in the recorder's segment, where it can be read also
 * when it hangs or has ended. */
bool node_status_is_recorded(const struct node_status *status);

/* From the records in the state directory fills status->ending of a database
 * that is gone, and status->note where there may be none any more; each is only
 * looked for in the first seconds. */
void node_status_check_deaths(const char *state_dir,
                              struct node_status *status);

/* The process that can be observed from outside, as we see it, with or without
 * an agent; its pid is 0, with *err, where there is none. */
struct node_arrival node_status_find_process(const struct node_status *status,
                                             const char *state_dir,
                                             struct error *err);

/* Whether the process that greeted was started without prof, because the one
 * before it did not reach its main. */
bool node_status_restarted(const char *state_dir,
                           const struct agent_hello *hello);

/* ---- the profiler's state, in words for people: profiler_state.c ---- */

enum profiler_state {
    PROFILER_UNKNOWN,     /* no database answers */
    PROFILER_NO_JEMALLOC, /* the database does not use one */
    PROFILER_UNUSABLE,    /* it cannot be called, or is not chosen */
    PROFILER_NOT_BUILT,   /* jemalloc without --enable-prof */
    PROFILER_OPT_OFF,     /* started without prof:true */
    PROFILER_INACTIVE,
    PROFILER_NOTHING_YET, /* active, but no sample is known */
    PROFILER_ACTIVE
};

enum profiler_state profiler_state_of(const struct node_status *status);
/* The mean number of bytes between two samples; 0: not known. */
uint64_t profiler_state_distance(const struct agent_hello *hello);
/* What samples: "interposed", "patched", "jemalloc"; "": nothing can. */
const char *profiler_state_source(const struct node_status *status);
/* "active", "opt.prof is off", ... */
const char *profiler_state_name(enum profiler_state state);

/* Writes lines: the state, its reason and a remedy, times, rate, samples,
 * overhead, budget, risks. */
void profiler_state_write(const struct node_status *status, struct buffer *out);

/* When profiling was last switched off without a request, and why: by heapwired
 * for its cost, by the agent because heapwired was away, or because another
 * process is served; 0 and "": never. */
int64_t profiler_state_switched_off(const struct node_status *status,
                                    const char **reason);

/* Writes the risks alone, "; " between them. */
void profiler_state_risks(const struct node_status *status, struct buffer *out);

#endif
