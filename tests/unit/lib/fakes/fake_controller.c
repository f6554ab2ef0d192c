/* fake_controller.c - a node whose database has never been seen. */
#include "controller.h"
#include "errors.h"
#include "observe.h"

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

int
controller_observe_give(struct controller *controller, uint32_t uid,
                        uint32_t gid, struct error *err)
{
    (void)controller;
    (void)uid;
    (void)gid;
    (void)err;
    return 0;
}

struct index_service *
controller_indexes(struct controller *controller)
{
    (void)controller;
    return NULL;
}
