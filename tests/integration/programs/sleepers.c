/*
 * sleepers.c - a program whose threads sleep in every way that
 * heapwire-run --attach borrows a thread from, and which notices everything.
 *
 *     sleepers KIND...   a thread for each; "all"; the last is the main thread
 *
 * Each sleeps again and again, for as long as it says, and looks whether it was
 * woken early, late or by a signal, and whether a register has changed.  Ends
 * by SIGTERM: status 0 if nothing was ever wrong.
 */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

/* Who attaches may be kept from a processor while it has a thread: at load 40
 * for a quarter of a second, again and again. */
enum { LATE_MS = 1000, FAR_MS = 300, KINDS_MAX = 32 };

static atomic_bool end;
static atomic_ulong rounds, wrong, late;
/* Those of a child that sleeps likewise and is left alone: how late the machine
 * is by itself. */
static atomic_ulong *late_alone;
static atomic_long latest_us;
static bool is_control;

static void
note(const char *kind, const char *what, long a, long b)
{
    wrong++;
    printf("WRONG: %s: %s (%ld, %ld)\n", kind, what, a, b);
    fflush(stdout);
}

static int64_t
microseconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* ---- a call with known registers ---- */

struct registers {
    uint64_t general[5];
    uint64_t vectors[8][2];
    uint32_t control;
};

/* function(a, b, c, d, e), in whose course rbx, r12-r15, xmm8-15 and mxcsr must
 * not change: libc's wrappers of system calls leave them alone. */
static long
call_watched(const char *kind, void *function, long a, long b, long c, long d,
             long e)
{
    static const struct registers set = {
        .general = {0x1111222233334444, 0x5555666677778888, 0x9999aaaabbbbcccc,
                    0xddddeeeeffff0000, 0x0123456789abcdef},
        .vectors = {{1, 2},
                    {3, 4},
                    {5, 6},
                    {7, 8},
                    {9, 10},
                    {11, 12},
                    {13, 14},
                    {15, 16}},
        .control = 0x3f80, /* rounds down */
    };
    struct registers got = {0};
    uint32_t before;
    long result;

    __asm__ volatile("stmxcsr %0" : "=m"(before));
    {
        register long r10 __asm__("r10") = (long)function;
        register long r8 __asm__("r8") = e;
        register const struct registers *in __asm__("r9") = &set;
        register struct registers *out __asm__("r11") = &got;

        __asm__ volatile(
            "push %%rbp\n mov %%rsp, %%rbp\n sub $256, %%rsp\n"
            "and $-16, %%rsp\n push %%r11\n push %%r11\n"
            "mov (%%r9), %%rbx\n mov 8(%%r9), %%r12\n mov 16(%%r9), %%r13\n"
            "mov 24(%%r9), %%r14\n mov 32(%%r9), %%r15\n"
            "movups 40(%%r9), %%xmm8\n movups 56(%%r9), %%xmm9\n"
            "movups 72(%%r9), %%xmm10\n movups 88(%%r9), %%xmm11\n"
            "movups 104(%%r9), %%xmm12\n movups 120(%%r9), %%xmm13\n"
            "movups 136(%%r9), %%xmm14\n movups 152(%%r9), %%xmm15\n"
            "ldmxcsr 168(%%r9)\n xor %%eax, %%eax\n"
            "call *%%r10\n"
            "pop %%r11\n"
            "mov %%rbx, (%%r11)\n mov %%r12, 8(%%r11)\n"
            "mov %%r13, 16(%%r11)\n mov %%r14, 24(%%r11)\n"
            "mov %%r15, 32(%%r11)\n"
            "movups %%xmm8, 40(%%r11)\n movups %%xmm9, 56(%%r11)\n"
            "movups %%xmm10, 72(%%r11)\n movups %%xmm11, 88(%%r11)\n"
            "movups %%xmm12, 104(%%r11)\n movups %%xmm13, 120(%%r11)\n"
            "movups %%xmm14, 136(%%r11)\n movups %%xmm15, 152(%%r11)\n"
            "stmxcsr 168(%%r11)\n mov %%rbp, %%rsp\n pop %%rbp\n"
            : "=a"(result), "+D"(a), "+S"(b), "+d"(c), "+c"(d), "+r"(r8),
              "+r"(r10), "+r"(in), "+r"(out)
            :
            : "rbx", "r12", "r13", "r14", "r15", "xmm0", "xmm1", "xmm2", "xmm3",
              "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11",
              "xmm12", "xmm13", "xmm14", "xmm15", "memory", "cc");
    }
    __asm__ volatile("ldmxcsr %0" : : "m"(before));
    if (memcmp(got.general, set.general, sizeof(set.general)) != 0)
        note(kind, "a register has changed", (long)got.general[0],
             (long)got.general[1]);
    if (memcmp(got.vectors, set.vectors, sizeof(set.vectors)) != 0)
        note(kind, "a vector has changed", (long)got.vectors[0][0],
             (long)got.vectors[0][1]);
    if ((got.control & 0xffc0) != (set.control & 0xffc0))
        note(kind, "mxcsr has changed", (long)got.control, 0);
    return (int)result;
}

