/* script_views.c - Profile's forms: a chain to a view's text or bytes. */
#include "script_methods.h"

#include <string.h>

#include "errors.h"
#include "snapshot.h"
#include "view.h"
#include "view_cache.h"

static bool
is_now(const char *name)
{
    return name && strcmp(name, SNAPSHOT_NOW) == 0;
}

enum step
script_view(struct script_call *call, const struct view_request *request,
            struct error *err)
{
    struct view_request owned = *request;
    const struct buffer *bytes;
    enum step step;

    owned.owner = call->host->user;
    step = script_await_view(call, &owned, err);
    /* no kept snapshot has that name */
    if (step == STEP_FAIL && (is_now(request->name) || is_now(request->base)))
        error_set(err, ER_KEY_NOT_FOUND,
                  "no snapshot named 'now' is kept; Profile.now() takes a "
                  "fresh dump, without a name");
    if (step != STEP_DONE)
        return step;
    bytes = &call->work->view->bytes;
    script_return_text(call, bytes->data ? bytes->data : "", bytes->size);
    call->result.type = call->method->returns;
    return STEP_DONE;
}

static struct view_request
request_of(const struct script_call *call)
{
    const struct chain *chain = call->receiver->state;

    return (struct view_request){.name = chain->now ? NULL : chain->name,
                                 .snapshot = chain->now,
                                 .base = *chain->base ? chain->base : NULL,
                                 .force = chain->choice.force,
                                 .options = &chain->choice.options};
}

/* top(n): n functions. */
enum step
chain_view(struct script_call *call, struct error *err)
{
    struct view_request request = request_of(call);
    struct view_options options = *request.options;

    if (call->argument_count > 0 && script_count(call, 0, 1, CHOICE_COUNT_MAX,
                                                 &options.nodecount, err) != 0)
        return STEP_FAIL;
    request.options = &options;
    request.form = call->method->form;
    return script_view(call, &request, err);
}

enum step
chain_export(struct script_call *call, struct error *err)
{
    struct view_request request = request_of(call);

    if (!request.base)
        return script_view(call, &request, err);
    error_set(err, ER_WRONG_ARGUMENTS,
              "export gives one snapshot: leave base() out");
    return STEP_FAIL;
}
