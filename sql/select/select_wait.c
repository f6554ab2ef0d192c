/* select_wait.c - see select_wait.h. */
#include "select_wait.h"

#include <stdatomic.h>
#include <string.h>

#include "catalog.h"
#include "cluster_ask.h"
#include "controller.h"
#include "errors.h"
#include "function_views.h"
#include "peer_survey.h"
#include "select_pins.h"
#include "sql_session.h"
#include "stats.h"

enum { NEED_FRESH = NEED_SNAPSHOT | NEED_TOTAL };

static atomic_int waiters; /* SELECTs that wait */

void
select_wait_init(struct select_wait *wait, struct select_pins *pins,
                 struct function_views *views, const struct sql_node *node,
                 struct waker waker)
{
    memset(wait, 0, sizeof(*wait));
    memset(pins, 0, sizeof(*pins));
    pthread_mutex_init(&wait->lock, NULL);
    wait->controller = node->controller;
    wait->waker = waker;
    wait->pins = pins;
    wait->views = views;
    *views = (struct function_views){
        .cache = node->views, .waker = waker, .lock = &wait->lock};
}

static void
set_ticket(struct select_wait *wait, struct ticket **place, struct ticket *new)
{
    struct ticket *old = *place; /* only this function changes it */

    if (old == new)
        return;
    pthread_mutex_lock(&wait->lock);
    *place = new;
    pthread_mutex_unlock(&wait->lock);
    ticket_free(old);
}

static int
begin_waiting(struct select_wait *wait, struct error *err)
{
    if (wait->counted)
        return 0;
    if (atomic_fetch_add(&waiters, 1) >= SELECT_WAITERS_MAX) {
        atomic_fetch_sub(&waiters, 1);
        error_set(err, ER_UNKNOWN,
                  "%d SELECTs are waiting for the node already; try again "
                  "later",
                  SELECT_WAITERS_MAX);
        return -1;
    }
    wait->counted = true;
    return 0;
}

static void
end_waiting(struct select_wait *wait)
{
    if (wait->counted)
        atomic_fetch_sub(&waiters, 1);
    wait->counted = false;
}

void
select_wait_end(struct select_wait *wait)
{
    end_waiting(wait);
    set_ticket(wait, &wait->snapshot_ticket, NULL);
    set_ticket(wait, &wait->stats_ticket, NULL);
    select_pins_end(wait->pins);
    if (wait->stats)
        stats_unref(wait->stats);
    wait->stats = NULL;
    peer_survey_free(wait->survey);
    wait->survey = NULL;
    while (wait->asks) {
        struct cluster_ask *ask = wait->asks;

        wait->asks = ask->next;
        cluster_ask_free(ask);
    }
    atomic_store(&wait->asked, 0);
    atomic_store(&wait->answered, 0);
    wait->fetched = wait->wanted = 0;
    function_views_end(wait->views);
}

void
select_wait_fini(struct select_wait *wait)
{
    select_wait_end(wait);
    pthread_mutex_destroy(&wait->lock);
}

/* ---- for the cursor ---- */

/* Whether a question is unanswered; the last one asked is first in the list. */
static bool
is_asking(const struct select_wait *wait)
{
    return wait->asks && wait->asks->fanout;
}

bool
select_wait_stopped(const struct select_wait *wait)
{
    return wait->wanted != 0 || is_asking(wait) || wait->views->ticket;
}

/* Submits the job at the first look; the answer may be there at once. */
static enum ticket_state
look(struct select_wait *wait, enum job_kind kind, struct ticket **place,
     struct job_result *result, struct error *err)
{
    struct ticket *ticket;
    enum ticket_state state;

    if (!*place) {
        ticket = controller_submit(wait->controller,
                                   &(struct job_request){.kind = kind},
                                   wait->waker, err);
        if (!ticket)
            return TICKET_FAILED;
        set_ticket(wait, place, ticket);
    }
    state = ticket_poll(*place, result, err);
    if (state != TICKET_WAITING)
        set_ticket(wait, place, NULL);
    return state;
}

/* A snapshot for NEED_TOTAL alone is optional: without it the statement goes
 * on. */
