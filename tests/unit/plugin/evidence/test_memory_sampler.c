/*
 * test_memory_sampler.c - what the sampler asks of the node, and what becomes
 * of the answers.  The node's database is this process; the controller is here,
 * and so is the clock: a second passes when a test says so, and pass_second()
 * returns when the sampler has done what it does in it.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "arena.h"
#include "clock.h"
#include "controller.h"
#include "deaths.h"
#include "errors.h"
#include "history.h"
#include "memory.h"
#include "process_stat.h"
#include "profile.h"
#include "stats.h"
#include "store.h"
#include "suite.h"
#include "memory_sampler.h"

enum { SECONDS_MAX = 60, GROWN = 24 << 20 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct node_status status;
static unsigned stats_asked, snapshots_asked, snapshots_to_fail;
static enum snapshot_cause cause;
static char reason[SNAPSHOT_REASON_MAX + 1], said[1024];
static bool refuse; /* every request */
static struct store *store;

/* ---- the clock ---- */

static pthread_mutex_t clock_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t rests = PTHREAD_COND_INITIALIZER;
static uint64_t now_ms = 1700000000000; /* both clocks */
static bool passes;                     /* a second may */
static pthread_cond_t *rested_on;       /* by the watch; NULL: it works */
static pthread_mutex_t *rest_lock;

uint64_t
clock_ms(void)
{
    uint64_t now;

    pthread_mutex_lock(&clock_lock);
    now = now_ms;
    pthread_mutex_unlock(&clock_lock);
    return now;
}

int64_t
clock_wall_ms(void)
{
    return (int64_t)clock_ms();
}

int
pthread_cond_timedwait(pthread_cond_t *wakes, pthread_mutex_t *held,
                       const struct timespec *until)
{
    bool is_over;

    pthread_mutex_lock(&clock_lock);
    is_over = passes;
    if (is_over) {
        passes = false;
        now_ms =
            (uint64_t)until->tv_sec * 1000 + (uint64_t)until->tv_nsec / 1000000;
    } else {
        rested_on = wakes;
        rest_lock = held;
        pthread_cond_signal(&rests);
    }
    pthread_mutex_unlock(&clock_lock);
    return is_over ? ETIMEDOUT : pthread_cond_wait(wakes, held);
}

static void
await_rest(void)
{
    while (!rested_on)
        pthread_cond_wait(&rests, &clock_lock);
}

static void
pass_second(void)
{
    pthread_cond_t *wakes;
    pthread_mutex_t *held;

    pthread_mutex_lock(&clock_lock);
    await_rest();
    passes = true;
    wakes = rested_on;
    held = rest_lock;
    rested_on = NULL;
    pthread_mutex_unlock(&clock_lock);
    pthread_mutex_lock(held);
    pthread_cond_signal(wakes);
    pthread_mutex_unlock(held);
    pthread_mutex_lock(&clock_lock);
    await_rest();
    pthread_mutex_unlock(&clock_lock);
}

/* ---- the controller ---- */

struct asked {
    struct seat seat; /* first */
    enum job_kind kind;
    pthread_t answerer;
};

void
controller_status(struct controller *controller, struct node_status *out)
{
    (void)controller;
    pthread_mutex_lock(&lock);
    *out = status;
    pthread_mutex_unlock(&lock);
}

struct store *
controller_store(struct controller *controller)
{
    (void)controller;
    return store;
}

static void *
answer(void *arg)
{
    struct seat *seat = arg;

    seat->waker.wake(seat->waker.arg);
    return NULL;
}

struct seat *
controller_submit(struct controller *controller,
                  const struct job_request *request, struct waker waker,
                  struct error *err)
{
    struct asked *asked;
    bool refused;

    (void)controller;
    pthread_mutex_lock(&lock);
    stats_asked += request->kind == JOB_STATS;
    if (request->kind == JOB_SNAPSHOT) {
        snapshots_asked++;
        cause = request->cause;
        snprintf(reason, sizeof(reason), "%s", request->reason);
    }
    refused = refuse;
    pthread_mutex_unlock(&lock);
    if (refused) {
        error_set(err, ER_UNKNOWN, "the node is not there");
        return NULL;
    }
    asked = mem_zalloc(1, sizeof(*asked));
    asked->kind = request->kind;
    asked->seat.waker = waker;
    pthread_create(&asked->answerer, NULL, answer, asked);
    return &asked->seat;
}

