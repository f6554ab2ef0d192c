/*
 * shared_fds.c - remembers our descriptors in the host's table, and leaves that
 * table where it may; see shared_fds.h.
 */
#include "shared_fds.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "confined.h"

/*
 * Written by the agent's thread alone, read in a forked child, which lacks that
 * thread.  fork() copies descriptors before memory, so an entry may outlive its
 * descriptor: compare the file.
 */
static volatile struct shared {
    struct shared_fds_file file; /* zeroed: unused */
    int fd;
    bool closed;
} shared[SHARED_FDS_MAX];
static atomic_bool recording;

struct shared_fds_file
shared_fds_file_of(int fd)
{
    struct shared_fds_file file = {0, 0};
    struct stat st;

    if (fstat(fd, &st) == 0) {
        file.device = st.st_dev;
        file.inode = st.st_ino;
    }
    return file;
}

/* No inode has the number 0. */
bool
shared_fds_file_is(int fd, struct shared_fds_file file)
{
    struct shared_fds_file now = shared_fds_file_of(fd);

    return now.inode != 0 && now.inode == file.inode &&
           now.device == file.device;
}

void
shared_fds_begin(void)
{
    recording = true;
}

bool
shared_fds_is_recording(void)
{
    return recording;
}

void
shared_fds_add(int fd)
{
    static int next;

    /* Round robin, so that an entry just closed is reused last.  If all are in
     * use, the descriptor is not recorded, and a forked child keeps it. */
    for (int i = 0; recording && i < SHARED_FDS_MAX; i++) {
        volatile struct shared *s = &shared[next++ % SHARED_FDS_MAX];

        if (s->file.inode != 0 && !s->closed)
            continue;
        s->file.inode = 0;
        s->fd = fd;
        s->closed = false;
        s->file = shared_fds_file_of(fd);
        return;
    }
}

void
shared_fds_drop(int fd)
{
    for (int i = 0; i < SHARED_FDS_MAX; i++) {
        if (shared[i].fd == fd)
            shared[i].closed = true;
    }
}

void
shared_fds_close_all(void)
{
    for (int i = 0; i < SHARED_FDS_MAX; i++) {
        if (shared_fds_file_is(shared[i].fd, shared[i].file))
            close(shared[i].fd);
        shared[i].file.inode = 0;
    }
    recording = false;
}

/* ---- a table of the thread's own ---- */

enum {
    FIRST_FD = STDERR_FILENO + 1,
    /* where the limit is higher or unknown: each is a system call */
    CLOSE_MAX = 65536
};

bool
own_table_enter(unsigned calls, int kept)
{
    struct rlimit limit;

    /* close_range() with CLOSE_RANGE_UNSHARE copies only the descriptors that
     * stay, but closes one range, in which kept would lie; unshare() copies
     * all, which are then closed. */
    if (kept < 0 && (calls & CONFINED_CLOSE_RANGE) &&
        confined_try(CONFINED_CLOSE_RANGE))
        return true;
    if (!(calls & CONFINED_UNSHARE) || !confined_try(CONFINED_UNSHARE))
        return false;
    if (kept >= 0 && (calls & CONFINED_CLOSE_RANGE)) {
        for (int fd = FIRST_FD; fd < kept; fd++)
            close(fd);
        if (close_range((unsigned)kept + 1, ~0U, 0) == 0)
            return true; /* before Linux 5.9 there is no such call */
    }
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur > CLOSE_MAX)
        limit.rlim_cur = CLOSE_MAX;
    for (int fd = FIRST_FD; fd < (int)limit.rlim_cur; fd++)
        if (fd != kept)
            close(fd);
    return true;
}

int
own_table_null(bool replace)
{
    int fd;

    /* Each that is opened below FIRST_FD stays: it fills a gap. */
    do {
        fd = open("/dev/null", O_RDWR | O_CLOEXEC);
        if (fd < 0)
            return -1;
    } while (fd < FIRST_FD);
    for (int i = 0; replace && i < FIRST_FD; i++)
        dup2(fd, i);
    close(fd);
    return 0;
}
