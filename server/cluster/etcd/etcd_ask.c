/*
 * etcd_ask.c - requests to etcd: see etcd_wire.h.
 *
 * The gateway takes protobuf as JSON: bytes are base64, 64-bit numbers are
 * strings, and zero or empty fields are left out.  The texts are short and of
 * known characters, so they are printed; only the login, whose password may
 * have any, goes through cJSON.
 */
#include <cjson/cJSON.h>
#include <inttypes.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>

#include "buffer.h"
#include "etcd_nodes.h"
#include "etcd_wire.h"

enum { LOGIN_MAX = 64 + 2 * (2 * ETCD_PASSWORD_MAX + 1) };

static void
add_base64(struct buffer *out, const void *data, size_t size)
{
    char *at = buffer_reserve(out, (size + 2) / 3 * 4 + 1);

    if (at)
        buffer_claim(
            out, (size_t)EVP_EncodeBlock((unsigned char *)at, data, (int)size));
}

/* Adds the prefix of all nodes' keys; end: the first key behind them. */
static void
add_prefix(struct buffer *out, const char *cluster, bool end)
{
    char key[ETCD_KEY_MAX];
    int size = snprintf(key, sizeof(key), "/heapwire/%s/nodes%c", cluster,
                        end ? '/' + 1 : '/');

    add_base64(out, key, (size_t)size);
}

static void
append_node_key(struct buffer *out, const char *cluster, uint64_t id)
{
    char key[ETCD_KEY_MAX];
    int size =
        snprintf(key, sizeof(key), "/heapwire/%s/nodes/%" PRIu64, cluster, id);

    add_base64(out, key, (size_t)size);
}

static void
add_value(struct buffer *out, const struct etcd_node *node)
{
    char value[ETCD_VALUE_MAX], hex[2 * PEER_INCARNATION + 1];
    int size;

    for (size_t i = 0; i < PEER_INCARNATION; i++)
        snprintf(hex + 2 * i, 3, "%02x", node->incarnation[i]);
    size = snprintf(
        value, sizeof(value),
        "{\"id\":%" PRIu64 ",\"address\":\"%s\",\"port\":%u,"
        "\"role\":\"%s\",\"incarnation\":\"%s\"}",
        node->member.id, node->member.address, node->member.port,
        node->member.role == PEER_BACKEND ? "backend" : "compute_node", hex);
    add_base64(out, value, (size_t)size);
}

void
etcd_ask_login(struct buffer *out, const char *user, const char *password)
{
    cJSON *body = cJSON_CreateObject(), *secret = NULL;
    char text[LOGIN_MAX];

    if (cJSON_AddStringToObject(body, "name", user))
        secret = cJSON_AddStringToObject(body, "password", password);
    if (secret && cJSON_PrintPreallocated(body, text, sizeof(text), false))
        buffer_text(out, text);
    else
        out->failed = true;
    if (secret)
        explicit_bzero(secret->valuestring, strlen(password));
    explicit_bzero(text, sizeof(text));
    cJSON_Delete(body);
}

void
etcd_ask_lease(struct buffer *out, unsigned ttl_s)
{
    buffer_format(out, "{\"TTL\":\"%u\"}", ttl_s);
}

void
etcd_ask_keepalive(struct buffer *out, int64_t lease)
{
    buffer_format(out, "{\"ID\":\"%" PRId64 "\"}", lease);
}

void
etcd_ask_put(struct buffer *out, const char *cluster,
             const struct etcd_node *node, int64_t lease, int64_t modified)
{
    uint64_t id = node->member.id;

    /* A transaction: if the key still has that revision, put it; else read it.
     */
    buffer_text(out, "{\"compare\":[{\"target\":\"MOD\",\"result\":\"EQUAL\","
                     "\"key\":\"");
    append_node_key(out, cluster, id);
    buffer_format(out, "\",\"mod_revision\":\"%" PRId64 "\"}],", modified);
    buffer_text(out, "\"success\":[{\"request_put\":{\"key\":\"");
    append_node_key(out, cluster, id);
    buffer_text(out, "\",\"value\":\"");
    add_value(out, node);
    buffer_format(out, "\",\"lease\":\"%" PRId64 "\"}}],", lease);
    buffer_text(out, "\"failure\":[{\"request_range\":{\"key\":\"");
    append_node_key(out, cluster, id);
    buffer_text(out, "\"}}]}");
}

void
etcd_ask_page(struct buffer *out, const char *cluster, struct span after,
              int64_t revision)
{
    char next[ETCD_KEY_MAX + 1] = "";

    buffer_text(out, "{\"key\":\"");
    if (after.size > 0 && after.size < sizeof(next)) {
        /* and its NUL: the next possible key */
        memcpy(next, after.data, after.size);
        add_base64(out, next, after.size + 1);
    } else {
        add_prefix(out, cluster, false);
    }
    buffer_text(out, "\",\"range_end\":\"");
    add_prefix(out, cluster, true);
    buffer_format(out, "\",\"limit\":\"%d\",\"revision\":\"%" PRId64 "\"}",
                  ETCD_PAGE, revision);
}

void
etcd_ask_watch(struct buffer *out, const char *cluster, int64_t revision)
{
    buffer_text(out, "{\"create_request\":{\"key\":\"");
    add_prefix(out, cluster, false);
    buffer_text(out, "\",\"range_end\":\"");
    add_prefix(out, cluster, true);
    buffer_format(out, "\",\"start_revision\":\"%" PRId64 "\"}}", revision);
}
