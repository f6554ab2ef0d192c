/* test_loop.c - threads that lead in turn, step aside, and come back. */
#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include "errors.h"
#include "loop.h"
#include "poll_until.h"
#include "suite.h"
#include "thread.h"

enum { SOURCES = 8, LONG = 3000 };

/* An event that steps aside until it may go on, if it is told to. */
struct event {
    struct loop_source source; /* first */
    atomic_bool leaves_loop, off_loop, may_go_on, computes;
    atomic_uint handled, refused;
    atomic_int leads_at, computes_at; /* priorities */
};

static struct loop loop;
static struct event events[SOURCES];
static atomic_uint ticks, wakes, tasks;
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
until(const atomic_uint *counter, unsigned least)
{
    POLL_UNTIL(atomic_load(counter) >= least);
}

static void
leave_test_loop(struct event *e)
{
    struct error err;

    if (loop_make_ready(&loop, &err) != 0) {
        ck_assert_uint_eq(err.code, ER_CANT_CREATE_THREAD);
        atomic_fetch_add(&e->refused, 1);
        return;
    }
    loop_yield_lead(&loop);
    if (atomic_load(&e->computes))
        loop_lower_priority();
    atomic_store(&e->computes_at, getpriority(PRIO_PROCESS, 0));
    atomic_store(&e->off_loop, true);
    POLL_UNTIL(atomic_load(&e->may_go_on));
    loop_lock(&loop);
}

static void
on_event(struct loop_source *source, uint32_t mask)
{
    struct event *e = (struct event *)source;
    eventfd_t count;

    (void)mask;
    (void)eventfd_read(source->fd, &count);
    atomic_store(&e->leads_at, getpriority(PRIO_PROCESS, 0));
    if (atomic_load(&e->leaves_loop))
        leave_test_loop(e);
    atomic_fetch_add(&e->handled, 1);
}

static void
on_tick(void *arg)
{
    (void)arg;
    atomic_fetch_add(&ticks, 1);
}

static void
on_wake(void *arg)
{
    (void)arg;
    atomic_fetch_add(&wakes, 1);
}

static void
setup(void)
{
    struct error err;

    memset(events, 0, sizeof(events));
    atomic_store(&exhausted, false);
    atomic_store(&ticks, 0);
    atomic_store(&wakes, 0);
    atomic_store(&tasks, 0);
    ck_assert_int_eq(loop_init(&loop, &err), 0);
    loop.on_tick = on_tick;
    loop.on_wake = on_wake;
    loop_lock(&loop);
    for (int i = 0; i < SOURCES; i++) {
        events[i].source = (struct loop_source){.fd = eventfd(0, EFD_NONBLOCK),
                                                .on_event = on_event};
        ck_assert_int_eq(loop_watch(&loop, &events[i].source, EPOLLIN), 0);
    }
    loop_unlock(&loop);
    ck_assert_int_eq(loop_start(&loop, &err), 0);
}

static void
teardown(void)
{
    for (int i = 0; i < SOURCES; i++)
        atomic_store(&events[i].may_go_on, true);
    loop_stop(&loop);
    ck_assert_uint_eq(loop.threads, 0);
    for (int i = 0; i < SOURCES; i++)
        if (events[i].source.fd >= 0)
            loop_close(&loop, &events[i].source);
    loop_fini(&loop);
}

static void
fire(int i)
{
    ck_assert_int_eq(eventfd_write(events[i].source.fd, 1), 0);
}

START_TEST(events_are_handled_and_at_rest_there_are_two_threads)
{
    for (int n = 0; n < LONG; n++)
        fire(n % SOURCES);
    for (int i = 0; i < SOURCES; i++)
        until(&events[i].handled, 1);
    loop_lock(&loop);
    ck_assert_uint_eq(loop.threads, 2);
    loop_unlock(&loop);
}
END_TEST

START_TEST(all_but_one_may_be_off_the_loop)
{
    for (int i = 0; i < SOURCES - 1; i++) {
        atomic_store(&events[i].leaves_loop, true);
        fire(i);
        POLL_UNTIL(atomic_load(&events[i].off_loop));
        fire(SOURCES - 1);
        until(&events[SOURCES - 1].handled, (unsigned)i + 1);
    }
    for (int i = 0; i < SOURCES - 1; i++) {
        ck_assert_uint_eq(atomic_load(&events[i].handled), 0);
        atomic_store(&events[i].may_go_on, true);
        until(&events[i].handled, 1);
    }
}
END_TEST

