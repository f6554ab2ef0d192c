/*
 * script_heapprof.c - StarRocks' seven methods of HeapProf.
 *
 * What they do, Profile does too, and the rest of HeapProf.
 */
#include "script_methods.h"

#include <string.h>

#include "view.h"
#include "view_cache.h"

void
script_return_instance(struct script_call *call, const void *state)
{
    call->result.type = SCRIPT_INSTANCE;
    call->result.class_name = call->method->class_name;
    call->result.state = state;
}

void
script_return_text(struct script_call *call, const char *data, size_t size)
{
    call->result.type = SCRIPT_STRING;
    call->result.text.data = data;
    call->result.text.size = size;
}

enum step
heapprof_instance(struct script_call *call, struct error *err)
{
    (void)err;
    script_return_instance(call, NULL);
    return STEP_DONE;
}

static enum step
change(struct script_call *call, enum job_kind kind, struct error *err)
{
    struct job_result result = {0};
    enum step step = script_await(call, &(struct job_request){.kind = kind},
                                  false, &result, err);

    if (step == STEP_DONE)
        script_return_instance(call, NULL);
    return step;
}

enum step
heapprof_enable(struct script_call *call, struct error *err)
{
    return change(call, JOB_ENABLE, err);
}

enum step
heapprof_disable(struct script_call *call, struct error *err)
{
    return change(call, JOB_DISABLE, err);
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

enum step
heapprof_snapshot(struct script_call *call, struct error *err)
{
    struct job_result result = {0};
    enum step step = script_await(
        call, &(struct job_request){.kind = JOB_SNAPSHOT}, false, &result, err);
    const char *name;

    if (step != STEP_DONE)
        return step;
    call->work->snapshot = result.snapshot;
    name = result.snapshot->name;
    script_return_text(call, name, strlen(name));
    return STEP_DONE;
}

/* The dump is awaited first, then the graph. */
enum step
heapprof_dump_dot(struct script_call *call, struct error *err)
{
    struct job_result result = {0};
    struct view_request request = {.form = view_form_find("dot"),
                                   .options = &view_defaults};
    enum step step;

    if (!call->work->snapshot) {
        step = script_await(call, &(struct job_request){.kind = JOB_PROFILE},
                            true, &result, err);
        if (step != STEP_DONE)
            return step;
        call->work->snapshot = result.snapshot;
    }
    request.snapshot = call->work->snapshot;
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
