/*
 * borrow.c - see remote.h.
 *
 * A tracer that is killed lets go of its thread at that instant, wherever the
 * thread stands, and a signal that was about to be delivered is delivered.  So
 * the thread must always stand where it can go on by itself:
 *
 * - What it may read when it goes on is complete before it is sent there, and
 *   never written over: everything that is put onto its stack lies below all
 *   that was put there before.  At the end of a call it is about to return by
 *   that call's frame; the next call writes a frame of its own below it.
 * - PTRACE_SETREGS alone, which the kernel does as a whole or not at all, sends
 *   it from one such place to another.
 * - No signal is kept back here, and none is caused: so there is no single
 *   stepping, whose end is a SIGTRAP.
 */
#include "remote.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "clock.h"
#include "errors.h"

enum {
    /* the ABI's: leaf functions use it without moving rsp */
    RED_ZONE = 128,
    /* XRSTOR needs it */
    STATE_ALIGN = 64,
    FRAME_ALIGN = 16,
    /* sw_reserved of the FXSAVE area: which parts follow */
    STATE_WORDS_AT = 464,
    /* the kernel's struct ucontext and siginfo, of fixed size on x86-64 */
    FRAME_SIZE = 304 + 128,
    STACK_MAX = 80 * 1024, /* for all texts and frames */
    /* ss_flags that the kernel rejects, and so keeps the present stack */
    ALTSTACK_SAME = 0x7fffffff,
    /* UC_FP_XSTATE, UC_SIGCONTEXT_SS, UC_STRICT_RESTORE_SS (asm/ucontext.h) */
    FRAME_FLAGS = 1 | 2 | 4
};

enum { EFLAGS_TF = 0x100, EFLAGS_DF = 0x400, EFLAGS_AC = 0x40000 };

/* Trap, direction, alignment check: the ABI has them clear at each call. */
static const uint64_t unsafe_eflags = EFLAGS_TF | EFLAGS_DF | EFLAGS_AC;

static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};

/* ---- the frame ---- */

static int
write_xsave_state(struct borrowed *b, uint64_t at)
{
    const uint32_t end = FP_XSTATE_MAGIC2;
    struct _fpx_sw_bytes words = {
        .magic1 = FP_XSTATE_MAGIC1,
        .extended_size = (uint32_t)b->state_size + sizeof(end),
        .xstate_size = (uint32_t)b->state_size,
    };
    unsigned char copy[BORROW_STATE_MAX];

    memcpy(copy, b->state, b->state_size);
    memcpy(&words.xstate_bv, copy + STATE_WORDS_AT, sizeof(words.xstate_bv));
    memcpy(copy + STATE_WORDS_AT, &words, sizeof(words));
    if (remote_write(b->remote, at, copy, b->state_size) != 0)
        return -1;
    return remote_write(b->remote, at + b->state_size, &end, sizeof(end));
}

/* Fills in what rt_sigreturn restores if we die: the thread then makes its
 * system call again, or sees EINTR. */
static void
fill_context(const struct borrowed *b, uint64_t state, ucontext_t *out)
{
    const struct user_regs_struct *r = &b->regs;
    /* A sleep with its remaining time in the kernel cannot be started again. */
    bool again = -(int64_t)r->rax != BORROW_RESTART_BLOCK;
    const greg_t registers[] = {
        [REG_R8] = (greg_t)r->r8,
        [REG_R9] = (greg_t)r->r9,
        [REG_R10] = (greg_t)r->r10,
        [REG_R11] = (greg_t)r->r11,
        [REG_R12] = (greg_t)r->r12,
        [REG_R13] = (greg_t)r->r13,
        [REG_R14] = (greg_t)r->r14,
        [REG_R15] = (greg_t)r->r15,
        [REG_RDI] = (greg_t)r->rdi,
        [REG_RSI] = (greg_t)r->rsi,
        [REG_RBP] = (greg_t)r->rbp,
        [REG_RBX] = (greg_t)r->rbx,
        [REG_RDX] = (greg_t)r->rdx,
        [REG_RCX] = (greg_t)r->rcx,
        [REG_RSP] = (greg_t)r->rsp,
        [REG_EFL] = (greg_t)r->eflags,
        [REG_RAX] = again ? (greg_t)r->orig_rax : -EINTR,
        /* "rip - 2": back to the syscall instruction */
        [REG_RIP] = (greg_t)(again ? r->rip - 2 : r->rip),
        [REG_CSGSFS] =
            (greg_t)(r->cs | r->gs << 16 | r->fs << 32 | r->ss << 48),
    };

    memset(out, 0, sizeof(*out));
    out->uc_flags = FRAME_FLAGS;
    out->uc_stack.ss_flags = ALTSTACK_SAME;
    memcpy(out->uc_mcontext.gregs, registers, sizeof(registers));
    memcpy(&out->uc_mcontext.fpregs, &state, sizeof(state));
    memcpy(&out->uc_sigmask, &b->mask, sizeof(b->mask));
}

