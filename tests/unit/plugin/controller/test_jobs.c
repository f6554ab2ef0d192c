/*
 * test_jobs.c - what requests share, when they do not, and how far a job says
 * that it is; against a scripted agent.
 */
#include <semaphore.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "controller.h"
#include "errors.h"
#include "failing_memory.h"
#include "jobs.h"
#include "poll_until.h"
#include "scripted_agent.h"
#include "snapshot.h"
#include "stats.h"
#include "stats_allocators.h"
#include "suite.h"

enum { PAST_RECENT_US = (CONTROLLER_RECENT_MS + 100) * 1000 };

static struct agent agent;
static struct controller *c;
static sem_t woken;

static void
set_up(void)
{
    sem_init(&woken, 0, 0);
    agent_start(&agent);
    agent.statistics = "arenas.page 4096\nstats.allocated 77\n";
    c = start_controller(agent.dir);
    wait_for_state(c, NODE_CONNECTED);
}

static void
tear_down(void)
{
    controller_stop(c);
    agent_stop(&agent);
}

static struct seat *
submit(enum job_kind kind)
{
    struct waker waker = {post, &woken};
    struct error err = {0};
    struct seat *seat =
        controller_submit(c, &(struct job_request){.kind = kind}, waker, &err);

    ck_assert_msg(seat != NULL, "%s", err.text);
    return seat;
}

static struct job_result
finish(struct seat *seat)
{
    struct job_result result = {0};
    struct error err = {0};

    ck_assert_msg(wait_for(seat, &woken, &result, &err) == FLIGHT_DONE, "%s",
                  err.text);
    flight_leave(seat);
    return result;
}

static struct job_result
run(enum job_kind kind)
{
    return finish(submit(kind));
}

static void
drop(struct job_result result)
{
    snapshot_unref(result.snapshot);
    stats_unref(result.stats);
}

START_TEST(statistics_are_the_agents_and_the_kernels)
{
    struct job_result result = run(JOB_STATS);

    ck_assert(result.stats->allocated.known);
    ck_assert_uint_eq(result.stats->allocated.value, 77);
    ck_assert(!result.stats->active.known);
    ck_assert(result.stats->rss.known);
    ck_assert_uint_gt(result.stats->rss.value, 1 << 20);
    ck_assert_uint_lt(result.stats->rss_file.value, result.stats->rss.value);
    ck_assert_int_gt(result.stats->taken_ms, 1700000000000);
    drop(result);
}
END_TEST

START_TEST(without_jemalloc_the_kernels_figures_are_left)
{
    struct job_result result;

    pthread_mutex_lock(&agent.lock);
    agent.hello.allocator = AGENT_NO_JEMALLOC;
    pthread_mutex_unlock(&agent.lock);
    drop(run(JOB_GET_ACTIVE)); /* refused only once it is known */
    drop(run(JOB_DISABLE));    /* and greets */
    result = run(JOB_STATS);
    ck_assert_uint_eq(result.stats->named_count, 0);
    ck_assert(!result.stats->allocated.known);
    ck_assert(result.stats->rss.known);
    ck_assert_int_eq(agent_count(&agent, AGENT_STATS), 0);
    drop(result);
}
END_TEST

START_TEST(statistics_that_make_no_sense_are_an_error)
{
    struct job_result result = {0};
    struct error err = {0};
    struct seat *seat;

    pthread_mutex_lock(&agent.lock);
    agent.statistics = "stats.allocated lots\n";
    pthread_mutex_unlock(&agent.lock);
    seat = submit(JOB_STATS);
    ck_assert_int_eq(wait_for(seat, &woken, &result, &err), FLIGHT_FAILED);
    ck_assert_str_eq(err.text, "the agent's statistics have no number in "
                               "'stats.allocated lots'");
    flight_leave(seat);
    pthread_mutex_lock(&agent.lock);
    agent.statistics = "";
    pthread_mutex_unlock(&agent.lock);
    drop(run(JOB_STATS)); /* a failure is not shared */
}
END_TEST

/* An older agent is not asked for allocators: it would hang up. */
START_TEST(allocators_are_listed_by_an_agent_that_knows_them)
{
    struct job_result result = run(JOB_STATS);

    ck_assert_ptr_null(result.stats->allocators);
    ck_assert_int_eq(agent_count(&agent, AGENT_ALLOCATORS), 0);
    drop(result);
    pthread_mutex_lock(&agent.lock);
    agent.allocators = "object=/db\tcallable=0\n";
    agent.hello.allocator = AGENT_UNUSABLE;
    agent.note = "what is wrong";
    pthread_mutex_unlock(&agent.lock);
    drop(run(JOB_DISABLE)); /* and greets */
    result = run(JOB_STATS);
    ck_assert_uint_eq(result.stats->allocator_count, 1);
    ck_assert_str_eq(result.stats->allocators[0].object, "/db");
    ck_assert(!result.stats->allocated.known && result.stats->rss.known);
    ck_assert_ptr_nonnull(strstr(result.stats->unusable, "what is wrong"));
    drop(result);
}
END_TEST

