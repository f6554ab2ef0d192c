/* test_diagnosis.c - which facts give which findings, and what the page says.
 */
#include <string.h>

#include "buffer.h"
#include "diagnosis.h"
#include "diagnosis_bytes.h"
#include "diagnosis_facts.h"
#include "suite.h"

#define MB_OF(n) ((uint64_t)(n) << 20)
#define KNOWN(n)                                                               \
    {                                                                          \
        true, MB_OF(n)                                                         \
    }

/* A database of 1,000 MB without any illness. */
static struct diagnosis_facts
healthy(void)
{
    struct diagnosis_facts facts = {
        .now_ms = 1700000000000,
        .state = FACT_SERVES,
        .figures_ms = 1700000000000,
        .rss = KNOWN(1000),
        .allocated = KNOWN(850),
        .active = KNOWN(900),
        .metadata = KNOWN(10),
        .resident = KNOWN(940),
        .has_jemalloc = true,
        .limit = KNOWN(2000),
        .used = KNOWN(1010),
        .background_thread = {true, 1},
        .dirty_decay_ms = {true, 10000},
        .profiling = true,
        .growth_judged = true,
        .hours_left = -1,
        .trends = {{"lookup", FACT_STEADY, MB_OF(500), 0, -1e6, 1e6, {0, 0}}},
        .trend_count = 1,
    };

    return facts;
}

static struct diagnosis found;

static bool
has_finding(enum finding_kind kind)
{
    for (size_t i = 0; i < found.count; i++)
        if (found.findings[i].kind == kind)
            return true;
    return false;
}

/* ---- each illness by itself ---- */

static void
make_killed(struct diagnosis_facts *f)
{
    f->state = FACT_ENDED;
    f->state_why = "was killed by signal 9 (SIGKILL)";
    f->last_snapshot = "at-95-percent";
}

static void
make_hung(struct diagnosis_facts *f)
{
    f->state = FACT_HANGS;
    f->state_since_ms = 1699999990000;
}

static void
make_full_soon(struct diagnosis_facts *f)
{
    f->hours_left = 5.5;
    f->grows = true;
    f->growth_hours = 20;
    f->growth = 180e6;
    f->growth_low = 150e6;
    f->growth_high = 200e6;
}

static void
make_leaking(struct diagnosis_facts *f)
{
    f->trends[0] = (struct fact_trend){
        "leak_a_node", FACT_GROWS, MB_OF(300), 12e6, 10e6, 14e6, {true, 80}};
}

static void
make_growing(struct diagnosis_facts *f)
{
    f->grows = true;
    f->growth_hours = 20;
    f->growth = 30e6;
    f->growth_low = 25e6;
    f->growth_high = 35e6;
    f->trend_count = 0;
    f->trend_why = "profiling is off";
    f->profiling = false;
}

static void
make_fragmented(struct diagnosis_facts *f)
{
    f->allocated.value = MB_OF(500);
    f->wastes[0] = (struct fact_waste){"_sdsnewlen", 160,        MB_OF(40),
                                       MB_OF(360),   MB_OF(330), MB_OF(390)};
    f->waste_count = 1;
}

static void
make_slow_decay(struct diagnosis_facts *f)
{
    f->allocated.value = MB_OF(480);
    f->active.value = MB_OF(500);
    f->background_thread.value = 0;
    f->dirtiest_arena = (struct fact){true, 7};
    f->dirtiest_threads = (struct fact){true, 1};
    f->dirtiest_bytes = (struct fact){true, MB_OF(187)};
}

static void
make_foreign(struct diagnosis_facts *f)
{
    f->allocated.value = MB_OF(450);
    f->active.value = MB_OF(480);
    f->resident.value = MB_OF(500);
    f->owners[0] = (struct fact_holder){"thread stacks", MB_OF(300)};
    f->owner_count = 1;
}

static void
make_filling(struct diagnosis_facts *f)
{
    f->trends[0] = (struct fact_trend){
        "LRUCache::Insert", FACT_FILLS, MB_OF(400), 3e6, 1e6, 5e6, {0, 0}};
}

static void
make_tight(struct diagnosis_facts *f)
{
    f->limit.value = MB_OF(980);
}

static void
make_young(struct diagnosis_facts *f)
{
    f->growth_judged = false;
    f->trend_count = 0;
}

