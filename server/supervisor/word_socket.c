/* word_socket.c - see word_socket.h. */
#include "word_socket.h"

#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "files.h"

int
word_socket_open(char name[WORD_SOCKET_NAME])
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    socklen_t size = sizeof(address);
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    const int on = 1;

    if (fd < 0 ||
        bind(fd, (struct sockaddr *)&address, sizeof(sa_family_t)) != 0 ||
        getsockname(fd, (struct sockaddr *)&address, &size) != 0 ||
        setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) != 0) {
        fd_close(fd);
        return -1;
    }
    snprintf(name, WORD_SOCKET_NAME, "%.*s",
             (int)(size - offsetof(struct sockaddr_un, sun_path) - 1),
             address.sun_path + 1);
    return fd;
}

void
word_socket_wake(int fd)
{
    if (fd >= 0 && fcntl(fd, F_SETOWN, getpid()) == 0)
        fcntl(fd, F_SETFL, O_NONBLOCK | O_ASYNC);
}
