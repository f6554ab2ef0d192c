/* fake_controller.c - a node whose database has never been seen. */
#include "controller.h"
#include "errors.h"

#include <string.h>

static char fake;
static struct store *store;

struct controller *
controller_start(const struct controller_options *options, struct error *err)
{
    (void)options;
    store = store_open(&store_defaults, NULL, err);
    return store ? (struct controller *)&fake : NULL;
}

void
controller_stop(struct controller *controller)
{
    (void)controller;
    store_close(store);
    store = NULL;
}

void
controller_status(struct controller *controller, struct node_status *out)
{
    (void)controller;
    memset(out, 0, sizeof(*out));
}

void
controller_set_absence(struct controller *controller, int32_t pid,
                       const char *why)
{
    (void)controller;
    (void)pid;
    (void)why;
}

struct store *
controller_store(struct controller *controller)
{
    (void)controller;
    return store;
}

struct index_keeper *
controller_indexes(struct controller *controller)
{
    (void)controller;
    return NULL;
}
