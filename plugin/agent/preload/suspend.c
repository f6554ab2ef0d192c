/*
 * suspend.c - lets no thread of ours exist while the host changes its ids, its
 * capabilities or its sandbox; the next thread starts with what the host has
 * then.
 *
 * glibc makes every thread change its ids and aborts where one of them may not;
 * capabilities, no_new_privs, filters and namespaces are each thread's own, and
 * a thread that was there before stays outside.  So the functions of libc that
 * change them are wrapped: our thread ends, the host calls, and the host's
 * thread starts ours again, which inherits.  A change that a thread other than
 * the main one makes for itself alone does not concern us.  Everything else
 * passes by a jump (we are always compiled with -O2).
 *
 * Changes that do not go through libc are seen by host_privileges.c a second
 * later.
 */
#include "preload.h"

#include <dlfcn.h>
#include <errno.h>
#include <grp.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent.h"
#include "agent_tools.h"
#include "confined.h"
#include "start.h"

#define EXPORT __attribute__((visibility("default")))

/* More than STORM_CHANGES changes within STORM_MS are a storm.  THREADS_MIN: an
 * RLIMIT_NPROC below it may leave no room for our next thread. */
enum { STORM_MS = 1000, STORM_CHANGES = 16, THREADS_MIN = 8 };

/* Variadic in libc; their arguments are passed as those of any function. */
typedef int prctl_fn(int, unsigned long, unsigned long, unsigned long,
                     unsigned long);
EXPORT prctl_fn suspend_prctl __asm__("prctl");
/* glibc 2.34, musl 1.2.2. */
typedef pid_t fork_fn(void);
EXPORT fork_fn suspend_fork __asm__("_Fork");
EXPORT int capset(void *header, const void *data); /* libc has no header */

#define WRAPPED(X)                                                             \
    X(setuid)                                                                  \
    X(setgid)                                                                  \
    X(seteuid)                                                                 \
    X(setegid)                                                                 \
    X(setreuid)                                                                \
    X(setregid)                                                                \
    X(setresuid)                                                               \
    X(setresgid)                                                               \
    X(setgroups) X(initgroups) X(capset) X(unshare) X(setns) X(chroot)
/* NOLINTNEXTLINE(bugprone-macro-parentheses): a declaration */
#define POINTER(name) __typeof__(name) *name;
#define FIND(name)    next.name = (__typeof__(name) *)dlsym(RTLD_NEXT, #name);

/* libc's functions.  Written while the process has one thread. */
static struct {
    WRAPPED(POINTER)
    prctl_fn *prctl;
    fork_fn *fork;
} next;

static struct {
    pthread_mutex_t lock;
    _Atomic unsigned inside; /* threads of the host in these calls */
    int64_t since_ms;        /* monotonic: changes are counted from here */
    unsigned changes;
    _Atomic bool filtering; /* a filter is coming: may_stay() is not asked */
    bool due;               /* our thread must be started again */
    _Atomic bool shut;      /* a filter is in force that it cannot live under */
    _Atomic bool main_alone; /* other threads have filters of their own */
} suspension = {.lock = PTHREAD_MUTEX_INITIALIZER};

void
suspend_find_libc(void)
{
    if (next.prctl)
        return;
    WRAPPED(FIND)
    next.fork = (fork_fn *)dlsym(RTLD_NEXT, "_Fork");
    next.prctl = (prctl_fn *)dlsym(RTLD_NEXT, "prctl");
}

void
suspend_forked(void)
{
    pthread_mutex_init(&suspension.lock, NULL);
    suspension.inside = 0;
    suspension.filtering = false; /* another thread's */
    suspension.due = false;
}

bool
suspend_is_final(void)
{
    return suspension.shut;
}

/* ---- ending our thread, and starting it again ---- */

static bool
in_main_thread(void)
{
    return gettid() == getpid();
}

/* alone: the call changes the calling thread only. */
static bool
concerns_us(bool alone)
{
    return !suspension.shut && start_may_suspend() &&
           (in_main_thread() || (!alone && !suspension.main_alone));
}

static void
lock_host_changes(struct signal_guard *guard)
{
    signal_guard_begin(guard);
    pthread_mutex_lock(&suspension.lock);
}