static struct snapshot *
make_snapshot(void)
{
    struct snapshot *snapshot = snapshot_new();
    struct error err;

    snapshot->profile = mem_zalloc(1, sizeof(*snapshot->profile));
    snapshot->profile->arena = arena_new(SIZE_MAX);
    snapshot->cause = SNAPSHOT_MARK;
    snapshot->taken_ms = clock_wall_ms();
    snapshot->memory.rss = (struct stats_figure){true, 5};
    store_make_name(store, snapshot);
    ck_assert_int_eq(store_add(store, snapshot, &err), 0);
    return snapshot;
}

enum flight_state
controller_poll_job(struct seat *seat, struct job_result *result,
                    struct error *err)
{
    enum flight_state state = FLIGHT_DONE;

    if (((struct asked *)seat)->kind == JOB_STATS) {
        result->stats = stats_parse("stats.allocated 77\n", 19, err);
        ck_assert_ptr_nonnull(result->stats);
        result->stats->allocator_ms = clock_wall_ms();
        result->stats->rss = (struct stats_figure){true, 5}; /* of then */
        return FLIGHT_DONE;
    }
    pthread_mutex_lock(&lock);
    if (snapshots_to_fail > 0) {
        snapshots_to_fail--;
        error_set(err, ER_UNKNOWN, "the dump failed");
        state = FLIGHT_FAILED;
    } else {
        result->snapshot = make_snapshot();
    }
    pthread_mutex_unlock(&lock);
    return state;
}

void
flight_leave(struct seat *seat)
{
    if (!seat)
        return;
    pthread_join(((struct asked *)seat)->answerer, NULL);
    mem_free(seat);
}

static void
hear(const char *line)
{
    size_t size;

    pthread_mutex_lock(&lock);
    size = strlen(said);
    snprintf(said + size, sizeof(said) - size, "%s\n", line);
    pthread_mutex_unlock(&lock);
}

static void
set_up(void)
{
    struct error err;

    store = store_open(&store_defaults, NULL, &err);
    ck_assert_ptr_nonnull(store);
    status = (struct node_status){.state = NODE_CONNECTED, .peer = getpid()};
    status.hello.pid = 4711;
    status.hello.start_ticks = 99;
    status.hello.allocator = AGENT_OK;
}

static void
tear_down(void)
{
    store_close(store);
}

static struct memory_sampler *
start(const struct marks_rules *rules)
{
    struct memory_sampler_options options = {
        .rules = *rules, .log = hear, .segment = -1};
    struct error err;
    struct memory_sampler *sampler = memory_sampler_start(NULL, &options, &err);

    ck_assert_ptr_nonnull(sampler);
    return sampler;
}

/* Waits until there are count samples, and copies the last. */
static void
await_samples(struct memory_sampler *sampler, size_t count,
              struct history_sample *last)
{
    struct history_sample samples[16];
    uint64_t next;
    size_t got = 0;

    for (int i = 0; i < SECONDS_MAX && got < count; i++) {
        pass_second();
        next = 0;
        got = history_read(memory_sampler_history(sampler), &next, samples, 16);
    }
    ck_assert_uint_ge(got, count);
    *last = samples[got - 1];
}

static unsigned
asked(const unsigned *counter)
{
    unsigned count;

    pthread_mutex_lock(&lock);
    count = *counter;
    pthread_mutex_unlock(&lock);
    return count;
}

static void
await_snapshots(unsigned count)
{
    for (int i = 0; i < SECONDS_MAX && asked(&snapshots_asked) < count; i++)
        pass_second();
    ck_assert_uint_eq(asked(&snapshots_asked), count);
}

static void
set_status(enum node_state state, bool active)
{
    pthread_mutex_lock(&lock);
    status.state = state;
    status.hello.active = active;
    pthread_mutex_unlock(&lock);
}

START_TEST(each_second_is_sampled_and_the_allocator_seldom)
{
    struct memory_sampler *sampler = start(&marks_defaults);
    struct history_sample sample;

    await_samples(sampler, 3, &sample);
    ck_assert(sample.rss.known);
    ck_assert_uint_gt(sample.rss.value, 100000);
    ck_assert_int_eq(sample.pid, 4711);
    ck_assert(!sample.profiling && !sample.unresponsive);
    ck_assert(!sample.allocated.known);
    ck_assert(
        history_last(memory_sampler_history(sampler), 0, INT64_MAX, &sample));
    ck_assert_uint_eq(sample.allocated.value, 77);
    ck_assert_uint_eq(asked(&stats_asked), 1);
    ck_assert_uint_eq(asked(&snapshots_asked), 0);
    memory_sampler_stop(sampler);
}
END_TEST

