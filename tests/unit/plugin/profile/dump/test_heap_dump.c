/* test_heap_dump.c - jemalloc's text, whole, cut off and hostile. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "buffer.h"
#include "dump_fixture.h"
#include "errors.h"
#include "heap_dump.h"
#include "suite.h"

static const char whole[] =
    "heap_v2/524288\n"
    "  t*: 6: 700 [0: 0]\n"
    "  t0: 5: 600 [0: 0]\n"
    "  t12: 1: 100 [0: 0]\n"
    "@ 0x7f0000001000 0x7f0000002001 0x55d0c0b00010\n"
    "  t*: 5: 600 [7: 800]\n"
    "  t0: 4: 500 [0: 0]\n"
    "  t12: 1: 100 [0: 0] worker name\n"
    "@ 0x7f0000001000 0x55d0c0b00020\n"
    "  t*: 1: 100 [0: 0]\n"
    "  t0: 1: 100 [0: 0]\n"
    "\n"
    "MAPPED_LIBRARIES:\n"
    "55d0c0b00000-55d0c0c00000 r-xp 00100000 fe:01 42   /usr/bin/my db\n"
    "7f0000000000-7f0000003000 r-xp 00000000 08:01 7    /lib/x.so\n";

static struct heap_dump *
parse(const char *text, struct error *err)
{
    return heap_dump_parse(text, strlen(text), err);
}

START_TEST(a_dump_is_read)
{
    struct error err = {0};
    struct heap_dump *dump = parse(whole, &err);

    ck_assert_msg(dump != NULL, "%s", err.text);
    ck_assert_uint_eq(dump->rate, 524288);
    ck_assert(!dump->truncated);
    ck_assert_uint_eq(dump->stack_count, 2);
    ck_assert_uint_eq(fixture_stack(dump, 0)->objects, 5);
    ck_assert_uint_eq(fixture_stack(dump, 0)->bytes, 600);
    ck_assert_uint_eq(fixture_stack(dump, 0)->objects_ever, 7);
    ck_assert_uint_eq(fixture_stack(dump, 0)->bytes_ever, 800);
    ck_assert_uint_eq(fixture_stack(dump, 0)->depth, 3);
    ck_assert_uint_eq(fixture_stack(dump, 1)->depth, 2);
    ck_assert_uint_eq(dump->maps.count, 2);
    ck_assert_str_eq(dump->maps.list[0].path, "/usr/bin/my db");
    heap_dump_free(dump);
}
END_TEST

START_TEST(addresses_are_distinct_ascending_and_those_of_calls)
{
    static const uint64_t expected[] = {0x55d0c0b0000f, 0x55d0c0b0001f,
                                        0x7f0000001000, 0x7f0000002000};
    struct heap_dump *dump = parse(whole, NULL);
    const struct heap_stack *stack = fixture_stack(dump, 0);

    ck_assert_uint_eq(dump->address_count, 4);
    for (size_t i = 0; i < 4; i++)
        ck_assert_uint_eq(dump->addresses[i], expected[i]);
    ck_assert_uint_eq(dump->addresses[stack->addresses[0]], 0x7f0000001000);
    ck_assert_uint_eq(dump->addresses[stack->addresses[1]], 0x7f0000002000);
    ck_assert_uint_eq(dump->addresses[stack->addresses[2]], 0x55d0c0b0000f);
    heap_dump_free(dump);
}
END_TEST

/* Wherever it stands among digits that are read eight at a time. */
START_TEST(every_byte_is_a_digit_or_none)
{
    for (int place = 0; place < 13; place++)
        for (int c = 1; c < 256; c++) {
            char digits[] = "7fa90bC4d5e61", text[64];
            struct error err = {0};
            struct heap_dump *dump;

            if (isspace(c))
                continue;
            digits[place] = (char)c;
            snprintf(text, sizeof(text),
                     "heap_v2/1\n@ 0x%s\n  t*: 1: 1 [0: 0]\n", digits);
            dump = parse(text, &err);
            ck_assert_msg((dump != NULL) == (isxdigit(c) != 0), "%s", digits);
            if (dump)
                ck_assert_uint_eq(dump->addresses[0],
                                  strtoull(digits, NULL, 16));
            heap_dump_free(dump);
        }
}
END_TEST

