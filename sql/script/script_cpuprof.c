/*
 * script_cpuprof.c - CpuProf: profiles of what the database does, taken from
 * outside of it (observe.h).
 *
 * A profile gives the same Profile instance as one of the heap, with the same
 * forms and options.  Sampling takes as long as was asked for, so its seconds
 * are added to the statement's own time limit (await_grant); the parser bounds
 * their sum per script.
 */
#include <string.h>

#include "observe.h"
#include "script_methods.h"
#include "snapshot.h"
#include "store.h"
#include "view_choice.h"

/* The index of the first number: 1 if a name stands before it.  A method with
 * and without a name has two rows in the table. */
static size_t
first_number(const struct script_method *method)
{
    return method->takes[strspn(method->takes, "|")] == 'm';
}

uint32_t
cpuprof_seconds(const struct script_method *method,
                const struct script_value *seconds)
{
    bool samples =
        method->call == cpuprof_profile || method->call == cpuprof_snapshot;

    if (!samples)
        return 0;
    return seconds && seconds->number >= 1 &&
                   seconds->number <= OBSERVE_SECONDS_MAX
               ? (uint32_t)seconds->number
               : OBSERVE_SECONDS;
}

/* Reads the arguments: seconds, hz, "kernel", each of which may be left out at
 * the end. */
static int
take_arguments(struct script_call *call, struct observe_request *request,
               struct error *err)
{
    size_t i = first_number(call->method);

    request->seconds = OBSERVE_SECONDS;
    if (i < call->argument_count &&
        choice_count("seconds", call->arguments[i].number, 1,
                     OBSERVE_SECONDS_MAX, &request->seconds, err) != 0) {
        script_blame(call, i);
        return -1;
    }
    i++;
    if (i < call->argument_count &&
        choice_count("hz", call->arguments[i].number, 1, OBSERVE_HZ_MAX,
                     &request->hz, err) != 0) {
        script_blame(call, i);
        return -1;
    }
    i++;
    request->kernel = i < call->argument_count;
    if (request->kernel && !span_is(call->arguments[i].text, "kernel")) {
        error_set(err, ER_WRONG_ARGUMENTS,
                  "the last argument may only be \"kernel\", for the kernel's "
                  "functions");
        script_blame(call, i);
        return -1;
    }
    return 0;
}

/* The call's work holds the snapshot. */
static int
observe_script_profile(struct script_call *call,
                       struct observe_request *request, struct error *err)
{
    struct await *await = call->host->await;
    struct observe_result result = {0};

    if (take_arguments(call, request, err) != 0)
        return -1;
    request->kind =
        strstr(call->method->name, "_wall") ? OBSERVE_WALL : OBSERVE_CPU;
    request->owner = call->host->user;
    await_grant(await, (uint64_t)request->seconds * 1000);
    if (controller_observe_wait(controller_observe(call->host->controller,
                                                   request, await_waker(await),
                                                   err),
                                await, &result, err) != 0)
        return -1;
    call->work->snapshot = result.snapshot;
    return 0;
}

/* profile and profile_wall */
enum step
cpuprof_profile(struct script_call *call, struct error *err)
{
    struct observe_request request = {0};

    return observe_script_profile(call, &request, err) == 0
               ? chain_of_fresh(call, call->work->snapshot, err)
               : STEP_FAIL;
}

/* Takes a profile and keeps it: snapshot() and snapshot_wall().  A name in use
 * is refused before anything is sampled; another session may still take it
 * meanwhile, and then the store refuses it. */
enum step
cpuprof_snapshot(struct script_call *call, struct error *err)
{
    struct observe_request request = {.keep = true};
    struct store *store = controller_store(call->host->controller);
    char room[SNAPSHOT_NAME_MAX + 1];
    const char *name;

    if (first_number(call->method) > 0 && call->argument_count > 0) {
        if (script_snapshot_name(call, 0, room, err) != 0)
            return STEP_FAIL;
        if (store_check_name(store, room, err) != 0)
            return script_blame(call, 0);
        request.name = room;
    }
    if (observe_script_profile(call, &request, err) != 0)
        return STEP_FAIL;
    name = call->work->snapshot->name;
    script_return_text(call, name, strlen(name));
    return STEP_DONE;
}
