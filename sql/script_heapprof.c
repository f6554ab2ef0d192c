/*
 * script_heapprof.c - StarRocks' seven methods of HeapProf.
 *
 * The only place where statements meet profiles: the controller gives
 * snapshots, the renderer makes text of them.
 */
#include "script_methods.h"

#include <string.h>

#include "controller.h"
#include "dot.h"
#include "errors.h"
#include "snapshot.h"
#include "store.h"

enum { NAME_SHOWN = 100 }; /* bytes of a wrong name in its error */

static enum step
return_instance(struct script_call *call)
{
    call->result.type = SCRIPT_INSTANCE;
    call->result.class_name = "HeapProf";
    return STEP_DONE;
}

/* The result's text is kept in the call's work, which outlives the run. */
static enum step
return_text(struct script_call *call, struct error *err)
{
    struct buffer *text = &call->work->text;

    if (text->failed) {
        error_set(err, ER_UNKNOWN,
                  "the text is larger than %d bytes, or memory ran out",
                  SCRIPT_OUTPUT_MAX);
        return STEP_FAIL;
    }
    call->result.type = SCRIPT_STRING;
    call->result.text.data = text->data ? text->data : "";
    call->result.text.size = text->size;
    return STEP_DONE;
}

/* From here on the ticket may be looked at. */
static void
watch_begin(struct script_watch *watch, struct ticket *ticket, bool renders)
{
    pthread_mutex_lock(&watch->lock);
    watch->ticket = ticket;
    watch->renders = renders;
    pthread_mutex_unlock(&watch->lock);
}

/* And from here on it may be freed. */
static void
watch_end(struct script_watch *watch)
{
    struct job_progress progress;

    pthread_mutex_lock(&watch->lock);
    watch->stages = 0;
    if (watch->renders && ticket_progress(watch->ticket, &progress))
        watch->stages = progress.stages;
    watch->ticket = NULL;
    pthread_mutex_unlock(&watch->lock);
}

static void
watch_rendering(struct script_watch *watch, bool rendering)
{
    pthread_mutex_lock(&watch->lock);
    watch->stages = rendering ? watch->stages + 1 : 0;
    watch->rendering = rendering;
    pthread_mutex_unlock(&watch->lock);
}

/* Asks for the job at the first call, looks at its ticket at each; a profile
 * is to be rendered then. */
static enum step
await(struct script_call *call, enum job_kind kind, struct job_result *result,
      struct error *err)
{
    struct ticket **ticket = &call->work->ticket;
    enum ticket_state state;

    if (!*ticket) {
        *ticket = controller_submit(call->controller,
                                    &(struct job_request){.kind = kind},
                                    call->waker, err);
        if (!*ticket)
            return STEP_FAIL;
        watch_begin(call->watch, *ticket, kind == JOB_PROFILE);
    }
    state = ticket_poll(*ticket, result, err);
    if (state == TICKET_WAITING)
        return STEP_WAIT;
    watch_end(call->watch);
    ticket_free(*ticket);
    *ticket = NULL;
    return state == TICKET_DONE ? STEP_DONE : STEP_FAIL;
}

static enum step
render(struct script_call *call, const struct snapshot *snapshot,
       struct error *err)
{
    int rc;

    buffer_init(&call->work->text, SCRIPT_OUTPUT_MAX);
    watch_rendering(call->watch, true);
    rc = profile_dot(snapshot->profile, NULL, &call->work->text, err);
    watch_rendering(call->watch, false);
    return rc == 0 ? return_text(call, err) : STEP_FAIL;
}

enum step
heapprof_instance(struct script_call *call, struct error *err)
{
    (void)err;
    return return_instance(call);
}

static enum step
change(struct script_call *call, enum job_kind kind, struct error *err)
{
    struct job_result result = {0};
    enum step step = await(call, kind, &result, err);

    return step == STEP_DONE ? return_instance(call) : step;
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
    enum step step = await(call, JOB_GET_ACTIVE, &result, err);

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
    enum step step = await(call, JOB_SNAPSHOT, &result, err);

    if (step != STEP_DONE)
        return step;
    buffer_init(&call->work->text, SNAPSHOT_NAME_MAX);
    buffer_text(&call->work->text, result.snapshot->name);
    snapshot_unref(result.snapshot);
    return return_text(call, err);
}

enum step
heapprof_dump_dot(struct script_call *call, struct error *err)
{
    struct job_result result = {0};
    enum step step = await(call, JOB_PROFILE, &result, err);

    if (step != STEP_DONE)
        return step;
    step = render(call, result.snapshot, err);
    snapshot_unref(result.snapshot);
    return step;
}

/* A snapshot's name is never a path: [a-z0-9_], and nothing longer. */
static bool
is_snapshot_name(struct span name)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyz0123456789_";

    if (name.size == 0 || name.size > SNAPSHOT_NAME_MAX)
        return false;
    for (size_t i = 0; i < name.size; i++)
        if (!memchr(allowed, name.data[i], sizeof(allowed) - 1))
            return false;
    return true;
}

enum step
heapprof_to_dot(struct script_call *call, struct error *err)
{
    char name[SNAPSHOT_NAME_MAX + 1];
    struct span given = call->arguments[0].text;
    struct snapshot *snapshot;
    enum step step;

    if (!is_snapshot_name(given)) {
        error_set(err, ER_UNKNOWN,
                  "'%.*s' is not a snapshot's name; snapshot() returns one",
                  (int)(given.size < NAME_SHOWN ? given.size : NAME_SHOWN),
                  given.data);
        return STEP_FAIL;
    }
    memcpy(name, given.data, given.size);
    name[given.size] = '\0';
    snapshot = store_get(controller_store(call->controller), name, err);
    if (!snapshot)
        return STEP_FAIL;
    step = render(call, snapshot, err);
    snapshot_unref(snapshot);
    return step;
}
