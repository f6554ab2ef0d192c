/*
 * seccomp_filter.c - reads a seccomp filter before it is set; see preload.h.
 *
 * A filter may kill the process for a call that our thread makes, and the
 * kernel does not tell which.  But a filter is a small program without loops:
 * so it is run here for each call that we need, with unknown arguments.  Where
 * a jump depends on what is unknown, both ways are followed (at most WAYS_MAX
 * at a time, and STEPS_MAX steps); whatever is beyond that, or not understood,
 * counts as fatal.  The list below has every call that the thread, libc and
 * jemalloc on it make: a new call in the agent needs a line.
 */
#include "preload.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>

#include "confined.h"

#if defined(__x86_64__)
#define OWN_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define OWN_ARCH AUDIT_ARCH_AARCH64
#else
#define OWN_ARCH 0 /* no filter allows anything */
#endif

enum { STEPS_MAX = 20000, WAYS_MAX = 64 };

enum verdict { ALLOWED, REFUSED, FATAL }; /* the worst of several counts */

/* REFUSABLE: libc copes with an error; NEEDED: it must be allowed. */
enum { NEEDED, REFUSABLE = 1 << 8 };

#define THREAD_FLAGS                                                           \
    (CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |        \
     CLONE_SYSVSEM | CLONE_SETTLS | CLONE_PARENT_SETTID |                      \
     CLONE_CHILD_CLEARTID)

static const struct call {
    int number;
    unsigned kind;  /* NEEDED, REFUSABLE, or an enum confined_call */
    uint32_t first; /* argument; 0: any */
} calls[] = {
    {SYS_accept4, NEEDED, 0},
    {SYS_bind, NEEDED, 0},
    {SYS_brk, NEEDED, 0},
    {SYS_capset, CONFINED_CAPABILITIES, 0},
    {SYS_clock_gettime, NEEDED, 0},
    {SYS_clock_nanosleep, NEEDED, 0},
    {SYS_clone, NEEDED, THREAD_FLAGS},
#ifdef SYS_clone3
    {SYS_clone3, REFUSABLE, 0},
#endif
#ifdef SYS_close_range
    {SYS_close_range, CONFINED_CLOSE_RANGE, 0},
#endif
    {SYS_close, NEEDED, 0},
#ifdef SYS_creat
    {SYS_creat, NEEDED, 0},
#endif
    {SYS_dup3, NEEDED, 0},
    {SYS_exit, NEEDED, 0},
    {SYS_fcntl, NEEDED, 0},
    {SYS_fstat, NEEDED, 0},
    {SYS_futex, NEEDED, 0},
    {SYS_getdents64, NEEDED, 0},
    {SYS_geteuid, NEEDED, 0},
    {SYS_getpid, NEEDED, 0},
    {SYS_getrandom, REFUSABLE, 0},
    {SYS_getsockname, NEEDED, 0},
    {SYS_getsockopt, NEEDED, 0},
    {SYS_gettid, NEEDED, 0},
    {SYS_lseek, NEEDED, 0},
    {SYS_madvise, NEEDED, 0},
    {SYS_memfd_create, CONFINED_MEMFD, 0},
    {SYS_mmap, NEEDED, 0},
    {SYS_mprotect, NEEDED, 0},
    {SYS_mremap, NEEDED, 0},
    {SYS_munmap, NEEDED, 0},
    {SYS_newfstatat, NEEDED, 0},
    {SYS_openat, NEEDED, 0},
    {SYS_ppoll, NEEDED, 0},
#ifdef SYS_dup2
    {SYS_dup2, NEEDED, 0},
    {SYS_poll, NEEDED, 0},
    {SYS_readlink, NEEDED, 0},
    {SYS_unlink, REFUSABLE, 0},
#endif
#ifndef SYS_dup2
    {SYS_readlinkat, NEEDED, 0},
#endif
    {SYS_prctl, REFUSABLE, 0},
    {SYS_pread64, NEEDED, 0},
    {SYS_prlimit64, REFUSABLE, 0},
    {SYS_read, NEEDED, 0},
    {SYS_recvfrom, NEEDED, 0},
    {SYS_recvmsg, NEEDED, 0},
#ifdef SYS_rseq
    {SYS_rseq, REFUSABLE, 0},
#endif
    {SYS_restart_syscall, NEEDED, 0}, /* a wait that SIGSTOP interrupted */
    {SYS_rt_sigprocmask, NEEDED, 0},
    {SYS_rt_sigreturn, NEEDED, 0},
    {SYS_sched_yield, NEEDED, 0},
    {SYS_sendmsg, NEEDED, 0},
    {SYS_set_robust_list, REFUSABLE, 0},
    {SYS_setgroups, CONFINED_IDS, 0},
    {SYS_setresgid, CONFINED_IDS, 0},
    {SYS_setresuid, CONFINED_IDS, 0},
    {SYS_setsockopt, NEEDED, 0},
    {SYS_signalfd4, CONFINED_SIGNALFD, 0},
    {SYS_socket, NEEDED, 0},
    {SYS_tgkill, NEEDED, 0},
    {SYS_unlinkat, NEEDED, 0},
    {SYS_unshare, CONFINED_UNSHARE, CLONE_FILES},
    {SYS_write, NEEDED, 0},
};

/* The value of a register; one that is not known may be anything. */
struct word {
    uint32_t is;
    bool known;
};

struct registers {
    struct word a, x, memory[BPF_MEMWORDS];
};

/* The ways that are still to be followed.  Not on the stack: the host's may be
 * small. */