static enum ticket_state
look_for_snapshot(struct select_wait *wait, struct catalog_scope *scope,
                  struct error *err)
{
    struct job_result result = {0};
    struct error failure;
    enum ticket_state state =
        look(wait, JOB_RECENT, &wait->snapshot_ticket, &result, &failure);

    if (state == TICKET_DONE) {
        scope->snapshot = result.snapshot;
        select_pins_take(wait->pins, result.snapshot);
        wait->fetched |= NEED_FRESH;
        wait->wanted &= ~(unsigned)NEED_FRESH;
    } else if (state == TICKET_FAILED && !(wait->wanted & NEED_SNAPSHOT)) {
        memcpy(scope->no_total, failure.text, sizeof(scope->no_total));
        wait->fetched |= NEED_TOTAL;
        wait->wanted &= ~(unsigned)NEED_TOTAL;
        state = TICKET_DONE;
    } else if (state == TICKET_FAILED) {
        *err = failure;
    }
    return state;
}

static enum ticket_state
look_for_stats(struct select_wait *wait, struct catalog_scope *scope,
               struct error *err)
{
    struct job_result result = {0};
    enum ticket_state state =
        look(wait, JOB_STATS, &wait->stats_ticket, &result, err);

    if (state == TICKET_DONE) {
        scope->stats = wait->stats = result.stats;
        wait->fetched |= NEED_STATS;
        wait->wanted &= ~(unsigned)NEED_STATS;
    }
    return state;
}

static enum step
look_for_peers(struct select_wait *wait, struct catalog_scope *scope,
               struct error *err)
{
    enum step step;

    if (!wait->survey)
        wait->survey = peer_survey_new(scope->session, wait->waker, err);
    if (!wait->survey)
        return STEP_FAIL;
    step = peer_survey_step(wait->survey);
    if (step == STEP_DONE) {
        scope->survey = wait->survey;
        wait->fetched |= NEED_PEERS;
        wait->wanted &= ~(unsigned)NEED_PEERS;
    }
    return step;
}

/* Asks for all before it waits for any. */
enum step
select_wait_step(struct select_wait *wait, struct catalog_scope *scope,
                 struct error *err)
{
    enum step view, asked = STEP_DONE;

    if (is_asking(wait))
        asked = cluster_ask_step(wait->asks, err);
    if (asked == STEP_FAIL)
        return STEP_FAIL;
    if ((wait->wanted & NEED_PEERS) &&
        look_for_peers(wait, scope, err) == STEP_FAIL)
        return STEP_FAIL;
    if ((wait->wanted & NEED_STATS) &&
        look_for_stats(wait, scope, err) == TICKET_FAILED)
        return STEP_FAIL;
    if ((wait->wanted & NEED_FRESH) &&
        look_for_snapshot(wait, scope, err) == TICKET_FAILED)
        return STEP_FAIL;
    view = function_views_step(wait->views, err);
    if (view == STEP_FAIL)
        return STEP_FAIL;
    if (wait->wanted || asked == STEP_WAIT || view == STEP_WAIT)
        return begin_waiting(wait, err) == 0 ? STEP_WAIT : STEP_FAIL;
    end_waiting(wait);
    return STEP_MORE;
}

static bool
cluster_progress(struct select_wait *wait, struct progress *out)
{
    size_t answered = atomic_load(&wait->answered);
    size_t asked = atomic_load(&wait->asked);

    if (answered >= asked)
        return false;
    *out = (struct progress){1, 1, (unsigned)(answered * 100 / asked),
                             "Asking the nodes"};
    return true;
}

bool
select_wait_progress(struct select_wait *wait, struct progress *out)
{
    struct job_progress job;
    struct ticket *ticket;
    bool known;

    if (cluster_progress(wait, out))
        return true;
    pthread_mutex_lock(&wait->lock);
    ticket = wait->snapshot_ticket ? wait->snapshot_ticket : wait->stats_ticket;
    known = ticket ? ticket_progress(ticket, &job)
                   : function_views_progress(wait->views, &job);
    pthread_mutex_unlock(&wait->lock);
    if (known)
        *out = (struct progress){job.stage, job.stages, job.percent, job.text};
    return known;
}
