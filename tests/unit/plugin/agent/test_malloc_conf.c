/* test_malloc_conf.c - the options that are put in front of jemalloc's
 * variable. */
#include <string.h>

#include "malloc_conf.h"
#include "suite.h"

#define BOTH "prof:true,prof_active:false"

static const struct {
    const char *wanted, *present, *compiled;
    const char *merged; /* NULL: not to be done */
} cases[] = {
    {BOTH, NULL, NULL, BOTH},
    {BOTH, "", "", BOTH},
    {BOTH, "narenas:2", NULL, BOTH ",narenas:2"},
    {"prof:true", "a:1,b:2", NULL, "prof:true,a:1,b:2"},
    /* the user's own options stay, and their prof counts */
    {BOTH, "prof_active:true,x:1", NULL, "prof:true,prof_active:true,x:1"},
    {BOTH, "x:1,prof_active:true", NULL, "prof:true,x:1,prof_active:true"},
    {BOTH, "prof:false", NULL, NULL},
    {BOTH, "x:1,prof:true", NULL, NULL},
    /* only a whole key is equal */
    {BOTH, "prof_final:true", NULL, BOTH ",prof_final:true"},
    {BOTH, "xprof:false", NULL, BOTH ",xprof:false"},
    {BOTH, "x:prof:false", NULL, BOTH ",x:prof:false"},
    /* compiled-in options count, except prof */
    {BOTH, NULL, "prof_active:true,background_thread:true", "prof:true"},
    {BOTH, "x:1", "prof:false", BOTH ",x:1"},
    {BOTH ",prof_stats:true", "x:1", "prof_stats:false", BOTH ",x:1"},
    /* nothing would set prof:true */
    {"", "x:1", NULL, NULL},
    {"prof_active:false", NULL, NULL, NULL},
    {"prof:false", NULL, NULL, NULL},
    {",,prof:true,,", "x:1", NULL, "prof:true,x:1"},
};

START_TEST(what_the_program_sets_stays)
{
    char out[MALLOC_CONF_MAX];
    bool merged = malloc_conf_merge(out, cases[_i].wanted, cases[_i].present,
                                    cases[_i].compiled);

    ck_assert_int_eq(merged, cases[_i].merged != NULL);
    if (merged)
        ck_assert_str_eq(out, cases[_i].merged);
}
END_TEST

START_TEST(a_value_without_room_is_left_alone)
{
    char out[MALLOC_CONF_MAX], present[MALLOC_CONF_MAX];

    memset(present, 'x', sizeof(present));
    for (size_t size = sizeof(present) - 16; size < sizeof(present); size++) {
        present[size] = '\0';
        ck_assert_int_eq(malloc_conf_merge(out, "prof:true", present, NULL),
                         size + strlen("prof:true,") < sizeof(out));
        present[size] = 'x';
    }
    present[sizeof(present) - 1] = '\0';
    ck_assert(!malloc_conf_merge(out, present, NULL, NULL));
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("malloc_conf");
    TCase *tc = tcase_create("malloc_conf");

    tcase_add_loop_test(tc, what_the_program_sets_stays, 0,
                        sizeof(cases) / sizeof(cases[0]));
    tcase_add_test(tc, a_value_without_room_is_left_alone);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
