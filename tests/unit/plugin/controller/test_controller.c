/*
 * test_controller.c - jobs, joining, lateness and ends, against an agent that
 * does exactly what each test says.
 */
#include <errno.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "controller.h"
#include "deaths.h"
#include "errors.h"
#include "observe.h"
#include "scripted_agent.h"
#include "snapshot.h"
#include "stats.h"
#include "suite.h"

START_TEST(without_an_agent_every_request_fails_at_once)
{
    char dir[] = "/tmp/hw-test-XXXXXX";
    struct controller *c;
    struct waker waker = {post, NULL};
    struct error err;

    ck_assert_ptr_nonnull(mkdtemp(dir));
    c = start_controller(dir);
    ck_assert_ptr_null(controller_submit(
        c, &(struct job_request){.kind = JOB_GET_ACTIVE}, waker, &err));
    ck_assert_ptr_nonnull(strstr(err.text, "no database"));
    controller_stop(c);
    rmdir(dir);
}
END_TEST

START_TEST(profiling_is_switched_and_read)
{
    struct agent agent;
    struct controller *c;
    struct job_result result = {0};
    struct seat *seat;
    struct error err;
    sem_t woken;
    struct waker waker = {post, &woken};

    sem_init(&woken, 0, 0);
    agent_start(&agent);
    c = start_controller(agent.dir);
    wait_for_state(c, NODE_CONNECTED);
    for (int on = 1; on >= 0; on--) {
        seat = controller_submit(
            c, &(struct job_request){.kind = on ? JOB_ENABLE : JOB_DISABLE},
            waker, &err);
        ck_assert_int_eq(wait_for(seat, &woken, &result, &err), FLIGHT_DONE);
        flight_leave(seat);
        seat = controller_submit(
            c, &(struct job_request){.kind = JOB_GET_ACTIVE}, waker, &err);
        ck_assert_int_eq(wait_for(seat, &woken, &result, &err), FLIGHT_DONE);
        ck_assert_int_eq(result.active, on);
        flight_leave(seat);
    }
    controller_stop(c);
    agent_stop(&agent);
}
END_TEST

/* The result of a request: its error's text, or "". */
static const char *
outcome(struct controller *c, const struct job_request *request)
{
    static struct error err;
    struct job_result result = {0};
    struct seat *seat;
    sem_t woken;
    struct waker waker = {post, &woken};

    memset(&err, 0, sizeof(err));
    sem_init(&woken, 0, 0);
    seat = controller_submit(c, request, waker, &err);
    if (seat && wait_for(seat, &woken, &result, &err) == FLIGHT_DONE)
        snapshot_unref(result.snapshot);
    flight_leave(seat);
    return err.text;
}

START_TEST(profiling_is_switched_on_for_a_while)
{
    struct job_request request = {.kind = JOB_ENABLE, .seconds = 30};
    struct agent agent;
    struct controller *c;

    agent_start(&agent);
    c = start_controller(agent.dir);
    wait_for_state(c, NODE_CONNECTED);
    ck_assert_str_eq(outcome(c, &request), "");
    ck_assert_uint_eq(agent.seconds, 30);
    request.seconds = AGENT_SECONDS_MAX + 1;
    ck_assert_ptr_nonnull(strstr(outcome(c, &request), "at most 31622400"));
    ck_assert_int_eq(agent_count(&agent, AGENT_SET_ACTIVE), 1);
    controller_stop(c);
    agent_stop(&agent);
}
END_TEST

