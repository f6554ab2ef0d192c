/* test_thread_tracer.c - many threads of a child are copied together. */
#include "thread_tracer.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "sample_task.h"
#include "sampler.h"
#include "suite.h"

enum { MANY = 100, DEEP = 50 << 10, CALL_MS = 250 };

/* What the child writes and the test reads. */
struct shared {
    atomic_int there;
};

static struct shared *shared;
static pid_t child;
static struct error err;

static void
begin(void (*body)(void))
{
    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        body();
        _exit(0);
    }
}

static void
end(void)
{
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    munmap(shared, sizeof(*shared));
}

static void *
sleep_on(void *arg)
{
    atomic_fetch_add(&shared->there, 1);
    for (;;)
        pause();
    return arg;
}

static void
sleep_in_many(void)
{
    pthread_t thread;

    for (int i = 1; i < MANY; i++)
        if (pthread_create(&thread, NULL, sleep_on, NULL) != 0)
            _exit(1);
    sleep_on(NULL);
}

/* Each with its own stack, which nobody overwrote. */
static void
check_copies(const struct thread_copies *copies)
{
    for (size_t i = 0; i < copies->count; i++) {
        const struct thread_copy *c = &copies->list[i];
        uint64_t word, remote;
        struct iovec to = {&remote, sizeof(remote)},
                     from = {(void *)c->stack.start, sizeof(remote)};

        ck_assert_uint_eq(c->stack.start, c->registers.values[REGISTER_SP]);
        ck_assert_uint_gt(c->stack.size, sizeof(word));
        memcpy(&word, c->stack.bytes, sizeof(word));
        ck_assert_int_eq(process_vm_readv(child, &to, 1, &from, 1, 0), 8);
        ck_assert_uint_eq(word, remote);
        for (size_t k = 0; k < i; k++)
            ck_assert_uint_ne(c->stack.start, copies->list[k].stack.start);
    }
}

/* The list has one that is no thread of the process. */
START_TEST(many_are_copied_together)
{
    struct thread_wanted wanted[MANY + 8];
    struct thread_tracer *tracer = NULL;
    struct sample_tids tids = {0};
    struct thread_copies copies;
    size_t done = 0, failed = 0, calls = 0;
    uint64_t began_ms;

    begin(sleep_in_many);
    while (atomic_load(&shared->there) < MANY)
        sched_yield();
    ck_assert_int_eq(sample_tids_list(child, &tids, &err), 0);
    ck_assert_uint_ge(tids.count, MANY);
    ck_assert_uint_le(tids.count, MANY + 7);
    for (size_t i = 0; i < tids.count; i++) {
        wanted[i] = (struct thread_wanted){child, tids.list[i].tid, 'S'};
        while (sample_task_state(child, wanted[i].tid) != 'S')
            sched_yield(); /* it is on its way to sleep */
    }
    wanted[tids.count] = wanted[MANY / 2];
    wanted[MANY / 2].tid = getpid();
    tids.count++;
    began_ms = clock_ms();
    for (size_t at = 0; at < tids.count; calls++) {
        thread_tracer_copy(&tracer, wanted + at, tids.count - at, &copies);
        ck_assert_uint_gt(copies.count + copies.failed, 0);
        check_copies(&copies);
        done += copies.count;
        at += copies.count;
        if (!copies.failed ||
            strstr(copies.err.text, "did not stop in time")) /* once more */
            continue;
        at++;
        failed++;
        ck_assert_uint_eq(at, MANY / 2 + 1);
    }
    ck_assert_uint_eq(done, tids.count - 1);
    ck_assert_uint_eq(failed, 1);
    /* On a busy machine a call has no time for more than one. */
    ck_assert(calls < MANY / 2 ||
              clock_ms() - began_ms > CALL_MS * (calls - MANY / 2));
    thread_tracer_free(tracer);
    sample_tids_fini(&tids);
    end();
}
END_TEST

static void
sleep_deep(void)
{
    volatile char room[DEEP];

    room[0] = room[DEEP - 1] = 7;
    sleep_on((void *)room);
}

/* Deeper than 32 KB. */
START_TEST(a_deep_stack_is_copied)
{
    struct thread_tracer *tracer = NULL;
    struct thread_wanted wanted;
    struct thread_copies copies;

    begin(sleep_deep);
    while (atomic_load(&shared->there) == 0)
        sched_yield();
    wanted = (struct thread_wanted){child, child, 'S'};
    do
        thread_tracer_copy(&tracer, &wanted, 1, &copies);
    while (copies.failed && strstr(copies.err.text, "did not stop in time"));
    ck_assert_msg(!copies.failed, "%s", copies.err.text);
    ck_assert_uint_gt(copies.list[0].stack.size, DEEP);
    ck_assert_uint_le(copies.list[0].stack.size, SAMPLER_STACK_BYTES);
    thread_tracer_free(tracer);
    end();
}
END_TEST

START_TEST(a_priority_is_kept_where_that_is_allowed)
{
    struct rlimit before, after;

    ck_assert_int_eq(getrlimit(RLIMIT_RTPRIO, &before), 0);
    thread_tracer_keep_priority();
    ck_assert_int_eq(getrlimit(RLIMIT_RTPRIO, &after), 0);
    if (before.rlim_max == 0) /* without CAP_SYS_RESOURCE as it was */
        ck_assert(after.rlim_max <= 1 && after.rlim_cur == after.rlim_max);
    else
        ck_assert(after.rlim_max == before.rlim_max && after.rlim_cur >= 1);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("thread_tracer");
    TCase *tcase = tcase_create("thread_tracer");

    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, many_are_copied_together);
    tcase_add_test(tcase, a_deep_stack_is_copied);
    tcase_add_test(tcase, a_priority_is_kept_where_that_is_allowed);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
