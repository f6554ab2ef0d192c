/*
 * test_script_chain.c - Profile's chain and HeapProf's snapshots, from a script
 * to what the renderer and the controller are asked for.
 */
#include <math.h>
#include <stdio.h>

#include "buffer.h"
#include "profile.h"
#include "script_fixture.h"
#include "snapshot.h"
#include "snapshot_file.h"
#include "store.h"
#include "suite.h"

#define HEAP "HeapProf.getInstance()."

/* Runs it to its end. */
static void
run_whole(const char *text)
{
    struct script *script = parse(text);

    ck_assert_msg(script != NULL, "%s: %s", text, err.text);
    ck_assert_msg(run(script) == STEP_DONE, "%s: %s", text, err.text);
    script_free(script);
}

static void
expect(const char *text, const char *wanted)
{
    struct script *script = parse(text);

    ck_assert_msg(script != NULL, "%s: %s", text, err.text);
    ck_assert_msg(run(script) == STEP_DONE, "%s: %s", text, err.text);
    ck_assert_str_eq(output(script), wanted);
    script_free(script);
}

static void
expect_failure(const char *text, const char *wanted)
{
    struct script *script = parse(text);

    ck_assert_msg(script != NULL, "%s: %s", text, err.text);
    ck_assert_int_eq(run(script), STEP_FAIL);
    ck_assert_msg(strstr(err.text, wanted) != NULL, "%s", err.text);
    script_free(script);
}

/* Parsing says so, as nothing else is needed to know. */
static const struct {
    const char *script;
    unsigned line, column;
    const char *message;
} senseless[] = {
    {"System.print(1)\n\nHeapProf.getInstance().to_dot_format(\"../x\")", 3, 38,
     "'../x' is not a snapshot's name"},
    {"HeapProf.getInstance().to_dot_format(\"\")", 1, 38,
     "not a snapshot's name"},
    {"HeapProf.getInstance().to_dot_format(\"heap_1\\0\")", 1, 38,
     "not a snapshot's name"},
    {"HeapProf.getInstance().to_dot_format(\"HEAP_1\")", 1, 38,
     "not a snapshot's name"},
    {"HeapProf.getInstance().snapshot(\"a b\")", 1, 33,
     "not a snapshot's name"},
    {"HeapProf.getInstance().delete(\"*\")", 1, 31, "not a snapshot's name"},
    {"Profile.of(\"../a\")", 1, 12, "'../a' is not a snapshot's name"},
    {"Profile.of(\"a\").base(\"\")", 1, 22, "'' is not a snapshot's name"},
    {"Profile.of(\"a\").by(\"bytes\")", 1, 20,
     "by takes one of inuse_space, inuse_objects, alloc_space, alloc_objects, "
     "time, samples, waste, not 'bytes'"},
    {"var p = Profile.of(\"a\")\n\np.granularity(\"x\").by(\"y\")", 3, 15,
     "granularity takes one of functions, lines, files, addresses, not 'x'"},
    {"Profile.of(\"a\").by(\"inuse_space\\0\")", 1, 20, "by takes one of"},
    {"Profile.of(\"a\").focus(\"(\")", 1, 23,
     "focus: bad regular expression at offset 1: missing closing "
     "parenthesis"},
    {"Profile.of(\"a\").ignore(\"\")", 1, 24,
     "ignore takes a regular expression"},
    {"Profile.of(\"a\").nodecount(0)", 1, 27,
     "nodecount takes a whole number from 1 to 1000000"},
    {"Profile.of(\"a\").nodecount(1.5)", 1, 27, "whole number"},
    {"Profile.of(\"a\").maxdegree(1e999)", 1, 27, "whole number"},
    {"Profile.of(\"a\").nodefraction(2)", 1, 30, "a number from 0 to 1"},
    {"Profile.of(\"a\").edgefraction(-1)", 1, 30, "a number from 0 to 1"},
};

