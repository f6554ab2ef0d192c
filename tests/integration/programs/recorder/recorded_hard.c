/*
 * recorded_hard.c - what programs do that is hard on a recorder, for
 * recorder.py.
 *
 * recorded_hard MODE [ARGUMENT...]: see the table at the end.  Prints its live
 * blocks by site, and waits to be killed.
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "recorded_sites.h"

enum {
    WORKERS = 8,
    KEPT = 50, /* of a worker */
    PLUGIN_ROUNDS = 100,
    CROWD = 5000,
    CROWD_STACK = 65536,
    KEYS = 4,
    SIGNAL_STACK = 8192 /* too small for a backtrace */
};

static atomic_bool stop;
static char **arguments;

SITE(kept, malloc(size))
SITE(passing, malloc(size))

static void
check(bool fine, const char *what)
{
    if (!fine) {
        fprintf(stderr, "recorded_hard: %s: %s\n", what, strerror(errno));
        abort();
    }
}

/* ---- workers, who allocate and free until they are stopped ---- */

static void *
work(void *argument)
{
    void *blocks[KEPT] = {NULL};
    size_t seed = (size_t)argument, at = 0;

    do {
        seed = seed * 6364136223846793005 + 1442695040888963407;
        at = seed >> 33;
        free(blocks[at % KEPT]);
        blocks[at % KEPT] = site_kept.take(100);
        free(realloc(site_passing.take(at % 3000), 50));
    } while (!atomic_load_explicit(&stop, memory_order_relaxed));
    for (int i = 0; i < KEPT; i++) {
        if (blocks[i]) {
            /* plain fields: C++ includes their header, too */
            __atomic_fetch_add(&site_kept.objects, 1, __ATOMIC_RELAXED);
            __atomic_fetch_add(&site_kept.bytes, 100, __ATOMIC_RELAXED);
        }
    }
    return NULL;
}

static void
start_workers(pthread_t workers[WORKERS])
{
    for (size_t i = 0; i < WORKERS; i++)
        check(pthread_create(&workers[i], NULL, work, (void *)i) == 0,
              "pthread_create");
}

static void
stop_workers(const pthread_t workers[WORKERS])
{
    atomic_store_explicit(&stop, true, memory_order_relaxed);
    for (int i = 0; i < WORKERS; i++)
        pthread_join(workers[i], NULL);
}

/* ---- forking NUMBER: children of all kinds, under load ---- */

static void
be_child(void)
{
    void *block = site_kept.take(100);

    free(realloc(site_passing.take(70), 7000));
    free(block);
    _exit(block ? 0 : 1);
}

static pid_t
start_child(int kind)
{
    static char *const nothing[] = {(char *)"true", NULL};
    pid_t child = -1;

    if (kind == 0 &&
        posix_spawn(&child, "/bin/true", NULL, NULL, nothing, nothing + 1) != 0)
        return -1;
    if (kind == 1) {
        child = vfork(); // NOLINT(clang-analyzer-security.insecureAPI.vfork)
        if (child == 0) {
            execv("/bin/true", nothing);
            _exit(127);
        }
    } else if (kind > 1) {
        child = fork();
        if (child == 0)
            be_child();
    }
    return child;
}

