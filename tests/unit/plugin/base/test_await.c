/* test_await.c - waits end by notification, by deadline and by cancel. */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "await.h"
#include "clock.h"
#include "errors.h"
#include "poll_until.h"
#include "suite.h"

/* A thread of its own that waits. */
struct waiter {
    struct await await;
    pthread_t thread;
    struct error err;
    int rc;
    atomic_uint parks, goes_on;
};

static void
parks(void *arg, bool begins)
{
    struct waiter *w = arg;

    atomic_fetch_add(begins ? &w->parks : &w->goes_on, 1);
}

static void *
wait_for_it(void *arg)
{
    struct waiter *w = arg;

    w->rc = await_notification(&w->await, &w->err);
    return NULL;
}

static void
start(struct waiter *w)
{
    memset(w, 0, sizeof(*w));
    await_init(&w->await, parks, w);
    ck_assert_int_eq(pthread_create(&w->thread, NULL, wait_for_it, w), 0);
}

static void
until_it_waits(struct waiter *w)
{
    POLL_UNTIL(atomic_load(&w->await.waits));
}

START_TEST(news_end_a_wait_before_and_while_it_waits)
{
    struct waiter w;
    struct waker waker;

    start(&w);
    until_it_waits(&w);
    waker = await_waker(&w.await);
    waker.wake(waker.arg);
    pthread_join(w.thread, NULL);
    ck_assert_int_eq(w.rc, 0);
    ck_assert_uint_eq(w.parks, 1);
    waker.wake(waker.arg);
    ck_assert_int_eq(await_notification(&w.await, &w.err), 0);
    ck_assert_uint_eq(w.parks, 1); /* it did not block */
    await_fini(&w.await);
}
END_TEST

/* _i: cancelled before it waits */
START_TEST(a_cancel_ends_every_wait_now_and_later)
{
    struct waiter w;

    start(&w);
    if (_i == 0)
        until_it_waits(&w);
    await_cancel(&w.await);
    pthread_join(w.thread, NULL);
    ck_assert_int_eq(w.rc, -1);
    ck_assert_uint_eq(w.err.code, ER_QUERY_INTERRUPTED);
    ck_assert_int_eq(await_notification(&w.await, &w.err), -1);
    ck_assert_int_eq(await_check(&w.await, &w.err), -1);
    await_fini(&w.await);
}
END_TEST

START_TEST(a_deadline_ends_a_wait_in_time)
{
    struct await await;
    struct error err;
    uint64_t begun_ms = clock_ms();

    await_init(&await, NULL, NULL);
    await.deadline_ms = begun_ms + 100;
    ck_assert_int_eq(await_notification(&await, &err), -1);
    ck_assert_uint_eq(err.code, ER_QUERY_INTERRUPTED);
    ck_assert_uint_ge(clock_ms(), begun_ms + 100);
    ck_assert(!await_cancelled(&await));
    await_fini(&await);
}
END_TEST

static void
note_what(void *arg, bool begins)
{
    struct waiter *w = arg;

    parks(arg, begins);
    ck_assert_str_eq(atomic_load(&w->await.waits), "User sleep");
}

/* A wait ends at its own time, the await's, a notification or a cancel,
 * whichever comes first. */
START_TEST(time_that_was_asked_for_moves_the_deadline)
{
    struct await await;
    struct error err;
    uint64_t began_ms = clock_ms();

    await_init(&await, NULL, NULL);
    await_grant(&await, 3000); /* nothing to move: it never ends */
    ck_assert(!await_is_over(&await));
    await.deadline_ms = began_ms - 1000;
    ck_assert(!await_is_over(&await));
    ck_assert_int_eq(await_notification(&await, &err), -1);
    ck_assert_uint_ge(clock_ms(), began_ms + 2000);
    ck_assert(await_is_over(&await));
    await_grant(&await, 60000);
    ck_assert(!await_is_over(&await));
    await_fini(&await);
}
END_TEST

