/* test_etcd_wire.c - what etcd is asked, and all that it may answer. */
#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>

#include "buffer.h"
#include "errors.h"
#include "etcd_nodes.h"
#include "etcd_wire.h"
#include "failing_memory.h"
#include "suite.h"

#define HEX32  "000102030405060708090a0b0c0d0e0f"
#define HEADER "\"header\":{\"revision\":\"7\"}"
#define KEY    "/heapwire/east/nodes/10002"
#define VALUE                                                                  \
    "{\"id\":10002,\"address\":\"127.0.0.2\",\"port\":9036,"                   \
    "\"role\":\"compute_node\",\"incarnation\":\"" HEX32 "\"}"

static struct etcd_nodes nodes;
static struct etcd_page page;
static struct error err;
static struct buffer text;

static void
setup(void)
{
    memset(&nodes, 0, sizeof(nodes));
    memset(&page, 0, sizeof(page));
    memset(&err, 0, sizeof(err));
    buffer_init(&text, ETCD_ANSWER_MAX + 4096);
}

static void
teardown(void)
{
    etcd_nodes_fini(&nodes);
    buffer_fini(&text);
}

static void
add_base64(const char *data, size_t size)
{
    char *at = buffer_reserve(&text, size * 2 + 8);

    ck_assert_ptr_nonnull(at);
    buffer_claim(&text, (size_t)EVP_EncodeBlock((unsigned char *)at,
                                                (const unsigned char *)data,
                                                (int)size));
}

static void
add_kv(const char *key, const char *value)
{
    buffer_text(&text, "{\"key\":\"");
    add_base64(key, strlen(key));
    buffer_text(&text, "\",\"create_revision\":\"5\",\"mod_revision\":\"6\","
                       "\"lease\":\"77\",\"value\":\"");
    add_base64(value, strlen(value));
    buffer_text(&text, "\"}");
}

static struct span
all(void)
{
    return (struct span){text.data, text.size};
}

static int
read_page(struct span answer)
{
    return etcd_read_page(answer, "east", &nodes, &page, &err);
}

static struct etcd_node
node_of(uint64_t id)
{
    struct etcd_node node = {.member = {.id = id, .port = 9036}};

    memcpy(node.member.address, "127.0.0.2", 10);
    node.member.role = PEER_COMPUTE_NODE;
    for (uint8_t i = 0; i < PEER_INCARNATION; i++)
        node.incarnation[i] = i;
    return node;
}

START_TEST(a_page_of_nodes_is_read)
{
    const struct etcd_node *node;

    buffer_text(&text, "{" HEADER ",\"kvs\":[");
    add_kv("/heapwire/east/nodes/10003",
           "{\"incarnation\":\"" HEX32 "\",\"role\":\"backend\",\"port\":1,"
           "\"address\":\"0:0::3\",\"id\":10003,\"unknown\":[{}]}");
    buffer_text(&text, ",");
    add_kv(KEY, VALUE);
    buffer_text(&text, "],\"count\":\"2\"} \n");
    ck_assert_int_eq(read_page(all()), 0);
    ck_assert_uint_eq(nodes.count, 2);
    ck_assert_uint_eq(nodes.refused, 0);
    ck_assert_int_eq(page.revision, 7);
    ck_assert(!page.more);
    node = etcd_nodes_find(&nodes, 10002);
    ck_assert_str_eq(node->member.address, "127.0.0.2");
    ck_assert_uint_eq(node->member.port, 9036);
    ck_assert_int_eq(node->member.role, PEER_COMPUTE_NODE);
    ck_assert_int_eq(node->created, 5);
    ck_assert_int_eq(node->modified, 6);
    ck_assert_int_eq(node->lease, 77);
    ck_assert_uint_eq(node->incarnation[15], 15);
    /* One address has one text. */
    ck_assert_str_eq(etcd_nodes_find(&nodes, 10003)->member.address, "::3");
    ck_assert_ptr_null(etcd_nodes_find(&nodes, 10001));
}
END_TEST

