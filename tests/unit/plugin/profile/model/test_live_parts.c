/* test_live_parts.c - live bytes by stack, thread and age. */
#include "parts_fixture.h"
#include "suite.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const struct {
    uint64_t age_ms;
    uint32_t age;
    const char *name;
} ages[] = {
    {0, 0, "under 1 s"},           {999, 0, "under 1 s"},
    {1000, 1, "1 s to 10 s"},      {9999, 1, "1 s to 10 s"},
    {10000, 2, "10 s to 1 min"},   {59999, 2, "10 s to 1 min"},
    {60000, 3, "1 min to 10 min"}, {600000, 4, "10 min to 1 h"},
    {3599999, 4, "10 min to 1 h"}, {3600000, 5, "1 h to 6 h"},
    {21600000, 6, "6 h to 1 day"}, {86399999, 6, "6 h to 1 day"},
    {86400000, 7, "over 1 day"},   {UINT64_MAX, 7, "over 1 day"},
};

START_TEST(ages_have_classes)
{
    uint32_t age = heap_age_of(ages[_i].age_ms);

    ck_assert_uint_eq(age, ages[_i].age);
    ck_assert_str_eq(heap_age_name(age), ages[_i].name);
    ck_assert_uint_le(heap_age_from_s(age), ages[_i].age_ms / 1000);
}
END_TEST

START_TEST(equal_parts_are_added_up)
{
    static const struct live_part wanted[] = {
        {0, 1, 0, 3, 3, 400}, {0, 1, 3, 1, 1, 50},   {0, 2, 0, 1, 1, 1000},
        {1, 0, 7, 1, 1, 1},   {1, 1, 7, 4, 4, 4000}, {1, 3, 7, 1, 1, 500},
        {2, 1, 1, 1, 1, 9},   {2, 4, 1, 1, 1, 70},
    };
    struct profile *profile = fixture_parts();
    const struct live_parts *parts = profile->parts;
    uint64_t samples = 0;

    ck_assert_uint_eq(profile->stack_count, 3);
    ck_assert_uint_eq(profile->counted_ms, 2000);
    ck_assert_uint_eq(parts->threads.count, FIXTURE_THREADS);
    ck_assert_str_eq(parts->threads.list[2].name, "io-2");
    ck_assert_uint_eq(parts->threads.list[2].tid, 72);
    ck_assert_uint_eq(parts->count, COUNT(wanted));
    for (size_t i = 0; i < COUNT(wanted); i++) {
        const struct live_part *a = &wanted[i], *b = &parts->list[i];

        ck_assert_uint_eq(a->stack, b->stack);
        ck_assert_uint_eq(a->thread, b->thread);
        ck_assert_uint_eq(a->age, b->age);
        ck_assert_uint_eq(a->samples, b->samples);
        ck_assert(b->objects >= a->objects);
        ck_assert(b->bytes >= a->bytes);
        samples += b->samples;
    }
    ck_assert_uint_eq(samples, profile->samples);
    profile_free(profile);
}
END_TEST

START_TEST(the_parts_of_a_stack_are_its_bytes)
{
    struct profile *profile = fixture_parts();

    for (uint32_t i = 0; i < profile->stack_count; i++) {
        double bytes = 0, objects = 0;

        for (size_t k = 0; k < profile->parts->count; k++) {
            const struct live_part *part = &profile->parts->list[k];

            bytes += part->stack == i ? part->bytes : 0;
            objects += part->stack == i ? part->objects : 0;
        }
        ck_assert_double_eq(bytes, profile->stacks[i].bytes);
        ck_assert_double_eq(objects, profile->stacks[i].objects);
    }
    profile_free(profile);
}
END_TEST

START_TEST(dumps_without_lines_by_thread_have_none)
{
    struct profile *profile =
        fixture_profile(FIXTURE_PARTS, fixture_part_names, NULL);

    ck_assert_ptr_null(profile->parts);
    ck_assert_uint_eq(profile->counted_ms, 0);
    profile_free(profile);
}
END_TEST

