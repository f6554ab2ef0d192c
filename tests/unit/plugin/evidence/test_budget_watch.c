/* test_budget_watch.c - when budgets are looked at, and what that may cost. The
 * controller is here, and so is the clock. */
#include <string.h>

#include "budget_watch.h"
#include "budgets.h"
#include "clock.h"
#include "controller.h"
#include "errors.h"
#include "marks.h"
#include "memory.h"
#include "profile_fixture.h"
#include "store.h"
#include "suite.h"

enum { EVERY_MS = 60000, PID = 4711, TICKS = 99 };

static struct budget_watch watch;
static struct node_status status;
static struct marks_now memory_now;
static struct marks_rules rules;
static struct store *store;
static uint64_t now_ms, takes_ms; /* a profile */
static uint64_t in_use;
static unsigned asked, said;
static bool refuses, fails;

uint64_t
clock_ms(void)
{
    return now_ms;
}

int64_t
clock_wall_ms(void)
{
    return (int64_t)now_ms + 1795228267000;
}

struct store *
controller_store(struct controller *controller)
{
    (void)controller;
    return store;
}

struct seat *
controller_submit(struct controller *controller,
                  const struct job_request *request, struct waker waker,
                  struct error *err)
{
    static struct seat seat;

    (void)controller;
    (void)waker;
    ck_assert_int_eq(request->kind, JOB_RECENT);
    asked++;
    error_set(err, ER_UNKNOWN, "the node is busy");
    return refuses ? NULL : &seat;
}

static struct snapshot *
make_snapshot(uint64_t bytes)
{
    static const struct fixture_name names[] = {
        {0x2001, "insert", false, NULL, 0}, {0}};
    struct snapshot *snapshot = snapshot_new();
    char text[128];

    snprintf(text, sizeof(text), "heap_v2/1\n@ 0x2001\n  t*: 1: %llu [0: 0]\n",
             (unsigned long long)bytes);
    snapshot->profile = fixture_profile(text, names, NULL);
    snapshot->serial = snapshot_serial();
    snapshot->taken_ms = clock_wall_ms();
    snapshot->hello = status.hello;
    return snapshot;
}

enum flight_state
controller_poll_job(struct seat *seat, struct job_result *result,
                    struct error *err)
{
    (void)seat;
    now_ms += takes_ms;
    if (fails) {
        error_set(err, ER_UNKNOWN, "the dump failed");
        return FLIGHT_FAILED;
    }
    result->snapshot = make_snapshot(in_use);
    return FLIGHT_DONE;
}

void
flight_leave(struct seat *seat)
{
    (void)seat;
}

static void
hear(const char *line)
{
    said += strstr(line, "cannot look") != NULL;
}

static void
set_up(void)
{
    struct error err;

    store = store_open(&store_defaults, NULL, &err);
    ck_assert_ptr_nonnull(store);
    status = (struct node_status){.state = NODE_CONNECTED};
    status.hello.pid = PID;
    status.hello.start_ticks = TICKS;
    status.hello.active = true;
    rules = marks_defaults;
    now_ms = 1000000;
    in_use = 100;
    memset(&watch, 0, sizeof(watch));
    ck_assert_int_eq(
        budget_watch_open(&watch, NULL, NULL, (struct waker){NULL, NULL}, hear),
        0);
    ck_assert_int_eq(
        budgets_set(watch.budgets, (struct span){"insert", 6}, 1000, &err), 0);
}

static void
tear_down(void)
{
    budget_watch_close(&watch);
    store_close(store);
}

/* Runs a second of the sampler; true if a snapshot is wanted. */
static bool
pass_second(void)
{
    char reason[SNAPSHOT_REASON_MAX + 1];
    bool wanted =
        budget_watch_check(&watch, &status, &memory_now, &rules, reason);

    budget_watch_take(&watch);
    now_ms += 1000;
    return wanted;
}

static unsigned
looks_in(unsigned seconds)
{
    unsigned before = asked;

    for (unsigned i = 0; i < seconds; i++)
        pass_second();
    return asked - before;
}

static enum budget_state
state_of(void)
{
    struct budget budget;

    ck_assert_uint_eq(budgets_list(watch.budgets, &budget, 1), 1);
    return budget.state;
}

START_TEST(it_looks_at_once_and_then_by_the_clock)
{
    ck_assert_uint_eq(looks_in(1), 1);
    ck_assert_int_eq(state_of(), BUDGET_WITHIN);
    ck_assert_uint_eq(looks_in(59), 0);
    ck_assert_uint_eq(looks_in(60), 1);
    ck_assert_uint_eq(looks_in(600), 10);
}
END_TEST

START_TEST(a_change_is_looked_at_at_once)
{
    struct error err;

    looks_in(10);
    ck_assert_int_eq(
        budgets_set(watch.budgets, (struct span){"insert", 6}, 10, &err), 0);
    ck_assert_uint_eq(looks_in(1), 1);
    ck_assert_int_eq(state_of(), BUDGET_OVER);
}
END_TEST

/* At most 0.1 % of the time, but for the first check, which has to find
 * names. */
START_TEST(what_is_costly_is_done_less_often)
{
    takes_ms = 5000;
    ck_assert_uint_eq(looks_in(2), 1);
    takes_ms = 200;
    ck_assert_uint_eq(looks_in(60), 1);
    ck_assert_uint_eq(looks_in(2000), 10);
    takes_ms = 10;
    ck_assert_uint_ge(looks_in(1200), 17);
}
END_TEST

