/*
 * borrow_thread.c - see remote.h.
 *
 * What is hard about stopping a thread in a system call is to let it go on as
 * if nothing had been: a sleep that is interrupted returns to the kernel with a
 * code of its own, from which it is restarted, and only on the way back to the
 * program.  The borrowed call ends at the entry of rt_sigreturn, where that way
 * is gone: the registers must make the kernel enter the sleep again.
 */
#include "remote.h"

#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "process_stat.h"

#ifndef NT_X86_XSTATE
#define NT_X86_XSTATE 0x202
#endif

enum {
    STATE_MIN = 512 + 64, /* the legacy part, and the header */
    WAIT_STEP_NS = 20 * 1000 * 1000,
    RESTART_SYSCALL = SYS_restart_syscall,
    /* What an interrupted system call returns, for the kernel alone
     * (linux/errno.h). */
    RESTARTSYS = 512,
    RESTARTNOINTR = 513,
    RESTARTNOHAND = 514
};

static bool
stops_all(int signal)
{
    return signal == SIGSTOP || signal == SIGTSTP || signal == SIGTTIN ||
           signal == SIGTTOU;
}

static enum borrow_stop
stop_of(int status, int *signal)
{
    int event = status >> 16;

    if (!WIFSTOPPED(status))
        return STOP_GONE;
    *signal = WSTOPSIG(status);
    if (event == PTRACE_EVENT_EXEC)
        return STOP_EXEC;
    if (event == PTRACE_EVENT_STOP)
        return stops_all(*signal) ? STOP_STOPPED : STOP_EVENT;
    if (*signal == (SIGTRAP | 0x80))
        return STOP_CALL;
    return STOP_SIGNAL;
}

/* Waits for a stop.  SIGCHLD announces it, but is the supervisor's, too, so
 * this polls. */
enum borrow_stop
borrow_thread_await(struct borrowed *b, uint64_t until_ms, int *signal)
{
    const struct timespec step = {0, WAIT_STEP_NS};
    sigset_t child;
    int status;
    pid_t pid;

    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    for (;;) {
        /* __WALL: a thread of another process is a "clone child". */
        pid = waitpid(b->sleeper.tid, &status, WNOHANG | __WALL);
        if (pid > 0) {
            enum borrow_stop stop = stop_of(status, signal);

            b->stopped = stop != STOP_GONE;
            b->seized = b->seized && b->stopped;
            return stop;
        }
        if (pid < 0 && errno != EINTR) {
            b->seized = b->stopped = false;
            return STOP_GONE;
        }
        if (clock_ms() >= until_ms)
            return STOP_LATE;
        sigtimedwait(&child, NULL, &step);
    }
}

long
borrow_thread_request(struct borrowed *b, int what, uintptr_t data)
{
    return ptrace((enum __ptrace_request)what, b->sleeper.tid, NULL,
                  (void *)data);
}

void
borrow_thread_go_on(struct borrowed *b, int how, int signal)
{
    b->stopped = false;
    borrow_thread_request(b, how, (uintptr_t)signal);
}

bool
borrow_thread_is_interrupted(const struct borrowed *b)
{
    switch (-(int64_t)b->regs.rax) {
    case EINTR:
    case RESTARTSYS:
    case RESTARTNOINTR:
    case RESTARTNOHAND:
    case BORROW_RESTART_BLOCK:
        break;
    default:
        return false; /* the sleep has just ended */
    }
    return (long)b->regs.orig_rax == b->sleeper.number &&
           b->regs.rip == b->sleeper.code && b->regs.rsp == b->sleeper.stack;
}

int
borrow_thread_save(struct borrowed *b)
{
    struct iovec state = {b->state, sizeof(b->state)};

    if (borrow_thread_request(b, PTRACE_GETREGS, (uintptr_t)&b->regs) != 0 ||
        ptrace(PTRACE_GETSIGMASK, b->sleeper.tid, (void *)BORROW_MASK_BYTES,
               &b->mask) != 0 ||
        ptrace(PTRACE_GETREGSET, b->sleeper.tid, (void *)NT_X86_XSTATE,
               &state) != 0)
        return -1;
    b->state_size = state.iov_len;
    if (b->state_size < STATE_MIN || b->state_size >= sizeof(b->state)) {
        errno = EOVERFLOW;
        return -1;
    }
    return 0;
}