/* Takes size bytes of the thread's stack, below what was taken before.  -1 with
 * errno. */
static int
take_stack(struct borrowed *b, size_t size, size_t align)
{
    uint64_t at = (b->below - size) & ~(uint64_t)(align - 1);

    if (b->regs.rsp - at > STACK_MAX) {
        errno = ENOBUFS;
        return -1;
    }
    b->below = at;
    return 0;
}

/* Writes what the call returns to: the restorer of signal handlers, or first
 * the code that stores its result. */
static int
put_links(struct borrowed *b, uint64_t result)
{
    const uint64_t links[] = {b->landmarks->store, 0, b->landmarks->restorer};
    size_t first = result ? 0 : 2,
           size = sizeof(links) - first * sizeof(*links);

    if (take_stack(b, size, sizeof(*links)) != 0)
        return -1;
    return remote_write(b->remote, b->below, links + first, size);
}

static int
put_frame(struct borrowed *b, uint64_t result)
{
    uint64_t state;
    ucontext_t context;

    if (take_stack(b, b->state_size + sizeof(uint32_t), STATE_ALIGN) != 0)
        return -1;
    state = b->below;
    if (take_stack(b, FRAME_SIZE, FRAME_ALIGN) != 0)
        return -1;
    b->next_frame = b->below;
    fill_context(b, state, &context);
    if (write_xsave_state(b, state) != 0 ||
        remote_write(b->remote, b->next_frame, &context,
                     offsetof(ucontext_t, uc_sigmask) + BORROW_MASK_BYTES) != 0)
        return -1;
    return put_links(b, result);
}

int
borrow_put(struct borrowed *b, const void *data, size_t size, uint64_t *at,
           struct error *err)
{
    if (size > BORROW_TEXT_MAX) {
        error_set(err, ER_UNKNOWN, "the arguments of the call are too long");
        return -1;
    }
    if (take_stack(b, size, FRAME_ALIGN) != 0 ||
        remote_write(b->remote, b->below, data, size) != 0) {
        error_sys(err, ER_UNKNOWN, "cannot write to its stack");
        return -1;
    }
    *at = b->below;
    return 0;
}

/* ---- the call ---- */

static int
enter_borrowed_call(struct borrowed *b, uint64_t function, uint64_t first,
                    uint64_t second, uint64_t result)
{
    struct user_regs_struct regs = b->regs;
    uint64_t blocked = UINT64_MAX;

    /* Faults must reach us; all other signals wait until the thread is back. */
    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
        blocked &= ~borrow_thread_bit(faults[i]);
    if (put_frame(b, result) != 0)
        return -1;
    regs.rip = function;
    regs.rdi = first;
    regs.rsi = second;
    regs.rsp = b->below;
    regs.rbx = result; /* where the result is stored */
    regs.rax = 0;
    regs.orig_rax = UINT64_MAX; /* so that no system call is restarted */
    regs.eflags &= ~unsafe_eflags;
    if (borrow_thread_request(b, PTRACE_SETREGS, (uintptr_t)&regs) != 0)
        return -1;
    b->frame = b->next_frame;
    b->returned = false;
    /* Not before the registers: the frame alone would restore it. */
    return ptrace(PTRACE_SETSIGMASK, b->sleeper.tid, (void *)BORROW_MASK_BYTES,
                  &blocked) == 0
               ? 0
               : -1;
}

/* Is it a fault of the call itself (si_code > 0), not a signal that somebody
 * sent? */
static bool
is_fault(struct borrowed *b, int signal)
{
    siginfo_t info;

    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
        if (faults[i] == signal)
            return borrow_thread_request(b, PTRACE_GETSIGINFO,
                                         (uintptr_t)&info) == 0 &&
                   info.si_code > 0;
    }
    return false;
}

/* At a system call: true if the call returns by it.  Notes a call that leaves a
 * restart function of its own with the kernel: then the sleep cannot be
 * resumed. */
static bool
check_call_return(struct borrowed *b)
{
    struct user_regs_struct regs;

    if (borrow_thread_request(b, PTRACE_GETREGS, (uintptr_t)&regs) != 0)
        return false;
    if (regs.orig_rax == SYS_nanosleep || regs.orig_rax == SYS_clock_nanosleep)
        b->restart_lost = true;
    return regs.orig_rax == SYS_rt_sigreturn && regs.rsp == b->frame;
}

/* Keeps back a signal that somebody sent, though it is of a kind that faults
 * raise: blocks it and sends it again, so that it waits as all others do.
 * SIGSTOP cannot be blocked. */
static void
postpone_sent_signal(struct borrowed *b, int signal)
{
    uint64_t blocked;

    if (signal == SIGSTOP) {
        borrow_thread_go_on(b, PTRACE_SYSCALL, signal);
        return;
    }
    if (ptrace(PTRACE_GETSIGMASK, b->sleeper.tid, (void *)BORROW_MASK_BYTES,
               &blocked) == 0) {
        blocked |= borrow_thread_bit(signal);
        ptrace(PTRACE_SETSIGMASK, b->sleeper.tid, (void *)BORROW_MASK_BYTES,
               &blocked);
        syscall(SYS_tgkill, b->remote->pid, b->sleeper.tid, signal);
    }
    borrow_thread_go_on(b, PTRACE_SYSCALL, 0);
}

