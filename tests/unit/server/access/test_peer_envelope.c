/* test_peer_envelope.c - statements sealed for another node. */
#include "buffer.h"
#include "peer_proof.h"
#include "peer_fixture.h"
#include "suite.h"

static const uint8_t key[PEER_KEY] = {1, 2, 3};

static const struct peer_envelope sample = {
    .sequence = 7,
    .forwarded = {
        .verb = PEER_SELECT,
        .text = {"SELECT 1", 8},
        .caller = {.user = "admin",
                   .host = "10.1.2.3",
                   .privileges = PRIVILEGE_STATUS | PRIVILEGE_CLUSTER},
        .connection_id = 42,
        .timeout_ms = 60000}};

static struct buffer
seal(const struct peer_envelope *envelope)
{
    struct buffer out;
    struct error err;

    buffer_init(&out, PEER_ENVELOPE_MAX);
    ck_assert_int_eq(peer_envelope_seal(envelope, key, &out, &err), 0);
    return out;
}

static struct span
bytes_of(const struct buffer *b)
{
    return (struct span){b->data, b->size};
}

START_TEST(what_is_sealed_is_read)
{
    struct buffer sealed = seal(&sample);
    const struct peer_forwarded *f;
    struct peer_envelope read;
    struct error err;

    ck_assert_int_eq(peer_envelope_open(bytes_of(&sealed), key, &read, &err),
                     0);
    f = &read.forwarded;
    ck_assert_uint_eq(read.sequence, 7);
    ck_assert_int_eq(f->verb, PEER_SELECT);
    ck_assert(span_is(f->text, "SELECT 1"));
    ck_assert_str_eq(f->caller.user, "admin");
    ck_assert_str_eq(f->caller.host, "10.1.2.3");
    ck_assert_uint_eq(f->caller.privileges,
                      PRIVILEGE_STATUS | PRIVILEGE_CLUSTER);
    ck_assert_uint_eq(f->connection_id, 42);
    ck_assert_uint_eq(f->timeout_ms, 60000);
    buffer_fini(&sealed);
}
END_TEST

START_TEST(names_are_fit_for_a_log)
{
    struct peer_envelope envelope = sample, read;
    struct buffer sealed;
    struct error err;

    memcpy(envelope.forwarded.caller.user, "a\nb\xff", 5);
    memcpy(envelope.forwarded.caller.host, "\033[2J\303\244", 7);
    sealed = seal(&envelope);
    ck_assert_int_eq(peer_envelope_open(bytes_of(&sealed), key, &read, &err),
                     0);
    ck_assert_str_eq(read.forwarded.caller.user, "a?b?");
    ck_assert_str_eq(read.forwarded.caller.host, "?[2J\303\244");
    buffer_fini(&sealed);
}
END_TEST

START_TEST(no_bit_may_be_altered)
{
    struct buffer sealed = seal(&sample);
    struct peer_envelope read = {.sequence = 99};
    struct error err;

    for (size_t bit = 0; bit < 8 * sealed.size; bit++) {
        sealed.data[bit / 8] ^= (char)(1 << bit % 8);
        ck_assert_int_eq(
            peer_envelope_open(bytes_of(&sealed), key, &read, &err), -1);
        ck_assert_int_eq(err.code, ER_ACCESS_DENIED);
        sealed.data[bit / 8] ^= (char)(1 << bit % 8);
    }
    ck_assert_uint_eq(read.sequence, 99);
    buffer_fini(&sealed);
}
END_TEST

START_TEST(none_may_be_cut)
{
    struct buffer sealed = seal(&sample);
    struct peer_envelope read;
    struct error err;

    for (size_t size = 0; size < sealed.size; size++)
        ck_assert_int_eq(peer_envelope_open((struct span){sealed.data, size},
                                            key, &read, &err),
                         -1);
    buffer_fini(&sealed);
}
END_TEST

