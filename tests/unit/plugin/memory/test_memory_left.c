/* test_memory_left.c - what the kernel says is left. */
#include <string.h>

#include "memory_budget.h"
#include "suite.h"

static const struct {
    const char *text;
    uint64_t left;
} texts[] = {
    {"MemTotal:  8 kB\nMemFree: 4 kB\nMemAvailable:    6 kB\n", 6144},
    {"MemAvailable:0 kB\n", 0},
    {"MemAvailable: 1048576", 1 << 30},
    {"MemAvailable: 99999999999999999999999 kB\n", 17592186044416ull << 10},
    {"MemAvailable:", UINT64_MAX},
    {"xMemAvailable: 5 kB\nmemavailable: 6 kB\n", UINT64_MAX},
    {"", UINT64_MAX},
};

START_TEST(the_kernels_text_is_read)
{
    uint64_t left = memory_left_of(texts[_i].text, strlen(texts[_i].text));

    if (texts[_i].left > (uint64_t)1 << 50)
        ck_assert_uint_gt(left, (uint64_t)1 << 50);
    else
        ck_assert_uint_eq(left, texts[_i].left);
}
END_TEST

START_TEST(of_this_machine_something_is_known)
{
    ck_assert_uint_gt(memory_left(), 0);
    ck_assert_uint_lt(memory_left(), UINT64_MAX);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("memory_left");
    TCase *tc = tcase_create("memory_left");

    tcase_add_loop_test(tc, the_kernels_text_is_read, 0,
                        sizeof(texts) / sizeof(texts[0]));
    tcase_add_test(tc, of_this_machine_something_is_known);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