/* The lines by thread: all of a stack's together are its bytes. */
START_TEST(jemallocs_lines_by_thread_are_parts)
{
    static const struct {
        uint32_t stack;
        const char *name;
        uint64_t number, samples;
    } wanted[] = {
        {0, "io-7", 8, 3},    {0, "?[31m?x", 10, 1},         {1, "", 0, 4},
        {2, "", 0, 5},        {3, "exactly fifteen", 12, 1}, {4, "", 14, 1},
        {4, "io-7", 8, 0x80},
    };
    struct profile *profile = fixture_profile(
        "heap_v2/524288\n"
        "  t*: 17: 100 [0: 0]\n"
        "  t7: 3: 100 [0: 0] io-7\n"
        "  t9: 3: 100 [0: 0]  \x1b[31m\xffx \n"
        "  t11: 1: 100 [0: 0] exactly fifteen bytes and more\n"
        "  t13: 0: 0 [0: 0]\n"
        "@ 0x1000 0x2001 0x5001\n" /* fewer, by rounding */
        "  t*: 6: 600 [0: 0]\n  t7: 3: 300 [0: 0]\n  t9: 1: 50 [0: 0]\n"
        "@ 0x1000 0x3001 0x5001\n" /* more than there are */
        "  t*: 4: 4000 [0: 0]\n  t7: 3: 3000 [0: 0]\n"
        "  t9: 18446744073709551615: 18446744073709551615 [0: 0]\n"
        "@ 0x1000\n" /* none; one of another's */
        "  t*: 5: 70 [0: 0]\n  t99: 0: 0 [0: 0]\n"
        "@ 0x2001 0x3001\n"
        "  t*: 1: 9 [0: 0]\n  t11: 1: 9 [0: 0]\n"
        "@ 0x3001 0x2001 0x5001\n"
        "  t7: 1: 9 [0: 0]\n" /* before its stack's: of none */
        "  t*: 129: 1000 [0: 0]\n  t13: 1: 500 [0: 0]\n"
        "  t7: 128: 500 [0: 0]\n",
        fixture_part_names, NULL);
    const struct live_parts *parts = profile->parts;

    ck_assert_ptr_nonnull(parts);
    ck_assert(live_parts_numbered(parts));
    ck_assert_uint_eq(parts->count, COUNT(wanted));
    for (size_t i = 0; i < COUNT(wanted); i++) {
        const struct live_part *part = &parts->list[i];
        bool found = false;

        for (size_t k = 0; k < COUNT(wanted); k++) {
            const struct heap_thread *thread =
                &parts->threads.list[part->thread];

            found = found || (wanted[k].stack == part->stack &&
                              wanted[k].number == thread->number &&
                              strcmp(wanted[k].name, thread->name) == 0 &&
                              wanted[k].samples == part->samples);
        }
        ck_assert_msg(found, "part %zu", i);
        ck_assert_uint_eq(part->age, 0);
    }
    for (uint32_t i = 0; i < profile->stack_count; i++) {
        double bytes = 0, objects = 0;

        for (size_t k = 0; k < parts->count; k++) {
            bytes += parts->list[k].stack == i ? parts->list[k].bytes : 0;
            objects += parts->list[k].stack == i ? parts->list[k].objects : 0;
            ck_assert(parts->list[k].bytes >= 0);
        }
        ck_assert_double_eq(bytes, profile->stacks[i].bytes);
        ck_assert_double_eq(objects, profile->stacks[i].objects);
    }
    profile_free(profile);
}
END_TEST

/* What jemalloc 5.3 writes of 100 samples of 16 bytes and as many of 1 MB: the
 * stack's mean is neither's. */
START_TEST(threads_of_other_sizes_have_their_own)
{
    static const double wanted[] = {100 * 524296., 100 * 1212697.};
    struct profile *profile =
        fixture_profile("heap_v2/524288\n"
                        "t1: 1: 1 [0: 0] small\nt2: 1: 1 [0: 0] large\n"
                        "@ 0x1000 0x2001\n"
                        "  t*: 331: 17560 [0: 0]\n"
                        "  t1: 100: 1600 [0: 0]\n"
                        "  t2: 98: 105751942 [0: 0]\n\n"
                        "MAPPED_LIBRARIES:\n"
                        "1000-6000 r-xp 0 0:0 1 /db\n",
                        fixture_part_names, NULL);
    const struct live_parts *parts = profile->parts;

    ck_assert_uint_eq(parts->count, 2);
    for (size_t i = 0; i < 2; i++)
        ck_assert_double_eq_tol(parts->list[i].bytes, wanted[i],
                                wanted[i] / 50);
    ck_assert_double_eq(parts->list[0].bytes + parts->list[1].bytes,
                        profile->stacks[0].bytes);
    profile_free(profile);
}
END_TEST

