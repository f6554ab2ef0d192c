/*
 * etcd_wire.c - reads etcd's answers: see etcd_wire.h; etcd_ask.c writes the
 * requests.
 *
 * cJSON parses, under a ceiling of bytes and of values.  An answer that is not
 * etcd's ends the session; an entry that is not a node's is merely refused and
 * counts as missing, since anybody who may write to etcd could otherwise stop
 * the membership of all nodes.
 */
#include "etcd_wire.h"

#include <cjson/cJSON.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "address.h"
#include "errors.h"
#include "etcd_nodes.h"
#include "memory.h"

enum { TEXT_MAX = 200 }; /* bytes of etcd's texts in ours */

void
etcd_wire_prepare(void)
{
    cJSON_Hooks hooks = {mem_alloc, mem_free};

    cJSON_InitHooks(&hooks);
}

static int
set_etcd_answer_error(struct error *err, const char *what)
{
    error_set(err, ER_UNKNOWN, "etcd's answer is invalid: %s", what);
    return -1;
}

static cJSON *
find_answer_field(const cJSON *object, const char *name)
{
    return cJSON_GetObjectItemCaseSensitive(object, name);
}

/* cJSON takes some 80 bytes for each value, however short its text. */
static bool
is_crowded(struct span text)
{
    size_t values = 0;

    for (size_t i = 0; i < text.size; i++)
        values +=
            text.data[i] == ',' || text.data[i] == '[' || text.data[i] == '{';
    return values > ETCD_VALUES_MAX;
}

/* Parses one whole object with nothing behind it. */
static cJSON *
parse_etcd_json(struct span text, struct error *err)
{
    const char *end = NULL;
    cJSON *json = NULL;

    if (text.size <= ETCD_ANSWER_MAX && is_crowded(text)) {
        set_etcd_answer_error(err, "it has too many values");
        return NULL;
    }
    if (text.size <= ETCD_ANSWER_MAX)
        json = cJSON_ParseWithLengthOpts(text.data, text.size, &end, false);
    while (json && end < text.data + text.size && strchr(" \t\r\n", *end) &&
           *end)
        end++;
    if (json && cJSON_IsObject(json) && end == text.data + text.size)
        return json;
    cJSON_Delete(json);
    set_etcd_answer_error(err, "not a JSON object");
    return NULL;
}

/* Reads a number, which etcd writes as a string; a missing one is zero. */
static int
read_etcd_number(const cJSON *object, const char *name, int64_t *out)
{
    const cJSON *item = find_answer_field(object, name);
    const char *text = cJSON_GetStringValue(item);
    char *end;
    long long value;

    *out = 0;
    if (!item)
        return 0;
    /* Below 9e15 a double holds integers exactly. */
    if (cJSON_IsNumber(item) && item->valuedouble >= 0 &&
        item->valuedouble < 9e15) {
        *out = (int64_t)item->valuedouble;
        return (double)*out == item->valuedouble ? 0 : -1;
    }
    if (!text || strlen(text) > 19 || text[strspn(text, "0123456789")] ||
        !*text)
        return -1;
    value = strtoll(text, &end, 10);
    if (value == INT64_MAX)
        return -1;
    *out = value;
    return 0;
}

/* size: of out, with room for a NUL. -1: not base64, or too long. */
static int
read_etcd_bytes(const cJSON *object, const char *name, char *out, size_t size,
                size_t *got)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                 "abcdefghijklmnopqrstuvwxyz0123456789+/";
    unsigned char plain[ETCD_VALUE_MAX + 3];
    const char *text = cJSON_GetStringValue(find_answer_field(object, name));
    size_t length = text ? strlen(text) : 0, body, n;

    *got = 0;
    *out = '\0';
    if (!text)
        return find_answer_field(object, name) ? -1 : 0;
    body = strspn(text, digits);
    if (length % 4 || length - body > 2 || length / 4 * 3 > sizeof(plain) ||
        text[body + strspn(text + body, "=")])
        return -1;
    n = length / 4 * 3 - (length - body);
    if (n >= size || EVP_DecodeBlock(plain, (const unsigned char *)text,
                                     (int)length) != (int)(length / 4 * 3))
        return -1;
    memcpy(out, plain, n);
    out[n] = '\0';
    *got = n;
    return 0;
}

