/* test_sampler.c - children of the test whose shares are known are sampled. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "agent_protocol.h"
#include "errors.h"
#include "sampler.h"
#include "suite.h"

/* ThreadSanitizer makes a fork of vfork, and a thread of its own in the child.
 */
#if defined(__SANITIZE_THREAD__)
enum { SANITIZED = 1, MORE_THREADS = 2 };
#elif defined(__SANITIZE_ADDRESS__)
enum { SANITIZED = 1, MORE_THREADS = 0 };
#else
enum { SANITIZED = 0, MORE_THREADS = 0 };
#endif

enum {
    UNIT = 20000,
    THREAD_STACK = 64 << 10,
    MS = 1000000,
    LATE = 10,
    TRIES = 10
};

/* What the child writes and the test reads. */
struct shared {
    atomic_ullong turns, threads;
    atomic_ullong burnt_ns, slept_ns;
    atomic_bool sampled;
};

static struct shared *shared;
static pid_t child;

/* ---- what the child does ---- */

/* Each function has a section of its own, whose bounds the linker tells. */
#define BURN(name)                                                             \
    __attribute__((noinline, section("code_" #name))) static void burn_##name( \
        unsigned units)                                                        \
    {                                                                          \
        for (volatile unsigned i = 0; i < units * UNIT; i = i + 1)             \
            ;                                                                  \
    }                                                                          \
    extern const char __start_code_##name[], __stop_code_##name[]

BURN(six);
BURN(three);
BURN(one);

static void *
burn_all(void *arg)
{
    for (;;) {
        burn_six(6);
        burn_three(3);
        burn_one(1);
        atomic_fetch_add(&shared->turns, 1);
    }
    return arg;
}

static void *
sleep_on(void *arg)
{
    atomic_fetch_add(&shared->threads, 1);
    for (;;)
        pause();
    return arg;
}

static uint64_t
now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 * MS + (uint64_t)now.tv_nsec;
}

/* By turns, at no clock's pace; and says how long each was. */
static void
burn_and_sleep(void)
{
    uint64_t at = now_ns(), burnt, slept;
    unsigned random = 1;

    for (;;) {
        struct timespec pause = {0, (random >> 8) % (60 * MS)};

        random = random * 1664525 + 1013904223;
        burn_six((random >> 8) % 600);
        burnt = now_ns();
        nanosleep(&pause, NULL);
        slept = now_ns();
        atomic_fetch_add(&shared->burnt_ns, burnt - at);
        atomic_fetch_add(&shared->slept_ns, slept - burnt);
        atomic_fetch_add(&shared->turns, 1);
        at = slept;
    }
}

static bool
begin_thread(void *(*body)(void *), pthread_t *thread)
{
    pthread_attr_t attributes;
    bool ok;

    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, THREAD_STACK);
    ok = pthread_create(thread, &attributes, body, NULL) == 0;
    pthread_attr_destroy(&attributes);
    return ok;
}

static void
burn_in_two(void)
{
    pthread_t thread;

    begin_thread(burn_all, &thread);
    burn_all(NULL);
}

static void
sleep_in_many(unsigned count)
{
    pthread_t thread;

    for (unsigned i = 1; i < count; i++)
        begin_thread(sleep_on, &thread);
    sleep_on(NULL);
}

static void
sleep_in_500(void)
{
    sleep_in_many(500);
}

static void
sleep_in_2000(void)
{
    sleep_in_many(2000);
}

static void *
burn_for_heapwire(void *arg)
{
    pthread_setname_np(pthread_self(), AGENT_THREAD_NAME);
    return burn_all(arg);
}

static void
sleep_beside_heapwire(void)
{
    pthread_t thread;

    begin_thread(burn_for_heapwire, &thread);
    while (atomic_load(&shared->turns) == 0)
        sched_yield();
    sleep_on(NULL);
}

static void *
burn_and_end(void *arg)
{
    for (int i = 0; i < 100; i++) {
        burn_six(6);
        burn_three(3);
        burn_one(1);
    }
    atomic_fetch_add(&shared->turns, 1);
    return arg;
}