START_TEST(a_limit_is_a_limit_whatever_was_granted)
{
    struct await await;
    struct error err;
    uint64_t limit_ms = clock_ms() + 100;

    await_init(&await, NULL, NULL);
    await_grant(&await, 3600000);
    ck_assert_uint_eq(await_limit(&await, limit_ms), 0);
    ck_assert_int_eq(await_notification(&await, &err), -1);
    ck_assert_uint_ge(clock_ms(), limit_ms);
    ck_assert(await_is_over(&await));
    await.deadline_ms = 0;
    ck_assert(!await_is_over(&await));
    await.deadline_ms = limit_ms = clock_ms(); /* it was nearer */
    ck_assert_uint_eq(await_limit(&await, limit_ms + 7200000), limit_ms);
    ck_assert_uint_eq(await.deadline_ms, limit_ms);
    await_fini(&await);
}
END_TEST

START_TEST(a_wait_may_have_a_time_of_its_own)
{
    uint64_t begun_ms = clock_ms();
    struct waiter w = {.thread = 0};
    struct waker waker;

    await_init(&w.await, note_what, &w);
    ck_assert_int_eq(await_until(&w.await, "User sleep", begun_ms + 100, NULL),
                     0);
    ck_assert_uint_ge(clock_ms(), begun_ms + 100);
    ck_assert_uint_eq(w.parks, 1);
    ck_assert_uint_eq(w.goes_on, 1);
    ck_assert_ptr_null(atomic_load(&w.await.waits));
    waker = await_waker(&w.await);
    waker.wake(waker.arg);
    ck_assert_int_eq(await_until(&w.await, "User sleep", UINT64_MAX, NULL), 0);
    w.await.deadline_ms = clock_ms() + 100;
    ck_assert_int_eq(await_until(&w.await, "User sleep", UINT64_MAX, &w.err),
                     -1);
    ck_assert_uint_eq(w.err.code, ER_QUERY_INTERRUPTED);
    ck_assert_uint_ge(clock_ms(), w.await.deadline_ms);
    w.await.deadline_ms = 0;
    await_cancel(&w.await);
    ck_assert_int_eq(await_until(&w.await, "User sleep", UINT64_MAX, NULL), -1);
    await_fini(&w.await);
}
END_TEST

static bool
adding(void *stage, struct progress *out)
{
    *out = (struct progress){*(unsigned *)stage, 3, 0, "adding"};
    return out->stage > 0;
}

START_TEST(progress_is_the_works_within_its_stages)
{
    struct progress progress;
    struct await await;
    unsigned stage = 0;

    await_init(&await, NULL, NULL);
    ck_assert(!await_progress(&await, &progress));
    await_watch(&await, adding, &stage);
    ck_assert(!await_progress(&await, &progress)); /* it has not begun */
    stage = 2;
    await_stages(&await, 1, 4);
    ck_assert(await_progress(&await, &progress));
    ck_assert_uint_eq(progress.stage, 3);
    ck_assert_uint_eq(progress.stages, 8);
    ck_assert_str_eq(progress.text, "adding");
    await_watch(&await, NULL, NULL);
    ck_assert(!await_progress(&await, &progress));
    await_fini(&await);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("await");
    TCase *tc = tcase_create("await");

    tcase_add_test(tc, news_end_a_wait_before_and_while_it_waits);
    tcase_add_loop_test(tc, a_cancel_ends_every_wait_now_and_later, 0, 2);
    tcase_add_test(tc, a_deadline_ends_a_wait_in_time);
    tcase_add_test(tc, time_that_was_asked_for_moves_the_deadline);
    tcase_add_test(tc, a_limit_is_a_limit_whatever_was_granted);
    tcase_add_test(tc, a_wait_may_have_a_time_of_its_own);
    tcase_add_test(tc, progress_is_the_works_within_its_stages);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