START_TEST(an_address_is_one_however_it_is_written)
{
    static const char text[] =
        "heap_v2/1\n@ 0xab 0xab 0xAB 0x000000ab 0x0000000ab 0Xab ab\t0x0ab "
        "0x00000000000000ab 0x0000000000000000000000ab 00ab 0xac 0xaB\r\n"
        "  t*: 1: 1 [0: 0]\nMAPPED_LIBRARIES:\n";
    struct error err = {0};
    struct heap_dump *dump = parse(text, &err);
    const struct heap_stack *stack;

    ck_assert_msg(dump != NULL, "%s", err.text);
    ck_assert_uint_eq(dump->address_count, 2);
    ck_assert_uint_eq(dump->addresses[0], 0xaa);
    ck_assert_uint_eq(dump->addresses[1], 0xab);
    stack = fixture_stack(dump, 0);
    ck_assert_uint_eq(stack->depth, 13);
    for (uint32_t i = 0; i < stack->depth; i++)
        ck_assert_uint_eq(stack->addresses[i], i == 0 || i == 11);
    heap_dump_free(dump);
}
END_TEST

#define COUNTED "\n  t*: 1: 1 [0: 0]\n"

static const struct {
    const char *stacks;
    bool sorted;
} orders[] = {
    {"", true},
    {"@ 0x1" COUNTED, true},
    {"@" COUNTED "@ 0x1" COUNTED "@ 0x1 0x2" COUNTED "@ 0x1 0x3" COUNTED, true},
    {"@ 0x1 0x2 0x7" COUNTED "@ 0x1 0x3 0x7" COUNTED, true},
    {"@ 0x1 0x201" COUNTED "@ 0x1 0x102" COUNTED, true}, /* by its bytes */
    {"@ 0x1 0x102" COUNTED "@ 0x1 0x201" COUNTED, false},
    {"@ 0x201" COUNTED "@ 0x102" COUNTED, true},
    {"@ 0x1 0x100" COUNTED "@ 0x1 0xff" COUNTED, true}, /* not those of calls */
    {"@ 0x1 0x3" COUNTED "@ 0x1 0x2" COUNTED, false},
    {"@ 0x1 0x2" COUNTED "@ 0x1" COUNTED, false},
    {"@ 0x1" COUNTED "@" COUNTED, false},
    {"@" COUNTED "@" COUNTED, false},
    {"@ 0x1 0x2" COUNTED "@ 0x1 0x2" COUNTED, false},
    {"@ 0x1 0x2" COUNTED "@ 0x1 0x02" COUNTED, false},
    {"@ 0x1 0x0" COUNTED "@ 0x1 0x1" COUNTED, false}, /* the same one */
    {"@ 0x1" COUNTED "  t*: 2: 2 [0: 0]\n", false},
    {"@ 0x2" COUNTED "@ 0x1" COUNTED "@ 0x3" COUNTED, false},
};

START_TEST(a_dump_is_sorted_when_none_of_its_stacks_can_be_twice)
{
    struct error err = {0};
    struct heap_dump *dump;
    char text[256];

    snprintf(text, sizeof(text), "heap_v2/1\n%sMAPPED_LIBRARIES:\n",
             orders[_i].stacks);
    dump = parse(text, &err);
    ck_assert_msg(dump != NULL, "%s", err.text);
    ck_assert_msg(dump->sorted == orders[_i].sorted, "%s", text);
    heap_dump_free(dump);
}
END_TEST

/* Stacks of few addresses of all sizes, so that lines have much in common at
 * either end; as they should be read, one by one. */
