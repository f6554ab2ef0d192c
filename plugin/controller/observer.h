/*
 * observer.h - the observations of a controller, as flights.
 */
#ifndef HW_OBSERVER_H
#define HW_OBSERVER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "flight.h"
#include "time_profile.h"

struct agent_client;
struct controller;
struct controller_options;
struct error;
struct index_service;
struct jobs;
struct node_arrival;
struct node_status;
struct observe_request;
struct store;
struct unwind_store;
struct table_loader;

enum { OBSERVER_MAPPINGS = 2, OBSERVER_USES };

struct observer {
    struct flights flights; /* first */
    struct observe_names names;
    int stop_fd; /* eventfd: readable once it is to end */
    struct unwind_store *unwind_store;
    struct unwind_tables *tables[2]; /* of the profile, and of the threads */
    struct table_loader *loader;     /* of who has the agent */
    struct store *store;
    void (*log)(const char *line);
    uint32_t node_id;
    struct jobs *jobs;     /* set before init; borrowed */
    const char *state_dir; /* likewise */
    bool memfd;            /* may be made here: CONFINED_MEMFD */
    bool dumpable;         /* a process may be made so */
    atomic_bool opened;    /* it is so by the agent, or about to be */
    /* clock_ms: until then at most an observation needs that, of threads, of a
     * profile and of mappings; 0: none does. */
    _Atomic uint64_t access_until_ms[OBSERVER_USES];
};

/* Into a zeroed struct; keeper (or NULL) and store are borrowed.  -1 with
 * *err, and fini is still needed. */
int observer_init(struct observer *observer,
                  const struct controller_options *options,
                  struct index_service *service, struct store *store,
                  struct error *err);
/* A seat in an equal observation that waits, or in a new one, of that process.
 * status: of now.  NULL with *err. */
struct seat *observer_join(struct observer *observer,
                           const struct observe_request *request,
                           const struct node_status *status,
                           const struct node_arrival *process,
                           struct waker waker, struct error *err);

/* The controller's. */
struct observer *controller_observer(struct controller *controller);
/* After each greeting: the agent gets unwind tables while profiling is on, and
 * closes a process that nobody looks at any more. */
void observer_greeted(struct observer *observer, struct agent_client *client);
/* JOB_ACCESS, of who has the agent: the process gets as dumpable as
 * observations need it now.  *opened: it is so by us. */
int observer_set_access(struct observer *observer, struct agent_client *client,
                        bool *opened, struct error *err);
/* Ends what runs; while jobs still run.  Every seat has been left. */
void observer_stop(struct observer *observer); /* zeroed is fine */
/* Once they do not. */
void observer_fini(struct observer *observer); /* zeroed is fine */

#endif