/* Follows the call until it returns.  NULL, or what interrupted it. */
static const char *
await_borrowed_call(struct borrowed *b)
{
    uint64_t until_ms = clock_ms() + BORROW_CALL_MS;
    int signal;

    borrow_thread_go_on(b, PTRACE_SYSCALL, 0);
    for (;;) {
        switch (borrow_thread_await(b, until_ms, &signal)) {
        case STOP_CALL:
            b->returned = check_call_return(b);
            if (b->returned)
                return NULL;
            break;
        /* the whole process is stopped, until somebody continues it */
        case STOP_STOPPED:
            b->stopped = false;
            borrow_thread_request(b, PTRACE_LISTEN, 0);
            until_ms = clock_ms() + BORROW_CALL_MS;
            continue;
        case STOP_SIGNAL:
            if (is_fault(b, signal)) {
                borrow_thread_restore_there(b);
                borrow_thread_let_go(b, 0);
                return "faulted; the thread goes on as if it had not been made";
            }
            postpone_sent_signal(b, signal);
            continue;
        case STOP_EVENT:
            break;
        case STOP_EXEC:
            borrow_thread_let_go(b, 0);
            return "was ended by another thread's exec";
        case STOP_GONE:
            return "was ended by the end of the process";
        case STOP_LATE:
            borrow_thread_let_go(b, 0);
            _Static_assert(BORROW_CALL_MS == 5000, "the text says 5 s");
            return "takes more than 5 s, most likely for a lock that another "
                   "thread holds: it goes on by itself, and returns as a "
                   "signal handler does";
        }
        borrow_thread_go_on(b, PTRACE_SYSCALL, 0);
    }
}

int
borrow_call(struct borrowed *b, uint64_t function, uint64_t first,
            uint64_t second, uint64_t result, struct error *err)
{
    const char *why;

    if (enter_borrowed_call(b, function, first, second, result) != 0) {
        if (errno == ESRCH) /* it was killed; its remains may still be there */
            error_set(err, ER_UNKNOWN, "thread %s (%d) has ended",
                      b->sleeper.name, (int)b->sleeper.tid);
        else
            error_sys(err, ER_UNKNOWN, "cannot make it call");
        borrow_end(b);
        return -1;
    }
    why = await_borrowed_call(b);
    if (!why)
        return 0;
    error_set(err, ER_UNKNOWN, "the call in thread %s (%d) %s", b->sleeper.name,
              (int)b->sleeper.tid, why);
    borrow_thread_let_go(b, 0);
    return -1;
}

int
borrow_begin(struct borrowed *b, const struct remote *remote,
             const struct landmarks *landmarks, const struct sleeper *sleeper,
             struct error *err)
{
    const char *why = "it has just woken up";
    int signal = 0;

    memset(b, 0, sizeof(*b));
    b->remote = remote;
    b->landmarks = landmarks;
    b->sleeper = *sleeper;
    /* SEIZE stops nothing by itself, unlike ATTACH, which sends a SIGSTOP. */
    if (borrow_thread_request(
            b, PTRACE_SEIZE, PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEEXEC) != 0) {
        error_sys(err, ER_UNKNOWN, "cannot trace thread %d", sleeper->tid);
        return errno == ESRCH ? 1 : -1;
    }
    b->seized = true;
    borrow_thread_request(b, PTRACE_INTERRUPT, 0);
    switch (borrow_thread_await(b, clock_ms() + BORROW_STOP_MS, &signal)) {
    case STOP_EVENT:
        signal = 0;
        break;
    case STOP_SIGNAL:
        why = "a signal has just come";
        goto out;
    default:
        why = "it does not stop";
        signal = 0;
        goto out;
    }
    if (borrow_thread_save(b) != 0) {
        why = "its registers cannot be read";
        goto out;
    }
    /* Below the red zone, which the sleeping code may use. */
    b->below = b->regs.rsp - RED_ZONE;
    /* Judged once more, now that it cannot move. */
    if (borrow_thread_is_interrupted(b) &&
        sleeper_is_fit(remote, landmarks, sleeper, &why))
        return 0;
    borrow_thread_restore_there(b);
out:
    borrow_thread_let_go(b, signal);
    error_set(err, ER_UNKNOWN, "thread %s (%d): %s", sleeper->name,
              (int)sleeper->tid, why);
    return 1;
}

void
borrow_end(struct borrowed *b)
{
    if (!b->seized)
        return;
    if (b->returned)
        borrow_thread_restore_instead(b);
    else
        borrow_thread_restore_there(b);
    borrow_thread_let_go(b, 0);
}