START_TEST(rss_is_of_the_samples_own_moment)
{
    struct memory_sampler *sampler = start(&marks_defaults);
    struct history_sample samples[8];
    uint64_t next = 0;
    size_t count, with_allocator = 0;

    await_samples(sampler, 3, &samples[0]);
    count = history_read(memory_sampler_history(sampler), &next, samples, 8);
    ck_assert_uint_ge(count, 3);
    for (size_t i = 0; i < count; i++) {
        with_allocator += samples[i].allocated.known;
        ck_assert_uint_gt(samples[i].rss.value, 100000);
    }
    ck_assert_uint_eq(with_allocator, 1);
    memory_sampler_stop(sampler);
}
END_TEST

START_TEST(an_unresponsive_database_is_not_asked)
{
    struct history_sample sample;
    struct memory_sampler *sampler;

    set_status(NODE_UNRESPONSIVE, true);
    sampler = start(&marks_defaults);
    await_samples(sampler, 2, &sample);
    ck_assert(sample.unresponsive && sample.rss.known);
    ck_assert_uint_eq(asked(&stats_asked), 0);
    memory_sampler_stop(sampler);
}
END_TEST

START_TEST(an_ended_database_is_not_sampled)
{
    struct history_sample sample;
    uint64_t next = 0;
    struct memory_sampler *sampler;

    set_status(NODE_GONE, true);
    sampler = start(&marks_defaults);
    pass_second();
    pass_second();
    ck_assert_uint_eq(
        history_read(memory_sampler_history(sampler), &next, &sample, 1), 0);
    memory_sampler_stop(sampler);
}
END_TEST

/* A database that was seen, and the next one. */
static const struct {
    int64_t last_seen_ms; /* the first, until it is looked at */
    int64_t later_ms;     /* the second started so long after now */
    bool other;           /* it is another process */
    size_t deaths;
    bool told; /* by heapwire-run, already */
} successors[] = {
    {20000, 5000, true, 1},
    {20000, 5000, false, 0},  /* the same, greeted again */
    {20000, -15000, true, 0}, /* its child: both live */
    {1000, 5000, true, 0},    /* what a wrapper runs first */
    {20000, 5000, true, 1, true},
};

START_TEST(an_unseen_end_is_recorded_with_the_successor)
{
    char dir[] = "/tmp/hw-sampler-XXXXXX", command[64], how[512];
    struct memory_sampler_options options = {
        .rules = marks_defaults, .segment = -1, .log = hear};
    struct history_sample sample;
    struct death deaths[4], told = {.pid = 4711, .signalled = true, .code = 9};
    struct memory_sampler *sampler;
    struct error err;

    options.state_dir = mkdtemp(dir);
    set_status(NODE_CONNECTED, false);
    pthread_mutex_lock(&lock);
    snprintf(status.hello.exe, sizeof(status.hello.exe), "/usr/bin/db");
    status.hello.started_ms = clock_wall_ms() - successors[_i].last_seen_ms;
    pthread_mutex_unlock(&lock);
    sampler = memory_sampler_start(NULL, &options, &err);
    await_samples(sampler, 1, &sample);
    told.at_ms = clock_wall_ms();
    if (successors[_i].told)
        ck_assert_int_eq(deaths_append(dir, &told, &err), 0);
    pthread_mutex_lock(&lock);
    status.hello.start_ticks += successors[_i].other;
    status.hello.started_ms = clock_wall_ms() + successors[_i].later_ms;
    pthread_mutex_unlock(&lock);
    await_samples(sampler, 3, &sample);
    memory_sampler_stop(sampler);
    ck_assert_uint_eq(deaths_read(dir, deaths, 4), successors[_i].deaths);
    ck_assert(!successors[_i].told || !deaths[0].unknown);
    if (successors[_i].deaths && !successors[_i].told) {
        ck_assert(deaths[0].unknown && !death_was_clean(&deaths[0]));
        ck_assert_int_eq(deaths[0].pid, 4711);
        ck_assert_str_eq(deaths[0].program, "/usr/bin/db");
        ck_assert_int_ge(deaths[0].at_ms - deaths[0].started_ms, 20000);
        death_describe(&deaths[0], how, sizeof(how));
        ck_assert_ptr_nonnull(strstr(how, "its exit status is not known"));
    }
    snprintf(command, sizeof(command), "rm -r %s", dir);
    ck_assert_int_eq(system(command), 0);
}
END_TEST

