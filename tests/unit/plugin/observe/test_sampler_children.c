/* test_sampler_children.c - what the process forks is sampled, and nothing
 * else. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "errors.h"
#include "process_stat.h"
#include "processes.h"
#include "sample_run.h"
#include "sample_task.h"
#include "sampler.h"
#include "suite.h"

enum { MS = 1000000, IDLE = 100, LIFE_MS = 8, BEFORE_MS = 600, TRIES = 30 };

/* What the process writes and the test reads. */
struct shared {
    atomic_int ready, begun;
    atomic_ullong ended; /* children */
};

static struct shared *shared;
static pid_t process;
static struct sampler_report report;
static struct error err;

/* ---- what the process does ---- */

static uint64_t
used_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / MS;
}

/* In a section of its own, whose bounds the linker tells. */
__attribute__((noinline, section("code_burn"))) static void
burn(void)
{
    for (volatile unsigned i = 0; i < 20000; i = i + 1)
        ;
}
extern const char __start_code_burn[], __stop_code_burn[];

static void
burn_for(uint64_t milliseconds)
{
    while (used_ms() < milliseconds)
        burn();
}

/* By the clock, without a system call: whoever asks for its processor time is
 * often told in that call to leave the processor, and waits there for it. */
static void
burn_by_clock(uint64_t milliseconds)
{
    uint64_t until_ns = sample_now_ns() + milliseconds * MS;

    while (sample_now_ns() < until_ns)
        burn();
}

static pid_t
fork_child(void)
{
    pid_t pid = fork();

    if (pid == 0)
        prctl(PR_SET_PDEATHSIG, SIGKILL);
    return pid;
}

static void
burn_in_another_program(void)
{
    execlp("sh", "sh", "-c", "while :; do :; done", (char *)NULL);
    _exit(1);
}

static void
fork_idle(void)
{
    for (int i = 0; i < IDLE; i++)
        if (fork_child() == 0)
            for (;;)
                pause();
    atomic_store(&shared->ready, 1);
    for (;;)
        pause();
}

/* One after the other, which are gone at once. */
static void
fork_short(void)
{
    for (;;) {
        pid_t pid = fork_child();

        if (pid == 0) {
            burn_for(LIFE_MS);
            _exit(0);
        }
        waitpid(pid, NULL, 0);
        atomic_fetch_add(&shared->ended, 1);
        atomic_store(&shared->ready, 1);
    }
}

/* The child waits until samples are taken, and executes another program after a
 * while. */
static void
fork_and_execute(void)
{
    const struct timespec moment = {0, 10L * MS};

    if (fork_child() == 0) {
        atomic_store(&shared->ready, 1);
        while (!atomic_load(&shared->begun)) /* rarely: it is sampled */
            nanosleep(&moment, NULL);
        burn_by_clock(BEFORE_MS);
        burn_in_another_program();
    }
    for (;;)
        pause();
}

static void
fork_meanwhile(void)
{
    const struct timespec moment = {0, 10L * MS};

    atomic_store(&shared->ready, 1);
    while (!atomic_load(&shared->begun)) /* rarely: it is sampled */
        nanosleep(&moment, NULL);
    if (fork_child() == 0)
        for (;;)
            burn();
    for (;;)
        pause();
}

/* ---- what the test sees ---- */

static uint64_t here_ns, elsewhere_ns;

static int
on_sample(void *arg, const struct sample *sample, struct error *unused)
{
    uint64_t pc = sample->registers.values[REGISTER_PC];
    bool here = pc >= (uint64_t)(uintptr_t)__start_code_burn &&
                pc < (uint64_t)(uintptr_t)__stop_code_burn;

    (void)arg, (void)unused;
    *(here ? &here_ns : &elsewhere_ns) += sample->nanoseconds;
    return 0;
}

static void
begin(void (*body)(void))
{
    here_ns = elsewhere_ns = 0;
    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    process = fork_child();
    if (process == 0) {
        body();
        _exit(0);
    }
    while (!atomic_load(&shared->ready))
        sched_yield();
}

static void
end(void)
{
    kill(process, SIGKILL);
    waitpid(process, NULL, 0);
    munmap(shared, sizeof(*shared));
}

static void *
begin_later(void *arg)
{
    const struct timespec later = {0, 300L * MS}; /* samples are taken */

    nanosleep(&later, NULL);
    atomic_store(&shared->begun, 1);
    return arg;
}

