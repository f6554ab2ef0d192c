/* test_chunk.c - rows made ahead, given to a session or written at once. */
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "capability.h"
#include "chunk.h"
#include "errors.h"
#include "suite.h"

static struct chunk chunk;
static struct reply session;

static void
setup(void)
{
    chunk_init(&chunk);
    reply_init(&session);
    session.capabilities = CAPABILITY_PROTOCOL_41;
    session.sequence = 254;
}

static void
teardown(void)
{
    chunk_fini(&chunk);
    reply_fini(&session);
}

static void
make_row(const char *text, size_t size)
{
    struct value value = {VALUE_TEXT, text, size, 0, 0};
    struct error err;

    ck_assert_int_eq(reply_row(&chunk.reply, &value, 1, &err), 0);
    chunk.rows++;
}

static void
expect(const char *bytes, size_t size)
{
    ck_assert_uint_eq(session.out.size, size);
    ck_assert(memcmp(session.out.data, bytes, size) == 0);
}

START_TEST(its_packets_run_on_from_the_sessions)
{
    chunk_begin(&chunk, &session);
    make_row("a", 1);
    make_row("b", 1);
    chunk_give(&chunk, &session);
    expect("\2\0\0\xfe\1a\2\0\0\xff\1b", 12);
    ck_assert_uint_eq(session.sequence, 0);
    ck_assert_uint_eq(chunk.reply.out.size, 0);
}
END_TEST

START_TEST(what_the_session_said_meanwhile_comes_first)
{
    chunk_begin(&chunk, &session);
    make_row("a", 1);
    make_row("b", 1);
    reply_text(&session, "x");
    chunk_give(&chunk, &session);
    expect("\1\0\0\xfex\2\0\0\xff\1a\2\0\0\0\1b", 17);
    ck_assert_uint_eq(session.sequence, 1);
}
END_TEST

/* Filled until the socket is, then read to the end: every byte came once. */
START_TEST(what_a_socket_does_not_take_is_left_to_be_given)
{
    static char text[64 * 1024]; /* 4 bytes tell its size */
    static char got[sizeof(text)];
    size_t made = 0, left, read_back = 0;
    ssize_t n;
    int fds[2];

    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    chunk_begin(&chunk, &session);
    do {
        make_row(text, sizeof(text));
        made++;
    } while (chunk_full(&chunk) && chunk_write(&chunk, fds[0]));
    left = chunk.reply.out.size;
    ck_assert_uint_gt(left, 0);
    ck_assert_uint_eq(chunk.written_rows, made - 1);
    ck_assert_uint_eq(chunk.written_bytes + left, made * (sizeof(text) + 8));
    while (read_back < chunk.written_bytes) {
        n = read(fds[1], got, sizeof(got));
        ck_assert_int_gt(n, 0);
        read_back += (size_t)n;
    }
    chunk_give(&chunk, &session);
    ck_assert_uint_eq(session.out.size, left);
    ck_assert_uint_eq(session.sequence, (uint8_t)(254 + made));
    close(fds[0]);
    close(fds[1]);
}
END_TEST

START_TEST(a_socket_without_a_reader_is_no_end_of_the_process)
{
    int fds[2];

    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    close(fds[1]);
    chunk_begin(&chunk, &session);
    make_row("a", 1);
    ck_assert(!chunk_write(&chunk, fds[0]));
    ck_assert_uint_eq(chunk.reply.out.size, 6);
    close(fds[0]);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("chunk");
    TCase *tc = tcase_create("chunk");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, its_packets_run_on_from_the_sessions);
    tcase_add_test(tc, what_the_session_said_meanwhile_comes_first);
    tcase_add_test(tc, what_a_socket_does_not_take_is_left_to_be_given);
    tcase_add_test(tc, a_socket_without_a_reader_is_no_end_of_the_process);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
