/*
 * membership.c - see cluster.h.
 *
 * The configuration wins over etcd, and in etcd the earlier entry over the
 * later one: whoever can write to etcd can add nodes, but cannot put itself in
 * the place of one that is there.  A node that is left out is reported in this
 * node's row and in the log.  Sorting makes duplicates neighbours: n log n for
 * n nodes.
 */
#include "cluster.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "errors.h"
#include "etcd.h"
#include "log.h"
#include "etcd_nodes.h"
#include "memory.h"
#include "peer_key.h"
#include "notifications.h"

/* ---- one list of all ---- */

struct candidate {
    struct member member;
    int64_t since; /* etcd's create revision; 0: from the configuration */
};

struct merge {
    struct candidate *items;
    size_t count;
    size_t left_out;
    struct error trouble; /* why the first one was left out */
};

static struct member
member_of(const struct config_peer *peer)
{
    struct member member = {
        .id = peer->id, .port = peer->port, .role = peer->role};

    memcpy(member.address, peer->address, sizeof(member.address));
    return member;
}

/* This node by its own section, or by the address that it listens on.  Port 0:
 * it can be asked only over its own socket. */
static struct member
own_cluster_member(const struct config *config)
{
    const struct config_peer *own = config_own_peer(config);
    struct member member = {.id = config->node_id,
                            .role = config->cluster.role};

    if (own)
        return member_of(own);
    if (config->listen.none)
        return member;
    memcpy(member.address, config->listen.text, sizeof(member.address));
    member.port = config->listen.port;
    return member;
}

static bool
is_same_endpoint(const struct member *a, const struct member *b)
{
    return a->port == b->port && strcmp(a->address, b->address) == 0;
}

static void
leave_out_member(struct merge *merge, const struct member *member,
                 const char *why, const struct member *other)
{
    if (merge->left_out++ > 0)
        return;
    error_set(&merge->trouble, ER_UNKNOWN,
              "etcd's node %" PRIu64 " at %s:%u is left out: %s node %" PRIu64
              " at %s:%u",
              member->id, member->address, member->port, why, other->id,
              other->address, other->port);
}

static void
add_configured(struct merge *merge, const struct config *config)
{
    const struct config_cluster *cluster = &config->cluster;

    for (size_t i = 0; i < cluster->peer_count; i++)
        merge->items[merge->count++].member = member_of(&cluster->peers[i]);
    if (!config_own_peer(config))
        merge->items[merge->count++].member = own_cluster_member(config);
}

/* Adds those of etcd's nodes that the configuration does not have. */
static void
add_etcds(struct merge *merge, const struct config *config,
          const struct etcd_nodes *etcd)
{
    for (size_t i = 0; i < etcd->count; i++) {
        const struct etcd_node *node = &etcd->items[i];
        const struct config_peer *peer =
            config_find_peer(&config->cluster, node->member.id);
        struct member member;

        if (peer)
            member = member_of(peer);
        if (peer && peer->id != config->node_id &&
            !is_same_endpoint(&member, &node->member))
            leave_out_member(merge, &node->member, "the configuration has",
                             &member);
        if (peer || node->member.id == config->node_id)
            continue;
        merge->items[merge->count++] =
            (struct candidate){node->member, node->created};
    }
}

/* Orders by address, then the earlier entry first. */
static int
compare_candidates_by_address(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    int order = strcmp(x->member.address, y->member.address);

    if (order)
        return order;
    if (x->member.port != y->member.port)
        return x->member.port < y->member.port ? -1 : 1;
    if (x->since != y->since)
        return x->since < y->since ? -1 : 1;
    return (x->member.id > y->member.id) - (x->member.id < y->member.id);
}

/* Of several at one address, the earlier entry wins.  Two of the
 * configuration's at one address are left to members_new(), which reports them.
 */
static size_t
keep_first_comers(struct merge *merge, struct member *out)
{
    size_t kept = 0;

    qsort(merge->items, merge->count, sizeof(*merge->items),
          compare_candidates_by_address);
    for (size_t i = 0; i < merge->count; i++) {
        const struct candidate *c = &merge->items[i];

        if (kept == 0 || c->since == 0 ||
            !is_same_endpoint(&out[kept - 1], &c->member))
            out[kept++] = c->member;
        /* One that is only kept while etcd settles is no news. */
        else if (c->since != ETCD_PAST)
            leave_out_member(merge, &c->member, "that is the address of",
                             &out[kept - 1]);
    }
    return kept;
}

