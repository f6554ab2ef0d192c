/*
 * peer_call.c - one question to one node: see peer_pool.h.
 *
 * A call takes an idle link of its node, or a new one, or waits.  Waiting calls
 * hang at their node, and nodes stand in three lines: those that want a link,
 * those that failed last time (so that dead nodes delay no others), and those
 * that have links but find no room for more.  A node goes to the end of its
 * line with each link it gets: a few busy nodes cannot use up all places.  A
 * dead idle link is noticed only when it is used, so such a call is tried once
 * more.  All on the loop.
 */
#include "peer_pool.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "errors.h"

enum { PEER_NAME_MAX = 64 }; /* of a text such as "[::1]:9036" */

static const char mismatch[] = "id mismatch: ";

/* Writes the node's name for a failure's text. */
static void
print_peer_name(const struct peer_endpoint *endpoint, char *out)
{
    bool six = strchr(endpoint->address, ':') != NULL;

    if (endpoint->port == 0)
        snprintf(out, PEER_NAME_MAX, "node %" PRIu64, endpoint->id);
    else
        snprintf(out, PEER_NAME_MAX, "%s%s%s:%u", six ? "[" : "",
                 endpoint->address, six ? "]" : "", endpoint->port);
}

/* A timeout keeps its code: the caller does not ask a silent node again so
 * soon. */
static enum error_code
code_of(const struct error *why)
{
    return why->code == ER_QUERY_TIMEOUT ? ER_QUERY_TIMEOUT : ER_UNKNOWN;
}

void
peer_failure_timeout(struct error *out, unsigned timeout_ms)
{
    if (timeout_ms % 1000 == 0)
        error_set(out, ER_QUERY_TIMEOUT, "timeout after %us",
                  timeout_ms / 1000);
    else
        error_set(out, ER_QUERY_TIMEOUT, "timeout after %.3gs",
                  timeout_ms / 1000.0);
}

void
peer_failure_submit(struct error *out, const struct peer_endpoint *endpoint,
                    const struct error *why)
{
    char name[PEER_NAME_MAX];

    if (strncmp(why->text, mismatch, sizeof(mismatch) - 1) == 0) {
        *out = *why;
        return;
    }
    print_peer_name(endpoint, name);
    error_set(out, code_of(why), "submit failed for %s: %s", name, why->text);
}

void
peer_failure_rpc(struct error *out, const struct peer_endpoint *endpoint,
                 const struct error *why)
{
    char name[PEER_NAME_MAX];

    print_peer_name(endpoint, name);
    error_set(out, code_of(why), "rpc failed %s: %s", name, why->text);
}

static void open_more(struct peer_pool *pool);
static void assign_peer_link(struct peer *peer, struct peer_link *link);

/* ---- waiting for a link ---- */

static void
leave_peer_queue(struct peer *peer)
{
    struct peers *line = &peer->pool->waiting[peer->line];

    if (peer->in_line)
        LINKED_LIST_REMOVE(line, peer);
    peer->in_line = false;
}

static void
append_to_line(struct peer *peer, unsigned char number)
{
    struct peers *line = &peer->pool->waiting[number];

    leave_peer_queue(peer);
    peer->in_line = true;
    peer->line = number;
    LINKED_LIST_APPEND(line, peer);
}

static void
enter_line(struct peer *peer)
{
    if (!peer->in_line || peer->line == PEERS_AT_LINK_LIMIT)
        append_to_line(peer, peer->failing ? PEERS_DOUBTFUL : PEERS_WAITING);
}

static void
wait_for_link(struct peer_call *call)
{
    struct peer *peer = call->peer;

    call->waits = true;
    LINKED_LIST_APPEND(&peer->calls, call);
    enter_line(peer);
}

static struct peer_call *
stop_waiting(struct peer_call *call)
{
    struct peer *peer = call->peer;

    LINKED_LIST_REMOVE(&peer->calls, call);
    call->waits = false;
    if (!peer->calls.first)
        leave_peer_queue(peer);
    return call;
}

/* ---- the end of a call ---- */

