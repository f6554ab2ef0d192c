/*
 * cluster_ask.c - asks the cluster's nodes one question of a SELECT and waits
 * for all answers.
 *
 * SQLite calls a table's filter again for every row of a join, but the nodes
 * must be asked once: questions are kept until the statement ends and found by
 * a key.  A question may be about rows (cluster_rows.c) or snapshots
 * (cluster_heap.c), which hand in how to take an answer; this file has what
 * both share: who is asked, the time limit, failed nodes, progress.
 *
 * One failed node must not spoil the answer of a thousand others, so it
 * becomes a warning; only if none answered the statement fails.  All of it
 * runs inside sqlite3_step() on the statement's thread, which blocks off the
 * event loop.
 */
#include "cluster_ask.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "arena.h"
#include "await.h"
#include "clean_text.h"
#include "errors.h"
#include "fetch.h"
#include "handle.h"
#include "memory.h"
#include "peers.h"
#include "sql.h"
#include "sql_session.h"
#include "sql_statement.h"

enum { ARENA_MAX = 64 << 20 };

static const char no_memory[] = "Out of memory for the answer";

static int
mark_handle_failed(struct handle *handle)
{
    handle->failed = true;
    return SQLITE_ERROR;
}

/* ---- answers ---- */

void
cluster_fail(struct cluster_ask *ask, size_t id_index, uint16_t code,
             const char *text)
{
    struct cluster_failure *failure = &ask->failures[id_index];
    size_t size = strlen(text);
    char *copy;

    if (failure->text)
        return;
    copy = arena_alloc(ask->arena, size + 1);
    if (copy)
        clean_text((struct span){text, size}, copy);
    failure->code = code;
    failure->text = copy ? copy : no_memory;
    ask->missing++;
}

/* Says which node failed, and why. */
static void
set_node_failure(const struct cluster_ask *ask, size_t i, struct error *out)
{
    const struct cluster_failure *failure = &ask->failures[i];

    if (strcmp(failure->text, PEER_NOT_FOUND) == 0)
        error_set(out, failure->code, "there is no node %" PRIu64, ask->ids[i]);
    else
        error_set(out, failure->code, "node %" PRIu64 ": %s", ask->ids[i],
                  failure->text);
}

/* They may have answered all the same, with an error. */
static int
fail_all(const struct cluster_ask *ask, struct error *err)
{
    struct error first;

    if (ask->id_count == 0) {
        error_set(err, ER_UNKNOWN, "the cluster has no nodes to ask");
        return -1;
    }
    set_node_failure(ask, 0, &first);
    if (ask->id_count == 1)
        *err = first;
    else
        error_set(err, first.code, "none of %zu nodes has an answer; %s",
                  ask->id_count, first.text);
    return -1;
}

static int
finish_cluster_ask(struct cluster_ask *ask, struct error *err)
{
    ask->peers->release(ask->fanout);
    ask->fanout = NULL;
    return ask->missing == ask->id_count ? fail_all(ask, err)
                                         : ask->ops->finish(ask, err);
}

static int
take_cluster_block(struct cluster_ask *ask, struct peer_block *block,
                   struct error *err)
{
    int rc = 0;

    /* The fan-out counts the nodes that were asked; ops count all. */
    block->id_index = ask->asked[block->id_index];
    /* Adding up a large snapshot takes seconds, so it looks before each. */
    if (ask->cancelled && atomic_load(ask->cancelled)) {
        error_set(err, ER_QUERY_INTERRUPTED, "Query execution was interrupted");
        rc = -1;
    } else if (!ask->failures[block->id_index].text) {
        rc = ask->ops->take(ask, block, err);
    }
    mem_free(block);
    return rc;
}

static void
take_cluster_node_end(struct cluster_ask *ask, const struct peer_end *end)
{
    size_t id_index = ask->asked[end->id_index];

    if (end->error.code)
        cluster_fail(ask, id_index, end->error.code, end->error.text);
    ask->truncated[id_index] |= end->truncated;
    atomic_fetch_add(&ask->answered, 1);
}

static bool
cluster_ask_progress(void *of, struct progress *out)
{
    struct cluster_ask *ask = of;
    size_t answered = atomic_load(&ask->answered);

    if (answered >= ask->id_count)
        return false;
    *out = (struct progress){1, 1, (unsigned)(answered * 100 / ask->id_count),
                             "Asking the nodes"};
    return true;
}