START_TEST(what_lines_have_in_common_is_read_as_if_they_had_not)
{
    enum { LINES = 2000, DEEPEST = 12, POOL = 40 };
    static uint64_t expected[LINES][DEEPEST];
    static const char *const blanks[] = {" ", "  ", "\t", " \r"};
    uint32_t depths[LINES], state = 1;
    uint64_t pool[POOL];
    struct error err = {0};
    struct heap_dump *dump;
    struct buffer text;

    for (int i = 0; i < POOL; i++)
        pool[i] = 0xfedcba9876543210ULL >> (4 * (i % 16)) ^ (unsigned)i;
    buffer_init(&text, 1 << 20);
    buffer_text(&text, "heap_v2/1\n");
    for (int i = 0; i < LINES; i++) {
        depths[i] = (state = state * 1664525 + 1013904223) >> 16;
        depths[i] %= DEEPEST + 1;
        buffer_char(&text, '@');
        for (uint32_t k = 0; k < depths[i]; k++) {
            uint64_t address;

            state = state * 1664525 + 1013904223;
            /* mostly that of the line before, from its start or its end */
            if (i > 0 && state >> 30 && k < depths[i - 1])
                address = expected[i - 1][state >> 30 == 1 || k == 0
                                              ? k
                                              : depths[i - 1] - 1 - k] +
                          (k > 0);
            else
                address = pool[(state >> 16) % POOL];
            buffer_format(&text, "%s0x%llx", blanks[state >> 8 & 3],
                          (unsigned long long)address);
            expected[i][k] = address - (k > 0 && address > 0);
        }
        buffer_text(&text, "\nt*: 1: 1 [0: 0]\n");
    }
    dump = heap_dump_parse(text.data, text.size, &err);
    ck_assert_msg(dump != NULL, "%s", err.text);
    ck_assert_uint_eq(dump->stack_count, LINES);
    for (int i = 0; i < LINES; i++) {
        ck_assert_uint_eq(fixture_stack(dump, i)->depth, depths[i]);
        for (uint32_t k = 0; k < depths[i]; k++)
            ck_assert_uint_eq(
                dump->addresses[fixture_stack(dump, i)->addresses[k]],
                expected[i][k]);
    }
    heap_dump_free(dump);
    buffer_fini(&text);
}
END_TEST

START_TEST(cut_at_every_byte_keeps_what_was_whole)
{
    const char *first = strstr(whole, "  t*: 5:"),
               *second = strstr(whole, "  t*: 1:"),
               *maps = strstr(whole, "MAPPED_LIBRARIES:");
    const size_t header = strlen("heap_v2/524288\n"),
                 one = (size_t)(strchr(first, '\n') - whole) + 1,
                 two = (size_t)(strchr(second, '\n') - whole) + 1,
                 one_map = (size_t)(strstr(maps, "my db\n") +
                                    strlen("my db\n") - whole);
    struct heap_dump *dump;
    struct error err;

    for (size_t size = 0; size < sizeof(whole) - 1; size++) {
        char *copy = malloc(size ? size : 1); /* for the sanitizer */

        memcpy(copy, whole, size);
        memset(&err, 0, sizeof(err));
        dump = heap_dump_parse(copy, size, &err);
        free(copy);
        if (size < header) {
            ck_assert_ptr_null(dump);
            ck_assert_int_eq(err.code, ER_UNKNOWN);
            continue;
        }
        ck_assert_msg(dump != NULL, "%zu: %s", size, err.text);
        ck_assert_uint_eq(dump->stack_count, size < one   ? 0
                                             : size < two ? 1
                                                          : 2);
        ck_assert_uint_eq(dump->maps.count, size < one_map ? 0 : 1);
        ck_assert_msg(dump->truncated || size == one_map, "%zu", size);
        heap_dump_free(dump);
    }
}
END_TEST

/* Each is refused, with a message that has these words. */
static const struct {
    const char *text, *message;
} refused[] = {
    {"", "does not begin with heap_v2/"},
    {"\n", "does not begin with heap_v2/"},
    {"heap profile: 1: 2 [3: 4] @ heapprofile\n", "does not begin with"},
    {"heap_v2/\n", "line 1 of the heap profile: not a sampling rate"},
    {"heap_v2/0\n", "not a sampling rate"},
    {"heap_v2/-1\n", "not a sampling rate"},
    {"heap_v2/18446744073709551616\n", "not a sampling rate"},
    {"heap_v2/512 KB\n", "not a sampling rate"},
    {"heap_v2/1\n@ 0x12345678123456789\n", "line 2 of the heap profile: not"},
    {"heap_v2/1\n@ 0x1 -0x2\n", "not an address"},
    {"heap_v2/1\n@ 0x1,0x2\n", "not an address"},
    {"heap_v2/1\n@ 0x\n", "not an address"},
    {"heap_v2/1\n@ 1 0x\n t*: 1: 1 [0: 0]\n", "not an address"},
    {"heap_v2/1\n@ 1 0x 0x2\n t*: 1: 1 [0: 0]\n", "not an address"},
    {"heap_v2/1\n@ 1 0x0x1 0x2\n t*: 1: 1 [0: 0]\n", "not an address"},
    {"heap_v2/1\n@ 0xa 0xa\xe1 0xa\n t*: 1: 1 [0: 0]\n", "not an address"},
    {"heap_v2/1\n@ 0x1111111111111111 1 0x111111111111111\xb1 2\n"
     " t*: 1: 1 [0: 0]\n",
     "not an address"},
    {"heap_v2/1\n@ 1\n t*: 99999999999999999999: 1 [0: 0]\n", "line 3"},
    {"heap_v2/1\n@ 1\n t*: -1: 1 [0: 0]\n", "impossible counts"},
    {"heap_v2/1\n@ 1\n t*: 1: 1 [0: 0\n", "impossible counts"},
    {"heap_v2/1\n@ 1\n t*: 1: 1\n", "impossible counts"},
    {"heap_v2/1\n@ 1\n t*: : 1 [0: 0]\n", "impossible counts"},
    {"heap_v2/1\n@ 1\n t9999999999999999999999: 1: 1 [0: 0]\n", "impossible"},
};

