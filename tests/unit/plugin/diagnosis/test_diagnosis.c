/* test_diagnosis.c - which facts give which findings, and what the page says.
 */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "buffer.h"
#include "bytes_text.h"
#include "diagnosis.h"
#include "diagnosis_facts.h"
#include "suite.h"

#define MB_OF(n) ((uint64_t)(n) << 20)
#define KNOWN(n)                                                               \
    {                                                                          \
        true, MB_OF(n)                                                         \
    }

/* A database of 1,000 MB with nothing unusual. */
static struct diagnosis_facts
healthy(void)
{
    struct diagnosis_facts facts = {
        .node_id = 10001,
        .state = FACT_SERVES,
        .figures_ms = 1700000000000,
        .rss = KNOWN(1000),
        .rss_file = KNOWN(20),
        .has_jemalloc = true,
        .allocated = KNOWN(850),
        .inside = KNOWN(50),
        .free_pages = KNOWN(30),
        .bookkeeping = KNOWN(10),
        .outside = KNOWN(60),
        .least_resident = KNOWN(850),
        .least_inside = KNOWN(50),
        .least_free_pages = KNOWN(30),
        .least_outside = KNOWN(60),
        .limit = KNOWN(2000),
        .free_cause = FREE_PAGES_IDLE,
        .has_levers = true,
        .profiling = true,
        .growth_judged = true,
        .hours_left = -1,
        .trends = {{.function = "lookup",
                    .kind = FACT_STEADY,
                    .bytes = MB_OF(500),
                    .low = -1e6,
                    .high = 1e6}},
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
make_killed_unseen(struct diagnosis_facts *f)
{
    f->state = FACT_ENDED;
    f->last_snapshot = NULL;
}

/* It already had what is advised otherwise. */
static void
make_killed_too_soon(struct diagnosis_facts *f)
{
    f->state = FACT_ENDED;
    f->was_profiling = true;
    f->last_snapshot = NULL;
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
    f->trends[0] = (struct fact_trend){.function = "leak_a_node",
                                       .kind = FACT_GROWS,
                                       .bytes = MB_OF(300),
                                       .per_hour = 12e6,
                                       .low = 10e6,
                                       .high = 14e6,
                                       .points = 40,
                                       .pace = 1,
                                       .pace_low = 0.8,
                                       .pace_high = 1.2,
                                       .hours = 30,
                                       .old_part = {true, 80},
                                       .old_s = 600};
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

/* Too new for a trend. */
static void
make_growing_with_a_snapshot(struct diagnosis_facts *f)
{
    make_growing(f);
    f->profiling = true;
    f->first_snapshot = "heap_1";
}

static void
make_growing_without_one(struct diagnosis_facts *f)
{
    make_growing(f);
    f->profiling = true;
}

static void
make_full_soon_with_a_snapshot(struct diagnosis_facts *f)
{
    make_full_soon(f);
    f->trend_count = 0;
    f->profiling = true;
    f->first_snapshot = "heap_1";
}

static void
make_fragmented(struct diagnosis_facts *f)
{
    f->allocated.value = MB_OF(500);
    f->inside.value = MB_OF(400);
    f->least_inside.value = MB_OF(390);
    f->waste = (struct fact_waste){"_sdsnewlen", 160, MB_OF(360), MB_OF(330),
                                   MB_OF(390)};
}

static void
make_slow_decay(struct diagnosis_facts *f)
{
    f->allocated.value = MB_OF(480);
    f->free_pages.value = MB_OF(400);
    f->least_free_pages.value = MB_OF(400);
    f->free_why =
        "rss stays, because 400.0 MB of free pages are kept, 187.0 MB of "
        "them in idle arena 7";
}

static void
make_foreign(struct diagnosis_facts *f)
{
    f->allocated.value = MB_OF(410);
    f->outside.value = MB_OF(500);
    f->least_outside.value = MB_OF(490);
    f->owners[0] =
        (struct fact_holder){"thread stacks (300 mappings)", MB_OF(300)};
    f->owner_count = 1;
}

static void
make_filling(struct diagnosis_facts *f)
{
    f->trends[0] = (struct fact_trend){.function = "LRUCache::Insert",
                                       .kind = FACT_FILLS,
                                       .bytes = MB_OF(400),
                                       .per_hour = 3e6,
                                       .low = 1e6,
                                       .high = 5e6};
}

static void
make_slower(struct diagnosis_facts *f)
{
    make_leaking(f);
    f->trends[0].function = "LRUCache::Insert";
    f->trends[0].pace = 0.6;
    f->trends[0].pace_low = 0.4;
    f->trends[0].pace_high = 0.8;
}

static void
make_tight(struct diagnosis_facts *f)
{
    f->limit.value = MB_OF(980);
}

static void
make_machine_tight(struct diagnosis_facts *f)
{
    f->limit.value = MB_OF(900);
    f->limit_is_machines = true;
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
    {make_killed_unseen, FINDING_DIED, "", "ended", "--profiling on"},
    {make_killed_too_soon, FINDING_DIED, "", "ended",
     "no snapshot was due before its end"},
    {make_hung, FINDING_HANGS, "", "has not answered since 2023-11-14",
     "FROM heapwire.threads"},
    {make_full_soon, FINDING_FULL_SOON, "", "in 5.5 hours", "raise the limit"},
    {make_leaking, FINDING_LEAK, "leak_a_node",
     "80 % of that is older than 10 minutes", "folded"},
    {make_growing, FINDING_GROWTH, "", "profiling is off", "enable_prof"},
    {make_growing_with_a_snapshot, FINDING_GROWTH, "", "profiling is off",
     "heap_diff WHERE base = 'heap_1'"},
    {make_growing_without_one, FINDING_GROWTH, "", "profiling is off",
     "snapshot(\"before\")"},
    {make_full_soon_with_a_snapshot, FINDING_FULL_SOON, "", "in 5.5 hours",
     "heap_diff WHERE base = 'heap_1'"},
    {make_fragmented, FINDING_FRAGMENTATION, "_sdsnewlen", "400.0 MB",
     "heap_waste"},
    {make_slow_decay, FINDING_FREE_PAGES, "",
     "187.0 MB of them in idle arena 7", "background_threads(true, 3600)"},
    {make_foreign, FINDING_OUTSIDE, "thread stacks",
     "500.0 MB of RSS are not jemalloc's: 300.0 MB are thread stacks",
     "FROM heapwire.mappings"},
    {make_filling, FINDING_CACHE_FILLS, "LRUCache::Insert", "slower and slower",
     "setting"},
    {make_slower, FINDING_CACHE_FILLS, "LRUCache::Insert", "slower and slower",
     "setting"},
    {make_tight, FINDING_LIMIT_LOW, "",
     "87 % of the cgroup's limit of 980.0 MB", "caches smaller"},
    {make_machine_tight, FINDING_LIMIT_LOW, "", "94 % of what this machine has",
     "another machine"},
    {make_young, FINDING_NOT_KNOWN_YET, "", "not been observed for long enough",
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
                          "%s: %s", finding_kind_name(found.findings[i].kind),
                          found.findings[i].why);
    ck_assert_str_eq(finding_kind_name(finding->kind),
                     finding_kind_name(illnesses[_i].kind));
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

    facts.inside.value = facts.least_inside.value = MB_OF(149);
    diagnosis_find(&facts, &found);
    ck_assert(!has_finding(FINDING_FRAGMENTATION));
    facts.inside.value = facts.least_inside.value = MB_OF(151);
    diagnosis_find(&facts, &found);
    ck_assert(has_finding(FINDING_FRAGMENTATION));
    facts.rss.value = MB_OF(20); /* all of a small process */
    facts.inside.value = facts.least_inside.value = MB_OF(10);
    diagnosis_find(&facts, &found);
    ck_assert(!has_finding(FINDING_FRAGMENTATION));
}
END_TEST

START_TEST(what_was_not_there_for_long_is_no_finding)
{
    struct diagnosis_facts facts = healthy();

    make_fragmented(&facts);
    make_slow_decay(&facts);
    make_foreign(&facts);
    make_tight(&facts);
    facts.least_inside.value = facts.least_outside.value = MB_OF(140);
    facts.least_free_pages.value = 0;
    facts.least_resident.known = false;
    diagnosis_find(&facts, &found);
    ck_assert_uint_eq(found.count, 1);
    ck_assert(has_finding(FINDING_NOT_KNOWN_YET));
    ck_assert(
        strstr(found.findings[0].why, "observed for less than half a minute"));
    facts = healthy();
    facts.inside.value = MB_OF(400);
    diagnosis_find(&facts, &found);
    ck_assert_uint_eq(found.count, 1);
    ck_assert(has_finding(FINDING_NOTHING_UNUSUAL));
}
END_TEST

START_TEST(fragmentation_is_as_sure_as_what_is_known_of_it)
{
    struct diagnosis_facts facts = healthy();
    const struct finding *finding = &found.findings[0];

    make_fragmented(&facts);
    diagnosis_find(&facts, &found);
    ck_assert_int_eq(finding->certainty, FINDING_CERTAIN);
    facts.waste.low = MB_OF(179); /* of 360: it may be another's */
    diagnosis_find(&facts, &found);
    ck_assert_int_eq(finding->certainty, FINDING_LIKELY);
    facts.waste.waste = MB_OF(99); /* of 400: the rest is others' */
    diagnosis_find(&facts, &found);
    ck_assert_int_eq(finding->kind, FINDING_FRAGMENTATION);
    ck_assert_int_eq(finding->certainty, FINDING_CERTAIN);
    ck_assert_str_eq(finding->subject, "");
    ck_assert(strstr(finding->why, "; 99.0 MB of it") != NULL);
}
END_TEST

/* 500 + 400 + 30 + 10 MB are counted, and 20 MB of rss are of files. */
START_TEST(what_is_not_in_memory_is_no_sure_fragmentation)
{
    struct diagnosis_facts facts = healthy();
    const struct finding *finding = &found.findings[0];

    make_fragmented(&facts);
    facts.rss.value = MB_OF(680); /* 280 MB are missing: 110 stay there */
    diagnosis_find(&facts, &found);
    ck_assert_int_eq(finding->kind, FINDING_FRAGMENTATION);
    ck_assert_int_eq(finding->certainty, FINDING_CERTAIN);
    ck_assert(strstr(finding->why, "not in memory") == NULL);
    facts.rss.value = MB_OF(640); /* 320 MB are missing */
    diagnosis_find(&facts, &found);
    ck_assert_int_eq(finding->kind, FINDING_FRAGMENTATION);
    ck_assert_int_eq(finding->certainty, FINDING_POSSIBLE);
    ck_assert_msg(strstr(finding->why, "but 320.0 MB of what jemalloc counts "
                                       "are not in memory") != NULL,
                  "%s", finding->why);
}
END_TEST

START_TEST(what_grows_and_is_young_is_less_sure_to_leak)
{
    static const struct {
        struct fact old_part;
        size_t points;
        double pace, pace_low;
        enum finding_kind kind;
        enum finding_certainty certainty;
        const char *why;
    } ages[] = {
        {{true, 50}, 36, 1, 0.8, FINDING_LEAK, FINDING_LIKELY, "50 % of that"},
        {{true, 49}, 48, 1, 0.8, FINDING_LEAK, FINDING_POSSIBLE, "only 49 %"},
        {{false, 0}, 48, 1, 0.8, FINDING_LEAK, FINDING_POSSIBLE, "not known"},
        {{true, 80}, 35, 1, 0.8, FINDING_GROWTH, FINDING_LIKELY, "30.0 hours"},
        {{true, 80}, 48, 1, 0.6, FINDING_GROWTH, FINDING_LIKELY, "30.0 hours"},
        {{true, 80}, 48, 0.8, 0.7, FINDING_LEAK, FINDING_LIKELY, "slower"},
        {{true, 80}, 48, 0.8, 0.6, FINDING_GROWTH, FINDING_LIKELY, "slower"}};
    struct diagnosis_facts facts = healthy();

    make_leaking(&facts);
    facts.trends[0].old_part = ages[_i].old_part;
    facts.trends[0].points = ages[_i].points;
    facts.trends[0].pace = ages[_i].pace;
    facts.trends[0].pace_low = ages[_i].pace_low;
    facts.trends[0].pace_high = ages[_i].pace + 0.1;
    diagnosis_find(&facts, &found);
    ck_assert_int_eq(found.findings[0].kind, ages[_i].kind);
    ck_assert_str_eq(found.findings[0].subject, "leak_a_node");
    ck_assert_int_eq(found.findings[0].certainty, ages[_i].certainty);
    ck_assert_msg(strstr(found.findings[0].why, ages[_i].why) != NULL, "%s",
                  found.findings[0].why);
}
END_TEST

START_TEST(what_is_unusual_just_now_is_not_nothing)
{
    static const struct {
        size_t part;
        const char *words;
    } parts[] = {
        {offsetof(struct diagnosis_facts, outside), "outside the allocator"},
        {offsetof(struct diagnosis_facts, inside), "free between what is in"},
        {offsetof(struct diagnosis_facts, free_pages), "in free pages that"}};
    struct diagnosis_facts facts = healthy();
    const struct finding *finding = &found.findings[0];
    struct fact *part = (struct fact *)((char *)&facts + parts[_i].part);

    *part = (struct fact){true, MB_OF(400)};
    diagnosis_find(&facts, &found);
    ck_assert_int_eq(finding->kind, FINDING_NOTHING_UNUSUAL);
    ck_assert_int_eq(finding->certainty, FINDING_POSSIBLE);
    ck_assert_msg(strstr(finding->why, "but 400.0 MB are ") &&
                      strstr(finding->why, parts[_i].words),
                  "%s", finding->why);
    ck_assert_str_eq(finding->steps[0], "Ask again after a minute.");
}
END_TEST

/* It is certain that its memory grows, but not in which function. */
START_TEST(growth_is_told_whatever_is_known_of_functions)
{
    struct diagnosis_facts facts = healthy();
    const struct finding *finding = &found.findings[0];

    make_growing(&facts);
    facts.trends[0] = (struct fact_trend){.function = "cursor_open",
                                          .kind = FACT_GROWS,
                                          .bytes = MB_OF(80),
                                          .per_hour = 30e6,
                                          .low = 1e5,
                                          .high = 60e6,
                                          .pace = 1,
                                          .pace_high = 1.2,
                                          .hours = 1};
    facts.trend_count = 1;
    diagnosis_find(&facts, &found);
    ck_assert_int_eq(finding->kind, FINDING_GROWTH);
    ck_assert_str_eq(finding->subject, "");
    ck_assert_msg(strstr(finding->why, "; cursor_open is the most likely to "
                                       "hold it, with 28.6 MB an hour"),
                  "%s", finding->why);
}
END_TEST

START_TEST(who_is_stopped_can_go_on)
{
    struct diagnosis_facts facts = healthy();

    make_hung(&facts);
    facts.stopped_pid = 4711;
    diagnosis_find(&facts, &found);
    ck_assert_str_eq(found.findings[0].steps[0],
                     "Let it go on, unless a debugger has it: kill -CONT 4711");
}
END_TEST

START_TEST(what_has_not_grown_much_yet_is_no_finding)
{
    struct diagnosis_facts facts = healthy();

    make_leaking(&facts);
    facts.trends[0].hours = 2.5; /* of 10 MB at least: 2.9 % of 850 MB */
    diagnosis_find(&facts, &found);
    ck_assert(!has_finding(FINDING_LEAK) && !has_finding(FINDING_GROWTH));
    facts.trends[0].hours = 2.8;
    diagnosis_find(&facts, &found);
    ck_assert(has_finding(FINDING_LEAK));
    facts.trends[0].alone = true; /* the whole has not grown */
    diagnosis_find(&facts, &found);
    ck_assert(!has_finding(FINDING_LEAK) && !has_finding(FINDING_GROWTH));
}
END_TEST

START_TEST(the_lever_is_that_of_the_cause)
{
    static const char *const levers[] = {
        [FREE_PAGES_UNKNOWN] = "purge()",
        [FREE_PAGES_NEVER] = "decay(10000, 0, 3600)",
        [FREE_PAGES_IDLE] = "background_threads(true, 3600)",
        [FREE_PAGES_DECAY] = "decay(1000, 0, 3600)"};
    struct diagnosis_facts facts = healthy();
    bool has = false;

    make_slow_decay(&facts);
    facts.free_cause = (enum free_pages_cause)_i;
    diagnosis_find(&facts, &found);
    for (size_t i = 0; i < found.findings[0].step_count; i++)
        has |= strstr(found.findings[0].steps[i], levers[_i]) &&
               strstr(found.findings[0].steps[i], "ADMIN EXECUTE ON 10001 '");
    ck_assert(has);
    facts.has_levers = false;
    diagnosis_find(&facts, &found);
    ck_assert_uint_eq(found.findings[0].step_count, 1);
    ck_assert(strstr(found.findings[0].steps[0],
                     _i == FREE_PAGES_UNKNOWN ? "Restart it" : "MALLOC_CONF="));
}
END_TEST

START_TEST(muzzy_pages_have_a_setting_of_their_own)
{
    struct diagnosis_facts facts = healthy();
    const struct finding *finding = &found.findings[0];

    make_slow_decay(&facts);
    facts.free_cause = FREE_PAGES_NEVER;
    facts.muzzy = (struct fact){true, MB_OF(201)}; /* of 400 */
    diagnosis_find(&facts, &found);
    ck_assert_int_eq(finding->kind, FINDING_FREE_PAGES);
    ck_assert(strstr(finding->steps[finding->step_count - 1],
                     "MALLOC_CONF=muzzy_decay_ms:0 ") != NULL);
    facts.free_cause = FREE_PAGES_IDLE;
    diagnosis_find(&facts, &found);
    ck_assert(strstr(finding->steps[finding->step_count - 1],
                     "MALLOC_CONF=background_thread:true ") != NULL);
}
END_TEST

START_TEST(what_is_not_known_is_no_finding)
{
    struct diagnosis_facts facts = {.state = FACT_SERVES, .hours_left = -1};

    diagnosis_find(&facts, &found);
    ck_assert_uint_gt(found.count, 0);
    for (size_t i = 0; i < found.count; i++)
        ck_assert(found.findings[i].kind == FINDING_NOT_KNOWN_YET);
    facts.state = FACT_ABSENT;
    diagnosis_find(&facts, &found);
    ck_assert_uint_eq(found.count, 1);
    ck_assert(has_finding(FINDING_NOT_KNOWN_YET));
    ck_assert_ptr_null(strstr(found.findings[0].steps[0], "Switch profiling"));
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
            (struct fact_trend){.function = "f",
                                .kind = i % 2 ? FACT_GROWS : FACT_FILLS,
                                .bytes = MB_OF(300),
                                .per_hour = 12e6,
                                .low = 10e6,
                                .high = 14e6,
                                .points = i < 8 ? 48 : 12,
                                .pace = 1,
                                .pace_low = 1,
                                .pace_high = 1,
                                .hours = 48};
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

static struct buffer page;

static void
write_page(const struct diagnosis_facts *facts)
{
    diagnosis_find(facts, &found);
    buffer_fini(&page);
    buffer_init(&page, 1 << 16);
    diagnosis_write(facts, &found, &page);
    ck_assert(!page.failed);
}

START_TEST(the_page_has_findings_first_and_then_all_of_rss)
{
    struct diagnosis_facts facts = healthy();
    const char *leak, *parts, *grew;

    make_leaking(&facts);
    facts.holders[0] = (struct fact_holder){"leak_a_node", MB_OF(300)};
    facts.holder_count = 1;
    facts.threads[0] = (struct fact_holder){"compact-*", MB_OF(500)};
    facts.threads[1] = (struct fact_holder){"worker-*", MB_OF(300)};
    facts.thread_count = 2;
    facts.profile_bytes = (struct fact){true, MB_OF(800)};
    write_page(&facts);
    leak = strstr(page.data, "leak in leak_a_node (likely): ");
    parts = strstr(page.data, "Where its memory is (RSS, 1.0 GB):\n"
                              "    850.0 MB   85 %  in use by the program\n");
    grew = strstr(page.data, "What grows, in an hour");
    ck_assert_msg(leak == page.data && parts > leak && grew > parts, "%s",
                  page.data);
    ck_assert(strstr(page.data, "     60.0 MB    6 %  outside the allocator"));
    ck_assert(strstr(page.data, "300.0 MB by leak_a_node.\n"
                                "By the threads that allocated it: 500.0 MB "
                                "compact-*, 300.0 MB worker-*.\n"));
}
END_TEST

START_TEST(the_end_that_is_too_far_ahead_is_on_the_page)
{
    struct diagnosis_facts facts = healthy();

    make_growing(&facts);
    write_page(&facts);
    ck_assert(!strstr(page.data, "If that went on"));
    facts.hours_far = 26;
    write_page(&facts);
    ck_assert_msg(strstr(page.data,
                         "If that went on, the cgroup's limit would be "
                         "reached in 26.0 hours, which is too far ahead"),
                  "%s", page.data);
}
END_TEST

/* The sum of the lines "  850.0 MB   85 %  ...", in MB. */
static double
sum_of_parts(void)
{
    double sum = 0, value;
    char unit[8];
    int percent;

    for (const char *line = page.data; line; line = strchr(line + 1, '\n'))
        if (sscanf(line, " %lf %7s %d %%", &value, unit, &percent) == 3)
            sum += value * (strcmp(unit, "GB") == 0   ? 1024
                            : strcmp(unit, "MB") == 0 ? 1
                                                      : 0);
    return sum;
}

START_TEST(the_parts_add_up_to_rss)
{
    struct diagnosis_facts facts = healthy();

    write_page(&facts);
    ck_assert_double_eq_tol(sum_of_parts(), 1000, 0.5);
    make_foreign(&facts); /* 300 of 500 MB have an owner */
    write_page(&facts);
    ck_assert_double_eq_tol(sum_of_parts(), 1000, 0.5);
    ck_assert(strstr(
        page.data,
        "    200.0 MB   20 %  outside the allocator, and not attributed\n"));
    facts.owners_more = (struct fact){true, MB_OF(150)};
    write_page(&facts);
    ck_assert_double_eq_tol(sum_of_parts(), 1000, 0.5);
    facts.rss.value = MB_OF(700); /* less than jemalloc counts */
    write_page(&facts);
    ck_assert_double_eq_tol(sum_of_parts(), 700, 0.5);
    ck_assert(strstr(page.data, "counted by jemalloc, but not in memory"));
}
END_TEST

START_TEST(without_jemalloc_the_owners_are_the_parts)
{
    struct diagnosis_facts facts = healthy();

    facts.has_jemalloc = facts.allocated.known = false;
    facts.owners[0] =
        (struct fact_holder){"glibc's malloc (9 mappings)", MB_OF(900)};
    facts.owner_count = 1;
    facts.page_tables = (struct fact){true, MB_OF(3)};
    write_page(&facts);
    ck_assert(strstr(page.data, "    100.0 MB   10 %  not attributed\n"));
    facts.owners_ms = 1700000000000;
    write_page(&facts);
    ck_assert_double_eq_tol(sum_of_parts(), 1000, 0.5);
    ck_assert(strstr(page.data, "    900.0 MB   90 %  glibc's malloc"));
    ck_assert(strstr(page.data, "    100.0 MB   10 %  not attributed, or new"));
    ck_assert(strstr(page.data, "the kernel has 3.0 MB of page tables"));
    /* one that hangs: its figures are not known, its mappings are */
    facts.owned_by_jemalloc = (struct fact){true, MB_OF(80)};
    write_page(&facts);
    ck_assert_double_eq_tol(sum_of_parts(), 1000, 0.5);
    ck_assert(strstr(page.data, "     80.0 MB    8 %  jemalloc's, whose own"));
    ck_assert(strstr(page.data, "     20.0 MB    2 %  not attributed, or new"));
}
END_TEST

START_TEST(bytes_and_times_have_units)
{
    ck_assert_str_eq(bytes_text(0).text, "0 bytes");
    ck_assert_str_eq(bytes_text(999).text, "999 bytes");
    ck_assert_str_eq(bytes_text(1000).text, "1.0 KB");
    ck_assert_str_eq(bytes_text(-3.0 * (1 << 20)).text, "-3.0 MB");
    ck_assert_str_eq(span_text(40).text, "40 seconds");
    ck_assert_str_eq(span_text(600).text, "10 minutes");
    ck_assert_str_eq(span_text(5.5 * 3600).text, "5.5 hours");
    ck_assert_str_eq(span_text(72 * 3600).text, "3.0 days");
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
    tcase_add_test(tcase, what_was_not_there_for_long_is_no_finding);
    tcase_add_test(tcase, fragmentation_is_as_sure_as_what_is_known_of_it);
    tcase_add_test(tcase, what_is_not_in_memory_is_no_sure_fragmentation);
    tcase_add_loop_test(tcase, what_grows_and_is_young_is_less_sure_to_leak, 0,
                        7);
    tcase_add_loop_test(tcase, what_is_unusual_just_now_is_not_nothing, 0, 3);
    tcase_add_test(tcase, growth_is_told_whatever_is_known_of_functions);
    tcase_add_test(tcase, the_end_that_is_too_far_ahead_is_on_the_page);
    tcase_add_test(tcase, who_is_stopped_can_go_on);
    tcase_add_test(tcase, what_has_not_grown_much_yet_is_no_finding);
    tcase_add_loop_test(tcase, the_lever_is_that_of_the_cause, 0, 4);
    tcase_add_test(tcase, muzzy_pages_have_a_setting_of_their_own);
    tcase_add_test(tcase, what_is_not_known_is_no_finding);
    tcase_add_test(tcase, an_end_on_request_is_no_death);
    tcase_add_test(tcase, all_illnesses_together_have_room);
    tcase_add_test(tcase, a_long_name_is_cut);
    tcase_add_test(tcase, the_page_has_findings_first_and_then_all_of_rss);
    tcase_add_test(tcase, the_parts_add_up_to_rss);
    tcase_add_test(tcase, without_jemalloc_the_owners_are_the_parts);
    tcase_add_test(tcase, bytes_and_times_have_units);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
