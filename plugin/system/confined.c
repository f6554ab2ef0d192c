/*
 * confined.c - see confined.h.
 *
 * A seccomp filter may answer a call with an error, with SIGSYS or with the
 * process's death, and nothing tells which beforehand.  So each call is made
 * once, with arguments that do no harm, by a child that may die of it.  The
 * agent cannot start children, so heapwire-run passes it the answers in the
 * environment, together with the number of filters: with another number (the
 * program added one, or was started otherwise) the answers count for nothing,
 * and the agent makes none of these calls.
 */
#include "confined.h"

#include <linux/capability.h>
#include <linux/ptrace.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "process_stat.h"

/* Linux 5.9; older headers lack them. */
#ifndef SYS_close_range
#define SYS_close_range 436
#endif
#ifndef CLOSE_RANGE_UNSHARE
#define CLOSE_RANGE_UNSHARE (1U << 1)
#endif

/* On process 0, which does not exist: the kernel refuses each request after the
 * filter has let it pass.  A filter may allow one request and not another, so
 * each one that is used is tried. */
static void
try_ptrace(void)
{
    static const int requests[] = {PTRACE_SEIZE, PTRACE_INTERRUPT,
                                   PTRACE_GETREGSET, PTRACE_POKEUSR,
                                   PTRACE_DETACH};

    for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++)
        syscall(SYS_ptrace, requests[i], 0, NULL, NULL);
    syscall(SYS_process_vm_readv, 0, NULL, 0, NULL, 0, 0);
}

/* Filters belong to a thread, hence thread-self.  Before Linux 5.9 the number
 * is not shown: "Seccomp: 2" then gives -1, "some". */
int
confined_filters(void)
{
    char status[PROCESS_STATUS_MAX];
    long n;

    if (!process_status_read(0, 0, status))
        return -1;
    if (process_status_number(status, "Seccomp") == 0)
        return 0;
    n = process_status_number(status, "Seccomp_filters"); /* Linux 5.9 */
    return n > 0 ? (int)n : -1;
}

void
confined_write(int filters, unsigned calls, char *out)
{
    snprintf(out, CONFINED_TEXT, "%d,%u", filters, calls);
}

unsigned
confined_read(int filters, const char *text)
{
    unsigned calls;
    int under;

    if (filters == 0)
        return CONFINED_ALL;
    /* NOLINTNEXTLINE(cert-err34-c): whatever it is, it is checked */
    if (filters < 0 || !text || sscanf(text, "%d,%u", &under, &calls) != 2 ||
        under != filters)
        return 0;
    return calls & CONFINED_ALL;
}

int
confined_add_closefrom(posix_spawn_file_actions_t *actions, int from)
{
    return confined_filters() == 0
               ? posix_spawn_file_actions_addclosefrom_np(actions, from)
               : 0;
}

bool
confined_try(enum confined_call call)
{
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct data[2];
    sigset_t none;

    switch (call) {
    case CONFINED_CLOSE_RANGE:
        return syscall(SYS_close_range, STDERR_FILENO + 1, ~0U,
                       CLOSE_RANGE_UNSHARE) == 0;
    case CONFINED_UNSHARE:
        return unshare(CLONE_FILES) == 0;
    case CONFINED_MEMFD:
        return memfd_create("heapwire", MFD_CLOEXEC) >= 0;
    case CONFINED_SIGNALFD:
        sigemptyset(&none);
        return signalfd(-1, &none, SFD_CLOEXEC) >= 0;
    case CONFINED_IDS: /* not libc's functions, which would signal all threads
                        * to do the same */
        syscall(SYS_setgroups, 0, NULL);
        syscall(SYS_setresgid, -1, -1, -1);
        syscall(SYS_setresuid, -1, -1, -1);
        return true;
    case CONFINED_CAPABILITIES:
        if (syscall(SYS_capget, &header, data) == 0)
            syscall(SYS_capset, &header, data);
        prctl(PR_CAPBSET_DROP, ~0UL, 0, 0, 0);
        prctl(PR_SET_DUMPABLE, prctl(PR_GET_DUMPABLE, 0, 0, 0, 0), 0, 0, 0);
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        prctl(PR_SET_PTRACER, 0, 0, 0, 0);
        return true;
    case CONFINED_PERF:
        syscall(SYS_perf_event_open, NULL, 0, -1, -1, 0);
        return true;
    case CONFINED_PTRACE:
        try_ptrace();
        return true;
    case CONFINED_PRIORITY:
        syscall(SYS_sched_setscheduler, -1, 0, NULL);
        return true;
    case CONFINED_ALL:
        break;
    }
    return false;
}
