/* test_handshake.c - logins as real clients send them, whole and cut. */
#include <stdlib.h>
#include <string.h>

#include "capability.h"
#include "errors.h"
#include "handshake.h"
#include "reply.h"
#include "suite.h"

#define ZERO23      "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
#define SHA1_20     "01234567890123456789"
#define SHA2_32     "01234567890123456789012345678901"
#define BYTES(text) text, sizeof(text) - 1

/* The flags of each client are what it really sends, unmasked. */
static const struct login {
    const char *who;
    const char *packet;
    size_t size;
    const char *user, *answer, *database, *plugin;
} logins[] = {
    {"PyMySQL, with attributes",
     BYTES("\x8f\xa2\x3a\x00\xff\xff\xff\x00\x2d" ZERO23 "root\0"
           "\x14" SHA1_20 "heapwire\0mysql_native_password\0"
           "\x0f\x0c_client_name\x01x"),
     "root", SHA1_20, "heapwire", "mysql_native_password"},
    {"PyMySQL, no database",
     BYTES("\x85\xa2\x3a\x00\xff\xff\xff\x00\x2d" ZERO23 "root\0"
           "\x14" SHA1_20 "mysql_native_password\0"),
     "root", SHA1_20, "", "mysql_native_password"},
    {"mariadb CLI, bit 29, no password",
     BYTES("\x85\xa6\xbf\x20\x00\x00\x00\x01\x2d" ZERO23 "root\0"
           "\0mysql_native_password\0\x0e\x0c_client_name\0"),
     "root", "", "", "mysql_native_password"},
    {"Connector/J 9, its own plugin and DEPRECATE_EOF",
     BYTES("\x07\xa2\x3e\x01\xff\xff\xff\x00\xff" ZERO23 "admin\0"
           "\x20" SHA2_32 "caching_sha2_password\0\x00"),
     "admin", SHA2_32, "", "caching_sha2_password"},
    {"libmysqlclient 9: another plugin and no data",
     BYTES("\x85\xa6\xff\x19\x00\x00\x00\x01\xff" ZERO23 "admin\0"
           "\0caching_sha2_password\0"),
     "admin", "", "", "caching_sha2_password"},
    {"mysqlnd: one byte of length, no LENENC",
     BYTES("\x85\xa2\x0a\x00\x00\x00\x00\xc0\x2d" ZERO23 "php\0"
           "\x14" SHA1_20 "mysql_native_password\0"),
     "php", SHA1_20, "", "mysql_native_password"},
    {"node mysql2: an empty database",
     BYTES("\xcf\xf3\xbb\x00\x00\x00\x00\x00\xe0" ZERO23 "js\0"
           "\x14" SHA1_20 "\0mysql_native_password\0"),
     "js", SHA1_20, "", "mysql_native_password"},
    {"no plugin named: native",
     BYTES("\x05\xa2\x02\x00\x00\x00\x00\x01\x2d" ZERO23 "old\0"
           "\x14" SHA1_20),
     "old", SHA1_20, "", "mysql_native_password"},
    {"a plugin without its NUL",
     BYTES("\x05\xa2\x0a\x00\x00\x00\x00\x01\x2d" ZERO23 "u\0"
           "\x14" SHA1_20 "caching_sha2_password"),
     "u", SHA1_20, "", "caching_sha2_password"},
    {"an empty user",
     BYTES("\x05\xa2\x0a\x00\x00\x00\x00\x01\x2d" ZERO23 "\0"
           "\0mysql_native_password\0"),
     "", "", "", "mysql_native_password"},
};