START_TEST(what_is_put_is_what_is_read)
{
    struct etcd_node node = node_of(10002), holder;
    bool done = true;

    etcd_ask_put(&text, "east", &node, 77, 6);
    ck_assert(!text.failed);
    ck_assert_uint_lt(text.size, ETCD_REQUEST_MAX);
    ck_assert_ptr_nonnull(strstr(text.data, "\"mod_revision\":\"6\""));
    ck_assert_ptr_nonnull(strstr(text.data, "\"lease\":\"77\""));
    buffer_clear(&text);
    /* What etcd answers to the second of two. */
    buffer_text(&text, "{" HEADER ",\"responses\":[{\"response_range\":{"
                       "\"kvs\":[");
    add_kv(KEY, VALUE);
    buffer_text(&text, "],\"count\":\"1\"}}]}");
    ck_assert_int_eq(etcd_read_put(all(), "east", 10002, &done, &holder, &err),
                     0);
    ck_assert(!done);
    ck_assert_uint_eq(holder.member.id, 10002);
    ck_assert_mem_eq(holder.incarnation, node.incarnation, PEER_INCARNATION);
    ck_assert_int_eq(
        etcd_read_put(span_of("{" HEADER ",\"succeeded\":true,\"responses\":[{"
                              "\"response_put\":{}}]}"),
                      "east", 10002, &done, &holder, &err),
        0);
    ck_assert(done);
}
END_TEST

START_TEST(a_key_without_a_node_is_distinguished)
{
    struct etcd_node holder;
    bool done = true;

    buffer_text(&text, "{\"responses\":[{\"response_range\":{\"kvs\":[");
    add_kv(KEY, "rubbish");
    buffer_text(&text, "]}}]}");
    ck_assert_int_eq(etcd_read_put(all(), "east", 10002, &done, &holder, &err),
                     0);
    ck_assert(!done);
    ck_assert_uint_eq(holder.member.id, 0);
    ck_assert_int_eq(holder.modified, 6);
    ck_assert_int_eq(etcd_read_put(span_of("{\"responses\":[{\"response_range"
                                           "\":{}}]}"),
                                   "east", 10002, &done, &holder, &err),
                     0);
    ck_assert_int_eq(holder.modified, 0);
}
END_TEST

#define OTHER(with)                                                            \
    "{\"id\":10002,\"address\":\"127.0.0.2\",\"port\":9036,"                   \
    "\"role\":\"backend\",\"incarnation\":\"" HEX32 "\"," with "}"

static const struct {
    const char *key, *value, *why;
} refused[] = {
    {"/heapwire/east/nodes/", VALUE, "its name is not a node's id"},
    {"/heapwire/east/nodes/db", VALUE, "its name is not a node's id"},
    {"/heapwire/east/nodes/010002", VALUE, "its name is not a node's id"},
    {"/heapwire/east/nodes/0", VALUE, "its name is not a node's id"},
    {"/heapwire/east/nodes/4294967296", VALUE, "its name is not a node's id"},
    {"/heapwire/east/nodes/10002/x", VALUE, "its name is not a node's id"},
    {"/heapwire/west/nodes/10002", VALUE, "it is not among those that were"},
    {"/heapwire/east/nodes/10003", VALUE, "its value has another id"},
    {KEY, "", "its value is not a JSON object"},
    {KEY, "rubbish", "its value is not a JSON object"},
    {KEY, "[]", "its value is not a JSON object"},
    {KEY, "{}", "its value has another id"},
    {KEY, "{} {}", "its value is not a JSON object"},
    {KEY, "{\"id\":10002.5}", "its value has another id"},
    {KEY, "{\"id\":-1}", "its value has another id"},
    {KEY, "{\"id\":1e300}", "its value has another id"},
    {KEY, "{\"id\":10002}", "its value has no numeric address and port"},
    {KEY, "{\"id\":10002,\"address\":\"db2\",\"port\":1}", "its value has no"},
    {KEY, "{\"id\":10002,\"address\":7,\"port\":1}", "its value has no nume"},
    {KEY, "{\"id\":10002,\"address\":\"10.0.0.2\"}", "its value has no numer"},
    {KEY, "{\"id\":10002,\"address\":\"10.0.0.2\",\"port\":65537}", "its valu"},
    {KEY, "{\"id\":10002,\"address\":\"0.0.0.0\",\"port\":1}", "its value has"},
    {KEY, "{\"id\":10002,\"address\":\"::\",\"port\":1}", "its value has no n"},
    {KEY,
     "{\"id\":10002,\"address\":\"1111:2222:3333:4444:5555:6666:7777:8888:9999:"
     "aaaa\",\"port\":1}",
     "its value has no numeric address and port"},
    {KEY, "{\"id\":10002,\"address\":\"10.0.0.2\",\"port\":1}",
     "its value has an unknown role"},
    {KEY,
     "{\"id\":10002,\"address\":\"10.0.0.2\",\"port\":1,\"role\":\"backend\"}",
     "its value has no incarnation"},
    {KEY,
     "{\"id\":10002,\"address\":\"10.0.0.2\",\"port\":1,\"role\":\"backend\","
     "\"incarnation\":\"00\"}",
     "its value has no incarnation"},
};

