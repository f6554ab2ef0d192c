/* test_script_cpuprof.c - CpuProf, from a script to what the controller is
 * asked for. */
#include <stdio.h>

#include "script_fixture.h"
#include "snapshot.h"
#include "suite.h"

#define CPU "CpuProf.getInstance()."

static const struct {
    const char *call;
    enum observe_kind kind;
    uint32_t seconds, hz;
    bool keep;
    const char *name;
    bool kernel;
} asked[] = {
    {"profile().text()", OBSERVE_CPU, OBSERVE_SECONDS, 0, false, ""},
    {"profile(120).text()", OBSERVE_CPU, 120, 0, false, ""},
    {"profile(3, 99).flamegraph()", OBSERVE_CPU, 3, 99, false, ""},
    {"profile_wall(4).pprof()", OBSERVE_WALL, 4, 0, false, ""},
    {"profile_wall(4, 20).export()", OBSERVE_WALL, 4, 20, false, ""},
    {"profile(3, 99, \"kernel\").top()", OBSERVE_CPU, 3, 99, false, "", true},
    {"snapshot(5, 7, \"kernel\")", OBSERVE_CPU, 5, 7, true, "", true},
    {"snapshot(\"a\", 5, 7, \"kernel\")", OBSERVE_CPU, 5, 7, true, "a", true},
    {"snapshot()", OBSERVE_CPU, OBSERVE_SECONDS, 0, true, ""},
    {"snapshot(5)", OBSERVE_CPU, 5, 0, true, ""},
    {"snapshot(5, 7)", OBSERVE_CPU, 5, 7, true, ""},
    {"snapshot(\"a\")", OBSERVE_CPU, OBSERVE_SECONDS, 0, true, "a"},
    {"snapshot(\"a\", 5, 7)", OBSERVE_CPU, 5, 7, true, "a"},
    {"snapshot_wall(\"a\", 600)", OBSERVE_WALL, 600, 0, true, "a"},
    {"snapshot_wall(1)", OBSERVE_WALL, 1, 0, true, ""},
};

START_TEST(a_call_asks_for_what_it_says)
{
    char text[200];
    struct script *script;

    snprintf(text, sizeof(text), "System.print(" CPU "%s)", asked[_i].call);
    script = parse(text);
    ck_assert_msg(script != NULL, "%s", err.text);
    ck_assert_uint_eq(script->seconds, asked[_i].seconds);
    ck_assert_msg(run(script) == STEP_DONE, "%s", err.text);
    ck_assert_uint_eq(scripted.observed, 1);
    ck_assert_int_eq(scripted.observe.kind, asked[_i].kind);
    ck_assert_uint_eq(scripted.observe.seconds, asked[_i].seconds);
    ck_assert_uint_eq(scripted.observe.hz, asked[_i].hz);
    ck_assert(scripted.observe.keep == asked[_i].keep);
    ck_assert_str_eq(scripted.name, asked[_i].name);
    ck_assert(scripted.observe.kernel == asked[_i].kernel);
    ck_assert_uint_eq(side_thread.await.granted_ms, 1000 * asked[_i].seconds);
    script_free(script);
}
END_TEST

static const struct {
    const char *script;
    unsigned column;
    const char *message;
} refused[] = {
    {CPU "profile(0)", 31, "seconds takes a whole number from 1 to 600"},
    {CPU "profile(601)", 31, "seconds takes a whole number from 1 to 600"},
    {CPU "profile(1.5)", 31, "seconds takes a whole number"},
    {CPU "profile(-1)", 31, "seconds takes a whole number"},
    {CPU "profile(1, 0)", 34, "hz takes a whole number from 1 to 1000"},
    {CPU "profile_wall(1, 1001)", 39, "hz takes a whole number"},
    {CPU "profile(1, 99, \"Kernel\")", 38, "only be \"kernel\""},
    {CPU "snapshot(\"b\", 0)", 37, "seconds takes a whole number"},
    {CPU "snapshot(0)", 32, "seconds takes a whole number"},
    {CPU "snapshot(1, 0)", 35, "hz takes a whole number"},
    {CPU "snapshot(\"heap_1\", 1)", 32, "heap_1"},
    {CPU "profile(599).top();" CPU "profile(2)", 64,
     "a script samples for 600 seconds at most, and here for 601"},
};