static void
run_forking(void)
{
    pthread_t workers[WORKERS];
    int status;

    start_workers(workers);
    for (int i = 0; i < atoi(arguments[0]); i++) {
        pid_t child = start_child(i % 20);

        check(child > 0, "fork");
        check(waitpid(child, &status, 0) == child && status == 0, "a child");
        /* Past libc, as the others are in their allocator: it may not call it.
         */
        child = i % 4 ? 0 : (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
        if (i % 4 == 0 && child == 0)
            syscall(SYS_exit_group, 0);
        check(i % 4 || waitpid(child, &status, 0) == child, "a clone");
    }
    stop_workers(workers);
}

/* ---- plugins PATH...: loaded, used, unloaded, by as many threads ---- */

static void *
use_plugins(void *argument)
{
    char **path = argument;

    for (int i = 0; i < PLUGIN_ROUNDS; i++) {
        void *plugin = dlopen(*path, RTLD_NOW | RTLD_LOCAL);
        void *symbol = plugin ? dlsym(plugin, "use") : NULL;
        void (*use)(void);

        check(symbol != NULL, "dlopen");
        memcpy(&use, &symbol,
               sizeof(use)); // NOLINT(bugprone-sizeof-expression)
        use();
        dlclose(plugin);
        path = path[1] ? path + 1 : arguments;
    }
    return NULL;
}

static void
run_plugins(void)
{
    pthread_t workers[WORKERS], users[WORKERS];
    int count = 0;

    start_workers(workers);
    for (; arguments[count] && count < WORKERS; count++)
        check(pthread_create(&users[count], NULL, use_plugins,
                             &arguments[count]) == 0,
              "pthread_create");
    while (count > 0)
        pthread_join(users[--count], NULL);
    stop_workers(workers);
}

/* ---- crowd: more threads at once than have met before ---- */

static pthread_barrier_t all_there;

static void *
join_crowd(void *argument)
{
    void *block = site_kept.take(100);

    pthread_barrier_wait(&all_there);
    free(site_passing.take(3));
    pthread_barrier_wait(&all_there);
    free(block);
    return argument;
}

static void
run_crowd(void)
{
    static pthread_t crowd[CROWD];
    pthread_attr_t attributes;

    pthread_barrier_init(&all_there, NULL, CROWD);
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, CROWD_STACK);
    for (int i = 0; i < CROWD; i++)
        check(pthread_create(&crowd[i], &attributes, join_crowd, NULL) == 0,
              "pthread_create");
    for (int i = 0; i < CROWD; i++)
        pthread_join(crowd[i], NULL);
    for (int i = 0; i < KEPT; i++)
        site_take(&site_kept, 100);
}

/* ---- ends: of threads, whose destructors allocate ---- */

static pthread_key_t keys[KEYS];

static void
end_key(void *block)
{
    free(site_passing.take(300));
    free(block);
}

static void *
begin_and_end(void *argument)
{
    for (int i = 0; i < KEYS; i++)
        pthread_setspecific(keys[i], site_kept.take(200));
    return argument;
}

static void
run_ends(void)
{
    pthread_t thread;

    for (int i = 0; i < KEYS; i++)
        pthread_key_create(&keys[i], end_key);
    for (int n = 0; n < 300; n++) {
        check(pthread_create(&thread, NULL, begin_and_end, NULL) == 0,
              "pthread_create");
        pthread_join(thread, NULL);
    }
    for (int i = 0; i < KEPT; i++)
        site_take(&site_kept, 100);
}

/* ---- altstack: handlers on a stack of their own ---- */

static char signal_stack[SIGNAL_STACK] __attribute__((aligned(4096)));

static void
on_signal(int number)
{
    (void)number;
    free(site_passing.take(40));
}

static void
run_altstack(void)
{
    stack_t stack = {.ss_sp = signal_stack, .ss_size = SIGNAL_STACK};
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};

    check(sigaltstack(&stack, NULL) == 0, "sigaltstack");
    check(sigaction(SIGUSR1, &action, NULL) == 0, "sigaction");
    for (int i = 0; i < 1000; i++) {
        raise(SIGUSR1);
        free(site_passing.take(10));
    }
    for (int i = 0; i < KEPT; i++)
        site_take(&site_kept, 100);
}

static const struct {
    const char *name;
    void (*run)(void);
} modes[] = {
    {"forking", run_forking}, {"plugins", run_plugins},   {"crowd", run_crowd},
    {"ends", run_ends},       {"altstack", run_altstack},
};

int
main(int argc, char **argv)
{
    static struct site *const sites[] = {&site_kept, &site_passing};

    arguments = argv + 2;
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        if (argc >= 2 && strcmp(argv[1], modes[i].name) == 0) {
            modes[i].run();
            sites_say(sites, sizeof(sites) / sizeof(sites[0]));
            pause();
        }
    }
    return 64;
}
