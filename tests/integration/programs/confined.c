/*
 * confined.c - starts a program as strict hosts do.
 *
 *     confined [--errno CALLS] [--kill CALLS] [--no-proc] PROGRAM ARGUMENTS...
 *
 * CALLS: names of the table, with commas between.  They answer EPERM, or kill
 * the process by SIGSYS.  --no-proc: in a mount namespace of its own, where
 * /proc is an empty directory.
 */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct {
    const char *name;
    unsigned number;
} calls[] = {
    {"unshare", SYS_unshare},
    {"close_range", 436},
    {"memfd_create", SYS_memfd_create},
    {"signalfd", SYS_signalfd4},
    {"perf_event_open", SYS_perf_event_open},
    {"ptrace", SYS_ptrace},
    {"process_vm_readv", SYS_process_vm_readv},
    {"sched_setscheduler", SYS_sched_setscheduler},
};

static void
fail(const char *what)
{
    fprintf(stderr, "confined: %s: %s\n", what, strerror(errno));
    exit(70);
}

static unsigned
number_of(const char *name)
{
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
        if (strcmp(calls[i].name, name) == 0)
            return calls[i].number;
    errno = EINVAL;
    fail(name);
    return 0;
}

static void
set_filter(char *names, unsigned action)
{
    struct sock_filter code[2 * sizeof(calls) / sizeof(calls[0]) + 2];
    struct sock_fprog program = {.filter = code};
    unsigned short n = 0;

    code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
                                             offsetof(struct seccomp_data, nr));
    for (char *name = strtok(names, ","); name; name = strtok(NULL, ",")) {
        code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
                                                 number_of(name), 0, 1);
        code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action);
    }
    code[n++] =
        (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    program.len = n;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        fail("the filter");
}

int
main(int argc, char **argv)
{
    int i = 1;

    for (; i < argc && strncmp(argv[i], "--", 2) == 0; i++) {
        const char *word = argv[i];

        if (strcmp(word, "--errno") == 0 && i + 1 < argc) {
            set_filter(argv[++i], SECCOMP_RET_ERRNO | EPERM);
        } else if (strcmp(word, "--kill") == 0 && i + 1 < argc) {
            set_filter(argv[++i], SECCOMP_RET_KILL_PROCESS);
        } else if (strcmp(word, "--no-proc") == 0) {
            if (unshare(CLONE_NEWNS) != 0 ||
                mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
                mount("none", "/proc", "tmpfs", MS_RDONLY, NULL) != 0)
                fail("/proc");
        } else {
            errno = EINVAL;
            fail(word);
        }
    }
    execvp(argv[i], argv + i);
    fail(argv[i] ? argv[i] : "no program");
}
