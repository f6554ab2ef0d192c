/* test_await.c - threads that wait for news, for their time, and for shared
 * work. */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "await.h"
#include "clock.h"
#include "errors.h"
#include "memory.h"
#include "suite.h"
#include "ticket.h"

enum { WAITERS = 32 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned freed, left;

struct sum {
    struct work work; /* first */
    unsigned stage;
};

static void
sum_free(struct work *work)
{
    freed++;
    mem_free(work);
}

static void
sum_left(struct work *work)
{
    (void)work;
    left++;
}

static bool
sum_progress(struct work *work, struct progress *out)
{
    unsigned stage = ((struct sum *)work)->stage;

    *out = (struct progress){stage, 3, 0, "adding"};
    return stage > 0;
}

static const struct work_kind sum_kind = {sum_free, sum_left, sum_progress};

static struct sum *
sum_new(void)
{
    struct sum *sum = mem_zalloc(1, sizeof(*sum));

    ck_assert_ptr_nonnull(sum);
    work_init(&sum->work, &sum_kind, &lock);
    return sum;
}

static struct ticket *
attach(struct sum *sum, struct await *await)
{
    struct ticket *ticket = mem_zalloc(1, sizeof(*ticket));

    ck_assert_ptr_nonnull(ticket);
    pthread_mutex_lock(&lock);
    work_attach(&sum->work, ticket, await_waker(await));
    pthread_mutex_unlock(&lock);
    return ticket;
}

/* The owner's reference goes, too. */
static void
finish(struct sum *sum, const char *failure)
{
    struct error err;

    error_set(&err, ER_UNKNOWN, "%s", failure ? failure : "");
    pthread_mutex_lock(&lock);
    work_finish(&sum->work, failure ? &err : NULL);
    work_unref(&sum->work);
    pthread_mutex_unlock(&lock);
}

/* One that waits, on a thread of its own. */
struct waiter {
    struct await await;
    struct ticket *ticket;
    pthread_t thread;
    struct error err;
    int rc;
    uint64_t ended_ms;
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