START_TEST(senseless_values_are_found_before_anything_runs)
{
    char text[400], place[64];

    snprintf(text, sizeof(text), "HeapProf.getInstance().enable_prof();%s",
             senseless[_i].script);
    ck_assert_ptr_null(parse(text));
    ck_assert_ptr_null(parse(senseless[_i].script));
    snprintf(place, sizeof(place),
             "script line %u, column %u: ", senseless[_i].line,
             senseless[_i].column);
    ck_assert_msg(strstr(err.text, place) == err.text, "%s", err.text);
    ck_assert_msg(strstr(err.text, senseless[_i].message) != NULL, "%s",
                  err.text);
    ck_assert_uint_eq(scripted.submitted, 0);
}
END_TEST

/* Faults that the parser cannot know are found when the call runs. */
START_TEST(senseless_values_that_are_made_say_where_too)
{
    struct script *script =
        parse("var a = \"x\"\nProfile.of(a).by(a + a).dot()");

    ck_assert_int_eq(run(script), STEP_FAIL);
    ck_assert_uint_eq(err.code, ER_WRONG_ARGUMENTS);
    ck_assert_str_eq(err.text,
                     "script line 2, column 20: by takes one of inuse_space, "
                     "inuse_objects, alloc_space, alloc_objects, time, "
                     "samples, waste, not 'xx'");
    script_free(script);
}
END_TEST

/* ---- what the renderer is asked for ---- */

START_TEST(options_reach_the_renderer)
{
    const struct view_options *seen = &scripted.options;

    run_whole("Profile.of(\"heap_1\").focus(\"Block\").ignore(\"^x\")"
              ".by(\"alloc_objects\").granularity(\"files\").nodecount(5)"
              ".nodefraction(0.25).edgefraction(0).maxdegree(2).show_bytes()"
              ".allocator_frames(true).by_growth().dot()");
    ck_assert_int_eq(seen->measure, MEASURE_ALLOC_OBJECTS);
    ck_assert_int_eq(seen->granularity, GRANULARITY_FILES);
    ck_assert_uint_eq(seen->nodecount, 5);
    ck_assert(seen->nodefraction == .25);
    ck_assert(seen->edgefraction == 0);
    ck_assert_uint_eq(seen->maxdegree, 2);
    ck_assert(seen->show_bytes && seen->allocator_frames && seen->by_growth);
    ck_assert_str_eq(scripted.focus, "Block");
    ck_assert_str_eq(scripted.ignore, "^x");
    run_whole("Profile.of(\"heap_1\").show_bytes().show_bytes(false).dot()");
    ck_assert(!seen->show_bytes);
    ck_assert_uint_eq(seen->nodecount, view_defaults.nodecount);
    ck_assert(seen->nodefraction == view_defaults.nodefraction);
    ck_assert_str_eq(scripted.focus, "");
}
END_TEST

START_TEST(each_call_gives_another_profile)
{
    run_whole("var p = Profile.of(\"heap_1\").nodecount(7)\n"
              "var q = p.nodecount(9).focus(\"x\")\n"
              "p.dot()");
    ck_assert_uint_eq(scripted.options.nodecount, 7);
    ck_assert_str_eq(scripted.focus, "");
    run_whole("var p = Profile.of(\"heap_1\").nodecount(7)\n"
              "var q = p.nodecount(9).focus(\"x\")\n"
              "p.dot()\nq.dot()");
    ck_assert_uint_eq(scripted.options.nodecount, 9);
    ck_assert_str_eq(scripted.focus, "x");
}
END_TEST

START_TEST(now_is_one_dump_until_something_changes)
{
    run_whole("Profile.now().dot()\nvar p = Profile.now()\n"
              "p.nodecount(3).dot()\nProfile.now().dot()");
    ck_assert_uint_eq(scripted.profiles, 1);
    run_whole("Profile.now().dot()");
    ck_assert_uint_eq(scripted.profiles, 2);
    run_whole("var p = Profile.now()\n" HEAP "enable_prof()\n"
              "Profile.now().dot()\np.dot()");
    ck_assert_uint_eq(scripted.profiles, 4);
    ck_assert_uint_eq(scripted.snapshots, 0);
}
END_TEST

