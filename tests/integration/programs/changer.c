/*
 * changer.c - a host that changes what it may do, in the steps of its command
 * line; then it prints "done" and waits for the end of its input.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "changer_held.h"

enum { NOBODY = 65534, THREADS = 4, WAYS = 60, FIRST_FILE = 3 };

int capset(void *header, const void *data);

/* Past libc. */
static long
raw(long number, long a, long b, long c)
{
#if defined(__x86_64__)
    register long fourth __asm__("r10") = 0;
    register long fifth __asm__("r8") = 0;
    long result;

    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(fourth),
                       "r"(fifth)
                     : "rcx", "r11", "memory");
#else
    register long call __asm__("x8") = number;
    register long result __asm__("x0") = a;
    register long second __asm__("x1") = b;
    register long third __asm__("x2") = c;
    register long fourth __asm__("x3") = 0;
    register long fifth __asm__("x4") = 0;

    __asm__ volatile("svc 0"
                     : "+r"(result)
                     : "r"(call), "r"(second), "r"(third), "r"(fourth),
                       "r"(fifth)
                     : "memory");
#endif
    errno = result < 0 ? (int)-result : 0;
    return result < 0 ? -1 : result;
}

static struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3,
                                                 0};

static int
change_capabilities(unsigned effective, unsigned permitted, int past_libc)
{
    struct __user_cap_data_struct data[2] = {
        {.effective = effective, .permitted = permitted}};

    return past_libc ? (int)raw(SYS_capset, (long)&header, (long)data, 0)
                     : capset(&header, data);
}

enum way { BY_PRCTL, BY_NUMBER, ALL_THREADS, PAST_LIBC };

/* Allows everything but the given call, which kills. */
static int
put_on_filter(unsigned forbidden, enum way way)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, forbidden, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {4, code};

    if (way == BY_PRCTL)
        return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0, 0);
    if (way == PAST_LIBC)
        return (int)raw(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, (long)&filter);
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
                        way == ALL_THREADS ? SECCOMP_FILTER_FLAG_TSYNC : 0,
                        &filter);
}

static void *
change_often(void *count)
{
    for (int i = *(int *)count; i > 0; i--)
        if (seteuid(i % 2 ? NOBODY : 0) != 0)
            _exit(71);
    return NULL;
}

static int
storm(int count, int threads)
{
    pthread_t list[THREADS];
    struct timespec a, b;

    clock_gettime(CLOCK_MONOTONIC, &a);
    for (int i = 0; i < threads; i++)
        if (pthread_create(&list[i], NULL, change_often, &count) != 0)
            return -1;
    for (int i = 0; i < threads; i++)
        pthread_join(list[i], NULL);
    clock_gettime(CLOCK_MONOTONIC, &b);
    printf("%.1f us\n", ((double)(b.tv_sec - a.tv_sec) * 1e6 +
                         (double)(b.tv_nsec - a.tv_nsec) / 1e3) /
                            count / threads);
    return 0;
}

/* As setpriv. */
static int
keep_capabilities(void)
{
    return prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) != 0 ||
           setresuid(NOBODY, NOBODY, NOBODY) != 0 ||
           change_capabilities(0xc0, 0xc0, 0) != 0 ||
           setresgid(NOBODY, NOBODY, NOBODY) != 0 || setgroups(0, NULL) != 0;
}

/* A thread that is to be cancelled ends at the next point where it may; none of
 * these calls is one. */
static void *
change_cancelled(void *result)
{
    int old;

    pthread_cancel(pthread_self());
    *(int *)result = seteuid(NOBODY) != 0 || seteuid(0) != 0;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old);
    return NULL;
}

/* On a stack as small as there is. */
static int
on_small_stack(void *(*run)(void *), int *arg)
{
    pthread_attr_t attr;
    pthread_t thread;

    return pthread_attr_init(&attr) != 0 ||
           pthread_attr_setstacksize(&attr, PTHREAD_STACK_MIN) != 0 ||
           pthread_create(&thread, &attr, run, arg) != 0 ||
           pthread_join(thread, NULL) != 0;
}

