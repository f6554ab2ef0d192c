/* test_workers.c - few that compute, many that wait, and more that want to. */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "errors.h"
#include "suite.h"
#include "thread.h"
#include "workers.h"

enum { JOBS = 2 * WORKERS_THREADS, LONG = 8000 };

struct job {
    struct worker_job job;
    atomic_bool begun, may_end, parks, parked, went_on, may_go_on;
    bool done;
};

static uv_loop_t loop;
static struct wakes wakes;
static struct workers workers;
static struct job jobs[LONG];

static atomic_bool exhausted; /* no thread can be started */

int __real_thread_start(pthread_t *thread, const struct thread_start *start,
                        struct error *err);

int
thread_start(pthread_t *thread, const struct thread_start *start,
             struct error *err)
{
    if (!atomic_load(&exhausted))
        return __real_thread_start(thread, start, err);
    errno = EAGAIN;
    return -1;
}

static void
nap(void)
{
    const struct timespec time = {0, 1000000};

    nanosleep(&time, NULL);
}

static void
run(struct worker_job *base)
{
    struct job *job = (struct job *)base;

    atomic_store(&job->begun, true);
    if (atomic_load(&job->parks)) {
        workers_park(base);
        atomic_store(&job->parked, true);
        while (!atomic_load(&job->may_go_on))
            nap();
        workers_go_on(base, false);
        atomic_store(&job->went_on, true);
    }
    while (!atomic_load(&job->may_end))
        nap();
}

static void
done(struct worker_job *base)
{
    ((struct job *)base)->done = true;
}

static void
setup(void)
{
    struct error err;

    ck_assert_int_eq(uv_loop_init(&loop), 0);
    ck_assert_int_eq(wakes_init(&wakes, &loop, &err), 0);
    workers_init(&workers, &wakes);
    atomic_store(&exhausted, false);
    ck_assert_int_eq(workers_start(&workers, &err), 0);
    memset(jobs, 0, sizeof(jobs));
}

static void
teardown(void)
{
    for (int i = 0; i < LONG; i++) {
        atomic_store(&jobs[i].may_end, true);
        atomic_store(&jobs[i].may_go_on, true);
    }
    workers_stop(&workers);
    ck_assert_uint_eq(workers.computing, 0);
    ck_assert_uint_eq(workers.alive, 0);
    wakes_close(&wakes);
    uv_run(&loop, UV_RUN_DEFAULT);
    workers_fini(&workers);
    wakes_fini(&wakes);
    ck_assert_int_eq(uv_loop_close(&loop), 0);
}

static void
ask(int i, const char *owner)
{
    worker_job_init(&jobs[i].job, &workers);
    jobs[i].job.owner = owner;
    jobs[i].job.run = run;
    jobs[i].job.done = done;
    workers_run(&jobs[i].job);
}

/* One that waits for another as soon as it has begun. */
static void
ask_to_wait(int i, const char *owner)
{
    atomic_store(&jobs[i].parks, true);
    ask(i, owner);
}

static bool
has_worker(int i)
{
    bool has;

    pthread_mutex_lock(&workers.lock);
    has = jobs[i].job.worker != NULL;
    pthread_mutex_unlock(&workers.lock);
    return has;
}

/* Of the jobs from first on, how many have begun, as each that has a worker
 * does sooner or later. */
static unsigned
begun(int first, int count)
{
    unsigned n = 0;

    for (int i = first; i < first + count; i++) {
        while (has_worker(i) && !atomic_load(&jobs[i].begun))
            nap();
        n += atomic_load(&jobs[i].begun);
    }
    return n;
}

static void
end(int i)
{
    atomic_store(&jobs[i].may_go_on, true);
    atomic_store(&jobs[i].may_end, true);
    while (!jobs[i].done)
        uv_run(&loop, UV_RUN_ONCE);
}

static void
until(atomic_bool *flag)
{
    while (!atomic_load(flag))
        nap();
}

START_TEST(one_owner_gets_half_and_others_the_rest)
{
    for (int i = 0; i < 20; i++)
        ask(i, "ann");
    ck_assert_uint_eq(begun(0, 20), WORKERS / 2);
    for (int i = 20; i < 40; i++)
        ask(i, "bob");
    ck_assert_uint_eq(begun(20, 20), WORKERS / 4);
    ask(40, "cy");
    ask(41, "di");
    ck_assert_uint_eq(begun(40, 2), 2);
    ask(42, "ed"); /* all are busy */
    ck_assert(workers_waits(&jobs[42].job));
    ck_assert_uint_eq(begun(42, 1), 0);
    end(20);
    ck_assert_uint_eq(begun(42, 1), 1); /* before bob's and ann's others */
    ck_assert_uint_eq(begun(20, 20), WORKERS / 4);
}
END_TEST

