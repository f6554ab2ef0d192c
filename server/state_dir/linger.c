/* linger.c - see linger.h. */
#include "linger.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "deaths.h"
#include "files.h"
#include "own_file.h"

int
linger_begin(const char *state_dir)
{
    int fd = own_file_open(state_dir, LINGER_FILE, O_RDWR | O_CREAT);

    if (fd >= 0 &&
        (flock(fd, LOCK_EX | LOCK_NB) != 0 || ftruncate(fd, 0) != 0)) {
        fd_close(fd);
        return -1;
    }
    return fd;
}

bool
linger_is_over(int lock)
{
    struct stat st;

    return lock >= 0 && fstat(lock, &st) == 0 && st.st_size > 0;
}

bool
linger_is_lost(int lock)
{
    struct stat st;

    return lock >= 0 && fstat(lock, &st) == 0 && st.st_nlink == 0;
}

static bool
is_held(int fd)
{
    return fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

bool
linger_is_held(const char *state_dir)
{
    int fd = own_file_open(state_dir, LINGER_FILE, O_RDWR);
    bool held = is_held(fd);

    fd_close(fd);
    return held;
}

bool
linger_end_of(const char *state_dir)
{
    int fd = own_file_open(state_dir, LINGER_FILE, O_RDWR);
    bool lingers = is_held(fd) && pwrite(fd, "x", 1, 0) == 1;

    fd_close(fd);
    return lingers;
}
