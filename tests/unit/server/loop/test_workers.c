/* test_workers.c - a few threads, many that want them. */
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "suite.h"
#include "workers.h"

enum { JOBS = 64 };

struct job {
    struct worker_job job;
    atomic_bool begun, may_end;
    bool done;
};

static uv_loop_t loop;
static struct workers workers;
static struct job jobs[JOBS];

static void
run(struct worker_job *base)
{
    struct job *job = (struct job *)base;
    const struct timespec nap = {0, 1000000};

    atomic_store(&job->begun, true);
    while (!atomic_load(&job->may_end))
        nanosleep(&nap, NULL);
}

static void
done(struct worker_job *base)
{
    ((struct job *)base)->done = true;
}

static void
setup(void)
{
    workers_prepare();
    ck_assert_int_eq(uv_loop_init(&loop), 0);
    workers_init(&workers, &loop);
    ck_assert_int_eq(workers_start(&workers), 0);
    memset(jobs, 0, sizeof(jobs));
}

static void
teardown(void)
{
    for (int i = 0; i < JOBS; i++)
        atomic_store(&jobs[i].may_end, true);
    uv_run(&loop, UV_RUN_DEFAULT);
    ck_assert_uint_eq(workers.busy, 0);
    ck_assert_int_eq(uv_loop_close(&loop), 0);
    uv_library_shutdown();
}

static void
ask(int i, const char *owner)
{
    jobs[i].job.owner = owner;
    jobs[i].job.run = run;
    jobs[i].job.done = done;
    workers_run(&workers, &jobs[i].job);
}

static bool
has_worker(int i)
{
    bool has = false;

    for (int k = 0; k < WORKERS; k++)
        has |= workers.running[k] == &jobs[i].job;
    return has;
}

/* Of the jobs from first on, how many have begun, as each that has a worker
 * does sooner or later. */
static unsigned
begun(int first, int count)
{
    const struct timespec nap = {0, 1000000};
    unsigned n = 0;

    uv_run(&loop, UV_RUN_NOWAIT);
    for (int i = first; i < first + count; i++) {
        while (has_worker(i) && !atomic_load(&jobs[i].begun))
            nanosleep(&nap, NULL);
        n += atomic_load(&jobs[i].begun);
    }
    return n;
}

static void
end(int i)
{
    atomic_store(&jobs[i].may_end, true);
    while (!jobs[i].done)
        uv_run(&loop, UV_RUN_ONCE);
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
    ck_assert_uint_eq(begun(42, 1), 0);
    end(20);
    ck_assert_uint_eq(begun(42, 1), 1); /* before bob's and ann's others */
    ck_assert_uint_eq(begun(20, 20), WORKERS / 4);
}
END_TEST

START_TEST(all_jobs_are_done_in_the_end)
{
    for (int i = 0; i < JOBS; i++) {
        ask(i, i % 3 ? "ann" : "bob");
        atomic_store(&jobs[i].may_end, true);
    }
    uv_run(&loop, UV_RUN_DEFAULT);
    for (int i = 0; i < JOBS; i++)
        ck_assert(jobs[i].done);
}
END_TEST

START_TEST(what_has_not_begun_can_be_withdrawn)
{
    for (int i = 0; i < 6; i++)
        ask(i, "ann");
    ck_assert_uint_eq(begun(0, 6), WORKERS / 2);
    ck_assert(!workers_withdraw(&workers, &jobs[0].job));
    ck_assert(workers_withdraw(&workers, &jobs[4].job));
    ck_assert(!workers_withdraw(&workers, &jobs[4].job));
    end(0);
    ck_assert_uint_eq(begun(4, 1), 0);
    ck_assert_uint_eq(begun(5, 1), 1);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("workers");
    TCase *tc = tcase_create("workers");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, one_owner_gets_half_and_others_the_rest);
    tcase_add_test(tc, all_jobs_are_done_in_the_end);
    tcase_add_test(tc, what_has_not_begun_can_be_withdrawn);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
