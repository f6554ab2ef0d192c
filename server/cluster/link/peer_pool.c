/*
 * peer_pool.c - see peer_pool.h.
 *
 * A login between nodes costs a millisecond of processor time at both ends, so
 * links are kept after an answer, up to max_links in all; the one that has been
 * idle longest makes room.  Rows of an answer are copied once, into blocks,
 * since a block can be handed to a statement's thread with one allocation.
 */
#include "peer_pool.h"

#include <string.h>

#include <openssl/ssl.h>

#include "clock.h"
#include "memory.h"
#include "peers.h"
#include "tls_stream.h"

/* ---- nodes ---- */

struct peer *
peer_new(struct peer_pool *pool, const struct peer_endpoint *endpoint,
         enum peer_role role, bool self, struct error *err)
{
    struct peer *peer = mem_zalloc(1, sizeof(*peer));

    if (!peer) {
        error_memory(err, "the members");
        return NULL;
    }
    peer->pool = pool;
    peer->endpoint = *endpoint;
    peer->references = 1;
    peer->known.id = endpoint->id;
    peer->known.port = endpoint->port;
    peer->known.role = role;
    peer->known.self = self;
    memcpy(peer->known.address, endpoint->address, sizeof(endpoint->address));
    return peer;
}

void
peer_unref(struct peer *peer)
{
    if (peer && --peer->references == 0)
        mem_free(peer);
}

/* Notes what a node did; error NULL: it has answered. */
void
peer_note(struct peer *peer, const struct peer_link *link,
          const struct error *error)
{
    struct peer_row *known = &peer->known;
    int64_t now = clock_wall_ms();
    bool alive = error == NULL;

    peer->failing = !alive;
    pthread_mutex_lock(peer->pool->lock);
    if (!known->known || known->alive != alive)
        known->since_ms = now;
    known->known = true;
    known->alive = alive;
    if (link && link->wire.client.proven)
        memcpy(known->version, link->wire.client.version,
               sizeof(known->version));
    if (link && peer_link_round_trip_us(link) > 0)
        known->round_trip_us = peer_link_round_trip_us(link);
    if (error) {
        memcpy(known->last_error, error->text, sizeof(known->last_error));
        known->last_error_ms = now;
    }
    pthread_mutex_unlock(peer->pool->lock);
}

/* ---- idle links ---- */

static void
leave_idle(struct peer *peer, struct peer_link *link)
{
    struct peer_pool *pool = peer->pool;
    size_t i = 0;

    while (peer->idle[i] != link)
        i++;
    /* At most PEER_IDLE_EACH entries. */
    peer->idle_count--;
    memmove(&peer->idle[i], &peer->idle[i + 1],
            (peer->idle_count - i) * sizeof(struct peer_link *));
    LINKED_LIST_REMOVE(&pool->resting, link);
}

void
peer_close_link(struct peer *peer, struct peer_link *link)
{
    peer_pool_remove_link(peer->pool, link);
    peer_link_close(link);
    peer->pool->open--;
    peer->links--;
}

static void
close_idle(struct peer *peer, struct peer_link *link)
{
    leave_idle(peer, link);
    peer_close_link(peer, link);
}

static void
idle_broken(struct peer_link *link, const struct error *why)
{
    (void)why;
    close_idle(link->arg, link);
}

static const struct peer_link_events idle_events = {.broken = idle_broken};

struct peer_link *
peer_take_idle(struct peer *peer)
{
    struct peer_link *link = NULL;

    if (peer->idle_count > 0) {
        /* The newest: the others may time out. */
        link = peer->idle[peer->idle_count - 1];
        leave_idle(peer, link);
    }
    return link;
}

bool
peer_may_keep(const struct peer *peer, const struct peer_link *link)
{
    /* A link that proved another key is closed. */
    return !peer->gone && peer_link_reusable(link) &&
           link->identity.key_number == peer->pool->identity.key_number;
}

void
peer_keep_idle(struct peer *peer, struct peer_link *link)
{
    struct peer_pool *pool = peer->pool;

    if (peer->idle_count == PEER_IDLE_EACH)
        close_idle(peer, peer->idle[0]);
    peer->idle[peer->idle_count++] = link;
    LINKED_LIST_APPEND(&pool->resting, link);
    peer_link_own(link, &idle_events, peer);
    peer_link_rest(link, PEER_IDLE_MS);
}

void
peer_drop_idle(struct peer *peer)
{
    while (peer->idle_count > 0)
        close_idle(peer, peer->idle[0]);
}

void
peer_leave(struct peer *peer)
{
    peer->gone = true;
    peer_drop_idle(peer);
}

/* ---- large packets ---- */

bool
peer_pool_grows(struct peer_pool *pool, struct peer_link *link)
{
    if (pool->large < PEER_LARGE_MAX) {
        pool->large++;
        return true;
    }
    LINKED_LIST_APPEND(&pool->starved, link);
    return false;
}