START_TEST(impossible_dumps_are_refused)
{
    struct error err = {0};

    ck_assert_ptr_null(parse(refused[_i].text, &err));
    ck_assert_msg(strstr(err.text, refused[_i].message) != NULL, "\"%s\": %s",
                  refused[_i].text, err.text);
}
END_TEST

START_TEST(foreign_lines_are_skipped)
{
    struct heap_dump *dump =
        parse("heap_v2/1\n"
              "total: 7\nthreads t1\n@\r\n\tt*: 2: 3 [0: 0]\r\n"
              "@ 1 2\r\n# what\nt*: 1: 1 [0: 0]\nt*: 4: 5 [0: 0]\n",
              NULL);

    ck_assert_ptr_nonnull(dump);
    ck_assert(dump->truncated);
    ck_assert_uint_eq(dump->stack_count, 3);
    ck_assert_uint_eq(fixture_stack(dump, 0)->depth, 0);
    ck_assert_uint_eq(fixture_stack(dump, 0)->bytes, 3);
    ck_assert_uint_eq(fixture_stack(dump, 1)->depth, 2);
    ck_assert_uint_eq(fixture_stack(dump, 2)->bytes, 5);
    /* Counts under one '@' share its addresses, renumbered only once. */
    ck_assert_uint_eq(fixture_stack(dump, 2)->addresses[1], 0);
    ck_assert_uint_eq(dump->address_count, 1);
    heap_dump_free(dump);
}
END_TEST

START_TEST(stacks_have_a_depth_they_may_not_pass)
{
    struct buffer text;
    struct heap_dump *dump;
    struct error err = {0};

    buffer_init(&text, 1 << 20);
    buffer_text(&text, "heap_v2/1\n@");
    for (int i = 0; i < HEAP_DUMP_DEPTH_MAX; i++)
        buffer_format(&text, " 0x%x", i + 16);
    buffer_text(&text, "\n t*: 1: 1 [0: 0]\n");
    dump = parse(text.data, &err);
    ck_assert_msg(dump != NULL, "%s", err.text);
    ck_assert_uint_eq(fixture_stack(dump, 0)->depth, HEAP_DUMP_DEPTH_MAX);
    heap_dump_free(dump);

    text.size -= strlen("\n t*: 1: 1 [0: 0]\n");
    buffer_text(&text, " 0x1\n t*: 1: 1 [0: 0]\n");
    ck_assert_ptr_null(parse(text.data, &err));
    ck_assert_ptr_nonnull(strstr(err.text, "too deep"));
    buffer_fini(&text);
}
END_TEST

START_TEST(there_is_a_ceiling_on_stacks)
{
    static const char one[] = "@ 1\nt*: 1: 1 [0: 0]\n";
    struct buffer text;
    struct error err = {0};

    buffer_init(&text, (size_t)64 << 20);
    buffer_text(&text, "heap_v2/1\n");
    for (int i = 0; i <= HEAP_DUMP_STACKS_MAX; i++)
        buffer_add(&text, one, sizeof(one) - 1);
    ck_assert(!text.failed);
    ck_assert_ptr_null(parse(text.data, &err));
    ck_assert_ptr_nonnull(strstr(err.text, "too many stacks"));
    buffer_fini(&text);
}
END_TEST

