/* test_heap_join.c - dumps that were read in two parts are as read in one. */
#include <stdio.h>
#include <string.h>

#include "arena.h"
#include "buffer.h"
#include "dump_fixture.h"
#include "errors.h"
#include "failing_memory.h"
#include "heap_dump.h"
#include "heap_join.h"
#include "heap_lines.h"
#include "suite.h"

enum { STACKS = 60, ADDRESSES = 40, DEPTH = 6 };

static uint32_t
roll(uint32_t *dice)
{
    *dice = *dice * 1664525 + 1013904223;
    return *dice >> 8;
}

/* Some stacks are the same, or begin or end alike; some counts repeat. */
static void
make_dump(struct buffer *out, uint32_t seed, bool sorted)
{
    uint32_t dice = seed;

    buffer_init(out, 1 << 20);
    buffer_text(out,
                "heap_v2/524288\n  t*: 9: 99 [0: 0]\n  t0: 9: 99 [0: 0]\n");
    for (uint32_t i = 0; i < STACKS; i++) {
        uint32_t depth = sorted ? 2 : roll(&dice) % DEPTH;

        buffer_text(out, "@");
        if (sorted) /* by the bytes in memory, of which the lowest is first */
            buffer_format(out, " 0x7f00%02x", i + 1);
        for (uint32_t k = sorted; k < depth; k++)
            buffer_format(out, " 0x%x", 0x400000 + roll(&dice) % ADDRESSES);
        buffer_format(out, "\n  t*: %u: %u [0: 0]\n", 1 + i % 7, 100 + i);
        if (i % 5 == 0)
            buffer_format(out, "  t3: 1: %u [0: 0]\n", i);
    }
    buffer_text(out, "\nMAPPED_LIBRARIES:\n"
                     "00400000-00500000 r-xp 00000000 08:01 5 /bin/db\n"
                     "00500000-00600000 r--p 00100000 08:01 5 /bin/db\n");
}

/* heap_source.read */
static ssize_t
read_rest(void *arg, char *to, size_t room, struct error *err)
{
    struct span *rest = arg;
    size_t n = rest->size < room ? rest->size : room;

    (void)err;
    memcpy(to, rest->data, n);
    rest->data += n;
    rest->size -= n;
    return (ssize_t)n;
}

/* NULL: there was no memory somewhere. */
static struct heap_dump *
read_parts(const struct buffer *text, size_t middle)
{
    struct span rest = {text->data + middle, text->size - middle};
    const struct heap_source source = {read_rest, &rest};
    struct error err = {0};
    struct heap_dump *first = heap_dump_parse(text->data, middle, &err);
    struct heap_dump *second = heap_dump_read_part(&source, &err);

    if (!first || !second || heap_join(first, second) != 0) {
        heap_dump_free(first);
        first = NULL;
    }
    heap_dump_free(second);
    return first;
}

static void
check_equal(struct heap_dump *a, struct heap_dump *b)
{
    ck_assert_uint_eq(a->rate, b->rate);
    ck_assert_int_eq(a->truncated, b->truncated);
    ck_assert_int_eq(a->sorted, b->sorted);
    ck_assert_uint_eq(a->address_count, b->address_count);
    ck_assert_uint_eq(a->stack_count, b->stack_count);
    ck_assert_mem_eq(a->addresses, b->addresses,
                     a->address_count * sizeof(*a->addresses));
    for (size_t i = 0; i < a->stack_count; i++) {
        const struct heap_stack *x = fixture_stack(a, i),
                                *y = fixture_stack(b, i);

        ck_assert_uint_eq(x->depth, y->depth);
        ck_assert_uint_eq(x->bytes, y->bytes);
        ck_assert_uint_eq(x->objects, y->objects);
        ck_assert(x->depth == 0 ||
                  memcmp(x->addresses, y->addresses,
                         x->depth * sizeof(*x->addresses)) == 0);
    }
    ck_assert_uint_eq(a->maps.count, b->maps.count);
    for (size_t i = 0; i < a->maps.count; i++)
        ck_assert_str_eq(a->maps.list[i].path, b->maps.list[i].path);
}

