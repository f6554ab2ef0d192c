/*
 * cluster.c - see cluster.h.
 *
 * The table of nodes is replaced as a whole: the loop builds the next one,
 * swaps it under the lock, and then lets go of nodes that are gone or moved.  A
 * node that stays keeps its struct peer, and with it its links.  Statements of
 * any thread see copies of rows, made under the lock.  A change costs n log n
 * for n nodes; a question finds a node by bisection.
 */
#include "cluster.h"

#include <pthread.h>
#include <stddef.h>
#include <string.h>

#include "address.h"
#include "clock.h"
#include "errors.h"
#include "fanout.h"
#include "log.h"
#include "etcd_nodes.h"
#include "memory.h"
#include "notifications.h"

struct cluster {
    pthread_mutex_t lock; /* guards fan-outs, rows of peers, and the table */
    struct fanout_home home;
    struct peer_pool pool;
    struct notification notification;
    struct sql_peers statement_peers;
    char *socket;
    /* Ascending by id; only the loop changes it, under the lock. */
    struct peer **peers;
    size_t count;
    bool many; /* more than stay connected; it was logged */
    struct peer_row left[PEERS_LEFT_MAX]; /* the newest last; under the lock */
    size_t left_count;
    /* The last error of this node's membership, under the lock; code 0 if
     * there is none. */
    struct error trouble;
    int64_t trouble_ms;
};

/* ---- where the others are ---- */

static struct peer_endpoint
member_peer_endpoint(const struct cluster *c, const struct member *member,
                     bool self)
{
    struct peer_endpoint endpoint = {.id = member->id, .port = member->port};

    memcpy(endpoint.address, member->address, sizeof(endpoint.address));
    if (self)
        endpoint.socket = c->socket;
    else
        endpoint.tls = !address_is_loopback(member->address);
    return endpoint;
}

