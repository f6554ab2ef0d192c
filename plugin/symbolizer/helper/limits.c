/* limits.c - see limits.h.  Goes on without any limit that a sandbox refuses.
 */
#include "limits.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "allowed_calls.h"
#include "files.h"

enum { NICE = 10, DESCRIPTORS = 64, PROCESSORS_MAX = 1024 };

/* A sanitizer's shadow needs terabytes of address space. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { LIMIT_MEMORY = 0 };
#else
enum { LIMIT_MEMORY = 1 };
#endif

static void
limit(int what, uint64_t value)
{
    struct rlimit old, new;

    if (getrlimit((__rlimit_resource_t)what, &old) != 0)
        return;
    new.rlim_cur = value < old.rlim_max ? value : old.rlim_max;
    new.rlim_max = new.rlim_cur;
    (void)setrlimit((__rlimit_resource_t)what, &new);
}

static void
volunteer_for_the_oom_killer(void)
{
    static const char most[] = "1000";
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

    /* If refused, the limits below must suffice. */
    if (fd >= 0 && write(fd, most, sizeof(most) - 1) < 0)
        errno = 0;
    fd_close(fd);
}

int
limits_apply(uint64_t memory_bytes, pid_t parent)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    /* The signal is only sent for later deaths. */
    if (getppid() != parent)
        return -1;
    volunteer_for_the_oom_killer();
    (void)setpriority(PRIO_PROCESS, 0, NICE);
    if (LIMIT_MEMORY)
        limit(RLIMIT_AS, memory_bytes);
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_FSIZE, 0);
    limit(RLIMIT_NOFILE, DESCRIPTORS);
    (void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    (void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    (void)allowed_calls_only();
    return 0;
}

/* The limit counts all threads' time. */
static rlim_t
processors(void)
{
    cpu_set_t set;

    return sched_getaffinity(0, sizeof(set), &set) == 0
               ? (rlim_t)CPU_COUNT(&set)
               : PROCESSORS_MAX;
}

void
limits_cpu(uint32_t seconds)
{
    struct timespec used = {0, 0};
    struct rlimit cpu;

    if (getrlimit(RLIMIT_CPU, &cpu) != 0 ||
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used) != 0)
        return;
    cpu.rlim_cur = (rlim_t)used.tv_sec + seconds * processors() + 1;
    if (cpu.rlim_cur > cpu.rlim_max)
        cpu.rlim_cur = cpu.rlim_max;
    (void)setrlimit(RLIMIT_CPU, &cpu);
}
