/*
 * observer.h - the observations of a controller, as flights.
 */
#ifndef HW_OBSERVER_H
#define HW_OBSERVER_H

#include <stddef.h>
#include <stdint.h>

#include "flight.h"
#include "time_profile.h"

struct agent_client;
struct controller;
struct controller_options;
struct error;
struct index_keeper;
struct node_arrival;
struct node_status;
struct observe_request;
struct store;
struct unwind_store;
struct table_loader;

struct observer {
    struct flights flights; /* first */
    struct observe_names names;
    int stop_fd; /* eventfd: readable once it is to end */
    struct unwind_store *unwind_store;
    struct unwind_tables *tables[2]; /* of the profile, and of the threads */
    struct table_loader *loader;     /* of who has the agent */
    struct store *store;
    uint32_t node_id;
};

/* Into a zeroed struct; keeper (or NULL) and store are borrowed.  -1 with
 * *err, and fini is still needed. */
int observer_init(struct observer *observer,
                  const struct controller_options *options,
                  struct index_keeper *keeper, struct store *store,
                  struct error *err);
/* A seat in an equal observation that waits, or in a new one, of that process.
 * status: of now.  NULL with *err. */
struct seat *observer_join(struct observer *observer,
                           const struct observe_request *request,
                           const struct node_status *status,
                           const struct node_arrival *process,
                           struct waker waker, struct error *err);

/* That process, then those that it forked; how many. */
size_t observer_list_processes(int32_t pid, int32_t *pids);

/* The controller's. */
struct observer *controller_observer(struct controller *controller);
/* After each greeting: the agent gets unwind tables while profiling is on. */
void observer_give_tables(struct observer *observer,
                          struct agent_client *client);
/* Every seat has been left. */
void observer_fini(struct observer *observer); /* zeroed is fine */

#endif