static int
revision_of(const cJSON *answer, int64_t *out, struct error *err)
{
    int64_t revision;

    if (read_etcd_number(find_answer_field(answer, "header"), "revision",
                         &revision) != 0 ||
        revision == 0)
        return set_etcd_answer_error(err, "it has no revision");
    *out = revision;
    return 0;
}

/* ---- what a node says of itself ---- */

static int
set_etcd_key_error(struct error *err, const char *key, const char *why)
{
    error_set(err, ER_UNKNOWN, "etcd's key %.*s is refused: %s", TEXT_MAX, key,
              why);
    return -1;
}

/* Reads the digits behind the prefix, only in the form in which printf writes
 * them: two keys for one id would be two nodes. */
static int
id_of(const char *key, size_t size, const char *cluster, uint64_t *out,
      struct error *err)
{
    char prefix[ETCD_KEY_MAX];
    int n = snprintf(prefix, sizeof(prefix), "/heapwire/%s/nodes/", cluster);
    size_t length = (size_t)n;
    const char *digits = key + length;

    if (strlen(key) != size || strncmp(key, prefix, length) != 0)
        return set_etcd_key_error(err, key,
                                  "it is not among those that were asked for");
    if (*digits < '1' || *digits > '9' || strlen(digits) > 10 ||
        digits[strspn(digits, "0123456789")] ||
        strtoull(digits, NULL, 10) > UINT32_MAX)
        return set_etcd_key_error(err, key, "its name is not a node's id");
    *out = strtoull(digits, NULL, 10);
    return 0;
}

static int
read_incarnation(const char *hex, uint8_t *out)
{
    if (!hex || strlen(hex) != (size_t)2 * PEER_INCARNATION ||
        hex[strspn(hex, "0123456789abcdef")])
        return -1;
    for (size_t i = 0; i < PEER_INCARNATION; i++) {
        char digits[3] = {hex[2 * i], hex[2 * i + 1], '\0'};

        out[i] = (uint8_t)strtoul(digits, NULL, 16);
    }
    return 0;
}

static int
read_role(const char *text, enum peer_role *out)
{
    bool backend = text && strcmp(text, "backend") == 0;

    if (!backend && (!text || strcmp(text, "compute_node") != 0))
        return -1;
    *out = backend ? PEER_BACKEND : PEER_COMPUTE_NODE;
    return 0;
}

static int
read_member_address(const cJSON *json, struct member *out)
{
    const char *address =
        cJSON_GetStringValue(find_answer_field(json, "address"));
    int64_t port;

    if (!address || strlen(address) >= sizeof(out->address) ||
        read_etcd_number(json, "port", &port) != 0 || port > UINT16_MAX)
        return -1;
    memcpy(out->address, address, strlen(address) + 1);
    out->port = (uint16_t)port;
    return address_canonical(out->address, sizeof(out->address)) == 0 &&
                   address_is_reachable(out->address, out->port)
               ? 0
               : -1;
}

static int
read_etcd_node_value(struct span value, const char *key, struct etcd_node *node,
                     struct error *err)
{
    cJSON *json = parse_etcd_json(value, err);
    int64_t id;
    int rc = -1;

    if (!json)
        return set_etcd_key_error(err, key, "its value is not a JSON object");
    if (read_etcd_number(json, "id", &id) != 0 ||
        (uint64_t)id != node->member.id)
        set_etcd_key_error(err, key, "its value has another id");
    else if (read_member_address(json, &node->member) != 0)
        set_etcd_key_error(err, key,
                           "its value has no numeric address and port");
    else if (read_role(cJSON_GetStringValue(find_answer_field(json, "role")),
                       &node->member.role) != 0)
        set_etcd_key_error(err, key, "its value has an unknown role");
    else if (read_incarnation(
                 cJSON_GetStringValue(find_answer_field(json, "incarnation")),
                 node->incarnation) != 0)
        set_etcd_key_error(err, key, "its value has no incarnation");
    else
        rc = 0;
    cJSON_Delete(json);
    return rc;
}

