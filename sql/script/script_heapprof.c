/*
 * script_heapprof.c - the calls that ask the node: StarRocks' seven methods of
 * HeapProf, reset(), state(), and Profile.
 *
 * A call that needs the database submits a job to the controller and blocks
 * until it is done, on the statement's own thread off the event loop.  A
 * Profile is a value: each option copies it into the script's arena with one
 * thing changed, so that a variable's Profile never changes behind its back.
 * Snapshots and views that a call returns belong to the call's node in the
 * tree and are freed with the script.
 */
#include <string.h>

#include "arena.h"
#include "dump.h"
#include "errors.h"
#include "node_status.h"
#include "profile.h"
#include "script_methods.h"
#include "snapshot.h"
#include "view.h"
#include "view_cache.h"
#include "view_choice.h"

/* ---- arguments in, results out ---- */

enum { STATE_TEXT_MAX = 16384 };

enum step
script_blame(struct script_call *call, size_t i)
{
    call->blamed = i + 1;
    return STEP_FAIL;
}

/* Does it name a profile to be taken, as cpu:10?  Only views and tables take
 * such names. */
static bool
names_sampling(struct span name)
{
    const char *colon =
        name.size > 0 ? memchr(name.data, ':', name.size) : NULL;
    struct span word = {name.data, colon ? (size_t)(colon - name.data) : 0};

    return span_is_nocase(word, SNAPSHOT_CPU) ||
           span_is_nocase(word, SNAPSHOT_WALL);
}

int
script_check_name(struct span name, struct error *err)
{
    if (snapshot_is_name(name.data, name.size))
        return 0;
    error_set(err, ER_WRONG_ARGUMENTS,
              "'%.*s' is not a snapshot's name (1 to %d of a-z, 0-9, _); %s",
              span_shown(name), name.data, SNAPSHOT_NAME_MAX,
              names_sampling(name) ? "a script takes such a profile by "
                                     "CpuProf.getInstance().profile(10)"
                                   : "snapshot() returns one");
    return -1;
}

int
script_snapshot_name(struct script_call *call, size_t i,
                     char out[SNAPSHOT_NAME_MAX + 1], struct error *err)
{
    struct span given = call->arguments[i].text;

    if (script_check_name(given, err) != 0) {
        script_blame(call, i);
        return -1;
    }
    memcpy(out, given.data, given.size);
    out[given.size] = '\0';
    return 0;
}

/* Reads the first argument, called name, a whole number from least to most;
 * -1: it is none. */
static int
script_count(struct script_call *call, const char *name, double least,
             double most, uint32_t *out, struct error *err)
{
    if (choice_count(name, call->arguments[0].number, least, most, out, err) ==
        0)
        return 0;
    script_blame(call, 0);
    return -1;
}

void
script_return_instance(struct script_call *call, const void *state)
{
    call->result.type = SCRIPT_INSTANCE;
    call->result.class_name =
        call->method->gives ? call->method->gives : call->method->class_name;
    call->result.state = state;
}

void
script_return_text(struct script_call *call, const char *data, size_t size)
{
    call->result.type = SCRIPT_STRING;
    call->result.text.data = data;
    call->result.text.size = size;
}

/* ---- waiting ---- */

/* Runs the job and waits for it. renders: a view is made from its result
 * afterwards, which the progress counts as one stage more. */
static enum step
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

static bool
is_live_heap_name(const char *name)
{
    return name && strcmp(name, SNAPSHOT_NOW) == 0;
}

/* Makes the view the call's result: DONE, or FAIL with *err.  Its bytes count,
 * for variables may hold it until the script ends. */
static enum step
script_view(struct script_call *call, const struct view_request *request,
            struct error *err)
{
    struct view_request owned = *request;
    const struct buffer *bytes;
    struct view *view;

    owned.owner = call->host->user;
    view = call->work->view =
        view_cache_get(call->host->views, &owned, call->host->await, err);
    if (!view) {
        /* it was looked for among the kept snapshots */
        if (is_live_heap_name(request->name) ||
            is_live_heap_name(request->base))
            error_set(err, ER_KEY_NOT_FOUND,
                      "no snapshot named 'now' is kept; Profile.now() takes a "
                      "fresh dump, without a name");
        return STEP_FAIL;
    }
    bytes = &view->bytes;
    *call->views_bytes += bytes->size;
    if (*call->views_bytes > SCRIPT_VIEWS_BYTES_MAX) {
        error_set(err, ER_UNKNOWN,
                  "the script's views are larger than %d bytes together; ask "
                  "for some of them in another",
                  SCRIPT_VIEWS_BYTES_MAX);
        return STEP_FAIL;
    }
    script_return_text(call, bytes->data ? bytes->data : "", bytes->size);
    call->result.type = call->method->returns;
    return STEP_DONE;
}

/* ---- HeapProf ---- */

enum step
heapprof_instance(struct script_call *call, struct error *err)
{
    (void)err;
    script_return_instance(call, NULL);
    return STEP_DONE;
}

static enum step
change_heap_profiling(struct script_call *call,
                      const struct job_request *request, struct error *err)
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
        script_count(call, "seconds", 1, AGENT_SECONDS_MAX, &request.seconds,
                     err) != 0)
        return STEP_FAIL;
    return change_heap_profiling(call, &request, err);
}

enum step
heapprof_disable(struct script_call *call, struct error *err)
{
    return change_heap_profiling(
        call, &(struct job_request){.kind = JOB_DISABLE}, err);
}

