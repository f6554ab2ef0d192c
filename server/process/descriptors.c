/* descriptors.c - see descriptors.h. */
#include "descriptors.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "confined.h"

/* For kernels without close_range (before 5.9), and under filters. */
static void
close_listed(void)
{
    DIR *dir = opendir("/proc/self/fd");
    struct dirent *entry;

    if (!dir)
        return;
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): one thread so far */
    while ((entry = readdir(dir))) {
        long fd = strtol(entry->d_name, NULL, 10);

        if (fd > STDERR_FILENO && fd != dirfd(dir))
            close((int)fd);
    }
    closedir(dir);
}

/* from is where the descriptors to be pointed at /dev/null begin. */
static void
to_null(int from, int to)
{
    int null = open("/dev/null", O_RDWR);

    if (null < 0)
        return;
    for (int fd = from; fd <= to; fd++)
        dup2(null, fd);
    if (null > STDERR_FILENO)
        close(null);
}

void
descriptors_prepare(int kept[2])
{
    struct rlimit limit;

    if (confined_filters() != 0 || close_range(STDERR_FILENO + 1, ~0U, 0) != 0)
        close_listed();
    if (fcntl(STDERR_FILENO, F_GETFD) < 0)
        to_null(STDERR_FILENO, STDERR_FILENO);
    for (size_t i = 0; i < 2; i++)
        if (kept[i] >= 0)
            kept[i] = fcntl(kept[i], F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    to_null(STDIN_FILENO, STDOUT_FILENO);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* a file that may not grow is an error */
    umask(077);
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
}

void
descriptors_leave_stdio(bool keep_stderr)
{
    if (!keep_stderr)
        to_null(STDERR_FILENO, STDERR_FILENO);
}