/* Cut before each of its stacks but the first, behind which nothing is. */
START_TEST(two_parts_are_read_as_one)
{
    struct error err = {0};
    struct buffer text;
    struct heap_dump *whole, *joined;
    const char *at;
    unsigned cuts = 0;

    make_dump(&text, 1 + (uint32_t)_i, _i % 2);
    whole = heap_dump_parse(text.data, text.size, &err);
    ck_assert_ptr_nonnull(whole);
    ck_assert_int_eq(whole->sorted, _i % 2);
    at = strchr(text.data, '@') + 1;
    while ((at = memchr(at, '@', (size_t)(text.data + text.size - at)))) {
        joined = read_parts(&text, (size_t)(at - text.data));
        ck_assert_ptr_nonnull(joined);
        check_equal(joined, whole);
        heap_dump_free(joined);
        cuts++;
        at++;
    }
    ck_assert_uint_eq(cuts, STACKS - 1);
    heap_dump_free(whole);
    buffer_fini(&text);
}
END_TEST

/* The second part is sorted, too, but not behind the first. */
START_TEST(parts_in_the_wrong_order_are_not_sorted)
{
    static const char text[] = "heap_v2/1\n@ 0x9 0x5\n  t*: 1: 1 [0: 0]\n"
                               "@ 0x8 0x5\n  t*: 1: 1 [0: 0]\n"
                               "@ 0x9 0x5\n  t*: 1: 1 [0: 0]\n"
                               "\nMAPPED_LIBRARIES:\n";
    struct error err = {0};
    struct buffer buffer;
    struct heap_dump *joined;

    buffer_init(&buffer, 1 << 16);
    buffer_text(&buffer, text);
    joined = read_parts(&buffer, (size_t)(strstr(text, "@ 0x8") - text));
    ck_assert_ptr_nonnull(joined);
    ck_assert(!joined->sorted);
    ck_assert_uint_eq(joined->stack_count, 3);
    heap_dump_free(joined);
    joined = heap_dump_parse(text, sizeof(text) - 1, &err);
    ck_assert(!joined->sorted);
    heap_dump_free(joined);
    buffer_fini(&buffer);
}
END_TEST

/* As one that reads the whole has it. */
START_TEST(both_parts_share_the_room_for_stacks)
{
    struct error err = {0};
    struct buffer text;

    make_dump(&text, 3, false);
    for (size_t less = 0; less < 2; less++) {
        struct heap_dump *dumps[2];
        struct arena *small;
        size_t used = 0;

        for (int i = 0; i < 2; i++) {
            dumps[i] = heap_dump_parse(text.data, text.size, &err);
            ck_assert_ptr_nonnull(dumps[i]);
            used += arena_used(dumps[i]->parts[0].indices);
        }
        small = arena_new(used - less);
        ck_assert_int_eq(arena_adopt(small, dumps[0]->parts[0].indices), 0);
        arena_free(dumps[0]->parts[0].indices);
        dumps[0]->parts[0].indices = small;
        ck_assert_int_eq(heap_join(dumps[0], dumps[1]), less ? -1 : 0);
        heap_dump_free(dumps[0]);
        heap_dump_free(dumps[1]);
    }
    buffer_fini(&text);
}
END_TEST

START_TEST(without_memory_there_is_none)
{
    struct buffer text;
    struct heap_dump *joined = NULL;
    size_t middle;

    make_dump(&text, 3, false);
    middle = (size_t)(strstr(text.data + text.size / 2, "\n@") + 1 - text.data);
    for (unsigned n = 1; !joined; n++) {
        allocations = 0;
        failing = n;
        joined = read_parts(&text, middle);
        failing = 0;
        ck_assert_int_eq(joined != NULL, allocations < n);
    }
    heap_dump_free(joined);
    buffer_fini(&text);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("heap_join");
    TCase *tc = tcase_create("heap_join");

    tcase_add_loop_test(tc, two_parts_are_read_as_one, 0, 40);
    tcase_add_test(tc, parts_in_the_wrong_order_are_not_sorted);
    tcase_add_test(tc, both_parts_share_the_room_for_stacks);
    tcase_add_test(tc, without_memory_there_is_none);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
