/* test_ptrace_stop.c - a child of the test is stopped, and goes on. */
#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "errors.h"
#include "sample_task.h"
#include "sampler.h"
#include "suite.h"
#include "thread_tracer.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { SANITIZED = 1 };
#else
enum { SANITIZED = 0 };
#endif

/* What the child writes and the test reads. */
struct shared {
    atomic_ullong turns, signals, failures;
};

static struct shared *shared;
static pid_t child;
static struct thread_copy copy;
static uint8_t kept[SAMPLER_STACK_BYTES];
#define MARK 0x6865617077697265ULL
enum { TRIES = 20 };
static struct error err;
static bool gone;

static int
copy_by(struct thread_tracer **tracer, pid_t pid, pid_t tid, char state,
        struct thread_copy *into, bool *ended, struct error *failure)
{
    const struct thread_wanted wanted = {pid, tid, state};
    struct thread_copies copies;

    thread_tracer_copy(tracer, &wanted, 1, &copies);
    /* Check's assertions are neither for threads nor for who may be killed in
     * the middle of their message. */
    if (copies.count != !copies.failed)
        abort();
    *ended = copies.gone;
    *failure = copies.err;
    if (copies.failed)
        return -1;
    *into = copies.list[0];
    return 0;
}

static int
ptrace_copy(pid_t pid, pid_t tid, struct thread_copy *into, bool *ended,
            struct error *failure)
{
    struct thread_tracer *tracer = NULL;
    int rc = copy_by(&tracer, pid, tid, sample_task_state(pid, tid), into,
                     ended, failure);

    thread_tracer_free(tracer);
    return rc;
}

static void
on_signal(int number)
{
    (void)number;
    atomic_fetch_add(&shared->signals, 1);
}

/* A function that is nowhere else on the way. */
__attribute__((noinline)) static void
turn(void)
{
    for (;;)
        atomic_fetch_add(&shared->turns, 1);
}

/* Waits for ever; a wait that ends is a failure. */
__attribute__((noinline)) static void
wait_in_epoll(void)
{
    struct epoll_event event;
    int epoll = epoll_create1(0);

    atomic_fetch_add(&shared->turns, 1);
    for (;;) {
        if (epoll_wait(epoll, &event, 1, -1) < 0)
            atomic_fetch_add(&shared->failures, 1);
    }
}

/* Which any stop ends with EINTR. */
static void
wait_for_long(void)
{
    volatile uint64_t mark = MARK;
    struct epoll_event event;
    int epoll = epoll_create1(0);

    atomic_fetch_add(&shared->turns, 1);
    for (;;) {
        if (epoll_wait(epoll, &event, 1, 100000) < 0)
            atomic_fetch_add(&shared->failures, mark == MARK);
    }
}

static void
begin(void (*body)(void))
{
    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        signal(SIGUSR1, on_signal);
        body();
        _exit(0);
    }
    while (atomic_load(&shared->turns) == 0)
        sched_yield();
}

static void
end(void)
{
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    munmap(shared, sizeof(*shared));
}

static void
ck_goes_on(void)
{
    unsigned long long before = atomic_load(&shared->turns);

    while (atomic_load(&shared->turns) == before)
        sched_yield();
}

START_TEST(copies_registers_and_stack_of_what_runs)
{
    uint64_t pc, from = (uint64_t)(uintptr_t)turn;

    begin(turn);
    ck_assert_msg(ptrace_copy(child, child, &copy, &gone, &err) == 0, "%s",
                  err.text);
    pc = copy.registers.values[REGISTER_PC];
#if !defined(__SANITIZE_THREAD__) /* whose runtime it calls */
    ck_assert_uint_ge(pc, from);
    ck_assert_uint_lt(pc, from + 1024);
#else
    (void)pc, (void)from;
#endif
    ck_assert_uint_eq(copy.stack.start, copy.registers.values[REGISTER_SP]);
    ck_assert_uint_gt(copy.stack.size, 64);
    ck_goes_on();
    end();
}
END_TEST

static void
await_state(char state)
{
    while (sample_task_state(child, child) != state) {
        ck_assert_uint_eq(atomic_load(&shared->failures), 0);
        sched_yield();
    }
}

