/*
 * config_cluster.c - see config.h.
 *
 * One file serves all nodes of a cluster.  Peers are collected as they come,
 * then sorted by id: so duplicates are neighbours, a peer is found by
 * bisection, and a file of PEERS_MAX sections (thousands) is checked in n log n
 * steps.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "address.h"
#include "errors.h"
#include "memory.h"
#include "setting.h"

void
config_cluster_defaults(struct config_cluster *cluster)
{
    memset(cluster, 0, sizeof(*cluster));
    memcpy(cluster->name, "heapwire", sizeof("heapwire"));
    cluster->connect_timeout_s = CONFIG_CONNECT_S;
    cluster->links_max = CONFIG_LINKS;
    cluster->role = PEER_BACKEND;
    cluster->etcd.ttl_s = CONFIG_TTL_S;
}

void
config_cluster_fini(struct config_cluster *cluster)
{
    mem_free(cluster->peers);
    explicit_bzero(cluster->secret, sizeof(cluster->secret));
    explicit_bzero(cluster->etcd.password, sizeof(cluster->etcd.password));
    cluster->peers = NULL;
    cluster->peer_count = cluster->peer_capacity = 0;
}

/* ---- sections ---- */

int
config_peer_begin(struct config_peer *peer, const char *name, unsigned line,
                  struct error *err)
{
    memset(peer, 0, sizeof(*peer));
    peer->line = line;
    if (setting_number(name, 1, UINT32_MAX, &peer->id) == 0)
        return 0;
    return setting_wrong(err,
                         "[peer %s]: a peer's name is its node's id, a "
                         "number from 1 to %u",
                         name, UINT32_MAX);
}

static int
set_peer_address(struct config_peer *peer, const char *value, struct error *err)
{
    struct config_address address = {0};

    if (peer->address_set)
        return setting_wrong(err, "'address' is given twice");
    peer->address_set = true;
    if (setting_address(value, &address) != 0)
        return setting_wrong(err,
                             "address = %s: must be ADDRESS:PORT such as "
                             "10.0.0.2:%d or [fd00::2]:%d; no name is looked "
                             "up",
                             value, CONFIG_DEFAULT_PORT, CONFIG_DEFAULT_PORT);
    if (!address_is_reachable(address.text, address.port))
        return setting_wrong(err,
                             "address = %s: must be that node's own address "
                             "and port, which others can connect to",
                             value);
    memcpy(peer->address, address.text, sizeof(peer->address));
    peer->port = address.port;
    return 0;
}

int
config_peer_key(struct config_peer *peer, const char *key, const char *value,
                struct error *err)
{
    int role;

    if (strcmp(key, "address") == 0)
        return set_peer_address(peer, value, err);
    if (strcmp(key, "role") != 0)
        return setting_wrong(
            err, "unknown key '%s' in [peer %u] (allowed: address, role)", key,
            peer->id);
    if (peer->role_set)
        return setting_wrong(err, "'role' is given twice");
    peer->role_set = true;
    role = setting_word(setting_roles, value);
    if (role < 0)
        return setting_wrong(err, "role = %s: must be backend or compute_node",
                             value);
    peer->role = (enum peer_role)role;
    return 0;
}

int
config_peer_end(struct config_cluster *cluster, const struct config_peer *peer,
                struct error *err)
{
    size_t room = cluster->peer_capacity ? 2 * cluster->peer_capacity : 16;
    struct config_peer *more;

    if (!peer->address_set)
        return setting_wrong(err, "[peer %u] has no line 'address = ...'",
                             peer->id);
    /* Its address was faulty: the section counts as read. */
    if (!*peer->address)
        return 0; /* already reported */
    if (cluster->peer_count == PEERS_MAX)
        return setting_wrong(err,
                             "[peer %u]: there are more than the %d nodes that "
                             "a cluster may have",
                             peer->id, PEERS_MAX);
    /* Doubles its room, since the number of sections is not known before. */
    if (cluster->peer_count == cluster->peer_capacity) {
        more = mem_realloc(cluster->peers, room * sizeof(*more));
        if (!more) {
            error_memory(err, "the peers");
            return -1;
        }
        cluster->peers = more;
        cluster->peer_capacity = room;
    }
    cluster->peers[cluster->peer_count++] = *peer;
    return 0;
}