START_TEST(now_waits_and_goes_on)
{
    struct script *script = parse("System.print(Profile.now().dot())");

    scripted.answer = ANSWER_WAIT;
    ck_assert_int_eq(run(script), STEP_PARKED);
    scripted_finish(true);
    ck_assert_int_eq(run(script), STEP_DONE);
    ck_assert_uint_eq(scripted.submitted, 1);
    ck_assert_str_eq(output(script), "digraph \"x\" {\nN1;\n}\n\n");
    script_free(script);
    script = parse("System.print(Profile.now().dot())");
    ck_assert_int_eq(run(script), STEP_PARKED);
    give_up();
    script_free(script);
}
END_TEST

START_TEST(equal_views_of_a_script_are_rendered_once)
{
    struct view_counts counts;

    run_whole("var p = Profile.of(\"heap_1\")\np.dot()\np.dot()\n"
              "Profile.of(\"heap_1\").nodecount(80).dot()\n" HEAP
              "to_dot_format(\"heap_1\")");
    view_cache_count(host.views, &counts);
    ck_assert_uint_eq(counts.rendered, 1);
    ck_assert_uint_eq(counts.cached, 3);
}
END_TEST

START_TEST(bytes_are_printed_as_they_are)
{
    struct script *script =
        parse("System.print(Profile.of(\"heap_1\").export())");

    ck_assert(script->prints_bytes);
    ck_assert(script->longest == SCRIPT_SLOW);
    ck_assert_int_eq(run(script), STEP_DONE);
    ck_assert_int_eq(memcmp(output(script), "HWSNAP\r\n", 8), 0);
    script_free(script);
    script = parse("Profile.of(\"heap_1\").export()\nSystem.print(1)");
    ck_assert(!script->prints_bytes);
    script_free(script);
    expect_failure("Profile.of(\"heap_1\").base(\"heap_1\").export()",
                   "export gives one snapshot: leave base() out");
}
END_TEST

static void
keep_large(const char *name)
{
    struct buffer text;
    struct snapshot *snapshot;

    buffer_init(&text, 1 << 20);
    buffer_text(&text, "heap_v2/524288\n  t*: 1: 1 [0: 0]\n");
    for (unsigned i = 0; i < 20000; i++)
        buffer_format(&text, "@ 0x%x 0x%x\n  t*: 1: 1 [0: 0]\n", i + 1, i + 9);
    ck_assert(!text.failed);
    snapshot = snapshot_import(text.data, text.size, &err);
    ck_assert_msg(snapshot != NULL, "%s", err.text);
    snprintf(snapshot->name, sizeof(snapshot->name), "%s", name);
    ck_assert_int_eq(store_add(scripted.store, snapshot, &err), 0);
    snapshot_unref(snapshot);
    buffer_fini(&text);
}

/* None is printed: variables would hold them. */
START_TEST(views_of_a_script_have_a_ceiling)
{
    enum { LARGER_THAN = 256 * 1024 };
    struct buffer text;

    keep_large("large");
    buffer_init(&text, SCRIPT_SIZE_MAX);
    for (int i = 0; i <= SCRIPT_VIEWS_BYTES_MAX / LARGER_THAN; i++)
        buffer_text(&text, "Profile.of(\"large\").raw()\n");
    ck_assert(!text.failed);
    expect_failure(text.data, "views are larger than 67108864 bytes together");
    buffer_fini(&text);
}
END_TEST

START_TEST(an_old_name_gets_a_hint_to_the_method)
{
    expect_failure("Profile.of(\"now\").dot()",
                   "no snapshot named 'now' is kept; Profile.now() takes a "
                   "fresh dump");
    expect_failure("Profile.of(\"heap_1\").base(\"now\").dot()",
                   "Profile.now() takes a fresh dump");
    expect_failure(HEAP "to_dot_format(\"now\")",
                   "Profile.now() takes a fresh dump");
}
END_TEST

START_TEST(a_base_must_be_there_and_comparable)
{
    expect_failure("Profile.of(\"heap_1\").base(\"heap_9\").dot()",
                   "no snapshot named 'heap_9'");
    scripted.status.hello.pid++;
    scripted_keep("other");
    expect_failure("Profile.of(\"other\").base(\"heap_1\").dot()",
                   "different processes");
    run_whole("Profile.of(\"other\").base(\"heap_1\").force().dot()");
}
END_TEST

/* ---- HeapProf ---- */

