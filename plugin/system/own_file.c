/* own_file.c - see own_file.h. */
#include "own_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

#include "files.h"

static bool
is_safe(int fd, const struct stat *dir)
{
    struct stat st;

    return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_nlink == 1 &&
           (st.st_mode & (S_IRWXG | S_IRWXO)) == 0 &&
           (st.st_uid == geteuid() || st.st_uid == dir->st_uid ||
            geteuid() == 0);
}

static int
path_of(char out[PATH_MAX], const char *dir, const char *name,
        const char *suffix)
{
    int n = snprintf(out, PATH_MAX, "%s/%s%s", dir, name, suffix);

    if (n > 0 && n < PATH_MAX)
        return 0;
    errno = ENAMETOOLONG;
    return -1;
}

/* The ids that count for files are a thread's own; others are not disturbed. */
int
own_file_open(const char *dir, const char *name, int flags)
{
    bool other;
    char path[PATH_MAX];
    struct stat st;
    int fd, saved;

    if (path_of(path, dir, name, "") != 0 || stat(dir, &st) != 0)
        return -1;
    other = geteuid() == 0 && st.st_uid != 0;
    if (other) {
        setfsgid(st.st_gid);
        setfsuid(st.st_uid);
    }
    fd = open(path, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
    saved = errno;
    if (other) {
        setfsuid(geteuid());
        setfsgid(getegid());
    }
    errno = saved;
    if (fd < 0 || is_safe(fd, &st))
        return fd;
    fd_close(fd);
    errno = EPERM;
    return -1;
}

bool
own_file_is_foreign(int error)
{
    return error == EPERM || error == ELOOP || error == EISDIR ||
           error == EACCES || error == ENXIO;
}

int
own_file_set_aside(const char *dir, const char *name)
{
    char path[PATH_MAX], aside[PATH_MAX];

    if (path_of(path, dir, name, "") != 0 ||
        path_of(aside, dir, name, ".damaged") != 0)
        return -1;
    return rename(path, aside);
}
