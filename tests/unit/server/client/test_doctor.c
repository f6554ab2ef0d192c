/* test_doctor.c - what heapwire doctor makes of facts. */
#include <string.h>

#include "facts.h"
#include "suite.h"

static struct facts facts;
static struct finding findings[FINDINGS_MAX];
static size_t count;

static const struct finding *
find_feature(const char *feature)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(findings[i].feature, feature) == 0)
            return &findings[i];
    return NULL;
}

START_TEST(nothing_known_is_nothing_said)
{
    ck_assert_uint_eq(facts_check(&facts, findings), 0);
}
END_TEST

static const struct {
    enum fact fact;
    const char *text;
    enum fact with; /* another fact, with this text; FACTS: none */
    const char *with_text;
    const char *feature;
    enum verdict verdict;
    const char *why;
} cases[] = {
    {FACT_NODE_ERROR, "refused", FACTS, NULL, "the node", VERDICT_STOPS,
     "refused"},
    {FACT_STATE, "connected", FACTS, NULL, "the database", VERDICT_OK, ""},
    {FACT_STATE, "unresponsive", FACT_SINCE, "12:00", "the database",
     VERDICT_STOPS, "12:00"},
    {FACT_STATE, "gone", FACTS, NULL, "the database", VERDICT_STOPS, "gone"},
    {FACT_STATE, "absent", FACTS, NULL, "the database", VERDICT_STOPS, ""},
    {FACT_PROFILING, "active", FACT_SOURCE, "jemalloc", "heap profile",
     VERDICT_OK, "by jemalloc"},
    {FACT_PROFILING, "active", FACT_SOURCE, "patched", "heap profile",
     VERDICT_OK, "active, by heapwire's recorder (patched)"},
    {FACT_PROFILING, "inactive", FACTS, NULL, "heap profile", VERDICT_WARNING,
     "off"},
    {FACT_PROFILING, "inactive", FACT_GUARD_REASON, "over budget",
     "heap profile", VERDICT_WARNING, "over budget"},
    {FACT_PROFILING, "opt.prof is off", FACT_REASON, "set prof:true",
     "heap profile", VERDICT_STOPS, "set prof:true"},
    {FACT_RISKS, "", FACTS, NULL, "risks of profiling", VERDICT_OK, ""},
    {FACT_RISKS, "crashes", FACTS, NULL, "risks of profiling", VERDICT_WARNING,
     "crashes"},
    {FACT_ALLOCATOR, "x.so", FACT_CALLABLE, "0", "jemalloc's statistics",
     VERDICT_STOPS, "x.so"},
    {FACT_ALLOCATOR, "x.so", FACT_CALLABLE, "1", "jemalloc's statistics",
     VERDICT_OK, "x.so"},
    {FACT_STATE, "connected", FACTS, NULL, "jemalloc's statistics",
     VERDICT_WARNING, "no jemalloc"},
    {FACT_SOURCE, "jemalloc", FACTS, NULL, "ages, churn", VERDICT_WARNING, ""},
    {FACT_SOURCE, "interposed", FACTS, NULL, "ages, churn", VERDICT_OK, ""},
    {FACT_BACKGROUND_THREAD, "0", FACTS, NULL, "giving memory back",
     VERDICT_WARNING, "off"},
    {FACT_BACKGROUND_THREAD, "1", FACTS, NULL, "giving memory back", VERDICT_OK,
     ""},
    {FACT_CPU_HEAD, "by perf_event_open for 1.0 s", FACTS, NULL,
     "processor profile", VERDICT_OK, "perf"},
    {FACT_CPU_HEAD, "by ptrace for 1.0 s", FACTS, NULL, "processor profile",
     VERDICT_WARNING, "ptrace"},
    {FACT_CPU_ERROR, "not allowed", FACTS, NULL, "processor profile",
     VERDICT_STOPS, "not allowed"},
    {FACT_PERF_PARANOID, "1", FACTS, NULL, "kernel's functions", VERDICT_OK,
     ""},
    {FACT_PERF_PARANOID, "4", FACTS, NULL, "kernel's functions",
     VERDICT_WARNING, "4"},
    {FACT_PERF_PARANOID, "2", FACT_HEAPWIRED_CAPS, "000001ffffffffff",
     "kernel's functions", VERDICT_OK, "CAP_PERFMON"},
    {FACT_PERF_PARANOID, "2", FACT_HEAPWIRED_CAPS, "0000000000000000",
     "kernel's functions", VERDICT_WARNING, "no CAP_PERFMON"},
    {FACT_THREADS, "5", FACT_THREADS_BLIND, "0", "stacks of threads",
     VERDICT_OK, "5"},
    {FACT_THREADS, "5", FACT_THREADS_BLIND, "2", "stacks of threads",
     VERDICT_WARNING, "2 of 5"},
    {FACT_THREADS, "5", FACT_THREADS_BLIND, "5", "stacks of threads",
     VERDICT_STOPS, "5 of 5"},
    {FACT_YAMA, "1", FACTS, NULL, "ptrace", VERDICT_OK, ""},
    {FACT_YAMA, "3", FACTS, NULL, "ptrace", VERDICT_WARNING, "3"},
    {FACT_FUNCTIONS, "9", FACT_NAMELESS, "0", "names of functions", VERDICT_OK,
     ""},
    {FACT_FUNCTIONS, "9", FACT_NAMELESS, "4", "names of functions",
     VERDICT_WARNING, "4 of 9"},
    {FACT_ANSWERED, "1", FACTS, NULL, "memory limit", VERDICT_WARNING,
     "80, 90, 95 % are of the machine's memory"},
    {FACT_ANSWERED, "1", FACT_CGROUP_LIMIT, "1000", "memory limit", VERDICT_OK,
     "1000"},
    {FACT_LINGER, "0", FACTS, NULL, "evidence of a death", VERDICT_WARNING,
     "linger"},
    {FACT_LINGER, "900", FACTS, NULL, "evidence of a death", VERDICT_OK, "900"},
    {FACT_SPACE_BYTES, "1000", FACTS, NULL, "kept snapshots", VERDICT_STOPS,
     "0 MB"},
    {FACT_SPACE_BYTES, "104857600", FACT_KEEP_BYTES, "1073741824",
     "kept snapshots", VERDICT_WARNING, "100 MB"},
    {FACT_SPACE_BYTES, "104857600", FACT_SPACE_TMPFS, "1", "kept snapshots",
     VERDICT_OK, "boot"},
    {FACT_FAILED_SNAPSHOTS, "3", FACTS, NULL, "kept snapshots", VERDICT_WARNING,
     "3"},
    {FACT_DESCRIPTORS, "900", FACT_DESCRIPTORS_MAX, "1024", "connections",
     VERDICT_WARNING, "900 of 1024"},
    {FACT_DESCRIPTORS, "9", FACT_DESCRIPTORS_MAX, "256", "connections",
     VERDICT_WARNING, "256"},
    {FACT_DESCRIPTORS, "9", FACTS, NULL, "connections", VERDICT_OK, "no limit"},
    {FACT_NODES, "3", FACT_NODES_DOWN, "1", "the cluster", VERDICT_WARNING,
     "1 of 3"},
    {FACT_NODES, "3", FACT_NODES_DOWN, "2", "the cluster", VERDICT_STOPS,
     "2 of 3"},
    {FACT_NODES, "3", FACTS, NULL, "the cluster", VERDICT_OK, "3"},
    {FACT_THP, "[always] madvise never", FACTS, NULL, "huge pages",
     VERDICT_WARNING, ""},
    {FACT_OVERCOMMIT, "2", FACTS, NULL, "overcommit", VERDICT_WARNING, ""},
    {FACT_OVERCOMMIT, "junk", FACT_CLOCKSOURCE, "tsc", "the clock", VERDICT_OK,
     "tsc"},
    {FACT_CLOCKSOURCE, "hpet", FACTS, NULL, "the clock", VERDICT_WARNING,
     "hpet"},
    {FACT_CLOCK_OFF_MS, "-5000", FACTS, NULL, "the clock", VERDICT_WARNING,
     "5.0 s behind"},
    {FACT_STATE, "connected", FACTS, NULL, "this machine", VERDICT_WARNING,
     "not checked"},
};

