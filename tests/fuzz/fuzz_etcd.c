/*
 * fuzz_etcd.c - any bytes as what etcd answers.
 *
 * The first byte says to which question, or that they are what a node has
 * written under its key, which reaches us as base64.  A node that is taken
 * over can be written to etcd again, and is then read as the same.
 */
#include <cjson/cJSON.h>
#include <netinet/in.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#include "address.h"
#include "buffer.h"
#include "errors.h"
#include "etcd_nodes.h"
#include "etcd_wire.h"
#include "fuzz_target.h"

enum { LOGIN, LEASE, KEEPALIVE, PUT, PAGE, WATCH, FAILURE, VALUE, KINDS };
enum { ID = 10002, TEXT_MAX = 1 << 16 };

static const char cluster[] = "east";

/* ---- nodes ---- */

static void
check_node(const struct etcd_node *node)
{
    char address[INET6_ADDRSTRLEN];

    memcpy(address, node->member.address, sizeof(address));
    if (!memchr(address, 0, sizeof(address)) ||
        address_canonical(address, sizeof(address)) != 0 ||
        strcmp(address, node->member.address) != 0 ||
        !address_is_reachable(address, node->member.port) ||
        node->member.id == 0 || node->member.id > UINT32_MAX ||
        node->created < 0 || node->modified < 0 || node->lease < 0)
        abort();
}

static const char *
text_at(const cJSON *object, const char *name)
{
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItem(object, name));

    if (!text)
        abort();
    return text;
}

/* As etcd would answer after what is asked was put. */
static void
put_page(struct buffer *out, const char *asked)
{
    cJSON *json = cJSON_Parse(asked);
    const cJSON *put = cJSON_GetObjectItem(
        cJSON_GetArrayItem(cJSON_GetObjectItem(json, "success"), 0),
        "request_put");

    buffer_format(out,
                  "{\"header\":{\"revision\":\"9\"},\"kvs\":[{\"key\":\"%s\","
                  "\"value\":\"%s\",\"lease\":\"%s\"}]}",
                  text_at(put, "key"), text_at(put, "value"),
                  text_at(put, "lease"));
    cJSON_Delete(json);
}

static void
check_node_round_trip(const struct etcd_node *node)
{
    struct etcd_nodes nodes = {.count = 0};
    const struct etcd_node *again;
    struct etcd_page page;
    struct buffer asked, answer;
    struct error err;

    buffer_init(&asked, ETCD_REQUEST_MAX);
    buffer_init(&answer, TEXT_MAX);
    etcd_ask_put(&asked, cluster, node, node->lease, node->modified);
    if (asked.failed)
        abort();
    put_page(&answer, asked.data);
    if (etcd_read_page((struct span){answer.data, answer.size}, cluster, &nodes,
                       &page, &err) != 0 ||
        nodes.refused > 0)
        abort();
    again = etcd_nodes_find(&nodes, node->member.id);
    if (!again || !member_is_same(&node->member, &again->member) ||
        memcmp(node->incarnation, again->incarnation, PEER_INCARNATION) != 0 ||
        node->lease != again->lease)
        abort();
    etcd_nodes_fini(&nodes);
    buffer_fini(&asked);
    buffer_fini(&answer);
}

static void
check_nodes(const struct etcd_nodes *nodes)
{
    if (nodes->count > PEERS_MAX)
        abort();
    for (size_t i = 0; i < nodes->count; i++) {
        if (i > 0 && nodes->items[i].member.id <= nodes->items[i - 1].member.id)
            abort();
        check_node(&nodes->items[i]);
        if (i < 4)
            check_node_round_trip(&nodes->items[i]);
    }
}

/* ---- answers ---- */

static void
read_put(struct span answer)
{
    struct etcd_node holder = {.created = 0};
    struct error err;
    bool done = true;

    if (etcd_read_put(answer, cluster, ID, &done, &holder, &err) == 0 &&
        !done && holder.member.id != 0) {
        if (holder.member.id != ID)
            abort();
        check_node(&holder);
    }
}

static void
read_page(struct span answer)
{
    struct etcd_nodes nodes = {.count = 0};
    struct etcd_page page = {.revision = 0};
    struct error err;

    if (etcd_read_page(answer, cluster, &nodes, &page, &err) == 0) {
        if (page.revision <= 0 || page.last_size >= sizeof(page.last) ||
            (page.more && page.last_size == 0))
            abort();
        check_nodes(&nodes);
    }
    etcd_nodes_fini(&nodes);
}

static void
read_watch(struct span answer)
{
    struct etcd_nodes nodes = {.count = 0};
    int64_t revision = 5;
    struct error err;
    size_t changes;

    if (etcd_read_watch(answer, cluster, &nodes, &changes, &revision, &err) ==
        0) {
        if (changes == 0 ? revision != 5 : revision <= 0)
            abort();
        check_nodes(&nodes);
    }
    etcd_nodes_fini(&nodes);
}

static void
read_value(struct span value)
{
    static const char key[] = "/heapwire/east/nodes/10002";
    unsigned char base64[(sizeof(key) + 2) / 3 * 4 + 1];
    struct buffer answer;
    char *place;

    buffer_init(&answer, TEXT_MAX);
    EVP_EncodeBlock(base64, (const unsigned char *)key, sizeof(key) - 1);
    buffer_format(&answer,
                  "{\"header\":{\"revision\":\"7\"},\"kvs\":[{\"key\":\"%s\","
                  "\"mod_revision\":\"6\",\"value\":\"",
                  (const char *)base64);
    place = buffer_reserve(&answer, (value.size + 2) / 3 * 4 + 1);
    if (place) {
        buffer_claim(&answer,
                     (size_t)EVP_EncodeBlock((unsigned char *)place,
                                             (const unsigned char *)value.data,
                                             (int)value.size));
        buffer_text(&answer, "\"}]}");
        read_page((struct span){answer.data, answer.size});
    }
    buffer_fini(&answer);
}

static void
check(int kind, struct span answer)
{
    char token[ETCD_TOKEN_MAX + 1] = "";
    struct error err = {.code = 0};
    int64_t lease = 0;
    bool alive;

    if (kind == LOGIN) {
        if (etcd_read_login(answer, token, &err) == 0 &&
            (!*token || strpbrk(token, "\r\n")))
            abort();
    } else if (kind == LEASE) {
        if (etcd_read_lease(answer, &lease, &err) == 0 && lease <= 0)
            abort();
    } else if (kind == KEEPALIVE) {
        (void)etcd_read_keepalive(answer, &alive, &err);
    } else if (kind == PUT) {
        read_put(answer);
    } else if (kind == PAGE) {
        read_page(answer);
    } else if (kind == WATCH) {
        read_watch(answer);
    } else if (kind == VALUE) {
        read_value(answer);
    } else {
        etcd_read_failure(answer, 500, &err);
        if (strlen(err.text) == 0)
            abort();
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static bool prepared;
    char *bytes;

    if (size == 0)
        return 0;
    if (!prepared)
        etcd_wire_prepare();
    prepared = true;
    size--;
    bytes = malloc(size + !size); /* exact, for the sanitizers */
    if (!bytes)
        return 0;
    memcpy(bytes, data + 1, size);
    check(data[0] % KINDS, (struct span){bytes, size});
    free(bytes);
    return 0;
}