START_TEST(a_reset_spares_kept_snapshots_and_sane_rates_unless_forced)
{
    static const struct {
        struct job_request request;
        const char *says;
        unsigned lg; /* that the agent is asked for; 0: not asked */
    } steps[] = {
        {{.kind = JOB_RESET, .lg_sample = 20}, "", 20},
        {{.kind = JOB_RESET}, "", AGENT_LG_SAMPLE_SAME},
        {{.kind = JOB_RESET, .lg_sample = 15}, "every 32768 bytes", 0},
        {{.kind = JOB_RESET, .lg_sample = 15, .force = true}, "", 15},
        {{.kind = JOB_RESET, .lg_sample = 31, .force = true}, "at most 30", 0},
        {{.kind = JOB_SNAPSHOT}, "", 0},
        {{.kind = JOB_RESET, .lg_sample = 20}, "snapshot heap_", 0},
        {{.kind = JOB_RESET, .lg_sample = 20, .force = true}, "", 20},
        /* snapshots from before the last reset cannot be compared any more */
        {{.kind = JOB_RESET, .lg_sample = 19}, "", 19},
    };
    struct node_status status;
    struct agent agent;
    struct controller *c;
    unsigned resets = 0;

    agent_start(&agent);
    c = start_controller(agent.dir);
    wait_for_state(c, NODE_CONNECTED);
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        const char *said = outcome(c, &steps[i].request);

        ck_assert_msg(*steps[i].says ? strstr(said, steps[i].says) != NULL
                                     : *said == '\0',
                      "%zu: %s", i, said);
        resets += steps[i].lg != 0;
        ck_assert_int_eq(agent_count(&agent, AGENT_RESET), resets);
        controller_status(c, &status);
        ck_assert_uint_eq(status.hello.resets, resets);
        if (steps[i].lg != 0)
            ck_assert_uint_eq(status.hello.lg_sample, steps[i].lg);
    }
    controller_stop(c);
    agent_stop(&agent);
}
END_TEST

START_TEST(requests_join_the_next_dump_and_changes_separate_them)
{
    static const enum job_kind kinds[] = {
        JOB_PROFILE, JOB_PROFILE, JOB_SNAPSHOT, JOB_PROFILE,
        JOB_ENABLE,  JOB_PROFILE, JOB_PROFILE};
    struct seat *seats[7];
    struct snapshot *first = NULL;
    struct node_status status;
    struct agent agent;
    struct controller *c;
    struct error err;
    sem_t woken;
    struct waker waker = {post, &woken};
    char name[SNAPSHOT_NAME_MAX + 1] = "";

    sem_init(&woken, 0, 0);
    agent_start(&agent);
    c = start_controller(agent.dir);
    wait_for_state(c, NODE_CONNECTED);
    controller_status(c, &status);
    ck_assert(!status.profiled);
    agent_set(&agent, &agent.mute, true);
    seats[0] = controller_submit(c, &(struct job_request){.kind = kinds[0]},
                                 waker, &err);
    agent_await(&agent, AGENT_DUMP); /* it runs, and is held */
    for (int i = 1; i < 7; i++)
        seats[i] = controller_submit(c, &(struct job_request){.kind = kinds[i]},
                                     waker, &err);
    agent_set(&agent, &agent.mute, false);
    for (int i = 0; i < 7; i++) {
        struct job_result result = {0};

        ck_assert_int_eq(wait_for(seats[i], &woken, &result, &err),
                         FLIGHT_DONE);
        if (i == 1)
            first = snapshot_ref(result.snapshot);
        if (i == 2) {
            ck_assert_ptr_eq(result.snapshot, first);
            strcpy(name, result.snapshot->name);
        }
        snapshot_unref(result.snapshot);
        flight_leave(seats[i]);
    }
    snapshot_unref(first);
    ck_assert_str_eq(agent.order, "dtdtsdt");
    controller_status(c, &status);
    ck_assert(status.profiled);
    first = store_get(controller_store(c), name, &err);
    ck_assert_ptr_nonnull(first);
    snapshot_unref(first);
    ck_assert_ptr_null(store_get(controller_store(c), "heap_x", &err));
    controller_stop(c);
    agent_stop(&agent);
}
END_TEST