START_TEST(clients_are_understood)
{
    const struct login *l = &logins[_i];
    struct handshake h;
    struct error err;

    ck_assert_msg(
        handshake_decode((struct span){l->packet, l->size}, &h, &err) == 0,
        "%s: %s", l->who, err.text);
    ck_assert_msg(span_is(h.user, l->user), "%s", l->who);
    ck_assert_msg(span_is(h.answer, l->answer), "%s", l->who);
    ck_assert_msg(span_is(h.database, l->database), "%s", l->who);
    ck_assert_msg(span_is(h.plugin, l->plugin), "%s", l->who);
    ck_assert_uint_eq(h.capabilities & ~(uint32_t)(CAPABILITIES_OFFERED |
                                                   CAPABILITY_PROGRESS),
                      0);
}
END_TEST

/* Each cut copy is its own allocation, so that ASan sees a byte too far. */
START_TEST(cut_anywhere_they_fail_or_lack_the_rest)
{
    const struct login *l = &logins[_i];
    const size_t fixed = 32 + strlen(l->user) + 1 + 1 + strlen(l->answer);

    for (size_t size = 0; size < l->size; size++) {
        char *copy = malloc(size ? size : 1);
        struct handshake h;
        struct error err;
        int rc;

        memcpy(copy, l->packet, size);
        rc = handshake_decode((struct span){copy, size}, &h, &err);
        if (size < fixed) {
            ck_assert_int_eq(rc, -1);
            ck_assert_uint_eq(err.code, ER_HANDSHAKE);
        } else {
            ck_assert_int_eq(rc, 0);
            ck_assert(span_is(h.user, l->user));
            ck_assert_uint_le(h.database.size, strlen(l->database) + 64);
        }
        free(copy);
    }
}
END_TEST

static const struct {
    const char *packet;
    size_t size;
} wrong[] = {
    {BYTES("")},
    {BYTES("\x00\x00\x00\x00")},                            /* protocol 3.20 */
    {BYTES("\x85\xae\x0a\x00\x00\x00\x00\x01\x2d" ZERO23)}, /* TLS twice */
    {BYTES("\x05\x22\x0a\x00\x00\x00\x00\x01\x2d" ZERO23 "old\0\0")},
    {BYTES("\x05\xa2\x0a\x00\x00\x00\x00\x01\x2d" ZERO23 "u\0\xfb")},
    {BYTES("\x05\xa2\x0a\x00\x00\x00\x00\x01\x2d" ZERO23 "u\0\xff")},
    {BYTES("\x05\xa2\x0a\x00\x00\x00\x00\x01\x2d" ZERO23
           "u\0\xfe\xff\xff\xff\xff\xff\xff\xff\xff")},
};

START_TEST(what_is_no_login_is_refused)
{
    struct handshake h;
    struct error err;

    ck_assert_int_eq(
        handshake_decode((struct span){wrong[_i].packet, wrong[_i].size}, &h,
                         &err),
        -1);
    ck_assert_uint_eq(err.code, ER_HANDSHAKE);
    ck_assert_str_eq(err.sqlstate, "08S01");
}
END_TEST

static const struct {
    const char *packet;
    size_t size;
    bool wants;
} requests[] = {
    {BYTES("\x85\xae\x0a\x00\x00\x00\x00\x01\x2d" ZERO23), true},
    {BYTES("\x85\xa6\x0a\x00\x00\x00\x00\x01\x2d" ZERO23), false},
    {BYTES("\x85\xae\x0a\x00\x00\x00\x00\x01\x2d" ZERO23 "u\0\0"), false},
    {BYTES("\x85\xae\x0a\x00\x00\x00\x00\x01"), false},
    {BYTES("\x85\xae\x0a\x00"), true},
    {BYTES("\x85\xa6\x0a\x00"), false},
    {BYTES("\x85\xae"), false},
    {BYTES(""), false},
};

START_TEST(a_request_for_tls_is_4_or_32_bytes_with_its_bit)
{
    struct span packet = {requests[_i].packet, requests[_i].size};

    ck_assert(handshake_wants_tls(packet) == requests[_i].wants);
}
END_TEST

