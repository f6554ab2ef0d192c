/*
 * channel.c - the agent's socket in the state directory; see agent.h.
 *
 * Agent and heapwired may be of different users, and a database that runs as
 * root must not be led astray by the directory's owner: so the directory is
 * opened once and checked, and everything happens beside its descriptor, with
 * no link followed.  bind() takes only paths, and short ones, hence the way
 * through /proc/thread-self/fd.  Which process serves is decided by a fcntl
 * lock, which the kernel drops with the process, however it ends; a pid file
 * would lie after a kill -9.
 */
#include "agent.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "agent_protocol.h"
#include "agent_tools.h"
#include "process_stat.h"

enum { BACKLOG = 4, ACCEPT_PAUSE_US = 100000 };

static void
close_channel_fd(int *fd)
{
    if (*fd >= 0) {
        shared_fds_drop(*fd);
        close(*fd);
    }
    *fd = -1;
}

/* Whether that owner may be trusted with the directory. */
static bool
may_own(uid_t owner)
{
    return owner == 0 || owner == geteuid() || geteuid() == 0;
}

bool
channel_is_shut(const char *state_dir)
{
    int fd = open(state_dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat st;
    bool shut;

    if (fd < 0)
        return errno == EACCES;
    shut = fstat(fd, &st) == 0 && !may_own(st.st_uid);
    close(fd);
    return shut;
}

/* Opens a directory that only root, its owner and we can write to. */
static int
open_directory(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat st;
    int error;

    if (fd < 0 || fstat(fd, &st) != 0) {
        error = errno;
        if (error == EACCES)
            agent_log("the database runs as uid %u, which may not open the "
                      "state directory %s: start heapwire-run with --user, and "
                      "its name; the database runs unprofiled",
                      (unsigned)geteuid(), path);
        else
            agent_log("cannot open the state directory %s: %m; the database "
                      "runs unprofiled",
                      path);
        if (fd >= 0)
            close(fd);
        errno = error;
        return -1;
    }
    if ((st.st_mode & (S_IWGRP | S_IWOTH)) != 0 || !may_own(st.st_uid)) {
        agent_log("the state directory %s is not private (owner uid %u, mode "
                  "%04o; the database runs as uid %u, which heapwire-run's "
                  "--user may name); the database runs unprofiled",
                  path, (unsigned)st.st_uid, (unsigned)st.st_mode & 07777,
                  (unsigned)geteuid());
        close(fd);
        errno = EPERM;
        return -1;
    }
    return fd;
}

static int
open_lock(int directory)
{
    return openat(directory, AGENT_LOCK,
                  O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
}

/* The process whose lock is in the way of wanted; 0: none is any more. */
static pid_t
holder_of(int lock, const struct flock *wanted)
{
    struct flock held = *wanted;

    return fcntl(lock, F_GETLK, &held) == 0 && held.l_type != F_UNLCK
               ? held.l_pid
               : 0;
}

/* Takes the lock: first all of the file, to find it free, and then its first
 * byte alone.  The rest is held while one thread follows another (handover.c):
 * if this process has it, a change was going on before this thread began.  To
 * the kernel such a lock belongs to a descriptor table, so that an earlier
 * thread with a table of its own is in the way, though it has our pid. */
static enum channel_result
take_channel_lock(struct channel *channel)
{
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    struct flock first = whole, others = whole;
    struct stat st;

    first.l_len = 1;
    others.l_start = 1;
    others.l_type = F_UNLCK;
    channel->lock = open_lock(channel->directory);
    if (channel->lock < 0)
        return CHANNEL_FAILED;
    shared_fds_add(channel->lock);
    if (fstat(channel->lock, &st) != 0)
        return CHANNEL_FAILED;
    if (!S_ISREG(st.st_mode)) {
        errno = EINVAL;
        return CHANNEL_FAILED;
    }
    if (fcntl(channel->lock, F_SETLK, &whole) == 0) {
        fcntl(channel->lock, F_SETLK, &others);
        return CHANNEL_OPEN;
    }
    if (errno != EACCES && errno != EAGAIN)
        return CHANNEL_FAILED;
    channel->holder = holder_of(channel->lock, &whole);
    if (channel->holder == getpid()) {
        if (fcntl(channel->lock, F_SETLK, &first) == 0)
            return CHANNEL_OPEN;
        channel->holder = holder_of(channel->lock, &first);
    }
    return CHANNEL_BUSY;
}

static bool
has_leave_reason(int fd)
{
    char start[sizeof(LEAVE_REASON_TAG) - 1];

    return lseek(fd, 0, SEEK_SET) == 0 &&
           read(fd, start, sizeof(start)) == (ssize_t)sizeof(start) &&
           memcmp(start, LEAVE_REASON_TAG, sizeof(start)) == 0;
}

/* Gives our own file to owner.  Refuses a hard link to another user's file, and
 * a file with contents other than a leave reason: the directory's owner may
 * have moved it here. */
static int
give_file_to_owner(int fd, uid_t owner)
{
    struct stat st;

    if (fstat(fd, &st) != 0)
        return -1;
    if (st.st_nlink != 1 || (st.st_size != 0 && !has_leave_reason(fd)) ||
        !(S_ISSOCK(st.st_mode) || S_ISREG(st.st_mode))) {
        errno = EPERM;
        return -1;
    }
    return fchownat(fd, "", owner, (gid_t)-1, AT_EMPTY_PATH);
}

/* heapwired runs as the directory's owner, so the socket becomes the owner's.
 * This runs after bind(), because heapwired may be changing the owner now: the
 * later of the two hands the socket over. */
static int
give_to_owner(const struct channel *channel)
{
    struct stat st;
    int name, rc;

    if (fstat(channel->directory, &st) != 0)
        return -1;
    if (geteuid() != 0 || st.st_uid == 0)
        return 0;
    name = openat(channel->directory, AGENT_SOCKET,
                  O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (name < 0)
        return -1;
    rc = give_file_to_owner(name, st.st_uid);
    close(name);
    return rc == 0 ? give_file_to_owner(channel->lock, st.st_uid) : -1;
}

static int
start_listening(struct channel *channel)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int dir = channel->directory;

    channel->listener =
        socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (channel->listener < 0)
        return -1;
    shared_fds_add(channel->listener);
    channel->listener_file = shared_fds_file_of(channel->listener);
    snprintf(address.sun_path, sizeof(address.sun_path),
             "/proc/thread-self/fd/%d/" AGENT_SOCKET, dir);
    if (unlinkat(dir, AGENT_SOCKET, 0) != 0 && errno != ENOENT)
        return -1;
    /* bind() takes the mode from here, less the umask. */
    if (fchmod(channel->listener, 0600) != 0 ||
        bind(channel->listener, (struct sockaddr *)&address, sizeof(address)) !=
            0 ||
        give_to_owner(channel) != 0)
        return -1;
    return listen(channel->listener, BACKLOG);
}

static void
write_leave_reason(int lock, off_t at, pid_t pid, uint64_t start_ticks,
                   const char *why)
{
    char word[AGENT_TEXT_MAX];
    int size = snprintf(word, sizeof(word), LEAVE_REASON_LINE, (int)pid,
                        (unsigned long long)start_ticks, why);

    if (size > 0 && (size_t)size < sizeof(word) &&
        lseek(lock, at, SEEK_SET) == at)
        (void)!write(lock, word, (size_t)size);
}

/* Erases the reasons of earlier agents, by calls that are allowed under any
 * filter that we serve under.  A file that does not begin with our tag may be
 * one that the directory's owner has moved here: it is left alone. */
static void
erase_leave_reasons(int lock)
{
    if (!has_leave_reason(lock))
        return;
    write_leave_reason(lock, 0, 0, 0, "");
    write_leave_reason(lock, AGENT_EARLY_AT, 0, 0, "");
}

enum channel_result
channel_open(struct channel *channel, const char *state_dir)
{
    enum channel_result result;
    int error;

    channel->directory = open_directory(state_dir);
    if (channel->directory < 0)
        return CHANNEL_FAILED;
    shared_fds_add(channel->directory);
    result = take_channel_lock(channel);
    if (result == CHANNEL_OPEN && start_listening(channel) != 0)
        result = CHANNEL_FAILED;
    error = errno;
    if (result == CHANNEL_OPEN)
        erase_leave_reasons(channel->lock);
    if (result == CHANNEL_FAILED)
        agent_log("cannot serve in %s: %m; the database runs unprofiled",
                  state_dir);
    if (result != CHANNEL_OPEN)
        channel_close(channel);
    errno = error;
    return result;
}

static bool
is_path_of_directory(const char *state_dir, int directory)
{
    struct stat own, named;

    if (fstat(directory, &own) != 0)
        return true;
    if (lstat(state_dir, &named) != 0)
        return errno != ENOENT;
    return own.st_dev == named.st_dev && own.st_ino == named.st_ino;
}

/* Whether the lock's file still has a name. */
static bool
has_lock(const struct channel *channel)
{
    struct stat st;

    return fstat(channel->lock, &st) != 0 || st.st_nlink > 0;
}

bool
channel_is_lost(const struct channel *channel, const char *state_dir)
{
    struct stat st; /* not faccessat(): filters were not tried with it */

    return channel->directory >= 0 &&
           (!is_path_of_directory(state_dir, channel->directory) ||
            !has_lock(channel) ||
            (fstatat(channel->directory, AGENT_SOCKET, &st,
                     AT_SYMLINK_NOFOLLOW) != 0 &&
             errno == ENOENT));
}

/* The lock is kept if its file has its name: closing any descriptor of the file
 * would drop it. */
bool
channel_renew(struct channel *channel, const char *state_dir)
{
    struct channel next = {-1, -1, -1, -1}; /* no descriptors */

    if (is_path_of_directory(state_dir, channel->directory) &&
        has_lock(channel)) {
        next = *channel;
        next.listener = -1;
        if (start_listening(&next) != 0) {
            close_channel_fd(&next.listener);
            return false;
        }
        close_channel_fd(&channel->listener);
    } else {
        if (channel_open(&next, state_dir) != CHANNEL_OPEN)
            return false;
        next.connection = channel->connection;
        next.connection_file = channel->connection_file;
        channel->connection = -1;
        channel_close(channel);
    }
    *channel = next;
    return true;
}

void
channel_leave_directory(struct channel *channel)
{
    struct stat st;

    if (fstat(channel->directory, &st) == 0)
        channel->owner = st.st_uid;
    close_channel_fd(&channel->directory);
}

void
channel_write_leave_reason(const struct channel *channel,
                           const struct agent_hello *self, const char *why)
{
    write_leave_reason(channel->lock, 0, self->pid, self->start_ticks, why);
}

void
channel_write_early_reason(const char *state_dir, const char *why)
{
    int directory = open_directory(state_dir);
    int lock = directory < 0 ? -1 : open_lock(directory);
    struct process_stat self;
    struct stat st;

    if (lock >= 0 && fstat(directory, &st) == 0 &&
        give_file_to_owner(lock, st.st_uid) == 0 &&
        process_stat_read(0, &self)) {
        if (!has_leave_reason(lock)) /* it is empty */
            (void)!write(lock, LEAVE_REASON_TAG, sizeof(LEAVE_REASON_TAG) - 1);
        write_leave_reason(lock, AGENT_EARLY_AT, getpid(), self.start_ticks,
                           why);
    }
    if (lock >= 0)
        close(lock); /* drops none: we hold no lock on the file (agent.h) */
    if (directory >= 0)
        close(directory);
}

void
channel_remove(struct channel *channel)
{
    if (channel->directory >= 0)
        unlinkat(channel->directory, AGENT_SOCKET, 0);
}

void
channel_close(struct channel *channel)
{
    close_channel_fd(&channel->connection);
    close_channel_fd(&channel->listener);
    close_channel_fd(&channel->lock);
    close_channel_fd(&channel->directory);
}

/* False if the host has reused the number: it is forgotten, not closed. */
static bool
is_descriptor_unchanged(int *fd, struct shared_fds_file file)
{
    if (*fd < 0 || shared_fds_file_is(*fd, file))
        return true;
    shared_fds_drop(*fd);
    *fd = -1;
    return false;
}

bool
channel_intact(struct channel *channel)
{
    is_descriptor_unchanged(&channel->connection, channel->connection_file);
    return is_descriptor_unchanged(&channel->listener, channel->listener_file);
}

void
channel_disconnect(struct channel *channel)
{
    close_channel_fd(&channel->connection);
}

static bool
may_connect(const struct channel *channel, uid_t uid)
{
    struct stat st = {.st_uid = channel->owner};

    /* fails once the directory was left: then its last known owner counts */
    (void)fstat(channel->directory, &st);
    return uid == 0 || uid == geteuid() || uid == st.st_uid;
}

bool
channel_accept(struct channel *channel)
{
    int fd =
        accept4(channel->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    struct ucred peer;
    socklen_t size = sizeof(peer);

    if (fd < 0) {
        /* most likely there are no descriptors left: poll() would spin */
        if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
            usleep(ACCEPT_PAUSE_US);
        return false;
    }
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 ||
        !may_connect(channel, peer.uid)) {
        close(fd);
        return false;
    }
    channel_disconnect(channel);
    channel->connection = fd;
    channel->connection_file = shared_fds_file_of(fd);
    channel->peer = peer.pid;
    shared_fds_add(fd);
    return true;
}

/* The first descriptor of a message; closes the others.  -1: there is none. */
static int
take_descriptor(struct msghdr *message)
{
    int taken = -1, fd;

    for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c;
         c = CMSG_NXTHDR(message, c)) {
        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
            continue;
        for (size_t at = 0; CMSG_LEN(at + sizeof(fd)) <= c->cmsg_len;
             at += sizeof(fd)) {
            memcpy(&fd, CMSG_DATA(c) + at, sizeof(fd));
            shared_fds_add(fd);
            if (taken < 0)
                taken = fd;
            else
                close_channel_fd(&fd);
        }
    }
    return taken;
}

int
channel_receive(struct channel *channel, void *out, size_t size, int *fd)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(AGENT_FDS_MAX * sizeof(int))];
    } control;
    struct iovec piece = {out, size};
    struct msghdr message = {.msg_iov = &piece,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof(control.bytes)};
    ssize_t n;

    *fd = -1;
    do {
        n = recvmsg(channel->connection, &message,
                    MSG_DONTWAIT | MSG_TRUNC | MSG_CMSG_CLOEXEC);
    } while (n < 0 && errno == EINTR);
    if (n >= 0)
        *fd = take_descriptor(&message);
    return n == (ssize_t)size ? 0 : -1;
}

int
channel_send(struct channel *channel, const void *data, size_t size,
             const int *fds, size_t fd_count)
{
    struct iovec piece = {.iov_base = (void *)data, .iov_len = size};
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(AGENT_FDS_MAX * sizeof(int))];
    } control = {.bytes = {0}};
    struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1};
    ssize_t n;

    if (fd_count > 0) {
        struct cmsghdr *header;

        message.msg_control = control.bytes;
        message.msg_controllen = CMSG_SPACE(fd_count * sizeof(int));
        header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(fd_count * sizeof(int));
        memcpy(CMSG_DATA(header), fds, fd_count * sizeof(int));
    }
    do {
        n = sendmsg(channel->connection, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    } while (n < 0 && errno == EINTR);
    return n == (ssize_t)size ? 0 : -1;
}
