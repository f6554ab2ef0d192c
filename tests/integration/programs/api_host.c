/*
 * api_host.c - a program that uses heapwire.h.
 *
 * api_host serve        reads lines: "start SETTINGS" (';' for the ends of
 *                       lines; "-": NULL), "stop", "fork", "children" (what the
 *                       library gave us to wait for); answers with the name of
 *                       the errno, or 0
 * api_host rounds COUNT starts and stops it with the variables of its
 *                       environment; prints failed, grown_kib, descriptors,
 *                       threads (what there is more of at the end), slowest_us
 * api_host race MS      four threads start and stop it while children are
 *                       forked; prints calls, wrong, children, bad
 */
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "heapwire.h"

enum { RACERS = 4, SETTLED = 100, CHILD_SECONDS = 30 };

static long
microseconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static int
entries(const char *path)
{
    DIR *dir = opendir(path);
    int count = 0;

    while (dir && readdir(dir)) /* NOLINT(concurrency-mt-unsafe) */
        count++;
    closedir(dir);
    return count;
}

/* One that was joined is listed for a moment yet: how many more than before
 * there are after ten seconds. */
static int
threads_more(int before)
{
    const struct timespec moment = {.tv_nsec = 1000000};
    int more = entries("/proc/self/task") - before;

    for (int i = 0; i < 10000 && more > 0; i++) {
        nanosleep(&moment, NULL);
        more = entries("/proc/self/task") - before;
    }
    return more;
}

static long
resident_kib(void)
{
    FILE *file = fopen("/proc/self/statm", "r");
    long size = 0, resident = 0;

    if (!file || fscanf(file, "%ld %ld", &size, &resident) != 2)
        return -1;
    fclose(file);
    return resident * sysconf(_SC_PAGESIZE) / 1024;
}

static void
answer(int error)
{
    const char *name = error == 0 ? "0" : strerrorname_np(error);

    printf("%s\n", name ? name : "?");
    fflush(stdout);
}

static volatile sig_atomic_t child_signals;

static void
on_child(int number)
{
    (void)number;
    child_signals++;
}

/* ECHILD where there is none, nor was. */
static int
children(void)
{
    return waitpid(-1, NULL, WNOHANG) < 0 && child_signals == 0 ? errno : 0;
}

static int
try_in_child(void)
{
    pid_t child = fork();
    int status = 0;

    if (child == 0)
        _exit(heapwire_start(NULL));
    waitpid(child, &status, 0);
    child_signals = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : ECHILD;
}

static int
serve(void)
{
    struct sigaction action = {.sa_handler = on_child, .sa_flags = SA_RESTART};
    static char line[32768];

    sigaction(SIGCHLD, &action, NULL);
    while (fgets(line, sizeof(line), stdin)) {
        char *end = strchr(line, '\n');

        if (end)
            *end = '\0';
        for (char *at = line; (at = strchr(at, ';')) != NULL;)
            *at = '\n';
        if (strcmp(line, "start -") == 0)
            answer(heapwire_start(NULL));
        else if (strncmp(line, "start ", 6) == 0)
            answer(heapwire_start(line + 6));
        else if (strcmp(line, "stop") == 0)
            answer(heapwire_stop());
        else if (strcmp(line, "children") == 0)
            answer(children());
        else if (strcmp(line, "fork") == 0)
            answer(try_in_child());
        else
            answer(ENOSYS);
    }
    return 0;
}

static int
rounds(int count)
{
    int descriptors = 0, threads = entries("/proc/self/task"), failed = 0;
    long kib = 0, slowest = 0;

    for (int i = 0; i < count + SETTLED; i++) {
        long began = microseconds();
        int error;

        failed += heapwire_start(NULL) != 0;
        failed += heapwire_start(NULL) != EALREADY;
        do
            error = heapwire_stop();
        while (error == ETIMEDOUT); /* on a busy machine, too */
        failed += error != 0;
        if (microseconds() - began > slowest)
            slowest = microseconds() - began;
        if (i == SETTLED) {
            descriptors = entries("/proc/self/fd");
            kib = resident_kib();
        }
    }
    printf("failed=%d\ngrown_kib=%ld\ndescriptors=%d\nthreads=%d\n"
           "slowest_us=%ld\n",
           failed, resident_kib() - kib, entries("/proc/self/fd") - descriptors,
           threads_more(threads), slowest);
    return failed != 0;
}

static atomic_bool done;
static atomic_int calls, wrong;

static void *
race_one(void *arg)
{
    while (!done) {
        int error = arg ? heapwire_start(NULL) : heapwire_stop();

        calls++;
        /* EBUSY: a child was quicker. */
        wrong += error != 0 && error != EALREADY && error != EAGAIN &&
                 !(arg && error == EBUSY);
    }
    return NULL;
}

/* What a fork's child may do, whatever its parent was at. */
static int
child_of_race(void)
{
    int error;

    alarm(CHILD_SECONDS);
    error = heapwire_start(NULL);
    if (error == 0)
        error = heapwire_stop();
    return error == 0 || error == EBUSY ? 0 : error;
}

static int
race(int limit_ms)
{
    long until = microseconds() + limit_ms * 1000L;
    pthread_t threads[RACERS];
    int children = 0, bad = 0;

    for (size_t i = 0; i < RACERS; i++)
        pthread_create(&threads[i], NULL, race_one, (void *)(i % 2));
    while (microseconds() < until) {
        pid_t child = fork();
        int status = 0;

        if (child == 0)
            _exit(child_of_race());
        waitpid(child, &status, 0);
        children++;
        if (status != 0)
            fprintf(stderr, "a child's wait status: %#x\n", status);
        bad += status != 0;
    }
    done = true;
    for (int i = 0; i < RACERS; i++)
        pthread_join(threads[i], NULL);
    printf("calls=%d\nwrong=%d\nchildren=%d\nbad=%d\nstopped=%d\n", calls,
           wrong, children, bad, heapwire_stop());
    return wrong || bad;
}

int
main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "serve") == 0)
        return serve();
    if (argc == 3 && strcmp(argv[1], "rounds") == 0)
        return rounds(atoi(argv[2])); /* NOLINT(cert-err34-c) */
    if (argc == 3 && strcmp(argv[1], "race") == 0)
        return race(atoi(argv[2])); /* NOLINT(cert-err34-c) */
    return 2;
}