START_TEST(all_jobs_are_done_in_the_end)
{
    for (int i = 0; i < JOBS; i++) {
        atomic_store(&jobs[i].parks, i % 2);
        atomic_store(&jobs[i].may_go_on, true);
        atomic_store(&jobs[i].may_end, true);
        ask(i, i % 3 ? "ann" : "bob");
    }
    for (int i = 0; i < JOBS; i++)
        end(i);
}
END_TEST

START_TEST(what_has_not_begun_can_be_withdrawn)
{
    for (int i = 0; i < 6; i++)
        ask(i, "ann");
    ck_assert_uint_eq(begun(0, 6), WORKERS / 2);
    ck_assert(!workers_withdraw(&jobs[0].job));
    ck_assert(workers_withdraw(&jobs[4].job));
    ck_assert(!workers_withdraw(&jobs[4].job));
    end(0);
    ck_assert_uint_eq(begun(4, 1), 0);
    ck_assert_uint_eq(begun(5, 1), 1);
}
END_TEST

/* Those that wait let others compute, and leave threads for other owners. */
START_TEST(many_may_wait_and_each_owner_leaves_some)
{
    for (int i = 0; i < WORKERS_THREADS; i++)
        ask_to_wait(i, "ann");
    for (int i = 0; i < WORKERS_THREADS / 2; i++)
        until(&jobs[i].parked);
    ck_assert_uint_eq(begun(0, WORKERS_THREADS), WORKERS_THREADS / 2);
    for (int i = WORKERS_THREADS; i < 2 * WORKERS_THREADS; i++)
        ask_to_wait(i, "bob");
    for (int i = 0; i < WORKERS_THREADS / 4; i++)
        until(&jobs[WORKERS_THREADS + i].parked);
    ck_assert_uint_eq(begun(WORKERS_THREADS, WORKERS_THREADS),
                      WORKERS_THREADS / 4);
    for (int i = 0; i < JOBS; i++) { /* and none is lost */
        atomic_store(&jobs[i].may_go_on, true);
        atomic_store(&jobs[i].may_end, true);
    }
    for (int i = 0; i < JOBS; i++)
        end(i);
}
END_TEST

/* All wait, perhaps for other nodes, which may wait for this one. */
START_TEST(what_other_nodes_wait_for_has_threads_of_its_own)
{
    static char names[WORKERS_THREADS][8]; /* until teardown */
    int late = WORKERS_THREADS;

    for (int i = 0; i < WORKERS_THREADS; i++) {
        snprintf(names[i], sizeof(names[i]), "u%d", i);
        ask_to_wait(i, names[i]);
        until(&jobs[i].parked);
    }
    ask_to_wait(late, "late");
    ck_assert(workers_waits(&jobs[late].job));
    for (int i = late + 1; i < late + 10; i++) {
        jobs[i].job.forwarded = true;
        ask_to_wait(i, i % 2 ? "u0 of node 2" : "u1 of node 2");
        until(&jobs[i].parked);
    }
    ck_assert(workers_waits(&jobs[late].job));
}
END_TEST

START_TEST(what_goes_on_takes_its_turn_unless_it_is_to_end)
{
    for (int i = 0; i < 2; i++) {
        ask_to_wait(i, "ann");
        until(&jobs[i].parked);
    }
    for (int i = 2; i < 2 + WORKERS; i++)
        ask(i, i % 2 ? "bob" : "cy");
    ck_assert_uint_ge(begun(2, WORKERS), WORKERS / 2 + WORKERS / 4);
    for (int i = 10; i < 20; i++)
        ask(i, "di");
    (void)begun(10, 10);
    ask(20, "ed");
    (void)begun(20, 1);
    atomic_store(&jobs[0].may_go_on, true);
    while (!workers_waits(&jobs[0].job))
        nap();
    ck_assert(!atomic_load(&jobs[0].went_on));
    ck_assert(!workers_withdraw(&jobs[0].job)); /* it was cancelled */
    until(&jobs[0].went_on);
    ck_assert(!workers_withdraw(&jobs[1].job));
    atomic_store(&jobs[1].may_go_on, true);
    until(&jobs[1].went_on);
}
END_TEST

