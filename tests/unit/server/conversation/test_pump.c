/* test_pump.c - cursors that wait, block and are cancelled. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "cursor.h"
#include "errors.h"
#include "pump.h"
#include "suite.h"
#include "thread.h"

enum { STEPS = 200 };

/* Steps STEPS times, each after it was woken, before or while it waits; or
 * waits for what never comes. */
struct waiter {
    struct cursor base;
    struct await *await;
    atomic_int steps;
    bool early, never, threaded;
    pthread_t thread;
};

static void *
wake_late(void *arg)
{
    struct waiter *w = arg;
    struct waker waker = await_waker(w->await);

    waker.wake(waker.arg);
    waker.wake(waker.arg);
    return NULL;
}

static void
join(struct waiter *w)
{
    if (w->threaded)
        pthread_join(w->thread, NULL);
    w->threaded = false;
}

static enum step
waiter_step(struct cursor *cursor, struct rows *out, struct error *err)
{
    struct waiter *w = (struct waiter *)cursor;

    out->count = 0;
    join(w);
    if (cursor->instant)
        return atomic_fetch_add(&w->steps, 1) == STEPS ? STEP_DONE : STEP_MORE;
    if (w->early) {
        wake_late(w);
    } else if (!w->never) {
        ck_assert_int_eq(pthread_create(&w->thread, NULL, wake_late, w), 0);
        w->threaded = true;
    }
    if (await_news(w->await, err) != 0)
        return STEP_FAIL;
    return atomic_fetch_add(&w->steps, 1) == STEPS ? STEP_DONE : STEP_MORE;
}

static void
waiter_free(struct cursor *cursor)
{
    join((struct waiter *)cursor);
}

static const struct cursor_ops waiter_ops = {waiter_step, waiter_free};

static uv_loop_t loop;
static struct wakes wakes;
static struct workers workers;
static struct pump pump;
static struct waiter waiter;
static bool done;

static void
go_on(void *arg)
{
    (void)arg;
    do {
        if (pump.outcome == STEP_DONE || pump.outcome == STEP_FAIL) {
            done = true;
            return;
        }
    } while (pump_step(&pump));
}

static void
setup(void)
{
    struct error err;

    ck_assert_int_eq(uv_loop_init(&loop), 0);
    ck_assert_int_eq(wakes_init(&wakes, &loop, &err), 0);
    workers_init(&workers, &wakes);
    ck_assert_int_eq(workers_start(&workers, &err), 0);
    memset(&waiter, 0, sizeof(waiter));
    waiter.base.ops = &waiter_ops;
    waiter.await = &pump.await;
    done = false;
    pump_init(&pump, &workers, "ann", go_on, NULL);
}

static void
teardown(void)
{
    pump_fini(&pump);
    workers_stop(&workers);
    wakes_close(&wakes);
    uv_run(&loop, UV_RUN_DEFAULT);
    workers_fini(&workers);
    wakes_fini(&wakes);
    ck_assert_int_eq(uv_loop_close(&loop), 0);
}

static void
start(void)
{
    ck_assert_int_eq(pump_start(&pump, &waiter.base, NULL), 0);
    go_on(NULL);
}

static void
run_to_the_end(void)
{
    while (!done)
        uv_run(&loop, UV_RUN_ONCE);
}

/* _i: woken before it waits */
START_TEST(no_wake_is_lost)
{
    waiter.early = _i;
    start();
    run_to_the_end();
    ck_assert_int_eq(pump.outcome, STEP_DONE);
    ck_assert_int_eq(atomic_load(&waiter.steps), STEPS + 1);
}
END_TEST

START_TEST(what_is_instant_runs_on_the_loop)
{
    waiter.base.instant = true;
    start();
    ck_assert(done);
    ck_assert_int_eq(pump.outcome, STEP_DONE);
}
END_TEST

static void
start_to_wait(void)
{
    waiter.never = true;
    start();
    while (!atomic_load(&pump.await.waits))
        uv_run(&loop, UV_RUN_NOWAIT);
}

START_TEST(a_wait_can_be_cancelled)
{
    start_to_wait();
    pump_cancel(&pump);
    pump_cancel(&pump);
    run_to_the_end();
    ck_assert_int_eq(pump.outcome, STEP_FAIL);
    ck_assert_uint_eq(pump.error.code, ER_QUERY_INTERRUPTED);
}
END_TEST

START_TEST(a_wait_ends_at_its_deadline)
{
    uint64_t begun_ms = clock_ms();

    pump.await.deadline_ms = begun_ms + 50;
    waiter.never = true;
    start(); /* the wait may be over before we look */
    run_to_the_end();
    ck_assert_int_eq(pump.outcome, STEP_FAIL);
    ck_assert_uint_eq(pump.error.code, ER_QUERY_INTERRUPTED);
    ck_assert_uint_ge(clock_ms(), begun_ms + 50);
}
END_TEST

/* Cancelled before its first step: it is not stepped. */
START_TEST(what_is_cancelled_is_not_stepped)
{
    pump_cancel(&pump);
    start();
    ck_assert(done);
    ck_assert_int_eq(pump.outcome, STEP_FAIL);
    ck_assert_int_eq(atomic_load(&waiter.steps), 0);
}
END_TEST

START_TEST(a_turn_is_forgotten_with_its_pump)
{
    waiter.base.instant = true;
    ck_assert_int_eq(pump_start(&pump, &waiter.base, NULL), 0);
    pump_yield(&pump);
    pump_fini(&pump);
    uv_run(&loop, UV_RUN_NOWAIT);
    ck_assert(!done);
    pump_init(&pump, &workers, "ann", go_on, NULL);
}
END_TEST

static bool exhausted; /* no thread can be started */

int __real_thread_start(pthread_t *thread, const struct thread_start *start,
                        struct error *err);

int
thread_start(pthread_t *thread, const struct thread_start *start,
             struct error *err)
{
    errno = EAGAIN;
    return exhausted ? -1 : __real_thread_start(thread, start, err);
}

static void
open_nothing(void *arg)
{
    (void)arg;
    abort();
}

/* _i: already its opening */
START_TEST(what_finds_no_thread_fails)
{
    struct workers none, *real = pump.job.workers;

    workers_init(&none, &wakes);
    exhausted = true;
    pump.job.workers = &none;
    pump.open = open_nothing;
    if (_i)
        pump_open(&pump);
    else
        start();
    ck_assert(!done);
    run_to_the_end();
    exhausted = false;
    ck_assert_int_eq(pump.outcome, STEP_FAIL);
    ck_assert_int_eq(pump.error.code, ER_CANT_CREATE_THREAD);
    ck_assert_str_eq(pump.error.text,
                     "Can't create a new thread (errno 11), and all of "
                     "heapwired's wait for others; raise its limit of threads "
                     "(ulimit -u, TasksMax), or try again later: Resource "
                     "temporarily unavailable");
    ck_assert_int_eq(atomic_load(&waiter.steps), 0);
    pump.job.workers = real;
    workers_fini(&none);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("pump");
    TCase *tc = tcase_create("pump");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, no_wake_is_lost, 0, 2);
    tcase_add_test(tc, what_is_instant_runs_on_the_loop);
    tcase_add_test(tc, a_wait_can_be_cancelled);
    tcase_add_test(tc, a_wait_ends_at_its_deadline);
    tcase_add_test(tc, what_is_cancelled_is_not_stepped);
    tcase_add_test(tc, a_turn_is_forgotten_with_its_pump);
    tcase_add_loop_test(tc, what_finds_no_thread_fails, 0, 2);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