static void
burn_in_newborn(void)
{
    pthread_t thread;

    for (;;) {
        begin_thread(burn_and_end, &thread);
        pthread_join(thread, NULL);
    }
}

/* Burners, one after the other, that stay. */
static void *
bear_burners(void *arg)
{
    const struct timespec pause = {0, MS / 2};
    pthread_t thread;

    while (atomic_load(&shared->turns) == 0)
        sched_yield();
    for (int i = 0; i < LATE; i++) {
        begin_thread(burn_all, &thread);
        nanosleep(&pause, NULL);
    }
    return arg;
}

/* Whose parent is the last to get events. */
static void
burn_in_born_late(void)
{
    pthread_t thread;

    for (unsigned i = 0; i < 1500; i++)
        begin_thread(sleep_on, &thread);
    begin_thread(bear_burners, &thread);
    while (atomic_load(&shared->threads) < 1500)
        sched_yield();
    atomic_fetch_add(&shared->turns, 1);
    sleep_on(NULL);
}

static void *
end_at_once(void *arg)
{
    return arg;
}

static void
bear_threads(void)
{
    pthread_t thread;

    for (;;) {
        if (begin_thread(end_at_once, &thread))
            pthread_join(thread, NULL);
        atomic_fetch_add(&shared->turns, 1);
    }
}

/* In part in the kernel. */
static void
burn_and_read(void)
{
    static char zeros[1 << 20];
    int fd = open("/dev/zero", O_RDONLY);

    for (;;) { /* not by read(), in which a sanitizer takes most of the time */
        for (int i = 0; i < 20; i++)
            if (syscall(SYS_read, fd, zeros, sizeof(zeros)) < 0)
                _exit(1);
        atomic_fetch_add(&shared->turns, 1);
    }
}

/* By turns it sleeps, and waits as nothing can interrupt it: for its child of
 * vfork. */
static void
sleep_and_vfork(void)
{
    const struct timespec pause = {0, 100 * MS}, longer = {0, 400 * MS};

    for (;;) {
        atomic_fetch_add(&shared->turns, 1);
        nanosleep(&pause, NULL);
        if (vfork() == 0) {
            nanosleep(&longer, NULL);
            _exit(0);
        }
        wait(NULL);
    }
}

/* The main thread has ended, others go on. */
static void
burn_without_main(void)
{
    pthread_t thread;

    begin_thread(burn_all, &thread);
    pthread_exit(NULL);
}

/* Until there is a sample of it. */
static void
burn_for_a_moment(void)
{
    while (!atomic_load(&shared->sampled)) {
        burn_one(1);
        atomic_fetch_add(&shared->turns, 1);
    }
}

/* ---- what the test sees ---- */

struct tally {
    uint64_t ns[4]; /* six, three, one, elsewhere */
    uint64_t total_ns, samples;
    double squares;                 /* of nanoseconds */
    unsigned with_stack, in_kernel; /* that have a frame there */
    atomic_bool cancelled;
    uint64_t cancel_after; /* samples; 0: never */
};

static struct tally tally;
static struct sampler_report report;
static struct error err;

static bool
lies_in(uint64_t pc, const char *from, const char *to)
{
    return pc >= (uint64_t)(uintptr_t)from && pc < (uint64_t)(uintptr_t)to;
}

static int
on_sample(void *arg, const struct sample *sample, struct error *unused)
{
    uint64_t pc = sample->registers.values[REGISTER_PC];
    int place = 3;

    (void)arg, (void)unused;
    if (lies_in(pc, __start_code_six, __stop_code_six))
        place = 0;
    else if (lies_in(pc, __start_code_three, __stop_code_three))
        place = 1;
    else if (lies_in(pc, __start_code_one, __stop_code_one))
        place = 2;
    tally.ns[place] += sample->nanoseconds;
    tally.total_ns += sample->nanoseconds;
    tally.squares += (double)sample->nanoseconds * (double)sample->nanoseconds;
    tally.samples++;
    atomic_store(&shared->sampled, true);
    ck_assert_uint_eq(sample->stack.start,
                      sample->registers.values[REGISTER_SP]);
    if (sample->stack.size >= 64)
        tally.with_stack++;
    for (size_t i = 0; i < sample->kernel_count; i++)
        if (sample->kernel[i] >= 1ULL << 63 && sample->kernel[i] < -4095ULL) {
            tally.in_kernel++;
            break;
        }
    if (tally.cancel_after > 0 && tally.samples >= tally.cancel_after)
        atomic_store(&tally.cancelled, true);
    return 0;
}

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
    while (atomic_load(&shared->turns) + atomic_load(&shared->threads) == 0)
        sched_yield();
}