START_TEST(an_invalid_node_is_refused_with_a_reason)
{
    buffer_text(&text, "{" HEADER ",\"kvs\":[");
    add_kv("/heapwire/east/nodes/10001",
           "{\"id\":10001,\"address\":\"127.0.0.1\",\"port\":9036,"
           "\"role\":\"backend\",\"incarnation\":\"" HEX32 "\"}");
    buffer_text(&text, ",");
    add_kv(refused[_i].key, refused[_i].value);
    buffer_text(&text, "]}");
    ck_assert_int_eq(read_page(all()), 0);
    ck_assert_uint_eq(nodes.count, 1);
    ck_assert_uint_eq(nodes.items[0].member.id, 10001);
    ck_assert_uint_eq(nodes.refused, 1);
    ck_assert_msg(strstr(nodes.refusal.text, refused[_i].why), "%s",
                  nodes.refusal.text);
}
END_TEST

START_TEST(a_node_whose_entry_goes_bad_is_gone)
{
    struct etcd_node node = node_of(10002);
    size_t changes;
    int64_t revision = 1;

    ck_assert_int_eq(etcd_nodes_put(&nodes, &node, &err), 0);
    buffer_text(&text, "{\"result\":{" HEADER ",\"events\":[{\"kv\":");
    add_kv(KEY, "rubbish");
    buffer_text(&text, "}]}}");
    ck_assert_int_eq(
        etcd_read_watch(all(), "east", &nodes, &changes, &revision, &err), 0);
    ck_assert_uint_eq(changes, 1);
    ck_assert_uint_eq(nodes.count, 0);
    ck_assert_uint_eq(nodes.refused, 1);
}
END_TEST

/* Behind {header, kvs: [. */
static const char *const not_kvs[] = {
    "7",
    "null",
    "\"text\"",
    "[]",
    "{}",
    "{\"key\":7}",
    "{\"key\":\"*\"}",
    "{\"key\":\"QUJD=\"}",
    "{\"key\":\"QUJDR\"}",
    "{\"key\":\"====\"}",
    "{\"key\":\"A=B=\"}",
    "{\"key\":\"L2hlYXB3aXJlL2Vhc3Qvbm9kZXMvMQ==\",\"mod_revision\":\"x\"}",
    "{\"key\":\"L2hlYXB3aXJlL2Vhc3Qvbm9kZXMvMQ==\",\"mod_revision\":-1}",
    ("{\"key\":\"L2hlYXB3aXJlL2Vhc3Qvbm9kZXMvMQ==\",\"lease\":"
     "\"99999999999999999999\"}"),
    "{\"key\":\"L2hlYXB3aXJlL2Vhc3Qvbm9kZXMvMQ==\",\"value\":\"!!!!\"}",
    /* ".../1" and a NUL */
    "{\"key\":\"L2hlYXB3aXJlL2Vhc3Qvbm9kZXMvMQA=\"}",
};

START_TEST(what_is_no_key_is_refused)
{
    buffer_format(&text, "{" HEADER ",\"kvs\":[%s]}", not_kvs[_i]);
    ck_assert_int_eq(read_page(all()), 0);
    ck_assert_uint_eq(nodes.count, 0);
    ck_assert_uint_eq(nodes.refused, 1);
}
END_TEST

START_TEST(keys_and_values_have_a_ceiling)
{
    static char longer[4096];
    size_t head = strlen(KEY);

    memset(longer, '1', sizeof(longer) - 1);
    memcpy(longer, KEY, head);
    buffer_text(&text, "{" HEADER ",\"kvs\":[");
    add_kv(longer, VALUE);
    buffer_text(&text, ",");
    memset(longer, ' ', head);
    longer[0] = '{';
    longer[ETCD_VALUE_MAX] = '}';
    longer[ETCD_VALUE_MAX + 1] = '\0';
    add_kv(KEY, longer);
    buffer_text(&text, "]}");
    ck_assert_int_eq(read_page(all()), 0);
    ck_assert_uint_eq(nodes.refused, 2);
    ck_assert_uint_eq(nodes.count, 0);
}
END_TEST

