/*
 * helper_limits.c - see helper_limits.h.  A limit that a sandbox refuses is
 * left out, and the others still hold.
 *
 * A damaged object may make libbfd run an attacker's code.  Such code can do
 * what the kernel lets this process do: so a seccomp filter lists the system
 * calls of the helper, of libbfd and of glibc, and permits no other.  None of
 * them writes or removes a file, executes, forks, signals or traces another
 * process, makes a socket, or maps memory as code.  A refused call fails
 * instead of killing the process, as a newer glibc may try one that it can do
 * without.  Files stay readable: debug files lie anywhere beside their objects.
 * But /proc would show the memory of each process of the same user.  The filter
 * cannot see paths; Landlock, whatever rights it handles, forbids a process to
 * look at others outside its own domain.
 */
#include "helper_limits.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "files.h"

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

/* Sanitizers make other calls: no filter under them. */
#if defined(ARCHITECTURE) && !defined(__SANITIZE_ADDRESS__) &&                 \
    !defined(__SANITIZE_THREAD__)

enum {
    ANY = -1,
    RULE_LENGTH = 6, /* instructions of a rule, at most */
    FRAME_LENGTH = 4 /* instructions before and after the rules */
};

#define WRITES (O_ACCMODE | O_CREAT | O_TRUNC)

/* The call is permitted if the argument, masked, has that value.  A call with
 * several rules needs to match one of them. */
struct rule {
    int call, argument;
    uint32_t mask, value;
};

static const struct rule rules[] = {
    /* the most frequent first: each call passes those before its own */
    {SYS_pread64, ANY, 0, 0},
    {SYS_futex, ANY, 0, 0},
    {SYS_read, ANY, 0, 0},
    {SYS_lseek, ANY, 0, 0},
    {SYS_mmap, 2, PROT_EXEC, 0},
    {SYS_munmap, ANY, 0, 0},
    {SYS_mremap, ANY, 0, 0},
    {SYS_mprotect, 2, PROT_EXEC, 0},
    {SYS_madvise, ANY, 0, 0},
    {SYS_brk, ANY, 0, 0},
    {SYS_recvmsg, ANY, 0, 0},
    {SYS_recvfrom, ANY, 0, 0},
    {SYS_sendto, ANY, 0, 0},
    {SYS_write, ANY, 0, 0},
    {SYS_writev, ANY, 0, 0},
    {SYS_close, ANY, 0, 0},
    {SYS_openat, 2, WRITES, O_RDONLY},
    {SYS_newfstatat, ANY, 0, 0},
    {SYS_fstat, ANY, 0, 0},
    {SYS_statx, ANY, 0, 0},
    {SYS_faccessat, ANY, 0, 0},
    {SYS_faccessat2, ANY, 0, 0},
    {SYS_readlinkat, ANY, 0, 0},
    {SYS_getcwd, ANY, 0, 0},
    {SYS_fcntl, 1, UINT32_MAX, F_GETFD},
    {SYS_fcntl, 1, UINT32_MAX, F_SETFD},
    {SYS_fcntl, 1, UINT32_MAX, F_GETFL},
    {SYS_fcntl, 1, UINT32_MAX, F_DUPFD_CLOEXEC},
#ifdef SYS_open
    {SYS_open, 1, WRITES, O_RDONLY},
    {SYS_stat, ANY, 0, 0},
    {SYS_lstat, ANY, 0, 0},
    {SYS_access, ANY, 0, 0},
    {SYS_readlink, ANY, 0, 0},
    {SYS_poll, ANY, 0, 0},
#endif
    {SYS_ppoll, ANY, 0, 0},
    /* threads, but not processes */
    {SYS_clone, 0, CLONE_THREAD | CLONE_VM, CLONE_THREAD | CLONE_VM},
    {SYS_set_robust_list, ANY, 0, 0},
    {SYS_rseq, ANY, 0, 0},
    {SYS_set_tid_address, ANY, 0, 0},
    {SYS_prctl, 0, UINT32_MAX, PR_SET_NAME},
    {SYS_sched_getaffinity, ANY, 0, 0},
    {SYS_sched_yield, ANY, 0, 0},
    {SYS_clock_gettime, ANY, 0, 0},
    {SYS_clock_nanosleep, ANY, 0, 0},
    {SYS_gettid, ANY, 0, 0},
    {SYS_getpid, ANY, 0, 0},
    {SYS_sysinfo, ANY, 0, 0},
    {SYS_uname, ANY, 0, 0},
    {SYS_getrandom, ANY, 0, 0},
    {SYS_prlimit64, 0, UINT32_MAX, 0}, /* only for the process itself */
    {SYS_getrlimit, ANY, 0, 0},
    {SYS_setrlimit, ANY, 0, 0},
    {SYS_rt_sigprocmask, ANY, 0, 0},
    {SYS_rt_sigaction, ANY, 0, 0},
    {SYS_rt_sigreturn, ANY, 0, 0},
    {SYS_sigaltstack, ANY, 0, 0},
    {SYS_restart_syscall, ANY, 0, 0},
    {SYS_exit, ANY, 0, 0},
    {SYS_exit_group, ANY, 0, 0},
};