static void
end(void)
{
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    munmap(shared, sizeof(*shared));
}

static int
run_for(uint32_t milliseconds, uint32_t hz, bool wall, enum sampler_way way)
{
    struct sampler_options options = {.pid = child,
                                      .milliseconds = milliseconds,
                                      .hz = hz,
                                      .wall = wall,
                                      .way = way,
                                      .cancelled = &tally.cancelled};

    return sampler_run(&options, on_sample, NULL, &report, &err);
}

static void
say_report(const char *what)
{
    double total = tally.total_ns > 0 ? (double)tally.total_ns : 1;

    fprintf(
        stderr,
        "%s: %s, %u ms, %u Hz, %llu samples of %.0f ms (processor %llu "
        "ms), 60/30/10: %.1f/%.1f/%.1f, lost %llu, threads %u, unseen %u "
        "(%llu ms), %llu stops of %.1f us, at most %llu us; %s\n",
        what, report.way == SAMPLER_PERF ? "perf" : "ptrace",
        report.milliseconds, report.hz, (unsigned long long)report.samples,
        total / 1e6, (unsigned long long)report.processor_ms,
        100 * (double)tally.ns[0] / total, 100 * (double)tally.ns[1] / total,
        100 * (double)tally.ns[2] / total, (unsigned long long)report.lost,
        report.threads, report.unseen, (unsigned long long)report.unseen_ms,
        (unsigned long long)report.stops,
        report.stops ? (double)report.pause_total_us / (double)report.stops : 0,
        (unsigned long long)report.pause_max_us, report.why_not_better);
}

/* Within 1.5 points and five standard deviations, for samples of these weights:
 * on a busy machine they are few. */
static bool
is_share(double seen, double share)
{
    double off = seen - share, total = (double)tally.total_ns;

    return off * off < 0.015 * 0.015 + 25 * share * (1 - share) *
                                           tally.squares / (total * total);
}

static bool
shares_hold(enum sampler_way way)
{
    static const double shares[] = {0.6, 0.3, 0.1};
    bool all = tally.samples > 0;

    (void)way;
    for (int i = 0; i < 3; i++)
        all = all &&
              is_share((double)tally.ns[i] / (double)tally.total_ns, shares[i]);
    return all;
}

/* What is sampled is what was used, within the clock's ticks.  By ptrace chance
 * decides who runs at a tick: within four standard deviations besides. */
static bool
used_holds(enum sampler_way way)
{
    double used = (double)report.processor_ms * MS, slack = 20.0 * MS;
    double total = (double)tally.total_ns;
    double below = used * 0.8 - slack - total,
           above = total - used * 1.1 - slack;
    double chance = way == SAMPLER_PTRACE ? 16 * tally.squares : 0;

    return (below < 0 || below * below < chance) &&
           (above < 0 || above * above < chance);
}

static bool
shares_and_used_hold(enum sampler_way way)
{
    return shares_hold(way) && used_holds(way) && report.processor_ms > 0;
}

static bool
has_samples(enum sampler_way way)
{
    (void)way;
    return tally.samples > 0;
}

static void
ck_threads(uint32_t count)
{
    ck_assert_uint_ge(report.threads, count);
    ck_assert_uint_le(report.threads, count + MORE_THREADS);
}

/* For a second a busy machine may have no processor for the child; or none for
 * the test, between its last sample and the end: what does not hold by that
 * does in another run.  Where it is wrong, it never does. */
