/*
 * stuck_threads.c - a program whose threads wait for ever, each as its name
 * says.
 *
 *     stuck_threads IDLE READERS BLOCKED [stay]
 *
 * So many wait for a condition (idle), read a pipe (reader), and for a mutex
 * that main holds (blocked).  left and right wait for each other's mutex;
 * timed for left's, but not for ever; robust for a robust one that main holds;
 * orphan for one whose holder has ended.  "ready" on standard output: all of
 * them wait.  It ends with its standard input, unless it stays.
 */
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t idle = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static pthread_mutex_t first, second; /* recursive, and plain */
static pthread_mutex_t sturdy, left_locked = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t meeting; /* of left, right, timed */
static atomic_int met; /* have met; who waits for that is in futex, too */
static int quiet[2];   /* a pipe that nobody writes to */
static int idling;     /* idle's lock guards it */

static void *
wait_idle(void *arg)
{
    pthread_mutex_lock(&idle);
    for (idling++;;)
        pthread_cond_wait(&never, &idle);
    return arg;
}

static void *
wait_reader(void *arg)
{
    char byte;

    while (read(quiet[0], &byte, 1) != 0)
        ;
    return arg;
}

static void *
wait_blocked(void *arg)
{
    pthread_mutex_lock(&gate);
    pthread_mutex_unlock(&gate);
    return arg;
}

static void
meet_all(void)
{
    pthread_barrier_wait(&meeting);
    met++;
}

static void *
wait_left(void *arg)
{
    pthread_mutex_lock(&first);
    meet_all();
    pthread_mutex_lock(&second);
    return arg;
}

static void *
wait_right(void *arg)
{
    pthread_mutex_lock(&second);
    meet_all();
    pthread_mutex_lock(&first);
    return arg;
}

static void *
wait_timed(void *arg)
{
    struct timespec until;

    meet_all();
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 3600;
    pthread_mutex_timedlock(&first, &until);
    return arg;
}

static void *
wait_robust(void *arg)
{
    pthread_mutex_lock(&sturdy);
    return arg;
}

static void *
wait_orphan(void *arg)
{
    pthread_mutex_lock(&left_locked);
    return arg;
}

static void
start(const char *name, void *(*run)(void *), int count)
{
    pthread_attr_t attributes;
    pthread_t thread;

    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 256 << 10);
    while (count-- > 0) {
        if (pthread_create(&thread, &attributes, run, NULL) != 0) {
            perror("pthread_create");
            exit(1);
        }
        pthread_setname_np(thread, name);
    }
    pthread_attr_destroy(&attributes);
}

/* The first line of a thread's file; "" without one. */
static const char *
task_line(const char *tid, const char *name, char line[256])
{
    char path[64];
    FILE *file;

    *line = '\0';
    snprintf(path, sizeof(path), "/proc/self/task/%.20s/%s", tid, name);
    file = fopen(path, "r");
    if (!file)
        return line;
    if (!fgets(line, 256, file))
        *line = '\0';
    fclose(file);
    return line;
}

/* Whether the thread sleeps in that system call.  Who waits there for a lock of
 * the kernel, as readers of one pipe do for each other, is in D, and runs once
 * more.  Who asks is in read itself. */
static int
in_call(const char *tid, long wanted)
{
    char line[256];
    const char *name_end;

    if (atoi(tid) == getpid() || *task_line(tid, "syscall", line) < '0' ||
        *line > '9' || strtol(line, NULL, 10) != wanted)
        return 0;
    name_end = strrchr(task_line(tid, "stat", line), ')');
    return name_end && strncmp(name_end, ") S", 3) == 0;
}

/* Whether so many threads wait; others, as heapwire's, do as they like. */
static int
all_wait(int readers, int others)
{
    DIR *dir = opendir("/proc/self/task");
    struct dirent *item;

    while (dir && (item = readdir(dir))) {
        readers -= in_call(item->d_name, SYS_read);
        others -= in_call(item->d_name, SYS_futex);
    }
    if (dir)
        closedir(dir);
    return readers <= 0 && others <= 0;
}

/* Who waits for the lock of idle ones is in futex, too, and not idle yet. */
static int
all_idle(int threads)
{
    int count;

    pthread_mutex_lock(&idle);
    count = idling;
    pthread_mutex_unlock(&idle);
    return count == threads;
}

int
main(int argc, char **argv)
{
    struct timespec moment = {0, 1000000};
    pthread_mutexattr_t attributes;
    pthread_t holder;
    char byte;

    if (argc < 4 || pipe(quiet) != 0)
        return 2;
    pthread_mutexattr_init(&attributes);
    pthread_mutex_init(&second, &attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&first, &attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_NORMAL);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&sturdy, &attributes);
    pthread_barrier_init(&meeting, NULL, 3);
    pthread_mutex_lock(&sturdy);
    if (pthread_create(&holder, NULL, wait_orphan, NULL) != 0 ||
        pthread_join(holder, NULL) != 0)
        return 1;
    pthread_mutex_lock(&gate);
    start("idle", wait_idle, atoi(argv[1]));
    start("reader", wait_reader, atoi(argv[2]));
    start("blocked", wait_blocked, atoi(argv[3]));
    start("left", wait_left, 1);
    start("right", wait_right, 1);
    start("timed", wait_timed, 1);
    start("robust", wait_robust, 1);
    start("orphan", wait_orphan, 1);
    while (!all_idle(atoi(argv[1])) || met < 3 ||
           !all_wait(atoi(argv[2]), atoi(argv[1]) + atoi(argv[3]) + 5))
        nanosleep(&moment, NULL);
    puts("ready");
    fflush(stdout);
    while (argc > 4)
        pause();
    while (read(STDIN_FILENO, &byte, 1) > 0)
        ;
    _exit(0); /* those that wait are not asked */
}