enum { RULES = sizeof(rules) / sizeof(rules[0]) };

struct program {
    struct sock_filter code[(RULES + 2) * RULE_LENGTH + FRAME_LENGTH];
    unsigned short length;
};

static void
put_filter_instruction(struct program *program, uint16_t code, uint32_t k,
                       uint8_t if_not)
{
    program->code[program->length++] = (struct sock_filter){code, 0, if_not, k};
}

/* Offset of an argument's lower half; the kernel ignores the upper one for
 * these calls. */
static uint32_t
argument_at(int i)
{
    const size_t low = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? 0 : 4;

    return (uint32_t)(offsetof(struct seccomp_data, args) +
                      sizeof(uint64_t) * (size_t)i + low);
}

/* Jumps are relative: each rule that does not match skips its own verdict. */
static void
put_rule(struct program *program, const struct rule *rule, uint32_t verdict)
{
    const bool any = rule->argument == ANY;

    put_filter_instruction(program, BPF_LD | BPF_W | BPF_ABS,
                           offsetof(struct seccomp_data, nr), 0);
    put_filter_instruction(program, BPF_JMP | BPF_JEQ | BPF_K,
                           (uint32_t)rule->call, any ? 1 : 4);
    if (!any) {
        put_filter_instruction(program, BPF_LD | BPF_W | BPF_ABS,
                               argument_at(rule->argument), 0);
        put_filter_instruction(program, BPF_ALU | BPF_AND | BPF_K, rule->mask,
                               0);
        put_filter_instruction(program, BPF_JMP | BPF_JEQ | BPF_K, rule->value,
                               1);
    }
    put_filter_instruction(program, BPF_RET | BPF_K, verdict, 0);
}

/* Enters a Landlock domain, so that ptrace and /proc/PID/mem of processes
 * outside it are refused.  Without Landlock nothing changes. */
static void
leave_others_memory(void)
{
    const struct landlock_ruleset_attr handled = {
        .handled_access_fs = LANDLOCK_ACCESS_FS_WRITE_FILE};
    int fd =
        (int)syscall(SYS_landlock_create_ruleset, &handled, sizeof(handled), 0);

    if (fd < 0)
        return;
    (void)syscall(SYS_landlock_restrict_self, fd, 0);
    close(fd);
}

/* From now on the process, with all threads to come, may read files, compute,
 * and talk over the descriptors that it has: all else fails with EPERM.  Needs
 * PR_SET_NO_NEW_PRIVS; -1 where the kernel has no filters or refuses another.
 */