static void
run_until(bool (*holds)(enum sampler_way), uint32_t milliseconds, uint32_t hz,
          bool wall, enum sampler_way way)
{
    for (int i = 0; i < TRIES; i++) {
        memset(&tally, 0, sizeof(tally));
        ck_assert_msg(
            run_for(milliseconds, hz, wall, wall ? SAMPLER_ANY : way) == 0,
            "%s", err.text);
        say_report(i == 0 ? "first" : "once more");
        if (holds(way))
            return;
    }
    ck_abort_msg("in none of %d runs", TRIES);
}

static const enum sampler_way ways[] = {SAMPLER_PERF, SAMPLER_PTRACE};

static bool
is_allowed(enum sampler_way way)
{
    begin(burn_in_two);
    if (run_for(1, 0, false, way) == 0) {
        end();
        memset(&tally, 0, sizeof(tally));
        return true;
    }
    fprintf(stderr, "skipped: %s\n", err.text);
    end();
    return false;
}

START_TEST(shares_are_what_they_are)
{
    if (!is_allowed(ways[_i]))
        return;
    begin(burn_in_two);
    run_until(shares_and_used_hold, 2000, 199, false, ways[_i]);
    ck_assert_uint_eq(tally.with_stack, tally.samples);
    ck_threads(2);
    ck_assert(!report.ended);
    end();
}
END_TEST

START_TEST(frames_in_the_kernel_come_with_those_of_the_process)
{
    struct sampler_options options = {
        .milliseconds = 1000, .kernel = true, .cancelled = &tally.cancelled};

    begin(burn_and_read);
    options.pid = child;
    for (int i = 0; i < TRIES && tally.in_kernel == 0; i++) {
        if (sampler_run(&options, on_sample, NULL, &report, &err) == 0)
            continue;
        ck_assert_msg(strstr(err.text, "with the kernel's functions: ") != NULL,
                      "%s", err.text);
        fprintf(stderr, "skipped: %s\n", err.text);
        end();
        return;
    }
    say_report("system calls");
    fprintf(stderr, "in the kernel: %u\n", tally.in_kernel);
    ck_assert(report.way == SAMPLER_PERF && report.kernel);
    ck_assert_uint_gt(tally.in_kernel, 0);
    options.wall = true; /* of those that wait the kernel says none */
    ck_assert_int_eq(sampler_run(&options, on_sample, NULL, &report, &err), -1);
    end();
}
END_TEST

/* By perf all of them are met at the same moments of their lives. */
static bool
newborn_are_met(enum sampler_way way)
{
    return report.threads > 3 && (way == SAMPLER_PERF || shares_hold(way)) &&
           tally.total_ns / MS + 20 > report.processor_ms / 2;
}

START_TEST(threads_born_meanwhile_are_met)
{
    if (!is_allowed(ways[_i]))
        return;
    begin(burn_in_newborn);
    run_until(newborn_are_met, 1500, 199, false, ways[_i]);
    end();
}
END_TEST

START_TEST(threads_born_while_events_are_opened_are_met)
{
    uint64_t sampled_ms;
    bool holds = false;

    if (!is_allowed(SAMPLER_PERF))
        return;
    for (int i = 0; i < TRIES && !holds; i++) { /* as run_until does */
        begin(burn_in_born_late);
        while (atomic_load(&shared->turns) == 0)
            sched_yield();
        ck_assert_msg(run_for(2000, 499, false, SAMPLER_PERF) == 0, "%s",
                      err.text);
        say_report("born while events are opened");
        sampled_ms = (report.samples + report.lost) * 1000 / 499;
        holds = sampled_ms > report.processor_ms * 7 / 10 &&
                sampled_ms < report.processor_ms * 11 / 10 + 20;
        end();
    }
    ck_assert(holds);
}
END_TEST

START_TEST(threads_that_end_at_once_do_no_harm)
{
    unsigned long long before;

    if (!is_allowed(ways[_i]))
        return;
    begin(bear_threads);
    ck_assert_int_eq(run_for(1000, 0, false, ways[_i]), 0);
    say_report("threads that end at once");
    /* perf meets none of them, and says so. */
    if (ways[_i] == SAMPLER_PERF && report.processor_ms > 100)
        ck_assert_msg(strstr(report.why_not_better, "0 of ") &&
                          strstr(report.why_not_better, "were sampled"),
                      "%s", report.why_not_better);
    before = atomic_load(&shared->turns);
    while (atomic_load(&shared->turns) == before)
        sched_yield();
    end();
}
END_TEST

