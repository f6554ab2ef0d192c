/* test_peer_proof.c - two nodes that prove themselves to each other. */
#include "peer_fixture.h"
#include "suite.h"

enum { ASKS = 10001, ASKED = 10002 };

static const struct peer_welcome welcome = {.has_fingerprint = true,
                                            .fingerprint = {1, 2, 3, 250, 251},
                                            .version = "0.1.0"};

/* The talk up to and with the packet of this number may be changed on its
 * way. */
enum packet { CHALLENGE, HELLO, WELCOME, PACKETS };

struct change {
    enum packet packet;
    size_t at;      /* byte */
    uint8_t flip;   /* its bits; 0: the packet ends before it */
    bool and_after; /* a byte more comes behind */
};

struct talk {
    struct peer_end_point client, server;
    uint8_t bytes[PEER_WELCOME_MAX + PEER_HELLO];
    struct error err;
    struct peer_party client_party, server_party;
    struct peer_welcome welcome;
};

static struct span
on_its_way(struct talk *talk, enum packet packet, struct span said,
           const struct change *change)
{
    memcpy(talk->bytes, said.data, said.size);
    said.data = (const char *)talk->bytes;
    if (!change || change->packet != packet)
        return said;
    if (change->and_after)
        talk->bytes[said.size++] = 0;
    else if (change->flip)
        talk->bytes[change->at] ^= change->flip;
    else
        said.size = change->at;
    return said;
}

/* How many packets were taken. */
static int
run(struct talk *t, uint64_t wanted, const struct change *change)
{
    struct peer_end_point *c = &t->client, *s = &t->server;
    struct span said;

    t->err.code = 0;
    ck_assert_int_eq(
        peer_challenge_make(&s->transcript, &s->self, &said, &t->err), 0);
    said = on_its_way(t, CHALLENGE, said, change);
    if (peer_challenge_read(&c->transcript, &c->self, wanted, said,
                            &t->server_party, &t->err) != 0)
        return 0;
    ck_assert_int_eq(
        peer_hello_make(&c->transcript, &c->self, wanted, &said, &t->err), 0);
    said = on_its_way(t, HELLO, said, change);
    if (peer_hello_check(&s->transcript, &s->self, said, &t->client_party,
                         &t->err) != 0)
        return 1;
    ck_assert_int_eq(
        peer_welcome_make(&s->transcript, &s->self, &welcome, &said, &t->err),
        0);
    said = on_its_way(t, WELCOME, said, change);
    if (peer_welcome_check(&c->transcript, &c->self, said, &t->welcome,
                           &t->err) != 0)
        return 2;
    return 3;
}

/* Keys take a moment to be made. */
static struct talk start;

static void
set_up(void)
{
    if (start.client.self.node_id)
        return;
    start.client = peer_end_point(ASKS);
    start.server = peer_end_point(ASKED);
}

START_TEST(two_of_one_cluster_agree_on_a_key)
{
    struct talk t = start;
    uint8_t one[PEER_KEY], other[PEER_KEY], before[PEER_KEY];

    ck_assert_int_eq(run(&t, ASKED, NULL), 3);
    ck_assert_uint_eq(t.client_party.id, ASKS);
    ck_assert_mem_eq(t.client_party.incarnation, t.client.self.incarnation,
                     PEER_INCARNATION);
    ck_assert_uint_eq(t.server_party.id, ASKED);
    ck_assert_mem_eq(t.server_party.incarnation, t.server.self.incarnation,
                     PEER_INCARNATION);
    ck_assert(t.welcome.has_fingerprint);
    ck_assert_mem_eq(t.welcome.fingerprint, welcome.fingerprint,
                     PEER_FINGERPRINT);
    ck_assert_str_eq(t.welcome.version, "0.1.0");
    peer_session_key(&t.client.transcript, &t.client.self, one, &t.err);
    peer_session_key(&t.server.transcript, &t.server.self, other, &t.err);
    ck_assert_mem_eq(one, other, PEER_KEY);
    ck_assert_mem_ne(one, t.client.self.prover.arg, PEER_KEY);
    memcpy(before, one, PEER_KEY);
    ck_assert_int_eq(run(&t, ASKED, NULL), 3);
    peer_session_key(&t.client.transcript, &t.client.self, one, &t.err);
    ck_assert_mem_ne(one, before, PEER_KEY);
}
END_TEST

START_TEST(a_node_asks_itself)
{
    struct talk t = start;

    t.server.self = t.client.self;
    ck_assert_int_eq(run(&t, ASKS, NULL), 3);
}
END_TEST

/* Of every packet, any byte: the peer that reads it, or the next one that
 * checks a proof, gives up. */
