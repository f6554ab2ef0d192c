/* tmp_file.c - see tmp_file.h. */
#include "tmp_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "files.h"

enum { TRIES = 10 };

static int
choose_name(const char *stem, char *name, size_t size)
{
    static unsigned made;
    int length =
        snprintf(name, size, "%s.%d-%u-%llx" TMP_FILE_ENDING, stem,
                 (int)getpid(), __atomic_fetch_add(&made, 1, __ATOMIC_RELAXED),
                 (unsigned long long)clock_ms());

    if (length > 0 && (size_t)length < size)
        return 0;
    errno = ENAMETOOLONG;
    return -1;
}

/* On a file system without locks no process removes it either. */
static bool
lock(int fd)
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
        if (fd >= 0 && lock(fd))
            return fd;
        fd_close(fd); /* it was cleaned away before we had the lock */
    }
    errno = EBUSY;
    return -1;
}

/* For writing: NFS locks no other. */
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
