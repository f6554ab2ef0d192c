/*
 * fetch.c - fetches what a SELECT's tables need from this node: a snapshot,
 * statistics, threads, mappings, the state of other nodes.
 *
 * Which data are missing shows only while SQLite runs (a table may never be
 * read), so the wait is inside of sqlite3_step(): the thread blocks there, off
 * the event loop, and rows follow when it returns.  All that is missing at one
 * moment is asked for together and then awaited one by one, so the statement
 * waits as long as the slowest.  What was fetched stays until the statement
 * ends.
 *
 * Each waiting SELECT holds a handle and a thread; users share
 * FETCH_WAITERS_MAX places, so that one user's dashboards on a hung database
 * do not stop all others.
 */
#include "fetch.h"

#include <stdio.h>
#include <string.h>

#include "controller.h"
#include "errors.h"
#include "handle.h"
#include "memory_map.h"
#include "node_status.h"
#include "observe.h"
#include "peers.h"
#include "user_quota.h"
#include "snapshot.h"
#include "sql_session.h"
#include "stats.h"
#include "threads.h"

enum { NEED_FRESH = NEED_SNAPSHOT | NEED_TOTAL };

/* The users of the SELECTs that wait; guarded by its lock. */
static struct {
    pthread_mutex_t lock;
    const char *users[FETCH_WAITERS_MAX];
    size_t count;
} waiters = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* SET, KILL and the like evaluate expressions on the event loop, and must not
 * block it. */
int
fetch_refuse(struct handle *handle)
{
    handle->failed = true;
    error_set(&handle->failure, ER_NOT_SUPPORTED,
              "only a SELECT can read what waits for the node or for a view");
    return SQLITE_ERROR;
}

int
fetch_begin_waiting(struct handle *handle)
{
    const char *user = handle->scope.session->who.user;

    pthread_mutex_lock(&waiters.lock);
    handle->fetch->slot =
        user_quota_take(waiters.users, &waiters.count, FETCH_WAITERS_MAX, user,
                        "SELECTs that wait", "cancel one", &handle->failure);
    pthread_mutex_unlock(&waiters.lock);
    return handle->fetch->slot ? 0 : -1;
}

void
fetch_end_waiting(struct fetch *fetch)
{
    pthread_mutex_lock(&waiters.lock);
    user_quota_release(fetch->slot, &waiters.count);
    pthread_mutex_unlock(&waiters.lock);
}

void
fetch_fini(struct fetch *fetch)
{
    if (fetch->stats)
        stats_unref(fetch->stats);
    snapshot_unref(fetch->snapshot);
    thread_list_unref(fetch->threads);
    memory_map_unref(fetch->mappings);
    while (fetch->observed_count > 0)
        snapshot_unref(fetch->observed[--fetch->observed_count].snapshot);
    peer_survey_free(fetch->survey);
    fetch->stats = NULL;
    fetch->snapshot = NULL;
    fetch->survey = NULL;
    fetch->threads = NULL;
    fetch->mappings = NULL;
    fetch->fetched = 0;
}

/* Is the snapshot for NEED_TOTAL worth asking for?  It is for an account that
 * may take one, and an active profiler.  What is missing is kept as the
 * reason. */
static bool
has_total(struct handle *handle)
{
    const char *why = "";
    struct node_status status;
    struct error absent;

    controller_status(handle->fetch->controller, &status);
    if (node_status_check(&status, &absent) != 0)
        why = absent.text;
    else if (!status.hello.active)
        why = "profiling is not active";
    else if (!(handle->scope.session->who.privileges & PRIVILEGE_PROFILE))
        why = "this account may not take profiles";
    snprintf(handle->scope.no_total, sizeof(handle->scope.no_total), "%s", why);
    return !*why;
}

/* The jobs under way; NULL: none.  The wait takes a seat; flight_leave() gives
 * up those that nobody waited for. */
struct asked {
    struct seat *stats, *snapshot, *threads, *mappings;
};

static struct seat *
submit_fetch_job(const struct handle *handle, enum job_kind kind,
                 struct error *err)
{
    const struct job_request request = {
        .kind = kind, .owner = handle->scope.session->who.user};

    return controller_submit(handle->fetch->controller, &request,
                             await_waker(handle->fetch->await), err);
}

static struct seat *
submit_threads(struct handle *handle)
{
    const struct observe_request request = {
        .kind = OBSERVE_THREADS,
        .kernel = true,
        .owner = handle->scope.session->who.user};

    return controller_observe(handle->fetch->controller, &request,
                              await_waker(handle->fetch->await),
                              &handle->failure);
}

/* A snapshot for NEED_TOTAL alone is optional: without it the statement goes
 * on, unless it is interrupted. */
static int
do_without(struct handle *handle, unsigned needs, const struct error *failure)
{
    if (needs & NEED_SNAPSHOT || await_is_over(handle->fetch->await)) {
        handle->failure = *failure;
        return -1;
    }
    memcpy(handle->scope.no_total, failure->text,
           sizeof(handle->scope.no_total));
    return 0;
}

/* Submits all jobs before it waits for any.  On failure the seats that were
 * got stay in *asked. */
