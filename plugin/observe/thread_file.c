/* thread_file.c - see thread_work.h: a thread's file of /proc. */
#include "thread_work.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "files.h"

int
thread_file_read(int dir, int32_t tid, const char *name, char *text,
                 size_t room)
{
    char path[48];
    ssize_t size;
    int fd;

    snprintf(path, sizeof(path), "%" PRId32 "/%s", tid, name);
    fd = openat(dir, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    size = read(fd, text, room - 1); /* the kernel writes it at once */
    fd_close(fd);
    if (size < 0)
        return -1;
    text[size] = '\0';
    return 0;
}