/* The place goes to the link that has waited longest. */
void
peer_pool_shrank(struct peer_pool *pool)
{
    struct peer_link *link = pool->starved.first;

    if (!link) {
        pool->large--;
        return;
    }
    LINKED_LIST_REMOVE(&pool->starved, link);
    peer_link_admit(link);
}

void
peer_pool_remove_link(struct peer_pool *pool, struct peer_link *link)
{
    if (link->starved)
        LINKED_LIST_REMOVE(&pool->starved, link);
    if (link->large)
        peer_pool_shrank(pool);
    link->starved = link->large = false;
}

/* ---- the pool ---- */

/* Has the link answered a moment ago?  Its node will likely be asked again. */
static bool
is_fresh(const struct peer_link *idle)
{
    return uv_timer_get_due_in(&idle->timer) > PEER_IDLE_MS - PEER_FRESH_MS;
}

bool
peer_pool_can_open_link(struct peer_pool *pool, const struct peer *peer)
{
    struct peer_link *oldest = pool->resting.first;

    /* For a node without any link, even a fresh one makes room. */
    if (pool->open >= pool->links_max && oldest &&
        (peer->links == 0 || !is_fresh(oldest)))
        close_idle(oldest->arg, oldest);
    return pool->open < pool->links_max;
}

int
peer_pool_init(struct peer_pool *pool, uv_loop_t *loop, pthread_mutex_t *lock,
               const struct peer_identity *identity,
               unsigned connect_timeout_ms, size_t links_max, struct error *err)
{
    memset(pool, 0, sizeof(*pool));
    pool->loop = loop;
    pool->lock = lock;
    pool->identity = *identity;
    pool->connect_timeout_ms = connect_timeout_ms;
    pool->links_max = links_max;
    pool->tls = tls_context_for_links(err);
    return pool->tls ? 0 : -1;
}

void
peer_pool_fini(struct peer_pool *pool)
{
    SSL_CTX_free(pool->tls);
}

void
peer_pool_set_identity(struct peer_pool *pool,
                       const struct peer_identity *identity)
{
    pool->identity = *identity;
    peer_pool_stop(pool);
}

void
peer_pool_stop(struct peer_pool *pool)
{
    while (pool->resting.first)
        close_idle(pool->resting.first->arg, pool->resting.first);
}

/* ---- rows into blocks ---- */

enum {
    ROW_MAX = PEER_CELL_MAX + PEER_BLOCK_BYTES,
    CELLS_MAX = 4 << 20, /* bytes of the cells' spans */
    KEPT = 4 * PEER_BLOCK_BYTES
};

void
peer_gather_init(struct peer_gather *g)
{
    buffer_init(&g->cells, CELLS_MAX);
    buffer_init(&g->bytes, ROW_MAX);
    g->rows = 0;
}

void
peer_gather_fini(struct peer_gather *g)
{
    buffer_fini(&g->cells);
    buffer_fini(&g->bytes);
}

void
peer_gather_add(struct peer_gather *g, const struct span *cells, size_t columns)
{
    buffer_add(&g->cells, cells, columns * sizeof(*cells));
    for (size_t i = 0; i < columns; i++)
        buffer_add(&g->bytes, cells[i].data, cells[i].size);
    g->rows++;
}

bool
peer_gather_full(const struct peer_gather *g)
{
    return g->cells.size + g->bytes.size >= PEER_BLOCK_BYTES;
}

static struct peer_block *
make_gathered_block(const struct peer_gather *g)
{
    struct peer_block *block;
    char *to;

    if (g->cells.failed || g->bytes.failed)
        return NULL;
    block = mem_alloc(sizeof(*block) + g->cells.size + g->bytes.size);
    if (!block)
        return NULL;
    memset(block, 0, sizeof(*block));
    block->row_count = g->rows;
    block->bytes = g->bytes.size;
    if (g->cells.size > 0)
        memcpy(block->cells, g->cells.data, g->cells.size);
    to = (char *)block->cells + g->cells.size;
    if (g->bytes.size > 0)
        memcpy(to, g->bytes.data, g->bytes.size);
    /* Spans pointed into packets; now they point into the block. */
    for (size_t i = 0; i < g->cells.size / sizeof(struct span); i++) {
        if (!block->cells[i].data)
            continue;
        block->cells[i].data = to;
        to += block->cells[i].size;
    }
    return block;
}

int
peer_gather_take(struct peer_gather *g, struct peer_block **block)
{
    *block = NULL;
    if (g->rows == 0)
        return 0;
    *block = make_gathered_block(g);
    /* A buffer that once held a huge row is not kept for all time. */
    if (g->bytes.failed || g->cells.failed || g->bytes.capacity > KEPT) {
        peer_gather_fini(g);
        peer_gather_init(g);
    } else {
        buffer_clear(&g->cells);
        buffer_clear(&g->bytes);
        g->rows = 0;
    }
    return *block ? 0 : -1;
}