/* Closes the link, which cannot take other questions now. */
static void
drop_link(struct peer_call *call)
{
    struct peer_pool *pool = call->peer->pool;

    if (!call->link)
        return;
    if (call->link->state == PEER_LINK_CONNECTING)
        pool->connecting[call->doubtful]--;
    peer_close_link(call->peer, call->link);
    call->link = NULL;
    if (call->peer->calls.first) /* they may have waited for this link */
        enter_line(call->peer);
}

/* The owner may free call in `ended`, so nothing of it is used behind that. */
static void
end_peer_call(struct peer_call *call, const struct error *error)
{
    struct peer *peer = call->peer;
    struct peer_pool *pool = peer->pool;

    drop_link(call);
    call->peer = NULL;
    call->events->ended(call->arg, error);
    peer_unref(peer);
    open_more(pool);
}

static void
end_failed(struct peer_call *call, const struct error *error)
{
    peer_note(call->peer, call->link, error);
    end_peer_call(call, error);
}

/* ---- asking ---- */

/* Gives up the link of a call that was over before it was asked, for others
 * that wait for it. */
static void
give_back(struct peer_call *call)
{
    struct peer *peer = call->peer;

    if (!peer_may_keep(peer, call->link))
        return;
    peer_keep_idle(peer, call->link);
    call->link = NULL;
    if (peer->calls.first)
        enter_line(peer);
}

static void
send_call_request(struct peer_call *call)
{
    uint64_t now = clock_ms();
    struct error err;

    if (now >= call->deadline_ms) {
        give_back(call);
        peer_failure_timeout(&err, call->request->timeout_ms);
        end_peer_call(call, &err);
    } else if (peer_link_ask(call->link, call->request,
                             (unsigned)(call->deadline_ms - now), &err) != 0) {
        end_peer_call(call, &err);
    }
}

static bool
can_call_take_row(struct peer_link *link)
{
    struct peer_call *call = link->arg;

    return call->events->wants(call->arg);
}

static void
on_link_row_received(struct peer_link *link, const struct span *cells)
{
    struct peer_call *call = link->arg;

    call->events->row(call->arg, cells);
}

static void
on_link_idle(struct peer_link *link)
{
    struct peer_call *call = link->arg;

    call->events->quiet(call->arg);
}

static bool
can_link_grow(struct peer_link *link)
{
    struct peer_call *call = link->arg;

    return peer_pool_grows(call->peer->pool, link);
}

static void
on_link_shrank(struct peer_link *link)
{
    struct peer_call *call = link->arg;

    peer_pool_shrank(call->peer->pool);
}

static void
on_link_answered(struct peer_link *link, const struct error *error)
{
    struct peer_call *call = link->arg;

    peer_note(call->peer, link, NULL);
    if (peer_may_keep(call->peer, link)) {
        call->link = NULL;
        assign_peer_link(call->peer, link);
    }
    end_peer_call(call, error);
}

/* ---- connecting ---- */

/* Connects again; prepare_call_retry() allows each reason once. */
static void
reconnect_peer_call(struct peer_call *call)
{
    drop_link(call);
    wait_for_link(call);
    open_more(call->peer->pool);
}

static void
on_link_connected(struct peer_link *link)
{
    struct peer_call *call = link->arg;

    call->peer->pool->connecting[call->doubtful]--;
    send_call_request(call);
}

/* Is there a reason to try once more? */
static bool
prepare_call_retry(struct peer_call *call, const struct error *why)
{
    struct peer_endpoint *endpoint = &call->peer->endpoint;
    struct peer_link *link = call->link;

    if (link->state != PEER_LINK_CONNECTING) {
        /* the node is silent, and would be on these */
        if (why->code == ER_QUERY_TIMEOUT)
            peer_drop_idle(call->peer);
        if (why->code == ER_QUERY_TIMEOUT || !link->reused ||
            link->answer_began || call->tried)
            return false;
        call->tried = true;
        peer_drop_idle(call->peer); /* they are as old as the dead one */
        return true;
    }
    /* It requires TLS where we connected without: the certificate that it
     * proves is checked all the same. */
    if (!link->endpoint.tls && why->code == ER_SECURE_TRANSPORT_REQUIRED &&
        !call->secured) {
        call->secured = endpoint->tls = true;
        return true;
    }
    return false;
}

