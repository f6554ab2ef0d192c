/* test_pump.c - cursors that wait, block and are cancelled. */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "cursor.h"
#include "pump.h"
#include "suite.h"

enum { STEPS = 200 };

/* Steps STEPS times: each says WAIT first, after or before being woken. */
struct waiter {
    struct cursor base;
    struct waker waker;
    atomic_int steps, wakes;
    atomic_bool cancelled;
    bool early, threaded;
    pthread_t thread;
};

static void *
wake_late(void *arg)
{
    struct waiter *w = arg;

    w->waker.wake(w->waker.arg);
    w->waker.wake(w->waker.arg);
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

    (void)out;
    if (atomic_load(&w->cancelled)) {
        error_set(err, ER_QUERY_INTERRUPTED, "interrupted");
        return STEP_FAIL;
    }
    if (w->waker.wake == NULL)
        return STEP_WAIT; /* for ever */
    join(w);
    if (atomic_fetch_add(&w->steps, 1) == STEPS)
        return STEP_DONE;
    if (w->early) {
        w->waker.wake(w->waker.arg);
    } else {
        ck_assert_int_eq(pthread_create(&w->thread, NULL, wake_late, w), 0);
        w->threaded = true;
    }
    return STEP_WAIT;
}

static void
waiter_cancel(struct cursor *cursor)
{
    atomic_store(&((struct waiter *)cursor)->cancelled, true);
}

static void
waiter_free(struct cursor *cursor)
{
    join((struct waiter *)cursor);
}

static const struct cursor_ops waiter_ops = {waiter_step, waiter_cancel,
                                             waiter_free};

static uv_loop_t loop;
static struct wakes wakes;
static struct workers workers;
static struct pump pump;
static struct waiter waiter;
static bool done;

static void
setup(void)
{
    ck_assert_int_eq(uv_loop_init(&loop), 0);
    ck_assert_int_eq(wakes_init(&wakes, &loop, NULL), 0);
    workers_init(&workers, &loop);
    memset(&waiter, 0, sizeof(waiter));
    waiter.base.ops = &waiter_ops;
    done = false;
}

static void
teardown(void)
{
    pump_fini(&pump);
    wakes_close(&wakes);
    uv_run(&loop, UV_RUN_DEFAULT);
    wakes_fini(&wakes);
    ck_assert_int_eq(uv_loop_close(&loop), 0);
    uv_library_shutdown();
}

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
run(bool instant)
{
    pump_init(&pump, &wakes, &workers, "ann", go_on, NULL);
    waiter.base.instant = instant;
    ck_assert_int_eq(pump_start(&pump, &waiter.base, NULL), 0);
    go_on(NULL);
}

static void
run_to_the_end(bool instant, bool early)
{
    pump_init(&pump, &wakes, &workers, "ann", go_on, NULL);
    waiter.waker = pump_waker(&pump);
    waiter.early = early;
    waiter.base.instant = instant;
    ck_assert_int_eq(pump_start(&pump, &waiter.base, NULL), 0);
    go_on(NULL);
    while (!done)
        uv_run(&loop, UV_RUN_ONCE);
    ck_assert_int_eq(pump.outcome, STEP_DONE);
    ck_assert_int_eq(atomic_load(&waiter.steps), STEPS + 1);
}

/* _i: instant, woken before the step returned */
START_TEST(no_wake_is_lost)
{
    run_to_the_end(_i & 1, _i & 2);
}
END_TEST

START_TEST(a_parked_cursor_can_be_cancelled)
{
    run(_i == 0);
    for (int i = 0; i < 5; i++)
        uv_run(&loop, UV_RUN_NOWAIT);
    while (pump.state != PUMP_PARKED)
        uv_run(&loop, UV_RUN_ONCE);
    pump_cancel(&pump);
    pump_cancel(&pump);
    while (!done)
        uv_run(&loop, UV_RUN_ONCE);
    ck_assert_int_eq(pump.outcome, STEP_FAIL);
    ck_assert_uint_eq(pump.error.code, ER_QUERY_INTERRUPTED);
}
END_TEST

START_TEST(a_wake_is_forgotten_with_its_pump)
{
    run(true);
    pump_cancel(&pump); /* queues a wake */
    pump_fini(&pump);
    uv_run(&loop, UV_RUN_NOWAIT);
    ck_assert(!done);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("pump");
    TCase *tc = tcase_create("pump");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, no_wake_is_lost, 0, 4);
    tcase_add_loop_test(tc, a_parked_cursor_can_be_cancelled, 0, 2);
    tcase_add_test(tc, a_wake_is_forgotten_with_its_pump);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