START_TEST(wrong_arguments_are_refused_before_anything_is_sampled)
{
    struct script *script = parse(refused[_i].script);
    char place[64];

    if (script)
        ck_assert_int_eq(run(script), STEP_FAIL);
    snprintf(place, sizeof(place),
             "script line 1, column %u: ", refused[_i].column);
    ck_assert_msg(strstr(err.text, place) == err.text, "%s", err.text);
    ck_assert_msg(strstr(err.text, refused[_i].message) != NULL, "%s",
                  err.text);
    ck_assert_uint_eq(scripted.submitted, 0);
    script_free(script);
}
END_TEST

START_TEST(a_profile_prints_its_top)
{
    struct script *bare = parse("System.print(" CPU "profile(1))");
    struct script *top = parse("System.print(" CPU "profile(1).top())");
    struct script *heap = parse("System.print(Profile.now())");
    size_t size;

    ck_assert_int_eq(run(bare), STEP_DONE);
    ck_assert_int_eq(run(top), STEP_DONE);
    ck_assert_int_eq(run(heap), STEP_DONE);
    size = strlen(output(bare));
    ck_assert_uint_gt(size, 0);
    ck_assert(strncmp(output(top), output(bare), size) == 0);
    ck_assert_str_eq(output(top) + size, "\n"); /* as of all texts */
    ck_assert_str_eq(output(heap), "instance of Profile\n");
    script_free(bare);
    script_free(top);
    script_free(heap);
}
END_TEST

START_TEST(one_profile_has_many_forms)
{
    struct script *script = parse("var s = 2\nvar p = " CPU "profile(s)\n"
                                  "System.print(p.text())\n"
                                  "System.print(p.dot())\nSystem.print(p)");

    ck_assert_msg(script != NULL, "%s", err.text);
    ck_assert_uint_eq(script->seconds, 2);
    ck_assert_int_eq(run(script), STEP_DONE);
    ck_assert_uint_eq(scripted.observed, 1);
    script_free(script);
}
END_TEST

START_TEST(calls_sample_one_after_the_other)
{
    struct script *script = parse(CPU "profile(2).text();" CPU "snapshot(3)");

    ck_assert_msg(script != NULL, "%s", err.text);
    ck_assert_uint_eq(script->seconds, 5);
    ck_assert_int_eq(run(script), STEP_DONE);
    ck_assert_uint_eq(side_thread.await.granted_ms, 5000);
    script_free(script);
}
END_TEST

START_TEST(who_is_killed_leaves)
{
    struct script *script = parse("System.print(" CPU "profile(600))");

    scripted.answer = ANSWER_WAIT;
    ck_assert_int_eq(run(script), STEP_PARKED);
    ck_assert_int_eq(scripted.seats, 1);
    give_up();
    ck_assert_int_eq(scripted.seats, 0);
    script_free(script);
}
END_TEST

#define COUNT(array) (int)(sizeof(array) / sizeof((array)[0]))

int
main(void)
{
    Suite *suite = suite_create("script_cpuprof");
    TCase *tc = tcase_create("script_cpuprof");

    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_set_timeout(tc, 30);
    tcase_add_loop_test(tc, a_call_asks_for_what_it_says, 0, COUNT(asked));
    tcase_add_loop_test(tc,
                        wrong_arguments_are_refused_before_anything_is_sampled,
                        0, COUNT(refused));
    tcase_add_test(tc, a_profile_prints_its_top);
    tcase_add_test(tc, one_profile_has_many_forms);
    tcase_add_test(tc, calls_sample_one_after_the_other);
    tcase_add_test(tc, who_is_killed_leaves);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
