/* test_symbolizer_wire.c - the messages between client and helper. */
#include <string.h>

#include "buffer.h"
#include "suite.h"
#include "symbolizer_wire.h"

static const struct wire_frame chain[] = {{1, 300, 7}, {WIRE_TEXTS_MAX, 0, 0}};

static struct span
payload_of(const struct buffer *b, size_t max)
{
    struct span payload = {"", 0};

    ck_assert(!b->failed);
    ck_assert_int_eq(wire_next(b->data, b->size, max, &payload), WIRE_READY);
    ck_assert_uint_eq(payload.size, b->size - WIRE_HEAD);
    return payload;
}

START_TEST(a_request_comes_back_as_it_was_put)
{
    static const uint64_t offsets[] = {1, 0x1122334455667788ULL};
    struct wire_request request;
    struct buffer b;

    buffer_init(&b, WIRE_REQUEST_MAX);
    wire_put_request(&b, "/bin/x", WIRE_SYMBOLS_ONLY, offsets, 2);
    ck_assert(wire_parse_request(payload_of(&b, WIRE_REQUEST_MAX), &request));
    ck_assert(request.symbols_only);
    ck_assert(!request.has_index && !request.make_index);
    ck_assert(span_is(request.path, "/bin/x"));
    ck_assert_uint_eq(request.count, 2);
    ck_assert_uint_eq(reader_u64(&request.offsets), 1);
    ck_assert_uint_eq(reader_u64(&request.offsets), offsets[1]);
    ck_assert(reader_done(&request.offsets));
    buffer_fini(&b);
}
END_TEST

START_TEST(only_flags_that_go_together_are_taken)
{
    static const uint64_t offsets[] = {1};

    for (unsigned flags = 0; flags < 256; flags++)
        for (uint32_t count = 0; count <= 1; count++) {
            bool fits = flags == WIRE_MAKE_INDEX ||
                                flags == (WIRE_MAKE_INDEX | WIRE_SYMBOLS_DO) ||
                                flags == WIRE_MAKE_UNWIND
                            ? count == 0
                            : flags < 16 && !(flags & WIRE_MAKE_INDEX);
            struct wire_request request;
            struct buffer b;

            buffer_init(&b, WIRE_REQUEST_MAX);
            wire_put_request(&b, "/bin/x", flags, offsets, count);
            ck_assert(wire_parse_request(payload_of(&b, WIRE_REQUEST_MAX),
                                         &request) == fits);
            ck_assert_int_eq(request.has_index, (flags & WIRE_HAS_INDEX) != 0);
            ck_assert_int_eq(request.no_lines, (flags & WIRE_NO_LINES) != 0);
            ck_assert_int_eq(request.make_index,
                             (flags & WIRE_MAKE_INDEX) != 0);
            ck_assert_int_eq(request.symbols_do,
                             (flags & WIRE_SYMBOLS_DO) != 0);
            ck_assert_int_eq(request.make_unwind,
                             (flags & WIRE_MAKE_UNWIND) != 0);
            buffer_fini(&b);
        }
}
END_TEST

START_TEST(a_part_of_an_index_has_1_byte_to_64_kib)
{
    static char bytes[WIRE_PART_MAX + 1];
    struct wire_reply reply;
    struct buffer b;

    bytes[0] = 'x';
    bytes[WIRE_PART_MAX - 1] = 'y';
    for (size_t size = 0; size <= WIRE_PART_MAX + 1; size++) {
        bool fits = size > 0 && size <= WIRE_PART_MAX;

        if (size == 3)
            size = WIRE_PART_MAX - 1;
        buffer_init(&b, WIRE_REPLY_MAX);
        wire_put_part(&b, bytes, size);
        ck_assert(wire_parse_reply(payload_of(&b, WIRE_REPLY_MAX), &reply) ==
                  fits);
        ck_assert_int_eq(reply.type, WIRE_PART);
        if (fits)
            ck_assert_uint_eq(reply.part.size, size);
        if (size == WIRE_PART_MAX)
            ck_assert_mem_eq(reply.part.data, bytes, size);
        buffer_fini(&b);
    }
}
END_TEST

