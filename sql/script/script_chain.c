/*
 * script_chain.c - Profile: chooses the snapshot to show, and the view's
 * options.
 *
 * Every option gives a new instance; the one before does not change.
 */
#include "script_methods.h"

#include <string.h>

#include "arena.h"
#include "errors.h"

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

/* Equal calls share one dump, until a call changes the node. */
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
chain_base(struct script_call *call, struct error *err)
{
    struct chain *chain = new_chain(call, err);

    if (!chain || script_snapshot_name(call, 0, chain->base, err) != 0)
        return STEP_FAIL;
    return STEP_DONE;
}

/* ---- options ---- */

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
