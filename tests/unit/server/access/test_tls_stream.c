/* test_tls_stream.c - TLS between a stream and OpenSSL's client, in memory. */
#include <stdlib.h>
#include <string.h>

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include "buffer.h"
#include "certificate.h"
#include "errors.h"
#include "failing_memory.h"
#include "suite.h"
#include "tls_stream.h"

enum { MUCH = 1000 * 1000 };

static SSL_CTX *context, *client_context;
static struct tls_stream *server;
static SSL *client;
static BIO *to_client, *from_client;
static struct buffer got; /* clear text, at the server */
static struct error err;

static void
setup(void)
{
    struct certificate certificate;

    allocations = 0;
    failing = 0;
    ck_assert_int_eq(certificate_init(&certificate, "", "", &err), 0);
    context = tls_context_new(&certificate, &err);
    ck_assert_ptr_nonnull(context);
    certificate_fini(&certificate);
    server = tls_stream_new(context, &err);
    ck_assert_ptr_nonnull(server);
    client_context = SSL_CTX_new(TLS_client_method());
    client = SSL_new(client_context);
    to_client = BIO_new(BIO_s_mem());
    from_client = BIO_new(BIO_s_mem());
    SSL_set_bio(client, to_client, from_client);
    SSL_set_connect_state(client);
    buffer_init(&got, 4 * MUCH);
}

static void
teardown(void)
{
    failing = 0;
    tls_stream_free(server);
    SSL_free(client);
    SSL_CTX_free(client_context);
    SSL_CTX_free(context);
    buffer_fini(&got);
}

static int
keep(void *arg, const void *data, size_t size)
{
    buffer_add(arg, data, size);
    return 0;
}

static int
want_no_more(void *arg, const void *data, size_t size)
{
    (void)arg;
    (void)data;
    (void)size;
    return -1;
}

/* What the client has to say, at most step bytes at a time. */
static enum tls_state
to_server(size_t step, tls_sink *sink)
{
    enum tls_state state = TLS_OPEN;
    char *copy = malloc(step);
    int n;

    while (state == TLS_OPEN &&
           (n = BIO_read(from_client, copy, (int)step)) > 0)
        state = tls_stream_receive(server, (struct span){copy, (size_t)n}, sink,
                                   &got, &err);
    free(copy);
    return state;
}

/* The bytes of one write. */
static size_t
from_server(bool last)
{
    struct buffer out = {0};
    size_t size;

    ck_assert_int_eq(tls_stream_seal(server, last, &out), 0);
    size = out.size;
    ck_assert_uint_le(size, TLS_OUT_MAX);
    if (size > 0)
        ck_assert_int_eq(BIO_write(to_client, out.data, (int)size), (int)size);
    buffer_fini(&out);
    return size;
}

static void
shake_hands(size_t step)
{
    for (int turn = 0; SSL_do_handshake(client) != 1; turn++) {
        ck_assert_int_lt(turn, 4);
        ck_assert(to_server(step, keep) == TLS_OPEN);
        from_server(false);
    }
    ck_assert(to_server(step, keep) == TLS_OPEN);
    ck_assert(tls_stream_is_up(server));
}

static void
give(size_t size)
{
    struct buffer clear;
    char *room;

    buffer_init(&clear, size);
    room = buffer_reserve(&clear, size);
    ck_assert_ptr_nonnull(room);
    for (size_t i = 0; i < size; i++)
        room[i] = (char)(i % 251);
    buffer_claim(&clear, size);
    tls_stream_give(server, &clear);
    ck_assert_uint_eq(clear.size, 0);
    ck_assert_uint_eq(tls_stream_unsent(server), size);
}

static const size_t steps[] = {1, 5, 100, 70000};

START_TEST(bytes_may_come_in_any_pieces)
{
    shake_hands(steps[_i]);
    ck_assert_int_eq(SSL_write(client, "hello", 5), 5);
    ck_assert_int_eq(SSL_write(client, "world", 5), 5);
    ck_assert(to_server(steps[_i], keep) == TLS_OPEN);
    ck_assert_str_eq(got.data, "helloworld");
    ck_assert_str_eq(tls_stream_version(server), "TLSv1.3");
    ck_assert_str_eq(tls_stream_cipher(server), SSL_get_cipher_name(client));
    SSL_shutdown(client);
    ck_assert(to_server(steps[_i], keep) == TLS_ENDED);
}
END_TEST

START_TEST(much_goes_out_in_chunks_and_then_goodbye)
{
    static char room[MUCH];
    size_t have = 0, size, n;

    shake_hands(4096);
    give(MUCH);
    while (tls_stream_unsent(server) > 0) {
        size = from_server(true);
        ck_assert_uint_gt(size, 0);
        ck_assert_uint_lt(size, TLS_CHUNK + TLS_CHUNK / 64 + 256);
        while (SSL_read_ex(client, room + have, sizeof(room) - have, &n) == 1)
            have += n;
    }
    ck_assert_uint_eq(have, MUCH);
    for (n = 0; n < MUCH && (unsigned char)room[n] == n % 251; n++)
        ;
    ck_assert_uint_eq(n, MUCH);
    ck_assert_int_eq(SSL_read(client, room, 1), 0);
    ck_assert_int_eq(SSL_get_shutdown(client), SSL_RECEIVED_SHUTDOWN);
    ck_assert_uint_eq(from_server(true), 0);
}
END_TEST