/* ---- the ways to sleep ---- */

static int
timer_in(long ms)
{
    struct itimerspec at = {.it_value = {ms / 1000, ms % 1000 * 1000000}};
    int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);

    timerfd_settime(fd, 0, &at, NULL);
    return fd;
}

static int
epoll_of(int fd)
{
    struct epoll_event event = {.events = EPOLLIN};
    int epoll = epoll_create1(EPOLL_CLOEXEC);

    if (fd >= 0)
        epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
    return epoll;
}

static struct timespec
timespec_of(long ms)
{
    return (struct timespec){ms / 1000, ms % 1000 * 1000000};
}

static long
by_poll(const char *kind, long ms)
{
    return call_watched(kind, poll, 0, 0, ms, 0, 0);
}

static long
by_poll_event(const char *kind, long ms)
{
    struct pollfd polled = {.fd = timer_in(ms), .events = POLLIN};
    long n = call_watched(kind, poll, (long)&polled, 1, -1, 0, 0);

    close(polled.fd);
    return n < 0 ? -1 : n - 1;
}

static long
by_ppoll(const char *kind, long ms)
{
    struct timespec timeout = timespec_of(ms);
    sigset_t mask;

    sigemptyset(&mask);
    sigaddset(&mask, SIGUSR1);
    return call_watched(kind, ppoll, 0, 0, (long)&timeout, (long)&mask, 0);
}

static long
by_select(const char *kind, long ms)
{
    struct timeval timeout = {ms / 1000, ms % 1000 * 1000};

    return call_watched(kind, select, 0, 0, 0, 0, (long)&timeout);
}

static long
by_pselect(const char *kind, long ms)
{
    struct timespec timeout = timespec_of(ms);
    sigset_t mask;

    (void)kind;
    sigemptyset(&mask);
    return pselect(0, NULL, NULL, NULL, &timeout, &mask);
}

static long
by_epoll(const char *kind, long ms)
{
    struct epoll_event event;
    int epoll = epoll_of(-1);
    long n = call_watched(kind, epoll_wait, epoll, (long)&event, 1, ms, 0);

    close(epoll);
    return n;
}

static long
by_epoll_event(const char *kind, long ms)
{
    struct epoll_event event;
    int timer = timer_in(ms), epoll = epoll_of(timer);
    long n = call_watched(kind, epoll_wait, epoll, (long)&event, 1, -1, 0);

    close(epoll);
    close(timer);
    return n < 0 ? -1 : n - 1;
}

static long
by_epoll_pwait(const char *kind, long ms)
{
    struct epoll_event event;
    int epoll = epoll_of(-1);
    sigset_t mask;
    long n;

    sigemptyset(&mask);
    n = call_watched(kind, epoll_pwait, epoll, (long)&event, 1, ms,
                     (long)&mask);
    close(epoll);
    return n;
}

static long
by_nanosleep(const char *kind, long ms)
{
    struct timespec timeout = timespec_of(ms), left = {0, 0};

    return call_watched(kind, nanosleep, (long)&timeout, (long)&left, 0, 0, 0);
}

static long
by_clock_nanosleep(const char *kind, long ms)
{
    struct timespec at;

    clock_gettime(CLOCK_MONOTONIC, &at);
    at.tv_sec += (at.tv_nsec / 1000000 + ms) / 1000;
    at.tv_nsec =
        (at.tv_nsec / 1000000 + ms) % 1000 * 1000000 + at.tv_nsec % 1000000;
    errno = (int)call_watched(kind, clock_nanosleep, CLOCK_MONOTONIC,
                              TIMER_ABSTIME, (long)&at, 0, 0);
    return errno ? -1 : 0;
}

static long
by_condition(const char *kind, long ms)
{
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_condattr_t attr;
    pthread_cond_t cond;
    struct timespec at;
    int error;

    (void)kind;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&cond, &attr);
    clock_gettime(CLOCK_MONOTONIC, &at);
    at.tv_nsec += ms * 1000000;
    at.tv_sec += at.tv_nsec / 1000000000;
    at.tv_nsec %= 1000000000;
    pthread_mutex_lock(&lock);
    error = pthread_cond_timedwait(&cond, &lock, &at);
    pthread_mutex_unlock(&lock);
    errno = error;
    return error == ETIMEDOUT ? 0 : -1;
}

