/*
 * target.c - see attach.h.
 *
 * Each reason to refuse is found before anything is touched, and says what to
 * do: attaching to a wrong process could end it.  errno of readlink tells apart
 * a thread of the kernel (ENOENT) and a process that may not be looked into.
 */
#include "attach.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "errors.h"
#include "files.h"
#include "process_stat.h"

/* What is read of /proc/<pid>/status. */
struct status {
    char state;
    int tgid, parent, tracer, seccomp;
    unsigned uid;
    unsigned long long ignored;
    bool shadow_stack;
};

static int
read_target_status(pid_t pid, struct status *s)
{
    char status[PROCESS_STATUS_MAX];
    const char *features;

    memset(s, 0, sizeof(*s));
    if (!process_status_read(pid, 0, status))
        return -1;
    s->state = *process_status_text(status, "State");
    s->tgid = (pid_t)process_status_number(status, "Tgid");
    s->parent = (pid_t)process_status_number(status, "PPid");
    s->tracer = (pid_t)process_status_number(status, "TracerPid");
    s->uid = process_status_user(status);
    s->ignored = strtoull(process_status_text(status, "SigIgn"), NULL, 16);
    s->seccomp = (int)process_status_number(status, "Seccomp");
    features = process_status_text(status, "x86_Thread_features");
    s->shadow_stack =
        memmem(features, strcspn(features, "\n"), "shstk", 5) != NULL;
    return 0;
}

static bool
same_namespace(pid_t pid, const char *name)
{
    struct stat own, its;
    char path[48];

    snprintf(path, sizeof(path), "/proc/self/ns/%s", name);
    /* The kernel has no such namespace. */
    if (stat(path, &own) != 0)
        return true;
    snprintf(path, sizeof(path), "/proc/%d/ns/%s", (int)pid, name);
    return stat(path, &its) == 0 && own.st_ino == its.st_ino &&
           own.st_dev == its.st_dev;
}

static bool
is_x86_64_process(pid_t pid)
{
    Elf64_Ehdr header;
    char path[32];
    ssize_t n;
    int fd;

    snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    n = fd >= 0 ? pread(fd, &header, sizeof(header), 0) : -1;
    fd_close(fd);
    return n != (ssize_t)sizeof(header) ||
           (header.e_ident[EI_CLASS] == ELFCLASS64 &&
            header.e_machine == EM_X86_64);
}

bool
target_has_agent(pid_t pid)
{
    char path[64], name[16];
    struct dirent *entry;
    bool found = false;
    DIR *dir;

    snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    dir = opendir(path);
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): no threads here */
    while (dir && !found && (entry = readdir(dir)) != NULL) {
        FILE *f;

        snprintf(path, sizeof(path), "/proc/%d/task/%.20s/comm", (int)pid,
                 entry->d_name);
        f = fopen(path, "re");
        found = f && fgets(name, sizeof(name), f) &&
                strcmp(name, "heapwire\n") == 0;
        if (f)
            fclose(f);
    }
    if (dir)
        closedir(dir);
    return found;
}

/* NULL, or why its state forbids it. */
static const char *
judge_state(const struct target *t, const struct status *s)
{
    if (s->state == 'Z' || s->state == 'X')
        return "has ended, and waits for its parent";
    if (*t->exe == '\0' && errno == ENOENT)
        return "is a thread of the kernel";
    if (s->state == 'T')
        return "is stopped: continue it first (SIGCONT)";
    return NULL;
}

/* NULL, or why its kind forbids it. */
static const char *
judge_kind(const struct target *t, const struct status *s, bool force)
{
    if (!is_x86_64_process(t->pid))
        return "is of another architecture: only x86-64 can be attached to";
    if (s->shadow_stack)
        /* The thread would return to an address that the shadow stack does not
         * have. */
        return "runs with a shadow stack, which forbids it";
    if (s->ignored & (1ULL << (SIGTRAP - 1)))
        return "ignores SIGTRAP";
    if (syscall(SYS_kcmp, t->pid, s->parent, KCMP_VM, 0, 0) == 0)
        return "is a child of vfork, which lives in its parent's memory: name "
               "the parent";
    if (!same_namespace(t->pid, "pid"))
        return "is in another pid namespace: run heapwire-run in its container";
    /* Mode 1 allows next to nothing; mode 2 is a filter of its own. */
    if (s->seccomp == 1 || (s->seccomp == 2 && !force))
        return "has a seccomp filter, which may kill it for what the loader "
               "does (openat, mmap, clone): --force if that allows them";
    return NULL;
}

static int
set_target_error(const struct target *t, const char *why, struct error *err)
{
    error_set(err, ER_WRONG_VALUE, "process %d %s", (int)t->pid, why);
    return -1;
}

int
target_check(struct target *t, pid_t pid, bool force, struct error *err)
{
    struct process_stat stat;
    struct status s;
    const char *why;
    char path[32];
    ssize_t n;
    int unread;

    memset(t, 0, sizeof(*t));
    t->pid = pid;
    if (read_target_status(pid, &s) != 0)
        return set_target_error(t, "is not there", err);
    if (s.tgid != pid) {
        error_set(err, ER_WRONG_VALUE, "%d is a thread of process %d", (int)pid,
                  s.tgid);
        return -1;
    }
    t->uid = s.uid;
    t->started_ticks = process_stat_read(pid, &stat) ? stat.start_ticks : 0;
    snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
    n = readlink(path, t->exe, sizeof(t->exe) - 1);
    unread = errno;
    t->exe[n < 0 ? 0 : n] = '\0';
    why = judge_state(t, &s);
    if (why)
        return set_target_error(t, why, err);
    if (n < 0 && (geteuid() == 0 || t->uid == geteuid())) {
        errno = unread;
        error_sys(err, ER_ACCESS_DENIED,
                  "process %d may not be traced (that needs CAP_SYS_PTRACE, in "
                  "its container)",
                  (int)pid);
        return -1;
    }
    if (n < 0 || (geteuid() != 0 && t->uid != geteuid())) {
        error_set(
            err, ER_ACCESS_DENIED,
            "process %d belongs to uid %u: run heapwire-run as that user, "
            "or as root",
            (int)pid, s.uid);
        return -1;
    }
    if (s.tracer != 0) {
        error_set(err, ER_WRONG_VALUE,
                  "process %d is being traced by process %d (a debugger, "
                  "strace): end that first",
                  (int)pid, s.tracer);
        return -1;
    }
    why = judge_kind(t, &s, force);
    return why ? set_target_error(t, why, err) : 0;
}

bool
target_is_there(const struct target *t)
{
    return process_is_alive(t->pid, t->started_ticks);
}

int
target_sees(const struct target *t, const char *path, struct error *err)
{
    char full[PATH_MAX];
    struct stat own, its;

    snprintf(full, sizeof(full), "/proc/%d/root%s", (int)t->pid, path);
    if (stat(path, &own) == 0 && stat(full, &its) == 0 &&
        own.st_ino == its.st_ino && own.st_dev == its.st_dev)
        return 0;
    error_set(err, ER_WRONG_VALUE,
              "process %d does not see %s: it has another root or mount "
              "namespace; run heapwire-run there, or mount it there under the "
              "same path",
              (int)t->pid, path);
    return -1;
}