START_TEST(thousands_of_addresses_stay_in_order)
{
    struct buffer text;
    struct heap_dump *dump;

    buffer_init(&text, 1 << 22);
    buffer_text(&text, "heap_v2/1\n");
    for (unsigned i = 0; i < 5000; i++)
        buffer_format(&text, "@ 0x%x 0x%x\n t*: %u: 1 [0: 0]\n",
                      i * 7919 % 5000 * 16 + 16, 0xf0000000 + i % 10, i);
    dump = parse(text.data, NULL);
    ck_assert_ptr_nonnull(dump);
    ck_assert_uint_eq(dump->address_count, 5010);
    for (size_t i = 1; i < dump->address_count; i++)
        ck_assert_uint_lt(dump->addresses[i - 1], dump->addresses[i]);
    for (unsigned i = 0; i < 5000; i++)
        ck_assert_uint_eq(dump->addresses[fixture_stack(dump, i)->addresses[0]],
                          i * 7919 % 5000 * 16 + 16);
    heap_dump_free(dump);
    buffer_fini(&text);
}
END_TEST

/* All in one place of a table that hashes by a multiplication alone: compared
 * with each other they take a minute. */
START_TEST(addresses_chosen_to_collide_take_no_longer)
{
    enum { COUNT = 200000 };
    const uint64_t inverse = 0xf1de83e19937733dULL; /* of 2^64 / phi */
    struct error err = {0};
    struct heap_dump *dump;
    struct buffer text;

    buffer_init(&text, 16 << 20);
    buffer_text(&text, "heap_v2/1\n");
    for (uint64_t i = 0; i < COUNT; i++)
        buffer_format(&text, "@ 0x%llx\n", (unsigned long long)(i * inverse));
    buffer_text(&text, "MAPPED_LIBRARIES:\n");
    ck_assert(!text.failed);
    dump = heap_dump_parse(text.data, text.size, &err);
    ck_assert_msg(dump != NULL, "%s", err.text);
    ck_assert_uint_eq(dump->address_count, COUNT);
    heap_dump_free(dump);
    buffer_fini(&text);
}
END_TEST

/* A text that comes in pieces. */
struct pieces {
    const char *text;
    size_t size, piece; /* bytes of one */
    bool broken;        /* there is an error behind it */
};

/* heap_source.read */
static ssize_t
read_piece(void *arg, char *to, size_t room, struct error *err)
{
    struct pieces *p = arg;
    size_t n = p->size < p->piece ? p->size : p->piece;

    ck_assert_uint_ge(room, n);
    if (n == 0 && p->broken) {
        error_set(err, ER_UNKNOWN, "the disk is gone");
        return -1;
    }
    memcpy(to, p->text, n);
    p->text += n;
    p->size -= n;
    return (ssize_t)n;
}

static struct heap_dump *
read_pieces(const char *text, size_t size, size_t piece, struct error *err)
{
    struct pieces pieces = {text, size, piece, false};
    const struct heap_source source = {read_piece, &pieces};

    return heap_dump_read(&source, err);
}

static void
check_equal(struct heap_dump *a, struct heap_dump *b)
{
    ck_assert_uint_eq(a->rate, b->rate);
    ck_assert_int_eq(a->truncated, b->truncated);
    ck_assert_uint_eq(a->address_count, b->address_count);
    ck_assert_uint_eq(a->stack_count, b->stack_count);
    ck_assert_uint_eq(a->maps.count, b->maps.count);
    for (size_t i = 0; i < a->address_count; i++)
        ck_assert_uint_eq(a->addresses[i], b->addresses[i]);
    for (size_t i = 0; i < a->stack_count; i++) {
        const struct heap_stack *x = fixture_stack(a, i),
                                *y = fixture_stack(b, i);

        ck_assert_uint_eq(x->depth, y->depth);
        ck_assert_uint_eq(x->bytes, y->bytes);
        for (uint32_t k = 0; k < x->depth; k++)
            ck_assert_uint_eq(x->addresses[k], y->addresses[k]);
    }
    for (size_t i = 0; i < a->maps.count; i++)
        ck_assert_str_eq(a->maps.list[i].path, b->maps.list[i].path);
}

/* Of every length; and some of a text that is cut off at every byte. */
START_TEST(pieces_of_any_size_are_read_as_the_whole)
{
    for (size_t size = 0; size < sizeof(whole); size++) {
        struct error err = {0};
        struct heap_dump *expected = heap_dump_parse(whole, size, &err);

        for (size_t piece = 1; piece <= size + 1;
             piece += size + 1 == sizeof(whole) ? 1 : 1 + size / 3) {
            struct error other = {0};
            struct heap_dump *dump = read_pieces(whole, size, piece, &other);

            ck_assert_int_eq(dump != NULL, expected != NULL);
            ck_assert_str_eq(other.text, err.text);
            if (dump)
                check_equal(dump, expected);
            heap_dump_free(dump);
        }
        heap_dump_free(expected);
    }
}
END_TEST

