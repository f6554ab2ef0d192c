/*
 * sample_refused.c - see sample_refused.h.
 *
 * The kernel says EPERM or EACCES for everything, and a user needs to know
 * which setting to change.  So each thing that can be the reason is looked at
 * in turn; the text says what would be needed.
 */
#include "sample_refused.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "process_stat.h"
#include "sample_task.h"

enum { NO_NUMBER = -1000, NAME_MAX_BYTES = 32 };

/* The number in a file of /proc/sys; NO_NUMBER: it cannot be read. */
static long
read_sysctl_number(const char *path)
{
    char text[32];

    if (!sample_read_text(path, text, sizeof(text)))
        return NO_NUMBER;
    return strtol(text, NULL, 10);
}

struct target {
    long tracer, uid, own_uid, filters;
    bool capable; /* CAP_SYS_PTRACE is ours */
    bool undumpable;
};

enum { SYS_PTRACE_BIT = 19 };

static bool
read_refusal_target(int32_t pid, int32_t tid, struct target *t)
{
    char path[64], status[PROCESS_STATUS_MAX];
    struct stat st;

    memset(t, 0, sizeof(*t));
    if (!process_status_read(pid, tid, status))
        return false;
    t->tracer = process_status_number(status, "TracerPid");
    t->uid = process_status_number(status, "Uid");
    t->own_uid = (long)geteuid();
    process_status_read(0, 0, status);
    t->filters = process_status_number(status, "Seccomp");
    t->capable = strtoull(process_status_text(status, "CapEff"), NULL, 16) >>
                     SYS_PTRACE_BIT &
                 1;
    /* The files in /proc of a process that is not dumpable belong to root. */
    snprintf(path, sizeof(path), "/proc/%d/mem", pid);
    t->undumpable =
        t->uid > 0 && stat(path, &st) == 0 && (long)st.st_uid != t->uid;
    return true;
}

static void
describe_tracer(long tracer, char *out, size_t size)
{
    char path[32], name[NAME_MAX_BYTES] = "";

    snprintf(path, sizeof(path), "/proc/%ld/comm", tracer);
    sample_read_text(path, name, sizeof(name));
    name[strcspn(name, "\n")] = '\0';
    snprintf(out, size,
             "%s (process %ld) traces it: a process can have only one tracer "
             "at a time",
             name[0] ? name : "another program", tracer);
}

/* Reasons of both ways: the process is another user's, or not dumpable.  False:
 * neither. */
static bool
describe_process_owner(const struct target *t, char *out, size_t size)
{
    if (t->capable)
        return false;
    if (t->uid != t->own_uid && t->own_uid != 0)
        snprintf(out, size,
                 "it is user %ld's, and heapwired is user %ld without "
                 "CAP_SYS_PTRACE",
                 t->uid, t->own_uid);
    else if (t->undumpable)
        snprintf(out, size,
                 "it is not dumpable (it changed its user, has file "
                 "capabilities, or called prctl(PR_SET_DUMPABLE)): its agent "
                 "can make it so for a moment (setting dumpable), or heapwired "
                 "would need CAP_SYS_PTRACE");
    else if (t->own_uid == 0 && t->uid != 0)
        snprintf(out, size,
                 "it is user %ld's, and heapwired is root without "
                 "CAP_SYS_PTRACE (docker run --cap-add SYS_PTRACE)",
                 t->uid);
    else
        return false;
    return true;
}

