/* test_packet.c - framing in both directions. */
#include <stdlib.h>
#include <string.h>

#include "packet.h"
#include "suite.h"

enum { LIMIT = 48 * 1024 * 1024 };

static void
feed(struct packet_reader *r, const char *data, size_t size)
{
    if (size > 0) /* as a socket never gives nothing */
        ck_assert_int_eq(packet_feed(r, data, size), 0);
}

START_TEST(a_packet_may_be_cut_at_every_byte)
{
    static const char bytes[] = "\5\0\0\0hello\3\0\0\0you";
    const size_t size = sizeof(bytes) - 1;

    for (size_t cut = 0; cut <= size; cut++) {
        struct packet_reader r;
        struct span p;
        int packets = 0;

        packet_reader_init(&r, 64);
        for (int half = 0; half < 2; half++) {
            feed(&r, half ? bytes + cut : bytes, half ? size - cut : cut);
            while (packet_next(&r, &p) == PACKET_READY) {
                ck_assert(span_is(p, packets++ ? "you" : "hello"));
                packet_done(&r, 0);
            }
        }
        ck_assert_int_eq(packets, 2);
        ck_assert_uint_eq(packet_waiting(&r), 0);
        ck_assert_ptr_null(r.bytes.data); /* idle costs nothing */
        packet_reader_fini(&r);
    }
}
END_TEST

START_TEST(an_empty_packet_is_one)
{
    struct packet_reader r;
    struct span p;

    packet_reader_init(&r, 64);
    feed(&r, "\0\0\0\0", 4);
    ck_assert_int_eq(packet_next(&r, &p), PACKET_READY);
    ck_assert_uint_eq(p.size, 0);
    packet_reader_fini(&r);
}
END_TEST

START_TEST(sequence_ids_are_checked)
{
    struct packet_reader r;
    struct span p;

    packet_reader_init(&r, 64);
    feed(&r, "\1\0\0\0a\1\0\0\1b", 10);
    ck_assert_int_eq(packet_next(&r, &p), PACKET_READY);
    packet_done(&r, 0);
    ck_assert_int_eq(packet_next(&r, &p), PACKET_OUT_OF_ORDER);
    packet_reader_fini(&r);
    packet_reader_init(&r, 64);
    r.sequence = 7;
    feed(&r, "\1\0\0\7a", 5);
    ck_assert_int_eq(packet_next(&r, &p), PACKET_READY);
    packet_reader_fini(&r);
}
END_TEST

START_TEST(the_header_shows_excess_size)
{
    struct packet_reader r;
    struct span p;

    packet_reader_init(&r, 64);
    feed(&r, "\100\0\0\0", 4);
    ck_assert_int_eq(packet_next(&r, &p), PACKET_MORE);
    packet_reader_fini(&r);
    packet_reader_init(&r, 64);
    feed(&r, "\101\0\0\0", 4);
    ck_assert_int_eq(packet_next(&r, &p), PACKET_TOO_LARGE);
    packet_reader_fini(&r);
    packet_reader_init(&r, 4096); /* no continuation before the login */
    feed(&r, "\377\377\377\0", 4);
    ck_assert_int_eq(packet_next(&r, &p), PACKET_TOO_LARGE);
    packet_reader_fini(&r);
}
END_TEST

START_TEST(what_is_sent_ahead_has_a_ceiling)
{
    static char block[PACKET_AHEAD_MAX];
    struct packet_reader r;

    packet_reader_init(&r, 64);
    feed(&r, block, sizeof(block));
    feed(&r, block, 64);
    ck_assert_int_eq(packet_feed(&r, block, 1), -1);
    packet_reader_fini(&r);
}
END_TEST

static const size_t sizes[] = {0,         1,         0xfffffe,
                               0xffffff,  0x1000000, 0x1000005,
                               0x1fffffd, 0x1fffffe, 0x1ffffff};

/* Written, then read back in odd bites; pieces and ids counted by hand. */
START_TEST(large_payloads_are_split_and_joined)
{
    const size_t size = sizes[_i], chunk = 65521;
    const size_t pieces = size / PACKET_PIECE_MAX + 1;
    char *payload = malloc(size + 1);
    struct buffer out;
    struct packet_reader r;
    struct span p;
    uint8_t sequence = 254;
    size_t mark;

    for (size_t i = 0; i < size; i++)
        payload[i] = (char)(i * 31 >> 3);
    buffer_init(&out, LIMIT);
    buffer_text(&out, "before");
    mark = packet_begin(&out);
    buffer_add(&out, payload, size);
    packet_end(&out, mark, &sequence);
    ck_assert(!out.failed);
    ck_assert_uint_eq(sequence, (uint8_t)(254 + pieces));
    ck_assert_uint_eq(out.size, 6 + size + pieces * PACKET_HEADER);

    packet_reader_init(&r, LIMIT);
    r.sequence = 254;
    for (size_t at = 6; at < out.size; at += chunk) {
        ck_assert_int_eq(packet_next(&r, &p), PACKET_MORE);
        feed(&r, out.data + at, out.size - at < chunk ? out.size - at : chunk);
    }
    ck_assert_int_eq(packet_next(&r, &p), PACKET_READY);
    ck_assert_uint_eq(p.size, size);
    ck_assert(memcmp(p.data, payload, size) == 0);
    packet_reader_fini(&r);
    buffer_fini(&out);
    free(payload);
}
END_TEST

START_TEST(joined_pieces_keep_the_limit)
{
    static char piece[PACKET_HEADER + PACKET_PIECE_MAX] = "\377\377\377";
    struct packet_reader r;
    struct span p;

    packet_reader_init(&r, PACKET_PIECE_MAX + 10);
    feed(&r, piece, sizeof(piece));
    ck_assert_int_eq(packet_next(&r, &p), PACKET_MORE);
    feed(&r, "\13\0\0\1", 4);
    ck_assert_int_eq(packet_next(&r, &p), PACKET_TOO_LARGE);
    packet_reader_fini(&r);
    packet_reader_init(&r, PACKET_PIECE_MAX + 10);
    feed(&r, piece, sizeof(piece));
    ck_assert_int_eq(packet_next(&r, &p), PACKET_MORE);
    feed(&r, "\12\0\0\2", 4);
    ck_assert_int_eq(packet_next(&r, &p), PACKET_OUT_OF_ORDER);
    packet_reader_fini(&r);
}
END_TEST

START_TEST(a_packet_can_be_taken_back)
{
    struct buffer out;
    size_t mark;

    buffer_init(&out, 8);
    buffer_text(&out, "ab");
    mark = packet_begin(&out);
    buffer_text(&out, "too long for it");
    ck_assert(out.failed);
    packet_drop(&out, mark);
    ck_assert(!out.failed);
    ck_assert_uint_eq(out.size, 2);
    ck_assert_str_eq(out.data, "ab");
    buffer_fini(&out);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("packet");
    TCase *tc = tcase_create("packet");

    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, a_packet_may_be_cut_at_every_byte);
    tcase_add_test(tc, an_empty_packet_is_one);
    tcase_add_test(tc, sequence_ids_are_checked);
    tcase_add_test(tc, the_header_shows_excess_size);
    tcase_add_test(tc, what_is_sent_ahead_has_a_ceiling);
    tcase_add_loop_test(tc, large_payloads_are_split_and_joined, 0,
                        sizeof(sizes) / sizeof(sizes[0]));
    tcase_add_test(tc, joined_pieces_keep_the_limit);
    tcase_add_test(tc, a_packet_can_be_taken_back);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