static int
allow_system_calls(void)
{
    const struct rule own = {SYS_tgkill, 0, UINT32_MAX, (uint32_t)getpid()};
    const struct rule clone3 = {SYS_clone3, ANY, 0, 0};
    struct program program = {.length = 0};
    struct sock_fprog filter = {.filter = program.code};

    put_filter_instruction(&program, BPF_LD | BPF_W | BPF_ABS,
                           offsetof(struct seccomp_data, arch), 0);
    program.code[program.length++] =
        (struct sock_filter){BPF_JMP | BPF_JEQ | BPF_K, 1, 0, ARCHITECTURE};
    put_filter_instruction(&program, BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM,
                           0);
    for (size_t i = 0; i < RULES; i++)
        put_rule(&program, &rules[i], SECCOMP_RET_ALLOW);
    put_rule(&program, &own, SECCOMP_RET_ALLOW); /* abort() */
    /* clone3's flags lie in memory, where no filter can read them; on ENOSYS
     * glibc makes threads by clone(). */
    put_rule(&program, &clone3, SECCOMP_RET_ERRNO | ENOSYS);
    put_filter_instruction(&program, BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM,
                           0);
    filter.len = program.length;
    leave_others_memory();
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0, 0);
}

#else

static int
allow_system_calls(void)
{
    errno = ENOSYS;
    return -1;
}

#endif

enum { NICE = 10, DESCRIPTORS = 64, PROCESSORS_MAX = 1024 };

/* A sanitizer's shadow needs terabytes of address space. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { LIMIT_MEMORY = 0 };
#else
enum { LIMIT_MEMORY = 1 };
#endif

static void
set_helper_limit(int what, uint64_t value)
{
    struct rlimit old, new;

    if (getrlimit((__rlimit_resource_t)what, &old) != 0)
        return;
    new.rlim_cur = value < old.rlim_max ? value : old.rlim_max;
    new.rlim_max = new.rlim_cur;
    (void)setrlimit((__rlimit_resource_t)what, &new);
}

static void
volunteer_for_the_oom_killer(void)
{
    static const char most[] = "1000";
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

    /* If refused, the limits below must suffice. */
    if (fd >= 0 && write(fd, most, sizeof(most) - 1) < 0)
        errno = 0;
    fd_close(fd);
}

int
limits_apply(uint64_t memory_bytes, pid_t parent)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    /* The signal is sent only for later deaths; a parent that has died by now
     * left us to another one. */
    if (getppid() != parent)
        return -1;
    volunteer_for_the_oom_killer();
    (void)setpriority(PRIO_PROCESS, 0, NICE);
    if (LIMIT_MEMORY)
        set_helper_limit(RLIMIT_AS, memory_bytes);
    set_helper_limit(RLIMIT_CORE, 0);
    set_helper_limit(RLIMIT_FSIZE, 0);
    set_helper_limit(RLIMIT_NOFILE, DESCRIPTORS);
    set_helper_limit(RLIMIT_RTPRIO, 0); /* heapwired's tracing threads may have
                                         * real-time priority */
    (void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    (void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    (void)allow_system_calls();
    return 0;
}

/* RLIMIT_CPU counts the time of all threads together. */
static rlim_t
usable_processor_count(void)
{
    cpu_set_t set;

    return sched_getaffinity(0, sizeof(set), &set) == 0
               ? (rlim_t)CPU_COUNT(&set)
               : PROCESSORS_MAX;
}

void
limits_cpu(uint32_t seconds)
{
    struct timespec used = {0, 0};
    struct rlimit cpu;

    if (getrlimit(RLIMIT_CPU, &cpu) != 0 ||
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used) != 0)
        return;
    cpu.rlim_cur = (rlim_t)used.tv_sec + seconds * usable_processor_count() + 1;
    if (cpu.rlim_cur > cpu.rlim_max)
        cpu.rlim_cur = cpu.rlim_max;
    (void)setrlimit(RLIMIT_CPU, &cpu);
}