static const char *const no_answers[] = {
    "",
    " ",
    "rubbish",
    "null",
    "[]",
    "{",
    "{} {}",
    "{}",
    "{\"header\":7}",
    "{\"header\":{}}",
    "{\"header\":{\"revision\":\"0\"}}",
    "{\"header\":{\"revision\":\"-7\"}}",
    "{\"header\":{\"revision\":\"9223372036854775807\"}}",
    "{\"header\":{\"revision\":\"99999999999999999999999999\"}}",
    "{" HEADER ",\"more\":true}",
    "{" HEADER ",\"more\":true,\"kvs\":[{}]}",
    "<html>502 Bad Gateway</html>",
};

START_TEST(an_invalid_answer_is_reported)
{
    struct etcd_node holder;
    struct span answer = span_of(no_answers[_i]);
    int64_t lease;
    bool flag;
    char token[ETCD_TOKEN_MAX + 1];

    ck_assert_int_eq(read_page(answer), -1);
    ck_assert_uint_eq(err.code, ER_UNKNOWN);
    ck_assert_int_eq(etcd_read_lease(answer, &lease, &err), -1);
    ck_assert_int_eq(etcd_read_keepalive(answer, &flag, &err), -1);
    ck_assert_int_eq(etcd_read_login(answer, token, &err), -1);
    /* It may be an object that says nothing: then it is not done. */
    if (etcd_read_put(answer, "east", 1, &flag, &holder, &err) == 0)
        ck_assert(!flag);
}
END_TEST

START_TEST(a_truncated_answer_is_none)
{
    size_t size;

    buffer_text(&text, "{" HEADER ",\"kvs\":[");
    add_kv(KEY, VALUE);
    buffer_text(&text, "]}");
    size = text.size;
    for (size_t cut = 0; cut < size; cut++) {
        /* At the end of its memory: asan sees a read beyond. */
        char *copy = malloc(cut ? cut : 1);

        memcpy(copy, text.data, cut);
        ck_assert_int_eq(read_page((struct span){copy, cut}), -1);
        free(copy);
    }
    ck_assert_int_eq(read_page(all()), 0);
}
END_TEST

START_TEST(deep_and_wide_answers_have_a_ceiling)
{
    for (int i = 0; i < 100000; i++)
        buffer_char(&text, '[');
    ck_assert_int_eq(read_page(all()), -1);
    buffer_clear(&text);
    for (int i = 0; i < 50000; i++)
        buffer_text(&text, "{\"kvs\":");
    ck_assert_int_eq(read_page(all()), -1);
    buffer_clear(&text);
    buffer_text(&text, "{" HEADER ",\"x\":[0");
    for (int i = 0; i < ETCD_VALUES_MAX; i++)
        buffer_text(&text, ",0");
    buffer_text(&text, "]}");
    ck_assert_int_eq(read_page(all()), -1);
    ck_assert_ptr_nonnull(strstr(err.text, "too many values"));
    buffer_clear(&text);
    buffer_text(&text, "{" HEADER ",\"x\":\"");
    while (text.size <= ETCD_ANSWER_MAX)
        buffer_char(&text, 'x');
    buffer_text(&text, "\"}");
    ck_assert_int_eq(read_page(all()), -1);
}
END_TEST

START_TEST(more_nodes_than_a_cluster_has_are_refused)
{
    for (uint64_t id = 1; id <= PEERS_MAX; id++) {
        struct etcd_node node = node_of(id);

        ck_assert_int_eq(etcd_nodes_put(&nodes, &node, &err), 0);
    }
    buffer_text(&text, "{" HEADER ",\"kvs\":[");
    add_kv(KEY, VALUE); /* 10002 is among them: put in place */
    buffer_text(&text, "]}");
    ck_assert_int_eq(read_page(all()), 0);
    buffer_clear(&text);
    buffer_text(&text, "{" HEADER ",\"kvs\":[");
    add_kv("/heapwire/east/nodes/99999",
           "{\"id\":99999,\"address\":\"127.0.0.1\",\"port\":9036,"
           "\"role\":\"backend\",\"incarnation\":\"" HEX32 "\"}");
    buffer_text(&text, "]}");
    ck_assert_int_eq(read_page(all()), -1);
    ck_assert_ptr_nonnull(strstr(err.text, "more than the 16384 nodes"));
}
END_TEST

