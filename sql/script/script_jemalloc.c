/*
 * script_jemalloc.c - Jemalloc: what can be changed in the database's
 * allocator for a time (the levers).
 *
 * The agent in the database keeps the deadlines and the old values, not
 * heapwired: nothing that is set here lasts longer than was said, even if
 * heapwired dies.  Each call answers with the figures before and after, and
 * what the change risks.
 */
#include <math.h>
#include <stdio.h>

#include "errors.h"
#include "lever_job.h"
#include "node_status.h"
#include "script_methods.h"
#include "view_choice.h"

enum { TEXT_MAX = 8192 };

/* The call's work holds the text. */
static enum step
return_buffer(struct script_call *call, struct error *err)
{
    struct buffer *text = &call->work->text;

    if (text->failed) {
        error_memory(err, "the levers");
        return STEP_FAIL;
    }
    script_return_text(call, text->data ? text->data : "", text->size);
    return STEP_DONE;
}

static int
ask_lever(struct script_call *call, const struct lever_request *lever,
          struct lever_report *out, struct error *err)
{
    const struct job_request request = {
        .kind = JOB_LEVER, .owner = call->host->user, .lever = *lever};
    struct await *await = call->host->await;
    struct job_result result = {0};

    if (controller_wait(controller_submit(call->host->controller, &request,
                                          await_waker(await), err),
                        await, &result, err) != 0)
        return -1;
    *out = result.lever;
    return 0;
}

static enum step
run_lever_request(struct script_call *call, const struct lever_request *request,
                  struct error *err)
{
    struct lever_report report;

    if (ask_lever(call, request, &report, err) != 0)
        return STEP_FAIL;
    buffer_init(&call->work->text, TEXT_MAX);
    lever_write_result(request, &report, &call->work->text);
    return return_buffer(call, err);
}

/* Reads the last argument, how many seconds the change lasts. */
static int
take_seconds(struct script_call *call, uint32_t *out, struct error *err)
{
    size_t i = call->argument_count - 1;

    if (choice_count("seconds", call->arguments[i].number, 1, AGENT_LEVER_MAX_S,
                     out, err) == 0)
        return 0;
    script_blame(call, i);
    return -1;
}

static int
take_ms(struct script_call *call, size_t i, const char *name, int64_t *out,
        struct error *err)
{
    double given = call->arguments[i].number;

    if (given >= -1 && given <= AGENT_DECAY_MAX_MS && given == floor(given)) {
        *out = (int64_t)given;
        return 0;
    }
    error_set(err, ER_WRONG_ARGUMENTS,
              "%s takes a whole number from -1 (never) to %d", name,
              AGENT_DECAY_MAX_MS);
    script_blame(call, i);
    return -1;
}

enum step
jemalloc_purge(struct script_call *call, struct error *err)
{
    return run_lever_request(
        call, &(struct lever_request){.lever = AGENT_PURGE}, err);
}

/* decay(dirty_ms, muzzy_ms, seconds) */
enum step
jemalloc_decay(struct script_call *call, struct error *err)
{
    struct lever_request request = {.lever = AGENT_DECAY};

    if (take_ms(call, 0, "dirty_ms", &request.dirty_ms, err) != 0 ||
        take_ms(call, 1, "muzzy_ms", &request.muzzy_ms, err) != 0 ||
        take_seconds(call, &request.seconds, err) != 0)
        return STEP_FAIL;
    return run_lever_request(call, &request, err);
}

/* background_threads(on, seconds) */
enum step
jemalloc_background(struct script_call *call, struct error *err)
{
    struct lever_request request = {.lever = AGENT_BACKGROUND,
                                    .on = call->arguments[0].boolean};

    if (take_seconds(call, &request.seconds, err) != 0)
        return STEP_FAIL;
    return run_lever_request(call, &request, err);
}

enum step
jemalloc_undo(struct script_call *call, struct error *err)
{
    return run_lever_request(call, &(struct lever_request){.lever = AGENT_UNDO},
                             err);
}

/* Refuses, and says why and how much the caches hold.  The method exists
 * because jemalloc has a mallctl of that name, which users look for. */
enum step
jemalloc_flush_tcaches(struct script_call *call, struct error *err)
{
    const struct lever_request look = {.lever = AGENT_LEVERS};
    struct lever_report report;
    char held[64] = "";

    if (ask_lever(call, &look, &report, err) != 0)
        return STEP_FAIL;
    if (report.after.tcache.known)
        snprintf(held, sizeof(held), " (%.1f MB in all)",
                 (double)report.after.tcache.value / (1 << 20));
    error_set(err, ER_NOT_SUPPORTED,
              "the threads' caches%s cannot be flushed from outside: "
              "jemalloc's thread.tcache.flush acts only on the calling thread, "
              "which would be the agent's; each thread trims its own as it "
              "allocates, and gives it back when it ends; at the next start "
              "tcache_max or lg_tcache_max makes them smaller",
              held);
    return STEP_FAIL;
}

/* Gives the state of the levers as the controller last saw it, without asking
 * the database. */
enum step
jemalloc_state(struct script_call *call, struct error *err)
{
    struct node_status status;

    controller_status(call->host->controller, &status);
    if (node_status_check(&status, err) != 0)
        return STEP_FAIL;
    buffer_init(&call->work->text, TEXT_MAX);
    lever_write_state(status.levers, &call->work->text);
    return return_buffer(call, err);
}

/* Tells what each change would risk at the figures of now; changes nothing. */
enum step
jemalloc_risks(struct script_call *call, struct error *err)
{
    static const struct lever_request all[] = {
        {.lever = AGENT_PURGE},
        {.lever = AGENT_DECAY},
        {.lever = AGENT_DECAY, .dirty_ms = -1},
        {.lever = AGENT_BACKGROUND, .on = true},
        {.lever = AGENT_BACKGROUND}};
    const struct lever_request look = {.lever = AGENT_LEVERS};
    struct lever_report report;

    if (ask_lever(call, &look, &report, err) != 0)
        return STEP_FAIL;
    buffer_init(&call->work->text, TEXT_MAX);
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        lever_write_risk(&all[i], &report.after, NULL, &call->work->text);
    return return_buffer(call, err);
}