static int
begin_fetch_requests(struct handle *handle, unsigned needs, struct asked *asked)
{
    struct fetch *fetch = handle->fetch;
    struct error failure;

    if (needs & NEED_PEERS)
        fetch->survey = peer_survey_new(handle->scope.session, fetch->await,
                                        &handle->failure);
    if (needs & NEED_PEERS && !fetch->survey)
        return -1;
    if (needs & NEED_STATS)
        asked->stats = submit_fetch_job(handle, JOB_STATS, &handle->failure);
    if (needs & NEED_STATS && !asked->stats)
        return -1;
    if (needs & NEED_THREADS)
        asked->threads = submit_threads(handle);
    if (needs & NEED_THREADS && !asked->threads)
        return -1;
    if (needs & NEED_MAPPINGS)
        asked->mappings =
            submit_fetch_job(handle, JOB_MAPPINGS, &handle->failure);
    if (needs & NEED_MAPPINGS && !asked->mappings)
        return -1;
    if (needs & NEED_FRESH)
        asked->snapshot = submit_fetch_job(handle, JOB_RECENT, &failure);
    return needs & NEED_FRESH && !asked->snapshot
               ? do_without(handle, needs, &failure)
               : 0;
}

static int
wait_for_snapshot(struct handle *handle, unsigned needs, struct asked *asked)
{
    struct job_result result = {0};
    struct seat *seat = asked->snapshot;
    struct error failure;

    asked->snapshot = NULL; /* the wait takes it */
    if (controller_wait(seat, handle->fetch->await, &result, &failure) != 0)
        return do_without(handle, needs, &failure);
    handle->scope.snapshot = handle->fetch->snapshot = result.snapshot;
    handle->fetch->fetched |= NEED_FRESH;
    return 0;
}

static int
wait_for_stats(struct handle *handle, struct asked *asked)
{
    struct job_result result = {0};
    struct seat *seat = asked->stats;

    asked->stats = NULL;
    if (controller_wait(seat, handle->fetch->await, &result,
                        &handle->failure) != 0)
        return -1;
    handle->scope.stats = handle->fetch->stats = result.stats;
    return 0;
}

static int
wait_for_threads(struct handle *handle, struct asked *asked)
{
    struct observe_result result = {0};
    struct seat *seat = asked->threads;

    asked->threads = NULL;
    if (controller_observe_wait(seat, handle->fetch->await, &result,
                                &handle->failure) != 0)
        return -1;
    handle->scope.threads = handle->fetch->threads = result.threads;
    return 0;
}

static int
wait_for_mappings(struct handle *handle, struct asked *asked)
{
    struct job_result result = {0};
    struct seat *seat = asked->mappings;

    asked->mappings = NULL;
    if (controller_wait(seat, handle->fetch->await, &result,
                        &handle->failure) != 0)
        return -1;
    handle->scope.mappings = handle->fetch->mappings = result.mappings;
    if (result.mappings && *result.mappings->remark)
        warnings_add(handle->session, ER_UNKNOWN, "%s",
                     result.mappings->remark);
    return 0;
}

static int
wait_for_fetch_results(struct handle *handle, unsigned needs,
                       struct asked *asked)
{
    if (needs & NEED_PEERS &&
        peer_survey_wait(handle->fetch->survey, handle->fetch->await,
                         &handle->failure) != 0)
        return -1;
    if (needs & NEED_PEERS)
        handle->scope.survey = handle->fetch->survey;
    if (asked->snapshot && wait_for_snapshot(handle, needs, asked) != 0)
        return -1;
    if (asked->threads && wait_for_threads(handle, asked) != 0)
        return -1;
    if (asked->mappings && wait_for_mappings(handle, asked) != 0)
        return -1;
    return asked->stats ? wait_for_stats(handle, asked) : 0;
}

/* Fetches what is missing; the caller has checked that something is. */
static int
fetch_all(struct handle *handle, unsigned needs)
{
    struct asked asked = {NULL, NULL, NULL, NULL};
    int rc = fetch_begin_waiting(handle);

    if (rc != 0)
        return -1;
    rc = begin_fetch_requests(handle, needs, &asked);
    if (rc == 0)
        rc = wait_for_fetch_results(handle, needs, &asked);
    fetch_end_waiting(handle->fetch);
    flight_leave(asked.stats);
    flight_leave(asked.snapshot);
    flight_leave(asked.threads);
    flight_leave(asked.mappings);
    if (rc == 0)
        handle->fetch->fetched |= needs;
    return rc;
}

int
fetch_needs(struct handle *handle, unsigned needs)
{
    struct fetch *fetch = handle->fetch;

    /* It names no data: the caller leaves the event loop for it. */
    needs &= ~(unsigned)NEED_TIME;
    if ((needs & NEED_PEERS) &&
        (!fetch || !peers_can_ask(handle->scope.session)))
        needs &= ~(unsigned)NEED_PEERS; /* use the last known state instead */
    if (needs == 0)
        return SQLITE_OK;
    if (!fetch)
        return fetch_refuse(handle);
    needs &= ~fetch->fetched;
    if ((needs & NEED_TOTAL) && !has_total(handle)) {
        fetch->fetched |= NEED_TOTAL;
        needs &= ~(unsigned)NEED_TOTAL;
    }
    if (needs == 0 || fetch_all(handle, needs) == 0)
        return SQLITE_OK;
    handle->failed = true;
    return SQLITE_ERROR;
}

int
fetch_fresh(struct handle *handle, struct snapshot **out)
{
    int rc = fetch_needs(handle, NEED_SNAPSHOT);

    if (rc == SQLITE_OK)
        *out = handle->scope.snapshot;
    return rc;
}

int
fetch_another(struct handle *handle, struct snapshot **out)
{
    struct job_result result = {0};
    int rc = -1;

    if (fetch_begin_waiting(handle) == 0) {
        rc = controller_wait(
            submit_fetch_job(handle, JOB_PROFILE, &handle->failure),
            handle->fetch->await, &result, &handle->failure);
        fetch_end_waiting(handle->fetch);
    }
    *out = result.snapshot;
    handle->failed = handle->failed || rc != 0;
    return rc == 0 ? SQLITE_OK : SQLITE_ERROR;
}