static void
burn_in_child(void)
{
    if (fork() == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        burn_all(NULL);
    }
    atomic_store(&shared->threads, 1);
    for (;;)
        pause();
}

START_TEST(what_it_forked_is_sampled)
{
    if (!is_allowed(ways[_i]))
        return;
    begin(burn_in_child);
    while (atomic_load(&shared->turns) == 0)
        sched_yield();
    run_until(shares_and_used_hold, 1000, 99, false, ways[_i]);
    ck_assert_uint_ge(report.threads, 2); /* TSan has its own in each */
    ck_assert_uint_eq(report.children, 1);
    end();
}
END_TEST

START_TEST(the_end_of_the_process_ends_it)
{
    if (!is_allowed(ways[_i]))
        return;
    begin(burn_for_a_moment);
    ck_assert_int_eq(run_for(120000, 99, false, ways[_i]), 0);
    say_report("ends");
    ck_assert(report.ended);
    ck_assert_uint_lt(report.milliseconds, 100000);
    ck_assert_uint_gt(tally.samples, 0);
    end();
}
END_TEST

START_TEST(it_goes_on_without_the_main_thread)
{
    if (!is_allowed(ways[_i]))
        return;
    begin(burn_without_main);
    run_until(has_samples, 500, 99, false, ways[_i]);
    ck_assert(!report.ended);
    end();
}
END_TEST

START_TEST(it_can_be_cancelled)
{
    if (!is_allowed(ways[_i]))
        return;
    begin(burn_in_two);
    tally.cancel_after = 5;
    ck_assert_int_eq(run_for(60000, 99, false, ways[_i]), -1);
    ck_assert_int_eq(err.code, ER_QUERY_INTERRUPTED);
    end();
}
END_TEST

START_TEST(two_thousand_threads_are_seen)
{
    if (!is_allowed(ways[_i]))
        return;
    begin(sleep_in_2000);
    while (atomic_load(&shared->threads) < 2000)
        sched_yield();
    ck_assert_msg(run_for(1000, 99, false, ways[_i]) == 0, "%s", err.text);
    say_report("2,000 threads");
    ck_assert_uint_ge(report.threads, 2000);
    end();
}
END_TEST

/* All of them, within milliseconds: on a busy machine in more, which it
 * returns. */
static uint32_t
meet_sleepers(uint32_t count, uint32_t milliseconds, uint32_t hz)
{
    while (atomic_load(&shared->threads) < count)
        sched_yield();
    for (int i = 0; i < 4; i++, milliseconds *= 4) {
        memset(&tally, 0, sizeof(tally));
        ck_assert_msg(run_for(milliseconds, hz, true, SAMPLER_ANY) == 0, "%s",
                      err.text);
        say_report("that sleep");
        if (report.unmet + report.unseen == 0)
            break;
    }
    ck_assert_uint_ge(report.stops, count);
    ck_assert_uint_eq(report.unseen, 0);
    ck_assert_uint_eq(report.unmet, 0);
    return milliseconds;
}

START_TEST(who_sleeps_is_stopped_once)
{
    uint64_t milliseconds;

    if (!is_allowed(SAMPLER_PTRACE))
        return;
    begin(sleep_in_500);
    milliseconds = meet_sleepers(500, 2000, 20);
    /* Some come to run once more, where another preempts them on the way back:
     * that is taken for a run.  Each tick's stops would be more than these. */
    ck_assert_uint_lt(report.stops, 800 + MORE_THREADS * milliseconds / 50);
    ck_threads(500);
    /* All time of all threads. */
    ck_assert_uint_gt(tally.total_ns / MS, 500 * (milliseconds - 50));
    ck_assert_uint_lt(tally.total_ns / MS,
                      report.threads * (report.milliseconds + 1ULL));
    end();
}
END_TEST