/* Reads an entry; node's id is set as soon as the key is a node's. */
static int
read_node(const cJSON *kv, const char *cluster, struct etcd_node *node,
          struct error *err)
{
    char key[ETCD_KEY_MAX], value[ETCD_VALUE_MAX + 1];
    size_t size;

    memset(node, 0, sizeof(*node));
    if (read_etcd_bytes(kv, "key", key, sizeof(key), &size) != 0)
        return set_etcd_key_error(err, "(too long)",
                                  "its name is not a node's id");
    if (id_of(key, size, cluster, &node->member.id, err) != 0)
        return -1;
    if (read_etcd_number(kv, "create_revision", &node->created) != 0 ||
        read_etcd_number(kv, "mod_revision", &node->modified) != 0 ||
        read_etcd_number(kv, "lease", &node->lease) != 0)
        return set_etcd_key_error(err, key, "its revisions are no numbers");
    if (read_etcd_bytes(kv, "value", value, sizeof(value), &size) != 0)
        return set_etcd_key_error(err, key,
                                  "its value is too long, or not base64");
    return read_etcd_node_value((struct span){value, size}, key, node, err);
}

/* A refused entry counts as missing. */
static int
put_node(const cJSON *kv, const char *cluster, struct etcd_nodes *nodes,
         struct error *err)
{
    struct etcd_node node;
    struct error refusal;

    if (read_node(kv, cluster, &node, &refusal) == 0)
        return etcd_nodes_put(nodes, &node, err);
    etcd_nodes_remove(nodes, node.member.id);
    etcd_nodes_refuse(nodes, &refusal);
    return 0;
}

/* ---- the answers, one by one ---- */

int
etcd_read_login(struct span answer, char *token, struct error *err)
{
    cJSON *json = parse_etcd_json(answer, err);
    const char *text = cJSON_GetStringValue(find_answer_field(json, "token"));
    int rc = -1;

    if (!json)
        return -1;
    if (!text || !*text || strlen(text) > ETCD_TOKEN_MAX ||
        strpbrk(text, "\r\n")) {
        set_etcd_answer_error(err, "it has no token");
    } else {
        memcpy(token, text, strlen(text) + 1);
        rc = 0;
    }
    cJSON_Delete(json);
    return rc;
}

int
etcd_read_lease(struct span answer, int64_t *lease, struct error *err)
{
    cJSON *json = parse_etcd_json(answer, err);
    int64_t id;
    int rc = -1;

    if (!json)
        return -1;
    if (read_etcd_number(json, "ID", &id) != 0 || id == 0) {
        set_etcd_answer_error(err, "it has no lease");
    } else {
        *lease = id;
        rc = 0;
    }
    cJSON_Delete(json);
    return rc;
}

int
etcd_read_keepalive(struct span answer, bool *alive, struct error *err)
{
    cJSON *json = parse_etcd_json(answer, err);
    const cJSON *result = find_answer_field(json, "result");
    int64_t ttl;
    int rc = -1;

    if (!json)
        return -1;
    if (!cJSON_IsObject(result) || read_etcd_number(result, "TTL", &ttl) != 0) {
        set_etcd_answer_error(err, "it names no lease");
    } else {
        *alive = ttl > 0;
        rc = 0;
    }
    cJSON_Delete(json);
    return rc;
}

int
etcd_read_put(struct span answer, const char *cluster, uint64_t id, bool *done,
              struct etcd_node *holder, struct error *err)
{
    cJSON *json = parse_etcd_json(answer, err);
    const cJSON *there;

