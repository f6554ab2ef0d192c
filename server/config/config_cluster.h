/*
 * config_cluster.h - [cluster] and [peer N] of the configuration file.
 *
 * One file serves all nodes: each finds itself among the peers by its id.  The
 * keys of [cluster] are rows of setting.h's table; config.c calls the rest.
 */
#ifndef HW_CONFIG_CLUSTER_H
#define HW_CONFIG_CLUSTER_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "peer_key.h"
#include "peers.h"

struct config;
struct config_faults;
struct error;

enum {
    CONFIG_SECRET_MAX = 160, /* bytes; what a line has room for */
    CONFIG_CLUSTER_PATH = 1024,
    CONFIG_CONNECT_S = 1,
    CONFIG_CONNECT_MAX_S = 60,
    CONFIG_ENDPOINTS = 8,       /* of etcd */
    CONFIG_ENDPOINTS_MAX = 190, /* bytes of all, as a line has them */
    CONFIG_TTL_S = 10,          /* of a node's entry in etcd */
    CONFIG_TTL_MIN_S = 3,
    CONFIG_TTL_MAX_S = 600
};

struct config_etcd {
    char endpoints[CONFIG_ENDPOINTS_MAX + 1]; /* "URL, URL"; "" none */
    char cacert[CONFIG_CLUSTER_PATH], cert[CONFIG_CLUSTER_PATH],
        key[CONFIG_CLUSTER_PATH];
    char user[CONFIG_SECRET_MAX + 1], password[CONFIG_SECRET_MAX + 1];
    uint32_t ttl_s;
};

struct config_peer {
    uint32_t id;
    char address[INET6_ADDRSTRLEN]; /* as inet_ntop has it */
    uint16_t port;
    enum peer_role role;
    bool address_told, role_told;
    unsigned line; /* of its head */
};

struct config_cluster {
    char name[PEER_CLUSTER_MAX + 1];
    char secret[CONFIG_SECRET_MAX + 1]; /* "" none; never shown */
    char secret_file[CONFIG_CLUSTER_PATH];
    uint32_t connect_timeout_s;
    enum peer_role role; /* this node's */
    struct config_etcd etcd;
    /* Ascending by id once read; owned. */
    struct config_peer *peers;
    size_t peer_count, peer_room;
};

void config_cluster_defaults(struct config_cluster *cluster);
void config_cluster_fini(struct config_cluster *cluster); /* zeroed is fine */

/* A section [peer NAME] as it is read: its head, a key, its end.  -1 with *err,
 * which does not contain the line number. */
int config_peer_begin(struct config_peer *peer, const char *name, unsigned line,
                      struct error *err);
int config_peer_key(struct config_peer *peer, const char *key,
                    const char *value, struct error *err);
int config_peer_end(struct config_cluster *cluster,
                    const struct config_peer *peer, struct error *err);

/* After the whole file, called name, was read: sorts the peers and reports
 * duplicates. */
void config_peers_check(struct config_cluster *cluster, const char *name,
                        struct config_faults *faults);
/* After this node's id and address are known: reads the secret's file, and
 * finds this node among the peers, which gives its address and role. */
void config_cluster_complete(struct config *config, const char *name,
                             struct config_faults *faults);

/* That node's section; NULL: it has none. */
const struct config_peer *config_find_peer(const struct config_cluster *cluster,
                                           uint64_t id);
/* This node's, likewise. */
const struct config_peer *config_own_peer(const struct config *config);

/* Takes from's peers and secret, for a reload; from loses them. */
void config_cluster_take(struct config *config, struct config *from);

#endif
