/* test_peer_client.c - proofs and seals, against the server's end of them. */
#include "buffer.h"
#include "errors.h"
#include "peer_wire.h"
#include "peer_proof.h"
#include "peer_fixture.h"
#include "suite.h"

enum { ASKS = 10001, ASKED = 10002 };

/* What the server does wrong. */
enum fault { NONE, NO_CHALLENGE, NO_WELCOME, WRONG_KEY };

static const struct span ok = {"\0\0\0\2\0\0\0", 7};
static struct peer_end_point server;
static struct peer_client client;
static struct peer_party seen; /* the client, as the server knows it */
static struct peer_identity self;
static enum fault fault;
static int hellos;

static void
set_up(void)
{
    fault = NONE;
    hellos = 0;
    server = peer_end_point(ASKED);
    self = peer_node("blue", PEER_SECRET, ASKS);
    client = (struct peer_client){.self = &self, .expected_id = ASKED};
}

/* The server's part between hello and welcome. */
static void
answer(struct span hello, struct span *out)
{
    static const struct peer_welcome welcome = {.version = "0.1.0"};
    struct error err;

    hellos++;
    if (peer_hello_check(&server.transcript, &server.self, hello, &seen,
                         &err) != 0) {
        ck_assert_int_eq(fault, WRONG_KEY);
        server.transcript.size = PEER_CHALLENGE; /* it pretends */
        memcpy(server.transcript.bytes + PEER_CHALLENGE, hello.data,
               hello.size);
        server.transcript.size += hello.size;
    }
    ck_assert_int_eq(peer_welcome_make(&server.transcript, &server.self,
                                       &welcome, out, &err),
                     0);
}

static int
talk(struct error *err)
{
    struct span said, hello;

    ck_assert_int_eq(
        peer_challenge_make(&server.transcript, &server.self, &said, err), 0);
    if (peer_client_challenge(&client, fault == NO_CHALLENGE ? ok : said,
                              &hello, err) != 0)
        return -1;
    answer(hello, &said);
    return peer_client_welcome(&client, fault == NO_WELCOME ? ok : said, err);
}

START_TEST(both_ends_prove_themselves)
{
    uint8_t key[PEER_KEY];
    struct error err;

    ck_assert_int_eq(talk(&err), 0);
    ck_assert(client.proven);
    ck_assert_uint_eq(seen.id, ASKS);
    ck_assert_str_eq(client.version, "0.1.0");
    ck_assert(!client.has_fingerprint);
    ck_assert_mem_eq(client.server.incarnation, server.self.incarnation,
                     PEER_INCARNATION);
    peer_session_key(&server.transcript, &server.self, key, &err);
    ck_assert_mem_eq(client.session_key, key, PEER_KEY);
    ck_assert_uint_eq(client.transcript.size, 0);
}
END_TEST

static const struct {
    enum fault fault;
    uint64_t expected;
    const char *text;
    int hellos;
} faults[] = {
    {NO_CHALLENGE, ASKED, "Bad handshake", 0},
    {NO_WELCOME, ASKED, "Bad handshake", 1},
    {WRONG_KEY, ASKED, "does not prove", 1},
    {NONE, 10003, "id mismatch: node 10002 answers for node 10003", 0}};

START_TEST(what_is_not_proven_is_asked_nothing)
{
    struct peer_request request = {
        .text = {"1", 1}, .caller = &(struct sql_identity){.user = ""}};
    struct buffer out;
    struct error err;

    fault = faults[_i].fault;
    client.expected_id = faults[_i].expected;
    if (fault == WRONG_KEY)
        server.self = peer_node("blue", "another one, just as long", ASKED);
    ck_assert_int_eq(talk(&err), -1);
    ck_assert_ptr_nonnull(strstr(err.text, faults[_i].text));
    ck_assert(!client.proven);
    ck_assert_int_eq(hellos, faults[_i].hellos);
    buffer_init(&out, 1000);
    ck_assert_int_eq(peer_client_seal(&client, &request, 1, &out, &err), -1);
    ck_assert_uint_eq(out.size, 0);
}
END_TEST

static uint8_t
nibble(char c)
{
    return (uint8_t)(c <= '9' ? c - '0' : c - 'a' + 10);
}

/* What stands between the quotes. */
static size_t
decode(const struct buffer *statement, uint8_t *out)
{
    static const char head[] = "ADMIN FORWARD '";
    size_t size = (statement->size - strlen(head) - 1) / 2;
    const char *hex = statement->data + strlen(head);

    ck_assert_int_eq(strncmp(statement->data, head, strlen(head)), 0);
    for (size_t i = 0; i < size; i++)
        out[i] = (uint8_t)(nibble(hex[2 * i]) << 4 | nibble(hex[2 * i + 1]));
    ck_assert_int_eq(hex[2 * size], '\'');
    return size;
}

START_TEST(statements_are_numbered_and_sealed_for_the_connection)
{
    struct sql_identity caller = {.user = "eve", .host = "::1"};
    struct peer_request request = {.verb = PEER_SCRIPT,
                                   .text = {"it", 2},
                                   .caller = &caller,
                                   .connection_id = 3};
    struct peer_envelope read;
    struct buffer out;
    struct error err;
    uint8_t key[PEER_KEY], bytes[1000];
    struct span envelope = {(char *)bytes, 0};

    ck_assert_int_eq(talk(&err), 0);
    peer_session_key(&server.transcript, &server.self, key, &err);
    buffer_init(&out, 2000);
    for (uint64_t i = 1; i <= 3; i++) {
        buffer_clear(&out);
        ck_assert_int_eq(peer_client_seal(&client, &request, 500, &out, &err),
                         0);
        envelope.size = decode(&out, bytes);
        ck_assert_int_eq(peer_envelope_open(envelope, key, &read, &err), 0);
        ck_assert_uint_eq(read.sequence, i);
        ck_assert_str_eq(read.forwarded.caller.user, "eve");
        ck_assert_uint_eq(read.forwarded.timeout_ms, 500);
    }
    buffer_fini(&out);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("peer_client");
    TCase *tcase = tcase_create("peer_client");

    tcase_add_checked_fixture(tcase, set_up, NULL);
    tcase_add_test(tcase, both_ends_prove_themselves);
    tcase_add_loop_test(tcase, what_is_not_proven_is_asked_nothing, 0,
                        sizeof(faults) / sizeof(faults[0]));
    tcase_add_test(tcase,
                   statements_are_numbered_and_sealed_for_the_connection);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
