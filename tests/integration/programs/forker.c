/*
 * forker.c - a host process that is hard on its guests.
 *
 * forker fork COUNT   waits for the end of its input; then forks COUNT times
 *                     while threads allocate; every child allocates and frees
 *                     1 MiB, looks at its descriptors and must end within 30 s.
 *                     Prints forks, hung, leaked, failed, slowest_us, mean_us.
 * forker workers COUNT  forks as many, each at a byte or the end of its input,
 *                     which allocate until the parent ends; prints NUMBER=PID
 *                     of each; when one ends, another comes
 * forker sessions COUNT  forks as many, which call setsid(), print the same and
 *                     wait for a signal
 * forker daemon UID   leaves root, then its parent, as memcached -d -u does
 * forker vfork COUNT  makes COUNT children by vfork() that call setsid();
 * prints grown, the KiB of address space that this cost forker closeall closes
 * 3 to 1023, then waits for the end of its input forker sealed COMMAND
 * ARGUMENT... executes COMMAND where unshare() and close_range() are refused
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    CHILD_BYTES = 1 << 20,
    CHILD_SECONDS = 30,
    CHILD_LEAKED = 3,
    CHILD_FAILED = 4,
    CHILD_ROBBED = 5,
    CHILD_SAMPLES = 6,
    HELD = 16, /* descriptors of the host, which a child must still have */
    BLOCKS = 4096,
    ALLOCATORS = 2
};

static atomic_bool done;
static char found[300];

static long
microseconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* Keeps jemalloc's locks and its profiler busy. */
static void *
allocate(void *arg)
{
    static _Thread_local void *blocks[BLOCKS];
    unsigned seed = (unsigned)(size_t)arg;

    while (!atomic_load(&done)) {
        unsigned i = (seed = seed * 1103515245 + 12345) / 65536 % BLOCKS;

        free(blocks[i]);
        blocks[i] = malloc(seed / 65536 % 8192 + 1);
        if (i == 0)
            usleep(100);
    }
    return NULL;
}

/* How many descriptors have a target with one of the marks in it; no mark:
 * how many there are. */
static int
count_descriptors(const char *const *marks)
{
    DIR *dir = opendir("/proc/self/fd");
    struct dirent *entry;
    char target[256];
    int count = 0;
    ssize_t n;

    /* NOLINTNEXTLINE(concurrency-mt-unsafe) */
    while (dir && (entry = readdir(dir)) != NULL) {
        n = readlinkat(dirfd(dir), entry->d_name, target, sizeof(target) - 1);
        target[n < 0 ? 0 : n] = '\0';
        count += !*marks;
        for (size_t i = 0; marks[i]; i++) {
            /* the test's own files are 0-2, whatever their names are */
            if (strtol(entry->d_name, NULL, 10) <= STDERR_FILENO ||
                !strstr(target, marks[i]))
                continue;
            count++;
            snprintf(found, sizeof(found), "%s=%s", entry->d_name, target);
        }
    }
    if (dir)
        closedir(dir);
    return count;
}

/* No client could read what it samples, or stop it. */
static bool
samples(void)
{
    int (*mallctl)(const char *, void *, size_t *, void *, size_t);
    size_t size = sizeof(bool);
    bool active = false;

    *(void **)&mallctl = dlsym(RTLD_DEFAULT, "mallctl");
    return mallctl && mallctl("prof.active", &active, &size, NULL, 0) == 0 &&
           active;
}

static int
child(void)
{
    static const char *const agents[] = {"socket:", "memfd:", "agent.", ".so",
                                         NULL};
    static const char *const held[] = {"/dev/zero", NULL};
    char *block;

    alarm(CHILD_SECONDS);
    if (samples())
        return CHILD_SAMPLES;
    block = malloc(CHILD_BYTES);
    if (!block)
        return CHILD_FAILED;
    memset(block, 1, CHILD_BYTES);
    free(block);
    if (count_descriptors(held) != HELD)
        return CHILD_ROBBED;
    if (count_descriptors(agents) == 0)
        return 0;
    fprintf(stderr, "kept: %s\n", found);
    return CHILD_LEAKED;
}

/* A byte, if there is one still. */
static bool
wait_for_input(void)
{
    char byte;

    return read(STDIN_FILENO, &byte, 1) > 0;
}