/* ---- the whole file ---- */

/* By id, then by line. */
static int
compare_config_peers_by_id(const void *a, const void *b)
{
    const struct config_peer *x = a, *y = b;

    if (x->id != y->id)
        return x->id < y->id ? -1 : 1;
    return (x->line > y->line) - (x->line < y->line);
}

static int
compare_id_alone(const void *a, const void *b)
{
    const struct config_peer *x = a, *y = b;

    return (x->id > y->id) - (x->id < y->id);
}

static int
compare_config_peers_by_address(const void *a, const void *b)
{
    const struct config_peer *x = *(const struct config_peer *const *)a,
                             *y = *(const struct config_peer *const *)b;
    int order = strcmp(x->address, y->address);

    if (order)
        return order;
    if (x->port != y->port)
        return x->port < y->port ? -1 : 1;
    return (x->line > y->line) - (x->line < y->line);
}

static void
check_peer_addresses(const struct config_cluster *cluster, const char *name,
                     struct config_faults *faults)
{
    const struct config_peer **by_endpoint =
        mem_zalloc(cluster->peer_count, sizeof(*by_endpoint));

    if (!by_endpoint) {
        config_fault(faults, name, 0, "no memory for its peers");
        return;
    }
    for (size_t i = 0; i < cluster->peer_count; i++)
        by_endpoint[i] = &cluster->peers[i];
    qsort(by_endpoint, cluster->peer_count, sizeof(*by_endpoint),
          compare_config_peers_by_address);
    for (size_t i = 1; i < cluster->peer_count; i++) {
        const struct config_peer *a = by_endpoint[i - 1], *b = by_endpoint[i];

        if (a->id != b->id && a->port == b->port &&
            strcmp(a->address, b->address) == 0)
            config_fault(faults, name, b->line,
                         "[peer %u] has the address of [peer %u] in line %u",
                         b->id, a->id, a->line);
    }
    mem_free(by_endpoint);
}

void
config_peers_check(struct config_cluster *cluster, const char *name,
                   struct config_faults *faults)
{
    if (cluster->peer_count == 0)
        return;
    qsort(cluster->peers, cluster->peer_count, sizeof(*cluster->peers),
          compare_config_peers_by_id);
    for (size_t i = 1; i < cluster->peer_count; i++) {
        const struct config_peer *a = &cluster->peers[i - 1], *b = a + 1;

        if (a->id == b->id)
            config_fault(faults, name, b->line,
                         "[peer %u] was given before, in line %u", b->id,
                         a->line);
    }
    check_peer_addresses(cluster, name, faults);
}

/* Reads the secret from the first line of secret_file.  No fault repeats it. */
static void
read_secret(struct config_cluster *cluster, struct config_faults *faults)
{
    struct buffer text;
    struct error err;
    bool readable;

    buffer_init(&text, CONFIG_SECRET_MAX + 2);
    if (config_read_file(cluster->secret_file, &text, &readable, &err) != 0) {
        config_fault(faults, cluster->secret_file, 0, "%s", err.text);
        goto out;
    }
    /* Editors end a file with a newline; it is not part of the secret. */
    while (text.size > 0 && strchr("\r\n", text.data[text.size - 1]))
        text.data[--text.size] = '\0';
    if (readable)
        config_fault(faults, cluster->secret_file, 0,
                     "holds the cluster's secret and can be read by "
                     "others " CONFIG_PRIVATE);
    else if (text.size == 0 || memchr(text.data, 0, text.size) ||
             setting_secret(text.data, cluster->secret, &err) != 0)
        config_fault(faults, cluster->secret_file, 0,
                     "the cluster's secret must be one line of %d to %d "
                     "letters, digits and signs without blanks "
                     "(heapwire-passwd --cluster-secret prints one)",
                     PEER_SECRET_MIN, CONFIG_SECRET_MAX);
out:
    buffer_wipe(&text);
}