/* For every job that comes and goes it is walked along, under the lock. */
START_TEST(a_long_queue_of_one_owner_delays_no_other)
{
    struct timespec worked; /* by this thread */

    for (int i = 0; i < LONG - 1; i++)
        ask(i, "ann");
    ask(LONG - 1, "bob");
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &worked);
    ck_assert_int_lt(worked.tv_sec, 2);
    ck_assert_uint_eq(begun(LONG - 1, 1), 1);
    for (int i = 0; i < LONG; i++)
        atomic_store(&jobs[i].may_end, true);
    for (int i = 0; i < LONG; i++)
        end(i);
}
END_TEST

START_TEST(idle_threads_end_but_one)
{
    unsigned alive = 0;

    for (int i = 0; i < 64; i++)
        ask_to_wait(i, "ann");
    for (int i = 0; i < 64; i++)
        until(&jobs[i].parked);
    pthread_mutex_lock(&workers.lock);
    alive = workers.alive;
    pthread_mutex_unlock(&workers.lock);
    ck_assert_uint_ge(alive, 64);
    for (int i = 0; i < 64; i++)
        end(i);
    do {
        nap();
        pthread_mutex_lock(&workers.lock);
        alive = workers.alive;
        pthread_mutex_unlock(&workers.lock);
    } while (alive > 1);
    ask(64, "bob"); /* and there is one for the next */
    end(64);
}
END_TEST

/* Until one thread is left, and no other can be started. */
static void
exhaust(void)
{
    for (bool rests = true; rests; nap()) {
        pthread_mutex_lock(&workers.lock);
        rests = workers.alive > 1;
        pthread_mutex_unlock(&workers.lock);
    }
    atomic_store(&exhausted, true);
}

START_TEST(a_thread_that_becomes_free_takes_what_waits)
{
    exhaust();
    ask(0, "ann");
    until(&jobs[0].begun);
    ask(1, "bob");
    ck_assert(workers_waits(&jobs[1].job));
    end(0);
    until(&jobs[1].begun);
    ck_assert_int_eq(jobs[1].job.refused, 0);
}
END_TEST

START_TEST(without_threads_a_job_is_refused_while_all_wait)
{
    exhaust();
    ask(0, "ann");
    until(&jobs[0].begun);
    ask(1, "bob");
    ask(2, "cy");
    ck_assert(workers_withdraw(&jobs[2].job));
    workers_park(&jobs[0].job); /* as its thread would */
    while (!jobs[1].done)
        uv_run(&loop, UV_RUN_ONCE);
    ck_assert_int_eq(jobs[1].job.refused, EAGAIN);
    ck_assert(!workers_waits(&jobs[1].job));
    ck_assert(!workers_withdraw(&jobs[1].job));
    ask(3, "bob");
    while (!jobs[3].done)
        uv_run(&loop, UV_RUN_ONCE);
    ck_assert_int_eq(jobs[3].job.refused, EAGAIN);
    ck_assert(!atomic_load(&jobs[1].begun) && !atomic_load(&jobs[3].begun));
    workers_go_on(&jobs[0].job, true);
    ask(4, "bob"); /* it waits again, for the one */
    ck_assert(workers_waits(&jobs[4].job));
    end(0);
    end(4);
    ck_assert_int_eq(jobs[4].job.refused, 0);
    atomic_store(&exhausted, false);
    jobs[1].done = false;
    ask(1, "bob"); /* as the next time */
    end(1);
    ck_assert_int_eq(jobs[1].job.refused, 0);
}
END_TEST

START_TEST(the_first_thread_must_start)
{
    struct workers none;
    struct error err;

    workers_init(&none, &wakes);
    atomic_store(&exhausted, true);
    ck_assert_int_eq(workers_start(&none, &err), -1);
    ck_assert_uint_eq(err.code, ER_UNKNOWN);
    workers_stop(&none);
    workers_fini(&none);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("workers");
    TCase *tc = tcase_create("workers");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, one_owner_gets_half_and_others_the_rest);
    tcase_add_test(tc, all_jobs_are_done_in_the_end);
    tcase_add_test(tc, what_has_not_begun_can_be_withdrawn);
    tcase_add_test(tc, many_may_wait_and_each_owner_leaves_some);
    tcase_add_test(tc, what_other_nodes_wait_for_has_threads_of_its_own);
    tcase_add_test(tc, what_goes_on_takes_its_turn_unless_it_is_to_end);
    tcase_add_test(tc, a_long_queue_of_one_owner_delays_no_other);
    tcase_add_test(tc, idle_threads_end_but_one);
    tcase_add_test(tc, a_thread_that_becomes_free_takes_what_waits);
    tcase_add_test(tc, without_threads_a_job_is_refused_while_all_wait);
    tcase_add_test(tc, the_first_thread_must_start);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
