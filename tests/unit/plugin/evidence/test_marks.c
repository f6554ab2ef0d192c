/* test_marks.c - when the node takes a snapshot by itself. */
#include <string.h>

#include "marks.h"
#include "suite.h"

enum { MB = 1 << 20, LOOKS = 10 };

static const struct marks_rules percents = {
    .at_percent = {80, 90, 95}, .percents = 3, .min_interval_ms = 10000};
static const struct marks_rules growth = {.growth = 100 * MB,
                                          .min_interval_ms = 10000};
static const struct marks_rules schedule = {.every_ms = 60000,
                                            .min_interval_ms = 10000};
static const struct marks_rules never;

/* One look: '-' nothing is due, 'T' taken, 'F' it failed, 'X' too full.
 * percent is of 1000 MB; 0: the node cannot be asked, or profiling is off. */
struct look {
    unsigned at_s, percent;
    char answer;
    unsigned growth; /* percent a second */
};

static const struct {
    const char *why;
    const struct marks_rules *rules;
    struct look looks[LOOKS];
    const char *reason; /* of the last snapshot, begins so */
} courses[] = {
    {"each mark once",
     &percents,
     {{0, 50, '-'},
      {20, 79, '-'},
      {40, 80, 'T'},
      {60, 85, '-'},
      {80, 91, 'T'},
      {100, 96, 'T'},
      {120, 96, '-'}},
     "memory passed 95% of the cgroup's limit (1006632960 of 1048576000"},
    {"two marks at a time are one snapshot",
     &percents,
     {{0, 50, '-'}, {20, 92, 'T'}, {40, 93, '-'}, {60, 80, '-'}},
     "memory passed 90% of"},
    {"again only after it has fallen some points",
     &percents,
     {{0, 50, '-'},
      {20, 81, 'T'},
      {40, 78, '-'},
      {60, 81, '-'},
      {80, 77, '-'},
      {100, 81, 'T'}},
     "memory passed 80% of"},
    {"what it was above when profiling came on says nothing",
     &percents,
     {{0, 92, '-'}, {20, 94, '-'}, {40, 95, 'T'}},
     "memory passed 95% of"},
    {"off and on again",
     &percents,
     {{0, 50, '-'}, {20, 0, '-'}, {40, 85, '-'}, {60, 90, 'T'}},
     "memory passed 90% of"},
    {"no mark waits for the interval of another",
     &percents,
     {{0, 50, '-'}, {20, 80, 'T'}, {21, 90, 'T'}, {22, 95, 'T'}, {23, 96, '-'}},
     "memory passed 95% of"},
    {"but for its own",
     &percents,
     {{0, 50, '-'},
      {20, 80, 'T'},
      {21, 77, '-'},
      {22, 81, '-'},
      {29, 81, '-'},
      {30, 81, 'T'}},
     "memory passed 80% of"},
    {"another mark does not wait for one that failed",
     &percents,
     {{0, 50, '-'}, {20, 80, 'F'}, {21, 91, 'T'}, {22, 92, '-'}},
     "memory passed 90% of"},
    {"what reaches the limit in seconds is not waited for",
     &percents,
     {{0, 5, '-', 25},
      {1, 24, '-', 25}, /* too little to see */
      {2, 30, '-', 14}, /* in 5 s */
      {3, 31, 'T', 14}, /* sooner */
      {4, 60, '-', 25}, /* a moment ago */
      {5, 80, 'T', 25}},
     "memory passed 80% of"},
    {"and is said so",
     &percents,
     {{0, 5, '-'}, {1, 50, 'T', 25}},
     "memory grows by 262144000 bytes a second and reaches the cgroup's limit "
     "in 2.0 s"},
    {"without marks there is no such snapshot",
     &growth,
     {{0, 5, '-'}, {1, 14, '-', 50}},
     NULL},
    {"what failed is tried again",
     &percents,
     {{0, 50, '-'}, {20, 80, 'F'}, {21, 80, '-'}, {30, 81, 'T'}, {50, 82, '-'}},
     "memory passed 80% of"},
    {"above the ceiling none is taken",
     &percents,
     {{0, 50, '-'}, {20, 97, 'X'}, {21, 99, '-'}, {30, 98, 'X'}, {40, 96, 'T'}},
     "memory passed 95% of"},
    {"growth counts from the lowest",
     &growth,
     {{0, 50, '-'},
      {20, 55, '-'},
      {40, 40, '-'},
      {60, 49, '-'},
      {80, 50, 'T'},
      {100, 59, '-'},
      {120, 60, 'T'}},
     "memory grew by 104857600 bytes to 629145600"},
    {"growth counts from the last snapshot, and what fell below it",
     &growth,
     {{0, 20, '-'}, {20, 31, 'T'}, {40, 25, '-'}, {60, 34, '-'}, {80, 36, 'T'}},
     "memory grew by 115343360 bytes to 377487360"},
    {"growth, too, stops at the ceiling",
     &growth,
     {{0, 80, '-'}, {20, 98, 'X'}},
     NULL},
    {"by schedule",
     &schedule,
     {{0, 20, '-'},
      {59, 20, '-'},
      {60, 20, 'T'},
      {119, 20, '-'},
      {120, 20, 'T'}},
     "every 60 s"},
    {"never",
     &never,
     {{0, 10, '-'}, {9999, 50, '-'}, {99999, 90, '-'}, {999999, 96, '-'}},
     NULL},
};