static void
unlock_host_changes(const struct signal_guard *guard)
{
    pthread_mutex_unlock(&suspension.lock);
    signal_guard_end(guard);
}

/* Whether the host changes its ids very often, as with every request: it must
 * not wait for a thread each time. */
static bool
is_storm(void)
{
    int64_t now = agent_monotonic_ms();

    if (now - suspension.since_ms >= STORM_MS) {
        suspension.since_ms = now;
        suspension.changes = 0;
    }
    return ++suspension.changes > STORM_CHANGES;
}

/* Whether the host may hardly start threads: haproxy limits itself to none at
 * its end, and ours could not be started again. */
static bool
is_without_threads(void)
{
    struct rlimit limit;

    return getrlimit(RLIMIT_NPROC, &limit) == 0 && limit.rlim_cur < THREADS_MIN;
}

/* In these two cases our thread stays, if libc may change it with the host's;
 * what is one thread's own, host_privileges.c follows. */
static bool
may_stay(bool alone)
{
    return (is_storm() || is_without_threads()) &&
           (alone || start_has_callers_rights());
}

/* True: call end_host_change() after the change. */
static bool
begin_host_change(bool alone)
{
    int saved = errno;
    struct signal_guard guard;
    bool begun;

    suspend_find_libc(); /* a constructor may come here before main */
    begun = concerns_us(alone);
    if (begun) {
        lock_host_changes(&guard);
        if (suspension.inside == 0 && !suspension.filtering && may_stay(alone))
            begun = false;
        else if (suspension.inside++ == 0 && start_suspend_agent(alone))
            suspension.due = true;
        unlock_host_changes(&guard);
    }
    errno = saved;
    return begun;
}

/* Under a filter that we cannot live under this makes no system call. */
static void
end_host_change(bool begun)
{
    int saved = errno;
    struct signal_guard guard;

    if (!begun || --suspension.inside != 0 || suspension.shut)
        return;
    lock_host_changes(&guard);
    if (suspension.inside == 0 && suspension.due)
        suspension.due = !start_resume_agent();
    unlock_host_changes(&guard);
    errno = saved;
}

/* ---- the functions ---- */

#define ALL_THREADS false
#define ONE_THREAD  true

#define WRAP(name, alone, parameters, arguments)                               \
    EXPORT int name parameters                                                 \
    {                                                                          \
        bool begun = begin_host_change(alone);                                 \
        int rc = next.name arguments;                                          \
                                                                               \
        end_host_change(begun);                                                \
        return rc;                                                             \
    }

WRAP(setuid, ALL_THREADS, (uid_t id), (id))
WRAP(setgid, ALL_THREADS, (gid_t id), (id))
WRAP(seteuid, ALL_THREADS, (uid_t id), (id))
WRAP(setegid, ALL_THREADS, (gid_t id), (id))
WRAP(setreuid, ALL_THREADS, (uid_t ruid, uid_t euid), (ruid, euid))
WRAP(setregid, ALL_THREADS, (gid_t rgid, gid_t egid), (rgid, egid))
WRAP(setresuid, ALL_THREADS, (uid_t ruid, uid_t euid, uid_t suid),
     (ruid, euid, suid))
WRAP(setresgid, ALL_THREADS, (gid_t rgid, gid_t egid, gid_t sgid),
     (rgid, egid, sgid))
WRAP(setgroups, ALL_THREADS, (size_t n, const gid_t *groups), (n, groups))
WRAP(initgroups, ALL_THREADS, (const char *user, gid_t group), (user, group))
WRAP(capset, ONE_THREAD, (void *header, const void *data), (header, data))
WRAP(unshare, ONE_THREAD, (int flags), (flags))
WRAP(setns, ONE_THREAD, (int fd, int type), (fd, type))
/* threads share their root directory: ours checks where it is afterwards */
WRAP(chroot, ALL_THREADS, (const char *path), (path))

/* ---- filters ---- */

/* Whether memory can be read, tried by a system call that reads there and then
 * fails for its first argument: reading it ourselves could crash the host. */