START_TEST(jobs_have_what_they_were_asked_with)
{
    run_whole(HEAP "enable_prof(90)");
    ck_assert_int_eq(scripted.request.kind, JOB_ENABLE);
    ck_assert_uint_eq(scripted.request.seconds, 90);
    run_whole(HEAP "enable_prof()");
    ck_assert_uint_eq(scripted.request.seconds, 0);
    run_whole(HEAP "reset(17)");
    ck_assert_int_eq(scripted.request.kind, JOB_RESET);
    ck_assert_uint_eq(scripted.request.lg_sample, 17);
    ck_assert(!scripted.request.force);
    run_whole(HEAP "reset(20, true)");
    ck_assert(scripted.request.force);
    run_whole(HEAP "reset()");
    ck_assert_uint_eq(scripted.request.lg_sample, 0);
    run_whole(HEAP "snapshot(\"before\")");
    ck_assert_int_eq(scripted.request.kind, JOB_SNAPSHOT);
    ck_assert_str_eq(scripted.name, "before");
    run_whole(HEAP "snapshot()");
    ck_assert_str_eq(scripted.name, "");
}
END_TEST

START_TEST(numbers_have_bounds)
{
    expect_failure(HEAP "enable_prof(0)", "column 36: seconds takes a whole"
                                          " number from 1 to 31622400");
    expect_failure(HEAP "enable_prof(1.5)", "a whole number");
    expect_failure(HEAP "reset(31)",
                   "lg_sample takes a whole number from 0 to 30");
    expect_failure(HEAP "reset(-1)", "a whole number from 0 to 30");
    expect_failure("Profile.of(\"heap_1\").top(0)", "a whole number from 1");
    ck_assert_uint_eq(scripted.submitted, 0);
}
END_TEST

START_TEST(a_taken_name_is_refused_before_the_dump)
{
    expect_failure(HEAP "snapshot(\"heap_1\")",
                   "script line 1, column 33: a snapshot named 'heap_1' is "
                   "kept already");
    ck_assert_uint_eq(scripted.submitted, 0);
}
END_TEST

START_TEST(snapshots_are_listed_described_pinned_and_deleted)
{
    struct store_entry entry;

    scripted_keep("longer_name");
    run_whole(HEAP "pin(\"heap_1\")");
    expect("System.print(" HEAP "snapshots())",
           "heap_1       2026-11-21 02:31:07         0.0 MB         0 samples"
           "  pinned  only in memory\n"
           "longer_name  2026-11-21 02:31:07         0.0 MB         0 samples"
           "  only in memory\n\n");
    ck_assert_int_eq(store_find(scripted.store, "heap_1", &entry, &err), 0);
    ck_assert(entry.pinned);
    run_whole(HEAP "unpin(\"heap_1\")");
    ck_assert_int_eq(store_find(scripted.store, "heap_1", &entry, &err), 0);
    ck_assert(!entry.pinned);
    run_whole(HEAP "delete(\"heap_1\").delete(\"longer_name\")");
    expect("System.print(" HEAP "snapshots())", "\n");
    expect_failure(HEAP "delete(\"heap_1\")", "no snapshot named 'heap_1'");
    expect_failure(HEAP "pin(\"heap_1\")", "no snapshot named 'heap_1'");
    expect_failure(HEAP "describe(\"heap_1\")", "no snapshot named 'heap_1'");
}
END_TEST

START_TEST(many_are_deleted_by_a_pattern)
{
    static const char *const kept[] = {"nightly_1", "nightly_2", "nightlyx3",
                                       "a_nightly_4", "nightly"};

    for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
        scripted_keep(kept[i]);
    run_whole(HEAP "pin(\"nightly_2\")");
    expect("System.print(" HEAP "delete_like(\"nightly_*\"))",
           "1 deleted; kept, because they are pinned: nightly_2\n");
    expect("System.print(" HEAP "delete_like(\"nightly\"))", "1 deleted\n");
    expect("System.print(" HEAP "delete_like(\"*z*\"))", "0 deleted\n");
    expect("System.print(" HEAP "delete_like(\"*_n*t\\%_4*\"))", "1 deleted\n");
    run_whole(HEAP "unpin(\"nightly_2\")");
    expect("System.print(" HEAP "delete_like(\"*\"))", "3 deleted\n");
    expect("System.print(" HEAP "snapshots())", "\n");
    expect_failure(HEAP "delete_like(\"\")", "not a pattern of snapshots'");
    expect_failure(HEAP "delete_like(\"a-*\")", "'a-*' is not a pattern");
}
END_TEST