START_TEST(an_endless_wait_does_not_notice)
{
    begin(wait_in_epoll);
    await_state('S');
    for (int i = 0; i < 100; i++) {
        ck_assert_msg(ptrace_copy(child, child, &copy, &gone, &err) == 0, "%s",
                      err.text);
        await_state('S');
    }
#if defined(__x86_64__)
    ck_assert_uint_eq(atomic_load(&shared->failures), 0);
#endif
    /* A signal handler still ends it. */
    kill(child, SIGUSR1);
    while (atomic_load(&shared->failures) == 0)
        sched_yield();
    end();
}
END_TEST

/* ---- calls that wait, and never end here ---- */

static int ends[2];

static int
in_recv(void)
{
    char byte;

    return (int)recv(ends[0], &byte, 1, 0);
}

static int
in_read(void)
{
    char byte;

    return (int)read(ends[0], &byte, 1);
}

static int
in_write(void)
{
    return (int)write(ends[0], "", 1);
}

static int
in_send(void)
{
    return (int)send(ends[0], "", 1, 0);
}

static int
in_sendmsg(void)
{
    struct iovec bytes = {"", 1};
    struct msghdr message = {.msg_iov = &bytes, .msg_iovlen = 1};

    return (int)sendmsg(ends[0], &message, 0);
}

static int
in_writev(void)
{
    struct iovec bytes = {"", 1};

    return (int)writev(ends[0], &bytes, 1);
}

/* Where containers forbid it, it waits all the same. */
static int
in_io_uring(void)
{
    return ends[0] < 0 ? pause()
                       : (int)syscall(SYS_io_uring_enter, ends[0], 0, 1,
                                      IORING_ENTER_GETEVENTS, NULL, 0);
}

static int
in_accept(void)
{
    return accept(ends[0], NULL, NULL);
}

static int
in_semop(void)
{
    struct sembuf down = {0, -1, 0};

    return semop(ends[0], &down, 1);
}

static int
in_msgrcv(void)
{
    long message[2];

    return (int)msgrcv(ends[0], message, sizeof(long), 0, 0);
}

static int
in_sigtimedwait(void)
{
    struct timespec limit = {100, 0};
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    return sigtimedwait(&set, NULL, &limit);
}

static int
in_poll(void)
{
    struct pollfd polled = {ends[0], POLLIN, 0};

    return poll(&polled, 1, 100000);
}

static int
in_select(void)
{
    struct timeval limit = {100, 0};

    return select(0, NULL, NULL, NULL, &limit);
}

static int
in_nanosleep(void)
{
    struct timespec limit = {100, 0};

    return nanosleep(&limit, NULL);
}

static int
in_sem_wait(void)
{
    sem_t semaphore;

    sem_init(&semaphore, 0, 0);
    return sem_wait(&semaphore);
}

static int
in_short_epoll(void)
{
    struct epoll_event event;
    int rc = epoll_wait(ends[0], &event, 1, 1000);

    return rc == 0 ? in_short_epoll() : rc;
}

static void
pair_with_limit(void)
{
    struct timeval limit = {100, 0};

    (void)!socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
    setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
}

