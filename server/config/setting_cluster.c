/* setting_cluster.c - the keys of [cluster]. */
#include <string.h>

#include "config.h"
#include "errors.h"
#include "setting_value.h"

/* The name is part of keys in etcd, and of the cluster's key. */
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

/* http://HOST:PORT or https://HOST:PORT, with no path. */
static bool
is_endpoint(const char *text, size_t size)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyz"
                                  "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-:[]";
    char host[CONFIG_ENDPOINTS_MAX + 1];
    size_t scheme = strncmp(text, "http://", 7) == 0    ? 7
                    : strncmp(text, "https://", 8) == 0 ? 8
                                                        : 0;
    const char *colon;
    uint32_t port;

    if (scheme == 0 || size <= scheme || size - scheme >= sizeof(host))
        return false;
    memcpy(host, text + scheme, size - scheme);
    host[size - scheme] = '\0';
    colon = strrchr(host, ':');
    return !host[strspn(host, allowed)] && colon && colon > host &&
           setting_number(colon + 1, 1, UINT16_MAX, &port) == 0;
}

int
setting_set_etcd(struct config *c, const char *value, struct error *err)
{
    const char *at = value;
    size_t count = 0;
    bool right = strlen(value) <= CONFIG_ENDPOINTS_MAX;

    while (right) {
        size_t size = strcspn(at, ", \t");

        right = is_endpoint(at, size) && ++count <= CONFIG_ENDPOINTS;
        at += size;
        at += strspn(at, " \t");
        if (*at == '\0')
            break;
        right = right && *at == ',';
        at += *at != '\0';
        at += strspn(at, " \t");
    }
    if (!right)
        return setting_wrong(err,
                             "must be at most %d of http://HOST:PORT or "
                             "https://HOST:PORT, such as "
                             "http://127.0.0.1:2379, with commas between",
                             CONFIG_ENDPOINTS);
    memcpy(c->cluster.etcd.endpoints, value, strlen(value) + 1);
    return 0;
}

int
setting_set_etcd_ttl(struct config *c, const char *value, struct error *err)
{
    if (setting_number(value, CONFIG_TTL_MIN_S, CONFIG_TTL_MAX_S,
                       &c->cluster.etcd.ttl_s) != 0)
        return setting_wrong(err, "must be a number of seconds from %d to %d",
                             CONFIG_TTL_MIN_S, CONFIG_TTL_MAX_S);
    return 0;
}

int
setting_set_etcd_cacert(struct config *c, const char *value, struct error *err)
{
    return setting_path(c->cluster.etcd.cacert, CONFIG_CLUSTER_PATH - 1, value,
                        err);
}

int
setting_set_etcd_cert(struct config *c, const char *value, struct error *err)
{
    return setting_path(c->cluster.etcd.cert, CONFIG_CLUSTER_PATH - 1, value,
                        err);
}

int
setting_set_etcd_key(struct config *c, const char *value, struct error *err)
{
    return setting_path(c->cluster.etcd.key, CONFIG_CLUSTER_PATH - 1, value,
                        err);
}

static int
set_word(char *out, const char *value, struct error *err)
{
    size_t size = strlen(value);

    if (size == 0 || size > CONFIG_SECRET_MAX)
        return setting_wrong(err, "must be 1 to %d bytes", CONFIG_SECRET_MAX);
    memcpy(out, value, size + 1);
    return 0;
}

int
setting_set_etcd_user(struct config *c, const char *value, struct error *err)
{
    return set_word(c->cluster.etcd.user, value, err);
}

int
setting_set_etcd_password(struct config *c, const char *value,
                          struct error *err)
{
    return set_word(c->cluster.etcd.password, value, err);
}

static const char *
hidden(const char *secret)
{
    return *secret ? "(not shown)" : "";
}

void
setting_print_cluster(const struct config *c, FILE *out)
{
    const struct config_cluster *cluster = &c->cluster;
    const struct config_etcd *etcd = &cluster->etcd;

    fprintf(out,
            "cluster.name=%s\ncluster.secret=%s\ncluster.secret_file=%s\n"
            "cluster.connect_timeout=%u\ncluster.role=%s\n",
            cluster->name, hidden(cluster->secret), cluster->secret_file,
            cluster->connect_timeout_s,
            cluster->role == PEER_BACKEND ? "backend" : "compute_node");
    fprintf(out,
            "cluster.etcd=%s\ncluster.etcd_ttl=%u\ncluster.etcd_cacert=%s\n"
            "cluster.etcd_cert=%s\ncluster.etcd_key=%s\n"
            "cluster.etcd_user=%s\ncluster.etcd_password=%s\n",
            etcd->endpoints, etcd->ttl_s, etcd->cacert, etcd->cert, etcd->key,
            etcd->user, hidden(etcd->password));
}