static void
on_link_broken(struct peer_link *link, const struct error *why)
{
    struct peer_call *call = link->arg;
    struct error err;

    if (prepare_call_retry(call, why)) {
        reconnect_peer_call(call);
        return;
    }
    if (link->state == PEER_LINK_CONNECTING)
        peer_failure_submit(&err, &link->endpoint, why);
    else
        peer_failure_rpc(&err, &link->endpoint, why);
    end_failed(call, &err);
}

static const struct peer_link_events events = {.connected = on_link_connected,
                                               .wants = can_call_take_row,
                                               .row = on_link_row_received,
                                               .quiet = on_link_idle,
                                               .grows = can_link_grow,
                                               .shrank = on_link_shrank,
                                               .answered = on_link_answered,
                                               .broken = on_link_broken};

/* Gives the link to the first call that waits for its node, or keeps it idle.
 */
static void
assign_peer_link(struct peer *peer, struct peer_link *link)
{
    struct peer_call *call;

    if (!peer->calls.first) {
        peer_keep_idle(peer, link);
        return;
    }
    call = stop_waiting(peer->calls.first);
    call->link = link;
    peer_link_own(link, &events, call);
    send_call_request(call);
}

static void
open_link(struct peer_call *call)
{
    struct peer *peer = call->peer;
    struct peer_pool *pool = peer->pool;
    struct peer_link_settings settings = {pool->loop, &pool->identity,
                                          pool->tls, pool->connect_timeout_ms};
    struct error err;

    call->link =
        peer_link_open(&settings, &peer->endpoint, &events, call, &err);
    if (!call->link) {
        end_peer_call(call, &err);
        return;
    }
    pool->open++;
    peer->links++;
    pool->connecting[call->doubtful]++;
}

/* Where there is no room, calls wait for the links that their node has, or for
 * room.  A node goes behind the others with each link. */
static void
open_of_line(struct peer_pool *pool, bool doubtful)
{
    struct peer_call *call;
    struct peer *peer;

    while ((peer = pool->waiting[doubtful].first) &&
           pool->connecting[doubtful] < PEER_CONNECTING_MAX) {
        if (peer->idle_count > 0) {
            assign_peer_link(peer, peer_take_idle(peer));
        } else if (peer_pool_can_open_link(pool, peer)) {
            call = stop_waiting(peer->calls.first);
            call->doubtful = doubtful;
            if (peer->in_line) {
                leave_peer_queue(peer);
                enter_line(peer);
            }
            open_link(call);
            /* Its own links will serve it. */
        } else if (peer->links > 0) {
            append_to_line(peer, PEERS_AT_LINK_LIMIT);
        } else {
            break;
        }
    }
}

static void
open_more(struct peer_pool *pool)
{
    struct peer *peer = pool->waiting[PEERS_AT_LINK_LIMIT].first;

    /* a call has failed and ended inside the loops below, which go on */
    if (pool->opening)
        return;
    pool->opening = true;
    if (peer && peer_pool_can_open_link(pool, peer))
        enter_line(peer);
    open_of_line(pool, false);
    open_of_line(pool, true);
    pool->opening = false;
}

/* ---- what owners call ---- */

void
peer_call_start(struct peer_call *call, struct peer *peer,
                const struct peer_request *request, uint64_t deadline_ms,
                const struct peer_call_events *call_events, void *arg)
{
    memset(call, 0, sizeof(*call));
    call->peer = peer;
    peer->references++;
    call->request = request;
    call->deadline_ms = deadline_ms;
    call->events = call_events;
    call->arg = arg;
    call->link = peer_take_idle(peer);
    if (call->link) {
        peer_link_own(call->link, &events, call);
        send_call_request(call);
        return;
    }
    wait_for_link(call);
    open_more(peer->pool);
}

void
peer_call_resume(struct peer_call *call)
{
    if (call->link)
        peer_link_resume(call->link);
}

void
peer_call_cancel(struct peer_call *call, const struct error *late)
{
    struct peer *peer = call->peer;
    struct peer_pool *pool;

    if (!peer)
        return;
    pool = peer->pool;
    if (call->waits)
        (void)stop_waiting(call);
    else if (late) {
        peer_note(peer, call->link, late);
        peer_drop_idle(peer); /* the host may have vanished meanwhile */
    }
    drop_link(call);
    call->peer = NULL;
    peer_unref(peer);
    open_more(pool);
}