static struct way {
    uint32_t at;
    struct registers r;
} ways[WAYS_MAX];

static struct word
load_seccomp_word(const struct call *call, uint32_t offset)
{
    static const struct word unknown = {0, false};

    if (offset == offsetof(struct seccomp_data, nr))
        return (struct word){(uint32_t)call->number, true};
    if (offset == offsetof(struct seccomp_data, arch))
        return (struct word){OWN_ARCH, true};
    if (call->first != 0 && offset == offsetof(struct seccomp_data, args))
        return (struct word){call->first, true};
    if (call->first != 0 && offset == offsetof(struct seccomp_data, args) + 4)
        return (struct word){0, true};
    return unknown;
}

static struct word
compute_alu_result(uint16_t code, struct word a, struct word by)
{
    struct word result = {0, a.known && by.known};

    switch (BPF_OP(code)) {
    case BPF_ADD:
        result.is = a.is + by.is;
        break;
    case BPF_SUB:
        result.is = a.is - by.is;
        break;
    case BPF_AND:
        result.is = a.is & by.is;
        break;
    case BPF_OR:
        result.is = a.is | by.is;
        break;
    case BPF_XOR:
        result.is = a.is ^ by.is;
        break;
    case BPF_LSH:
        result.is = by.is < 32 ? a.is << by.is : 0;
        break;
    case BPF_RSH:
        result.is = by.is < 32 ? a.is >> by.is : 0;
        break;
    default: /* rare in filters */
        result.known = false;
    }
    return result;
}

static bool
is_jump_taken(uint16_t code, uint32_t a, uint32_t with)
{
    switch (BPF_OP(code)) {
    case BPF_JEQ:
        return a == with;
    case BPF_JGT:
        return a > with;
    case BPF_JGE:
        return a >= with;
    default:
        return (a & with) != 0; /* BPF_JSET */
    }
}

static enum verdict
return_value_verdict(struct word value)
{
    if (!value.known)
        return FATAL;
    switch (value.is & SECCOMP_RET_ACTION_FULL) {
    case SECCOMP_RET_ALLOW:
    case SECCOMP_RET_LOG:
        return ALLOWED;
    case SECCOMP_RET_ERRNO:
        return REFUSED;
    default:
        return FATAL;
    }
}

/* Follows one way to its end.  At a jump that depends on an unknown value it
 * goes on in *way, and adds the other way. */
static enum verdict
follow_filter_path(const struct sock_fprog *filter, const struct call *call,
                   int *steps, struct way *way, size_t *count)
{
    struct registers *r = &way->r;

    for (; way->at < filter->len && (*steps)-- > 0; way->at++) {
        const struct sock_filter *i = &filter->filter[way->at];
        struct word k = {i->k, true};
        struct word by = BPF_SRC(i->code) == BPF_X ? r->x : k;

        switch (BPF_CLASS(i->code)) {
        case BPF_LD:
        case BPF_LDX: {
            struct word value = {0, false};

            if (BPF_MODE(i->code) == BPF_ABS)
                value = load_seccomp_word(call, i->k);
            else if (BPF_MODE(i->code) == BPF_IMM)
                value = k;
            else if (BPF_MODE(i->code) == BPF_MEM && i->k < BPF_MEMWORDS)
                value = r->memory[i->k];
            *(BPF_CLASS(i->code) == BPF_LD ? &r->a : &r->x) = value;
            break;
        }
        case BPF_ST:
        case BPF_STX:
            if (i->k < BPF_MEMWORDS)
                r->memory[i->k] = BPF_CLASS(i->code) == BPF_ST ? r->a : r->x;
            break;
        case BPF_ALU:
            r->a = compute_alu_result(i->code, r->a, by);
            break;
        case BPF_MISC:
            if (BPF_MISCOP(i->code) == BPF_TAX)
                r->x = r->a;
            else
                r->a = r->x;
            break;
        case BPF_RET:
            return return_value_verdict(BPF_RVAL(i->code) == BPF_A ? r->a : k);
        case BPF_JMP:
            if (BPF_OP(i->code) == BPF_JA) {
                way->at += i->k;
            } else if (r->a.known && by.known) {
                way->at +=
                    is_jump_taken(i->code, r->a.is, by.is) ? i->jt : i->jf;
            } else {
                if (*count == WAYS_MAX)
                    return FATAL;
                ways[*count] = *way;
                ways[(*count)++].at += 1 + i->jf;
                way->at += i->jt;
            }
            break;
        default:
            return FATAL;
        }
    }
    return FATAL;
}

/* The worst that the filter may make of the call. */
static enum verdict
judge_filtered_call(const struct sock_fprog *filter, const struct call *call)
{
    enum verdict worst = ALLOWED, verdict;
    int steps = STEPS_MAX;
    size_t count = 1;

    ways[0] = (struct way){.at = 0};
    while (count > 0 && worst != FATAL) {
        static struct way way;

        way = ways[--count];
        verdict = follow_filter_path(filter, call, &steps, &way, &count);
        worst = verdict > worst ? verdict : worst;
    }
    return worst;
}

bool
seccomp_filter_allows(const struct sock_fprog *filter, unsigned *confined)
{
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        enum verdict verdict = judge_filtered_call(filter, &calls[i]);

        if (verdict == ALLOWED)
            continue;
        if (calls[i].kind == NEEDED ||
            (calls[i].kind == REFUSABLE && verdict == FATAL))
            return false;
        *confined &= ~calls[i].kind;
    }
    return true;
}
