/*
 * ptrace_stop.c - copies one thread's registers and stack: as it waits, or by
 * ptrace.
 *
 * PTRACE_SEIZE does not stop a thread, PTRACE_INTERRUPT does, without a signal:
 * the thread comes to a stop on its way back to user space, is looked at, and
 * goes on.  A thread that does not come there (it waits for a disk, state D)
 * cannot be let go by PTRACE_DETACH either, which wants it stopped; only the
 * end of its tracer does that.  A tracer is a thread: so copies are made by a
 * thread of their own (thread_tracer.h), which waits without polling, and is
 * cancelled where that takes too long.
 *
 * Stops are seen with WNOWAIT: the kernel keeps the signal that is about to be
 * delivered, and delivers it also where we are killed before we pass it on.
 *
 * The stop ends a system call as SIGSTOP would.  The kernel goes on with most
 * of them; some it ends with EINTR, which programs without a signal handler
 * seldom expect.  Those we let it go on with, too: see resume_system_call.
 */
#include <elf.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "process_stat.h"
#include "sample_refused.h"
#include "sample_task.h"
#include "sampler.h"
#include "thread_tracer.h"

static uint64_t
now_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/* ---- its state ---- */

#if defined(__x86_64__)
typedef struct user_regs_struct native_registers;

static void
copy_ptrace_registers(const native_registers *from,
                      struct thread_registers *out)
{
    const uint64_t values[REGISTER_COUNT] = {
        from->rax, from->rdx, from->rcx, from->rbx, from->rsi, from->rdi,
        from->rbp, from->rsp, from->r8,  from->r9,  from->r10, from->r11,
        from->r12, from->r13, from->r14, from->r15, from->rip};

    memcpy(out->values, values, sizeof(values));
}

/* The kernel's own errno: go on with the call, but for a signal handler, which
 * makes EINTR of it. */
enum { ERESTARTNOHAND = 514 };

/* Calls that the kernel ends with EINTR for any stop (signal(7)), and that have
 * done nothing by then.  A timeout begins anew, so epoll_wait() is restarted
 * only if its timeout is short; its callers expect EINTR anyway. */
static bool
may_go_on(const native_registers *r)
{
    enum { SHORT_MS = 1000 };

    switch (r->orig_rax) {
    case SYS_epoll_wait:
    case SYS_epoll_pwait:
        return (int32_t)r->r10 <= SHORT_MS; /* -1: no limit */
    case SYS_epoll_pwait2:
        return r->r10 == 0;
    case SYS_read:
    case SYS_readv:
    case SYS_write:
    case SYS_writev:
    case SYS_sendto:
    case SYS_sendmsg:
    case SYS_recvfrom:
    case SYS_recvmsg:
    case SYS_accept:
    case SYS_accept4:
    case SYS_semop:
    case SYS_semtimedop:
    case SYS_msgrcv:
    case SYS_rt_sigtimedwait:
    case SYS_io_getevents:
    case SYS_io_uring_enter:
        return true;
    default:
        return false;
    }
}

static void
resume_system_call(int32_t tid, const native_registers *r)
{
    if (r->rax == (uint64_t)-EINTR && may_go_on(r))
        ptrace(PTRACE_POKEUSER, tid,
               (void *)offsetof(struct user_regs_struct, rax),
               (void *)(uintptr_t)-ERESTARTNOHAND);
}
#else
typedef struct user_regs_struct native_registers;

static void
copy_ptrace_registers(const native_registers *from,
                      struct thread_registers *out)
{
    memcpy(out->values, from->regs, sizeof(from->regs));
    out->values[REGISTER_SP] = from->sp;
    out->values[REGISTER_PC] = from->pc;
}

/* AArch64 has overwritten the call's first argument by then. */
static void
resume_system_call(int32_t tid, const native_registers *r)
{
    (void)tid, (void)r;
}
#endif

static int
copy_stopped(struct ptrace_stop *stop)
{
    struct thread_stack *stack = &stop->copy->stack;
    native_registers r;
    struct iovec whole = {&r, sizeof(r)};

    if (ptrace(PTRACE_GETREGSET, stop->tid, (void *)NT_PRSTATUS, &whole) != 0) {
        stop->gone = errno == ESRCH; /* SIGKILL ended the stop */
        error_sys(stop->err, ER_UNKNOWN,
                  "cannot read the registers of thread %d", stop->tid);
        return -1;
    }
    if (whole.iov_len != sizeof(r)) {
        error_set(stop->err, ER_NOT_SUPPORTED,
                  "thread %d runs 32-bit code, whose stacks heapwire does not "
                  "read",
                  stop->tid);
        return -1;
    }
    copy_ptrace_registers(&r, &stop->copy->registers);
    stop->copy->registers.missing = 0;
    *stack = (struct thread_stack){stop->copy->registers.values[REGISTER_SP],
                                   stop->bytes, 0};
    stack->size = sample_task_memory(stop->tid, stack->start, stop->bytes,
                                     SAMPLER_STACK_BYTES);
    resume_system_call(stop->tid, &r);
    return 0;
}

/* ---- of one that waits ---- */