/* A thread's own filter, which allows little. */
static void *
confine_thread(void *result)
{
    *(int *)result = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
                     put_on_filter(SYS_socket, BY_PRCTL) != 0 ||
                     setresuid(NOBODY, NOBODY, NOBODY) != 0;
    return NULL;
}

static int
in_thread(void *(*run)(void *))
{
    pthread_t thread;
    int result = -1;

    return pthread_create(&thread, NULL, run, &result) != 0 ||
           pthread_join(thread, NULL) != 0 || result != 0;
}

/* What changes our ids behind the agent must not come before it has opened the
 * state directory, which is another user's then. */
static int
wait_for_agent(void)
{
    const struct timespec step = {.tv_nsec = 10000000};
    char path[4096];

    snprintf(path, sizeof(path), "%s/agent.sock", getenv("HEAPWIRE_STATE_DIR"));
    for (int i = 0; i < 6000; i++) {
        if (access(path, F_OK) == 0)
            return 0;
        nanosleep(&step, NULL);
    }
    return -1;
}

static int
in_child(int shared)
{
    int status = 0;
    /* NOLINTNEXTLINE: the call in question */
    pid_t pid = shared ? vfork() : fork();

    if (pid == 0) /* NOLINTNEXTLINE: likewise */
        _exit(setresuid(NOBODY, NOBODY, NOBODY) == 0 ? 0 : 1);
    return pid < 0 || waitpid(pid, &status, 0) != pid || status != 0;
}

/* An agent that inherits this was started later than that process. */
static int
confine_files(void)
{
    struct landlock_ruleset_attr files = {LANDLOCK_ACCESS_FS_MAKE_REG};
    int rules = (int)syscall(SYS_landlock_create_ruleset, &files, 8, 0);
    pid_t before;

    if (rules < 0 && (errno == ENOSYS || errno == EOPNOTSUPP)) {
        puts("no Landlock");
        return 0;
    }
    before = fork();
    if (before == 0)
        _exit(0);
    printf("later than %d\n", before);
    return before < 0 || waitpid(before, NULL, 0) != before ||
           syscall(SYS_landlock_restrict_self, rules, 0) != 0;
}

/* The kernel finds no filter there; a host may ask so. */
static int
put_on_nothing(void)
{
    static struct sock_fprog nowhere = {4, (void *)8};
    const unsigned long at[] = {0, 8, ULONG_MAX, (unsigned long)&nowhere};

    for (size_t i = 0; i < sizeof(at) / sizeof(at[0]); i++)
        if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, at[i], 0, 0) == 0 ||
            errno != EFAULT ||
            syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, at[i]) == 0 ||
            errno != EFAULT)
            return -1;
    return 0;
}

/* A user who has so many processes that there may be no thread more; each is
 * that user's by then. */
static int
crowd(int count)
{
    const struct rlimit limit = {(rlim_t)count, (rlim_t)count};

    for (int i = 0; i < count; i++) {
        int ends[2], is_theirs;
        char byte;
        pid_t pid;

        if (pipe(ends) != 0 || (pid = fork()) < 0)
            return -1;
        if (pid == 0) {
            if (setresuid(NOBODY, NOBODY, NOBODY) == 0 &&
                prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) == 0 &&
                write(ends[1], "x", 1) == 1)
                pause();
            _exit(1);
        }
        close(ends[1]);
        is_theirs = read(ends[0], &byte, 1) == 1;
        close(ends[0]);
        if (!is_theirs)
            return -1;
    }
    return setrlimit(RLIMIT_NPROC, &limit);
}

/* Of the preloaded jemalloc. */
static int
is_profiled(void)
{
    int (*mallctl)(const char *, void *, size_t *, void *, size_t);
    bool active = false;
    size_t size = sizeof(active);

    *(void **)&mallctl = dlsym(RTLD_DEFAULT, "mallctl");
    return mallctl && mallctl("prof.active", &active, &size, NULL, 0) == 0 &&
           active;
}

/* By the agent, which somebody else asks for it. */
static int
await_profiling(void)
{
    const struct timespec step = {.tv_nsec = 20000000};

    for (int i = 0; i < 1500 && !is_profiled(); i++)
        nanosleep(&step, NULL);
    return !is_profiled();
}

