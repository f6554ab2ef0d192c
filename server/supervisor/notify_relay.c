/*
 * notify_relay.c - see supervise.h.
 *
 * The manager accepts READY=1 only from the service's main process or, with
 * NotifyAccess=all, from any.  Instead of asking users to change their unit,
 * the database's messages are read here and sent on as our own.  The name of
 * the socket is abstract, hence open to all processes in the network namespace:
 * the kernel attaches each sender's pid, and only descendants are heard.
 */
#include "supervise.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "files.h"
#include "process_facts.h"

int
milestone_socket_open(char name[MILESTONE_SOCKET_NAME])
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    socklen_t size = sizeof(address);
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    const int on = 1;

    /* Binding to the family alone makes the kernel choose an abstract name. */
    if (fd < 0 ||
        bind(fd, (struct sockaddr *)&address, sizeof(sa_family_t)) != 0 ||
        getsockname(fd, (struct sockaddr *)&address, &size) != 0 ||
        setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) != 0) {
        fd_close(fd);
        return -1;
    }
    snprintf(name, MILESTONE_SOCKET_NAME, "%.*s",
             (int)(size - offsetof(struct sockaddr_un, sun_path) - 1),
             address.sun_path + 1);
    return fd;
}

void
milestone_socket_notify(int fd)
{
    /* SIGIO is among the signals that the supervisor waits for. */
    if (fd >= 0 && fcntl(fd, F_SETOWN, getpid()) == 0)
        fcntl(fd, F_SETFL, O_NONBLOCK | O_ASYNC);
}

enum {
    MESSAGES_MAX = 64, /* at a time */
    FDS_MAX = 253,     /* as many as the kernel passes in one message */
    DESCENT_MAX = 64   /* levels; pids may be reused while we climb */
};

int
notify_relay_open(struct notify_relay *relay, const char *manager)
{
    const size_t path = offsetof(struct sockaddr_un, sun_path);
    size_t length = manager ? strlen(manager) : 0;
    char name[MILESTONE_SOCKET_NAME];

    memset(relay, 0, sizeof(*relay));
    relay->fd = -1;
    if (length < 2 || length >= sizeof(relay->manager.sun_path) ||
        (*manager != '/' && *manager != '@'))
        return -1;
    relay->manager.sun_family = AF_UNIX;
    memcpy(relay->manager.sun_path, manager, length);
    relay->manager_size = (socklen_t)(path + length + 1);
    if (*manager == '@') {
        relay->manager.sun_path[0] = '\0';
        relay->manager_size--;
    }
    relay->fd = milestone_socket_open(name);
    if (relay->fd < 0)
        return -1;
    snprintf(relay->address, sizeof(relay->address), "@%s", name);
    return 0;
}

void
notify_relay_close(struct notify_relay *relay)
{
    fd_close(relay->fd);
    relay->fd = -1;
}

static bool
has_notify_prefix(const char *line, size_t size, const char *prefix)
{
    return size >= strlen(prefix) && memcmp(line, prefix, strlen(prefix)) == 0;
}

/* Removes in place what must not be passed on, and returns the new length.
 * MAINPID would name the database, where systemd must watch us; descriptors are
 * not ours to keep.  *stored: the message asked to keep a descriptor. */
static size_t
filter_notify_lines(char *text, size_t size, bool *stored)
{
    static const char *const dropped[] = {
        "MAINPID=", "MAINPIDFDID=", "FDSTORE=", "FDSTOREREMOVE=",
        "FDNAME=",  "FDPOLL=",      "BARRIER="};
    size_t kept = 0, at = 0;

    *stored = false;
    while (at < size) {
        const char *end = memchr(text + at, '\n', size - at);
        size_t line = (end ? (size_t)(end - text) + 1 : size) - at;
        bool drop = line == 0 || (end && line == 1); /* an empty line */

        *stored = *stored || has_notify_prefix(text + at, line, "FDSTORE=");
        for (size_t i = 0; i < sizeof(dropped) / sizeof(dropped[0]); i++)
            drop = drop || has_notify_prefix(text + at, line, dropped[i]);
        if (!drop) {
            memmove(text + kept, text + at, line);
            kept += line;
        }
        at += line;
    }
    return kept;
}

/* Any process can find the socket's name, so the sender must descend from us.
 */
static bool
is_own_descendant(pid_t pid)
{
    for (int i = 0; i < DESCENT_MAX && pid > 1; i++) {
        pid = process_parent(pid);
        if (pid == getpid())
            return true;
    }
    return false;
}

static void
close_all(const struct cmsghdr *header)
{
    size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);

    for (size_t i = 0; i < count; i++) {
        int fd;

        memcpy(&fd, CMSG_DATA(header) + i * sizeof(int), sizeof(int));
        fd_close(fd);
    }
}

/* Receives one message; 0: from another process, or too long.  Descriptors are
 * closed at once: the sender of a barrier waits for that, and by then all its
 * earlier messages have been passed on. */
static ssize_t
receive_notify_message(const struct notify_relay *relay, char *text,
                       size_t size)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(struct ucred)) +
                   CMSG_SPACE(FDS_MAX * sizeof(int))];
    } control;
    struct iovec part = {text, size};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof(control.bytes)};
    ssize_t n = recvmsg(relay->fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    struct ucred sender = {0};

    if (n < 0)
        return -1;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(&message); c;
         c = CMSG_NXTHDR(&message, c)) {
        if (c->cmsg_level != SOL_SOCKET)
            continue;
        if (c->cmsg_type == SCM_RIGHTS)
            close_all(c);
        else if (c->cmsg_type == SCM_CREDENTIALS)
            memcpy(&sender, CMSG_DATA(c), sizeof(sender));
    }
    return message.msg_flags & MSG_TRUNC || !is_own_descendant(sender.pid) ? 0
                                                                           : n;
}

static void
log_fdstore_once(struct notify_relay *relay)
{
    if (!relay->logged)
        fprintf(stderr, "heapwire-run: descriptors that the database gives to "
                        "systemd (FDSTORE=1) are not passed on\n");
    relay->logged = true;
}

void
notify_relay_pass(struct notify_relay *relay)
{
    char text[NOTIFY_MAX];
    bool stored;
    ssize_t n;

    if (relay->fd < 0)
        return;
    for (int i = 0; i < MESSAGES_MAX; i++) {
        n = receive_notify_message(relay, text, sizeof(text));
        if (n < 0)
            return;
        n = (ssize_t)filter_notify_lines(text, (size_t)n, &stored);
        if (stored)
            log_fdstore_once(relay);
        if (n > 0)
            (void)!sendto(
                relay->fd, text, (size_t)n, MSG_NOSIGNAL | MSG_DONTWAIT,
                (struct sockaddr *)&relay->manager, relay->manager_size);
    }
}