START_TEST(clear_text_waits_for_the_handshake)
{
    char room[100];

    give(100);
    ck_assert_uint_eq(from_server(true), 0);
    shake_hands(4096);
    ck_assert_uint_eq(tls_stream_unsent(server), 100);
    ck_assert_uint_gt(from_server(false), 100);
    ck_assert_int_eq(SSL_read(client, room, sizeof(room)), 100);
}
END_TEST

START_TEST(a_second_batch_waits_for_the_first)
{
    struct buffer clear;

    give(10);
    buffer_init(&clear, 10);
    buffer_text(&clear, "more");
    tls_stream_give(server, &clear);
    ck_assert_uint_eq(clear.size, 4);
    ck_assert_uint_eq(tls_stream_unsent(server), 10);
    buffer_fini(&clear);
}
END_TEST

START_TEST(key_updates_are_followed_but_not_a_flood_of_them)
{
    enum tls_state state = TLS_OPEN;
    int count = 0;

    shake_hands(4096);
    for (int i = 0; i < 100; i++) {
        ck_assert_int_eq(SSL_key_update(client, SSL_KEY_UPDATE_REQUESTED), 1);
        ck_assert_int_eq(SSL_write(client, "x", 1), 1);
        ck_assert(to_server(4096, keep) == TLS_OPEN);
    }
    ck_assert_uint_eq(got.size, 100);
    for (; state == TLS_OPEN; count++) {
        ck_assert_int_lt(count, TLS_MESSAGES_MAX + 1);
        ck_assert_int_eq(SSL_key_update(client, SSL_KEY_UPDATE_NOT_REQUESTED),
                         1);
        ck_assert_int_eq(SSL_do_handshake(client), 1);
        state = to_server(4096, keep);
    }
    ck_assert(state == TLS_FAILED);
    ck_assert_str_eq(err.text, "too many messages without data");
    ck_assert(to_server(4096, keep) == TLS_OPEN); /* nothing was left */
    give(10);
    from_server(true); /* nor is any data sent */
    ck_assert_uint_eq(tls_stream_unsent(server), 10);
}
END_TEST

START_TEST(a_flood_may_come_with_the_end_of_the_handshake)
{
    while (SSL_do_handshake(client) != 1) {
        ck_assert(to_server(70000, keep) == TLS_OPEN);
        from_server(false);
    }
    for (int i = 0; i <= TLS_MESSAGES_MAX; i++) {
        ck_assert_int_eq(SSL_key_update(client, SSL_KEY_UPDATE_NOT_REQUESTED),
                         1);
        ck_assert_int_eq(SSL_do_handshake(client), 1);
    }
    ck_assert_int_eq(SSL_write(client, "x", 1), 1);
    ck_assert(to_server(70000, keep) == TLS_FAILED); /* all in one piece */
    ck_assert_str_eq(err.text, "too many messages without data");
    ck_assert_uint_eq(got.size, 0);
}
END_TEST

START_TEST(garbage_gets_an_alert_and_no_more)
{
    static const char junk[] = "GET / HTTP/1.1\r\n\r\n";
    struct span bytes = {junk, sizeof(junk) - 1};
    struct buffer out = {0};

    ck_assert(tls_stream_receive(server, bytes, keep, &got, &err) ==
              TLS_FAILED);
    ck_assert_str_eq(err.text, "http request");
    ck_assert_int_eq(tls_stream_seal(server, true, &out), 0);
    buffer_fini(&out);
    ck_assert(tls_stream_receive(server, bytes, keep, &got, &err) == TLS_ENDED);
    ck_assert_uint_eq(got.size, 0);
}
END_TEST

START_TEST(a_false_from_the_callback_ends_it)
{
    shake_hands(4096);
    ck_assert_int_eq(SSL_write(client, "x", 1), 1);
    ck_assert(to_server(4096, want_no_more) == TLS_ENDED);
}
END_TEST

START_TEST(want_of_memory_ends_it)
{
    struct buffer out = {0};
    struct tls_stream *other;

    failing = allocations + 1;
    other = tls_stream_new(context, &err);
    ck_assert_ptr_null(other);
    ck_assert_uint_eq(err.code, ER_OUT_OF_MEMORY);
    shake_hands(4096);
    give(100);
    failing = allocations + 1;
    ck_assert_int_eq(tls_stream_seal(server, false, &out), -1);
    ck_assert_ptr_null(out.data);
}
END_TEST

START_TEST(no_memory_for_the_handshake_fails_it)
{
    ck_assert_int_eq(SSL_do_handshake(client), -1);
    failing = allocations + 1;
    ck_assert(to_server(4096, keep) == TLS_FAILED);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("tls_stream");
    TCase *tc = tcase_create("tls_stream");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, bytes_may_come_in_any_pieces, 0,
                        sizeof(steps) / sizeof(steps[0]));
    tcase_add_test(tc, much_goes_out_in_chunks_and_then_goodbye);
    tcase_add_test(tc, clear_text_waits_for_the_handshake);
    tcase_add_test(tc, a_second_batch_waits_for_the_first);
    tcase_add_test(tc, key_updates_are_followed_but_not_a_flood_of_them);
    tcase_add_test(tc, a_flood_may_come_with_the_end_of_the_handshake);
    tcase_add_test(tc, garbage_gets_an_alert_and_no_more);
    tcase_add_test(tc, a_false_from_the_callback_ends_it);
    tcase_add_test(tc, want_of_memory_ends_it);
    tcase_add_test(tc, no_memory_for_the_handshake_fails_it);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