START_TEST(an_answer_comes_back_as_it_was_put)
{
    struct wire_reply reply;
    struct buffer b;

    buffer_init(&b, WIRE_REPLY_MAX);
    wire_put_answer(&b, 0x1234, 2, chain, 2);
    ck_assert(wire_parse_reply(payload_of(&b, WIRE_REPLY_MAX), &reply));
    ck_assert_int_eq(reply.type, WIRE_ANSWER);
    ck_assert_uint_eq(reply.start, 0x1234);
    ck_assert_uint_eq(reply.symbol, 2);
    ck_assert_uint_eq(reply.frame_count, 2);
    ck_assert_uint_eq(reply.frames[0].function, 1);
    ck_assert_uint_eq(reply.frames[0].file, 300);
    ck_assert_uint_eq(reply.frames[0].line, 7);
    ck_assert_uint_eq(reply.frames[1].function, WIRE_TEXTS_MAX);
    ck_assert_uint_eq(reply.frames[1].file, 0);
    buffer_clear(&b);
    wire_put_text(&b, "/src/a.cc", WIRE_FILE_MAX);
    ck_assert(wire_parse_reply(payload_of(&b, WIRE_REPLY_MAX), &reply));
    ck_assert_int_eq(reply.type, WIRE_TEXT);
    ck_assert(span_is(reply.text, "/src/a.cc"));
    buffer_clear(&b);
    wire_put_done(&b, "cannot read it");
    ck_assert(wire_parse_reply(payload_of(&b, WIRE_REPLY_MAX), &reply));
    ck_assert_int_eq(reply.type, WIRE_DONE);
    ck_assert(span_is(reply.complaint, "cannot read it"));
    buffer_clear(&b);
    wire_put_refused(&b, "of another build");
    ck_assert(wire_parse_reply(payload_of(&b, WIRE_REPLY_MAX), &reply));
    ck_assert_int_eq(reply.type, WIRE_REFUSED);
    ck_assert(span_is(reply.complaint, "of another build"));
    buffer_fini(&b);
}
END_TEST

START_TEST(cut_at_any_byte_nothing_is_taken)
{
    static const uint64_t offsets[] = {3, 4, 5};
    struct wire_request request;
    struct wire_reply reply;
    struct buffer b, q;
    struct span payload;

    buffer_init(&b, WIRE_REPLY_MAX);
    buffer_init(&q, WIRE_REQUEST_MAX);
    wire_put_answer(&b, 1, 1, chain, 2);
    wire_put_request(&q, "/bin/x", 0, offsets, 3);
    for (size_t n = 0; n < b.size; n++)
        ck_assert_int_eq(wire_next(b.data, n, WIRE_REPLY_MAX, &payload),
                         WIRE_MORE);
    for (size_t n = 0; n < b.size - WIRE_HEAD; n++) {
        payload = (struct span){b.data + WIRE_HEAD, n};
        ck_assert(!wire_parse_reply(payload, &reply));
    }
    for (size_t n = 0; n < q.size - WIRE_HEAD; n++) {
        payload = (struct span){q.data + WIRE_HEAD, n};
        ck_assert(!wire_parse_request(payload, &request));
    }
    buffer_char(&b, 'x');
    payload = (struct span){b.data + WIRE_HEAD, b.size - WIRE_HEAD};
    ck_assert(!wire_parse_reply(payload, &reply));
    buffer_fini(&b);
    buffer_fini(&q);
}
END_TEST

START_TEST(another_version_is_recognised)
{
    static const char newer[] = {WIRE_NAME, WIRE_VERSION + 1, 'x', 'y'};
    struct wire_request request;

    ck_assert(wire_parse_request((struct span){newer, 4}, &request));
    ck_assert_uint_eq(request.version, WIRE_VERSION + 1);
}
END_TEST

START_TEST(sizes_past_the_ceiling_are_refused)
{
    static const uint8_t empty[] = {0, 0, 0, 0};
    static const uint8_t huge[] = {0xff, 0xff, 0xff, 0xff, 2};
    struct span payload;

    ck_assert_int_eq(wire_next(empty, 4, WIRE_REPLY_MAX, &payload), WIRE_BAD);
    ck_assert_int_eq(wire_next(huge, 5, WIRE_REPLY_MAX, &payload), WIRE_BAD);
    ck_assert_int_eq(wire_next(NULL, 0, WIRE_REPLY_MAX, &payload), WIRE_MORE);
}
END_TEST

