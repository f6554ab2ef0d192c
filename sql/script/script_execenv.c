/*
 * script_execenv.c - ExecEnv: the stacks of the database's threads, under
 * StarRocks' names.
 *
 * StarRocks' methods are static; here getInstance() gives an instance that has
 * them, too.  The threads are stopped and read from outside (observe.h), so it
 * works on a database that hangs.
 */
#include "errors.h"
#include "observe.h"
#include "script_methods.h"
#include "thread_text.h"
#include "threads.h"
#include "view_choice.h"

/* The call's work holds the text. */
static int
write_threads(struct script_call *call,
              const struct thread_text_options *options, struct error *err)
{
    const struct observe_request request = {.kind = OBSERVE_THREADS,
                                            .owner = call->host->user};
    struct await *await = call->host->await;
    struct observe_result result = {0};
    struct buffer *text = &call->work->text;
    int rc;

    if (controller_observe_wait(controller_observe(call->host->controller,
                                                   &request, await_waker(await),
                                                   err),
                                await, &result, err) != 0)
        return -1;
    buffer_init(text, THREAD_TEXT_MAX);
    rc = thread_text_write(result.threads, options, text, err);
    thread_list_unref(result.threads);
    if (rc != 0)
        return -1;
    /* All texts of a script stay until it ends, since variables may hold them;
     * so their sum is bounded. */
    *call->views_bytes += text->size;
    if (*call->views_bytes <= SCRIPT_VIEWS_BYTES_MAX)
        return 0;
    error_set(err, ER_UNKNOWN,
              "the script's stacks and views are larger than %d bytes "
              "together; ask for some of them in another",
              SCRIPT_VIEWS_BYTES_MAX);
    return -1;
}

static enum step
return_threads(struct script_call *call,
               const struct thread_text_options *options, struct error *err)
{
    const struct buffer *text = &call->work->text;

    if (write_threads(call, options, err) != 0)
        return STEP_FAIL;
    script_return_text(call, text->data ? text->data : "", text->size);
    return STEP_DONE;
}

enum step
execenv_all_threads(struct script_call *call, struct error *err)
{
    return return_threads(call, NULL, err);
}

/* StarRocks' second argument is how many milliseconds the thread may take to
 * answer; nothing is asked of it here. */
enum step
execenv_thread(struct script_call *call, struct error *err)
{
    struct thread_text_options options = {0};
    uint32_t tid;

    if (choice_count("tid", call->arguments[0].number, 1, INT32_MAX, &tid,
                     err) != 0)
        return script_blame(call, 0);
    options.tid = (int32_t)tid;
    return return_threads(call, &options, err);
}

enum step
execenv_function(struct script_call *call, struct error *err)
{
    const struct thread_text_options options = {.function =
                                                    call->arguments[0].text};

    return return_threads(call, &options, err);
}