/* reset(lg_sample, force); lg_sample 0 keeps the present one. */
enum step
heapprof_reset(struct script_call *call, struct error *err)
{
    struct job_request request = {.kind = JOB_RESET};

    if (call->argument_count > 0 &&
        script_count(call, "lg_sample", 0, AGENT_LG_SAMPLE_MAX,
                     &request.lg_sample, err) != 0)
        return STEP_FAIL;
    request.force = call->argument_count > 1 && call->arguments[1].boolean;
    return change_heap_profiling(call, &request, err);
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
        /* The dump takes seconds on a large heap, so a name in use is refused
         * before. */
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

/* dump_dot_snapshot(): takes a dump that is not kept, then makes its graph. */
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

/* ---- Profile ---- */

/* The state of a Profile: which snapshot, compared with which, by which
 * options. */
struct chain {
    char name[SNAPSHOT_NAME_MAX + 1]; /* "": take now instead */
    struct snapshot *now; /* the fresh one; the script holds the reference */
    char base[SNAPSHOT_NAME_MAX + 1]; /* "": none */
    struct view_choice choice;
};

/* Sets the call's result: a copy of the receiver, or the defaults. */
static struct chain *
new_chain(struct script_call *call, struct error *err)
{
    struct chain *chain = arena_alloc(call->arena, sizeof(*chain));
    const struct chain *old = call->receiver->state;

    if (!chain) {
        error_memory(err, "the script");
        return NULL;
    }
    if (old)
        *chain = *old;
    else
        chain->choice.options = view_defaults;
    script_return_instance(call, chain);
    return chain;
}

enum step
chain_of(struct script_call *call, struct error *err)
{
    struct chain *chain = new_chain(call, err);

    if (!chain || script_snapshot_name(call, 0, chain->name, err) != 0)
        return STEP_FAIL;
    return STEP_DONE;
}

/* Takes a fresh dump.  All now() of a script share one, so that their views
 * show one moment; a call that changes the node ends that. */
enum step
chain_now(struct script_call *call, struct error *err)
{
    struct job_result result = {0};
    struct chain *chain;
    enum step step;

    if (!*call->now) {
        step = script_await(call, &(struct job_request){.kind = JOB_PROFILE},
                            true, &result, err);
        if (step != STEP_DONE)
            return step;
        *call->now = call->work->snapshot = result.snapshot;
    }
    chain = new_chain(call, err);
    if (!chain)
        return STEP_FAIL;
    chain->now = *call->now;
    return STEP_DONE;
}

enum step
chain_of_fresh(struct script_call *call, struct snapshot *snapshot,
               struct error *err)
{
    struct chain *chain = new_chain(call, err);

    if (!chain)
        return STEP_FAIL;
    chain->now = snapshot;
    return STEP_DONE;
}

enum step
chain_base(struct script_call *call, struct error *err)
{
    struct chain *chain = new_chain(call, err);

    if (!chain || script_snapshot_name(call, 0, chain->base, err) != 0)
        return STEP_FAIL;
    return STEP_DONE;
}

/* The method's name is the option's word. */
enum step
chain_option(struct script_call *call, struct error *err)
{
    struct span word = {call->method->name, strlen(call->method->name)};
    struct chain *chain = new_chain(call, err);
    struct choice_value value = {.flag = true};

    if (!chain)
        return STEP_FAIL;
    if (call->argument_count > 0) {
        value.flag = call->arguments[0].boolean;
        value.number = call->arguments[0].number;
        value.text = call->arguments[0].text;
    }
    return choice_set(&chain->choice, word, &value, call->arena, err) == 0
               ? STEP_DONE
               : script_blame(call, 0);
}

static struct view_request
request_of(const struct chain *chain)
{
    return (struct view_request){.name = chain->now ? NULL : chain->name,
                                 .snapshot = chain->now,
                                 .base = *chain->base ? chain->base : NULL,
                                 .force = chain->choice.force,
                                 .options = &chain->choice.options};
}

bool
chain_prints(const struct script_value *value)
{
    const struct chain *chain = value->state;

    return value->type == SCRIPT_INSTANCE && chain && chain->now &&
           chain->now->profile->kind != PROFILE_HEAP;
}

enum step
chain_print(struct script_call *call, struct error *err)
{
    struct view_request request = request_of(call->arguments[0].state);
    enum step step;

    request.form = view_form_find("top");
    step = script_view(call, &request, err);
    if (step == STEP_DONE)
        buffer_add(call->output, call->result.text.data,
                   call->result.text.size);
    call->result = call->arguments[0];
    return step;
}

/* Makes the view of a form of Profile; top(n) limits it to n functions. */
enum step
chain_view(struct script_call *call, struct error *err)
{
    struct view_request request = request_of(call->receiver->state);
    struct view_options options = *request.options;

    if (call->argument_count > 0 &&
        script_count(call, call->method->name, 1, CHOICE_COUNT_MAX,
                     &options.nodecount, err) != 0)
        return STEP_FAIL;
    request.options = &options;
    request.form = call->method->form;
    return script_view(call, &request, err);
}

enum step
chain_export(struct script_call *call, struct error *err)
{
    struct view_request request = request_of(call->receiver->state);

    if (!request.base)
        return script_view(call, &request, err);
    error_set(err, ER_WRONG_ARGUMENTS,
              "export gives one snapshot: leave base() out");
    return STEP_FAIL;
}