/* Copies a waiting thread without stopping it.  If it has not run between the
 * two looks at its slices, registers and stack are of one moment. */
static bool
copy_waiting(struct ptrace_stop *stop)
{
    struct thread_copy *copy = stop->copy;
    struct sample_times before, after;
    uint64_t sp, pc;

    if (!sample_task_times(stop->pid, stop->tid, &before) ||
        before.slices == 0 || /* this kernel does not count slices */
        !sample_task_waits(stop->pid, stop->tid, &sp, &pc))
        return false;
    *copy =
        (struct thread_copy){.registers.missing = ~((uint64_t)1 << REGISTER_SP |
                                                    (uint64_t)1 << REGISTER_PC),
                             .stack = {sp, stop->bytes, 0},
                             .slices = before.slices};
    copy->registers.values[REGISTER_SP] = sp;
    copy->registers.values[REGISTER_PC] = pc;
    copy->stack.size =
        sample_task_memory(stop->tid, sp, stop->bytes, SAMPLER_STACK_BYTES);
    return copy->stack.size > 0 &&
           sample_task_times(stop->pid, stop->tid, &after) &&
           after.slices == before.slices;
}

/* ---- the stop ---- */

/* Whether a thread of this process traces it now. */
static bool
is_traced_here(int32_t pid, int32_t tid)
{
    char status[PROCESS_STATUS_MAX], path[48];

    process_status_read(pid, tid, status);
    snprintf(path, sizeof(path), "/proc/self/task/%ld",
             process_status_number(status, "TracerPid"));
    return access(path, F_OK) == 0;
}

/* A thread can have one tracer.  If that is another observation's of this
 * process, it is over in a moment, or a little later on a busy machine; another
 * copy may follow it, again and again.  So it is tried for up to 200 ms, and
 * for 2 ms if the tracer is not ours. */
static long
seize_thread(int32_t pid, int32_t tid)
{
    enum { STEPS = 1000, STEPS_OF_OTHERS = 10, STEP_NS = 200 * 1000 };
    const struct timespec moment = {0, STEP_NS};
    long rc = ptrace(PTRACE_SEIZE, tid, NULL, NULL);

    for (int i = 0, others = 0;
         i < STEPS && others < STEPS_OF_OTHERS && rc != 0 && errno == EPERM;
         i++) {
        others = is_traced_here(pid, tid) ? 0 : others + 1;
        nanosleep(&moment, NULL);
        rc = ptrace(PTRACE_SEIZE, tid, NULL, NULL);
    }
    return rc;
}

/* Waits for the stop or the thread's end.  This thread may be cancelled here,
 * and nowhere else, as it holds nothing here but what its end releases. */
static int
await_stop(int32_t tid, siginfo_t *info)
{
    int rc, state;

    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &state);
    do {
        rc = waitid(P_PID, (id_t)tid, info,
                    WSTOPPED | WEXITED | WNOWAIT | __WALL);
    } while (rc != 0 && errno == EINTR);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
    return rc;
}

/* The signal that is about to be delivered at this stop; 0: none (the upper
 * byte has a ptrace event). */
static int
signal_of(const siginfo_t *info)
{
    return info->si_status >> 8 ? 0 : info->si_status;
}

static int
copy_thread(struct ptrace_stop *stop)
{
    char why[SAMPLE_REFUSED_MAX];
    siginfo_t info = {.si_pid = 0};
    uint64_t waited_us = sample_wait_us(stop->schedstat), woken_us;
    int rc, error;

    if (seize_thread(stop->pid, stop->tid) != 0) {
        error = errno;
        stop->gone = error == ESRCH || sample_task_ended(stop->pid, stop->tid);
        if (!stop->gone)
            sample_refused_ptrace(stop->pid, stop->tid, error, why,
                                  sizeof(why));
        error_set(stop->err, ER_NOT_SUPPORTED,
                  "ptrace may not stop thread %d: %s", stop->tid,
                  stop->gone ? "it has ended" : why);
        return -1;
    }
    /* While it is traced its tid cannot be reused: check that it is still a
     * thread of that process. */
    if ((syscall(SYS_tgkill, stop->pid, stop->tid, 0) != 0 && errno == ESRCH) ||
        ptrace(PTRACE_INTERRUPT, stop->tid, NULL, NULL) != 0 ||
        await_stop(stop->tid, &info) != 0 || info.si_code != CLD_TRAPPED) {
        stop->gone = true;
        error_set(stop->err, ER_UNKNOWN, "thread %d has ended", stop->tid);
        return -1;
    }
    woken_us = now_us();
    rc = copy_stopped(stop);
    ptrace(PTRACE_DETACH, stop->tid, NULL, (void *)(uintptr_t)signal_of(&info));
    /* An upper bound: from when this thread could have run on, so with the time
     * that it waited for a processor. */
    stop->copy->pause_us =
        now_us() - woken_us + sample_wait_us(stop->schedstat) - waited_us;
    return rc;
}

void
ptrace_copy_here(struct ptrace_stop *stop)
{
    stop->rc = stop->unstopped && copy_waiting(stop) ? 0 : copy_thread(stop);
}