static int
take_cluster_answers(struct cluster_ask *ask, struct await *await,
                     struct error *err)
{
    struct peer_block *block = NULL;
    struct peer_end end = {0};

    for (;;)
        switch (ask->peers->take(ask->fanout, &block, &end)) {
        case PEER_NOTHING_YET:
            if (await_notification(await, err) != 0)
                return -1;
            break;
        case PEER_BLOCK:
            if (take_cluster_block(ask, block, err) != 0)
                return -1;
            break;
        case PEER_END:
            take_cluster_node_end(ask, &end);
            break;
        case PEER_ALL_ENDED:
            return finish_cluster_ask(ask, err);
        }
}

static int
wait_for_cluster_ask(struct cluster_ask *ask, struct handle *handle)
{
    struct await *await = handle->fetch->await;
    int rc = fetch_begin_waiting(handle);

    if (rc != 0)
        return -1;
    await_watch(await, cluster_ask_progress, ask);
    rc = take_cluster_answers(ask, await, &handle->failure);
    await_watch(await, NULL, NULL);
    fetch_end_waiting(handle->fetch);
    return rc;
}

static void
warn_of_failed_nodes(struct handle *handle, struct cluster_ask *ask)
{
    for (size_t i = 0; i < ask->id_count; i++)
        if (ask->failures[i].text)
            warnings_add(handle->session, ask->failures[i].code,
                         "node %" PRIu64 ": %s", ask->ids[i],
                         ask->failures[i].text);
        else if (ask->truncated[i])
            warnings_add(handle->session, ER_UNKNOWN,
                         "node %" PRIu64 ": the answer was truncated",
                         ask->ids[i]);
}

/* ---- asking ---- */

static int
check_cluster_ask(struct handle *handle)
{
    const struct sql_session *session = handle->scope.session;
    size_t count = 0;

    /* Nodes that ask each other could go on for ever. */
    if (session->forwarded) {
        error_set(&handle->failure, ER_PRIVILEGE,
                  "Access denied; the statement was forwarded once already");
        return -1;
    }
    for (struct cluster_ask *a = handle->fetch->asks; a; a = a->next)
        count++;
    if (count < CLUSTER_ASKS_MAX)
        return 0;
    error_set(&handle->failure, ER_NOT_SUPPORTED,
              "a SELECT may ask the cluster at most %d questions",
              CLUSTER_ASKS_MAX);
    return -1;
}

static int
list_nodes(struct cluster_ask *ask, const struct sql_session *session,
           const uint64_t *ids, size_t id_count)
{
    struct peer_row *rows = NULL;
    size_t count = id_count ? id_count : peers_list(session, &rows);

    ask->ids = arena_alloc(ask->arena, (count + 1) * sizeof(*ask->ids));
    ask->failures =
        arena_alloc(ask->arena, (count + 1) * sizeof(*ask->failures));
    ask->truncated =
        arena_alloc(ask->arena, (count + 1) * sizeof(*ask->truncated));
    ask->asked_ids =
        arena_alloc(ask->arena, (count + 1) * sizeof(*ask->asked_ids));
    ask->asked = arena_alloc(ask->arena, (count + 1) * sizeof(*ask->asked));
    if ((!id_count && !rows) || !ask->ids || !ask->failures ||
        !ask->truncated || !ask->asked_ids || !ask->asked) {
        mem_free(rows);
        return -1;
    }
    for (size_t i = 0; i < count; i++)
        ask->ids[i] = rows ? rows[i].id : ids[i];
    ask->id_count = count;
    mem_free(rows);
    return 0;
}

/* Why an earlier question of the statement got no answer from the node in
 * time; NULL: it did, or the node was not asked.  Without this each question
 * of a join would wait for a hung node again. */
static const struct cluster_failure *
find_silence(const struct cluster_ask *earlier, uint64_t id)
{
    for (; earlier; earlier = earlier->next)
        for (size_t i = 0; i < earlier->id_count; i++)
            if (earlier->ids[i] == id &&
                earlier->failures[i].code == ER_QUERY_TIMEOUT)
                return &earlier->failures[i];
    return NULL;
}

static void
leave_out_silent(struct cluster_ask *ask)
{
    const struct cluster_failure *silence;

    for (size_t i = 0; i < ask->id_count; i++) {
        silence = find_silence(ask->next, ask->ids[i]);
        if (silence) {
            cluster_fail(ask, i, silence->code, silence->text);
            atomic_fetch_add(&ask->answered, 1);
            continue;
        }
        ask->asked_ids[ask->asked_count] = ask->ids[i];
        ask->asked[ask->asked_count++] = i;
    }
}