static void
keep_healthy(struct diagnosis_facts *f)
{
    (void)f;
}

static const struct {
    void (*make)(struct diagnosis_facts *);
    enum finding_kind kind;
    const char *subject, *why, *step;
} illnesses[] = {
    {make_killed, FINDING_DIED, "", "signal 9", "at-95-percent"},
    {make_hung, FINDING_HANGS, "", "has not answered since 2023-11-14",
     "FROM threads"},
    {make_full_soon, FINDING_FULL_SOON, "", "in 5.5 hours", "memory.max"},
    {make_leaking, FINDING_LEAK, "leak_a_node", "80 % of that is older",
     "flamegraph"},
    {make_growing, FINDING_GROWTH, "", "profiling is off", "enable_prof"},
    {make_fragmented, FINDING_FRAGMENTATION, "_sdsnewlen", "400.0 MB",
     "heap_waste"},
    {make_slow_decay, FINDING_FREE_PAGES, "",
     "arena 7, of 1 thread, has 187.0 MB", "purge()"},
    {make_foreign, FINDING_OUTSIDE, "thread stacks",
     "500.0 MB of RSS are not jemalloc's: thread stacks 300.0 MB",
     "FROM mappings"},
    {make_filling, FINDING_CACHE_FILLS, "LRUCache::Insert", "slower and slower",
     "setting"},
    {make_tight, FINDING_LIMIT_LOW, "", "87 %", "caches smaller"},
    {make_young, FINDING_NOT_KNOWN_YET, "", "not seen for long enough",
     "after some hours"},
    {keep_healthy, FINDING_NOTHING_UNUSUAL, "", "nothing is seen to grow",
     NULL},
};

START_TEST(an_illness_is_found_and_no_other)
{
    struct diagnosis_facts facts = healthy();
    const struct finding *finding = &found.findings[0];

    illnesses[_i].make(&facts);
    diagnosis_find(&facts, &found);
    for (size_t i = 0; i < found.count; i++)
        if (found.findings[i].kind == illnesses[_i].kind)
            finding = &found.findings[i];
        else /* beside them it may stand that more will be known later */
            ck_assert_msg(found.findings[i].kind == FINDING_NOT_KNOWN_YET ||
                              found.findings[i].kind == FINDING_NOTHING_UNUSUAL,
                          "%s: %s", finding_word(found.findings[i].kind),
                          found.findings[i].why);
    ck_assert_str_eq(finding_word(finding->kind),
                     finding_word(illnesses[_i].kind));
    ck_assert_str_eq(finding->subject, illnesses[_i].subject);
    ck_assert_msg(strstr(finding->why, illnesses[_i].why) != NULL, "%s",
                  finding->why);
    if (!illnesses[_i].step) {
        ck_assert_uint_eq(finding->step_count, 0);
        return;
    }
    for (size_t i = 0; i < finding->step_count; i++)
        if (strstr(finding->steps[i], illnesses[_i].step))
            return;
    ck_abort_msg("no step has \"%s\"", illnesses[_i].step);
}
END_TEST

START_TEST(what_is_small_beside_rss_is_no_finding)
{
    struct diagnosis_facts facts = healthy();

    facts.allocated.value = facts.active.value - MB_OF(149);
    diagnosis_find(&facts, &found);
    ck_assert(!has_finding(FINDING_FRAGMENTATION));
    facts.allocated.value = facts.active.value - MB_OF(151);
    diagnosis_find(&facts, &found);
    ck_assert(has_finding(FINDING_FRAGMENTATION));
    facts.rss.value = MB_OF(20); /* all of a small process */
    facts.resident.value = MB_OF(12);
    facts.active.value = MB_OF(11);
    facts.allocated.value = MB_OF(1);
    diagnosis_find(&facts, &found);
    ck_assert(!has_finding(FINDING_FRAGMENTATION));
}
END_TEST

START_TEST(what_is_not_known_is_no_finding)
{
    struct diagnosis_facts facts = {.state = FACT_SERVES, .hours_left = -1};

    diagnosis_find(&facts, &found);
    for (size_t i = 0; i < found.count; i++)
        ck_assert(found.findings[i].kind == FINDING_NOT_KNOWN_YET ||
                  found.findings[i].kind == FINDING_NOTHING_UNUSUAL);
    facts.state = FACT_ABSENT;
    diagnosis_find(&facts, &found);
    ck_assert_uint_eq(found.count, 1);
    ck_assert(has_finding(FINDING_NOT_KNOWN_YET));
}
END_TEST