START_TEST(pages_go_on_behind_the_last_key)
{
    buffer_text(&text, "{" HEADER ",\"kvs\":[");
    add_kv(KEY, VALUE);
    buffer_text(&text, "],\"more\":true}");
    ck_assert_int_eq(read_page(all()), 0);
    ck_assert(page.more);
    ck_assert_uint_eq(page.last_size, strlen(KEY));
    ck_assert_str_eq(page.last, KEY);
    buffer_clear(&text);
    etcd_ask_page(&text, "east", (struct span){page.last, page.last_size}, 7);
    /* The key and a NUL byte, of that revision. */
    ck_assert_str_eq(
        text.data,
        "{\"key\":\"L2hlYXB3aXJlL2Vhc3Qvbm9kZXMvMTAwMDIA\",\"range_end\":"
        "\"L2hlYXB3aXJlL2Vhc3Qvbm9kZXMw\",\"limit\":\"512\",\"revision\":"
        "\"7\"}");
}
END_TEST

START_TEST(the_watch_reports_joins_and_leaves)
{
    struct etcd_node node = node_of(10001);
    size_t changes;
    int64_t revision = 3;

    ck_assert_int_eq(etcd_nodes_put(&nodes, &node, &err), 0);
    ck_assert_int_eq(
        etcd_read_watch(span_of("{\"result\":{" HEADER ",\"created\":true}}"),
                        "east", &nodes, &changes, &revision, &err),
        0);
    ck_assert_uint_eq(changes, 0);
    ck_assert_int_eq(revision, 3);
    buffer_text(&text, "{\"result\":{" HEADER ",\"events\":[{\"kv\":");
    add_kv(KEY, VALUE);
    buffer_text(&text, "},{\"type\":\"DELETE\",\"kv\":");
    add_kv("/heapwire/east/nodes/10001", "");
    buffer_text(&text, "},{\"type\":\"DELETE\",\"kv\":");
    add_kv("/heapwire/east/nodes/10009", "");
    buffer_text(&text, "},{\"type\":\"DELETE\",\"kv\":");
    add_kv("/other", "");
    buffer_text(&text, "}]}}");
    ck_assert_int_eq(
        etcd_read_watch(all(), "east", &nodes, &changes, &revision, &err), 0);
    ck_assert_uint_eq(changes, 4);
    ck_assert_int_eq(revision, 7);
    ck_assert_uint_eq(nodes.count, 1);
    ck_assert_ptr_nonnull(etcd_nodes_find(&nodes, 10002));
}
END_TEST

static const struct {
    const char *line, *why;
} no_lines[] = {
    {"", "not a JSON object"},
    {"{}", "etcd says: (nothing)"},
    {"{\"error\":{\"message\":\"no leader\"}}", "etcd says: no leader"},
    {"{\"error\":\"no leader\\u0007\"}", "etcd says: no leader?"},
    {"{\"result\":{\"canceled\":true}}", "etcd ended the watch"},
    {"{\"result\":{\"events\":[{}]}}", "it has no revision"},
    {"{\"result\":{\"events\":[{\"type\":\"MOVE\"}]}}",
     "an event of an unknown kind"},
    {"{\"result\":[]}", "etcd says: (nothing)"},
};

START_TEST(the_end_of_the_watch_has_a_reason)
{
    size_t changes;
    int64_t revision = 3;

    ck_assert_int_eq(etcd_read_watch(span_of(no_lines[_i].line), "east", &nodes,
                                     &changes, &revision, &err),
                     -1);
    ck_assert_msg(strstr(err.text, no_lines[_i].why), "%s", err.text);
    ck_assert_int_eq(revision, 3);
}
END_TEST