START_TEST(change_user_is_understood_and_may_be_cut)
{
    static const char packet[] = "bob\0\x14" SHA1_20 "heapwire\0\x2d\0"
                                 "mysql_native_password\0";
    struct handshake h;
    struct error err;

    for (size_t size = 0; size < sizeof(packet) - 1; size++) {
        char *copy = malloc(size ? size : 1);
        int rc;

        memcpy(copy, packet, size);
        rc = handshake_decode_change((struct span){copy, size}, &h, &err);
        /* Behind the database there may be nothing, but no half number. */
        ck_assert_int_eq(rc, size < 25 || size == 35 ? -1 : 0);
        free(copy);
    }
    ck_assert_int_eq(handshake_decode_change(
                         (struct span){packet, sizeof(packet) - 1}, &h, &err),
                     0);
    ck_assert(span_is(h.user, "bob"));
    ck_assert(span_is(h.database, "heapwire"));
    ck_assert(span_is(h.plugin, "mysql_native_password"));
    ck_assert_uint_eq(h.answer.size, 20);
}
END_TEST

START_TEST(the_greeting_is_laid_out_to_the_byte)
{
    static const char expected[] = "\x54\0\0\0"
                                   "\x0a"
                                   "8.0.36-heapwire-test\0"
                                   "\x78\x56\x34\x12"
                                   "abcdefgh\0"
                                   "\x0f\xef" /* low capabilities */
                                   "\x2d"
                                   "\x02\0"
                                   "\x7f\x01" /* high capabilities */
                                   "\x15"
                                   "\0\0\0\0\0\0\0\0\0\0"
                                   "ijklmnopqrst\0"
                                   "mysql_native_password";
    struct reply reply;

    reply_init(&reply);
    handshake_greet(&reply, 0x12345678, "8.0.36-heapwire-test",
                    (const uint8_t *)"abcdefghijklmnopqrst");
    ck_assert_uint_eq(reply.out.size, sizeof(expected));
    ck_assert(memcmp(reply.out.data + 4, expected + 4, sizeof(expected) - 4) ==
              0);
    ck_assert_uint_eq((uint8_t)reply.out.data[0], reply.out.size - 4);
    ck_assert_uint_eq(reply.sequence, 1);
    reply_fini(&reply);
}
END_TEST

START_TEST(the_switch_carries_the_nonce_and_a_nul)
{
    static const char expected[] = "\x2c\0\0\2\xfe"
                                   "caching_sha2_password\0"
                                   "abcdefghijklmnopqrst";
    struct reply reply;

    reply_init(&reply);
    reply.sequence = 2;
    handshake_switch(&reply, (const uint8_t *)"abcdefghijklmnopqrst");
    ck_assert_uint_eq(reply.out.size, sizeof(expected));
    ck_assert(memcmp(reply.out.data, expected, sizeof(expected)) == 0);
    buffer_clear(&reply.out);
    handshake_fast_ok(&reply);
    ck_assert_uint_eq(reply.out.size, 6);
    ck_assert(memcmp(reply.out.data, "\2\0\0\3\1\3", 6) == 0);
    reply_fini(&reply);
}
END_TEST

int
main(void)
{
    const int count = sizeof(logins) / sizeof(logins[0]);
    Suite *suite = suite_create("handshake");
    TCase *tc = tcase_create("handshake");

    tcase_add_loop_test(tc, clients_are_understood, 0, count);
    tcase_add_loop_test(tc, cut_anywhere_they_fail_or_lack_the_rest, 0, count);
    tcase_add_loop_test(tc, what_is_no_login_is_refused, 0,
                        sizeof(wrong) / sizeof(wrong[0]));
    tcase_add_loop_test(tc, a_request_for_tls_is_4_or_32_bytes_with_its_bit, 0,
                        sizeof(requests) / sizeof(requests[0]));
    tcase_add_test(tc, change_user_is_understood_and_may_be_cut);
    tcase_add_test(tc, the_greeting_is_laid_out_to_the_byte);
    tcase_add_test(tc, the_switch_carries_the_nonce_and_a_nul);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
