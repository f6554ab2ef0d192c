/*
 * attach_driver.c - many attaches and detaches, without heapwired.
 *
 *     attach_driver PID LIBRARY STATE_DIR COUNT
 *
 * Prints how often what failed, for how long a thread was kept, and how much
 * memory the process has gained.  Status 1 if anything failed for good: a try
 * that found no thread is made again, one that could not load LIBRARY is not.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <time.h>

#include "errors.h"
#include "attach.h"

/* A thread whose attacher was killed may be in the agent's start or stop for
 * two seconds more, of processor time that a busy machine does not give it. */
enum { TRY_SECONDS = 20, PAUSE_NS = 1000 * 1000, WARM_UP = 20 };

struct tally {
    unsigned long done, retried, failed;
    unsigned longest_us;
    unsigned long total_us;
};

static long
resident_kb(pid_t pid)
{
    char path[32], line[256];
    long kb = -1;
    FILE *f;

    snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    f = fopen(path, "re");
    while (f && fgets(line, sizeof(line), f))
        if (sscanf(line, "VmRSS: %ld", &kb) == 1)
            break;
    if (f)
        fclose(f);
    return kb;
}

static int
one(const struct target *target, const char *library, const char *settings,
    struct tally *tally)
{
    static const struct timespec pause = {0, PAUSE_NS};
    const time_t until = time(NULL) + TRY_SECONDS;
    struct error err = {0};

    while (time(NULL) < until) {
        struct injection injection = {
            .target = target, .library = library, .settings = settings};

        if (inject(&injection, &err) == 0) {
            tally->done++;
            tally->total_us += injection.stopped_us;
            if (injection.stopped_us > tally->longest_us)
                tally->longest_us = injection.stopped_us;
            return 0;
        }
        tally->retried++;
        printf("%s: %s\n", settings ? "attach" : "detach", err.text);
        fflush(stdout);
        if (!target_is_there(target) || strstr(err.text, "cannot load"))
            break;
        nanosleep(&pause, NULL);
    }
    tally->failed++;
    return -1;
}

static void
print(const char *what, const struct tally *t)
{
    printf("%s: %lu done, %lu tried again, %lu failed, thread kept %lu us on "
           "average, %u us at most\n",
           what, t->done, t->retried, t->failed,
           t->done ? t->total_us / t->done : 0, t->longest_us);
}

/* A thread that was joined is in /proc for a moment still. */
static bool
stays(pid_t pid)
{
    static const struct timespec step = {0, 1000 * 1000};

    for (int i = 0; i < 1000 && target_has_agent(pid); i++)
        nanosleep(&step, NULL);
    return target_has_agent(pid);
}

int
main(int argc, char **argv)
{
    struct tally attach = {0}, detach = {0};
    struct error err = {0};
    struct target target;
    long before = 0, count;
    char settings[4096];
    sigset_t set;

    if (argc != 5)
        return EX_USAGE;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigprocmask(SIG_BLOCK, &set, NULL);
    if (target_check(&target, (pid_t)strtol(argv[1], NULL, 10), false, &err) !=
        0) {
        printf("%s\n", err.text);
        return 1;
    }
    snprintf(settings, sizeof(settings), "HEAPWIRE_STATE_DIR=%s\n", argv[3]);
    count = strtol(argv[4], NULL, 10);
    if (target_has_agent(target.pid)) /* of one that was killed */
        one(&target, argv[2], NULL, &detach);
    for (long i = 0; i < count; i++) {
        if (i == WARM_UP)
            before = resident_kb(target.pid);
        if (one(&target, argv[2], settings, &attach) != 0 ||
            !target_has_agent(target.pid) ||
            one(&target, argv[2], NULL, &detach) != 0 || stays(target.pid)) {
            printf("round %ld failed\n", i);
            attach.failed++;
            break;
        }
    }
    print("attach", &attach);
    print("detach", &detach);
    printf("memory: %ld kB more\n", resident_kb(target.pid) - before);
    return attach.failed + detach.failed != 0;
}