/* Three threads' lines, each rounded up, are one more than their stack. */
START_TEST(rounding_loses_no_thread)
{
    struct profile *profile = fixture_profile(
        "heap_v2/524288\n"
        "t1: 1: 1 [0: 0] a\nt2: 1: 1 [0: 0] b\nt3: 1: 1 [0: 0] c\n"
        "@ 0x1000 0x2001\n"
        "  t*: 152: 77415195 [0: 0]\n"
        "  t1: 51: 25805065 [0: 0]\n  t2: 51: 25805065 [0: 0]\n"
        "  t3: 51: 25805065 [0: 0]\n",
        fixture_part_names, NULL);
    const struct live_parts *parts = profile->parts;

    ck_assert_uint_eq(parts->count, 3);
    for (size_t i = 0; i < 3; i++) {
        ck_assert_str_ne(parts->threads.list[parts->list[i].thread].name, "");
        ck_assert_double_eq_tol(parts->list[i].bytes,
                                profile->stacks[0].bytes / 3,
                                profile->stacks[0].bytes / 100);
    }
    profile_free(profile);
}
END_TEST

/* The last stack of a dump that was cut off may lack some. */
START_TEST(lines_that_were_cut_off_are_of_no_thread)
{
    struct profile *profile =
        fixture_profile("heap_v2/1\nt1: 1: 1 [0: 0] a\nt2: 1: 1 [0: 0] b\n"
                        "@ 0x1000 0x2001\n"
                        "  t*: 2: 2000 [0: 0]\n  t1: 1: 1000 [0: 0]\n  t2: 1",
                        fixture_part_names, NULL);
    const struct live_part *part = &profile->parts->list[0];

    ck_assert_uint_eq(profile->parts->count, 1);
    ck_assert_uint_eq(part->thread, 0);
    ck_assert_double_eq(part->bytes, profile->stacks[0].bytes);
    profile_free(profile);
}
END_TEST

/* More threads than are told apart: the others are of no known thread. */
START_TEST(threads_have_a_ceiling)
{
    enum { MANY = HEAP_THREADS_MAX + 10 };
    const size_t room = (size_t)MANY * 64;
    char *text = malloc(room);
    size_t size = (size_t)snprintf(text, room, "heap_v2/1\n");
    struct profile *profile;

    for (int i = 0; i < MANY; i++)
        size += (size_t)snprintf(text + size, room - size,
                                 "t%d: 1: 1 [0: 0] n\n", i);
    size +=
        (size_t)snprintf(text + size, room - size,
                         "@ 0x1000 0x2001\nt*: %d: %d000 [0: 0]\n", MANY, MANY);
    for (int i = 0; i < MANY; i++)
        size += (size_t)snprintf(text + size, room - size,
                                 "t%d: 1: 1000 [0: 0]\n", i);
    profile = fixture_profile(text, fixture_part_names, NULL);
    free(text);
    ck_assert_uint_eq(profile->parts->threads.count, HEAP_THREADS_MAX);
    ck_assert_uint_eq(profile->parts->count, HEAP_THREADS_MAX);
    ck_assert_uint_eq(profile->parts->list[0].thread, 0);
    ck_assert_uint_eq(profile->parts->list[0].samples,
                      MANY - HEAP_THREADS_MAX + 1);
    profile_free(profile);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("live_parts");
    TCase *tc = tcase_create("live_parts");

    tcase_add_loop_test(tc, ages_have_classes, 0, COUNT(ages));
    tcase_add_test(tc, equal_parts_are_added_up);
    tcase_add_test(tc, the_parts_of_a_stack_are_its_bytes);
    tcase_add_test(tc, dumps_without_lines_by_thread_have_none);
    tcase_add_test(tc, jemallocs_lines_by_thread_are_parts);
    tcase_add_test(tc, threads_of_other_sizes_have_their_own);
    tcase_add_test(tc, rounding_loses_no_thread);
    tcase_add_test(tc, lines_that_were_cut_off_are_of_no_thread);
    tcase_add_test(tc, threads_have_a_ceiling);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
