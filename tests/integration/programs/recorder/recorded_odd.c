/*
 * recorded_odd.c - what programs do to their heap beside malloc and free, for
 * recorder.py.
 *
 * recorded_odd MODE: see the table at the end.  Prints its live blocks by site,
 * and waits to be killed.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "recorded_sites.h"

enum {
    BLOCKS = 300,
    CHILDREN = 20,
    THREADS = 5000,
    CONTEXTS = 8,
    SMALL_STACK = 16384,
    LEFT = 1600, /* of a small stack: what malloc needs, and 1.6 KB of ours */
    ROUNDS = 20,
    ALARMS = 150 /* of a round */
};

#define JEMALLOC __attribute__((weak))
JEMALLOC extern void *mallocx(size_t size, int flags);
JEMALLOC extern void *rallocx(void *block, size_t size, int flags);
JEMALLOC extern size_t xallocx(void *block, size_t size, size_t extra,
                               int flags);
JEMALLOC extern void dallocx(void *block, int flags);
JEMALLOC extern void sdallocx(void *block, size_t size, int flags);

static void *held[BLOCKS];
static void *(*volatile rallocx_opaque)(void *, size_t, int);

SITE(kept, malloc(size))
SITE(passing, malloc(size))
SITE(extended, mallocx(size, 6))
SITE(regrown, rallocx_opaque(held[0], size, 0))

/* ---- forks: what children do is not the program's ---- */

static void
use_heap(void)
{
    for (int i = 0; i < BLOCKS; i++) {
        free(held[i]);
        held[i] = site_kept.take(100);
        free(site_passing.take(5000));
    }
}

static void
fork_children(const char *self)
{
    char *const again[] = {(char *)self, (char *)"child", NULL};

    for (int i = 0; i < BLOCKS; i++)
        held[i] = site_take(&site_kept, (size_t)i + 1);
    for (int i = 0; i < CHILDREN; i++) {
        /* As libc does it, past libc, and to another program. */
        pid_t child = i % 3 == 1
                          ? (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0)
                          : fork();

        if (child == 0) {
            use_heap();
            if (i % 3 == 2)
                execv(self, again);
            _exit(0);
        }
        free(site_passing.take(77));
        waitpid(child, NULL, 0);
    }
}

static void
run_forks(const char *self)
{
    fork_children(self);
}

/* ---- jemalloc's own functions ---- */

static void
run_jemalloc(const char *self)
{
    (void)self;
    rallocx_opaque = rallocx;
    for (int i = 0; i < BLOCKS; i++) {
        void *block = site_take(&site_extended, 3000);

        if (i % 3 == 0) {
            dallocx(block, 0);
            site_gone(&site_extended, 3000);
        } else if (i % 3 == 1) {
            sdallocx(block, 3000, 0);
            site_gone(&site_extended, 3000);
        } else if (xallocx(block, 1 << 20, 0, 0) >= 1 << 20) {
            abort(); /* it cannot grow so far: its sample is put back */
        }
    }
    held[0] = malloc(10);
    for (size_t size = 100; size < 100000; size *= 2) {
        held[0] = site_take(&site_regrown, size);
        if (size > 100)
            site_gone(&site_regrown, size / 2);
    }
}

/* ---- signals: handlers that allocate, and that leave by longjmp ---- */

static sigjmp_buf back;
static volatile sig_atomic_t alarms;

static void
on_alarm(int number)
{
    (void)number;
    free(site_passing.take(48));
    if (++alarms % 3 == 0)
        siglongjmp(back, 1);
}

/* With an allocator that bears it: bump_malloc.c. */
static void
be_alarmed(void)
{
    struct itimerval often = {{0, 200}, {0, 200}}, never = {{0, 0}, {0, 0}};

    alarms = 0;
    sigsetjmp(back, 1);
    setitimer(ITIMER_REAL, &often, NULL);
    while (alarms < ALARMS)
        free(realloc(site_passing.take(64), 128));
    setitimer(ITIMER_REAL, &never, NULL);
}

/* Below whatever frame an alarm has ended: the guard that it left shut is open
 * again after some blocks. */
static __attribute__((noinline)) int
keep_from_below(int depth) /* NOLINT(misc-no-recursion) */
{
    char room[64];

    __asm__ volatile("" : : "r"(room) : "memory");
    if (depth > 0)
        return keep_from_below(depth - 1) + room[1];
    for (int i = 0; i < BLOCKS; i++)
        free(site_passing.take(64));
    for (int i = 0; i < BLOCKS; i++)
        held[i] = site_take(&site_kept, 10);
    return room[0];
}