/* A database in an earlier heapwired's history, and what runs now. */
static const struct {
    bool same, away; /* the same database; none is there */
    bool detached;   /* it lives, without an agent */
    size_t told;     /* its end is recorded, and so many - 1 later ones */
    size_t deaths;
} lives[] = {{.deaths = 1},
             {.away = true, .detached = true},
             {.detached = true}, /* and another is attached to */
             {.same = true},
             {.told = 1, .deaths = 1},
             {.told = 12, .deaths = 12},
             {.away = true, .deaths = 1}};

START_TEST(a_life_without_an_end_ended_unseen)
{
    char dir[] = "/tmp/hw-sampler-XXXXXX", command[64], how[512];
    struct memory_sampler_options options = {
        .rules = marks_defaults, .segment = -1, .log = hear};
    struct history_sample life = {.pid = 815, .start_ticks = 12};
    struct process_stat self;
    /* As heapwire-run records the end of a wrapper. */
    struct death deaths[16], told = {.pid = 814, .signalled = true, .code = 9};
    struct memory_sampler *sampler;
    struct history *history;
    struct error err;

    options.state_dir = mkdtemp(dir);
    history = history_open(dir, NULL);
    if (lives[_i].detached) {
        ck_assert(process_stat_read(0, &self));
        life.pid = getpid();
        life.start_ticks = self.start_ticks;
    }
    life.started_ms = clock_wall_ms() - 7200000;
    life.cgroup_limit = (struct stats_figure){true, (uint64_t)512 << 20};
    for (uint64_t i = 0; i <= 20; i++) {
        life.at_ms = clock_wall_ms() - 3620000 + (int64_t)i * 1000;
        life.rss = (struct stats_figure){true, (200 + i * 12) << 20};
        history_add(history, &life);
    }
    history_close(history);
    told.started_ms = life.started_ms - 5;
    told.at_ms = life.at_ms + 500;
    for (size_t i = 0; i < lives[_i].told; i++) {
        ck_assert_int_eq(deaths_append(dir, &told, &err), 0);
        told.pid++; /* a database that ends as soon as it has started */
        told.started_ms = told.at_ms + 2000;
        told.at_ms = told.started_ms + 100;
    }
    if (lives[_i].same) {
        status.hello.pid = 815;
        status.hello.start_ticks = 12;
    }
    status.hello.started_ms = clock_wall_ms();
    set_status(lives[_i].away ? NODE_ABSENT : NODE_CONNECTED, false);
    sampler = memory_sampler_start(NULL, &options, &err);
    for (int i = 0; i < 6; i++)
        pass_second();
    memory_sampler_stop(sampler);
    ck_assert_uint_eq(deaths_read(dir, deaths, 16), lives[_i].deaths);
    if (lives[_i].deaths > 0 && !lives[_i].told) {
        ck_assert(deaths[0].unseen && !death_was_clean(&deaths[0]));
        ck_assert_int_eq(deaths[0].pid, 815);
        ck_assert_int_eq(deaths[0].at_ms, life.at_ms);
        death_describe(&deaths[0], how, sizeof(how));
        ck_assert_str_eq(how, "ended unseen after 21:13:20, rss 440 of 512 MB, "
                              "growing 12 MB/s");
    }
    snprintf(command, sizeof(command), "rm -r %s", dir);
    ck_assert_int_eq(system(command), 0);
}
END_TEST

static char *
grow(void)
{
    char *grown = malloc(GROWN);

    ck_assert_ptr_nonnull(grown);
    memset(grown, 1, GROWN);
    return grown;
}

START_TEST(what_grows_is_taken_and_what_failed_once_more)
{
    static struct store_entry kept[4];
    struct marks_rules rules = {.growth = GROWN / 2, .min_interval_ms = 1000};
    struct history_sample sample;
    struct memory_sampler *sampler;
    char *grown;

    set_status(NODE_CONNECTED, true);
    snapshots_to_fail = 1;
    sampler = start(&rules);
    await_samples(sampler, 1, &sample);
    grown = grow();
    await_snapshots(2);
    ck_assert_int_eq(cause, SNAPSHOT_MARK);
    ck_assert_int_eq(strncmp(reason, "memory grew by ", 15), 0);
    await_samples(sampler, 5, &sample);
    ck_assert_uint_eq(asked(&snapshots_asked), 2);
    memory_sampler_stop(sampler);
    ck_assert_uint_eq(store_list(store, kept, 4), 1);
    ck_assert(kept[0].pinned);
    ck_assert_ptr_nonnull(strstr(said, "the dump failed"));
    ck_assert_ptr_nonnull(strstr(said, "took the automatic snapshot "));
    ck_assert_ptr_nonnull(strstr(said, ": memory grew by "));
    free(grown);
}
END_TEST

