/* test_profile.c - estimates from samples, and a profile owns its parts: its
 * stacks are those of the text. */
#include <math.h>

#include "buffer.h"
#include "failing_memory.h"
#include "profile_fixture.h"
#include "suite.h"

/* Sampled, and what AdjustSamples of jeprof 5.3.0 prints for it with %.6f. */
static const struct {
    uint64_t rate, objects, bytes;
    double expected_objects, expected_bytes;
} estimates[] = {
    {524288, 1, 64, 8192.500010, 524320.000651},
    {524288, 13, 6688, 13254.807283, 6819088.546888},
    {524288, 3, 3000000, 3.523085, 3523084.814264},
    {524288, 1, 1073741824, 1.000000, 1073741824.000000},
    {4096, 7, 700, 290.234241, 29023.424139},
    {1, 5, 80, 5.000001, 80.000009},
    {524288, 0, 0, 0.000000, 0.000000},
};

START_TEST(samples_are_scaled_as_jeprof_does)
{
    double scale = profile_scale(estimates[_i].objects, estimates[_i].bytes,
                                 estimates[_i].rate);

    ck_assert_double_eq_tol((double)estimates[_i].objects * scale,
                            estimates[_i].expected_objects, 1e-6);
    ck_assert_double_eq_tol((double)estimates[_i].bytes * scale,
                            estimates[_i].expected_bytes, 1e-6);
}
END_TEST

START_TEST(hostile_counts_stay_finite)
{
    ck_assert_double_eq(profile_scale(7, 0, 512), 1);
    ck_assert(isfinite(profile_scale(UINT64_MAX, 1, UINT64_MAX)));
    ck_assert(isfinite(profile_scale(1, UINT64_MAX, 1)));
    ck_assert_double_gt(profile_scale(1, 1, UINT64_MAX), 1e18);
}
END_TEST

static const struct fixture_name list[] = {
    {0x1000, "malloc", true, NULL, 0},
    {0x2001, "inner(int)|outer()", false, "outer()", 0x20},
    {0}};

START_TEST(equal_stacks_are_added_up)
{
    struct profile *profile = fixture_profile("heap_v2/1\n"
                                              "@ 0x1000 0x2001\n"
                                              "  t*: 2: 200 [0: 0]\n"
                                              "@ 0x1000\n"
                                              "  t*: 1: 50 [0: 0]\n"
                                              "@ 0x1000 0x2001\n"
                                              "  t*: 3: 300 [0: 0]\n"
                                              "MAPPED_LIBRARIES:\n\n",
                                              list, NULL);

    ck_assert_uint_eq(profile->stack_count, 2);
    ck_assert_double_eq_tol(profile->stacks[0].bytes, 500, 1e-6);
    ck_assert_double_eq_tol(profile->stacks[0].objects, 5, 1e-6);
    ck_assert_double_eq_tol(profile->bytes, 550, 1e-6);
    ck_assert_uint_eq(profile->samples, 6);
    ck_assert(!profile->truncated);
    profile_free(profile);
}
END_TEST

START_TEST(names_are_copied)
{
    struct profile *profile =
        fixture_profile("heap_v2/1\n@ 0x1000 0x2001 0x3001\n"
                        "t*: 1: 1 [0: 0]\n",
                        list, NULL);
    const struct location *locations = profile->locations;

    ck_assert_uint_eq(profile->location_count, 3);
    ck_assert_str_eq(locations[0].frames[0].function, "malloc");
    ck_assert(locations[0].in_allocator);
    ck_assert_uint_eq(locations[1].frame_count, 2);
    ck_assert_str_eq(locations[1].frames[0].function, "inner(int)");
    ck_assert_str_eq(locations[1].frames[1].function, "outer()");
    ck_assert_str_eq(locations[1].symbol, "outer()");
    ck_assert_uint_eq(locations[1].symbol_start, 0x20);
    ck_assert_str_eq(locations[2].frames[0].function, "0x3000");
    ck_assert_str_eq(profile->program, "/usr/bin/db");
    profile_free(profile);
}
END_TEST