static void
run_signals(const char *self)
{
    (void)self;
    signal(SIGALRM, on_alarm);
    for (int i = 0; i < ROUNDS; i++) {
        be_alarmed();
        keep_from_below(30);
    }
}

/* ---- stacks: small ones, deep ones, and those that programs bring ---- */

static __attribute__((noinline)) int
descend(int depth) /* NOLINT(misc-no-recursion) */
{
    char room[64];

    memset(room, depth, sizeof(room));
    __asm__ volatile("" : : "r"(room) : "memory");
    if (depth == 0) {
        free(site_passing.take(10));
        return room[0];
    }
    return descend(depth - 1) + room[1];
}

/* Down to where only the allocator itself has room. */
static __attribute__((noinline)) int
descend_to(const char *low) /* NOLINT(misc-no-recursion) */
{
    char room[16];

    __asm__ volatile("" : : "r"(room) : "memory");
    if (room - low < LEFT) {
        free(site_passing.take(10));
        return 0;
    }
    return descend_to(low) + room[1];
}

static void *
in_small_stack(void *argument)
{
    pthread_attr_t attributes;
    void *low;
    size_t size;

    if (pthread_getattr_np(pthread_self(), &attributes) != 0 ||
        pthread_attr_getstack(&attributes, &low, &size) != 0)
        abort();
    pthread_attr_destroy(&attributes);
    for (int depth = 0; depth < 30; depth++)
        descend(depth);
    descend_to(low);
    return argument;
}

static void *
in_thread(void *argument)
{
    descend(10);
    return argument;
}

static ucontext_t main_context, contexts[CONTEXTS];
static char stacks[CONTEXTS][16384] __attribute__((aligned(4096)));

static void
in_context(void)
{
    for (int i = 0; i < CONTEXTS; i++) {
        descend(i);
        swapcontext(&contexts[i], &main_context);
    }
}

static void
start_thread(size_t stack_bytes, void *(*run)(void *))
{
    pthread_attr_t attributes;
    pthread_t thread;

    pthread_attr_init(&attributes);
    if (stack_bytes)
        pthread_attr_setstacksize(&attributes, stack_bytes);
    if (pthread_create(&thread, &attributes, run, NULL) != 0)
        abort();
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attributes);
}

static void
run_stacks(const char *self)
{
    (void)self;
    for (int i = 0; i < 20; i++)
        start_thread(SMALL_STACK, in_small_stack);
    for (int i = 0; i < CONTEXTS; i++) {
        getcontext(&contexts[i]);
        contexts[i].uc_stack.ss_sp = stacks[i];
        contexts[i].uc_stack.ss_size = sizeof(stacks[i]);
        contexts[i].uc_link = &main_context;
        makecontext(&contexts[i], in_context, 0);
        swapcontext(&main_context, &contexts[i]);
    }
    descend(3000);
    for (int i = 0; i < BLOCKS; i++)
        held[i] = site_take(&site_kept, 20);
}

/* ---- threads: more than there are places ---- */

static void
run_threads(const char *self)
{
    (void)self;
    for (int i = 0; i < THREADS; i++)
        start_thread(0, in_thread);
    for (int i = 0; i < BLOCKS; i++)
        held[i] = site_take(&site_kept, 20);
}

/* ---- blocks enough to fill a table ---- */

static void
run_many(const char *self)
{
    (void)self;
    for (int i = 0; i < 200000; i++)
        site_take(&site_kept, (size_t)(400 + i % 1000));
    for (int i = 0; i < 2000; i++)
        site_take(&site_passing, 50000);
}

/* ... and large ones among them. */
static void
run_large(const char *self)
{
    (void)self;
    for (int i = 0; i < 3000; i++) {
        for (int n = 0; n < 40; n++)
            site_take(&site_kept, (size_t)(400 + n * 25));
        site_take(&site_passing, (size_t)(4 << 20) + (size_t)i);
    }
}

static void
run_child(const char *self)
{
    (void)self;
    use_heap();
    exit(0);
}

static const struct {
    const char *name;
    void (*run)(const char *self);
} modes[] = {
    {"forks", run_forks},     {"jemalloc", run_jemalloc},
    {"signals", run_signals}, {"stacks", run_stacks},
    {"threads", run_threads}, {"many", run_many},
    {"large", run_large},     {"child", run_child},
};

int
main(int argc, char **argv)
{
    static struct site *const sites[] = {&site_kept, &site_passing,
                                         &site_extended, &site_regrown};

    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        if (argc == 2 && strcmp(argv[1], modes[i].name) == 0) {
            modes[i].run(argv[0]);
            sites_say(sites, sizeof(sites) / sizeof(sites[0]));
            pause();
        }
    }
    return 64;
}
