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

START_TEST(jemallocs_dumps_have_none)
{
    struct profile *profile =
        fixture_profile(FIXTURE_PARTS, fixture_part_names, NULL);

    ck_assert_ptr_null(profile->parts);
    ck_assert_uint_eq(profile->counted_ms, 0);
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
    tcase_add_test(tc, jemallocs_dumps_have_none);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