START_TEST(another_connections_key_opens_nothing)
{
    static const uint8_t other[PEER_KEY] = {1, 2, 4};
    struct buffer sealed = seal(&sample);
    struct peer_envelope read;
    struct error err;

    ck_assert_int_eq(peer_envelope_open(bytes_of(&sealed), other, &read, &err),
                     -1);
    ck_assert_int_eq(err.code, ER_ACCESS_DENIED);
    buffer_fini(&sealed);
}
END_TEST

/* With the right seal: what a node of another version might say, or one that
 * an attacker has broken into. */
enum { PLACE_VERB = 9, PLACE_USER = 14, PLACE_HOST = 20, PLACE_RIGHTS = 29 };

static const struct {
    size_t at;
    uint8_t byte;
} nonsense[] = {{0, 2},                     /* version */
                {PLACE_VERB, 2},            /* verb */
                {PLACE_USER, 65},           /* longer than a name */
                {PLACE_USER, 255},          /* and than the envelope */
                {PLACE_USER + 1, 0},        /* a NUL in it */
                {PLACE_HOST, 200},          /* host */
                {PLACE_RIGHTS, 0xff},       /* privileges that there are not */
                {PLACE_RIGHTS + 3, 0x80},   /* likewise */
                {PLACE_RIGHTS + 8, 7},      /* the text shorter than it is */
                {PLACE_RIGHTS + 8, 9},      /* and longer */
                {PLACE_RIGHTS + 11, 0xff}}; /* much longer */

START_TEST(nonsense_under_a_seal_is_refused)
{
    struct buffer sealed = seal(&sample);
    struct peer_envelope read;
    struct error err;
    uint8_t proof[PEER_PROOF];

    sealed.data[nonsense[_i].at] = (char)nonsense[_i].byte;
    peer_mac(key, sealed.data, sealed.size - PEER_PROOF, proof, &err);
    memcpy(sealed.data + sealed.size - PEER_PROOF, proof, PEER_PROOF);
    ck_assert_int_eq(peer_envelope_open(bytes_of(&sealed), key, &read, &err),
                     -1);
    ck_assert_int_eq(err.code, ER_MALFORMED_PACKET);
    buffer_fini(&sealed);
}
END_TEST

START_TEST(the_largest_fits_and_a_larger_does_not)
{
    struct peer_envelope envelope = sample, read;
    char *text = malloc(PEER_TEXT_MAX + 1);
    struct buffer sealed;
    struct error err;

    ck_assert_ptr_nonnull(text);
    memset(text, 'x', PEER_TEXT_MAX + 1);
    memset(envelope.forwarded.caller.user, 'u', SQL_NAME_MAX);
    memset(envelope.forwarded.caller.host, 'h', SQL_HOST_MAX);
    envelope.forwarded.text = (struct span){text, PEER_TEXT_MAX};
    sealed = seal(&envelope);
    ck_assert_int_eq(peer_envelope_open(bytes_of(&sealed), key, &read, &err),
                     0);
    ck_assert_uint_eq(read.forwarded.text.size, PEER_TEXT_MAX);
    ck_assert_uint_eq(strlen(read.forwarded.caller.user), SQL_NAME_MAX);
    buffer_clear(&sealed);
    envelope.forwarded.text.size++;
    ck_assert_int_eq(peer_envelope_seal(&envelope, key, &sealed, &err), -1);
    ck_assert_int_eq(err.code, ER_PACKET_TOO_LARGE);
    ck_assert_uint_eq(sealed.size, 0);
    buffer_fini(&sealed);
    free(text);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("peer_envelope");
    TCase *tcase = tcase_create("peer_envelope");

    tcase_add_test(tcase, what_is_sealed_is_read);
    tcase_add_test(tcase, names_are_fit_for_a_log);
    tcase_add_test(tcase, no_bit_may_be_altered);
    tcase_add_test(tcase, none_may_be_cut);
    tcase_add_test(tcase, another_connections_key_opens_nothing);
    tcase_add_loop_test(tcase, nonsense_under_a_seal_is_refused, 0,
                        sizeof(nonsense) / sizeof(nonsense[0]));
    tcase_add_test(tcase, the_largest_fits_and_a_larger_does_not);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