/* Until a thread of its own has connected. */
static void *
connect_late(void *arg)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int listener = ((int *)arg)[0], ms = ((int *)arg)[1];
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    socklen_t size = sizeof(address);
    int64_t until = microseconds() + ms * 1000;

    getsockname(listener, (struct sockaddr *)&address, &size);
    while (microseconds() < until)
        sched_yield(); /* not asleep: it is not to be borrowed */
    connect(fd, (struct sockaddr *)&address, size);
    close(fd);
    return NULL;
}

static long
by_accept(const char *kind, long ms)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int args[2] = {socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), (int)ms};
    pthread_t thread;
    long fd;

    bind(args[0], (struct sockaddr *)&address, sizeof(sa_family_t));
    listen(args[0], 1);
    pthread_create(&thread, NULL, connect_late, args);
    fd = call_watched(kind, accept, args[0], 0, 0, 0, 0);
    pthread_join(thread, NULL);
    close((int)fd);
    close(args[0]);
    return fd < 0 ? -1 : 0;
}

static const struct kind {
    const char *name;
    long (*sleep)(const char *name, long ms); /* 0: slept to its end */
} kinds[] = {
    {"poll", by_poll},
    {"poll_event", by_poll_event},
    {"ppoll", by_ppoll},
    {"select", by_select},
    {"pselect", by_pselect},
    {"epoll", by_epoll},
    {"epoll_event", by_epoll_event},
    {"epoll_pwait", by_epoll_pwait},
    {"nanosleep", by_nanosleep},
    {"clock_nanosleep", by_clock_nanosleep},
    {"condition", by_condition},
    {"accept", by_accept},
};

static void *
run(void *arg)
{
    const struct kind *kind = arg;

    pthread_setname_np(pthread_self(), kind->name);
    while (!end) {
        int64_t began = microseconds(), over;
        long got = kind->sleep(kind->name, FAR_MS);
        int error = errno;

        over = microseconds() - began - FAR_MS * 1000L;
        if (end)
            break; /* a signal ended it */
        if (got != 0)
            note(kind->name, "returned this, with errno", got, error);
        if (over < -1500)
            note(kind->name, "so many us too early, of ms", (long)-over,
                 FAR_MS);
        if (over > LATE_MS * 1000L)
            (*(is_control ? late_alone : &late))++;
        if (over > latest_us)
            latest_us = (long)over;
        rounds++;
    }
    return NULL;
}

/* The child goes on as its parent does, and ends with it. */
static void
start_control(void)
{
    late_alone = mmap(NULL, sizeof(*late_alone), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (late_alone == MAP_FAILED)
        exit(71);
    is_control = fork() == 0;
    if (is_control)
        prctl(PR_SET_PDEATHSIG, SIGKILL);
}

static void
on_end(int signal)
{
    (void)signal;
    end = true;
}

/* The loader has used the main thread's stack: where a wrapper of libc leaves
 * room in its frame, return addresses of the loader's stay, and the thread
 * looks like one that sleeps for it. */
static __attribute__((noinline)) void
clear_stack(void)
{
    volatile char below[64 * 1024];

    for (size_t i = 0; i < sizeof(below); i++)
        below[i] = 0;
}

int
main(int argc, char **argv)
{
    struct sigaction action = {.sa_handler = on_end, .sa_flags = SA_RESTART};
    const struct kind *last = NULL;
    pthread_t threads[KINDS_MAX];
    int count = 0;

    clear_stack();
    sigaction(SIGTERM, &action, NULL);
    start_control();
    for (int i = 1; i < argc; i++) {
        for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
            if (strcmp(argv[i], kinds[k].name) != 0 &&
                strcmp(argv[i], "all") != 0)
                continue;
            if (last)
                pthread_create(&threads[count++], NULL, run, (void *)last);
            last = &kinds[k];
        }
    }
    if (!last)
        return 64;
    if (!is_control) {
        printf("ready\n");
        fflush(stdout);
    }
    run((void *)last);
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    /* A busy machine makes some late, ours as those of the child: by chance
     * twice as many, or two. */
    if (late > 2 + 2 * *late_alone)
        note("any", "so many sleeps too late, and of those left alone",
             (long)late, (long)*late_alone);
    printf("%lu sleeps, %lu wrong, %ld us late at most\n",
           (unsigned long)rounds, (unsigned long)wrong, (long)latest_us);
    return wrong != 0;
}