/* The one that can lead does; who comes then stays, and knows it. */
START_TEST(without_threads_the_loop_goes_on)
{
    atomic_store(&events[0].leaves_loop, true);
    atomic_store(&events[1].leaves_loop, true);
    fire(0);
    POLL_UNTIL(atomic_load(&events[0].off_loop));
    atomic_store(&exhausted, true);
    fire(1);
    until(&events[1].refused, 1);
    fire(2);
    until(&events[2].handled, 1);
    atomic_store(&events[0].may_go_on, true);
    until(&events[0].handled, 1);
    fire(1); /* there is one again */
    POLL_UNTIL(atomic_load(&events[1].off_loop));
}
END_TEST

/* With the right to raise it again, and without. */
START_TEST(who_computes_for_long_has_a_low_priority_and_who_leads_has_not)
{
    const int usual = getpriority(PRIO_PROCESS, 0);

    if (_i == 1 && geteuid() == 0)
        ck_assert_int_eq(setuid(65534), 0);
    atomic_store(&events[0].leaves_loop, true);
    atomic_store(&events[0].may_go_on, true);
    for (unsigned n = 1; n <= 20; n++) {
        atomic_store(&events[0].computes, n % 2 == 1);
        fire(0);
        until(&events[0].handled, n);
        ck_assert_int_eq(atomic_load(&events[0].leads_at), usual);
        ck_assert_int_eq(atomic_load(&events[0].computes_at),
                         n % 2 == 1 && usual < LOOP_NICE ? LOOP_NICE : usual);
    }
}
END_TEST

static void
run_task(struct loop_task *task)
{
    if (atomic_fetch_add(&tasks, 1) < LONG)
        loop_later(&loop, task);
}

START_TEST(a_task_that_comes_again_lets_events_through)
{
    struct loop_task task = {.run = run_task};

    loop_lock(&loop);
    loop_later(&loop, &task);
    loop_later(&loop, &task);
    loop_unlock(&loop);
    fire(0);
    until(&events[0].handled, 1);
    until(&tasks, LONG + 1);
    loop_lock(&loop);
    ck_assert(!task.queued);
    loop_later(&loop, &task);
    loop_cancel_task(&loop, &task);
    loop_unlock(&loop);
    fire(0);
    until(&events[0].handled, 2);
    ck_assert_uint_eq(atomic_load(&tasks), LONG + 1);
}
END_TEST

START_TEST(ticks_and_wakes_come_from_other_threads)
{
    loop_wake(&loop);
    until(&wakes, 1);
    loop_lock(&loop);
    loop_set_tick(&loop, 1);
    loop_unlock(&loop);
    until(&ticks, 5);
    loop_lock(&loop);
    loop_set_tick(&loop, 0);
    loop_unlock(&loop);
}
END_TEST

/* What is closed under the lock is not heard of any more. */
START_TEST(a_closed_source_has_no_events)
{
    unsigned before;

    for (int i = 0; i < SOURCES; i++)
        fire(i);
    loop_lock(&loop);
    fire(0);
    loop_close(&loop, &events[0].source);
    before = atomic_load(&events[0].handled);
    loop_unlock(&loop);
    fire(1);
    until(&events[1].handled, 1);
    ck_assert_uint_eq(atomic_load(&events[0].handled), before);
    ck_assert_int_eq(events[0].source.fd, -1);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("loop");
    TCase *tc = tcase_create("loop");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, events_are_handled_and_at_rest_there_are_two_threads);
    tcase_add_test(tc, all_but_one_may_be_off_the_loop);
    tcase_add_test(tc, without_threads_the_loop_goes_on);
    tcase_add_loop_test(
        tc, who_computes_for_long_has_a_low_priority_and_who_leads_has_not, 0,
        2);
    tcase_add_test(tc, a_task_that_comes_again_lets_events_through);
    tcase_add_test(tc, ticks_and_wakes_come_from_other_threads);
    tcase_add_test(tc, a_closed_source_has_no_events);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
