/*
 * script_diagnose.c - diagnose(): what is unusual about the database's memory,
 * as a page of text.
 *
 * It asks the database for its figures and, where profiling is on, for a
 * profile.  Neither must succeed: a hung database is just when a diagnosis is
 * wanted, so what does not come is left out of the page, which says so.
 */
#include <stdio.h>

#include "allocator.h"
#include "await.h"
#include "errors.h"
#include "node_facts.h"
#include "node_status.h"
#include "script_methods.h"
#include "snapshot.h"
#include "view_cache.h"
#include "view_options.h"

enum { DIAGNOSIS_TEXT_MAX = 256 << 10 };

/* Asks for a profile if profiling is on; else NULL, and *why says why.  The
 * caller owns the reference. */
static struct snapshot *
ask_profile(struct script_call *call, struct error *why)
{
    const struct job_request request = {.kind = JOB_RECENT,
                                        .owner = call->host->user};
    struct job_result result = {0};
    struct node_status status;

    controller_status(call->host->controller, &status);
    if (node_status_check(&status, why) != 0)
        return NULL;
    if (!status.hello.active) {
        error_set(why, ER_UNKNOWN, "profiling is not active");
        return NULL;
    }
    if (controller_wait(controller_submit(call->host->controller, &request,
                                          await_waker(call->host->await), why),
                        call->host->await, &result, why) != 0)
        return NULL;
    return result.snapshot;
}

static enum step
write_diagnosis(struct script_call *call, const struct node_sources *from,
                struct error *err)
{
    struct buffer *text = &call->work->text;
    struct node_diagnosis *made = node_diagnosis_new(from, err);

    if (!made)
        return STEP_FAIL;
    buffer_init(text, DIAGNOSIS_TEXT_MAX);
    diagnosis_write(&made->facts, &made->diagnosis, text);
    node_diagnosis_free(made);
    if (text->failed) {
        error_memory(err, "a diagnosis");
        return STEP_FAIL;
    }
    script_return_text(call, text->data, text->size);
    return STEP_DONE;
}

enum step
heapprof_diagnose(struct script_call *call, struct error *err)
{
    char wrappers[WRAPPERS_TEXT_BYTES] = "";
    struct view_options options = view_defaults;
    struct snapshot *snapshot;
    struct node_sources from;
    struct error why = {0};
    enum step step = STEP_FAIL;

    snapshot = ask_profile(call, &why);
    view_cache_get_wrappers(call->host->views, wrappers);
    options.wrappers = wrappers;
    options.cancelled = &call->host->await->cancelled;
    from = (struct node_sources){.controller = call->host->controller,
                                 .node_id = call->host->node_id,
                                 .await = call->host->await,
                                 .user = call->host->user,
                                 .state_dir = call->host->state_dir,
                                 .history = call->host->history,
                                 .trends = call->host->trends,
                                 .snapshot = snapshot,
                                 .no_snapshot = why.text,
                                 .options = &options};
    /* A profile that failed because the statement was cancelled is no
     * diagnosis without a profile. */
    if (await_check(call->host->await, err) == 0)
        step = write_diagnosis(call, &from, err);
    snapshot_unref(snapshot);
    return step;
}
