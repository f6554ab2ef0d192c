/*
 * mappings_take.h - reads the database's mappings: from outside, or by its
 * agent where heapwired may not.
 */
#ifndef HW_MAPPINGS_TAKE_H
#define HW_MAPPINGS_TAKE_H

#include "buffer.h"
#include "map_source.h"

struct agent_client;
struct error;
struct job;
struct jobs;
struct map_seen;
struct memory_map;
struct node_status;
struct observer;
struct seat;

enum { MAPPINGS_TASKS_MAX = 16 << 20 /* bytes: 65536 threads */ };

struct mappings_take {
    struct map_source source;
    struct buffer smaps, tasks; /* the agent's */
    bool opened; /* the process is dumpable for it: keep the agent */
    char remark[512];
};

/* Call it with the agent.  Opens the files to read, has the process made
 * dumpable for it, or has the agent read them.  -1 with *err: nothing can be
 * read; mappings_take_close is needed all the same. */
int mappings_take_open(struct mappings_take *take, struct agent_client *client,
                       struct observer *observer, struct error *err);
/* Does not need the agent any more, unless opened is set.  NULL with *err. */
struct memory_map *mappings_take_read(struct mappings_take *take,
                                      struct map_seen *seen, struct error *err);
/* A map with only a failure; NULL without memory. */
struct memory_map *mappings_make_failed(const struct error *why);
void mappings_take_close(struct mappings_take *take,
                         struct agent_client *client,
                         struct observer *observer);

/* Runs a JOB_RANGES, which gives the agent to others first: the kernel may have
 * the memory map locked for as long as the database hangs. */
void mappings_take_ranges(struct job *job, const struct agent_client *client,
                          struct map_seen *seen);
/* Called by one thread: asks for a JOB_RANGES where one is due.  status is
 * guarded by the jobs' lock; *ranges_seat: the seat, or NULL. */
void mappings_ask_ranges(struct jobs *jobs, const struct node_status *status,
                         struct map_seen *seen, struct seat **ranges_seat);

#endif