static bool
is_filter_memory_readable(const void *at, size_t size)
{
    enum { WORD = 8, PAGE = 4096 };
    const char *byte = at;

    for (size_t i = 0; i + WORD < size; i += PAGE)
        if (syscall(SYS_rt_sigprocmask, -1, byte + i, NULL, WORD) == 0 ||
            errno == EFAULT)
            return false;
    return syscall(SYS_rt_sigprocmask, -1, byte + size - WORD, NULL, WORD) !=
               0 &&
           errno != EFAULT;
}

/* NULL where the kernel would find no filter: programs call so, to learn
 * whether filters are possible. */
static const struct sock_fprog *
filter_at(unsigned long address)
{
    const struct sock_fprog *filter = (const void *)address;
    int saved = errno;
    bool found =
        is_filter_memory_readable(filter, sizeof(*filter)) && filter->len > 0 &&
        is_filter_memory_readable(filter->filter,
                                  filter->len * sizeof(*filter->filter));

    errno = saved;
    return found ? filter : NULL;
}

struct filtering {
    bool begun, for_good;
    unsigned refused; /* enum confined_call */
};

/* filter: NULL for strict mode. */
static struct filtering
begin_filter(const struct sock_fprog *filter, bool all_threads)
{
    struct filtering f = {false, false, 0};
    unsigned calls = CONFINED_ALL;
    struct signal_guard guard;

    suspend_find_libc();
    if (!start_may_suspend())
        return f;
    if (!all_threads && !in_main_thread())
        suspension.main_alone = true;
    if (!concerns_us(!all_threads)) {
        /* Our thread does not get the filter, or is gone already; but a sampled
         * thread makes calls, too, that the filter may not allow. */
        if (!filter || !seccomp_filter_allows(filter, &calls)) {
            recorder_exclude_thread();
            names_stop(false);
            backtrace_stop();
        }
        return f;
    }
    suspension.filtering = true;
    lock_host_changes(&guard);
    f.for_good = !filter || !seccomp_filter_allows(filter, &calls);
    if (f.for_good) {
        recorder_stop(true);
        names_stop(true);
        backtrace_stop();
        /* as begin_host_change() counts; end_filter() ends both */
        suspension.inside++;
        suspension.due = start_leave(all_threads) || suspension.due;
    }
    unlock_host_changes(&guard);
    f.refused = CONFINED_ALL & ~calls;
    f.begun = f.for_good || begin_host_change(!all_threads);
    suspension.shut = f.for_good;
    suspension.filtering = false;
    return f;
}

static void
end_filter(struct filtering f, bool done)
{
    if (f.begun && done && !f.for_good)
        start_refuse(f.refused);
    if (f.for_good && !done) {
        suspension.shut = false;
        recorder_stop(false);
        names_go_on();
    }
    end_host_change(f.begun);
}

static bool
changes_sandbox(int option, unsigned long second)
{
    switch (option) {
    case PR_SET_NO_NEW_PRIVS:
    case PR_SET_SECUREBITS:
    case PR_CAPBSET_DROP:
        return true;
    case PR_CAP_AMBIENT:
        return second != PR_CAP_AMBIENT_IS_SET;
    default:
        return false;
    }
}

static __attribute__((noinline)) int
prctl_while_suspended(int option, unsigned long second, unsigned long third,
                      unsigned long fourth, unsigned long fifth)
{
    struct filtering f;
    bool begun;
    int rc;

    if (option == PR_SET_SECCOMP) {
        const struct sock_fprog *filter =
            second == SECCOMP_MODE_FILTER ? filter_at(third) : NULL;

        if (second == SECCOMP_MODE_FILTER && !filter)
            return next.prctl(option, second, third, fourth, fifth);
        f = begin_filter(filter, false);
        rc = next.prctl(option, second, third, fourth, fifth);
        end_filter(f, rc == 0);
        return rc;
    }
    /* our thread can set it for itself: it need not go, and another thread of
     * the host may forbid new threads in between, as haproxy's do */
    if (option == PR_SET_NO_NEW_PRIVS) {
        rc = next.prctl(option, second, third, fourth, fifth);
        if (rc == 0 && concerns_us(ONE_THREAD))
            start_no_new_privs();
        return rc;
    }
    begun = begin_host_change(ONE_THREAD);
    rc = next.prctl(option, second, third, fourth, fifth);
    end_host_change(begun);
    return rc;
}

/* Notes the change after the call: a value that our thread saw before that is
 * not the host's. */