START_TEST(a_late_agent_is_left_alone_and_taken_back)
{
    struct agent agent;
    struct controller *c;
    struct job_result result = {0};
    struct seat *seat;
    struct error err;
    uint64_t start;
    int before, after;
    sem_t woken;
    struct waker waker = {post, &woken};

    sem_init(&woken, 0, 0);
    agent_start(&agent);
    c = start_controller(agent.dir);
    wait_for_state(c, NODE_CONNECTED);
    agent_set(&agent, &agent.mute, true);
    seat = controller_submit(c, &(struct job_request){.kind = JOB_GET_ACTIVE},
                             waker, &err);
    ck_assert_int_eq(wait_for(seat, &woken, &result, &err), FLIGHT_FAILED);
    ck_assert_ptr_nonnull(strstr(err.text, "not responding since"));
    flight_leave(seat);

    /* the kernel's figures, and why there are no others */
    seat = controller_submit(c, &(struct job_request){.kind = JOB_STATS}, waker,
                             &err);
    ck_assert_ptr_nonnull(seat);
    ck_assert_int_eq(wait_for(seat, &woken, &result, &err), FLIGHT_DONE);
    ck_assert_ptr_nonnull(
        strstr(result.stats->failure, "not responding since"));
    ck_assert(result.stats->rss.known && !result.stats->allocated.known);
    stats_unref(result.stats);
    flight_leave(seat);

    start = clock_ms();
    before = agent_count(&agent, AGENT_GET_ACTIVE) +
             agent_count(&agent, AGENT_HELLO);
    for (int i = 0; i < 100; i++) {
        ck_assert_ptr_null(controller_submit(
            c, &(struct job_request){.kind = JOB_PROFILE}, waker, &err));
        usleep(2000); /* other submits may come in between */
    }
    ck_assert_uint_lt(clock_ms() - start, 100000); /* one more is 4 s */
    after = agent_count(&agent, AGENT_GET_ACTIVE) +
            agent_count(&agent, AGENT_HELLO);
    ck_assert_int_eq(before, after);

    agent_set(&agent, &agent.mute, false);
    wait_for_state(c, NODE_CONNECTED);
    seat = controller_submit(c, &(struct job_request){.kind = JOB_GET_ACTIVE},
                             waker, &err);
    ck_assert_int_eq(wait_for(seat, &woken, &result, &err), FLIGHT_DONE);
    flight_leave(seat);
    /* it would have got by now what was asked while it was late */
    ck_assert_int_eq(agent_count(&agent, AGENT_STATS), 0);
    controller_stop(c);
    agent_stop(&agent);
}
END_TEST

START_TEST(a_cancelled_wait_leaves_the_job_to_others)
{
    struct agent agent;
    struct controller *c;
    struct job_result result = {0};
    struct seat *one, *two;
    struct error err;
    sem_t woken;
    struct waker waker = {post, &woken};

    sem_init(&woken, 0, 0);
    agent_start(&agent);
    c = start_controller(agent.dir);
    wait_for_state(c, NODE_CONNECTED);
    agent_set(&agent, &agent.mute, true);
    flight_leave(controller_submit(
        c, &(struct job_request){.kind = JOB_PROFILE}, waker, &err));
    one = controller_submit(c, &(struct job_request){.kind = JOB_PROFILE},
                            waker, &err);
    two = controller_submit(c, &(struct job_request){.kind = JOB_PROFILE},
                            waker, &err);
    flight_leave(one);
    agent_set(&agent, &agent.mute, false);
    ck_assert_int_eq(wait_for(two, &woken, &result, &err), FLIGHT_DONE);
    snapshot_unref(result.snapshot);
    flight_leave(two);
    controller_stop(c);
    agent_stop(&agent);
}
END_TEST

