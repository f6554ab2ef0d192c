/*
 * daemon_cluster.c - see daemon.h.  Every node has this part: without [cluster]
 * it has one member, itself, and asks that through its own unix socket.
 */
#include "daemon.h"

#include "cluster.h"
#include "config.h"
#include "errors.h"
#include "keeper.h"
#include "log.h"
#include "peer_key.h"
#include "server.h"

int
daemon_cluster_identify(struct daemon_cluster *c, struct error *err)
{
    struct server *server = c->server;
    struct peer_prover prover = keeper_prover(server->keeper);
    struct peer_identity identity;

    if (peer_identity_make(&identity, &prover,
                           keeper_key_number(server->keeper),
                           c->config->node_id, err) != 0)
        return -1;
    server_set_identity(server, &identity);
    return 0;
}

/* Not a fault: a node may ask others without being asked. */
static void
log_missing_own_peer(const struct config *config)
{
    if (config->cluster.peer_count > 0 && !config_own_peer(config) &&
        !*config->cluster.etcd.endpoints)
        log_line("node %u, this one, has no [peer] section: others "
                 "know it only if they have one for it",
                 config->node_id);
}

int
daemon_cluster_start(struct daemon_cluster *c, struct error *err)
{
    struct server *server = c->server;
    struct error left_out;
    struct cluster_options options = {
        .identity = server->identity,
        .members = membership_make(c->config, NULL, &left_out, err),
        .socket = c->config->socket,
        .connect_timeout_ms = c->config->cluster.connect_timeout_s * 1000,
        .links_max = c->config->cluster.links_max};

    /* Links to nodes may not take the descriptors of clients. */
    if (options.links_max > server_spare_descriptors(server))
        options.links_max = server_spare_descriptors(server);
    if (options.members)
        c->cluster =
            cluster_start(server->main, &server->notifications, &options, err);
    if (!c->cluster)
        return -1;
    server->node.peers = cluster_peers(c->cluster);
    log_missing_own_peer(c->config);
    c->membership =
        membership_start(c->config, &server->identity, server->keeper,
                         c->cluster, &server->notifications, err);
    return c->membership ? 0 : -1;
}

void
daemon_cluster_reload(struct daemon_cluster *c, struct config *from)
{
    struct peer_identity identity = c->server->identity;

    config_cluster_take(c->config, from);
    identity.key_number = keeper_key_number(c->server->keeper);
    /* The same secret again keeps the links; another one makes them log in
     * again. */
    if (identity.key_number != c->server->identity.key_number) {
        server_set_identity(c->server, &identity);
        cluster_set_identity(c->cluster, &identity);
    }
    log_missing_own_peer(c->config);
    membership_refresh(c->membership);
}

void
daemon_cluster_stop(struct daemon_cluster *c)
{
    membership_stop(c->membership);
    c->membership = NULL;
    if (c->cluster)
        cluster_stop(c->cluster);
}
