/*
 * script_diagnose.c - diagnose(): what is unusual about the database's memory,
 * as a page of text.
 *
 * It asks the database for its figures and, where profiling is on, for a
 * profile; what does not come is left out of the page, which says so.
 */
#include <stdio.h>

#include "allocator.h"
#include "await.h"
#include "errors.h"
#include "node_facts.h"
#include "node_status.h"
#include "script_methods.h"
#include "snapshot.h"
#include "stats.h"
#include "view_cache.h"
#include "view_options.h"

enum { DIAGNOSIS_TEXT_MAX = 256 << 10 };

/* False with *err: the database did not give it; or the statement is over. */
static bool
ask_database(struct script_call *call, enum job_kind kind,
             struct job_result *out, struct error *err)
{
    const struct job_request request = {.kind = kind,
                                        .owner = call->host->user};

    return controller_wait(controller_submit(call->host->controller, &request,
                                             await_waker(call->host->await),
                                             err),
                           call->host->await, out, err) == 0;
}

/* The node's figures, and a profile if it is worth asking for; of the one that
 * does not come, *why not. */
static void
ask_figures(struct script_call *call, struct stats **stats,
            struct snapshot **snapshot, struct error *why)
{
    struct job_result result = {0};
    struct node_status status;

    if (ask_database(call, JOB_STATS, &result, why))
        *stats = result.stats;
    if (await_is_over(call->host->await))
        return;
    controller_status(call->host->controller, &status);
    if (node_status_check(&status, why) != 0)
        return;
    if (!status.hello.active) {
        error_set(why, ER_UNKNOWN, "profiling is not active");
        return;
    }
    result = (struct job_result){0};
    if (ask_database(call, JOB_RECENT, &result, why))
        *snapshot = result.snapshot;
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
    struct snapshot *snapshot = NULL;
    struct stats *stats = NULL;
    struct node_sources from;
    struct error why = {0};
    enum step step = STEP_FAIL;

    ask_figures(call, &stats, &snapshot, &why);
    view_cache_get_wrappers(call->host->views, wrappers);
    options.wrappers = wrappers;
    from = (struct node_sources){.controller = call->host->controller,
                                 .state_dir = call->host->state_dir,
                                 .history = call->host->history,
                                 .trends = call->host->trends,
                                 .stats = stats,
                                 .snapshot = snapshot,
                                 .no_snapshot = why.text,
                                 .options = &options};
    if (!await_is_over(call->host->await))
        step = write_diagnosis(call, &from, err);
    else
        *err = why; /* why the last wait ended */
    snapshot_unref(snapshot);
    stats_unref(stats);
    return step;
}