void
sample_refused_ptrace(int32_t pid, int32_t tid, int error, char *out,
                      size_t size)
{
    struct target t;
    long yama = read_sysctl_number("/proc/sys/kernel/yama/ptrace_scope");

    if (!read_refusal_target(pid, tid, &t))
        snprintf(out, size,
                 "there is no such thread, or /proc does not show "
                 "it to heapwired");
    else if (error == SAMPLE_REFUSED_KILLED)
        snprintf(out, size,
                 "a seccomp filter kills who calls ptrace or process_vm_readv: "
                 "allow both (systemd: SystemCallFilter=ptrace "
                 "process_vm_readv)");
    else if (error == ENOSYS ||
             (t.tracer <= 0 && t.capable && error == EPERM && t.filters > 0))
        snprintf(out, size, "a seccomp filter forbids ptrace to heapwired");
    else if (t.tracer > 0)
        describe_tracer(t.tracer, out, size);
    else if (describe_process_owner(&t, out, size))
        return;
    else if (!t.capable && yama >= 1)
        snprintf(out, size,
                 "kernel.yama.ptrace_scope is %ld: %s, or heapwired needs "
                 "CAP_SYS_PTRACE",
                 yama,
                 yama == 1   ? "the agent allows it once it is connected, or "
                               "sysctl kernel.yama.ptrace_scope=0"
                 : yama == 2 ? "sysctl kernel.yama.ptrace_scope=0"
                             : "nobody may until the next boot");
    else if (t.filters > 0)
        snprintf(out, size,
                 "a seccomp filter of heapwired's, or a security module, "
                 "forbids it (%s)",
                 strerrordesc_np(error));
    else
        snprintf(out, size,
                 "%s: it has capabilities or a user namespace that heapwired "
                 "has not (CAP_SYS_PTRACE would do), or a security module "
                 "forbids it",
                 strerrordesc_np(error));
}

void
sample_refused_descriptors(size_t needed, char *out, size_t size)
{
    struct rlimit limit = {0};

    (void)getrlimit(RLIMIT_NOFILE, &limit);
    snprintf(out, size,
             "perf_event_open takes a descriptor for each thread and "
             "processor, at most a quarter of heapwired's RLIMIT_NOFILE, which "
             "is %llu: %zu would do (ulimit -n, LimitNOFILE= of its unit)",
             (unsigned long long)limit.rlim_cur, needed);
}

void
sample_refused_perf(int32_t pid, int error, char *out, size_t size)
{
    struct target t;
    long paranoid = read_sysctl_number("/proc/sys/kernel/perf_event_paranoid");

    if (!read_refusal_target(pid, pid, &t))
        snprintf(out, size,
                 "there is no such process, or /proc does not show "
                 "it to heapwired");
    else if (error == SAMPLE_REFUSED_KERNEL)
        snprintf(out, size,
                 "kernel.perf_event_paranoid is %ld: sysctl "
                 "kernel.perf_event_paranoid=1, or CAP_PERFMON",
                 paranoid);
    else if (error == SAMPLE_REFUSED_KILLED)
        snprintf(out, size,
                 "a seccomp filter kills who calls perf_event_open: allow it "
                 "(systemd: SystemCallFilter=perf_event_open)");
    else if (paranoid == NO_NUMBER)
        snprintf(out, size, "this kernel has no perf_event_open");
    else if (error == ENOSYS)
        snprintf(out, size, "a seccomp filter forbids perf_event_open");
    else if (error == ENOBUFS)
        snprintf(out, size,
                 "kernel.perf_event_mlock_kb is %ld: more, or a higher "
                 "RLIMIT_MEMLOCK, or CAP_IPC_LOCK",
                 read_sysctl_number("/proc/sys/kernel/perf_event_mlock_kb"));
    else if (error == EMFILE || error == ENFILE)
        snprintf(out, size,
                 "heapwired has no descriptors left for its threads, one for "
                 "each and processor (ulimit -n, LimitNOFILE= of its unit)");
    else if (error != EACCES && error != EPERM)
        snprintf(out, size, "perf_event_open: %s", strerrordesc_np(error));
    else if (t.filters > 0 && error == EPERM)
        snprintf(out, size,
                 "a seccomp filter forbids perf_event_open (Docker's default "
                 "one does: --cap-add PERFMON)");
    else if (describe_process_owner(&t, out, size))
        return;
    else if (paranoid > 2)
        snprintf(out, size,
                 "kernel.perf_event_paranoid is %ld: sysctl "
                 "kernel.perf_event_paranoid=2, or CAP_PERFMON",
                 paranoid);
    else
        snprintf(out, size,
                 "perf_event_open: %s: CAP_PERFMON and CAP_SYS_PTRACE would do",
                 strerrordesc_np(error));
}