START_TEST(an_agent_without_statistics_is_reported)
{
    struct job_result result = {0};
    struct error err = {0};
    struct seat *seat;

    pthread_mutex_lock(&agent.lock);
    agent.statistics = NULL;
    pthread_mutex_unlock(&agent.lock);
    seat = submit(JOB_STATS);
    ck_assert_int_eq(wait_for(seat, &woken, &result, &err), FLIGHT_FAILED);
    ck_assert_ptr_nonnull(strstr(err.text, "is older than heapwired"));
    ck_assert_ptr_nonnull(strstr(err.text, "restart the database"));
    flight_leave(seat);
    drop(run(JOB_GET_ACTIVE)); /* and it is asked other things as before */
}
END_TEST

/* Every step: ask for kind; the answer is the same one as before, or not. */
static const struct sharing {
    enum job_kind first, second;
    enum { NOTHING, CHANGE, TIME } between;
    bool same;
    enum agent_op op; /* what the agent was asked */
} sharings[] = {
    {JOB_STATS, JOB_STATS, NOTHING, true, AGENT_STATS},
    {JOB_STATS, JOB_STATS, CHANGE, false, AGENT_STATS},
    {JOB_STATS, JOB_STATS, TIME, false, AGENT_STATS},
    {JOB_RECENT, JOB_RECENT, NOTHING, true, AGENT_DUMP},
    {JOB_PROFILE, JOB_RECENT, NOTHING, true, AGENT_DUMP},
    {JOB_SNAPSHOT, JOB_RECENT, NOTHING, false, AGENT_DUMP},
    {JOB_RECENT, JOB_PROFILE, NOTHING, false, AGENT_DUMP},
    {JOB_RECENT, JOB_SNAPSHOT, NOTHING, false, AGENT_DUMP},
    {JOB_RECENT, JOB_RECENT, CHANGE, false, AGENT_DUMP},
    {JOB_RECENT, JOB_RECENT, TIME, false, AGENT_DUMP},
};

/* The answers of two requests that should share.  False: they were so slow that
 * they had to differ. */
static bool
run_both(const struct sharing *s, struct job_result *first,
         struct job_result *second)
{
    uint64_t began_ms = clock_ms();

    *first = run(s->first);
    if (s->between == CHANGE)
        drop(run(JOB_ENABLE));
    if (s->between == TIME)
        usleep(PAST_RECENT_US);
    *second = run(s->second);
    return !s->same || clock_ms() - began_ms < CONTROLLER_RECENT_MS;
}

START_TEST(an_answer_is_shared_for_a_second_unless_something_changed)
{
    const struct sharing *s = &sharings[_i];
    struct job_result first, second;

    while (!run_both(s, &first, &second)) {
        drop(first);
        drop(second);
        tear_down();
        set_up();
    }
    ck_assert_int_eq(agent_count(&agent, s->op), s->same ? 1 : 2);
    if (s->op == AGENT_STATS)
        ck_assert_int_eq(first.stats == second.stats, s->same);
    else
        ck_assert_int_eq(first.snapshot == second.snapshot, s->same);
    drop(first);
    drop(second);
}
END_TEST

START_TEST(a_shared_answer_is_there_at_once)
{
    struct job_result result = {0};
    struct error err;
    struct seat *seat;
    uint64_t began_ms;

    do { /* until the machine is quick enough for it to be shared */
        began_ms = clock_ms();
        drop(run(JOB_STATS));
        seat = submit(JOB_STATS);
        if (clock_ms() - began_ms < CONTROLLER_RECENT_MS)
            break;
        drop(finish(seat));
    } while (true);
    ck_assert_int_eq(controller_poll_job(seat, &result, &err), FLIGHT_DONE);
    ck_assert_uint_eq(result.stats->allocated.value, 77);
    drop(result);
    flight_leave(seat);
}
END_TEST