/* false: this way is not allowed here. */
static bool
run_for(uint32_t milliseconds, uint32_t hz, bool wall, enum sampler_way way)
{
    struct sampler_options options = {.pid = process,
                                      .milliseconds = milliseconds,
                                      .hz = hz,
                                      .wall = wall,
                                      .way = way};
    pthread_t later;
    int rc;

    ck_assert_int_eq(pthread_create(&later, NULL, begin_later, NULL), 0);
    rc = sampler_run(&options, on_sample, NULL, &report, &err);
    pthread_join(later, NULL);
    if (rc != 0 && err.code == ER_NOT_SUPPORTED) {
        fprintf(stderr, "skipped: %s\n", err.text);
        return false;
    }
    ck_assert_msg(rc == 0, "%s", err.text);
    fprintf(stderr,
            "%u ms, %llu samples, here %llu ms, elsewhere %llu ms, processor "
            "%llu ms, lost %llu, threads %u, children %u, born %u, unseen %u, "
            "unmet %u; %s\n",
            report.milliseconds, (unsigned long long)report.samples,
            (unsigned long long)here_ns / MS,
            (unsigned long long)elsewhere_ns / MS,
            (unsigned long long)report.processor_ms,
            (unsigned long long)report.lost, report.threads, report.children,
            report.born, report.unseen, report.unmet, report.why_not_better);
    return true;
}

static const enum sampler_way ways[] = {SAMPLER_PERF, SAMPLER_PTRACE};

/* What follows is tried again where a busy machine had no processor for the
 * children, or for the test itself.  Where it is wrong, no try is right. */

START_TEST(by_the_clock_idle_children_are_met)
{
    bool allowed = true;

    begin(fork_idle);
    for (uint32_t ms = 1000; ms < 100000; ms *= 4) {
        here_ns = elsewhere_ns = 0;
        allowed = run_for(ms, 20, true, SAMPLER_ANY);
        if (!allowed || report.unseen + report.unmet == 0)
            break;
    }
    if (allowed) {
        ck_assert_uint_ge(report.threads, IDLE + 1);
        ck_assert_uint_eq(report.children, IDLE);
        ck_assert_uint_ge(report.samples, IDLE + 1);
        ck_assert_uint_eq(report.unseen + report.unmet, 0);
        ck_assert_uint_gt(elsewhere_ns / MS,
                          IDLE * (report.milliseconds * 95ULL / 100));
    }
    end();
}
END_TEST

/* Each one's last tick is missing. */
static bool
short_ones_are_sampled(uint64_t ended)
{
    return ended > 0 && report.children >= ended / 2 &&
           here_ns / MS > ended * LIFE_MS / 3 &&
           report.processor_ms + 20 >= here_ns / MS * 9 / 10 &&
           report.processor_ms < report.milliseconds * 11 / 10;
}

START_TEST(by_perf_children_that_are_gone_at_once_are_sampled)
{
    bool holds = false;
    uint64_t ended;

    begin(fork_short);
    for (int tries = 0; tries < TRIES && !holds; tries++) {
        here_ns = elsewhere_ns = 0;
        ended = atomic_load(&shared->ended);
        holds = !run_for(2000, 1000, false, SAMPLER_PERF) ||
                short_ones_are_sampled(atomic_load(&shared->ended) - ended);
    }
    ck_assert(holds);
    end();
}
END_TEST

START_TEST(another_program_is_not_sampled)
{
    bool allowed, seen = false;

    /* It may have come to the other one before it is met, or not at all. */
    for (int tries = 0; tries < TRIES && !seen; tries++) {
        begin(fork_and_execute);
        allowed = run_for(3000, 99, false, ways[_i]);
        seen = here_ns > 0 || !allowed;
        ck_assert_uint_lt((here_ns + elsewhere_ns) / MS, BEFORE_MS * 3 / 2);
        end();
    }
    ck_assert(seen);
}
END_TEST

START_TEST(one_that_is_born_meanwhile_is_sampled_or_told)
{
    bool perf = ways[_i] == SAMPLER_PERF, seen = false;

    for (int tries = 0; tries < TRIES && !seen; tries++) {
        begin(fork_meanwhile);
        if (run_for(1500, 99, false, ways[_i]))
            seen = report.children == perf && report.born == !perf &&
                   report.processor_ms > 0 && (!perf || here_ns > 0);
        else
            seen = true;
        end();
    }
    ck_assert(seen);
}
END_TEST

/* The number of a child that has ended, as if another process had it. */
START_TEST(threads_of_another_process_are_not_listed)
{
    struct sample_tids tids = {0};
    struct processes processes;

    begin(fork_meanwhile);
    ck_assert(processes_read(process, &processes));
    processes.list[processes.count++] = (struct process_id){getpid(), 1};
    ck_assert_int_eq(sample_tids_list_all(&processes, &tids, &err), 0);
    ck_assert_uint_gt(tids.count, 0);
    for (size_t i = 0; i < tids.count; i++)
        ck_assert_int_eq(tids.list[i].pid, process);
    sample_tids_fini(&tids);
    end();
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("sampler_children");
    TCase *tcase = tcase_create("sampler_children");

    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, by_the_clock_idle_children_are_met);
    tcase_add_test(tcase, by_perf_children_that_are_gone_at_once_are_sampled);
    tcase_add_loop_test(tcase, another_program_is_not_sampled, 0, 2);
    tcase_add_loop_test(tcase, one_that_is_born_meanwhile_is_sampled_or_told, 0,
                        2);
    tcase_add_test(tcase, threads_of_another_process_are_not_listed);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
