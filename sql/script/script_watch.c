/* script_watch.c - lets a call wait, and other threads read its progress. */
#include "script_methods.h"

#include "errors.h"
#include "script_tree.h"
#include "view_cache.h"

static void
watch_job(struct script_watch *watch, struct ticket *ticket, bool renders)
{
    pthread_mutex_lock(&watch->lock);
    watch->ticket = ticket;
    watch->renders = renders;
    pthread_mutex_unlock(&watch->lock);
}

/* Afterwards the ticket may be freed. */
static void
unwatch_job(struct script_watch *watch)
{
    struct job_progress progress;

    pthread_mutex_lock(&watch->lock);
    watch->before = 0;
    if (watch->renders && ticket_progress(watch->ticket, &progress))
        watch->before = progress.stages;
    watch->ticket = NULL;
    pthread_mutex_unlock(&watch->lock);
}

static void
watch_view(struct script_watch *watch, struct view_ticket *ticket)
{
    pthread_mutex_lock(&watch->lock);
    watch->view = ticket;
    pthread_mutex_unlock(&watch->lock);
}

enum step
script_await(struct script_call *call, const struct job_request *request,
             bool renders, struct job_result *result, struct error *err)
{
    struct ticket **ticket = &call->work->ticket;
    enum ticket_state state;

    if (!*ticket) {
        *ticket = controller_submit(call->host->controller, request,
                                    call->host->waker, err);
        if (!*ticket)
            return STEP_FAIL;
        watch_job(call->watch, *ticket, renders);
    }
    state = ticket_poll(*ticket, result, err);
    if (state == TICKET_WAITING)
        return STEP_WAIT;
    unwatch_job(call->watch);
    ticket_free(*ticket);
    *ticket = NULL;
    return state == TICKET_DONE ? STEP_DONE : STEP_FAIL;
}

/* Counts the view's bytes: variables may hold it until the script ends. */
static enum step
count_view(struct script_call *call, struct error *err)
{
    *call->views_bytes += call->work->view->bytes.size;
    if (*call->views_bytes <= SCRIPT_VIEWS_BYTES_MAX)
        return STEP_DONE;
    error_set(err, ER_UNKNOWN,
              "the script's views are larger than %d bytes together; ask for "
              "some of them in another",
              SCRIPT_VIEWS_BYTES_MAX);
    return STEP_FAIL;
}

enum step
script_await_view(struct script_call *call, const struct view_request *request,
                  struct error *err)
{
    struct view_ticket **ticket = &call->work->view_ticket;
    enum ticket_state state;

    if (!*ticket) {
        *ticket = view_cache_submit(call->host->views, request,
                                    call->host->waker, err);
        if (!*ticket)
            return STEP_FAIL;
        watch_view(call->watch, *ticket);
    }
    state = view_ticket_poll(*ticket, &call->work->view, err);
    if (state == TICKET_WAITING)
        return STEP_WAIT;
    watch_view(call->watch, NULL);
    view_ticket_free(*ticket);
    *ticket = NULL;
    return state == TICKET_DONE ? count_view(call, err) : STEP_FAIL;
}

bool
script_progress(struct script *script, struct progress *out)
{
    struct script_watch *watch = &script->watch;
    struct job_progress job;
    bool found = false;

    pthread_mutex_lock(&watch->lock);
    if (watch->view) {
        found = view_ticket_progress(watch->view, &job);
        job.stage += watch->before;
        job.stages += watch->before;
    } else if (watch->ticket) {
        found = ticket_progress(watch->ticket, &job);
        job.stages += watch->renders;
    }
    pthread_mutex_unlock(&watch->lock);
    if (found)
        *out = (struct progress){job.stage, job.stages, job.percent, job.text};
    return found;
}