START_TEST(leases_are_granted_kept_and_lost)
{
    int64_t lease = 0;
    bool alive = false;

    etcd_ask_lease(&text, 10);
    ck_assert_str_eq(text.data, "{\"TTL\":\"10\"}");
    ck_assert_int_eq(
        etcd_read_lease(span_of("{" HEADER ",\"ID\":\"2324035529412952837\","
                                "\"TTL\":\"10\"}"),
                        &lease, &err),
        0);
    ck_assert_int_eq(lease, 2324035529412952837);
    buffer_clear(&text);
    etcd_ask_keepalive(&text, lease);
    ck_assert_str_eq(text.data, "{\"ID\":\"2324035529412952837\"}");
    ck_assert_int_eq(etcd_read_keepalive(
                         span_of("{\"result\":{\"ID\":\"1\",\"TTL\":\"10\"}}"),
                         &alive, &err),
                     0);
    ck_assert(alive);
    ck_assert_int_eq(etcd_read_keepalive(span_of("{\"result\":{\"ID\":\"1\"}}"),
                                         &alive, &err),
                     0);
    ck_assert(!alive);
}
END_TEST

START_TEST(a_log_in_gives_a_token)
{
    char token[ETCD_TOKEN_MAX + 1];

    etcd_ask_login(&text, "hw", "a\"b\\c");
    ck_assert_str_eq(text.data,
                     "{\"name\":\"hw\",\"password\":\"a\\\"b\\\\c\"}");
    ck_assert_int_eq(
        etcd_read_login(span_of("{\"token\":\"abc.7\"}"), token, &err), 0);
    ck_assert_str_eq(token, "abc.7");
    /* It becomes a header's line. */
    ck_assert_int_eq(
        etcd_read_login(span_of("{\"token\":\"a\\r\\nX: y\"}"), token, &err),
        -1);
    buffer_clear(&text);
    buffer_text(&text, "{\"token\":\"");
    for (int i = 0; i <= ETCD_TOKEN_MAX; i++)
        buffer_char(&text, 'x');
    buffer_text(&text, "\"}");
    ck_assert_int_eq(etcd_read_login(all(), token, &err), -1);
}
END_TEST

START_TEST(a_failure_says_what_etcd_says)
{
    etcd_read_failure(span_of("{\"error\":\"x\",\"message\":\"too many\"}"),
                      400, &err);
    ck_assert_str_eq(err.text, "etcd says: too many");
    etcd_read_failure(span_of("Not Found"), 404, &err);
    ck_assert_str_eq(err.text, "etcd answers with HTTP status 404");
}
END_TEST

START_TEST(without_memory_nothing_is_half_known)
{
    bool failed = true;

    buffer_text(&text, "{" HEADER ",\"kvs\":[");
    add_kv(KEY, VALUE);
    buffer_text(&text, "]}");
    etcd_wire_prepare();
    for (long n = 1; failed; n++) {
        ck_assert_int_lt(n, 1000);
        etcd_nodes_fini(&nodes);
        failing = allocations + (unsigned)n;
        failed = read_page(all()) != 0 || nodes.refused > 0;
        failing = 0;
        ck_assert_uint_eq(nodes.count, failed ? 0 : 1);
    }
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("etcd_wire");
    TCase *tcase = tcase_create("etcd_wire");

#define LOOP(test, table)                                                      \
    tcase_add_loop_test(tcase, test, 0, sizeof(table) / sizeof((table)[0]))
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, a_page_of_nodes_is_read);
    tcase_add_test(tcase, what_is_put_is_what_is_read);
    tcase_add_test(tcase, a_key_without_a_node_is_distinguished);
    LOOP(an_invalid_node_is_refused_with_a_reason, refused);
    tcase_add_test(tcase, a_node_whose_entry_goes_bad_is_gone);
    LOOP(what_is_no_key_is_refused, not_kvs);
    tcase_add_test(tcase, keys_and_values_have_a_ceiling);
    LOOP(an_invalid_answer_is_reported, no_answers);
    tcase_add_test(tcase, a_truncated_answer_is_none);
    tcase_add_test(tcase, deep_and_wide_answers_have_a_ceiling);
    tcase_add_test(tcase, more_nodes_than_a_cluster_has_are_refused);
    tcase_add_test(tcase, pages_go_on_behind_the_last_key);
    tcase_add_test(tcase, the_watch_reports_joins_and_leaves);
    LOOP(the_end_of_the_watch_has_a_reason, no_lines);
    tcase_add_test(tcase, leases_are_granted_kept_and_lost);
    tcase_add_test(tcase, a_log_in_gives_a_token);
    tcase_add_test(tcase, a_failure_says_what_etcd_says);
    tcase_add_test(tcase, without_memory_nothing_is_half_known);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