START_TEST(errors_in_pieces_name_the_same_line)
{
    const char *text = refused[_i].text;
    struct error whole_err = {0}, err = {0};

    ck_assert_ptr_null(parse(text, &whole_err));
    for (size_t piece = 1; piece <= strlen(text) + 1; piece++) {
        ck_assert_ptr_null(read_pieces(text, strlen(text), piece, &err));
        ck_assert_str_eq(err.text, whole_err.text);
    }
}
END_TEST

/* Stacks that share much with the one before, which is out of the window by
 * then but for its line. */
START_TEST(lines_longer_than_the_window_keep_the_one_before)
{
    enum { DEEP = HEAP_DUMP_DEPTH_MAX, STACKS = 60 };
    struct heap_dump *expected, *dump;
    struct error err = {0};
    struct buffer text;

    buffer_init(&text, 16 << 20);
    buffer_text(&text, "heap_v2/1\n");
    for (unsigned i = 0; i < STACKS; i++) {
        buffer_char(&text, '@');
        for (unsigned k = 0; k < DEEP; k++)
            buffer_format(&text, " 0x%x", k == i * 10 ? 7 : 0x55550000 + k);
        buffer_text(&text, "\nnothing that is known, and ");
        for (unsigned k = 0; k < i * 400; k++)
            buffer_text(&text, "so very long ");
        buffer_text(&text, "\n  t*: 1: 1 [0: 0]\n");
    }
    buffer_text(&text, "MAPPED_LIBRARIES:\n");
    ck_assert(!text.failed);
    expected = heap_dump_parse(text.data, text.size, &err);
    ck_assert_msg(expected != NULL, "%s", err.text);
    for (size_t piece = 1000; piece < 200000; piece += 19919) {
        dump = read_pieces(text.data, text.size, piece, &err);
        ck_assert_msg(dump != NULL, "%s", err.text);
        check_equal(dump, expected);
        heap_dump_free(dump);
    }
    heap_dump_free(expected);
    buffer_fini(&text);
}
END_TEST

START_TEST(what_cannot_be_read_is_an_error_wherever_it_is)
{
    for (size_t size = 0; size < sizeof(whole); size++) {
        struct pieces pieces = {whole, size, 100, true};
        const struct heap_source source = {read_piece, &pieces};
        struct error err = {0};

        ck_assert_ptr_null(heap_dump_read(&source, &err));
        ck_assert_str_eq(err.text, "the disk is gone");
    }
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("heap_dump");
    TCase *tc = tcase_create("heap_dump");

    tcase_set_timeout(tc, 30); /* a million stacks, with sanitizers */
    tcase_add_test(tc, a_dump_is_read);
    tcase_add_test(tc, addresses_are_distinct_ascending_and_those_of_calls);
    tcase_add_test(tc, every_byte_is_a_digit_or_none);
    tcase_add_test(tc, an_address_is_one_however_it_is_written);
    tcase_add_loop_test(tc,
                        a_dump_is_sorted_when_none_of_its_stacks_can_be_twice,
                        0, sizeof(orders) / sizeof(orders[0]));
    tcase_add_test(tc, what_lines_have_in_common_is_read_as_if_they_had_not);
    tcase_add_test(tc, cut_at_every_byte_keeps_what_was_whole);
    tcase_add_loop_test(tc, impossible_dumps_are_refused, 0,
                        sizeof(refused) / sizeof(refused[0]));
    tcase_add_test(tc, foreign_lines_are_skipped);
    tcase_add_test(tc, stacks_have_a_depth_they_may_not_pass);
    tcase_add_test(tc, there_is_a_ceiling_on_stacks);
    tcase_add_test(tc, thousands_of_addresses_stay_in_order);
    tcase_add_test(tc, addresses_chosen_to_collide_take_no_longer);
    tcase_add_test(tc, pieces_of_any_size_are_read_as_the_whole);
    tcase_add_loop_test(tc, errors_in_pieces_name_the_same_line, 0,
                        sizeof(refused) / sizeof(refused[0]));
    tcase_add_test(tc, lines_longer_than_the_window_keep_the_one_before);
    tcase_add_test(tc, what_cannot_be_read_is_an_error_wherever_it_is);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
