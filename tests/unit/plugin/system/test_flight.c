/* test_flight.c - work that several follow, and the threads that run it. */
#include <errno.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <string.h>

#include "clock.h"
#include "flight.h"
#include "memory.h"
#include "poll_until.h"
#include "suite.h"
#include "thread.h"

enum { WAITERS = 32, THREADS = 3 };

struct sum {
    struct flight flight; /* first */
    sem_t go;             /* it runs until then, or until it is cancelled */
    const char *failure;  /* or NULL */
    unsigned stage;
};

static struct flights flights;
static atomic_uint freed, runs, cancelled;

/* Of the next threads to be started. */
static atomic_bool refuses;

int
thread_start(pthread_t *thread, const struct thread_start *start,
             struct error *err)
{
    if (!refuses)
        return pthread_create(thread, NULL, start->body, start->arg);
    errno = EAGAIN;
    error_sys(err, ER_UNKNOWN, "cannot start the thread %s", start->name);
    return -1;
}

static void
sum_run(struct flight *flight)
{
    struct sum *sum = (struct sum *)flight;
    struct error err;

    atomic_fetch_add(&runs, 1);
    POLL_UNTIL(sem_trywait(&sum->go) == 0 || flight->cancelled);
    atomic_fetch_add(&cancelled, flight->cancelled);
    error_set(&err, ER_UNKNOWN, "%s", sum->failure ? sum->failure : "");
    pthread_mutex_lock(&flights.lock);
    flight_finish(flight, sum->failure ? &err : NULL);
    pthread_mutex_unlock(&flights.lock);
}

static void
sum_free(struct flight *flight)
{
    atomic_fetch_add(&freed, 1);
    mem_free(flight);
}

static bool
sum_progress(struct flight *flight, struct progress *out)
{
    unsigned stage = ((struct sum *)flight)->stage;

    *out = (struct progress){stage, 3, 0, "adding"};
    return stage > 0;
}

static const struct flight_kind stops = {sum_run, sum_free, sum_progress, true};
static const struct flight_kind runs_on = {sum_run, sum_free, sum_progress,
                                           false};

static struct flight *
oldest(struct flights *all)
{
    struct flight *flight = all->first;

    while (flight && flight->started)
        flight = flight->next;
    return flight;
}

/* The test's reference, too. */
static struct sum *
sum_new(const struct flight_kind *kind)
{
    struct sum *sum = mem_zalloc(1, sizeof(*sum));

    ck_assert_ptr_nonnull(sum);
    sem_init(&sum->go, 0, 0);
    flight_init(&sum->flight, kind, &flights, "ann");
    return sum;
}

static void
drop(struct sum *sum)
{
    pthread_mutex_lock(&flights.lock);
    flight_unref(&sum->flight);
    pthread_mutex_unlock(&flights.lock);
}

static struct seat *
join(struct sum *sum, struct await *await)
{
    struct error err;
    struct seat *seat;

    pthread_mutex_lock(&flights.lock);
    seat = flight_join(&sum->flight, await_waker(await), &err);
    pthread_mutex_unlock(&flights.lock);
    ck_assert_msg(seat != NULL, "%s", err.text);
    return seat;
}

/* One that waits, on a thread of its own. */
struct waiter {
    struct await await;
    struct seat *seat;
    pthread_t thread;
    struct error err;
    int rc;
};

static void *
wait_for_it(void *arg)
{
    struct waiter *w = arg;

    w->rc = flight_wait(w->seat, &w->await, &w->err);
    flight_leave(w->seat);
    return NULL;
}

static void
start(struct waiter *w, struct sum *sum)
{
    memset(w, 0, sizeof(*w));
    await_init(&w->await, NULL, NULL);
    w->seat = join(sum, &w->await);
    ck_assert_int_eq(pthread_create(&w->thread, NULL, wait_for_it, w), 0);
}

static void
until_it_waits(struct waiter *w)
{
    POLL_UNTIL(atomic_load(&w->await.waits));
}

static void
until(atomic_uint *counter, unsigned value)
{
    POLL_UNTIL(*counter >= value);
}