static const struct {
    enum packet packet;
    size_t size;
} packets[] = {{CHALLENGE, PEER_CHALLENGE},
               {HELLO, PEER_HELLO},
               {WELCOME, PEER_WELCOME_MAX - PEER_VERSION_MAX + 5}};

START_TEST(no_byte_may_be_altered)
{
    for (size_t at = 0; at < packets[_i].size; at++)
        for (unsigned bit = 0; bit < 8; bit++) {
            struct change c = {packets[_i].packet, at, (uint8_t)(1U << bit),
                               false};
            struct talk t = start;

            ck_assert_msg(run(&t, ASKED, &c) < 3, "byte %zu, bit %u", at, bit);
            ck_assert_uint_ne(t.err.code, 0);
        }
}
END_TEST

START_TEST(no_packet_may_be_cut_or_longer)
{
    struct change more = {packets[_i].packet, 0, 0, true};
    struct talk t = start;

    ck_assert_int_eq(run(&t, ASKED, &more), packets[_i].packet);
    for (size_t at = 0; at < packets[_i].size; at++) {
        struct change c = {packets[_i].packet, at, 0, false};

        t = start;
        ck_assert_int_eq(run(&t, ASKED, &c), packets[_i].packet);
        ck_assert_int_eq(t.err.code, ER_HANDSHAKE);
    }
}
END_TEST

static const struct {
    const char *cluster, *secret;
} impostors[] = {{"blue", "another secret of some length"},
                 {"green", PEER_SECRET},
                 {"", PEER_SECRET},
                 {"blue", ""}};

START_TEST(another_cluster_or_secret_proves_nothing)
{
    struct talk t = start;

    t.client.self =
        peer_node(impostors[_i].cluster, impostors[_i].secret, ASKS);
    ck_assert_int_eq(run(&t, ASKED, NULL), 1);
    ck_assert_int_eq(t.err.code, ER_ACCESS_DENIED);
}
END_TEST

/* A server that takes every hello, but has not the key. */
START_TEST(a_server_without_the_key_is_found_out)
{
    struct talk t = start;
    struct peer_identity real = t.server.self;
    struct span said;

    t.server.self = peer_node("blue", "not at all the right one", ASKED);
    peer_challenge_make(&t.server.transcript, &t.server.self, &said, &t.err);
    peer_challenge_read(&t.client.transcript, &t.client.self, ASKED, said,
                        &t.server_party, &t.err);
    peer_hello_make(&t.client.transcript, &t.client.self, ASKED, &said, &t.err);
    peer_hello_check(&t.server.transcript, &real, said, &t.client_party,
                     &t.err);
    peer_welcome_make(&t.server.transcript, &t.server.self, &welcome, &said,
                      &t.err);
    ck_assert_int_eq(peer_welcome_check(&t.client.transcript, &t.client.self,
                                        said, &t.welcome, &t.err),
                     -1);
    ck_assert_int_eq(t.err.code, ER_ACCESS_DENIED);
}
END_TEST

START_TEST(what_was_said_before_proves_nothing_now)
{
    struct talk t = start;
    char hello[PEER_HELLO];
    struct span said;

    ck_assert_int_eq(run(&t, ASKED, NULL), 3);
    memcpy(hello, t.client.transcript.bytes + PEER_CHALLENGE, PEER_HELLO);
    peer_challenge_make(&t.server.transcript, &t.server.self, &said, &t.err);
    said = (struct span){hello, PEER_HELLO};
    ck_assert_int_eq(peer_hello_check(&t.server.transcript, &t.server.self,
                                      said, &t.client_party, &t.err),
                     -1);
    ck_assert_int_eq(t.err.code, ER_ACCESS_DENIED);
}
END_TEST

/* What the server proves with cannot be given back as a client's proof. */
START_TEST(a_proof_is_of_one_end)
{
    struct talk t = start;
    struct peer_identity server = t.server.self;
    struct span said;
    char bytes[PEER_HELLO];

    ck_assert_int_eq(run(&t, ASKED, NULL), 3);
    memcpy(bytes, t.client.transcript.bytes + PEER_CHALLENGE, PEER_HELLO);
    memcpy(bytes + PEER_HELLO - PEER_PROOF,
           t.client.transcript.bytes + t.client.transcript.size - PEER_PROOF,
           PEER_PROOF);
    t.server.transcript.size = PEER_CHALLENGE;
    said = (struct span){bytes, sizeof(bytes)};
    ck_assert_int_eq(peer_hello_check(&t.server.transcript, &server, said,
                                      &t.client_party, &t.err),
                     -1);
}
END_TEST

START_TEST(another_node_at_the_address_is_a_mismatch)
{
    struct talk t = start;

    ck_assert_int_eq(run(&t, 10003, NULL), 0);
    ck_assert_str_eq(t.err.text,
                     "id mismatch: node 10002 answers for node 10003");
}
END_TEST