/* A handler that changes ids while its thread is in heapwire_stop(). */
static volatile sig_atomic_t alarms;

static void
on_alarm(int number)
{
    (void)number;
    alarms += seteuid(0) == 0;
}

static int (*stop_agent)(void);

static int
stop_interrupted(void)
{
    struct sigaction action = {.sa_handler = on_alarm};
    struct itimerval soon = {.it_value = {0, 200000}};
    int rc;

    if (sigaction(SIGALRM, &action, NULL) != 0 || hold_agent(60) != 0 ||
        setitimer(ITIMER_REAL, &soon, NULL) != 0)
        return -1;
    rc = stop_agent();
    return release_agent() != 0 || rc != ETIMEDOUT || alarms != 1;
}

/* Handlers that change ids while their thread may have malloc's lock. */
static int
malloc_interrupted(void)
{
    static void *blocks[1024];
    struct sigaction action = {.sa_handler = on_alarm};
    struct itimerval often = {{0, 90000}, {0, 90000}}, never = {0};
    unsigned random = 1;

    if (sigaction(SIGALRM, &action, NULL) != 0 ||
        setitimer(ITIMER_REAL, &often, NULL) != 0)
        return -1;
    while (alarms < 20) {
        random = random * 1103515245 + 12345;
        free(blocks[random >> 22]);
        blocks[random >> 22] = malloc(20000 + (random >> 12) % 32768);
    }
    return setitimer(ITIMER_REAL, &never, NULL) != 0 || seteuid(0) != 0;
}

static void *
stop_cancelled(void *result)
{
    int old;

    *(int *)result = 0;
    pthread_cancel(pthread_self());
    stop_agent();
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old);
    return NULL;
}

/* Of all threads, from one with the smallest stack: a filter with many ways. */
static void *
confine_all(void *result)
{
    struct sock_filter code[2 * WAYS + 1];
    struct sock_fprog filter = {2 * WAYS + 1, code};

    for (unsigned i = 0; i < WAYS; i++) {
        code[2 * i] = (struct sock_filter)BPF_STMT(
            BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[5]));
        code[2 * i + 1] = (struct sock_filter)BPF_JUMP(
            BPF_JMP | BPF_JEQ | BPF_K, i, (unsigned char)(2 * (WAYS - 1 - i)),
            0);
    }
    code[2 * WAYS] =
        (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    *(int *)result = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
                                  SECCOMP_FILTER_FLAG_TSYNC, &filter);
    return NULL;
}

static int
without_stdio(void)
{
    int kept[FIRST_FILE], open_now = 0;

    for (int i = 0; i < FIRST_FILE; i++) {
        kept[i] = fcntl(i, F_DUPFD_CLOEXEC, FIRST_FILE);
        close(i);
    }
    if (setresuid(NOBODY, NOBODY, NOBODY) != 0)
        return -1;
    for (int i = 0; i < FIRST_FILE; i++) {
        open_now += fcntl(i, F_GETFD) >= 0;
        dup2(kept[i], i);
        close(kept[i]);
    }
    return open_now;
}

enum worker { SHORT, STAYS, STOPS };

/* A child that the settings name: to the end of this process, or of it.  STOPS:
 * it changes its ids while it waits, and ends its agent once it is profiled. */
static int
worker(enum worker kind)
{
    int status = 0;
    pid_t pid = fork();

    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        if (kind == STOPS &&
            (seteuid(0) != 0 || await_profiling() != 0 || stop_agent() != 0))
            _exit(1);
        if (kind != SHORT)
            pause();
        _exit(0);
    }
    return pid < 0 ||
           (kind == SHORT && (waitpid(pid, &status, 0) != pid || status != 0));
}

static bool first_in_child; /* of this processor's threads, it alone */

static void
run_first(void)
{
    const struct sched_param first = {.sched_priority = 1};

    if (first_in_child) /* root's */
        (void)sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &first);
}

/* Before the agent's, which starts its thread in the child. */
__attribute__((constructor)) static void
run_first_in_child(void)
{
    pthread_atfork(NULL, NULL, run_first);
}

