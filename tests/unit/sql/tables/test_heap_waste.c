/* test_heap_waste.c - free regions of slabs, by function and size class. */
#include "scripted_controller.h"
#include "snapshot.h"
#include "sql_harness.h"
#include "suite.h"
#include "waste_fixture.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static struct harness h;

static struct profile *
make_unknown(void)
{
    return fixture_profile(FIXTURE_WASTE, fixture_waste_names, NULL);
}

static void
set_up(void)
{
    harness_init(&h, PRIVILEGE_ALL);
    scripted.profile = fixture_waste_recorded;
}

static void
tear_down(void)
{
    harness_fini(&h);
    ck_assert_int_eq(scripted.seats, 0);
}

static const struct {
    const char *query, *answer;
} cases[] = {
    /* 2310 regions of 160 bytes, by 60 of text's and 190 others */
    {"select snapshot, kind, function, size_class, live_bytes, live_objects, "
     "asked_bytes, waste_bytes, error_bytes, utilization, within, method from "
     "heapwire.heap_waste where kind = 'slabs'",
     "snapshot|kind|function|size_class|live_bytes|live_objects|asked_bytes|"
     "waste_bytes|error_bytes|utilization|within|method\n"
     "now|slabs|\\N|#160|#30400|#190|\\N|#280896|#2957|~0.0977|active|not in "
     "the profile\n"
     "now|slabs|text|#160|#9600|#60|#9000|#88704|#2957|~0.0977|active|"
     "samples\n"
     "now|slabs|text|#64|#19200|#300|#18000|#9472|#0|~0.6696|active|samples\n"
     "now|slabs|\\N|#16|#1600|#100|\\N|#2496|#0|~0.3906|active|not in the "
     "profile"},
    {"select kind, function, size_class, live_bytes, waste_bytes, within, "
     "method from heapwire.heap_waste where kind <> 'slabs' and kind <> "
     "'other pages'",
     "kind|function|size_class|live_bytes|waste_bytes|within|method\n"
     "dirty|\\N|\\N|\\N|#150000|resident|counted\n"
     "metadata|\\N|\\N|\\N|#50000|resident|resident - active - dirty\n"
     "tcache|\\N|\\N|\\N|#8000|allocated|counted\n"
     "large padding|\\N|\\N|\\N|#4096|active|counted\n"
     "retained|\\N|\\N|\\N|#8|\\N|counted\n"
     "muzzy|\\N|\\N|\\N|#7|\\N|counted"},
    /* active - allocated, and resident - active */
    {"select within, sum(waste_bytes) s from heapwire.heap_waste where within "
     "in ('active', 'resident') group by within",
     "within|s\nactive|657280\nresident|200000"},
    {"select function, size_class from heapwire.heap_stacks where size_class "
     "is not null",
     "function|size_class\ntext|#64"},
    {"select function from heapwire.heap_waste where function = 'TEXT' and "
     "size_class = 64",
     "function\ntext"},
    {"select collapsed('now', null, 'by=waste') c", "c\nmain;text 98176"},
};

START_TEST(waste_is_a_table)
{
    ck_assert_str_eq(harness_run(&h, cases[_i].query), cases[_i].answer);
    ck_assert_str_eq(harness_run(&h, "show warnings"), "Level|Code|Message");
}
END_TEST

START_TEST(a_kept_snapshot_has_its_own)
{
    scripted_keep("a");
    scripted.profile = make_unknown;
    scripted_keep("b");
    ck_assert_str_eq(
        harness_run(&h, "select snapshot, sum(waste_bytes) w from "
                        "heapwire.heap_waste where snapshot like '%' and "
                        "function is not null group by snapshot"),
        "snapshot|w\na|98176");
    ck_assert_ptr_nonnull(strstr(
        harness_run(&h, "show warnings"),
        "snapshot 'b': waste is known only with jemalloc's counts by size "
        "class (heapwire.malloc_bins) at the time of the snapshot"));
}
END_TEST

START_TEST(what_is_not_known_is_no_row_and_no_picture)
{
    scripted.profile = make_unknown;
    ck_assert_str_eq(harness_run(&h, "select * from heapwire.heap_waste"),
                     "snapshot|kind|function|size_class|live_bytes|"
                     "live_objects|asked_bytes|waste_bytes|error_bytes|"
                     "utilization|within|method");
    ck_assert_ptr_nonnull(
        strstr(harness_run(&h, "show warnings"), "snapshot 'now': waste is"));
    ck_assert_str_eq(
        harness_run(&h, "select size_class from heapwire.heap_stacks"),
        "size_class\n\\N\n\\N\n\\N");
    ck_assert_ptr_nonnull(
        strstr(harness_run(&h, "select top('now', null, 'by=waste') c"),
               "the profile has no figures of waste: that needs jemalloc's "
               "counts"));
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("heap_waste");
    TCase *tc = tcase_create("heap_waste");

    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_loop_test(tc, waste_is_a_table, 0, COUNT(cases));
    tcase_add_test(tc, a_kept_snapshot_has_its_own);
    tcase_add_test(tc, what_is_not_known_is_no_row_and_no_picture);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