/* A client that heard nothing of the sort. */
START_TEST(another_node_id_is_refused)
{
    struct talk t = start;
    struct span said;

    peer_challenge_make(&t.server.transcript, &t.server.self, &said, &t.err);
    peer_challenge_read(&t.client.transcript, &t.client.self, ASKED, said,
                        &t.server_party, &t.err);
    peer_hello_make(&t.client.transcript, &t.client.self, 10007, &said, &t.err);
    ck_assert_int_eq(peer_hello_check(&t.server.transcript, &t.server.self,
                                      said, &t.client_party, &t.err),
                     -1);
    ck_assert_str_eq(t.err.text,
                     "id mismatch: this is node 10002, not node 10007");
}
END_TEST

START_TEST(a_second_node_of_the_same_id_is_a_mismatch)
{
    static const char text[] = "id mismatch: two nodes claim to be node 10001";
    struct talk t = start;
    struct span said;

    t.server.self = peer_node("blue", PEER_SECRET, ASKS);
    ck_assert_int_eq(run(&t, ASKS, NULL), 0);
    ck_assert_str_eq(t.err.text, text);

    peer_challenge_make(&t.server.transcript, &t.server.self, &said, &t.err);
    memcpy(t.client.transcript.bytes, said.data, said.size);
    t.client.transcript.size = said.size;
    peer_hello_make(&t.client.transcript, &t.client.self, ASKS, &said, &t.err);
    ck_assert_int_eq(peer_hello_check(&t.server.transcript, &t.server.self,
                                      said, &t.client_party, &t.err),
                     -1);
    ck_assert_str_eq(t.err.text, text);
}
END_TEST

START_TEST(a_secret_has_a_length)
{
    char cluster[PEER_CLUSTER_MAX + 2], secret[PEER_SECRET_MAX + 2];
    struct peer_key made = {{7}};
    struct error err;

    memset(cluster, 'c', sizeof(cluster));
    cluster[PEER_CLUSTER_MAX + 1] = '\0';
    memset(secret, 's', sizeof(secret));
    secret[PEER_SECRET_MAX + 1] = '\0';
    ck_assert_int_eq(peer_key_make(&made, "", "fifteen letters", &err), -1);
    ck_assert_ptr_nonnull(strstr(err.text, "shorter than 16 bytes"));
    ck_assert_int_eq(peer_key_make(&made, "", secret, &err), -1);
    ck_assert_int_eq(peer_key_make(&made, cluster, "", &err), -1);
    ck_assert_uint_eq(made.bytes[0], 7);
    cluster[PEER_CLUSTER_MAX] = secret[PEER_SECRET_MAX] = '\0';
    ck_assert_int_eq(peer_key_make(&made, cluster, secret, &err), 0);
}
END_TEST

START_TEST(a_secret_makes_one_key_and_none_makes_any)
{
    struct peer_identity one = peer_node("blue", PEER_SECRET, 1);
    struct peer_identity two = peer_node("blue", PEER_SECRET, 2);

    ck_assert_mem_eq(one.prover.arg, two.prover.arg, PEER_KEY);
    ck_assert_mem_ne(one.incarnation, two.incarnation, PEER_INCARNATION);
    one = peer_node("blue", "", 1);
    two = peer_node("blue", "", 1);
    ck_assert_mem_ne(one.prover.arg, two.prover.arg, PEER_KEY);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("peer_proof");
    TCase *tcase = tcase_create("peer_proof");

    tcase_add_checked_fixture(tcase, set_up, NULL);
    tcase_add_test(tcase, two_of_one_cluster_agree_on_a_key);
    tcase_add_test(tcase, a_node_asks_itself);
    tcase_add_loop_test(tcase, no_byte_may_be_altered, 0, PACKETS);
    tcase_add_loop_test(tcase, no_packet_may_be_cut_or_longer, 0, PACKETS);
    tcase_add_loop_test(tcase, another_cluster_or_secret_proves_nothing, 0,
                        sizeof(impostors) / sizeof(impostors[0]));
    tcase_add_test(tcase, a_server_without_the_key_is_found_out);
    tcase_add_test(tcase, what_was_said_before_proves_nothing_now);
    tcase_add_test(tcase, a_proof_is_of_one_end);
    tcase_add_test(tcase, another_node_at_the_address_is_a_mismatch);
    tcase_add_test(tcase, another_node_id_is_refused);
    tcase_add_test(tcase, a_second_node_of_the_same_id_is_a_mismatch);
    tcase_add_test(tcase, a_secret_has_a_length);
    tcase_add_test(tcase, a_secret_makes_one_key_and_none_makes_any);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