/* A wildcard address listens on the peer's address, too. */
static bool
listens_on(const struct config_address *listen, const struct config_peer *peer)
{
    return !listen->none && listen->port == peer->port &&
           (strcmp(listen->text, peer->address) == 0 ||
            strcmp(listen->text, "0.0.0.0") == 0 ||
            strcmp(listen->text, "::") == 0);
}

const struct config_peer *
config_find_peer(const struct config_cluster *cluster, uint64_t id)
{
    struct config_peer key = {.id = (uint32_t)id};

    return cluster->peer_count == 0 || id > UINT32_MAX
               ? NULL
               : bsearch(&key, cluster->peers, cluster->peer_count, sizeof(key),
                         compare_id_alone);
}

const struct config_peer *
config_own_peer(const struct config *config)
{
    return config_find_peer(&config->cluster, config->node_id);
}

static void
apply_own_peer(struct config *config, const char *name,
               struct config_faults *faults)
{
    const struct config_peer *own = config_own_peer(config);
    char text[CONFIG_ADDRESS_TEXT];

    if (!own)
        return;
    config->cluster.role = own->role;
    if (!config->listen_given) {
        memcpy(config->listen.text, own->address, sizeof(own->address));
        config->listen.port = own->port;
        return;
    }
    if (listens_on(&config->listen, own))
        return;
    config_address_text(&config->listen, text, sizeof(text));
    config_fault(faults, name, own->line,
                 "[peer %u] is this node, which listens on %s: give both one "
                 "address, or leave 'listen' out",
                 own->id, text);
}

/* A node writes the address it listens on into etcd, for the others to connect
 * to, so it must be one that they can reach. */
static void
check_etcd(const struct config *config, const char *name,
           struct config_faults *faults)
{
    const struct config_etcd *etcd = &config->cluster.etcd;

    if (!*etcd->endpoints)
        return;
    if (!config_own_peer(config) &&
        (config->listen.none ||
         !address_is_reachable(config->listen.text, config->listen.port)))
        config_fault(
            faults, name, 0,
            "[cluster] etcd gives other nodes the address that this node "
            "listens on, which must be one address and port that they can "
            "connect to (listen = ..., or a section [peer %u])",
            config->node_id);
    if (!*etcd->user != !*etcd->password)
        config_fault(faults, name, 0,
                     "[cluster] etcd_user and etcd_password: both, or "
                     "neither");
    if (!*etcd->cert != !*etcd->key)
        config_fault(faults, name, 0,
                     "[cluster] etcd_cert and etcd_key: both, or neither");
}

static void
check_secret(struct config_cluster *cluster, const char *name,
             struct config_faults *faults)
{
    if (*cluster->secret && *cluster->secret_file)
        config_fault(
            faults, name, 0,
            "[cluster] has both secret and secret_file: give only one");
    else if (*cluster->secret_file)
        read_secret(cluster, faults);
    else if (!*cluster->secret && cluster->peer_count > 0)
        config_fault(faults, name, cluster->peers[0].line,
                     "[peer %u] needs a secret that all nodes share: "
                     "[cluster] secret = ..., or secret_file = ... "
                     "(heapwire-passwd --cluster-secret prints one)",
                     cluster->peers[0].id);
    else if (!*cluster->secret && *cluster->etcd.endpoints)
        config_fault(faults, name, 0,
                     "[cluster] etcd needs a secret that all nodes share: "
                     "secret = ..., or secret_file = ... (heapwire-passwd "
                     "--cluster-secret prints one)");
}

void
config_cluster_complete(struct config *config, const char *name,
                        struct config_faults *faults)
{
    check_secret(&config->cluster, name, faults);
    apply_own_peer(config, name, faults);
    check_etcd(config, name, faults);
}

void
config_cluster_take(struct config *config, struct config *from)
{
    struct config_cluster *to = &config->cluster, *with = &from->cluster;

    mem_free(to->peers);
    to->peers = with->peers;
    to->peer_count = with->peer_count;
    to->peer_capacity = with->peer_capacity;
    with->peers = NULL;
    with->peer_count = with->peer_capacity = 0;
}
