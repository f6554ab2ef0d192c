/*
 * handover.c - keeps the agent's state while no thread of ours exists; see
 * agent.h.
 *
 * The descriptors of a thread's own table can only reach another table by
 * SCM_RIGHTS, and some socket must hold them while neither thread exists: one
 * in the host's table, abstract, with a name from the kernel.  Others can see
 * that name and send to it: the kernel drops messages without our key before
 * they fill the queue (a BPF filter), and only messages of this process are
 * accepted.  In a shared table the descriptors simply stay.
 */
#include "agent.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/filter.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "agent_protocol.h"
#include "shared_fds.h"

enum {
    FIRST_FDS = 5,
    BATCH = 128, /* descriptors of a message; the kernel allows 253 */
    /* The last 8 of AT_RANDOM's 16 bytes, glibc's pointer guard; the first are
     * the stack guard's. */
    KEY_AT = 8,
    KEY_WORDS = 2,
    SKIPPED_MAX = 4096 /* messages of others, before we give up */
};

/* A descriptor in the host's table; the host may close it and reuse the number,
 * so its file is noted. */
struct kept_fd {
    int fd;
    struct shared_fds_file file; /* zeroed: none */
};

/* Written by one thread, read by the next: they never exist at the same
 * time. */
static struct {
    struct sockaddr_un address;
    socklen_t address_size;
    uint32_t key[KEY_WORDS];      /* begins each message, in network order */
    struct kept_fd socket, guard; /* guard: the lock's, from other children */
    bool has_state;
    struct agent agent;
} kept;

union control {
    struct cmsghdr align;
    char bytes[CMSG_SPACE(BATCH * sizeof(int)) +
               CMSG_SPACE(sizeof(struct ucred))];
};

static bool
is_kept_fd_valid(const struct kept_fd *kept_fd)
{
    return shared_fds_file_is(kept_fd->fd, kept_fd->file);
}

/* fd (-1: none) gets another number where the host has closed one of 0-2. */
static void
store_kept_fd(struct kept_fd *kept_fd, int fd)
{
    kept_fd->fd = fd;
    if (fd >= 0 && fd <= STDERR_FILENO) {
        kept_fd->fd = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
        close(fd);
    }
    kept_fd->file = shared_fds_file_of(kept_fd->fd);
}

static void
close_kept_fd(struct kept_fd *kept_fd)
{
    if (is_kept_fd_valid(kept_fd))
        close(kept_fd->fd);
    kept_fd->file.inode = 0;
}

void
handover_close(void)
{
    close_kept_fd(&kept.socket);
    close_kept_fd(&kept.guard);
}

/* Holds the lock file beyond its first byte from the host's table, while no
 * thread of ours holds it.  fcntl locks are the process's: closing any
 * descriptor of the file drops them all, so only where the thread has a table
 * of its own. */
static void
guard_lock(const char *state_dir)
{
    struct flock others = {
        .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 1};
    char path[PATH_MAX];

    snprintf(path, sizeof(path), "%s/" AGENT_LOCK, state_dir);
    store_kept_fd(&kept.guard,
                  open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    fcntl(kept.guard.fd, F_SETLK, &others);
}

/* The key is random bytes that the kernel gave this program (AT_RANDOM).  Where
 * the filter cannot be set, a flood can fill the queue, and nothing is left. */
static void
filter_unkeyed_packets(int fd)
{
    const char *random = (const char *)getauxval(AT_RANDOM);
    uint32_t *key = kept.key;

    if (random)
        memcpy(key, random + KEY_AT, sizeof(kept.key));
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ntohl(key[0]), 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, sizeof(*key)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ntohl(key[1]), 0, 1),
        BPF_STMT(BPF_RET | BPF_K, sizeof(kept.key)),
        BPF_STMT(BPF_RET | BPF_K, 0), /* dropped */
    };
    struct sock_fprog filter = {sizeof(code) / sizeof(*code), code};

    (void)setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof(filter));
}

void
handover_open(const char *state_dir)
{
    const struct sockaddr_un any = {.sun_family = AF_UNIX};
    int on = 1, fd;

    if (is_kept_fd_valid(&kept.socket))
        return; /* the last thread is still on its way out */
    store_kept_fd(&kept.socket, socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    fd = kept.socket.fd;
    if (fd < 0)
        return;
    if (state_dir)
        guard_lock(state_dir);
    filter_unkeyed_packets(fd);
    kept.address_size = sizeof(kept.address);
    if (setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) != 0 ||
        bind(fd, (const struct sockaddr *)&any, sizeof(any.sun_family)) != 0 ||
        getsockname(fd, (struct sockaddr *)&kept.address, &kept.address_size) !=
            0)
        handover_close();
}

int
handover_socket(void)
{
    return is_kept_fd_valid(&kept.socket) ? kept.socket.fd : -1;
}