START_TEST(given_up_requests_do_not_fill_the_queue)
{
    struct agent agent;
    struct controller *c;
    static const char *const users[] = {NULL, "ann", "bob"};
    struct seat *first, *seat, *waiting[64];
    struct job_result result = {0};
    struct error err;
    int count = 0, before;
    sem_t woken;
    struct waker waker = {post, &woken};

    sem_init(&woken, 0, 0);
    agent_start(&agent);
    c = start_controller(agent.dir);
    wait_for_state(c, NODE_CONNECTED);
    agent_set(&agent, &agent.mute, true);
    first = controller_submit(c, &(struct job_request){.kind = JOB_PROFILE},
                              waker, &err);
    agent_await(&agent, AGENT_DUMP);
    for (int i = 0; i < 200; i++) {
        seat = controller_submit(c, &(struct job_request){.kind = JOB_PROFILE},
                                 waker, &err);
        ck_assert_msg(seat != NULL, "%d: %s", i, err.text);
        flight_leave(seat);
    }
    /* changes are not joined: each user has half of the free places */
    for (int user = 0; user < 3; user++) {
        struct job_request change = {JOB_ENABLE, .owner = users[user]};

        before = count;
        while (count < 64 &&
               (waiting[count] = controller_submit(c, &change, waker, &err)))
            count++;
        ck_assert_int_eq(count - before, 32 >> user);
        ck_assert_uint_eq(err.code, ER_USER_LIMIT_REACHED);
    }
    while (count-- > 0) /* and they make room again, as they go */
        flight_leave(waiting[count]);
    seat = controller_submit(c, &(struct job_request){.kind = JOB_GET_ACTIVE},
                             waker, &err);
    ck_assert_ptr_nonnull(seat);
    flight_leave(seat);
    agent_set(&agent, &agent.mute, false);
    ck_assert_int_eq(wait_for(first, &woken, &result, &err), FLIGHT_DONE);
    snapshot_unref(result.snapshot);
    flight_leave(first);
    controller_stop(c);
    agent_stop(&agent);
}
END_TEST

START_TEST(an_ended_database_is_reported_with_its_time)
{
    struct agent agent;
    struct controller *c;
    struct error err;
    struct waker waker = {post, NULL};

    agent_start(&agent);
    agent.hello.pid = 0x3ffffff; /* above any pid */
    c = start_controller(agent.dir);
    wait_for_state(c, NODE_CONNECTED);
    agent_stop(&agent);
    wait_for_state(c, NODE_GONE);
    ck_assert_ptr_null(controller_submit(
        c, &(struct job_request){.kind = JOB_ENABLE}, waker, &err));
    ck_assert_ptr_nonnull(strstr(err.text, "ended at 20"));
    /* Its child, a daemon, lives on, and may not use the directory. */
    controller_set_absence(c, 4711, "the database runs as uid 1");
    ck_assert_ptr_null(controller_submit(
        c, &(struct job_request){.kind = JOB_ENABLE}, waker, &err));
    ck_assert_ptr_nonnull(strstr(err.text, "the database runs as uid 1"));
    controller_stop(c);
}
END_TEST

/* Like a static program, which has no agent in it. */
START_TEST(one_without_an_agent_ended_as_its_parent_wrote)
{
    const struct observe_request request = {.kind = OBSERVE_CPU, .seconds = 1};
    struct death death = {.pid = 0x3ffffff, .signalled = true, .code = 9};
    char dir[] = "/tmp/hw-test-XXXXXX", path[64];
    struct waker waker = {post, NULL};
    struct error err = {0};
    struct controller *c;

    ck_assert_ptr_nonnull(mkdtemp(dir));
    c = start_controller(dir);
    controller_set_absence(c, death.pid, ""); /* above any pid */
    ck_assert_ptr_null(controller_observe(c, &request, waker, &err));
    ck_assert_str_eq(err.text, "the database (pid 67108863) has ended");
    death.at_ms = clock_wall_ms();
    ck_assert_int_eq(deaths_append(dir, &death, &err), 0);
    ck_assert_ptr_null(controller_observe(c, &request, waker, &err));
    ck_assert_msg(strstr(err.text, "(pid 67108863) ended at 20") != NULL &&
                      strstr(err.text, "was killed by signal 9") != NULL,
                  "%s", err.text);
    controller_stop(c);
    snprintf(path, sizeof(path), "%s/" DEATHS_FILE, dir);
    unlink(path);
    rmdir(dir);
}
END_TEST