START_TEST(what_was_ever_allocated_is_kept)
{
    struct profile *profile = fixture_profile("heap_v2/524288\n"
                                              "@ 0x1000 0x2001\n"
                                              "  t*: 0: 0 [3: 3000000]\n"
                                              "@ 0x1000\n"
                                              "  t*: 1: 64 [13: 6688]\n",
                                              list, NULL);

    ck_assert(profile->accumulated);
    ck_assert_uint_eq(profile->samples, 1);
    ck_assert_double_eq(profile->stacks[0].bytes, 0);
    ck_assert_double_eq(profile->stacks[0].variance, 0);
    ck_assert_double_eq_tol(profile->stacks[0].bytes_ever, 3523084.814264,
                            5e-4);
    ck_assert_double_eq_tol(profile->stacks[0].objects_ever, 3.523085, 5e-4);
    ck_assert_uint_eq(profile->stacks[0].ever.objects, 3);
    ck_assert_uint_eq(profile->stacks[1].ever.bytes, 6688);
    ck_assert_uint_eq(profile->stacks[1].in_use.objects, 1);
    ck_assert_uint_eq(profile->stacks[1].in_use.bytes, 64);
    ck_assert_double_eq_tol(profile->bytes_ever,
                            3523084.814264 + 6819088.546888, 1e-3);
    ck_assert_double_eq_tol(profile_total(profile, MEASURE_ALLOC_OBJECTS),
                            3.523085 + 13254.807283, 1e-3);
    ck_assert_double_eq_tol(profile_total(profile, MEASURE_INUSE_OBJECTS),
                            8192.50001, 1e-3);
    profile_free(profile);
    profile =
        fixture_profile("heap_v2/1\n@ 0x1000\nt*: 1: 1 [0: 0]\n", list, NULL);
    ck_assert(!profile->accumulated);
    profile_free(profile);
}
END_TEST

/* n objects of 64 bytes, sampled by chance p: how far do the estimates lie
 * from the truth, and how far does variance say? */
START_TEST(the_variance_is_that_of_the_estimates)
{
    enum { ROUNDS = 400, OBJECTS = 100000 };
    const double rate = 65536, chance = 1 - exp(-64 / rate);
    double squares = 0, claimed = 0;
    unsigned short seed[3] = {1, 2, 3};
    char text[128];

    for (int round = 0; round < ROUNDS; round++) {
        struct profile *profile;
        unsigned sampled = 0;
        double off;

        /* As jemalloc does: exponential gaps between samples. */
        for (double at = -log(1 - erand48(seed)) / -log(1 - chance);
             at < OBJECTS; at += -log(1 - erand48(seed)) / -log(1 - chance))
            sampled++;
        snprintf(text, sizeof(text),
                 "heap_v2/65536\n@ 0x1000\nt*: %u: %u "
                 "[0: 0]\n",
                 sampled, sampled * 64);
        profile = fixture_profile(text, list, NULL);
        off = profile->bytes - OBJECTS * 64.0;
        squares += off * off;
        claimed += profile->stacks[0].variance;
        profile_free(profile);
    }
    ck_assert_msg(fabs(sqrt(squares / claimed) - 1) < 0.1, "%f",
                  sqrt(squares / claimed));
}
END_TEST

/* ---- large ones ---- */

enum { STACKS = 6000, DISTINCT = 2048 /* a power of two */, DEPTH = 20 };

/* Which of the distinct stacks the i-th one is. */
static uint32_t
pick_of(uint32_t i, bool sorted)
{
    return sorted ? i : i * 2654435761U >> 8 & (DISTINCT - 1);
}

static uint32_t
bytes_of(uint32_t i)
{
    return 4096 + i % 777;
}

/* Sorted as jemalloc sorts, by the bytes in memory, of which the lowest is the
 * first; or with stacks that occur in many places. */
