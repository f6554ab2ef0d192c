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
    struct table_loader *loader;     /* for whoever has the agent */
    struct store *store;
    void (*log)(const char *line);
    uint32_t node_id;
    struct jobs *jobs;     /* set before observer_init; borrowed */
    const char *state_dir; /* likewise */
    bool memfd;            /* memfd_create is allowed here: CONFINED_MEMFD */
    bool dumpable;         /* the setting allows to make a process so */
    atomic_bool opened;    /* the agent has made it so, or is about to */
    /* clock_ms until which an observation (of threads, of a profile, of
     * mappings) needs the process dumpable, at most; 0: it does not. */
    _Atomic uint64_t access_until_ms[OBSERVER_USES];
};

/* Call it with a zeroed struct; service (or NULL) and store are borrowed.  -1
 * with *err, and observer_fini is still needed. */
int observer_init(struct observer *observer,
                  const struct controller_options *options,
                  struct index_service *service, struct store *store,
                  struct error *err);
/* A seat in an equal observation of that process that waits, or in a new one.
 * status: the present one.  NULL with *err. */
struct seat *observer_join(struct observer *observer,
                           const struct observe_request *request,
                           const struct node_status *status,
                           const struct node_arrival *process,
                           struct waker waker, struct error *err);

/* The controller's observer. */
struct observer *controller_observer(struct controller *controller);
/* Call it after each greeting: gives the agent unwind tables while profiling is
 * on, and closes a process that nobody needs open any more. */
void observer_greeted(struct observer *observer, struct agent_client *client);
/* JOB_ACCESS, with the agent: makes the process dumpable for as long as
 * observations need it, or puts that back.  *opened: whether it is dumpable now
 * because of us. */
int observer_set_access(struct observer *observer, struct agent_client *client,
                        bool *opened, struct error *err);
/* Ends running observations, which may wait for jobs: call it before jobs_stop.
 * Every seat has been left. */
void observer_stop(struct observer *observer); /* zeroed is fine */
/* Call it after jobs_stop. */
void observer_fini(struct observer *observer); /* zeroed is fine */

#endif