/* The place of the agent's n-th descriptor; NULL: there are no more. */
static int *
nth_agent_fd(struct agent *agent, size_t n)
{
    struct channel *channel = &agent->channel;
    int *const first[FIRST_FDS] = {&agent->null, &channel->listener,
                                   &channel->lock, &channel->directory,
                                   &channel->connection};

    if (n < FIRST_FDS)
        return first[n];
    n -= FIRST_FDS;
    return n < agent->files.count ? &agent->files.list[n].fd : NULL;
}

static bool
send_batch(int to, const int *fds, size_t count)
{
    struct iovec piece = {kept.key, sizeof(kept.key)};
    union control control = {.bytes = {0}};
    struct msghdr message = {.msg_name = &kept.address,
                             .msg_namelen = kept.address_size,
                             .msg_iov = &piece,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = CMSG_SPACE(count * sizeof(int))};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);

    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(count * sizeof(int));
    memcpy(CMSG_DATA(header), fds, count * sizeof(int));
    return sendmsg(to, &message, MSG_DONTWAIT | MSG_NOSIGNAL) > 0;
}

static bool
send_agent_fds(struct agent *agent)
{
    int to = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    int batch[BATCH], *fd;
    size_t used = 0;
    bool sent = to >= 0;

    for (size_t n = 0; sent && (fd = nth_agent_fd(agent, n)) != NULL; n++) {
        if (*fd >= 0)
            batch[used++] = *fd;
        if (used == BATCH) {
            sent = send_batch(to, batch, used);
            used = 0;
        }
    }
    sent = sent && (used == 0 || send_batch(to, batch, used));
    if (to >= 0)
        close(to);
    return sent;
}

bool
handover_leave(struct agent *agent)
{
    /* The socket is in the host's table, not in this one. */
    if (agent->own_table &&
        (kept.socket.file.inode == 0 || !send_agent_fds(agent)))
        return false;
    if (agent->stop_signalfd >= 0)
        close(agent->stop_signalfd);
    agent->stop_signalfd = -1;
    kept.agent = *agent;
    kept.has_state = true;
    /* The next thread locks the file again, maybe before this table is gone. */
    if (agent->own_table && agent->channel.lock >= 0)
        close(agent->channel.lock);
    return true;
}

bool
handover_restore_state(struct agent *agent)
{
    if (!kept.has_state)
        return false;
    kept.has_state = false;
    *agent = kept.agent;
    return true;
}

struct agent *
handover_take_abandoned(void)
{
    bool left = kept.has_state;

    kept.has_state = false;
    return left ? &kept.agent : NULL;
}

/* Reads one message: the number of its descriptors, 0 if it is not ours; -1:
 * there is none. */
static int
receive_message(int from, int *fds)
{
    char byte;
    struct iovec piece = {&byte, 1};
    union control control;
    struct msghdr message = {.msg_iov = &piece,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof(control)};
    struct ucred sender = {.pid = 0};
    struct cmsghdr *header;
    size_t count = 0;

    if (recvmsg(from, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) < 0)
        return -1;
    for (header = CMSG_FIRSTHDR(&message); header;
         header = CMSG_NXTHDR(&message, header)) {
        size_t size = header->cmsg_len - CMSG_LEN(0);

        if (header->cmsg_type == SCM_CREDENTIALS)
            memcpy(&sender, CMSG_DATA(header), sizeof(sender));
        if (header->cmsg_type != SCM_RIGHTS || size > BATCH * sizeof(int))
            continue;
        memcpy(fds, CMSG_DATA(header), size);
        count = size / sizeof(int);
    }
    if (sender.pid == getpid())
        return (int)count;
    for (size_t i = 0; i < count; i++)
        close(fds[i]);
    return 0;
}

/* The next message of this process; 0: there is none. */
static size_t
receive_batch(int from, int *fds)
{
    int count = 0;

    for (int i = 0; count == 0 && i < SKIPPED_MAX; i++)
        count = receive_message(from, fds);
    return count < 0 ? 0 : (size_t)count;
}

int
handover_restore_fds(struct agent *agent)
{
    struct flock first = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};
    int batch[BATCH], *fd;
    size_t count = 0, used = 0;

    /* Where the host has closed 0-2, none of ours may get these numbers. */
    for (int i = STDIN_FILENO; agent->own_table && i <= STDERR_FILENO; i++)
        dup2(handover_socket(), i);
    for (size_t n = 0;
         agent->own_table && (fd = nth_agent_fd(agent, n)) != NULL; n++) {
        if (*fd < 0)
            continue;
        if (used == count) {
            count = receive_batch(handover_socket(), batch);
            used = 0;
        }
        *fd = used < count ? batch[used++] : -1;
    }
    for (int i = STDIN_FILENO; agent->null >= 0 && i <= STDERR_FILENO; i++)
        dup2(agent->null, i);
    if (agent->null >= 0)
        close(agent->null);
    if (agent->own_table) {
        agent->null = STDIN_FILENO;
        close(handover_socket()); /* our table's copy has the same number */
    }
    if (agent->channel.listener < 0 || agent->channel.lock < 0)
        return EBADF;
    return fcntl(agent->channel.lock, F_SETLK, &first) == 0 ? 0 : errno;
}

void
handover_forget(void)
{
    kept.has_state = false;
    handover_close();
}