static __attribute__((noinline)) int
set_dumpable(unsigned long value, unsigned long third, unsigned long fourth,
             unsigned long fifth)
{
    int rc = next.prctl(PR_SET_DUMPABLE, value, third, fourth, fifth);

    if (rc == 0)
        access_changed(value != 0);
    return rc;
}

int
suspend_prctl(int option, unsigned long second, unsigned long third,
              unsigned long fourth, unsigned long fifth)
{
    if (__builtin_expect(!next.prctl, 0))
        return (int)syscall(SYS_prctl, option, second, third, fourth, fifth);
    if (changes_sandbox(option, second) || option == PR_SET_SECCOMP)
        return prctl_while_suspended(option, second, third, fourth, fifth);
    if (option == PR_SET_DUMPABLE)
        return set_dumpable(second, third, fourth, fifth);
    return next.prctl(option, second, third, fourth, fifth);
}

/* ---- forks past pthread_atfork ---- */

/* May be called by a signal handler, and so may all that the child calls
 * here. */
pid_t
suspend_fork(void)
{
    pid_t child = next.fork ? next.fork()
                            : (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);

    if (child == 0)
        access_forked();
    return child;
}

/* ---- system calls by number ---- */

/* Only here is syscall() wrapped; elsewhere, host_privileges.c sees a second
 * later what the host changed by it. */
#if defined(__x86_64__)

long kernel_call(long number, ...) __attribute__((visibility("hidden")));

__attribute__((used)) static long
fail_as_libc(long error)
{
    errno = (int)-error;
    return -1;
}

/* Calls that libseccomp, libcap and others make by number; for Landlock libc
 * has no functions. */
__attribute__((used)) static long
change_by_number(long number, long first, long second, long third)
{
    const struct sock_fprog *filter =
        number == SYS_seccomp && first == SECCOMP_SET_MODE_FILTER
            ? filter_at((unsigned long)third)
            : NULL;
    struct filtering f = {false, false, 0};
    bool begun;
    long rc;

    if (number != SYS_seccomp) {
        begun = begin_host_change(ONE_THREAD);
        rc = kernel_call(number, first, second, third);
        end_host_change(begun);
        return rc;
    }
    if (first == SECCOMP_SET_MODE_STRICT || filter)
        f = begin_filter(filter, second & SECCOMP_FILTER_FLAG_TSYNC);
    rc = kernel_call(number, first, second, third);
    end_filter(f, rc == 0 ||
                      (rc > 0 && (second & SECCOMP_FILTER_FLAG_NEW_LISTENER)));
    return rc;
}

__attribute__((used)) static long
fork_by_number(long number)
{
    long child = kernel_call(number);

    if (child == 0)
        access_forked();
    return child;
}

/* The same code as libc's: libc's own syscall() could only be reached by a
 * jump, which no compiler makes for a seventh argument that may not have been
 * passed. */
__asm__(".pushsection .text\n"
        ".globl syscall\n"
        ".type syscall, @function\n"
        "syscall:\n"
        ".cfi_startproc\n"
        "endbr64\n"
        "cmp $317, %rdi\n" /* SYS_seccomp */
        "je change_by_number\n"
        "cmp $126, %rdi\n" /* SYS_capset */
        "je change_by_number\n"
        "cmp $272, %rdi\n" /* SYS_unshare */
        "je change_by_number\n"
        "cmp $308, %rdi\n" /* SYS_setns */
        "je change_by_number\n"
        "cmp $446, %rdi\n" /* SYS_landlock_restrict_self */
        "je change_by_number\n"
        "cmp $57, %rdi\n" /* SYS_fork */
        "je fork_by_number\n"
        "kernel_call:\n"
        "mov %rdi, %rax\n"
        "mov %rsi, %rdi\n"
        "mov %rdx, %rsi\n"
        "mov %rcx, %rdx\n"
        "mov %r8, %r10\n"
        "mov %r9, %r8\n"
        "mov 8(%rsp), %r9\n"
        "syscall\n"
        "cmp $-4095, %rax\n"
        "jae 1f\n"
        "ret\n"
        "1: mov %rax, %rdi\n"
        "jmp fail_as_libc\n"
        ".cfi_endproc\n"
        ".size syscall, . - syscall\n"
        ".popsection\n");
#endif