START_TEST(an_end_on_request_is_no_death)
{
    struct diagnosis_facts facts = healthy();

    make_killed(&facts);
    facts.ended_clean = true;
    diagnosis_find(&facts, &found);
    ck_assert(!has_finding(FINDING_DIED));
    ck_assert(!has_finding(FINDING_NOTHING_UNUSUAL));
}
END_TEST

START_TEST(all_illnesses_together_have_room)
{
    struct diagnosis_facts facts = healthy();

    for (size_t i = 0; i < sizeof(illnesses) / sizeof(illnesses[0]); i++)
        if (illnesses[i].make != make_young && illnesses[i].make != make_killed)
            illnesses[i].make(&facts);
    for (size_t i = 0; i < FACTS_TRENDS; i++)
        facts.trends[i] =
            (struct fact_trend){"f",        i % 2 ? FACT_GROWS : FACT_FILLS,
                                MB_OF(300), 12e6,
                                10e6,       14e6,
                                {true, 80}};
    facts.trend_count = FACTS_TRENDS;
    diagnosis_find(&facts, &found);
    ck_assert_uint_le(found.count, FINDINGS_MAX);
    ck_assert(has_finding(FINDING_LEAK) && has_finding(FINDING_OUTSIDE));
}
END_TEST

START_TEST(a_long_name_is_cut)
{
    struct diagnosis_facts facts = healthy();
    char name[1000];

    memset(name, 'n', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    make_leaking(&facts);
    facts.trends[0].function = name;
    diagnosis_find(&facts, &found);
    ck_assert_uint_eq(strlen(found.findings[0].subject),
                      FINDING_SUBJECT_MAX - 1);
    ck_assert_str_eq(found.findings[0].subject + FINDING_SUBJECT_MAX - 4,
                     "...");
}
END_TEST

START_TEST(the_page_has_findings_first_and_then_all_of_rss)
{
    struct diagnosis_facts facts = healthy();
    struct buffer page;
    const char *leak, *parts, *grew;

    make_leaking(&facts);
    facts.holders[0] = (struct fact_holder){"leak_a_node", MB_OF(300)};
    facts.holder_count = 1;
    diagnosis_find(&facts, &found);
    buffer_init(&page, 1 << 16);
    diagnosis_write(&facts, &found, &page);
    ck_assert(!page.failed);
    leak = strstr(page.data, "leak in leak_a_node (likely): ");
    parts = strstr(page.data, "Where RSS is (1.0 GB):\n"
                              "    850.0 MB   85 %  in use by the program\n");
    grew = strstr(page.data, "What grew, an hour:\n");
    ck_assert_msg(leak == page.data && parts > leak && grew > parts, "%s",
                  page.data);
    ck_assert(strstr(page.data, "     60.0 MB    6 %  outside the allocator"));
    ck_assert(strstr(page.data, "leak_a_node holds 300.0 MB."));
    buffer_fini(&page);
}
END_TEST

START_TEST(bytes_have_units)
{
    ck_assert_str_eq(bytes_text(0).text, "0 bytes");
    ck_assert_str_eq(bytes_text(999).text, "999 bytes");
    ck_assert_str_eq(bytes_text(1000).text, "1.0 KB");
    ck_assert_str_eq(bytes_text(-3.0 * (1 << 20)).text, "-3.0 MB");
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("diagnosis");
    TCase *tcase = tcase_create("diagnosis");

    tcase_add_loop_test(tcase, an_illness_is_found_and_no_other, 0,
                        sizeof(illnesses) / sizeof(illnesses[0]));
    tcase_add_test(tcase, what_is_small_beside_rss_is_no_finding);
    tcase_add_test(tcase, what_is_not_known_is_no_finding);
    tcase_add_test(tcase, an_end_on_request_is_no_death);
    tcase_add_test(tcase, all_illnesses_together_have_room);
    tcase_add_test(tcase, a_long_name_is_cut);
    tcase_add_test(tcase, the_page_has_findings_first_and_then_all_of_rss);
    tcase_add_test(tcase, bytes_have_units);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
