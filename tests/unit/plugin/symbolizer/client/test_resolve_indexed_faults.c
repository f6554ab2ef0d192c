/*
 * test_resolve_indexed_faults.c - what an index that is read here costs when it
 * is damaged, when memory runs out, and when it takes too long: names, and no
 * wrong ones.
 */
#include <string.h>

#include "failing_memory.h"
#include "index_seal.h"
#include "indexed_object.h"
#include "suite.h"

/* ---- damage ---- */

/* Some bytes become others; sealed: their checksums are right nevertheless. */
static void
damage(uint32_t *dice, bool sealed)
{
    for (uint32_t n = 1 + roll(dice) % 4; n > 0; n--)
        bytes.data[roll(dice) % bytes.size] ^= (char)(1 << roll(dice) % 8);
    if (roll(dice) % 4 == 0)
        bytes.size -= roll(dice) % (bytes.size / 4);
    if (sealed)
        index_seal((uint8_t *)bytes.data, bytes.size);
}

START_TEST(a_damaged_index_says_what_it_says_to_the_helper)
{
    const struct symbolizer_options by_helper = {.once = true};
    const struct symbolizer_options here = {.once = true, .here = true};
    uint32_t dice = 1234 + (uint32_t)_i;

    for (int i = 0; i < 6; i++) {
        struct names *expected, *names;

        make_index(7);
        damage(&dice, _i);
        expected = resolve(&by_helper);
        cores = _i ? 1 : 1 + (unsigned)i % 4;
        names = resolve(&here);
        check_equal(names, expected);
        names_free(names);
        names_free(expected);
        buffer_fini(&bytes);
    }
}
END_TEST

/* ---- without memory ---- */

/* Each is as expected, or not known.  How many are not. */
static size_t
check_known(const struct names *names, const struct names *expected)
{
    size_t unknown = 0;

    for (size_t i = 0; i < FUNCTIONS; i++) {
        const struct location *l = names_find(names, addresses[i]);

        if (strcmp(line_of(names, i), line_of(expected, i)) == 0)
            continue;
        ck_assert_uint_eq(l->frame_count, 1);
        ck_assert_msg(strncmp(l->frames[0].function, "db+0x", 5) == 0,
                      "'%s', not '%s'", line_of(names, i),
                      line_of(expected, i));
        unknown++;
    }
    return unknown;
}

/* There is no helper: what is not read here stays unknown.  The last lets each
 * allocation fail, the others some. */
START_TEST(without_memory_names_are_right_or_missing_or_it_is_an_error)
{
    const struct symbolizer_options options = {
        .program = "/none", .once = true, .here = true, .short_names = _i / 2};
    struct names *expected, *names;
    unsigned errors = 0, fewer = 0;
    struct error err = {0};
    bool done = false;

    cores = _i < 4 ? 1 + (unsigned)_i : 4;
    make_index(7);
    expected = resolve(&options);
    for (unsigned n = 1; !done; n += _i < 4 ? 1 + n / 8 : 1) {
        atomic_store_explicit(&allocations, 0, memory_order_relaxed);
        failing = n;
        names = try_to_resolve(&options, FUNCTIONS, &err);
        done = atomic_load_explicit(&allocations, memory_order_relaxed) < n;
        failing = 0;
        if (!names) {
            ck_assert_ptr_nonnull(strstr(err.text, "memory"));
            errors++;
            continue;
        }
        fewer += check_known(names, expected) > 0;
        if (done)
            check_equal(names, expected);
        names_free(names);
    }
    ck_assert_uint_gt(errors, 5);
    ck_assert_uint_gt(fewer, 5);
    names_free(expected);
}
END_TEST

/* As if one thread had read all of it: each block that is damaged, one after
 * the other. */
START_TEST(damage_costs_the_same_names_on_any_cores)
{
    const struct symbolizer_options options = {
        .program = "/none", .once = true, .here = true};
    struct names *whole, *expected, *names;
    size_t missing;
    unsigned some = 0;

    make_index(7);
    cores = 1;
    whole = resolve(&options);
    for (size_t at = 64; at < bytes.size; at += 251) {
        bytes.data[at] ^= 0x10;
        cores = 1;
        expected = resolve(&options);
        cores = 3;
        names = resolve(&options);
        check_equal(names, expected);
        missing = check_known(names, whole);
        some += missing > 0 && missing < FUNCTIONS;
        names_free(names);
        names_free(expected);
        bytes.data[at] ^= 0x10;
    }
    ck_assert_uint_gt(some, 0);
    names_free(whole);
}
END_TEST

/* It is known when the time is up, whichever part that is in. */
START_TEST(what_comes_too_late_is_missing)
{
    const struct symbolizer_options options = {
        .program = "/none", .once = true, .here = true};
    struct names *expected, *names;
    size_t missing = 0, last = FUNCTIONS;
    unsigned some = 0, all;
    struct error err = {0};

    cores = 1 + (unsigned)_i * 2;
    make_index(7);
    expected = resolve(&options);
    all = clock_calls;
    for (clock_jumps = 2; clock_jumps <= all + 1; clock_jumps++) {
        clock_calls = 0;
        names = try_to_resolve(&options, FUNCTIONS, &err);
        ck_assert_msg(names != NULL, "%s", err.text);
        missing = check_known(names, expected);
        if (clock_jumps == 2)
            ck_assert_uint_gt(missing, FUNCTIONS / 2);
        some += missing > 0 && missing != last;
        last = missing;
        names_free(names);
    }
    ck_assert_uint_eq(missing, 0);
    ck_assert_uint_gt(some, 0);
    if (cores > 1)
        ck_assert_uint_gt(some, 1);
    names_free(expected);
}
END_TEST

START_TEST(without_memory_here_the_helper_names_the_rest)
{
    const struct symbolizer_options by_helper = {.once = true};
    const struct symbolizer_options here = {.once = true, .here = true};
    struct names *expected, *names;
    struct error err = {0};
    unsigned all;

    cores = 3;
    make_index(7);
    expected = resolve(&by_helper);
    allocations = 0;
    names_free(resolve(&here));
    all = allocations;
    for (unsigned n = 1; n < all; n += all / 30) {
        atomic_store_explicit(&allocations, 0, memory_order_relaxed);
        failing = n;
        names = try_to_resolve(&here, FUNCTIONS, &err);
        failing = 0;
        if (names && !names_note(names)[0])
            check_equal(names, expected);
        if (!names)
            ck_assert_ptr_nonnull(strstr(err.text, "memory"));
        names_free(names);
    }
    names_free(expected);
}
END_TEST

/* The last takes minutes under ThreadSanitizer, which sees the same threads in
 * the others. */
#ifdef __SANITIZE_THREAD__
enum { MEMORY_RUNS = 4 };
#else
enum { MEMORY_RUNS = 5 };
#endif

int
main(void)
{
    Suite *suite = suite_create("resolve_indexed_faults");
    TCase *faults = tcase_create("faults");

    tcase_add_checked_fixture(faults, set_up, tear_down);
    tcase_set_timeout(faults, 120);
    tcase_add_loop_test(faults, a_damaged_index_says_what_it_says_to_the_helper,
                        0, 2);
    tcase_add_loop_test(
        faults, without_memory_names_are_right_or_missing_or_it_is_an_error, 0,
        MEMORY_RUNS);
    tcase_add_test(faults, damage_costs_the_same_names_on_any_cores);
    tcase_add_loop_test(faults, what_comes_too_late_is_missing, 0, 2);
    tcase_add_test(faults, without_memory_here_the_helper_names_the_rest);
    suite_add_tcase(suite, faults);
    return suite_run(suite);
}