START_TEST(a_recent_request_joins_the_dump_that_runs)
{
    struct seat *one, *two, *three;
    struct job_result first, second;
    uint64_t began_ms;

    for (;;) {
        began_ms = clock_ms();
        agent_set(&agent, &agent.mute, true);
        one = submit(JOB_RECENT);
        agent_await(&agent, AGENT_DUMP);
        two = submit(JOB_RECENT);
        if (clock_ms() - began_ms < CONTROLLER_RECENT_MS)
            break; /* else it may have come too late to be shared */
        agent_set(&agent, &agent.mute, false);
        drop(finish(one));
        drop(finish(two));
        tear_down();
        set_up();
    }
    three = submit(JOB_PROFILE); /* wants a dump begun after it asked */
    agent_set(&agent, &agent.mute, false);
    first = finish(one);
    second = finish(two);
    ck_assert_ptr_eq(first.snapshot, second.snapshot);
    drop(second);
    second = finish(three);
    ck_assert_ptr_ne(first.snapshot, second.snapshot);
    ck_assert_int_eq(agent_count(&agent, AGENT_DUMP), 2);
    drop(first);
    drop(second);
}
END_TEST

START_TEST(a_change_that_waits_already_ends_sharing)
{
    struct seat *one, *change, *two;
    struct job_result first, second;

    agent_set(&agent, &agent.mute, true);
    one = submit(JOB_RECENT);
    agent_await(&agent, AGENT_DUMP);
    change = submit(JOB_DISABLE);
    two = submit(JOB_RECENT);
    agent_set(&agent, &agent.mute, false);
    first = finish(one);
    drop(finish(change));
    second = finish(two);
    ck_assert_ptr_ne(first.snapshot, second.snapshot);
    ck_assert_str_eq(agent.order, "dtsdt");
    drop(first);
    drop(second);
}
END_TEST

START_TEST(a_reset_sees_the_snapshot_that_is_being_made)
{
    struct seat *snapshot, *reset, *read;
    struct job_result result = {0};
    struct error err = {0};

    agent_set(&agent, &agent.mute, true);
    snapshot = submit(JOB_SNAPSHOT);
    agent_await(&agent, AGENT_DUMP);
    reset = submit(JOB_RESET);
    read = submit(JOB_GET_ACTIVE);
    agent_set(&agent, &agent.mute, false);
    drop(finish(read));
    ck_assert_int_eq(wait_for(reset, &woken, &result, &err), FLIGHT_FAILED);
    ck_assert_ptr_nonnull(strstr(err.text, "a reset forgets all samples"));
    ck_assert_int_eq(agent_count(&agent, AGENT_RESET), 0);
    flight_leave(reset);
    drop(finish(snapshot));
}
END_TEST

START_TEST(another_incarnation_shares_nothing)
{
    drop(run(JOB_STATS));
    pthread_mutex_lock(&agent.lock);
    agent.hello.start_ticks++;
    pthread_mutex_unlock(&agent.lock);
    drop(run(JOB_DISABLE)); /* greets */
    drop(run(JOB_STATS));
    ck_assert_int_eq(agent_count(&agent, AGENT_STATS), 2);
}
END_TEST

START_TEST(a_job_reports_its_stage)
{
    struct progress progress;
    struct seat *one, *two;

    agent_set(&agent, &agent.mute, true);
    one = submit(JOB_PROFILE);
    agent_await(&agent, AGENT_DUMP);
    two = submit(JOB_ENABLE);
    ck_assert(flight_progress(one, &progress));
    ck_assert_uint_eq(progress.stage, 1);
    ck_assert_uint_eq(progress.stages, 3);
    ck_assert_str_eq(progress.text, "Dumping the heap");
    ck_assert(!flight_progress(two, &progress)); /* not its turn */
    agent_set(&agent, &agent.mute, false);
    drop(finish(two));
    POLL_UNTIL(flight_progress(one, &progress) && progress.stage == 3);
    ck_assert_str_eq(progress.text, "Making the snapshot");
    drop(finish(one));
}
END_TEST

START_TEST(kept_snapshots_are_listed_oldest_first)
{
    struct store_entry list[4];
    struct job_result one = run(JOB_SNAPSHOT), two = run(JOB_SNAPSHOT);

    drop(run(JOB_PROFILE)); /* not kept */
    ck_assert_uint_eq(store_list(controller_store(c), list, 4), 2);
    ck_assert_str_eq(list[0].name, one.snapshot->name);
    ck_assert_str_eq(list[1].name, two.snapshot->name);
    ck_assert_uint_eq(store_list(controller_store(c), list, 1), 1);
    drop(one);
    drop(two);
}
END_TEST

static struct seat *
submit_named(const char *name, struct error *err)
{
    struct waker waker = {post, &woken};
    struct job_request request = {.kind = JOB_SNAPSHOT,
                                  .name = name,
                                  .cause = SNAPSHOT_MARK,
                                  .reason = "80% of the limit"};

    return controller_submit(c, &request, waker, err);
}