/* There may be many, and many calls. */
START_TEST(a_list_is_not_made_on_the_loop)
{
    struct script *script = parse(HEAP "snapshots()");

    ck_assert(script->longest == SCRIPT_SLOW);
    script_free(script);
}
END_TEST

START_TEST(a_description_has_a_line_for_each_figure)
{
    struct script *script = parse("System.print(" HEAP "describe(\"heap_1\"))");

    ck_assert_int_eq(run(script), STEP_DONE);
    ck_assert_msg(strstr(output(script),
                         "name: heap_1\n"
                         "taken: 2026-11-21 02:31:07 UTC\n"
                         "because: it was asked for\n") == output(script),
                  "%s", output(script));
    ck_assert_ptr_nonnull(strstr(output(script), "\npid: 4711\n"));
    ck_assert_ptr_nonnull(strstr(output(script), "\npinned: no\n"));
    script_free(script);
}
END_TEST

START_TEST(a_profile_of_time_is_listed_in_seconds)
{
    struct snapshot *snapshot = scripted_snapshot("busy");
    struct script *script;

    snapshot->profile->kind = PROFILE_WALL;
    snapshot->profile->duration_ms = 10000;
    snapshot->profile->rate = 50000000;
    snapshot->profile->bytes = 12.34e9;
    ck_assert_int_eq(store_add(scripted.store, snapshot, &err), 0);
    snapshot_unref(snapshot);
    script = parse("System.print(" HEAP "snapshots())\n"
                   "System.print(" HEAP "describe(\"busy\"))");
    ck_assert_int_eq(run(script), STEP_DONE);
    ck_assert_ptr_nonnull(strstr(output(script),
                                 "busy    2026-11-21 02:31:07        12.3 s   "
                                 "       0 samples"));
    ck_assert_ptr_nonnull(
        strstr(output(script),
               "\na sample every: 50.0 ms\nsampled for: 10.0 s\nsamples: 0\n"
               "stacks: 0\nof the clock: 12.3 s\npinned: no\n"));
    script_free(script);
}
END_TEST

#define COUNT(array) (int)(sizeof(array) / sizeof((array)[0]))

int
main(void)
{
    Suite *suite = suite_create("script_chain");
    TCase *tc = tcase_create("script_chain");

    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_set_timeout(tc, 30);
    tcase_add_loop_test(tc, senseless_values_are_found_before_anything_runs, 0,
                        COUNT(senseless));
    tcase_add_test(tc, senseless_values_that_are_made_say_where_too);
    tcase_add_test(tc, options_reach_the_renderer);
    tcase_add_test(tc, each_call_gives_another_profile);
    tcase_add_test(tc, a_profile_of_time_is_listed_in_seconds);
    tcase_add_test(tc, now_is_one_dump_until_something_changes);
    tcase_add_test(tc, now_waits_and_goes_on);
    tcase_add_test(tc, equal_views_of_a_script_are_rendered_once);
    tcase_add_test(tc, bytes_are_printed_as_they_are);
    tcase_add_test(tc, views_of_a_script_have_a_ceiling);
    tcase_add_test(tc, an_old_name_gets_a_hint_to_the_method);
    tcase_add_test(tc, a_base_must_be_there_and_comparable);
    tcase_add_test(tc, jobs_have_what_they_were_asked_with);
    tcase_add_test(tc, numbers_have_bounds);
    tcase_add_test(tc, a_taken_name_is_refused_before_the_dump);
    tcase_add_test(tc, snapshots_are_listed_described_pinned_and_deleted);
    tcase_add_test(tc, many_are_deleted_by_a_pattern);
    tcase_add_test(tc, a_list_is_not_made_on_the_loop);
    tcase_add_test(tc, a_description_has_a_line_for_each_figure);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