START_TEST(by_the_clock_two_thousand_are_met)
{
    uint64_t milliseconds;

    if (!is_allowed(SAMPLER_PTRACE))
        return;
    begin(sleep_in_2000);
    milliseconds = meet_sleepers(2000, 3000, 0);
    ck_assert_uint_eq(report.hz_wanted, SAMPLER_WALL_HZ);
    ck_assert_uint_gt(tally.total_ns / MS, 2000 * (milliseconds - 100));
    ck_assert_uint_eq(tally.with_stack, tally.samples);
    end();
}
END_TEST

START_TEST(by_the_clock_those_that_are_not_met_are_counted)
{
    if (!is_allowed(SAMPLER_PTRACE))
        return;
    begin(sleep_in_2000);
    while (atomic_load(&shared->threads) < 2000)
        sched_yield();
    ck_assert_msg(run_for(0, 0, true, SAMPLER_ANY) == 0, "%s", err.text);
    say_report("2,000 in no time");
    ck_assert_uint_ge(report.unmet, 2000);
    ck_assert_uint_eq(report.unmet, report.threads);
    ck_assert_uint_eq(tally.samples, 0);
    ck_assert_msg(run_for(2, 0, true, SAMPLER_ANY) == 0, "%s", err.text);
    say_report("2,000 in 2 ms");
    ck_assert_uint_gt(report.unmet, 0);
    ck_assert_uint_eq(report.unmet + report.unseen + tally.samples,
                      report.threads);
    ck_assert_uint_gt(report.unseen_ms, 0);
    end();
}
END_TEST

START_TEST(by_the_clock_heapwires_thread_is_left_out)
{
    if (!is_allowed(SAMPLER_PTRACE))
        return;
    begin(sleep_beside_heapwire);
    while (atomic_load(&shared->threads) == 0)
        sched_yield();
    ck_assert_msg(run_for(300, 20, true, SAMPLER_ANY) == 0, "%s", err.text);
    say_report("beside heapwire");
    ck_threads(1);
    ck_assert_uint_eq(tally.ns[0] + tally.ns[1] + tally.ns[2], 0);
    memset(&tally, 0, sizeof(tally));
    ck_assert_int_eq(run_for(300, 20, false, SAMPLER_PTRACE), 0);
    ck_assert_uint_gt(report.threads, 1);
    end();
}
END_TEST

START_TEST(of_the_clock_all_time_counts)
{
    if (!is_allowed(SAMPLER_PTRACE))
        return;
    begin(burn_in_two);
    run_until(MORE_THREADS == 0 ? shares_hold : has_samples, 2000, 20, true,
              SAMPLER_ANY);
    /* On a busy machine a thread may have no processor to stop on. */
    ck_assert_uint_gt(tally.total_ns / MS + report.unseen_ms, 2 * 1900);
    ck_assert_uint_lt(tally.total_ns / MS,
                      report.threads * (report.milliseconds + 1ULL));
    end();
}
END_TEST

START_TEST(of_the_clock_running_and_waiting_have_their_shares)
{
    double burnt, slept, share, seen;
    bool holds = false;

    if (!is_allowed(SAMPLER_PTRACE))
        return;
    begin(burn_and_sleep);
    for (int i = 0; i < TRIES && !holds; i++) { /* as run_until does */
        memset(&tally, 0, sizeof(tally));
        burnt = (double)atomic_load(&shared->burnt_ns);
        slept = (double)atomic_load(&shared->slept_ns);
        ck_assert_int_eq(run_for(4000, 50, true, SAMPLER_ANY), 0);
        burnt = (double)atomic_load(&shared->burnt_ns) - burnt;
        slept = (double)atomic_load(&shared->slept_ns) - slept;
        say_report("runs and waits, by the clock");
        share = burnt / (burnt + slept);
        seen = (double)tally.ns[0] * report.threads / (double)tally.total_ns;
        fprintf(stderr, "ran %.3f of the time, seen %.3f\n", share, seen);
        holds = is_share(seen, share);
    }
    ck_assert(holds);
    end();
}
END_TEST

static bool
half_is_unseen(enum sampler_way way)
{
    (void)way;
    return report.unseen_ms > 1500;
}