static int
end(struct waiter *w)
{
    pthread_join(w->thread, NULL);
    await_fini(&w->await);
    return w->rc;
}

static unsigned
threads(void)
{
    unsigned count;

    pthread_mutex_lock(&flights.lock);
    count = flights.threads;
    pthread_mutex_unlock(&flights.lock);
    return count;
}

static void
until_they_rest(void)
{
    bool rest = false;

    while (!rest) {
        poll_nap();
        pthread_mutex_lock(&flights.lock);
        rest = flights.idle == flights.threads;
        pthread_mutex_unlock(&flights.lock);
    }
}

/* _i: it fails */
START_TEST(all_that_follow_get_its_end)
{
    static struct waiter waiters[WAITERS];
    struct sum *sum = sum_new(&stops);

    sum->failure = _i ? "it is too large" : NULL;
    for (int i = 0; i < WAITERS; i++)
        start(&waiters[i], sum);
    for (int i = 0; i < WAITERS; i++)
        until_it_waits(&waiters[i]);
    until(&runs, 1);
    ck_assert_uint_eq(runs, 1);
    sem_post(&sum->go);
    for (int i = 0; i < WAITERS; i++) {
        ck_assert_int_eq(end(&waiters[i]), _i ? -1 : 0);
        if (_i)
            ck_assert_str_eq(waiters[i].err.text, "it is too large");
    }
    ck_assert_uint_eq(freed, 0);
    drop(sum);
    ck_assert_uint_eq(freed, 1);
    ck_assert_uint_eq(cancelled, 0);
}
END_TEST

/* It does not wait for the work, nor does its error become theirs. */
START_TEST(one_that_is_cancelled_leaves_the_work_to_others)
{
    struct sum *sum = sum_new(&stops);
    struct waiter waiters[3];

    for (int i = 0; i < 3; i++)
        start(&waiters[i], sum);
    for (int i = 0; i < 3; i++)
        until_it_waits(&waiters[i]);
    for (int i = 0; i < 2; i++) {
        await_cancel(&waiters[i].await);
        ck_assert_int_eq(end(&waiters[i]), -1);
        ck_assert_uint_eq(waiters[i].err.code, ER_QUERY_INTERRUPTED);
    }
    sem_post(&sum->go);
    ck_assert_int_eq(end(&waiters[2]), 0);
    ck_assert_uint_eq(cancelled, 0);
    drop(sum);
    ck_assert_uint_eq(freed, 1);
}
END_TEST

/* _i: it cannot be cancelled */
START_TEST(work_without_followers_ends_or_runs_on)
{
    struct sum *sum = sum_new(_i ? &runs_on : &stops);
    struct waiter w;

    start(&w, sum);
    until(&runs, 1);
    await_cancel(&w.await);
    ck_assert_int_eq(end(&w), -1);
    if (_i) {
        start(&w, sum); /* it may be followed again */
        sem_post(&sum->go);
        ck_assert_int_eq(end(&w), 0);
    } else {
        until(&cancelled, 1);
    }
    ck_assert_uint_eq(cancelled, !_i);
    drop(sum);
}
END_TEST

START_TEST(what_waits_for_its_turn_is_dropped_with_its_last_follower)
{
    struct sum *sums[THREADS + 1];
    struct seat *seats[THREADS + 1];
    struct await await;
    struct error err;

    await_init(&await, NULL, NULL);
    for (int i = 0; i <= THREADS; i++) {
        sums[i] = sum_new(&stops);
        seats[i] = join(sums[i], &await);
    }
    until(&runs, THREADS);
    ck_assert_uint_eq(threads(), THREADS);
    drop(sums[THREADS]);
    flight_leave(seats[THREADS]);
    ck_assert_uint_eq(freed, 1);
    for (int i = 0; i < THREADS; i++) {
        sem_post(&sums[i]->go);
        ck_assert_int_eq(flight_wait(seats[i], &await, &err), 0);
        flight_leave(seats[i]);
        drop(sums[i]);
    }
    ck_assert_uint_eq(runs, THREADS);
    await_fini(&await);
}
END_TEST