/* Checks that the caller may reach the other nodes, if any is asked. */
static int
check_cluster_privilege(const struct cluster_ask *ask, struct handle *handle)
{
    const struct sql_session *session = handle->scope.session;

    if (ask->id_count == 1 && ask->ids[0] == session->node->id)
        return 0;
    return privilege_check(session->who.privileges, PRIVILEGE_CLUSTER,
                           &handle->failure);
}

/* Gives the nodes 90 % of the statement's time, in milliseconds; the rest is
 * for work on the answers. */
static unsigned
timeout_of(const struct catalog_scope *scope)
{
    const struct sql_statement said = {.timeout_s = scope->timeout_s};
    uint32_t s = session_timeout_s(scope->session, &said);

    return s * 900;
}

static unsigned
rolling_parallel_limit(const struct catalog_scope *scope)
{
    const struct sql_statement said = {.parallel = scope->parallel};
    uint32_t parallel = session_parallel(scope->session, &said);

    return parallel ? parallel : CLUSTER_ROLLING;
}

int
cluster_begin(struct handle *handle, struct cluster_ask *ask,
              struct buffer *key, const uint64_t *ids, size_t id_count,
              struct peer_request *request)
{
    const struct catalog_scope *scope = &handle->scope;
    struct fetch *fetch = handle->fetch;
    int rc = check_cluster_ask(handle);
    uint32_t sampling_ms;

    /* First of all the statement takes the question, so that it is freed
     * however this ends. */
    ask->next = fetch->asks;
    fetch->asks = ask;
    ask->key = *key;
    memset(key, 0, sizeof(*key));
    if (rc != 0)
        return mark_handle_failed(handle);
    ask->cancelled = handle->memory.cancelled;
    ask->arena = arena_new(ARENA_MAX);
    if (!ask->arena || list_nodes(ask, scope->session, ids, id_count) != 0 ||
        ask->ops->start(ask) != 0) {
        error_memory(&handle->failure, "the list of nodes");
        return mark_handle_failed(handle);
    }
    if (check_cluster_privilege(ask, handle) != 0)
        return mark_handle_failed(handle);
    leave_out_silent(ask);
    if (ask->id_count > 0 && ask->asked_count == 0) {
        fail_all(ask, &handle->failure);
        return mark_handle_failed(handle);
    }
    request->ids = ask->asked_ids;
    request->id_count = ask->asked_count;
    request->parallel =
        request->parallel ? rolling_parallel_limit(scope) : scope->parallel;
    sampling_ms =
        peers_sampling_ms(ask->seconds, request->id_count, request->parallel);
    request->timeout_ms = timeout_of(scope) + sampling_ms;
    /* Sampling is what was asked for, not a delay: it does not count against
     * the limit. */
    await_grant(fetch->await, sampling_ms);
    request->caller = &scope->session->who;
    request->connection_id = scope->session->connection_id;
    request->waker = await_waker(fetch->await);
    ask->peers = scope->session->node->peers;
    ask->fanout = ask->peers->ask(ask->peers->arg, request, &handle->failure);
    if (!ask->fanout)
        return mark_handle_failed(handle);
    if (wait_for_cluster_ask(ask, handle) != 0)
        return mark_handle_failed(handle);
    warn_of_failed_nodes(handle, ask);
    return SQLITE_OK;
}

int
cluster_find(struct handle *handle, const struct buffer *key,
             struct cluster_ask **out)
{
    struct cluster_ask *ask = NULL;

    *out = NULL;
    if (!handle->fetch)
        return fetch_refuse(handle);
    if (key->failed) {
        error_memory(&handle->failure, "a question to the cluster");
        return mark_handle_failed(handle);
    }
    for (ask = handle->fetch->asks; ask; ask = ask->next)
        if (ask->key.size == key->size &&
            memcmp(ask->key.data, key->data, key->size) == 0)
            break;
    *out = ask;
    return SQLITE_OK;
}

void
cluster_ask_free(struct cluster_ask *ask)
{
    if (!ask)
        return;
    if (ask->fanout)
        ask->peers->release(ask->fanout);
    buffer_fini(&ask->key);
    arena_free(ask->arena);
    ask->ops->free(ask);
}