START_TEST(time_that_nobody_sees_is_not_that_of_the_stack_before)
{
    uint64_t all_ms;

    if (!is_allowed(SAMPLER_PTRACE))
        return;
    begin(sleep_and_vfork);
    run_until(half_is_unseen, 3000, 50, true, SAMPLER_ANY);
    all_ms = tally.total_ns / MS + report.unseen_ms;
    ck_assert_uint_gt(all_ms, 2900);
    ck_assert_uint_le(all_ms, report.milliseconds + 1);
    ck_assert_uint_eq(report.unseen, 1);
    end();
}
END_TEST

START_TEST(a_run_that_is_over_at_once_has_a_rate)
{
    if (!is_allowed(ways[_i]))
        return;
    begin(burn_in_two);
    ck_assert_int_eq(run_for(0, 0, false, ways[_i]), 0);
    ck_assert_uint_ge(report.hz, 1);
    end();
}
END_TEST

START_TEST(a_stopped_process_has_no_samples_of_the_processor)
{
    if (!is_allowed(ways[_i]))
        return;
    begin(burn_in_two);
    kill(child, SIGSTOP);
    waitpid(child, NULL, WUNTRACED);
    ck_assert_int_eq(run_for(300, 99, false, ways[_i]), 0);
    say_report("stopped");
    ck_assert_uint_le(tally.samples, 2);
    kill(child, SIGCONT);
    end();
}
END_TEST

START_TEST(a_traced_process_is_left_to_perf)
{
    begin(burn_in_two);
    ck_assert_int_eq(ptrace(PTRACE_SEIZE, child, NULL, NULL), 0);
    ck_assert_int_eq(run_for(100, 99, false, SAMPLER_PTRACE), -1);
    ck_assert_msg(strstr(err.text, "traces it"), "%s", err.text);
    end();
}
END_TEST

START_TEST(there_is_no_such_process)
{
    child = 1 << 22;
    ck_assert_int_eq(run_for(100, 99, false, SAMPLER_ANY), -1);
    ck_assert_int_eq(err.code, ER_NO_SUCH_THREAD);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("sampler");
    TCase *tcase = tcase_create("sampler");

    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, shares_are_what_they_are, 0, 2);
    tcase_add_test(tcase, frames_in_the_kernel_come_with_those_of_the_process);
    tcase_add_loop_test(tcase, threads_born_meanwhile_are_met, 0, 2);
    tcase_add_test(tcase, threads_born_while_events_are_opened_are_met);
    tcase_add_loop_test(tcase, threads_that_end_at_once_do_no_harm, 0, 2);
    tcase_add_loop_test(tcase, what_it_forked_is_sampled, 0, 2);
    tcase_add_loop_test(tcase, the_end_of_the_process_ends_it, 0, 2);
    tcase_add_loop_test(tcase, it_goes_on_without_the_main_thread, 0, 2);
    tcase_add_loop_test(tcase, it_can_be_cancelled, 0, 2);
    tcase_add_loop_test(tcase, two_thousand_threads_are_seen, 0, 2);
    tcase_add_test(tcase, who_sleeps_is_stopped_once);
    tcase_add_test(tcase, by_the_clock_two_thousand_are_met);
    tcase_add_test(tcase, by_the_clock_those_that_are_not_met_are_counted);
    tcase_add_test(tcase, by_the_clock_heapwires_thread_is_left_out);
    tcase_add_test(tcase, of_the_clock_all_time_counts);
    /* As in test_ptrace_stop.c. */
    if (!SANITIZED)
        tcase_add_test(tcase,
                       time_that_nobody_sees_is_not_that_of_the_stack_before);
    tcase_add_loop_test(tcase, a_run_that_is_over_at_once_has_a_rate, 0, 2);
    tcase_add_test(tcase, of_the_clock_running_and_waiting_have_their_shares);
    tcase_add_loop_test(
        tcase, a_stopped_process_has_no_samples_of_the_processor, 0, 2);
    tcase_add_test(tcase, a_traced_process_is_left_to_perf);
    tcase_add_test(tcase, there_is_no_such_process);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