/* Hours left at each look; below 0: no end is in sight. */
static const struct {
    unsigned at_s;
    double hours;
    bool due;
} hours[] = {{0, -1, false},    {10, 7, false},     {20, 5.9, true},
             {30, 5, false},    {90, 1, false},     {100, 8.9, false},
             {110, 5, false},   {120, 9.1, false},  {130, 5.5, true},
             {140, -1, false},  {150, 3, false},    {160, -1, false},
             {1949, -1, false}, {1951, -1, false},  {1960, 5, true},
             {1970, 0, false},  {99999, 10, false}, {100009, 6, true}};

/* Once for each crossing, with some way back. */
START_TEST(few_hours_left_are_a_mark)
{
    const struct marks_rules rules = {.hours_left = 6,
                                      .min_interval_ms = 60000};
    struct marks marks = {0};
    struct marks_due due = {0};

    for (size_t i = 0; i < sizeof(hours) / sizeof(hours[0]); i++) {
        struct marks_now now = {.now_ms = 1 + (uint64_t)hours[i].at_s * 1000,
                                .ready = true,
                                .total = (uint64_t)1000 * MB,
                                .of_cgroup = true, /* which is not the nearer */
                                .left_s = hours[i].hours * 3600};

        ck_assert_msg(marks_check(&marks, &rules, &now, &due) ==
                          (hours[i].due ? MARKS_TAKE : MARKS_NOTHING),
                      "at %u s", hours[i].at_s);
    }
    ck_assert_int_eq(due.cause, SNAPSHOT_MARK);
    ck_assert_str_eq(due.reason, "the end of free memory is reached in 6.0 "
                                 "hours as memory grows now");
}
END_TEST

START_TEST(the_ring_is_due_by_the_clock_alone)
{
    const struct marks_rules rules = {.ring_ms = 3600 * 1000,
                                      .min_interval_ms = 60000};
    const uint64_t start_ms = 999999999;
    struct marks marks = {0};
    struct marks_due due = {0};
    struct marks_now now = {.now_ms = start_ms,
                            .ready = true,
                            .left_s = -1,
                            .ring_ago_ms = UINT64_MAX};

    ck_assert(marks_begin_with(&marks, &now));
    ck_assert_int_eq(marks_check(&marks, &rules, &now, &due), MARKS_NOTHING);
    ck_assert(!marks_begin_with(&marks, &now));
    now.now_ms = start_ms + 3599 * 1000;
    ck_assert_int_eq(marks_check(&marks, &rules, &now, &due), MARKS_NOTHING);
    now.now_ms = start_ms + 3600 * 1000;
    ck_assert_int_eq(marks_check(&marks, &rules, &now, &due), MARKS_TAKE);
    ck_assert_int_eq(due.cause, SNAPSHOT_RING);
    ck_assert_str_eq(due.reason, "one is kept every 3600 s (snapshots.ring)");
    now.now_ms++;
    ck_assert_int_eq(marks_check(&marks, &rules, &now, &due), MARKS_NOTHING);
    /* A new heapwired goes on where the one before it was. */
    memset(&marks, 0, sizeof(marks));
    now.ring_ago_ms = 3000 * 1000;
    ck_assert_int_eq(marks_check(&marks, &rules, &now, &due), MARKS_NOTHING);
    now.now_ms += 600 * 1000;
    ck_assert_int_eq(marks_check(&marks, &rules, &now, &due), MARKS_TAKE);
    memset(&marks, 0, sizeof(marks));
    now.ring_ago_ms = 99 * 3600 * 1000;
    ck_assert_int_eq(marks_check(&marks, &rules, &now, &due), MARKS_TAKE);
    ck_assert_int_eq(marks_check(&marks, &rules, &now, &due), MARKS_NOTHING);
    ck_assert_int_eq(marks_check(&marks, &never, &now, &due), MARKS_NOTHING);
}
END_TEST

