/*
 * own_file.c - see own_file.h.
 *
 * Root's heapwired keeps its state in a directory that the database's user may
 * own.  Opening a path there as root would follow whatever that user put in its
 * place, so own_file_open takes on the owner's ids for the one call: then the
 * kernel permits no more than the owner could do.  What was opened is checked,
 * too.  A file that is being written is locked by its writer: the lock ends
 * with the process, and unlike a process id it means the same in another
 * container.
 */
#include "own_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "files.h"

enum { TMP_FILE_EXTRA = 64 }; /* that a name takes beyond its stem, at most */

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
format_own_file_path(char out[PATH_MAX], const char *dir, const char *name,
                     const char *suffix)
{
    int n = snprintf(out, PATH_MAX, "%s/%s%s", dir, name, suffix);

    if (n > 0 && n < PATH_MAX)
        return 0;
    errno = ENAMETOOLONG;
    return -1;
}

/* setfsuid and setfsgid change the calling thread alone, so other threads are
 * not disturbed.  With the user id the kernel also drops root's capabilities to
 * override file permissions. */
int
own_file_open(const char *dir, const char *name, int flags)
{
    bool other;
    char path[PATH_MAX];
    struct stat st;
    int fd, saved;

    if (format_own_file_path(path, dir, name, "") != 0 || stat(dir, &st) != 0)
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

    if (format_own_file_path(path, dir, name, "") != 0 ||
        format_own_file_path(aside, dir, name, ".damaged") != 0)
        return -1;
    return rename(path, aside);
}

enum { TRIES = 10 };

static int
choose_name(const char *stem, char *name, size_t size)
{
    static atomic_uint made;
    int length = snprintf(
        name, size, "%s.%d-%u-%llx" TMP_FILE_ENDING, stem, (int)getpid(),
        atomic_fetch_add_explicit(&made, 1, memory_order_relaxed),
        (unsigned long long)clock_ms());

    if (length > 0 && (size_t)length < size)
        return 0;
    errno = ENAMETOOLONG;
    return -1;
}

/* Locks the new file against tmp_file_clean of other processes.  false: it
 * was removed before that.  A file system without locks gives another error
 * than EWOULDBLOCK; there tmp_file_clean cannot lock either, and so removes
 * nothing. */
static bool
lock_own_file(int fd)
{
    struct stat st;

    return (flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) &&
           fstat(fd, &st) == 0 && st.st_nlink > 0;
}

int
tmp_file_make(int dir, const char *stem, mode_t mode, char *name, size_t size)
{
    int fd;

    for (int i = 0; i < TRIES; i++) {
        if (choose_name(stem, name, size) != 0)
            return -1;
        fd = openat(dir, name,
                    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
        if (fd < 0 && errno != EEXIST)
            return -1;
        if (fd >= 0 && lock_own_file(fd))
            return fd;
        fd_close(fd); /* another process removed it between open and lock */
    }
    errno = EBUSY;
    return -1;
}

/* Opened for writing, since NFS locks only such descriptors exclusively. */
int
tmp_file_clean(int dir, const char *name)
{
    int fd = openat(dir, name,
                    O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    int rc = -1;

    if (fd < 0)
        return errno == ENOENT ? 0 : -1;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0)
        rc = file_remove_at(dir, name);
    else if (errno == EWOULDBLOCK)
        rc = 0;
    fd_close(fd);
    return rc;
}
