/* setting_cluster.c - the keys of [cluster]. */
#include <string.h>

#include "config.h"
#include "errors.h"
#include "setting_value.h"

/* It is part of names in etcd, and of the cluster's key. */
int
setting_set_cluster_name(struct config *c, const char *value, struct error *err)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyz"
                                  "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
    size_t size = strlen(value);

    if (size == 0 || size > PEER_CLUSTER_MAX || value[strspn(value, allowed)])
        return setting_wrong(
            err, "must be 1 to %d letters, digits, '_', '.' and '-'",
            PEER_CLUSTER_MAX);
    memcpy(c->cluster.name, value, size + 1);
    return 0;
}

int
setting_secret(const char *value, char *out, struct error *err)
{
    size_t size = strlen(value);
    bool fits = size >= PEER_SECRET_MIN && size <= CONFIG_SECRET_MAX;

    for (size_t i = 0; fits && i < size; i++)
        fits = value[i] > ' ' && value[i] < 0x7f;
    if (!fits)
        return setting_wrong(err,
                             "must be %d to %d letters, digits and signs "
                             "without blanks (heapwire-passwd "
                             "--cluster-secret prints one)",
                             PEER_SECRET_MIN, CONFIG_SECRET_MAX);
    memcpy(out, value, size + 1);
    return 0;
}

int
setting_set_secret(struct config *c, const char *value, struct error *err)
{
    return setting_secret(value, c->cluster.secret, err);
}

int
setting_set_secret_file(struct config *c, const char *value, struct error *err)
{
    return setting_path(c->cluster.secret_file,
                        sizeof(c->cluster.secret_file) - 1, value, err);
}

int
setting_set_connect_timeout(struct config *c, const char *value,
                            struct error *err)
{
    if (setting_number(value, 1, CONFIG_CONNECT_MAX_S,
                       &c->cluster.connect_timeout_s) != 0)
        return setting_wrong(err, "must be a number of seconds from 1 to %d",
                             CONFIG_CONNECT_MAX_S);
    return 0;
}

int
setting_role(const char *value, enum peer_role *out, struct error *err)
{
    bool backend = strcmp(value, "backend") == 0;

    if (!backend && strcmp(value, "compute_node") != 0)
        return setting_wrong(err, "must be backend or compute_node");
    *out = backend ? PEER_BACKEND : PEER_COMPUTE_NODE;
    return 0;
}

int
setting_set_role(struct config *c, const char *value, struct error *err)
{
    return setting_role(value, &c->cluster.role, err);
}

void
setting_print_cluster(const struct config *c, FILE *out)
{
    const struct config_cluster *cluster = &c->cluster;

    fprintf(out,
            "cluster.name=%s\ncluster.secret=%s\ncluster.secret_file=%s\n"
            "cluster.connect_timeout=%u\ncluster.role=%s\n",
            cluster->name, *cluster->secret ? "(not shown)" : "",
            cluster->secret_file, cluster->connect_timeout_s,
            cluster->role == PEER_BACKEND ? "backend" : "compute_node");
}