START_TEST(snapshots_are_taken_when_they_are_due)
{
    struct marks marks = {0};
    struct marks_due due = {0};
    char taken[SNAPSHOT_REASON_MAX + 1] = "";

    for (const struct look *look = courses[_i].looks; look->answer; look++) {
        struct marks_now now = {.now_ms = 1 + (uint64_t)look->at_s * 1000,
                                .ready = look->percent > 0,
                                .rss = (uint64_t)look->percent * 10 * MB,
                                .used = (uint64_t)look->percent * 10 * MB,
                                .total = (uint64_t)1000 * MB,
                                .growth = (uint64_t)look->growth * 10 * MB,
                                .of_cgroup = true};
        enum marks_answer answer =
            marks_check(&marks, courses[_i].rules, &now, &due);
        enum marks_answer expected = look->answer == '-'   ? MARKS_NOTHING
                                     : look->answer == 'X' ? MARKS_TOO_FULL
                                                           : MARKS_TAKE;

        ck_assert_msg(answer == expected, "%s: at %u s: %d", courses[_i].why,
                      look->at_s, answer);
        if (look->answer != 'T')
            continue;
        ck_assert_int_eq(due.cause, courses[_i].rules == &schedule
                                        ? SNAPSHOT_SCHEDULE
                                        : SNAPSHOT_MARK);
        memcpy(taken, due.reason, sizeof(taken));
        marks_taken(&marks, courses[_i].rules, &now);
    }
    if (courses[_i].reason)
        ck_assert_msg(
            strncmp(taken, courses[_i].reason, strlen(courses[_i].reason)) == 0,
            "%s: '%s'", courses[_i].why, taken);
    else
        ck_assert_str_eq(taken, "");
}
END_TEST

START_TEST(nothing_is_due_with_an_unknown_limit)
{
    struct marks_now now = {.now_ms = 1, .ready = true, .rss = 1, .used = 1};
    struct marks_due due;
    struct marks marks = {0};

    for (; now.now_ms < 1000000; now.now_ms += 100000, now.used *= 1000)
        ck_assert_int_eq(marks_check(&marks, &percents, &now, &due),
                         MARKS_NOTHING);
}
END_TEST

START_TEST(absurd_figures_do_no_harm)
{
    struct marks_now now = {.now_ms = 1, .ready = true, .total = 1};
    struct marks_due due;
    struct marks marks = {0};

    marks_check(&marks, &percents, &now, &due);
    now.used = now.rss = UINT64_MAX;
    ck_assert_int_eq(marks_check(&marks, &percents, &now, &due),
                     MARKS_TOO_FULL);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("marks");
    TCase *tc = tcase_create("marks");

    tcase_add_test(tc, few_hours_left_are_a_mark);
    tcase_add_test(tc, the_ring_is_due_by_the_clock_alone);
    tcase_add_loop_test(tc, snapshots_are_taken_when_they_are_due, 0,
                        sizeof(courses) / sizeof(courses[0]));
    tcase_add_test(tc, nothing_is_due_with_an_unknown_limit);
    tcase_add_test(tc, absurd_figures_do_no_harm);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