START_TEST(nothing_is_asked_where_there_is_no_budget)
{
    struct error err;

    ck_assert_int_eq(
        budgets_remove(watch.budgets, (struct span){"insert", 6}, &err), 0);
    ck_assert_uint_eq(looks_in(300), 0);
}
END_TEST

START_TEST(what_nobody_can_know_is_said)
{
    looks_in(1);
    status.hello.active = false;
    ck_assert_uint_eq(looks_in(120), 0);
    ck_assert_int_eq(state_of(), BUDGET_OFF);
    status.state = NODE_UNRESPONSIVE;
    ck_assert_uint_eq(looks_in(1), 0);
    ck_assert_int_eq(state_of(), BUDGET_ABSENT);
    status.hello.opt_prof = AGENT_PROF_RECORDED;
    status.hello.active = true;
    ck_assert_uint_eq(looks_in(1), 1);
    ck_assert_int_eq(state_of(), BUDGET_WITHIN);
    status.state = NODE_GONE;
    looks_in(1);
    ck_assert_int_eq(state_of(), BUDGET_ABSENT);
    status.state = NODE_CONNECTED;
    ck_assert_uint_eq(looks_in(1), 1); /* at once */
}
END_TEST

START_TEST(a_failure_is_told_once)
{
    refuses = true;
    ck_assert_uint_eq(looks_in(180), 3);
    ck_assert_int_eq(state_of(), BUDGET_FAILED);
    refuses = false;
    fails = true;
    looks_in(180);
    ck_assert_uint_eq(said, 1);
    fails = false;
    looks_in(60);
    ck_assert_int_eq(state_of(), BUDGET_WITHIN);
    fails = true;
    looks_in(60);
    ck_assert_uint_eq(said, 2);
}
END_TEST

START_TEST(full_memory_is_not_made_fuller)
{
    memory_now = (struct marks_now){.used = 98, .total = 100};
    ck_assert_uint_eq(looks_in(180), 0);
    memory_now = (struct marks_now){.used = 90, .total = 100};
    ck_assert_uint_eq(looks_in(1), 1);
}
END_TEST

START_TEST(zero_is_never)
{
    struct snapshot *snapshot;

    rules.budgets_ms = 0;
    ck_assert_uint_eq(looks_in(1000), 0);
    ck_assert_int_eq(state_of(), BUDGET_UNSEEN);
    snapshot = make_snapshot(5000); /* but with snapshots */
    budget_watch_see(&watch, snapshot);
    snapshot_unref(snapshot);
    ck_assert_int_eq(state_of(), BUDGET_OVER);
}
END_TEST

START_TEST(a_kept_snapshot_serves_as_well)
{
    struct snapshot *snapshot;
    struct budget budget;
    struct error err;

    looks_in(30);
    snapshot = make_snapshot(5000);
    store_make_name(store, snapshot);
    ck_assert_int_eq(store_add(store, snapshot, &err), 0);
    ck_assert_uint_eq(looks_in(31), 0); /* its turn has come */
    ck_assert_uint_eq(budgets_list(watch.budgets, &budget, 1), 1);
    ck_assert_int_eq(budget.state, BUDGET_OVER);
    ck_assert_str_eq(budget.snapshot, snapshot->name);
    snapshot_unref(snapshot);
    ck_assert_uint_eq(looks_in(60), 1); /* it is old */
}
END_TEST

START_TEST(another_process_is_another_one)
{
    struct snapshot *snapshot = make_snapshot(5000);

    looks_in(1);
    snapshot->hello.pid++;
    budget_watch_see(&watch, snapshot);
    snapshot_unref(snapshot);
    ck_assert_int_eq(state_of(), BUDGET_WITHIN);
}
END_TEST

START_TEST(a_crossing_wants_a_snapshot_until_there_is_one)
{
    struct snapshot *snapshot;
    unsigned wanted = 0;

    in_use = 5000;
    for (int i = 0; i < 130; i++)
        wanted += pass_second();
    ck_assert_uint_eq(wanted, 3); /* once a minute */
    snapshot = make_snapshot(5000);
    snprintf(snapshot->name, sizeof(snapshot->name), "heap_1");
    budget_watch_see(&watch, snapshot);
    snapshot_unref(snapshot);
    for (int i = 0; i < 130; i++)
        ck_assert(!pass_second());
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("budget_watch");
    TCase *tc = tcase_create("budget_watch");

    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, it_looks_at_once_and_then_by_the_clock);
    tcase_add_test(tc, a_change_is_looked_at_at_once);
    tcase_add_test(tc, what_is_costly_is_done_less_often);
    tcase_add_test(tc, nothing_is_asked_where_there_is_no_budget);
    tcase_add_test(tc, what_nobody_can_know_is_said);
    tcase_add_test(tc, a_failure_is_told_once);
    tcase_add_test(tc, full_memory_is_not_made_fuller);
    tcase_add_test(tc, zero_is_never);
    tcase_add_test(tc, a_kept_snapshot_serves_as_well);
    tcase_add_test(tc, another_process_is_another_one);
    tcase_add_test(tc, a_crossing_wants_a_snapshot_until_there_is_one);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