START_TEST(verdicts)
{
    const struct finding *f;

    facts_set(&facts, cases[_i].fact, cases[_i].text);
    if (cases[_i].with != FACTS)
        facts_set(&facts, cases[_i].with, cases[_i].with_text);
    count = facts_check(&facts, findings);
    f = find_feature(cases[_i].feature);
    ck_assert_ptr_nonnull(f);
    ck_assert_msg(f->verdict == cases[_i].verdict, "%s: %d, %s", f->feature,
                  (int)f->verdict, f->why);
    ck_assert_msg(strstr(f->why, cases[_i].why), "%s", f->why);
}
END_TEST

START_TEST(what_heapwire_run_explains)
{
    char printed[] =
        "program     /usr/bin/x\n"
        "source      none: profiling is off\n"
        "kind        static, build-id none\n"
        "jemalloc    /x (its own): 5.2, cannot profile (built without ...)\n"
        "  advice    build it with --enable-prof\n"
        "jemalloc    second\n"
        "LD_PRELOAD  is not set\n";
    char warned[] = "heapwire-run: first\nheapwire-run: second\n";

    facts_read_explained(&facts, printed, warned);
    count = facts_check(&facts, findings);
    ck_assert_int_eq(find_feature("heap profile")->verdict, VERDICT_STOPS);
    ck_assert_str_eq(find_feature("heap profile")->act,
                     "build it with --enable-prof");
    ck_assert_int_eq(find_feature("the agent")->verdict, VERDICT_STOPS);
    ck_assert_int_eq(find_feature("jemalloc")->verdict, VERDICT_WARNING);
    ck_assert_ptr_nonnull(strstr(find_feature("jemalloc")->why, "5.2"));
    ck_assert_str_eq(find_feature("the start")->why, "first");
}
END_TEST