static struct peer **
find_peer_slot(struct peer **peers, size_t count, uint64_t id)
{
    size_t low = 0, high = count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (peers[middle]->endpoint.id == id)
            return &peers[middle];
        if (peers[middle]->endpoint.id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

static struct peer *
find_cluster_peer(struct fanout_home *home, uint64_t id)
{
    struct cluster *c =
        (struct cluster *)((char *)home - offsetof(struct cluster, home));
    struct peer **slot = find_peer_slot(c->peers, c->count, id);

    return slot ? *slot : NULL;
}

/* Returns the known peer with one more reference, or a new one.  NULL: no
 * memory. */
static struct peer *
peer_for(struct cluster *c, const struct member *member, bool self)
{
    struct peer *known = find_cluster_peer(&c->home, member->id);
    struct peer_endpoint endpoint = member_peer_endpoint(c, member, self);
    struct error err;

    /* Another address is another node for all that was learned about it. */
    if (!known || known->known.self != self ||
        known->endpoint.port != endpoint.port ||
        strcmp(known->endpoint.address, endpoint.address) != 0)
        return peer_new(&c->pool, &endpoint, member->role, self, &err);
    known->references++;
    return known;
}

static void
drop_peers(struct peer **peers, size_t count)
{
    for (size_t i = 0; i < count; i++)
        peer_unref(peers[i]);
    mem_free(peers);
}

/* Called under the lock.  Drops rows of nodes that came back or left long ago.
 */
static void
drop_expired_peers(struct cluster *c, int64_t now_ms)
{
    size_t kept = 0;

    for (size_t i = 0; i < c->left_count; i++)
        if (!find_peer_slot(c->peers, c->count, c->left[i].id) &&
            now_ms - c->left[i].since_ms < PEERS_LEFT_MS)
            c->left[kept++] = c->left[i];
    c->left_count = kept;
}

/* Called under the lock.  Remembers which of the former nodes are gone. */
static void
remember_left(struct cluster *c, struct peer *const *before, size_t count)
{
    int64_t now_ms = clock_wall_ms();

    drop_expired_peers(c, now_ms);
    for (size_t i = 0; i < count; i++) {
        if (find_peer_slot(c->peers, c->count, before[i]->endpoint.id))
            continue;
        /* Full: the oldest makes room. */
        if (c->left_count == PEERS_LEFT_MAX)
            memmove(c->left, c->left + 1, --c->left_count * sizeof(c->left[0]));
        c->left[c->left_count] = before[i]->known;
        c->left[c->left_count].known = true;
        c->left[c->left_count].alive = false;
        c->left[c->left_count++].since_ms = now_ms;
    }
}

/* Closes the idle links of former nodes that are not among the new ones. */
static void
close_removed_peers(struct peer **before, size_t before_count,
                    struct peer **now, size_t now_count)
{
    for (size_t i = 0; i < before_count; i++) {
        struct peer **slot =
            find_peer_slot(now, now_count, before[i]->endpoint.id);

        if (!slot || *slot != before[i])
            peer_leave(before[i]);
    }
}

/* Beyond max_links, a node costs a login with each statement; the log says so
 * once. */
static void
log_many_nodes(struct cluster *c)
{
    bool many = c->count > c->pool.links_max;

    if (many && !c->many)
        log_line(
            "the cluster has %zu nodes, and %zu of them stay connected: each "
            "statement connects to the others again; max_links of [cluster], "
            "and the limit of descriptors (ulimit -n), say how many",
            c->count, c->pool.links_max);
    c->many = many;
}

static int
take_members(struct cluster *c, const struct members *members)
{
    struct peer **peers = mem_zalloc(members->count, sizeof(struct peer *));
    struct peer **before = c->peers;
    size_t before_count = c->count;

    if (!peers)
        return -1;
    for (size_t i = 0; i < members->count; i++) {
        const struct member *member = &members->items[i];

        peers[i] = peer_for(c, member, member->id == members->self);
        /* Nothing is changed yet: the former table stays. */
        if (!peers[i]) {
            drop_peers(peers, i);
            return -1;
        }
    }
    pthread_mutex_lock(&c->lock);
    c->peers = peers;
    c->count = members->count;
    for (size_t i = 0; i < c->count; i++)
        peers[i]->known.role = members->items[i].role;
    remember_left(c, before, before_count);
    pthread_mutex_unlock(&c->lock);
    /* The new table is in place, so nobody finds these nodes any more. */
    close_removed_peers(before, before_count, peers, members->count);
    drop_peers(before, before_count);
    log_many_nodes(c);
    return 0;
}

/* ---- what statements call ---- */

static size_t
list_cluster_peers(void *arg, struct peer_row *out, size_t max)
{
    struct cluster *c = arg;
    size_t count;

    pthread_mutex_lock(&c->lock);
    count = c->count;
    for (size_t i = 0; i < count && i < max; i++) {
        out[i] = c->peers[i]->known;
        /* This node's own row has the error of its membership. */
        if (out[i].self && c->trouble.code) {
            memcpy(out[i].last_error, c->trouble.text,
                   sizeof(out[i].last_error));
            out[i].last_error_ms = c->trouble_ms;
            out[i].troubled = true;
        }
    }
    pthread_mutex_unlock(&c->lock);
    return count;
}

static size_t
list_departed_peers(void *arg, struct peer_row *out)
{
    struct cluster *c = arg;
    size_t count;

    pthread_mutex_lock(&c->lock);
    drop_expired_peers(c, clock_wall_ms());
    count = c->left_count;
    memcpy(out, c->left, count * sizeof(*out));
    pthread_mutex_unlock(&c->lock);
    return count;
}

static struct peer_fanout *
ask_cluster_peers(void *arg, const struct peer_request *request,
                  struct error *err)
{
    struct cluster *c = arg;

    return fanout_ask(&c->home, request, err);
}

/* The loop's attention */

static void
wake_loop(struct fanout_home *home)
{
    struct cluster *c =
        (struct cluster *)((char *)home - offsetof(struct cluster, home));
    struct waker waker = notification_waker(&c->notification);

    waker.wake(waker.arg);
}

static void
on_cluster_notification(struct notification *notification)
{
    struct cluster *c =
        (struct cluster *)((char *)notification -
                           offsetof(struct cluster, notification));

    fanout_work(&c->home);
}

/* What server/ calls */

struct cluster *
cluster_start(uv_loop_t *loop, struct notification_queue *queue,
              const struct cluster_options *options, struct error *err)
{
    struct cluster *c = mem_zalloc(1, sizeof(*c));
    int rc;

    if (c)
        c->socket = mem_strdup(options->socket);
    if (!c || !c->socket) {
        error_memory(err, "the cluster");
        mem_free(c);
        mem_free(options->members);
        return NULL;
    }
    pthread_mutex_init(&c->lock, NULL);
    c->home = (struct fanout_home){.loop = loop,
                                   .lock = &c->lock,
                                   .seed = uv_hrtime() | 1,
                                   .wake = wake_loop,
                                   .find = find_cluster_peer};
    c->statement_peers = (struct sql_peers){.arg = c,
                                            .list = list_cluster_peers,
                                            .left = list_departed_peers,
                                            .ask = ask_cluster_peers,
                                            .take = fanout_take,
                                            .release = fanout_release};
    peer_gather_init(&c->home.gather);
    notification_init(&c->notification, queue, on_cluster_notification);
    rc = peer_pool_init(&c->pool, loop, &c->lock, &options->identity,
                        options->connect_timeout_ms, options->links_max, err);
    if (rc == 0 && (rc = take_members(c, options->members)) != 0)
        error_memory(err, "the members");
    mem_free(options->members);
    if (rc == 0)
        return c;
    cluster_free(c);
    return NULL;
}

const struct sql_peers *
cluster_peers(struct cluster *c)
{
    return &c->statement_peers;
}

void
cluster_set_members(struct cluster *c, struct members *members)
{
    if (take_members(c, members) != 0)
        log_fault("no memory for the members: they stay as they were");
    mem_free(members);
}

void
cluster_set_trouble(struct cluster *c, const struct error *trouble)
{
    pthread_mutex_lock(&c->lock);
    if (strcmp(c->trouble.text, trouble->text) != 0)
        c->trouble_ms = clock_wall_ms();
    c->trouble = *trouble;
    pthread_mutex_unlock(&c->lock);
}

void
cluster_set_identity(struct cluster *c, const struct peer_identity *identity)
{
    peer_pool_set_identity(&c->pool, identity);
}

void
cluster_stop(struct cluster *c)
{
    struct error why;

    error_set(&why, ER_SHUTDOWN, "Server shutdown in progress");
    fanout_stop(&c->home, &why);
    notification_cancel(&c->notification);
    peer_pool_stop(&c->pool);
}

void
cluster_free(struct cluster *c)
{
    if (!c)
        return;
    drop_peers(c->peers, c->count);
    peer_gather_fini(&c->home.gather);
    peer_pool_fini(&c->pool);
    pthread_mutex_destroy(&c->lock);
    mem_free(c->socket);
    mem_free(c);
}