    if (!json)
        return -1;
    *done = cJSON_IsTrue(find_answer_field(json, "succeeded"));
    there = find_answer_field(
        cJSON_GetArrayItem(find_answer_field(json, "responses"), 0),
        "response_range");
    there = cJSON_GetArrayItem(find_answer_field(there, "kvs"), 0);
    /* An entry that is not a node's gets neither id nor incarnation. */
    if (!*done && (read_node(there, cluster, holder, err) != 0 ||
                   holder->member.id != id)) {
        int64_t modified;

        memset(holder, 0, sizeof(*holder));
        if (read_etcd_number(there, "mod_revision", &modified) == 0)
            holder->modified = modified;
    }
    cJSON_Delete(json);
    return 0;
}

int
etcd_read_page(struct span answer, const char *cluster,
               struct etcd_nodes *nodes, struct etcd_page *page,
               struct error *err)
{
    cJSON *json = parse_etcd_json(answer, err);
    const cJSON *kv, *last = NULL;
    int rc = -1;

    if (!json)
        return -1;
    if (revision_of(json, &page->revision, err) != 0)
        goto out;
    cJSON_ArrayForEach(kv, find_answer_field(json, "kvs"))
    {
        if (put_node(kv, cluster, nodes, err) != 0)
            goto out;
        last = kv;
    }
    page->more = cJSON_IsTrue(find_answer_field(json, "more"));
    if (page->more &&
        (read_etcd_bytes(last, "key", page->last, sizeof(page->last),
                         &page->last_size) != 0 ||
         page->last_size == 0)) {
        set_etcd_answer_error(err,
                              "it announces more keys and ends without one");
        goto out;
    }
    rc = 0;
out:
    cJSON_Delete(json);
    return rc;
}

static int
apply_event(const cJSON *event, const char *cluster, struct etcd_nodes *nodes,
            struct error *err)
{
    const char *type = cJSON_GetStringValue(find_answer_field(event, "type"));
    const cJSON *kv = find_answer_field(event, "kv");
    char key[ETCD_KEY_MAX];
    struct error refusal;
    uint64_t id;
    size_t size;

    if (!type || strcmp(type, "PUT") == 0)
        return put_node(kv, cluster, nodes, err);
    if (strcmp(type, "DELETE") != 0)
        return set_etcd_answer_error(err, "an event of an unknown kind");
    if (read_etcd_bytes(kv, "key", key, sizeof(key), &size) == 0 &&
        id_of(key, size, cluster, &id, &refusal) == 0)
        etcd_nodes_remove(nodes, id);
    return 0;
}

static void
read_etcd_error(const cJSON *json, struct error *err)
{
    const cJSON *error = find_answer_field(json, "error");
    const char *text = cJSON_GetStringValue(find_answer_field(json, "message"));

    if (!text)
        text = cJSON_GetStringValue(error);
    if (!text)
        text = cJSON_GetStringValue(find_answer_field(error, "message"));
    error_set(err, ER_UNKNOWN, "etcd says: %.*s", TEXT_MAX,
              text ? text : "(nothing)");
}

int
etcd_read_watch(struct span line, const char *cluster, struct etcd_nodes *nodes,
                size_t *changes, int64_t *revision, struct error *err)
{
    cJSON *json = parse_etcd_json(line, err);
    const cJSON *result = find_answer_field(json, "result"), *event;
    int rc = -1;

    *changes = 0;
    if (!json)
        return -1;
    if (!cJSON_IsObject(result)) {
        read_etcd_error(json, err);
        goto out;
    }
    if (cJSON_IsTrue(find_answer_field(result, "canceled"))) {
        error_set(err, ER_UNKNOWN, "etcd ended the watch");
        goto out;
    }
    cJSON_ArrayForEach(event, find_answer_field(result, "events"))
    {
        if (apply_event(event, cluster, nodes, err) != 0)
            goto out;
        ++*changes;
    }
    if (*changes > 0 && revision_of(result, revision, err) != 0)
        goto out;
    rc = 0;
out:
    cJSON_Delete(json);
    return rc;
}

void
etcd_read_failure(struct span answer, long status, struct error *err)
{
    cJSON *json = parse_etcd_json(answer, err);

    if (json)
        read_etcd_error(json, err);
    else
        error_set(err, ER_UNKNOWN, "etcd answers with HTTP status %ld", status);
    cJSON_Delete(json);
}