/* The kernel starts epoll_wait again with its whole timeout: subtracts what has
 * passed. */
static void
shorten_sleep_timeout(struct borrowed *b)
{
    uint64_t over;

    if (b->sleeper.timeout_ms <= 0)
        return;
    over = clock_ms() - b->sleeper.slept_at_ms;
    /* One more, as the program must not wake early. */
    b->regs.r10 = over < (uint64_t)b->sleeper.timeout_ms
                      ? (uint64_t)b->sleeper.timeout_ms - over + 1
                      : 0;
}

/* Must the program see a signal that has ended its sleep? */
static bool
has_signal(const struct borrowed *b)
{
    char status[PROCESS_STATUS_MAX];
    uint64_t pending;

    process_status_read(b->remote->pid, b->sleeper.tid, status);
    pending = strtoull(process_status_text(status, "SigPnd"), NULL, 16) |
              strtoull(process_status_text(status, "ShdPnd"), NULL, 16);
    return (pending & ~b->mask) != 0;
}

/* Did a system call return as if for a signal, without one?  That is how an
 * epoll, or a wait for a socket with a timeout, ends when its thread is traced.
 */
static bool
is_interrupted_falsely(const struct borrowed *b)
{
    return -(int64_t)b->regs.rax == EINTR && !has_signal(b) &&
           (borrow_thread_is_interrupted(b) ||
            b->regs.orig_rax == SYS_epoll_wait ||
            b->regs.orig_rax == SYS_epoll_pwait);
}

/* Makes the program repeat its system call: the instruction has two bytes. */
static void
restart_system_call(struct borrowed *b)
{
    if (borrow_thread_is_interrupted(b))
        shorten_sleep_timeout(b);
    b->regs.rax = b->regs.orig_rax;
    b->regs.rip -= 2;
    b->regs.orig_rax = UINT64_MAX;
}

static void
restore_thread_state(struct borrowed *b, const struct user_regs_struct *regs)
{
    struct iovec state = {b->state, b->state_size};

    /* The registers come last: only they send the thread elsewhere. */
    ptrace(PTRACE_SETREGSET, b->sleeper.tid, (void *)NT_X86_XSTATE, &state);
    ptrace(PTRACE_SETSIGMASK, b->sleeper.tid, (void *)BORROW_MASK_BYTES,
           &b->mask);
    borrow_thread_request(b, PTRACE_SETREGS, (uintptr_t)regs);
}

void
borrow_thread_restore_there(struct borrowed *b)
{
    if (is_interrupted_falsely(b))
        restart_system_call(b);
    restore_thread_state(b, &b->regs);
}

void
borrow_thread_restore_instead(struct borrowed *b)
{
    struct user_regs_struct regs;

    if (is_interrupted_falsely(b))
        restart_system_call(b);
    regs = b->regs;
    switch (-(int64_t)regs.rax) {
    case BORROW_RESTART_BLOCK:
        if (b->restart_lost)
            return; /* then rt_sigreturn restores EINTR */
        regs.orig_rax = RESTART_SYSCALL;
        break;
    case RESTARTSYS:
    case RESTARTNOINTR:
    case RESTARTNOHAND:
        break;
    default:
        regs.orig_rax = UINT64_MAX; /* no system call */
    }
    if (regs.orig_rax != UINT64_MAX)
        /* What the kernel puts there before it enters a call. */
        regs.rax = (uint64_t)-ENOSYS;
    restore_thread_state(b, &regs);
}

void
borrow_thread_let_go(struct borrowed *b, int signal)
{
    if (!b->seized)
        return;
    if (!b->stopped) {
        int other;

        borrow_thread_request(b, PTRACE_INTERRUPT, 0);
        /* A signal that comes at this moment is the program's. */
        if (borrow_thread_await(b, clock_ms() + BORROW_STOP_MS, &other) ==
                STOP_SIGNAL &&
            other != SIGTRAP)
            signal = other;
    }
    if (b->stopped)
        borrow_thread_request(b, PTRACE_DETACH, (uintptr_t)signal);
    b->seized = b->stopped = false;
}
