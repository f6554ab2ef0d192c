/* shared_fds.c - see shared_fds.h. */
#include "shared_fds.h"

#include <sys/stat.h>
#include <unistd.h>

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
static volatile bool recording;

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
shared_fds_are(void)
{
    return recording;
}

void
shared_fds_add(int fd)
{
    static int next;

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