START_TEST(names_come_from_where_the_node_can_take_them)
{
    facts_set(&facts, FACT_FUNCTIONS, "9");
    facts_set(&facts, FACT_NAMELESS, "4");
    facts_set(&facts, FACT_DEBUGINFOD_URLS, "");
    count = facts_check(&facts, findings);
    ck_assert_ptr_nonnull(strstr(findings[0].act, "set debuginfod_urls"));
    facts_set(&facts, FACT_DEBUGINFOD_URLS, "https://x");
    count = facts_check(&facts, findings);
    ck_assert_ptr_null(strstr(findings[0].act, "debuginfod"));
    facts_set(&facts, FACT_DEBUGINFOD_URLS, NULL); /* an older node */
    facts_set(&facts, FACT_DEBUGINFOD, "https://x");
    count = facts_check(&facts, findings);
    ck_assert_ptr_nonnull(strstr(findings[0].act, "debuginfod-find"));
}
END_TEST

START_TEST(long_texts_are_cut)
{
    static char text[3 * FACT_MAX];

    memset(text, 'x', sizeof(text) - 1);
    for (int i = 0; i < FACTS; i++)
        facts_set(&facts, (enum fact)i, text);
    ck_assert_uint_le(facts_check(&facts, findings), FINDINGS_MAX);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("doctor");
    TCase *tc = tcase_create("doctor");

    tcase_add_test(tc, nothing_known_is_nothing_said);
    tcase_add_loop_test(tc, verdicts, 0, sizeof(cases) / sizeof(cases[0]));
    tcase_add_test(tc, what_heapwire_run_explains);
    tcase_add_test(tc, names_come_from_where_the_node_can_take_them);
    tcase_add_test(tc, long_texts_are_cut);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
