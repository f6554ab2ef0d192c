/* membership.c - see membership.h. */
#include "membership.h"

#include <string.h>

#include "config.h"
#include "errors.h"
#include "members.h"
#include "memory.h"
#include "peer_identity.h"

static struct member
member_of(const struct config_peer *peer)
{
    struct member member = {
        .id = peer->id, .port = peer->port, .role = peer->role};

    memcpy(member.address, peer->address, sizeof(member.address));
    return member;
}

/* What it listens on; port 0: it is asked over its own socket alone. */
static struct member
self_of(const struct config *config)
{
    struct member member = {.id = config->node_id,
                            .role = config->cluster.role};

    if (config->listen.none)
        return member;
    memcpy(member.address, config->listen.text, sizeof(member.address));
    member.port = config->listen.port;
    return member;
}

struct members *
membership_make(const struct config *config, struct error *err)
{
    const struct config_cluster *cluster = &config->cluster;
    struct member *items =
        mem_zalloc(cluster->peer_count + 1, sizeof(struct member));
    struct members *members;
    size_t count = 0;
    bool self = false;

    if (!items) {
        error_memory(err, "the members");
        return NULL;
    }
    for (size_t i = 0; i < cluster->peer_count; i++) {
        self = self || cluster->peers[i].id == config->node_id;
        items[count++] = member_of(&cluster->peers[i]);
    }
    if (!self)
        items[count++] = self_of(config);
    members = members_new(config->node_id, items, count, err);
    mem_free(items);
    return members;
}

int
membership_identity(const struct config *config,
                    const struct peer_identity *before,
                    struct peer_identity *out, struct error *err)
{
    struct peer_identity identity;

    if (peer_identity_make(&identity, config->cluster.name,
                           config->cluster.secret, config->node_id, err) != 0)
        return -1;
    if (before)
        memcpy(identity.incarnation, before->incarnation,
               sizeof(identity.incarnation));
    *out = identity;
    return 0;
}