static const struct {
    enum agent_status allocator;
    enum job_kind kind;
    const char *says; /* NULL: it is allowed */
    bool note;        /* the agent has words of its own */
} allocators[] = {
    {AGENT_OK, JOB_ENABLE, NULL},
    {AGENT_PROF_OFF, JOB_GET_ACTIVE, NULL},
    {AGENT_PROF_OFF, JOB_ENABLE,
     "MALLOC_CONF=prof:true,prof_active:false in its environment"},
    {AGENT_PROF_OFF, JOB_PROFILE, "opt.prof off"},
    {AGENT_NO_PROF, JOB_ENABLE, "without --enable-prof"},
    {AGENT_UNUSABLE, JOB_ENABLE, "not possible in /usr/bin/test (pid", true},
    {AGENT_UNUSABLE, JOB_GET_ACTIVE, "why it cannot be used", true},
    {AGENT_PROF_OFF, JOB_ENABLE,
     "opt.prof off; restart it with MALLOC_CONF=prof:true,prof_active:false in "
     "its environment; why it cannot be used",
     true},
    {AGENT_NO_JEMALLOC, JOB_GET_ACTIVE, "does not allocate through jemalloc"},
    {AGENT_NO_JEMALLOC, JOB_SNAPSHOT, "does not allocate through jemalloc"},
};

START_TEST(what_jemalloc_cannot_do_is_said)
{
    struct agent agent;
    struct controller *c;
    struct seat *seat;
    struct error err = {0};
    sem_t woken;
    struct waker waker = {post, &woken};

    sem_init(&woken, 0, 0);
    agent_start(&agent);
    pthread_mutex_lock(&agent.lock);
    agent.hello.allocator = allocators[_i].allocator;
    strcpy(agent.hello.malloc_conf_name, "MALLOC_CONF");
    if (allocators[_i].note)
        agent.note = "why it cannot be used";
    pthread_mutex_unlock(&agent.lock);
    c = start_controller(agent.dir);
    wait_for_state(c, NODE_CONNECTED);
    seat = controller_submit(
        c, &(struct job_request){.kind = allocators[_i].kind}, waker, &err);
    if (allocators[_i].says) {
        ck_assert_ptr_null(seat);
        ck_assert_msg(strstr(err.text, allocators[_i].says) != NULL, "%s",
                      err.text);
    } else {
        ck_assert_ptr_nonnull(seat);
    }
    flight_leave(seat);
    controller_stop(c);
    agent_stop(&agent);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("controller");
    TCase *tc = tcase_create("controller");

    tcase_set_timeout(tc, 30);
    tcase_add_test(tc, without_an_agent_every_request_fails_at_once);
    tcase_add_test(tc, profiling_is_switched_and_read);
    tcase_add_test(tc, profiling_is_switched_on_for_a_while);
    tcase_add_test(tc,
                   a_reset_spares_kept_snapshots_and_sane_rates_unless_forced);
    tcase_add_test(tc, requests_join_the_next_dump_and_changes_separate_them);
    tcase_add_test(tc, a_late_agent_is_left_alone_and_taken_back);
    tcase_add_test(tc, a_cancelled_wait_leaves_the_job_to_others);
    tcase_add_test(tc, given_up_requests_do_not_fill_the_queue);
    tcase_add_test(tc, an_ended_database_is_reported_with_its_time);
    tcase_add_test(tc, one_without_an_agent_ended_as_its_parent_wrote);
    tcase_add_loop_test(tc, what_jemalloc_cannot_do_is_said, 0,
                        sizeof(allocators) / sizeof(allocators[0]));
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