START_TEST(hostile_answers_are_refused)
{
    struct wire_reply reply;
    struct buffer b;

    for (int frames = 0; frames < 256; frames++) {
        bool fits = frames > 0 && frames <= NAMES_INLINE_MAX;

        buffer_init(&b, 1 << 20);
        buffer_u8(&b, WIRE_ANSWER);
        buffer_u64(&b, 0);
        buffer_lenenc(&b, 0); /* symbol */
        buffer_u8(&b, (uint8_t)frames);
        for (int i = 0; i < frames; i++) {
            buffer_lenenc(&b, 1);
            buffer_lenenc(&b, 0);
            buffer_u32(&b, 1);
        }
        ck_assert(wire_parse_reply((struct span){b.data, b.size}, &reply) ==
                  fits);
        buffer_fini(&b);
    }
    for (size_t size = 0; size <= WIRE_NAME_MAX + 1; size++) {
        if (size == 2)
            size = WIRE_NAME_MAX;
        buffer_init(&b, 1 << 20);
        buffer_u8(&b, WIRE_TEXT);
        buffer_lenenc(&b, size);
        ck_assert_ptr_nonnull(buffer_reserve(&b, size));
        memset(b.data + b.size, 'n', size);
        buffer_claim(&b, size);
        ck_assert(wire_parse_reply((struct span){b.data, b.size}, &reply) ==
                  (size > 0 && size <= WIRE_NAME_MAX));
        buffer_fini(&b);
    }
    for (int place = 0; place < 6; place++) {
        uint32_t past = WIRE_TEXTS_MAX + place % 2;
        struct wire_frame frame = {place / 2 == 1 ? past : 1,
                                   place / 2 == 2 ? past : 1, 1};

        buffer_init(&b, 1 << 20);
        wire_put_answer(&b, 1, place / 2 == 0 ? past : 1, &frame, 1);
        ck_assert(wire_parse_reply(payload_of(&b, WIRE_REPLY_MAX), &reply) ==
                  (place % 2 == 0));
        buffer_fini(&b);
    }
}
END_TEST

START_TEST(only_the_single_frame_may_be_without_a_name)
{
    static const struct wire_frame one[] = {{0, 0, 0}};
    static const struct wire_frame two[] = {{1, 0, 0}, {0, 0, 0}};
    struct wire_reply reply;
    struct buffer b;

    buffer_init(&b, 1000);
    wire_put_answer(&b, 1, 0, one, 1);
    ck_assert(wire_parse_reply(payload_of(&b, 1000), &reply));
    buffer_clear(&b);
    wire_put_answer(&b, 1, 0, two, 2);
    ck_assert(!wire_parse_reply(payload_of(&b, 1000), &reply));
    buffer_fini(&b);
}
END_TEST

START_TEST(long_names_are_cut_with_an_ellipsis)
{
    static const size_t ceilings[] = {WIRE_NAME_MAX, WIRE_FILE_MAX};
    static char name[WIRE_NAME_MAX + 100];
    struct wire_reply reply;
    struct buffer b;

    memset(name, 'n', sizeof(name) - 1);
    for (size_t i = 0; i < 2; i++) {
        buffer_init(&b, WIRE_REPLY_MAX);
        wire_put_text(&b, name, ceilings[i]);
        ck_assert(wire_parse_reply(payload_of(&b, WIRE_REPLY_MAX), &reply));
        ck_assert_uint_eq(reply.text.size, ceilings[i]);
        ck_assert_mem_eq(reply.text.data + ceilings[i] - 4, "n...", 4);
        buffer_fini(&b);
    }
}
END_TEST

START_TEST(the_largest_answer_fits_its_ceiling)
{
    struct wire_frame frames[NAMES_INLINE_MAX];
    struct wire_reply reply;
    struct buffer b;

    for (size_t i = 0; i < NAMES_INLINE_MAX; i++)
        frames[i] =
            (struct wire_frame){WIRE_TEXTS_MAX, WIRE_TEXTS_MAX, UINT32_MAX};
    buffer_init(&b, WIRE_REPLY_MAX + WIRE_HEAD);
    wire_put_answer(&b, UINT64_MAX, WIRE_TEXTS_MAX, frames, NAMES_INLINE_MAX);
    ck_assert(wire_parse_reply(payload_of(&b, WIRE_REPLY_MAX), &reply));
    buffer_fini(&b);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("symbolizer_wire");
    TCase *tc = tcase_create("symbolizer_wire");

    tcase_add_test(tc, a_request_comes_back_as_it_was_put);
    tcase_add_test(tc, only_flags_that_go_together_are_taken);
    tcase_add_test(tc, a_part_of_an_index_has_1_byte_to_64_kib);
    tcase_add_test(tc, an_answer_comes_back_as_it_was_put);
    tcase_add_test(tc, cut_at_any_byte_nothing_is_taken);
    tcase_add_test(tc, another_version_is_recognised);
    tcase_add_test(tc, sizes_past_the_ceiling_are_refused);
    tcase_add_test(tc, hostile_answers_are_refused);
    tcase_add_test(tc, only_the_single_frame_may_be_without_a_name);
    tcase_add_test(tc, long_names_are_cut_with_an_ellipsis);
    tcase_add_test(tc, the_largest_answer_fits_its_ceiling);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