static void
pair_that_is_full(void)
{
    struct timeval limit = {100, 0};

    (void)!socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
    setsockopt(ends[0], SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
    while (send(ends[0], "", 1, MSG_DONTWAIT) > 0)
        ;
}

static void
make_ring(void)
{
    struct io_uring_params params = {0};

    ends[0] = (int)syscall(SYS_io_uring_setup, 1, &params);
}

static void
listen_with_limit(void)
{
    struct timeval limit = {100, 0};
    struct sockaddr_un any = {.sun_family = AF_UNIX};

    ends[0] = socket(AF_UNIX, SOCK_STREAM, 0);
    (void)!bind(ends[0], (struct sockaddr *)&any, sizeof(sa_family_t));
    listen(ends[0], 1);
    setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
}

static void
make_semaphore(void)
{
    ends[0] = semget(IPC_PRIVATE, 1, 0600);
}

static void
make_queue(void)
{
    ends[0] = msgget(IPC_PRIVATE, 0600);
}

static void
make_epoll(void)
{
    ends[0] = epoll_create1(0);
}

static const struct {
    int (*wait)(void);
    void (*make)(void);
    bool everywhere; /* not on x86-64 alone */
} waits[] = {{in_recv, pair_with_limit},
             {in_read, pair_with_limit},
             {in_write, pair_that_is_full},
             {in_writev, pair_that_is_full},
             {in_send, pair_that_is_full},
             {in_sendmsg, pair_that_is_full},
             {in_io_uring, make_ring},
             {in_accept, listen_with_limit},
             {in_semop, make_semaphore},
             {in_msgrcv, make_queue},
             {in_sigtimedwait, make_queue},
             {in_short_epoll, make_epoll},
             {in_poll, pair_with_limit, true},
             {in_select, pair_with_limit, true},
             {in_nanosleep, pair_with_limit, true},
             {in_sem_wait, pair_with_limit, true}};
static int waiting;

static void
wait_in_call(void)
{
    atomic_fetch_add(&shared->turns, 1);
    waits[waiting].wait();
    atomic_fetch_add(&shared->failures, 1);
}

START_TEST(calls_go_on)
{
    waiting = _i;
    waits[_i].make();
    begin(wait_in_call);
    for (int i = 0; i < 20; i++) {
        await_state('S');
        ck_assert_msg(ptrace_copy(child, child, &copy, &gone, &err) == 0, "%s",
                      err.text);
        ck_assert_uint_eq(atomic_load(&shared->failures), 0);
    }
    await_state('S');
    end();
    if (waits[_i].make == make_semaphore)
        semctl(ends[0], 0, IPC_RMID);
    if (waits[_i].make == make_queue)
        msgctl(ends[0], IPC_RMID, NULL);
}
END_TEST

/* One in state D has but milliseconds, in which the tracer may not begin. */
static void
copy_unstopped(char state)
{
    const struct thread_wanted wanted = {child, child, state, true};
    struct thread_tracer *tracer = NULL;
    struct thread_copies copies = {.count = 0};

    for (int i = 0; i < TRIES && copies.count == 0; i++)
        thread_tracer_copy(&tracer, &wanted, 1, &copies);
    ck_assert_msg(copies.count == 1, "%s", copies.err.text);
    copy = copies.list[0];
    memcpy(kept, copy.stack.bytes, copy.stack.size);
    copy.stack.bytes = kept;
    thread_tracer_free(tracer);
}

START_TEST(one_that_waits_need_not_be_stopped)
{
    const uint64_t known = (uint64_t)1 << REGISTER_SP | (uint64_t)1
                                                            << REGISTER_PC;
    const uint64_t mark = MARK;
    uint64_t sp, pc;

    begin(wait_for_long);
    await_state('S');
    ck_assert(sample_task_waits(child, child, &sp, &pc));
    for (int i = 0; i < 100; i++) {
        copy_unstopped('S');
        ck_assert_uint_eq(~copy.registers.missing, known);
        ck_assert_uint_eq(copy.registers.values[REGISTER_SP], sp);
        ck_assert_uint_eq(copy.registers.values[REGISTER_PC], pc);
        ck_assert_uint_eq(copy.stack.start, sp);
        ck_assert_uint_eq(copy.pause_us, 0);
        ck_assert_ptr_nonnull(
            memmem(kept, copy.stack.size, &mark, sizeof(mark)));
    }
    ck_assert_uint_eq(atomic_load(&shared->failures), 0);
    end();
}
END_TEST

START_TEST(one_that_runs_is_stopped_all_the_same)
{
    begin(turn);
    for (int i = 0; i < 20; i++) {
        copy_unstopped('S');
        ck_assert_uint_eq(copy.registers.missing, 0);
        ck_assert_uint_eq(copy.stack.start, copy.registers.values[REGISTER_SP]);
    }
    ck_goes_on();
    end();
}
END_TEST

START_TEST(a_stopped_process_stays_stopped)
{
    begin(turn);
    kill(child, SIGSTOP);
    await_state('T');
    for (int i = 0; i < 20; i++) {
        ck_assert_msg(ptrace_copy(child, child, &copy, &gone, &err) == 0, "%s",
                      err.text);
        await_state('T');
    }
    kill(child, SIGCONT);
    ck_goes_on();
    end();
}
END_TEST

START_TEST(no_signal_is_lost)
{
    begin(turn);
    for (unsigned i = 0; i < 500; i++) {
        kill(child, SIGUSR1);
        ck_assert_msg(ptrace_copy(child, child, &copy, &gone, &err) == 0, "%s",
                      err.text);
        while (atomic_load(&shared->signals) != i + 1)
            sched_yield();
    }
    ck_goes_on();
    end();
}
END_TEST

/* The test's own thread of another process kills the tracer at any moment. */
START_TEST(the_death_of_the_tracer_lets_it_go_on)
{
    const char *rounds = getenv("ROUNDS");
    unsigned long sent = 0;

    begin(turn);
    for (int i = 0, n = rounds ? atoi(rounds) : 300; i < n; i++) {
        pid_t tracer = fork();
        struct timespec pause = {0, (i * 7919L) % 400000};

        if (tracer == 0) {
            for (;;)
                ptrace_copy(child, child, &copy, &gone, &err);
        }
        nanosleep(&pause, NULL);
        kill(child, SIGUSR1);
        sent++;
        nanosleep(&pause, NULL);
        kill(tracer, SIGKILL);
        waitpid(tracer, NULL, 0);
        ck_goes_on();
        while (atomic_load(&shared->signals) != sent)
            sched_yield();
    }
    end();
}
END_TEST

START_TEST(says_who_traces_it_already)
{
    begin(turn);
    ck_assert_int_eq(ptrace(PTRACE_SEIZE, child, NULL, NULL), 0);
    ck_assert_int_eq(ptrace_copy(child, child, &copy, &gone, &err), -1);
    ck_assert(!gone);
    ck_assert_msg(strstr(err.text, "traces it"), "%s", err.text);
    ck_assert_msg(strstr(err.text, "test_ptrace_sto"), "%s", err.text);
    end();
}
END_TEST

static void *
copy_too(void *arg)
{
    struct thread_copy *own = malloc(sizeof(*own));
    struct error failure = {0};
    bool ended;

    for (int i = 0; i < 200; i++) {
        if (ptrace_copy(child, child, own, &ended, &failure) != 0)
            arg = NULL;
    }
    free(own);
    return arg;
}

/* A profile and a list of threads may be taken at the same time. */
START_TEST(two_may_copy_the_same_thread)
{
    void *ok = NULL;
    pthread_t other;

    begin(turn);
    ck_assert_int_eq(pthread_create(&other, NULL, copy_too, shared), 0);
    for (int i = 0; i < 200; i++)
        ck_assert_msg(ptrace_copy(child, child, &copy, &gone, &err) == 0, "%s",
                      err.text);
    pthread_join(other, &ok);
    ck_assert_ptr_nonnull(ok);
    ck_goes_on();
    end();
}
END_TEST

START_TEST(tells_that_a_thread_has_ended)
{
    begin(turn);
    kill(child, SIGKILL);
    await_state('Z');
    ck_assert_int_eq(ptrace_copy(child, child, &copy, &gone, &err), -1);
    ck_assert(gone);
    end();
    ck_assert_int_eq(ptrace_copy(child, child, &copy, &gone, &err), -1);
    ck_assert(gone);
}
END_TEST

/* A parent that waits for its child of vfork does not stop. */
static void
wait_in_vfork(void)
{
    atomic_fetch_add(&shared->turns, 1);
    if (vfork() == 0) {
        while (atomic_load(&shared->signals) == 0) /* a child of vfork */
            usleep(1000);
        _exit(0);
    }
    turn();
}

START_TEST(a_thread_that_does_not_stop_is_let_go)
{
    begin(wait_in_vfork);
    await_state('D');
    ck_assert_int_eq(ptrace_copy(child, child, &copy, &gone, &err), -1);
    ck_assert(!gone);
    ck_assert_msg(strstr(err.text, "state D"), "%s", err.text);
    copy_unstopped('D');
    ck_assert_uint_ne(copy.registers.missing, 0);
    atomic_store(&shared->signals, 1);
    ck_goes_on();
    end();
}
END_TEST

/* ---- a tracer that has no processor ---- */

static atomic_bool starved; /* until it is cancelled */

/* The tracer's first call: this one goes before libc's. */
pid_t
gettid(void)
{
    while (atomic_load(&starved))
        usleep(100);
    return (pid_t)syscall(SYS_gettid);
}

int __real_pthread_cancel(pthread_t thread);

int
pthread_cancel(pthread_t thread)
{
    return atomic_exchange(&starved, false) ? 0 : __real_pthread_cancel(thread);
}

START_TEST(a_copy_that_never_began_is_none)
{
    struct thread_tracer *tracer = NULL;

    begin(turn);
    atomic_store(&starved, true);
    ck_assert_int_eq(copy_by(&tracer, child, child, 'D', &copy, &gone, &err),
                     -1);
    ck_assert(!gone);
    ck_assert_int_eq(copy_by(&tracer, child, child, 'R', &copy, &gone, &err),
                     0);
    thread_tracer_free(tracer);
    end();
}
END_TEST

/* ---- a stack that cannot be read ---- */

#if defined(__x86_64__)
/* Its stack lies where nobody answers for missing pages: as in a file of FUSE
 * whose server hangs. */
static void
turn_on_missing_stack(void)
{
    enum { SIZE = 1 << 16 };
    int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
    char *stack = mmap(NULL, SIZE, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct uffdio_api api = {.api = UFFD_API};
    struct uffdio_register missing = {.range = {(uintptr_t)stack, SIZE},
                                      .mode = UFFDIO_REGISTER_MODE_MISSING};

    if (ioctl(fd, UFFDIO_API, &api) != 0 ||
        ioctl(fd, UFFDIO_REGISTER, &missing) != 0)
        atomic_store(&shared->failures, 1);
    atomic_fetch_add(&shared->turns, 1);
    if (atomic_load(&shared->failures) == 0)
        __asm__ volatile("mov %0, %%rsp\n"
                         "1: jmp 1b\n" ::"r"(stack + SIZE / 2));
}

START_TEST(a_stack_that_cannot_be_read_holds_nobody)
{
    struct thread_tracer *tracer = NULL;

    begin(turn_on_missing_stack);
    if (atomic_load(&shared->failures) > 0)
        fprintf(stderr, "skipped: no userfaultfd\n");
    /* Once it is on that stack. */
    while (atomic_load(&shared->failures) == 0 &&
           copy_by(&tracer, child, child, 'R', &copy, &gone, &err) == 0)
        ;
    ck_assert(!gone);
    ck_assert(atomic_load(&shared->failures) > 0 ||
              strstr(err.text, "did not stop in"));
    thread_tracer_free(tracer);
    end();
}
END_TEST
#endif

int
main(void)
{
    Suite *suite = suite_create("ptrace_stop");
    TCase *tcase = tcase_create("ptrace_stop");

    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, copies_registers_and_stack_of_what_runs);
    tcase_add_test(tcase, an_endless_wait_does_not_notice);
    for (int i = 0; i < (int)(sizeof(waits) / sizeof(waits[0])); i++) {
#if !defined(__x86_64__)
        if (!waits[i].everywhere)
            continue;
#endif
        tcase_add_loop_test(tcase, calls_go_on, i, i + 1);
    }
    tcase_add_test(tcase, one_that_waits_need_not_be_stopped);
    tcase_add_test(tcase, one_that_runs_is_stopped_all_the_same);
    tcase_add_test(tcase, a_stopped_process_stays_stopped);
    tcase_add_test(tcase, no_signal_is_lost);
    tcase_add_test(tcase, the_death_of_the_tracer_lets_it_go_on);
    tcase_add_test(tcase, says_who_traces_it_already);
    tcase_add_test(tcase, two_may_copy_the_same_thread);
    tcase_add_test(tcase, tells_that_a_thread_has_ended);
    /* AddressSanitizer 12 takes the stack of a cancelled thread for spoilt,
     * ThreadSanitizer makes a fork of vfork, and calls before the tracer. */
    if (!SANITIZED) {
        tcase_add_test(tcase, a_thread_that_does_not_stop_is_let_go);
        tcase_add_test(tcase, a_copy_that_never_began_is_none);
    }
#if defined(__x86_64__)
    tcase_add_test(tcase, a_stack_that_cannot_be_read_holds_nobody);
#endif
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
