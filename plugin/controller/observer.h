/*
 * observer.h - what observe.c needs of the controller.
 */
#ifndef HW_OBSERVER_H
#define HW_OBSERVER_H

#include <stdint.h>

#include "flight.h"
#include "time_profile.h"

struct agent_client;
struct controller;
struct controller_options;
struct error;
struct index_keeper;
struct store;
struct table_loader;

struct observer {
    struct flights flights; /* first */
    struct observe_names names;
    struct unwind_tables *tables[2]; /* of the profile, and of the threads */
    struct table_loader *loader;     /* of who has the agent */
    struct store *store;
    uint32_t node_id;
};

/* Into a zeroed struct; indexes (or NULL) and store are borrowed.  -1 with
 * *err, and fini is still needed. */
int observer_init(struct observer *observer,
                  const struct controller_options *options,
                  struct index_keeper *indexes, struct store *store,
                  struct error *err);
/* The controller's. */
struct observer *controller_observer(struct controller *controller);
/* After each greeting: the agent gets unwind tables while profiling is on. */
void observer_give_tables(struct observer *observer,
                          struct agent_client *client);
/* Every seat has been left. */
void observer_fini(struct observer *observer); /* zeroed is fine */

#endif