    w->rc = w->ticket ? ticket_wait(w->ticket, &w->await, &w->err)
                      : await_news(&w->await, &w->err);
    w->ended_ms = clock_ms();
    return NULL;
}

static void
start(struct waiter *w, struct sum *sum)
{
    memset(w, 0, sizeof(*w));
    await_init(&w->await, parks, w);
    w->ticket = sum ? attach(sum, &w->await) : NULL;
    ck_assert_int_eq(pthread_create(&w->thread, NULL, wait_for_it, w), 0);
}

static void
until_it_waits(struct waiter *w)
{
    const struct timespec nap = {0, 1000000};

    while (!atomic_load(&w->await.waits))
        nanosleep(&nap, NULL);
}

static void
end(struct waiter *w)
{
    pthread_join(w->thread, NULL);
    ticket_free(w->ticket);
    await_fini(&w->await);
    ck_assert_uint_eq(w->parks, w->goes_on);
}

START_TEST(news_end_a_wait_before_and_while_it_waits)
{
    struct waiter w;
    struct waker waker;

    start(&w, NULL);
    until_it_waits(&w);
    waker = await_waker(&w.await);
    waker.wake(waker.arg);
    pthread_join(w.thread, NULL);
    ck_assert_int_eq(w.rc, 0);
    ck_assert_uint_eq(w.parks, 1);
    waker.wake(waker.arg);
    ck_assert_int_eq(await_news(&w.await, &w.err), 0);
    ck_assert_uint_eq(w.parks, 1); /* it did not block */
    await_fini(&w.await);
}
END_TEST

/* _i: cancelled before it waits */
START_TEST(a_cancel_ends_every_wait_now_and_later)
{
    struct waiter w;

    start(&w, NULL);
    if (_i == 0)
        until_it_waits(&w);
    await_cancel(&w.await);
    pthread_join(w.thread, NULL);
    ck_assert_int_eq(w.rc, -1);
    ck_assert_uint_eq(w.err.code, ER_QUERY_INTERRUPTED);
    ck_assert_int_eq(await_news(&w.await, &w.err), -1);
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
    ck_assert_int_eq(await_news(&await, &err), -1);
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

/* Until its own time, the await's, news, or a cancel: the first one. */
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
    w.await.deadline_ms = begun_ms + 200;
    waker = await_waker(&w.await);
    waker.wake(waker.arg);
    ck_assert_int_eq(await_until(&w.await, "User sleep", UINT64_MAX, NULL),
                     clock_ms() < begun_ms + 200 ? 0 : -1);
    ck_assert_int_eq(await_until(&w.await, "User sleep", UINT64_MAX, &w.err),
                     -1);
    ck_assert_uint_eq(w.err.code, ER_QUERY_INTERRUPTED);
    ck_assert_uint_ge(clock_ms(), begun_ms + 200);
    w.await.deadline_ms = 0;
    await_cancel(&w.await);
    ck_assert_int_eq(await_until(&w.await, "User sleep", UINT64_MAX, NULL), -1);
    await_fini(&w.await);
}
END_TEST

START_TEST(all_tickets_of_work_get_its_end)
{
    static struct waiter waiters[WAITERS];
    const char *failure = _i ? "it is too large" : NULL;
    struct sum *sum = sum_new();

    for (int i = 0; i < WAITERS; i++)
        start(&waiters[i], sum);
    for (int i = 0; i < WAITERS; i++)
        until_it_waits(&waiters[i]);
    finish(sum, failure);
    for (int i = 0; i < WAITERS; i++) {
        pthread_join(waiters[i].thread, NULL);
        ck_assert_int_eq(waiters[i].rc, _i ? -1 : 0);
        if (_i)
            ck_assert_str_eq(waiters[i].err.text, failure);
        ck_assert_uint_eq(freed, 0);
        ticket_free(waiters[i].ticket);
        await_fini(&waiters[i].await);
    }
    ck_assert_uint_eq(freed, 1);
    ck_assert_uint_eq(left, 0);
}
END_TEST

/* A cancel detaches one that waits, never the work that others wait for. */
START_TEST(one_that_is_cancelled_leaves_the_work_to_others)
{
    struct waiter waiters[2];
    struct sum *sum = sum_new();

    for (int i = 0; i < 2; i++)
        start(&waiters[i], sum);
    until_it_waits(&waiters[0]);
    await_cancel(&waiters[0].await);
    end(&waiters[0]);
    ck_assert_int_eq(waiters[0].rc, -1);
    ck_assert_uint_eq(left, 0);
    finish(sum, NULL);
    end(&waiters[1]);
    ck_assert_int_eq(waiters[1].rc, 0);
    ck_assert_uint_eq(freed, 1);
}
END_TEST

START_TEST(the_last_one_to_go_is_noticed)
{
    struct sum *sum = sum_new();
    struct waiter w;

    start(&w, sum);
    until_it_waits(&w);
    await_cancel(&w.await);
    end(&w);
    ck_assert_uint_eq(left, 1);
    ck_assert_uint_eq(freed, 0);
    finish(sum, NULL);
    ck_assert_uint_eq(freed, 1);
}
END_TEST

START_TEST(progress_is_the_works_within_its_stages)
{
    struct sum *sum = sum_new();
    struct progress progress;
    struct waiter w;

    start(&w, sum);
    until_it_waits(&w);
    ck_assert(!await_progress(&w.await, &progress)); /* it has not begun */
    pthread_mutex_lock(&lock);
    sum->stage = 2;
    pthread_mutex_unlock(&lock);
    await_stages(&w.await, 1, 4);
    ck_assert(await_progress(&w.await, &progress));
    ck_assert_uint_eq(progress.stage, 3);
    ck_assert_uint_eq(progress.stages, 8);
    ck_assert_str_eq(progress.text, "adding");
    finish(sum, NULL);
    pthread_join(w.thread, NULL);
    ck_assert(!await_progress(&w.await, &progress));
    ticket_free(w.ticket);
    await_fini(&w.await);
}
END_TEST

static void
set_up(void)
{
    freed = left = 0;
}

int
main(void)
{
    Suite *suite = suite_create("await");
    TCase *tc = tcase_create("await");

    tcase_add_checked_fixture(tc, set_up, NULL);
    tcase_add_test(tc, news_end_a_wait_before_and_while_it_waits);
    tcase_add_loop_test(tc, a_cancel_ends_every_wait_now_and_later, 0, 2);
    tcase_add_test(tc, a_deadline_ends_a_wait_in_time);
    tcase_add_test(tc, a_wait_may_have_a_time_of_its_own);
    tcase_add_loop_test(tc, all_tickets_of_work_get_its_end, 0, 2);
    tcase_add_test(tc, one_that_is_cancelled_leaves_the_work_to_others);
    tcase_add_test(tc, the_last_one_to_go_is_noticed);
    tcase_add_test(tc, progress_is_the_works_within_its_stages);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
