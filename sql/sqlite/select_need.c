/* select_need.c - see select_need.h. */
#include "select_need.h"

#include <stdio.h>

#include "controller.h"
#include "errors.h"
#include "handle.h"
#include "node_status.h"
#include "peers.h"
#include "sql_session.h"

/* SET and KILL evaluate their expressions at once. */
int
select_need_refuse(struct handle *handle)
{
    handle->failed = true;
    error_set(&handle->failure, ER_NOT_SUPPORTED,
              "what waits for the node, or for a view, can be read by SELECT "
              "alone");
    return SQLITE_ERROR;
}

/* NEED_TOTAL is for an account that may take a snapshot, and an active
 * profiler: an empty profile is not worth the time. */
static bool
has_total(struct handle *handle)
{
    const char *why = "";
    struct node_status status;
    struct error absent;

    controller_status(handle->wait->controller, &status);
    if (node_status_check(&status, &absent) != 0)
        why = absent.text;
    else if (!status.hello.active)
        why = "profiling is not active";
    else if (!(handle->scope.session->who.privileges & PRIVILEGE_PROFILE))
        why = "this account may not take profiles";
    snprintf(handle->scope.no_total, sizeof(handle->scope.no_total), "%s", why);
    return !*why;
}

int
select_need(struct handle *handle, unsigned needs)
{
    struct select_wait *wait = handle->wait;

    if ((needs & NEED_PEERS) &&
        (!wait || !peers_can_ask(handle->scope.session)))
        needs &= ~(unsigned)NEED_PEERS; /* use the last known state instead */
    if (needs == 0)
        return SQLITE_OK;
    if (!wait)
        return select_need_refuse(handle);
    needs &= ~wait->fetched;
    if ((needs & NEED_TOTAL) && !has_total(handle)) {
        wait->fetched |= NEED_TOTAL;
        needs &= ~(unsigned)NEED_TOTAL;
    }
    if (needs == 0)
        return SQLITE_OK;
    wait->wanted |= needs;
    return SQLITE_ABORT;
}

int
select_need_fresh(struct handle *handle, struct snapshot **out)
{
    int rc = select_need(handle, NEED_SNAPSHOT);

    if (rc == SQLITE_OK)
        *out = handle->scope.snapshot;
    return rc;
}
