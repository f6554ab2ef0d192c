/*
 * script_heapprof.c - StarRocks' seven methods of HeapProf, reset() and
 * state().
 *
 * Profile and the other methods of HeapProf can do the same.
 */
#include "script_methods.h"

#include <string.h>

#include "errors.h"
#include "profiler_state.h"
#include "view.h"
#include "view_cache.h"

enum { STATE_TEXT_MAX = 16384 };

enum step
heapprof_instance(struct script_call *call, struct error *err)
{
    (void)err;
    script_return_instance(call, NULL);
    return STEP_DONE;
}

static enum step
change(struct script_call *call, const struct job_request *request,
       struct error *err)
{
    struct job_result result = {0};
    enum step step = script_await(call, request, false, &result, err);

    if (step == STEP_DONE)
        script_return_instance(call, NULL);
    return step;
}

/* enable_prof(seconds): switches profiling on for so long. */
enum step
heapprof_enable(struct script_call *call, struct error *err)
{
    struct job_request request = {.kind = JOB_ENABLE};

    if (call->argument_count > 0 &&
        script_count(call, 0, 1, AGENT_SECONDS_MAX, &request.seconds, err) != 0)
        return STEP_FAIL;
    return change(call, &request, err);
}

enum step
heapprof_disable(struct script_call *call, struct error *err)
{
    return change(call, &(struct job_request){.kind = JOB_DISABLE}, err);
}

/* reset(lg_sample, force); lg_sample 0 keeps the present one. */
enum step
heapprof_reset(struct script_call *call, struct error *err)
{
    struct job_request request = {.kind = JOB_RESET};

    if (call->argument_count > 0 &&
        script_count(call, 0, 0, AGENT_LG_SAMPLE_MAX, &request.lg_sample,
                     err) != 0)
        return STEP_FAIL;
    request.force = call->argument_count > 1 && call->arguments[1].boolean;
    return change(call, &request, err);
}

enum step
heapprof_has_enable(struct script_call *call, struct error *err)
{
    struct job_result result = {0};
    enum step step =
        script_await(call, &(struct job_request){.kind = JOB_GET_ACTIVE}, false,
                     &result, err);

    if (step == STEP_DONE) {
        call->result.type = SCRIPT_BOOL;
        call->result.boolean = result.active;
    }
    return step;
}

/* snapshot(name): refuses a name in use before it takes a dump. */
enum step
heapprof_snapshot(struct script_call *call, struct error *err)
{
    struct store *store = controller_store(call->host->controller);
    struct job_request request = {.kind = JOB_SNAPSHOT};
    struct job_result result = {0};
    char room[SNAPSHOT_NAME_MAX + 1];
    const char *name;
    enum step step;

    if (call->argument_count > 0) {
        if (script_snapshot_name(call, 0, room, err) != 0)
            return STEP_FAIL;
        if (store_check_name(store, room, err) != 0)
            return script_blame(call, 0);
        request.name = room;
    }
    step = script_await(call, &request, false, &result, err);
    if (step != STEP_DONE)
        return step;
    call->work->snapshot = result.snapshot;
    name = result.snapshot->name;
    script_return_text(call, name, strlen(name));
    return STEP_DONE;
}

/* Awaits the dump first, then the graph. */
enum step
heapprof_dump_dot(struct script_call *call, struct error *err)
{
    struct job_result result = {0};
    struct view_request request = {.form = view_form_find("dot"),
                                   .options = &view_defaults};
    enum step step = script_await(
        call, &(struct job_request){.kind = JOB_PROFILE}, true, &result, err);

    if (step != STEP_DONE)
        return step;
    request.snapshot = call->work->snapshot = result.snapshot;
    return script_view(call, &request, err);
}

enum step
heapprof_to_dot(struct script_call *call, struct error *err)
{
    struct view_request request = {.form = view_form_find("dot"),
                                   .options = &view_defaults};
    char name[SNAPSHOT_NAME_MAX + 1];

    if (script_snapshot_name(call, 0, name, err) != 0)
        return STEP_FAIL;
    request.name = name;
    return script_view(call, &request, err);
}

/* state(): everything about the profiler, in lines. */
enum step
heapprof_state(struct script_call *call, struct error *err)
{
    struct buffer *text = &call->work->text;
    struct node_status status;

    controller_status(call->host->controller, &status);
    buffer_init(text, STATE_TEXT_MAX);
    profiler_state_write(&status, text);
    if (text->failed) {
        error_memory(err, "the profiler's state");
        return STEP_FAIL;
    }
    script_return_text(call, text->data, text->size);
    return STEP_DONE;
}