START_TEST(what_grows_while_it_does_not_answer_is_taken_then)
{
    struct marks_rules rules = {.growth = GROWN / 2, .min_interval_ms = 1000};
    struct history_sample sample;
    struct memory_sampler *sampler;
    char *grown;

    set_status(NODE_CONNECTED, true);
    sampler = start(&rules);
    await_samples(sampler, 1, &sample);
    set_status(NODE_UNRESPONSIVE, true);
    grown = grow();
    await_samples(sampler, 3, &sample);
    ck_assert(sample.unresponsive);
    ck_assert_uint_eq(asked(&snapshots_asked), 0);
    set_status(NODE_CONNECTED, true);
    await_snapshots(1);
    memory_sampler_stop(sampler);
    free(grown);
}
END_TEST

START_TEST(nothing_is_taken_while_profiling_is_off)
{
    struct marks_rules rules = {.growth = GROWN / 2, .min_interval_ms = 1000};
    struct history_sample sample;
    struct memory_sampler *sampler = start(&rules);
    char *grown;

    await_samples(sampler, 1, &sample);
    grown = grow();
    await_samples(sampler, 3, &sample);
    ck_assert_uint_eq(asked(&snapshots_asked), 0);
    memory_sampler_stop(sampler);
    free(grown);
}
END_TEST

START_TEST(other_rules_hold_from_now_on)
{
    struct marks_rules rules = {.growth = GROWN / 2, .min_interval_ms = 1000};
    static const struct marks_rules none;
    struct history_sample sample;
    struct memory_sampler *sampler;
    char *grown;

    set_status(NODE_CONNECTED, true);
    sampler = start(&none);
    await_samples(sampler, 1, &sample);
    memory_sampler_set_rules(sampler, &rules);
    await_samples(sampler, 3, &sample);
    grown = grow();
    await_snapshots(1);
    memory_sampler_stop(sampler);
    free(grown);
}
END_TEST

static unsigned
count_said(const char *words)
{
    unsigned count = 0;

    pthread_mutex_lock(&lock);
    for (const char *at = said; (at = strstr(at, words)); at++)
        count++;
    pthread_mutex_unlock(&lock);
    return count;
}

START_TEST(a_refusal_is_logged_once_and_again_when_it_changes)
{
    struct marks_rules rules = {.every_ms = 1000, .min_interval_ms = 1000};
    struct history_sample sample;
    struct memory_sampler *sampler;

    refuse = true;
    set_status(NODE_CONNECTED, true);
    sampler = start(&rules);
    await_snapshots(1);
    await_samples(sampler, 5, &sample);
    ck_assert_uint_ge(asked(&snapshots_asked), 2);
    ck_assert_uint_eq(count_said("(every 1 s): the node is not there"), 1);
    pthread_mutex_lock(&lock);
    ck_assert_int_eq(cause, SNAPSHOT_SCHEDULE);
    refuse = false;
    snapshots_to_fail = 100;
    pthread_mutex_unlock(&lock);
    await_samples(sampler, 9, &sample);
    memory_sampler_stop(sampler);
    ck_assert_uint_eq(count_said("(every 1 s): the dump failed"), 1);
    ck_assert_uint_eq(count_said("no automatic snapshot"), 2);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("memory_sampler");
    TCase *tc = tcase_create("memory_sampler");

    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, each_second_is_sampled_and_the_allocator_seldom);
    tcase_add_test(tc, rss_is_of_the_samples_own_moment);
    tcase_add_test(tc, an_unresponsive_database_is_not_asked);
    tcase_add_test(tc, an_ended_database_is_not_sampled);
    tcase_add_loop_test(tc, an_unseen_end_is_recorded_with_the_successor, 0,
                        sizeof(successors) / sizeof(successors[0]));
    tcase_add_loop_test(tc, a_life_without_an_end_ended_unseen, 0,
                        sizeof(lives) / sizeof(lives[0]));
    tcase_add_test(tc, what_grows_is_taken_and_what_failed_once_more);
    tcase_add_test(tc, what_grows_while_it_does_not_answer_is_taken_then);
    tcase_add_test(tc, nothing_is_taken_while_profiling_is_off);
    tcase_add_test(tc, other_rules_hold_from_now_on);
    tcase_add_test(tc, a_refusal_is_logged_once_and_again_when_it_changes);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