/* Who rests has the next flight, and no other thread is started. */
START_TEST(threads_are_there_for_work_alone)
{
    uint64_t began_ms = clock_ms();
    struct waiter w;

    for (unsigned i = 0; i < 20; i++) {
        struct sum *sum = sum_new(&stops);

        sem_post(&sum->go);
        start(&w, sum);
        ck_assert_int_eq(end(&w), 0);
        drop(sum);
        ck_assert_uint_le(threads(), 1);
        until_they_rest();
    }
    POLL_UNTIL(threads() == 0);
    ck_assert_uint_ge(clock_ms() - began_ms, FLIGHT_IDLE_MS);
}
END_TEST

/* What nobody follows ends with the pool, too. */
START_TEST(a_stop_waits_for_what_runs)
{
    struct sum *sum = sum_new(&runs_on), *second = sum_new(&stops);
    struct await await;
    struct seat *seat, *other;

    await_init(&await, NULL, NULL);
    seat = join(sum, &await);
    other = join(second, &await);
    until(&runs, 2);
    flight_leave(seat);
    flight_leave(other);
    drop(second);
    sem_post(&sum->go);
    drop(sum);
    flights_stop(&flights);
    ck_assert_uint_eq(freed, 2);
    flights_init(&flights, "hw-test", THREADS, oldest); /* for tear_down */
    await_fini(&await);
}
END_TEST

START_TEST(progress_is_seen_by_all_that_follow)
{
    struct sum *sum = sum_new(&stops);
    struct progress progress;
    struct waiter waiters[2];

    for (int i = 0; i < 2; i++)
        start(&waiters[i], sum);
    for (int i = 0; i < 2; i++)
        until_it_waits(&waiters[i]);
    ck_assert(!await_progress(&waiters[0].await, &progress));
    pthread_mutex_lock(&flights.lock);
    sum->stage = 2;
    pthread_mutex_unlock(&flights.lock);
    for (int i = 0; i < 2; i++) {
        ck_assert(await_progress(&waiters[i].await, &progress));
        ck_assert_uint_eq(progress.stage, 2);
    }
    sem_post(&sum->go);
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(end(&waiters[i]), 0);
    drop(sum);
}
END_TEST

/* What runs already comes to it later. */
START_TEST(without_a_thread_it_is_refused)
{
    struct sum *sum = sum_new(&stops), *second = sum_new(&stops);
    struct error err = {0};
    struct waiter w, later;

    refuses = true;
    pthread_mutex_lock(&flights.lock);
    ck_assert_ptr_null(
        flight_join(&sum->flight, (struct waker){NULL, NULL}, &err));
    ck_assert_ptr_null(flights.first);
    pthread_mutex_unlock(&flights.lock);
    ck_assert_uint_eq(err.code, ER_CANT_CREATE_THREAD);
    refuses = false;
    start(&w, sum);
    until(&runs, 1);
    refuses = true;
    start(&later, second);
    sem_post(&second->go);
    sem_post(&sum->go);
    ck_assert_int_eq(end(&w), 0);
    ck_assert_int_eq(end(&later), 0);
    drop(sum);
    drop(second);
}
END_TEST

static void
set_up(void)
{
    refuses = false;
    freed = runs = cancelled = 0;
    flights_init(&flights, "hw-test", THREADS, oldest);
}

static void
tear_down(void)
{
    flights_stop(&flights);
}

int
main(void)
{
    Suite *suite = suite_create("flight");
    TCase *tc = tcase_create("flight");

    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, all_that_follow_get_its_end, 0, 2);
    tcase_add_test(tc, one_that_is_cancelled_leaves_the_work_to_others);
    tcase_add_loop_test(tc, work_without_followers_ends_or_runs_on, 0, 2);
    tcase_add_test(tc,
                   what_waits_for_its_turn_is_dropped_with_its_last_follower);
    tcase_add_test(tc, threads_are_there_for_work_alone);
    tcase_add_test(tc, a_stop_waits_for_what_runs);
    tcase_add_test(tc, progress_is_seen_by_all_that_follow);
    tcase_add_test(tc, without_a_thread_it_is_refused);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