struct members *
membership_make(const struct config *config, const struct etcd_nodes *etcd,
                struct error *trouble, struct error *err)
{
    size_t max = config->cluster.peer_count + 1 + (etcd ? etcd->count : 0);
    struct merge merge = {.items = mem_zalloc(max, sizeof(*merge.items))};
    struct member *items = mem_zalloc(max, sizeof(*items));
    struct members *members = NULL;

    if (!items || !merge.items) {
        error_memory(err, "the members");
        goto out;
    }
    add_configured(&merge, config);
    if (etcd)
        add_etcds(&merge, config, etcd);
    members = members_new(config->node_id, items,
                          keep_first_comers(&merge, items), err);
    if (!members)
        goto out;
    if (merge.left_out > 1)
        error_set(trouble, ER_UNKNOWN, "%s; and so are %zu others",
                  merge.trouble.text, merge.left_out - 1);
    else
        *trouble = merge.trouble;
out:
    mem_free(merge.items);
    mem_free(items);
    return members;
}

/* ---- kept up to date ---- */

struct membership {
    const struct config *config;
    struct cluster *cluster;
    struct etcd *etcd; /* NULL: the configuration names no etcd */
    struct notification notification;
    char logged[ERROR_TEXT_MAX]; /* the last line about nodes that are left out
                                  */
};

/* Whoever may write to etcd can change this line, so each text is logged once.
 */
static void
log_membership_trouble(struct membership *m, const struct error *trouble)
{
    const char *text = trouble->code ? trouble->text : "";

    if (*text && strcmp(text, m->logged) != 0)
        log_ratelimited("%s", text);
    memcpy(m->logged, text, strlen(text) + 1);
}

static void
refresh_membership(struct membership *m)
{
    struct etcd_nodes nodes = {0};
    struct error trouble = {0}, left_out = {0}, err;
    struct members *members = NULL;

    if (!m->etcd || etcd_get(m->etcd, &nodes, &trouble, &err) == 0)
        members = membership_make(m->config, &nodes, &left_out, &err);
    etcd_nodes_fini(&nodes);
    if (!members) {
        log_membership_trouble(m, &err); /* the members stay as they were */
        return;
    }
    log_membership_trouble(m, &left_out);
    cluster_set_trouble(m->cluster, trouble.code ? &trouble : &left_out);
    cluster_set_members(m->cluster, members);
}

void
membership_refresh(struct membership *m)
{
    struct member self = own_cluster_member(m->config);

    if (m->etcd)
        etcd_set_self(m->etcd, &self);
    refresh_membership(m);
}

static void
on_membership_notification(struct notification *notification)
{
    refresh_membership(
        (struct membership *)((char *)notification -
                              offsetof(struct membership, notification)));
}

static int
follow_etcd(struct membership *m, const struct peer_identity *identity,
            struct keeper *keeper, struct error *err)
{
    const struct config_etcd *etcd = &m->config->cluster.etcd;
    struct etcd_options options = {.endpoints = etcd->endpoints,
                                   .cacert = etcd->cacert,
                                   .cert = etcd->cert,
                                   .key = etcd->key,
                                   .user = etcd->user,
                                   .keeper = keeper,
                                   .cluster = m->config->cluster.name,
                                   .ttl_s = etcd->ttl_s,
                                   .self.member = own_cluster_member(m->config),
                                   .waker =
                                       notification_waker(&m->notification)};

    memcpy(options.self.incarnation, identity->incarnation,
           sizeof(options.self.incarnation));
    m->etcd = etcd_start(&options, err);
    return m->etcd ? 0 : -1;
}

struct membership *
membership_start(const struct config *config,
                 const struct peer_identity *identity, struct keeper *keeper,
                 struct cluster *cluster, struct notification_queue *queue,
                 struct error *err)
{
    struct membership *m = mem_zalloc(1, sizeof(*m));

    if (!m) {
        error_memory(err, "the members");
        return NULL;
    }
    m->config = config;
    m->cluster = cluster;
    notification_init(&m->notification, queue, on_membership_notification);
    if (!*config->cluster.etcd.endpoints ||
        follow_etcd(m, identity, keeper, err) == 0)
        return m;
    mem_free(m);
    return NULL;
}

void
membership_stop(struct membership *m)
{
    if (!m)
        return;
    /* Joins the thread, after which nothing posts the notification. */
    etcd_stop(m->etcd);
    notification_cancel(&m->notification);
    mem_free(m);
}