/* A child that changes its root directory while its agent's thread begins: as
 * soon as that lets it go on. */
static int
worker_at_once(const char *root)
{
    cpu_set_t before, one;
    pid_t pid;

    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    if (sched_getaffinity(0, sizeof(before), &before) != 0 ||
        sched_setaffinity(0, sizeof(one), &one) != 0)
        return -1;
    first_in_child = true;
    pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        if (chroot(root) == 0)
            pause();
        _exit(1);
    }
    return pid < 0 || sched_setaffinity(0, sizeof(before), &before) != 0;
}

static int
put_on_unfit(void)
{
    return put_on_filter(SYS_openat, BY_PRCTL);
}

/* In a child that the settings name, and which is served. */
static int
worker_confined(void)
{
    int status = 0;
    pid_t pid = fork();

    if (pid == 0)
        _exit(await_profiling() != 0 || confine_in_between(put_on_unfit) != 0 ||
              is_profiled());
    return pid < 0 || waitpid(pid, &status, 0) != pid || status != 0;
}

static int
step(const char *name)
{
    const char *value = strchr(name, '=');
    int count = value ? atoi(value + 1) : 0;

    if (strcmp(name, "keepcaps") == 0)
        return keep_capabilities();
    if (strcmp(name, "served") == 0)
        return wait_for_agent();
    if (strcmp(name, "confine-thread") == 0)
        return in_thread(confine_thread);
    if (strcmp(name, "drop") == 0)
        return change_capabilities(0, 0, 0);
    if (strcmp(name, "nnp") == 0)
        return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (strcmp(name, "filter") == 0)
        return put_on_filter(SYS_ptrace, BY_PRCTL);
    if (strcmp(name, "filter-by-number") == 0)
        return put_on_filter(SYS_ptrace, BY_NUMBER);
    if (strcmp(name, "filter-tsync") == 0)
        return put_on_filter(SYS_ptrace, ALL_THREADS);
    if (strcmp(name, "raw-filter") == 0)
        return put_on_filter(SYS_ptrace, PAST_LIBC);
    if (strcmp(name, "filter-memfd") == 0)
        return put_on_filter(SYS_memfd_create, BY_PRCTL);
    if (strcmp(name, "filter-openat") == 0)
        return put_on_filter(SYS_openat, BY_NUMBER);
    if (strcmp(name, "filter-unshare") == 0)
        return put_on_filter(SYS_unshare, BY_PRCTL);
    if (strcmp(name, "filter-null") == 0)
        return put_on_nothing();
    if (strcmp(name, "ids") == 0)
        return setgroups(0, NULL) != 0 ||
               setresgid(NOBODY, NOBODY, NOBODY) != 0 ||
               setresuid(NOBODY, NOBODY, NOBODY) != 0;
    if (strcmp(name, "ids-in-vain") == 0) /* without the capability */
        return setresuid(NOBODY, NOBODY, NOBODY) == 0 || errno != EPERM;
    if (strcmp(name, "enabled") == 0)
        return await_profiling();
    if (strcmp(name, "off") == 0)
        return is_profiled();
    if (strncmp(name, "hold=", 5) == 0)
        return hold_agent(count);
    if (strcmp(name, "release") == 0)
        return release_agent();
    if (strcmp(name, "raw-ids") == 0)
        return raw(SYS_setgroups, 0, 0, 0) != 0 ||
               raw(SYS_setresgid, NOBODY, NOBODY, NOBODY) != 0 ||
               raw(SYS_setresuid, NOBODY, NOBODY, NOBODY) != 0;
    if (strcmp(name, "raw-drop") == 0)
        return change_capabilities(0, 0, 1);
    if (strcmp(name, "raw-nnp") == 0)
        return (int)raw(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0);
    if (strcmp(name, "mounts") == 0)
        return unshare(CLONE_NEWNS);
    if (strcmp(name, "mounts-by-number") == 0)
        return (int)syscall(SYS_unshare, CLONE_NEWNS);
    if (strcmp(name, "raw-mounts") == 0)
        return (int)raw(SYS_unshare, CLONE_NEWNS, 0, 0);
    if (strcmp(name, "landlock") == 0)
        return confine_files();
    if (strcmp(name, "fork") == 0)
        return in_child(0);
    if (strcmp(name, "vfork") == 0)
        return in_child(1);
    if (strcmp(name, "cancelled") == 0)
        return in_thread(change_cancelled);
    if (strncmp(name, "small=", 6) == 0)
        return on_small_stack(change_often, &count);
    if (strcmp(name, "filter-small") == 0)
        return on_small_stack(confine_all, &count) != 0 || count != 0;
    if (strcmp(name, "filter-in-between") == 0)
        return filter_in_between();
    if (strcmp(name, "files-in-between") == 0)
        return files_in_between();
    if (strcmp(name, "no-stdio") == 0)
        return without_stdio();
    if (strncmp(name, "within=", 7) == 0)
        return change_within(count);
    if (strcmp(name, "no-end") == 0)
        return change_where_it_cannot_end();
    if (strcmp(name, "malloc-interrupted") == 0)
        return malloc_interrupted();
    if (strcmp(name, "stop-interrupted") == 0)
        return stop_interrupted();
    if (strcmp(name, "stop-cancelled") == 0)
        return in_thread(stop_cancelled) || seteuid(0) != 0;
    if (strcmp(name, "worker") == 0)
        return worker(STAYS);
    if (strcmp(name, "short-worker") == 0)
        return worker(SHORT);
    if (strcmp(name, "worker-stopped") == 0)
        return worker(STOPS);
    if (strcmp(name, "worker-confined") == 0)
        return worker_confined();
    if (strncmp(name, "stop-in-between=", 16) == 0)
        return stop_in_between(stop_agent, count);
    if (strcmp(name, "raw-uid") == 0)
        return (int)raw(SYS_setuid, NOBODY, 0, 0);
    if (strcmp(name, "dumpable") == 0)
        return prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
    if (strcmp(name, "filter-setresuid") == 0)
        return put_on_filter(SYS_setresuid, BY_PRCTL);
    if (strcmp(name, "filter-prlimit") == 0)
        return put_on_filter(SYS_prlimit64, 0);
    if (strcmp(name, "filter-capset") == 0)
        return put_on_filter(SYS_capset, 0);
    if (strcmp(name, "filter-in-vain") == 0) /* without no_new_privs */
        return put_on_filter(SYS_openat, 0) == 0 || errno != EACCES;
    if (strncmp(name, "without=", 8) == 0) /* this call, by its number */
        return put_on_filter(count, BY_PRCTL);
    if (strncmp(name, "storm=", 6) == 0)
        return storm(count, 1);
    if (strncmp(name, "storms=", 7) == 0)
        return storm(count, THREADS);
    if (strncmp(name, "crowd=", 6) == 0)
        return crowd(count);
    if (strncmp(name, "names=", 6) == 0) {
        for (int i = 0; i < count; i++)
            prctl(PR_SET_NAME, "changer", 0, 0, 0);
        return 0;
    }
    if (strncmp(name, "worker-root=", 12) == 0)
        return worker_at_once(name + 12);
    if (strncmp(name, "chroot=", 7) == 0)
        return chroot(name + 7) != 0 || chdir("/") != 0;
    errno = EINVAL;
    return -1;
}

/* The steps that are left, and the end. */
static void *
go_on(void *steps)
{
    for (char **next = steps; *next; next++) {
        if (strcmp(*next, "no-main") == 0) { /* the main thread ends here */
            pthread_t other;

            if (pthread_create(&other, NULL, go_on, next + 1) == 0)
                pthread_exit(NULL);
        }
        if (step(*next) != 0) {
            fprintf(stderr, "changer: %s: %m\n", *next);
            exit(70);
        }
    }
    puts("done");
    fflush(stdout);
    while (getchar() != EOF)
        ;
    exit(0);
}

int
main(int argc, char **argv)
{
    (void)argc;
    *(void **)&stop_agent = dlsym(RTLD_DEFAULT, "heapwire_stop");
    go_on(argv + 1);
}
