/* test_elsewhere.c - what lies in jemallocs that are not profiled. */
#include <string.h>

#include "buffer.h"
#include "stats_allocators.h"
#include "stats.h"
#include "suite.h"

#define MB(n) ((uint64_t)(n) << 20)

static const struct stats_allocator chosen = {.object = "/usr/bin/db",
                                              .chosen = true,
                                              .callable = true,
                                              .config_prof = true,
                                              .counted = true,
                                              .allocated = MB(13)};

static const struct {
    struct stats_allocator other;
    const char *text;
} cases[] = {
    {{.object = "/lib/_duckdb.so",
      .callable = true,
      .counted = true,
      .allocated = MB(212)},
     "212.0 MB are in _duckdb.so's jemalloc, which cannot be profiled"},
    {{.object = "/lib/libengine.so",
      .callable = true,
      .config_prof = true,
      .counted = true,
      .allocated = MB(4)},
     "4.0 MB are in libengine.so's jemalloc, which is not profiled: "
     "--allocator libengine.so chooses it"},
    {{.object = "polars.so", .callable = true},
     "an unknown part is in polars.so's jemalloc, built without statistics, "
     "which cannot be profiled"},
    /* idle */
    {{.object = "/lib/_duckdb.so",
      .callable = true,
      .counted = true,
      .allocated = MB(4) - 1},
     ""},
    {{.object = "/lib/_duckdb.so", .counted = true, .allocated = MB(212)}, ""},
};

static void
write_of(const struct stats_allocator *list, size_t count, struct buffer *out)
{
    struct stats stats = {.allocators = list, .allocator_count = count};

    buffer_init(out, ELSEWHERE_TEXT_MAX);
    elsewhere_write(&stats, out);
    ck_assert(!out->failed);
}

START_TEST(it_is_named_where_it_is_worth_it)
{
    const struct stats_allocator list[] = {chosen, cases[_i].other};
    struct buffer text;

    write_of(list, 2, &text);
    ck_assert_str_eq(text.data ? text.data : "", cases[_i].text);
    buffer_fini(&text);
}
END_TEST

START_TEST(a_twentieth_of_all_is_worth_it)
{
    struct stats_allocator list[] = {chosen, cases[0].other, cases[0].other};
    struct buffer text;

    list[2].object = "small.so";
    list[2].allocated = MB(11); /* of 236 */
    write_of(list, 3, &text);
    ck_assert_ptr_null(strstr(text.data, "small.so"));
    buffer_fini(&text);
    list[2].allocated = MB(12); /* of 237 */
    write_of(list, 3, &text);
    ck_assert_ptr_nonnull(strstr(text.data, "small.so"));
    buffer_fini(&text);
}
END_TEST

START_TEST(the_longest_text_has_room)
{
    char name[2000];
    struct stats_allocator list[STATS_ALLOCATORS_MAX];
    struct buffer text;

    memset(name, 'x', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    for (size_t i = 0; i < STATS_ALLOCATORS_MAX; i++)
        list[i] = (struct stats_allocator){
            .object = name, .callable = true, .config_prof = true};
    write_of(list, STATS_ALLOCATORS_MAX, &text);
    ck_assert_uint_gt(text.size, 100);
    buffer_fini(&text);
}
END_TEST

START_TEST(sums_leave_out_the_chosen_one)
{
    struct stats_allocator list[] = {chosen, cases[0].other, cases[1].other,
                                     cases[2].other};
    struct stats stats = {.allocators = list, .allocator_count = 4};

    list[1].resident = MB(220);
    ck_assert_uint_eq(elsewhere_allocated(&stats).value, MB(216));
    ck_assert_uint_eq(elsewhere_resident(&stats).value, MB(220));
    ck_assert(elsewhere_allocated(&stats).known);
    stats.allocator_count = 1;
    ck_assert(!elsewhere_allocated(&stats).known);
    ck_assert(!elsewhere_resident(&stats).known);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("elsewhere");
    TCase *tc = tcase_create("elsewhere");

    tcase_add_loop_test(tc, it_is_named_where_it_is_worth_it, 0,
                        sizeof(cases) / sizeof(cases[0]));
    tcase_add_test(tc, a_twentieth_of_all_is_worth_it);
    tcase_add_test(tc, the_longest_text_has_room);
    tcase_add_test(tc, sums_leave_out_the_chosen_one);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