START_TEST(a_snapshot_is_kept_under_the_name_that_was_asked_for)
{
    struct job_result result;
    struct snapshot *kept;
    struct error err;

    result = finish(submit_named("before", &err));
    ck_assert_str_eq(result.snapshot->name, "before");
    ck_assert_str_eq(result.snapshot->reason, "80% of the limit");
    ck_assert_int_eq(result.snapshot->cause, SNAPSHOT_MARK);
    kept = store_get(controller_store(c), "before", &err);
    ck_assert_ptr_eq(kept, result.snapshot);
    snapshot_unref(kept);
    drop(result);
    ck_assert_ptr_null(submit_named("before", &err)); /* an error at once */
    ck_assert_ptr_nonnull(strstr(err.text, "'before' is kept already"));
    ck_assert_ptr_null(submit_named("../x", &err));
    ck_assert_ptr_nonnull(strstr(err.text, "cannot be a snapshot's name"));
}
END_TEST

/* Of two that wait for one name the second fails; a request that only wants to
 * see the profile that was to have it does not. */
START_TEST(a_failed_keep_fails_only_requests_to_keep)
{
    struct seat *first, *named, *again, *profile;
    struct job_result result = {0};
    struct node_status status;
    struct error err = {0};

    agent_set(&agent, &agent.mute, true);
    first = submit(JOB_PROFILE);
    agent_await(&agent, AGENT_DUMP);
    named = submit_named("x", &err);
    again = submit_named("x", &err);
    profile = submit(JOB_PROFILE); /* joins the last */
    agent_set(&agent, &agent.mute, false);
    drop(finish(first));
    drop(finish(named));
    ck_assert_int_eq(wait_for(again, &woken, &result, &err), FLIGHT_FAILED);
    ck_assert_ptr_nonnull(strstr(err.text, "named 'x' is kept already"));
    flight_leave(again);
    drop(finish(profile));
    ck_assert_int_eq(agent_count(&agent, AGENT_DUMP), 3);
    controller_status(c, &status);
    ck_assert_uint_eq(status.failed_snapshots, 1);
}
END_TEST

/* _i: the allocation that fails, of a job, and of a seat */
START_TEST(a_request_without_memory_leaves_nothing)
{
    const struct job_request request = {.kind = JOB_STATS};
    struct waker waker = {post, &woken};
    struct error err = {0};
    struct seat *seat;
    struct jobs jobs;

    memset(&jobs, 0, sizeof(jobs));
    jobs_init(&jobs, NULL);
    jobs_greeter_take(&jobs); /* nothing begins */
    pthread_mutex_lock(&jobs.flights.lock);
    allocations = 0;
    failing = (unsigned)_i;
    ck_assert_ptr_null(jobs_join(&jobs, &request, waker, &err));
    failing = 0;
    ck_assert_uint_eq(allocations, _i);
    ck_assert_int_eq(err.code, ER_OUT_OF_MEMORY);
    ck_assert_ptr_null(jobs.flights.first);
    seat = jobs_join(&jobs, &request, waker, &err);
    ck_assert_ptr_nonnull(seat);
    pthread_mutex_unlock(&jobs.flights.lock);
    flight_leave(seat);
    jobs_stop(&jobs);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("jobs");
    TCase *tc = tcase_create("jobs");

    tcase_set_timeout(tc, 30);
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, statistics_are_the_agents_and_the_kernels);
    tcase_add_test(tc, without_jemalloc_the_kernels_figures_are_left);
    tcase_add_test(tc, statistics_that_make_no_sense_are_an_error);
    tcase_add_test(tc, allocators_are_listed_by_an_agent_that_knows_them);
    tcase_add_test(tc, an_agent_without_statistics_is_reported);
    tcase_add_loop_test(
        tc, an_answer_is_shared_for_a_second_unless_something_changed, 0,
        sizeof(sharings) / sizeof(sharings[0]));
    tcase_add_test(tc, a_shared_answer_is_there_at_once);
    tcase_add_test(tc, a_recent_request_joins_the_dump_that_runs);
    tcase_add_test(tc, a_change_that_waits_already_ends_sharing);
    tcase_add_test(tc, a_reset_sees_the_snapshot_that_is_being_made);
    tcase_add_test(tc, another_incarnation_shares_nothing);
    tcase_add_test(tc, a_job_reports_its_stage);
    tcase_add_test(tc, kept_snapshots_are_listed_oldest_first);
    tcase_add_test(tc, a_snapshot_is_kept_under_the_name_that_was_asked_for);
    tcase_add_test(tc, a_failed_keep_fails_only_requests_to_keep);
    suite_add_tcase(suite, tc);
    tc = tcase_create("without memory");
    tcase_add_loop_test(tc, a_request_without_memory_leaves_nothing, 1, 3);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
