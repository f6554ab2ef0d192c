/* changer_held.c - see changer_held.h. */
#include "changer_held.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { FILES = 50, FIRST_FILE = 3, LAST_FILE = 1023 };

/* The agent's thread, or 0. */
static int
find_agent(void)
{
    DIR *tasks = opendir("/proc/self/task");
    struct dirent *task;
    char path[300], name[32];
    int tid = 0;

    while (tasks && (task = readdir(tasks)) != NULL) {
        FILE *file;

        snprintf(path, sizeof(path), "/proc/self/task/%s/comm", task->d_name);
        file = fopen(path, "r");
        if (!file)
            continue;
        if (fgets(name, sizeof(name), file) && strcmp(name, "heapwire\n") == 0)
            tid = atoi(task->d_name);
        fclose(file);
    }
    if (tasks)
        closedir(tasks);
    return tid;
}

static pid_t holder;

int
hold_agent(int seconds)
{
    int ends[2], tid = find_agent();
    char held = 0;

    if (tid == 0 || pipe(ends) != 0)
        return -1;
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
    holder = fork();
    if (holder == 0) {
        if (ptrace(PTRACE_SEIZE, tid, 0, 0) != 0 ||
            ptrace(PTRACE_INTERRUPT, tid, 0, 0) != 0 ||
            waitpid(tid, NULL, __WALL) != tid || write(ends[1], "x", 1) != 1)
            _exit(1);
        sleep((unsigned)seconds);
        _exit(0);
    }
    close(ends[1]);
    return read(ends[0], &held, 1) != 1;
}

int
release_agent(void)
{
    return kill(holder, SIGKILL) != 0 || waitpid(holder, NULL, 0) != holder;
}

struct ends {
    int read, write;
};

static struct ends
new_pipe(void)
{
    int ends[2] = {-1, -1};

    if (pipe(ends) != 0)
        _exit(72);
    return (struct ends){ends[0], ends[1]};
}

static void
tell(int end)
{
    if (write(end, "x", 1) != 1)
        _exit(72);
}

static void
await(int end)
{
    char byte;

    if (read(end, &byte, 1) != 1)
        _exit(72);
}

/* In a child: seizes the thread, tells begun, lets it go to where it makes that
 * system call, tells there, and holds it there until it is told go. */
static void
hold_at(int tid, long call, int begun, int there, int go)
{
    int status;

    if (fork() != 0)
        return;
    if (ptrace(PTRACE_SEIZE, tid, 0, PTRACE_O_TRACESYSGOOD) != 0 ||
        ptrace(PTRACE_INTERRUPT, tid, 0, 0) != 0)
        _exit(1);
    while (waitpid(tid, &status, __WALL) == tid && WIFSTOPPED(status)) {
        struct __ptrace_syscall_info info = {0};
        int event = WSTOPSIG(status), pass = 0;

        if (event == (SIGTRAP | 0x80)) {
            ptrace(PTRACE_GET_SYSCALL_INFO, tid, sizeof(info), &info);
            if (info.op == PTRACE_SYSCALL_INFO_ENTRY &&
                info.entry.nr == (unsigned long)call)
                break;
        } else if (status >> 16 == 0) {
            pass = event;
        } else {
            tell(begun);
        }
        ptrace(PTRACE_SYSCALL, tid, 0, pass);
    }
    tell(there);
    await(go);
    _exit(0);
}

/* A thread that changes its root directory, to the same. */
static struct {
    struct ends tid, begin, there, go, done;
} changing;

static void *
change_root(void *arg)
{
    int tid = (int)syscall(SYS_gettid);

    if (write(changing.tid.write, &tid, sizeof(tid)) != sizeof(tid))
        _exit(72);
    await(changing.begin.read);
    if (chroot("/") != 0)
        _exit(73);
    tell(changing.done.write);
    return arg;
}

/* Returns when it is in the midst of that; it goes on with changing.go. */
static int
begin_changing(pthread_t *thread)
{
    int tid;

    changing.tid = new_pipe();
    changing.begin = new_pipe();
    changing.there = new_pipe();
    changing.go = new_pipe();
    changing.done = new_pipe();
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
    if (pthread_create(thread, NULL, change_root, NULL) != 0 ||
        read(changing.tid.read, &tid, sizeof(tid)) != sizeof(tid))
        return -1;
    hold_at(tid, SYS_chroot, changing.begin.write, changing.there.write,
            changing.go.read);
    await(changing.there.read);
    return 0;
}

int
filter_in_between(void)
{
    struct sock_filter none = {0};
    struct sock_fprog filter = {0, &none};
    struct ends begin = new_pipe();
    pthread_t thread;

    if (begin_changing(&thread) != 0)
        return -1;
    hold_at(getpid(), SYS_prctl, begin.write, changing.go.write,
            changing.done.read);
    await(begin.read);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0, 0) == 0)
        return -1;
    return pthread_join(thread, NULL);
}

int
files_in_between(void)
{
    int files[FILES], missing = 0;
    pthread_t thread;

    if (begin_changing(&thread) != 0)
        return -1;
    for (int fd = FIRST_FILE; fd <= LAST_FILE; fd++)
        if (fd != changing.go.write && fd != changing.done.write &&
            fd != changing.done.read)
            close(fd);
    for (int i = 0; i < FILES; i++)
        files[i] = open("/dev/null", O_RDWR);
    tell(changing.go.write);
    pthread_join(thread, NULL);
    for (int i = 0; i < FILES; i++)
        missing += fcntl(files[i], F_GETFD) < 0;
    return missing;
}

int
stop_in_between(int (*stop)(void), int result)
{
    pthread_t thread;
    int rc;

    if (begin_changing(&thread) != 0)
        return -1;
    rc = stop();
    tell(changing.go.write);
    return pthread_join(thread, NULL) != 0 || rc != result;
}

int
confine_in_between(int (*filter)(void))
{
    pthread_t thread;
    int rc;

    if (begin_changing(&thread) != 0)
        return -1;
    rc = filter();
    tell(changing.go.write);
    return pthread_join(thread, NULL) != 0 || rc != 0;
}

static long
milliseconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int
change_within(long ms)
{
    long begun = milliseconds();

    for (int i = 0; i < 2; i++)
        if (chroot("/") != 0)
            return -1;
    printf("%ld ms\n", milliseconds() - begun);
    return milliseconds() - begun > ms;
}

int
change_where_it_cannot_end(void)
{
    struct ends begun = new_pipe(), there = new_pipe(), go = new_pipe();
    int tid = find_agent(), status;

    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
    hold_at(tid, SYS_exit, begun.write, there.write, go.read);
    await(begun.read);
    status = change_within(30000); /* it would wait for ever */
    tell(go.write);
    if (wait(NULL) < 0)
        return -1;
    /* No change waits for it any more: the next one finds it gone. */
    while (syscall(SYS_tgkill, getpid(), tid, 0) == 0)
        sched_yield();
    return status != 0 || chroot("/") != 0;
}