static void
large_text(struct buffer *out, bool sorted)
{
    buffer_init(out, 16 << 20);
    buffer_text(out, "heap_v2/524288\n  t*: 9: 99 [0: 0]\n");
    for (uint32_t i = 0; i < STACKS; i++) {
        uint32_t pick = pick_of(i, sorted);

        buffer_format(out, "@ 0x%x", 0x5500000 | (pick & 255) << 8 | pick >> 8);
        for (uint32_t k = 1; k < DEPTH + pick % 9; k++)
            buffer_format(out, " 0x%x", 0x400000 + pick * k % 5003);
        buffer_format(out, "\n  t*: %u: %u [0: 0]\n", 1 + i % 5, bytes_of(i));
    }
    buffer_text(out, "\nMAPPED_LIBRARIES:\n\n");
    ck_assert(!out->failed);
}

/* NULL: no memory. */
static struct profile *
large_profile(const struct buffer *text, unsigned fails)
{
    struct names *names = names_new(1 << 20);
    struct profile *profile = NULL;
    struct error err = {0};
    struct heap_dump *dump;

    ck_assert_ptr_nonnull(names);
    allocations = 0;
    failing = fails;
    dump = heap_dump_parse(text->data, text->size, &err);
    if (dump)
        profile = profile_new(dump, names, "/bin/db", NULL, &err);
    failing = 0;
    ck_assert_int_eq(err.code, profile ? 0 : ER_OUT_OF_MEMORY);
    heap_dump_free(dump);
    names_free(names);
    return profile;
}

/* Each stack is where it came first, with all that its kind has. */
START_TEST(a_large_one_is_what_its_text_says)
{
    static uint32_t place[STACKS]; /* 1 + its stack's */
    static uint64_t bytes[STACKS];
    const bool sorted = _i;
    struct profile *profile;
    uint32_t distinct = 0;
    struct buffer text;

    large_text(&text, sorted);
    profile = large_profile(&text, 0);
    for (uint32_t i = 0; i < STACKS; i++) {
        uint32_t pick = pick_of(i, sorted);

        if (!place[pick])
            place[pick] = ++distinct;
        bytes[place[pick] - 1] += bytes_of(i);
    }
    ck_assert_uint_eq(profile->stack_count, distinct);
    for (uint32_t pick = 0; pick < STACKS; pick++) {
        const struct profile_stack *stack;

        if (!place[pick])
            continue;
        stack = &profile->stacks[place[pick] - 1];
        ck_assert_uint_eq(stack->depth, DEPTH + pick % 9);
        ck_assert_uint_eq(stack->in_use.bytes, bytes[place[pick] - 1]);
        ck_assert_uint_eq(profile->locations[stack->locations[0]].address,
                          0x5500000 | (pick & 255) << 8 | pick >> 8);
        for (uint32_t k = 1; k < stack->depth; k++)
            ck_assert_uint_eq(profile->locations[stack->locations[k]].address,
                              0x400000 + pick * k % 5003 - 1);
    }
    profile_free(profile);
    buffer_fini(&text);
}
END_TEST

START_TEST(a_large_one_without_memory_is_none)
{
    struct profile *profile = NULL;
    struct buffer text;

    large_text(&text, _i);
    for (unsigned n = 1; !profile; n += 1 + n / 20) {
        profile = large_profile(&text, n);
        ck_assert_int_eq(profile != NULL, allocations < n);
    }
    profile_free(profile);
    buffer_fini(&text);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("profile");
    TCase *tc = tcase_create("profile");

    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, samples_are_scaled_as_jeprof_does, 0,
                        sizeof(estimates) / sizeof(estimates[0]));
    tcase_add_test(tc, hostile_counts_stay_finite);
    tcase_add_test(tc, equal_stacks_are_added_up);
    tcase_add_test(tc, names_are_copied);
    tcase_add_test(tc, what_was_ever_allocated_is_kept);
    tcase_add_test(tc, the_variance_is_that_of_the_estimates);
    tcase_add_loop_test(tc, a_large_one_is_what_its_text_says, 0, 2);
    tcase_add_loop_test(tc, a_large_one_without_memory_is_none, 0, 2);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
