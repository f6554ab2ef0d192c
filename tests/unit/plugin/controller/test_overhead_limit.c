/* test_overhead_limit.c - readings of a scripted agent, and the end of
 * profiling. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "errors.h"
#include "agent_client.h"
#include "overhead_limit.h"
#include "poll_until.h"
#include "scripted_agent.h"
#include "suite.h"

enum { SPAN_US = 600000 }; /* readings must not be nearer */

static struct agent agent;
static struct agent_client client;
static struct overhead_limit limit;
static const atomic_bool never = false;
static char logged[1024];

static void
note(const char *line)
{
    snprintf(logged, sizeof(logged), "%s", line);
}

static void
set_up(void)
{
    agent_start(&agent);
    agent.statistics = "arenas.page 4096\nopt.prof_accum 1\n";
    agent.hello.opt_prof = 1;
    agent.hello.lg_sample = 19;
    logged[0] = '\0';
    agent_client_init(&client, agent.dir, -1, &never);
    overhead_limit_init(&limit, 1, note);
    overhead_limit_reset(&limit, &client);
    while (client.status.state != NODE_CONNECTED) {
        agent_client_refresh(&client);
        poll_nap();
    }
}

static void
tear_down(void)
{
    agent_client_fini(&client);
    agent_stop(&agent);
}

/* Greets and takes a reading, as if it were due. */
static bool
look(void)
{
    agent_client_refresh(&client);
    limit.next_ms = 0;
    return overhead_limit_check(&limit, &client, 10);
}

static void
switch_on(void)
{
    pthread_mutex_lock(&agent.lock);
    agent.hello.active = 1;
    pthread_mutex_unlock(&agent.lock);
}

START_TEST(options_are_read_once_while_it_is_inactive)
{
    ck_assert(!look());
    ck_assert(client.status.risks.known);
    ck_assert_uint_ne(client.status.risks.set, 0);
    for (int i = 0; i < 3; i++)
        ck_assert(!look());
    ck_assert_int_eq(agent_count(&agent, AGENT_STATS), 1);
    ck_assert_double_ge(client.status.overhead.budget_cpus, .01);
}
END_TEST

START_TEST(an_allocator_that_cannot_profile_is_left_alone)
{
    pthread_mutex_lock(&agent.lock);
    agent.hello.opt_prof = 0;
    pthread_mutex_unlock(&agent.lock);
    ck_assert(!look());
    ck_assert_int_eq(agent_count(&agent, AGENT_STATS), 0);
}
END_TEST

START_TEST(readings_have_a_pace_of_their_own)
{
    switch_on();
    ck_assert(!look());
    for (int i = 0; i < 5; i++) {
        agent_client_refresh(&client);
        ck_assert(!overhead_limit_check(&limit, &client, 0));
    }
    ck_assert_int_eq(agent_count(&agent, AGENT_STATS), 1);
}
END_TEST

START_TEST(too_dear_a_profile_is_ended_and_reported)
{
    int looks = 0;

    agent.growing = 100ull << 30; /* in 0.6 s */
    switch_on();
    while (!look()) {
        ck_assert_int_lt(++looks, 6);
        usleep(SPAN_US);
    }
    ck_assert_int_eq(looks, OVERHEAD_READINGS);
    ck_assert_int_eq(agent_count(&agent, AGENT_SET_ACTIVE), 1);
    ck_assert_uint_eq(client.status.hello.active, 0);
    ck_assert_int_gt(client.status.overhead.switched_off_ms, 0);
    ck_assert_ptr_nonnull(strstr(logged,
                                 "the overhead guard switched profiling off in "
                                 "/usr/bin/test (pid "));
    ck_assert_ptr_nonnull(strstr(logged, client.status.overhead.reason));
    /* It is off, and the reason stays known. */
    ck_assert(!look());
    ck_assert_ptr_nonnull(
        strstr(client.status.overhead.reason, "above the budget"));
    overhead_limit_reset(&limit, &client);
    ck_assert_str_eq(client.status.overhead.reason, "");
}
END_TEST

START_TEST(a_cheap_profile_goes_on)
{
    agent.growing = 1 << 20;
    switch_on();
    for (int i = 0; i < OVERHEAD_READINGS + 2; i++) {
        ck_assert(!look());
        usleep(SPAN_US);
    }
    ck_assert(client.status.overhead.estimated);
    ck_assert_int_eq(agent_count(&agent, AGENT_SET_ACTIVE), 0);
    ck_assert_str_eq(logged, "");
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("overhead_limit");
    TCase *tc = tcase_create("overhead_limit");

    tcase_set_timeout(tc, 30);
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, options_are_read_once_while_it_is_inactive);
    tcase_add_test(tc, an_allocator_that_cannot_profile_is_left_alone);
    tcase_add_test(tc, readings_have_a_pace_of_their_own);
    tcase_add_test(tc, too_dear_a_profile_is_ended_and_reported);
    tcase_add_test(tc, a_cheap_profile_goes_on);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
