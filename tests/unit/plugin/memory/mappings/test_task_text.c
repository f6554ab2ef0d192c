/* test_task_text.c - what /proc says of threads, and lists of such. */
#include <stdio.h>
#include <string.h>

#include "map_owners.h"
#include "suite.h"
#include "task_text.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const struct {
    const char *text;
    uint64_t sp;
} texts[] = {
    {"202 0x1 0x2 0x0 0x0 0x0 0x0 0x7ffc12345678 0x7f0000000001\n",
     0x7ffc12345678},
    {"-1 0x7ffc12345678 0x7f0000000001\n", 0x7ffc12345678},
    {"running\n", 0},
    {"", 0},
    {"202 0x1 0x2 0x0 0x0 0x0 0x0 0x7ffc12345678", 0},
    {"202 0x1 0x2 0x0 0x0 0x0 0x0 7ffc12345678 0x1", 0},
    {"202 0x1 0x2 0x0 0x0 0x0 0x0 0x7ffc123456789abcdef01 0x1", 0},
    {"-1 0x 0x1", 0},
};

START_TEST(a_thread_that_waits_has_a_stack_pointer)
{
    ck_assert_uint_eq(
        task_text_sp((struct span){texts[_i].text, strlen(texts[_i].text)}),
        texts[_i].sp);
}
END_TEST

START_TEST(an_agents_list_is_read)
{
    static const char text[] =
        "12 -1 0x1000 0x1\tpool-1\n"
        "13 running\ta b\tc\n"
        "14 \t\n"
        "x -1 0x1000 0x1\tno number\n"
        "99999999999 -1 0x1000 0x1\ttoo large\n"
        "-3 -1 0x1000 0x1\tnegative\n"
        "15\n"
        "16 -1 0x2000 0x1\tlonger than the sixty-three bytes that a name may "
        "have in this list\n"
        "17 -1 0x3000 0x1\tno end";
    struct map_thread list[8];
    size_t count =
        task_text_parse((struct span){text, sizeof(text) - 1}, list, 8);

    ck_assert_uint_eq(count, 6);
    ck_assert_int_eq(list[0].tid, 12);
    ck_assert_uint_eq(list[0].sp, 0x1000);
    ck_assert_str_eq(list[0].name, "pool-1");
    ck_assert_str_eq(list[1].name, "a b\tc");
    ck_assert_uint_eq(list[1].sp, 0);
    ck_assert_str_eq(list[2].name, "");
    ck_assert_int_eq(list[3].tid, 15);
    ck_assert_uint_eq(strlen(list[4].name), sizeof(list[4].name) - 1);
    ck_assert_int_eq(list[5].tid, 17);
    for (size_t size = 0; size < sizeof(text); size++)
        ck_assert_uint_le(task_text_parse((struct span){text, size}, list, 8),
                          6);
    ck_assert_uint_eq(
        task_text_parse((struct span){text, sizeof(text) - 1}, list, 2), 2);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("task_text");
    TCase *tc = tcase_create("task_text");

    tcase_add_loop_test(tc, a_thread_that_waits_has_a_stack_pointer, 0,
                        COUNT(texts));
    tcase_add_test(tc, an_agents_list_is_read);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