static int
run_forks(long count)
{
    long hung = 0, leaked = 0, failed = 0, slowest = 0, total = 0, forks = 0;
    pthread_t threads[ALLOCATORS];

    while (wait_for_input())
        ;
    for (int i = 0; i < HELD; i++)
        open("/dev/zero", O_RDONLY);
    for (size_t i = 0; i < ALLOCATORS; i++)
        pthread_create(&threads[i], NULL, allocate, (void *)(i + 1));
    for (; forks < count; forks++) {
        long began = microseconds(), took;
        int status = 0;
        pid_t pid = fork();

        if (pid == 0)
            _exit(child());
        if (pid < 0)
            break;
        took = microseconds() - began;
        total += took;
        slowest = took > slowest ? took : slowest;
        waitpid(pid, &status, 0);
        hung += WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM;
        leaked += WIFEXITED(status) && WEXITSTATUS(status) == CHILD_LEAKED;
        failed += status != 0;
    }
    atomic_store(&done, true);
    for (size_t i = 0; i < ALLOCATORS; i++)
        pthread_join(threads[i], NULL);
    printf("forks=%ld\nhung=%ld\nleaked=%ld\nfailed=%ld\n", forks, hung, leaked,
           failed);
    printf("slowest_us=%ld\nmean_us=%ld\n", slowest, forks ? total / forks : 0);
    return forks == count && failed == 0 ? 0 : 1;
}

static pid_t
start_worker(int number)
{
    static const char *const names[] = {"forker-first", "forker-second",
                                        "forker-third"};
    pid_t parent = getpid(), pid = fork();

    if (pid != 0)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(0);
    usleep(300000); /* titles come later */
    prctl(PR_SET_NAME, names[number % 3]);
    allocate((void *)1);
    _exit(0);
}

/* As PostgreSQL's backends: each in a session of its own, at once. */
static int
run_sessions(long count)
{
    for (long i = 0; i < count; i++) {
        pid_t pid = fork();

        if (pid == 0) {
            setsid();
            printf("%ld=%d\n", i + 1, getpid());
            fflush(stdout);
            pause();
        }
    }
    while (wait(NULL) > 0)
        ;
    return 0;
}

static int
run_daemon(uid_t uid)
{
    if (setgroups(0, NULL) != 0 || setgid(uid) != 0 || setuid(uid) != 0 ||
        daemon(1, 0) != 0)
        return 1;
    for (;;)
        pause();
}

static _Noreturn void
run_workers(long count)
{
    for (int i = 0; i < count; i++) {
        (void)wait_for_input();
        printf("%d=%d\n", i + 1, start_worker(i));
        fflush(stdout);
    }
    for (;;) {
        if (wait(NULL) > 0)
            start_worker(0);
    }
}

static long
address_space_kib(void)
{
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");

    if (!file || fscanf(file, "%ld", &pages) != 1)
        pages = 0;
    if (file)
        fclose(file);
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

/* As Python's subprocess does: a new session between vfork() and exec(). */
static int
run_vforks(long count)
{
    long before = address_space_kib();

    for (long i = 0; i < count; i++) {
        int status = 0;
        pid_t pid = vfork(); /* NOLINT(clang-analyzer-security.*) */

        if (pid == 0) {
            setsid();     /* NOLINT(clang-analyzer-unix.Vfork) */
            usleep(1000); /* NOLINT(clang-analyzer-unix.Vfork) */
            _exit(0);
        }
        if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0)
            return 1;
    }
    printf("grown=%ld\n", address_space_kib() - before);
    return 0;
}

static int
run_closeall(void)
{
    static const char *const any[] = {NULL};

    for (int fd = 3; fd < 1024; fd++)
        close(fd);
    printf("descriptors=%d\n", count_descriptors(any));
    fflush(stdout);
    while (wait_for_input())
        ;
    return 0;
}

static int
run_sealed(char **command)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_unshare, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_close_range, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = sizeof(filter) / sizeof(filter[0]),
                                 .filter = filter};

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
        perror("forker: seccomp");
        return 1;
    }
    execvp(command[0], command);
    perror(command[0]);
    return 1;
}

int
main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "fork") == 0)
        return run_forks(strtol(argv[2], NULL, 10));
    if (argc == 3 && strcmp(argv[1], "workers") == 0)
        run_workers(strtol(argv[2], NULL, 10));
    if (argc == 3 && strcmp(argv[1], "sessions") == 0)
        return run_sessions(strtol(argv[2], NULL, 10));
    if (argc == 3 && strcmp(argv[1], "daemon") == 0)
        return run_daemon((uid_t)strtoul(argv[2], NULL, 10));
    if (argc == 3 && strcmp(argv[1], "vfork") == 0)
        return run_vforks(strtol(argv[2], NULL, 10));
    if (argc == 2 && strcmp(argv[1], "closeall") == 0)
        return run_closeall();
    if (argc > 2 && strcmp(argv[1], "sealed") == 0)
        return run_sealed(argv + 2);
    fprintf(stderr, "usage: forker fork COUNT | workers COUNT | "
                    "sessions COUNT | daemon UID | vfork COUNT | "
                    "closeall | sealed COMMAND\n");
    return 2;
}
