/* script_await.c - lets a call wait for the node, and for a view. */
#include "script_methods.h"

#include "dump.h"
#include "errors.h"
#include "view_cache.h"

enum step
script_await(struct script_call *call, const struct job_request *request,
             bool renders, struct job_result *result, struct error *err)
{
    struct await *await = call->host->await;
    struct job_request owned = *request;
    int rc;

    owned.owner = call->host->user;
    await_stages(await, 0, renders);
    rc = controller_wait(controller_submit(call->host->controller, &owned,
                                           await_waker(await), err),
                         await, result, err);
    await_stages(await, renders ? DUMP_STAGES : 0, 0);
    return rc == 0 ? STEP_DONE : STEP_FAIL;
}

/* Counts the view's bytes: variables may hold it until the script ends. */
static enum step
count_view(struct script_call *call, struct error *err)
{
    *call->views_bytes += call->work->view->bytes.size;
    if (*call->views_bytes <= SCRIPT_VIEWS_BYTES_MAX)
        return STEP_DONE;
    error_set(err, ER_UNKNOWN,
              "the script's views are larger than %d bytes together; ask for "
              "some of them in another",
              SCRIPT_VIEWS_BYTES_MAX);
    return STEP_FAIL;
}

enum step
script_await_view(struct script_call *call, const struct view_request *request,
                  struct error *err)
{
    call->work->view =
        view_cache_get(call->host->views, request, call->host->await, err);
    return call->work->view ? count_view(call, err) : STEP_FAIL;
}
