/*
 * agent_client.c - see agent_client.h.
 *
 * The other end is a thread in a database that may be stopped, swapping or
 * killed at any byte, so no call may block longer than its deadline, and
 * nothing that it sends is trusted: sizes, protocol, texts and descriptors are
 * checked.  A request past its deadline stays outstanding (late_id): its answer
 * must be read before another is sent, or answers would be taken for others'.
 *
 * States: ABSENT -> CONNECTED <-> UNRESPONSIVE, and GONE once the process that
 * answered has ended.
 */
#include "agent_client.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "leave_reason.h"
#include "clock.h"
#include "errors.h"
#include "files.h"
#include "node_status.h"
#include "process_stat.h"

enum {
    REPLY_MS = 4000,   /* for all but requests that takes_long() */
    DUMP_MS = 60000,   /* for requests that takes_long(), while it runs */
    STOPPED_MS = 4000, /* for the same, while a signal has stopped it */
    SLICE_MS = 250,    /* between looks at client->stop */
    PATH_SHOWN = 80
};

void
agent_client_init(struct agent_client *client, const char *state_dir,
                  int wake_fd, const atomic_bool *stop)
{
    *client = (struct agent_client){
        .state_dir = state_dir, .wake_fd = wake_fd, .stop = stop, .fd = -1};
    client->status.since_ms = clock_wall_ms();
}

void
agent_client_fini(struct agent_client *client)
{
    fd_close(client->fd);
    client->fd = -1;
}

void
agent_client_answer_close(struct agent_client_answer *answer)
{
    for (int i = 0; i < AGENT_FDS_MAX; i++) {
        fd_close(answer->fds[i]);
        answer->fds[i] = -1;
    }
}

static void
enter_node_state(struct agent_client *client, enum node_state state)
{
    if (client->status.state != state) {
        client->status.state = state;
        client->status.since_ms = clock_wall_ms();
    }
    client->status.stopped = false;
    client->status.ending[0] = '\0';
}

/* False: it has ended (a zombie has, and so has one that is exiting), or cannot
 * be seen from here. */
static bool
read_living_peer(const struct agent_client *client, struct process_stat *out)
{
    return client->peer != 0 && process_stat_read(client->peer, out) &&
           !process_stat_is_over(out) && !out->exiting;
}

/* The state letter of the greeted process in /proc/<pid>/stat, or 0: not there,
 * or its pid was reused. */
static char
process_state(const struct agent_client *client)
{
    struct process_stat stat;

    if (!read_living_peer(client, &stat) ||
        stat.start_ticks != client->status.hello.start_ticks)
        return 0;
    return stat.state;
}

bool
agent_client_is_stopped(const struct agent_client *client)
{
    char state = process_state(client);

    return state == 'T' || state == 't';
}

/* Looks up here whether it is stopped: readers only see the status. */
static void
enter_unresponsive(struct agent_client *client)
{
    enter_node_state(client, NODE_UNRESPONSIVE);
    client->status.stopped = agent_client_is_stopped(client);
}

/* Only a greeted process can have ended. */
static bool
process_ended(const struct agent_client *client)
{
    return client->status.hello.pid != 0 && process_state(client) == 0;
}

static void
disconnect_agent(struct agent_client *client)
{
    fd_close(client->fd);
    client->fd = -1;
    client->late_id = 0;
    if (client->status.state != NODE_ABSENT &&
        client->status.state != NODE_GONE) {
        enter_node_state(client,
                         process_ended(client) ? NODE_GONE : NODE_ABSENT);
        client->status.note[0] = '\0';
    }
}

static void
apply_leave_reason(struct agent_client *client)
{
    struct node_status *status = &client->status;

    if (status->state == NODE_GONE ||
        (status->state == NODE_ABSENT &&
         (!*status->note || client->note_is_leave_reason)))
        client->note_is_leave_reason =
            leave_reason_read(client->state_dir, status->hello.pid,
                              client->peer, status->note, sizeof(status->note));
    if (client->note_is_leave_reason &&
        status->state == NODE_GONE) /* its process lives on */
        enter_node_state(client, NODE_ABSENT);
}

static int
open_socket(const char *state_dir)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int size, fd;

    size = snprintf(address.sun_path, sizeof(address.sun_path), "%s/%s",
                    state_dir, AGENT_SOCKET);
    if (size < 0 || (size_t)size >= sizeof(address.sun_path))
        return -1;
    fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -1;
    if (connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0) {
        fd_close(fd);
        return -1;
    }
    return fd;
}

/* False: /proc is of another pid namespace, where our numbers mean others. */
static bool
is_own_pid_namespace(void)
{
    char self[16] = "";
    ssize_t n = readlink("/proc/self", self, sizeof(self) - 1);

    return n > 0 && strtol(self, NULL, 10) == getpid();
}

/* The agent reports the pid in its own namespace; the kernel gives the one in
 * ours. */
static pid_t
peer_of(int fd)
{
    struct ucred peer;
    socklen_t size = sizeof(peer);

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 ||
        !is_own_pid_namespace())
        return 0;
    return peer.pid;
}

/* Puts a message's descriptors into the answer; closes what is too many. */
static void
collect_reply_fds(struct msghdr *message, struct agent_client_answer *answer)
{
    int taken = 0;

    for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c;
         c = CMSG_NXTHDR(message, c)) {
        size_t count;

        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
            continue;
        count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < count; i++) {
            int fd;

            memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
            if (taken < AGENT_FDS_MAX)
                answer->fds[taken++] = fd;
            else
                fd_close(fd);
        }
    }
}

/* The agent's memory is the database's: it may have overwritten a NUL. */
static void
terminate_texts(struct agent_reply *reply)
{
    struct agent_hello *hello = &reply->hello;

    reply->text[sizeof(reply->text) - 1] = '\0';
    hello->boot_id[sizeof(hello->boot_id) - 1] = '\0';
    hello->exe[sizeof(hello->exe) - 1] = '\0';
    hello->mallctl[sizeof(hello->mallctl) - 1] = '\0';
    hello->version[sizeof(hello->version) - 1] = '\0';
    hello->malloc_conf_name[sizeof(hello->malloc_conf_name) - 1] = '\0';
}

/* 1: a reply; 0: none yet; -1: the connection is over, or the packet is not a
 * reply; answer->reply.protocol is then the other end's, where it said so. */
static int
receive_agent_reply(int fd, struct agent_client_answer *answer)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(int) * AGENT_FDS_MAX)];
    } control;
    struct iovec part = {&answer->reply, sizeof(answer->reply)};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof(control.bytes)};
    ssize_t size;

    for (int i = 0; i < AGENT_FDS_MAX; i++)
        answer->fds[i] = -1;
    answer->reply.protocol = 0;
    size = recvmsg(fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC | MSG_TRUNC);
    if (size < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (size >= 0) /* an empty packet carries descriptors, too */
        collect_reply_fds(&message, answer);
    if (size != (ssize_t)sizeof(answer->reply) ||
        answer->reply.protocol != AGENT_PROTOCOL) {
        agent_client_answer_close(answer);
        return -1;
    }
    terminate_texts(&answer->reply);
    return 1;
}

static bool
is_controller_ending(const struct agent_client *client)
{
    return atomic_load_explicit(client->stop, memory_order_acquire);
}

/* 1: the reply to id; 0: not before the deadline; -1: the connection ended, or
 * the agent sent an answer without a question. */
static int
receive_reply_until(struct agent_client *client, uint64_t id, uint64_t deadline,
                    struct agent_client_answer *answer)
{
    struct pollfd polls[2] = {{client->fd, POLLIN, 0},
                              {client->wake_fd, POLLIN, 0}};
    uint64_t now;
    int got, wait;

    for (;;) {
        got = receive_agent_reply(client->fd, answer);
        if (got < 0)
            return -1;
        if (got > 0 && answer->reply.id == id)
            return 1;
        if (got > 0) {
            agent_client_answer_close(answer);
            return -1;
        }
        now = clock_ms();
        if (now >= deadline || is_controller_ending(client))
            return 0;
        wait = (int)(deadline - now < SLICE_MS ? deadline - now : SLICE_MS);
        poll(polls, 2, wait);
        if (polls[1].revents) /* meant for the greeter, who reads it */
            polls[1].fd = -1;
    }
}

static int
handle_connection_end(struct agent_client *client, struct error *err)
{
    disconnect_agent(client);
    if (client->status.state == NODE_GONE)
        node_status_check(&client->status, err);
    else
        error_set(err, ER_UNKNOWN,
                  "the agent in %s (pid %d) closed the connection or sent an "
                  "invalid answer; heapwired connects again",
                  client->status.hello.exe, client->status.hello.pid);
    return -1;
}

static bool
takes_long(const struct agent_request *request)
{
    return request->op == AGENT_DUMP || request->op == AGENT_LEVER ||
           request->op == AGENT_SMAPS;
}

/* A dump, a purge or a walk through all pages may take long, but it ends early
 * if the whole process is stopped, since it will not go on by itself. */
static int
await_reply(struct agent_client *client, const struct agent_request *request,
            struct agent_client_answer *answer)
{
    uint64_t start = clock_ms();
    int got;

    if (!takes_long(request))
        return receive_reply_until(client, request->id, start + REPLY_MS,
                                   answer);
    got = receive_reply_until(client, request->id, start + STOPPED_MS, answer);
    while (got == 0 && clock_ms() < start + DUMP_MS &&
           !agent_client_is_stopped(client) && !is_controller_ending(client))
        got = receive_reply_until(client, request->id, clock_ms() + SLICE_MS,
                                  answer);
    return got;
}

/* fd: a descriptor to pass with it, or -1. */
static ssize_t
send_request(int to, struct agent_request *request, int fd)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {.bytes = {0}};
    struct iovec part = {request, sizeof(*request)};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    struct cmsghdr *header;

    if (fd >= 0) {
        message.msg_control = control.bytes;
        message.msg_controllen = sizeof(control.bytes);
        header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof(fd));
        memcpy(CMSG_DATA(header), &fd, sizeof(fd));
    }
    return sendmsg(to, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static int
exchange_with_agent(struct agent_client *client,
                    const struct agent_request *wanted, int fd,
                    struct agent_client_answer *answer, struct error *err)
{
    struct agent_request request = *wanted;
    ssize_t sent;

    request.protocol = AGENT_PROTOCOL;
    request.id = ++client->last_id;
    sent = send_request(client->fd, &request, fd);
    if (sent != (ssize_t)sizeof(request))
        return handle_connection_end(client, err);
    switch (await_reply(client, &request, answer)) {
    case 1:
        enter_node_state(client, NODE_CONNECTED);
        return 0;
    case 0:
        client->late_id = request.id;
        enter_unresponsive(client);
        node_status_check(&client->status, err);
        return -1;
    default:
        return handle_connection_end(client, err);
    }
}

bool
agent_client_same_incarnation(const struct agent_hello *a,
                              const struct agent_hello *b)
{
    return a->pid == b->pid && a->start_ticks == b->start_ticks &&
           strcmp(a->boot_id, b->boot_id) == 0;
}

/* Notes why an agent cannot be served: one of another protocol says its own;
 * the first version hung up. */
static void
set_protocol_mismatch_note(struct agent_client *client, uint32_t protocol)
{
    char link[64], exe[PATH_SHOWN] = "the database";
    char *out = client->status.note;
    size_t size = sizeof(client->status.note);
    bool newer = protocol > AGENT_PROTOCOL;
    ssize_t n = -1;

    snprintf(link, sizeof(link), "/proc/%d/exe", (int)client->peer);
    if (client->peer != 0)
        n = readlink(link, exe, sizeof(exe) - 1);
    if (n > 0)
        exe[n] = '\0';
    if (client->status.state == NODE_GONE)
        enter_node_state(client, NODE_ABSENT);
    if (protocol != 0 && protocol != AGENT_PROTOCOL)
        snprintf(out, size,
                 "the agent in %s (pid %d) speaks protocol %u, of %s heapwire, "
                 "and this heapwired %d: restart %s",
                 exe, (int)client->peer, protocol,
                 newer ? "a newer" : "an older", AGENT_PROTOCOL,
                 newer ? "heapwired" : "the database");
    else
        snprintf(out, size,
                 "the agent in %s (pid %d) closes the connection at the "
                 "greeting: it is of an older heapwire, or refuses this user; "
                 "restart the database to load the new one",
                 exe, (int)client->peer);
}

/* A killed process may accept connections until its last thread has ended. */
static bool
is_peer_ending(const struct agent_client *client)
{
    struct process_stat stat;

    return client->peer != 0 && !read_living_peer(client, &stat);
}

/* Greets; true when another incarnation answered. */
static bool
greet_agent_process(struct agent_client *client)
{
    struct agent_request request = {
        .op = AGENT_HELLO, .number = 1, .seconds = client->guard_s};
    bool served = client->status.state == NODE_CONNECTED;
    struct agent_client_answer answer = {.reply = {.protocol = 0}};
    bool changed;

    if (exchange_with_agent(client, &request, -1, &answer, NULL) != 0) {
        /* Only a second hang-up is a sign: it may end, or make way for its
         * host. */
        if (client->fd < 0 && !served && !is_controller_ending(client) &&
            (answer.reply.protocol != 0 ||
             client->hung_up_peer == client->peer) &&
            !is_peer_ending(client))
            set_protocol_mismatch_note(client, answer.reply.protocol);
        client->hung_up_peer = client->peer;
        return false;
    }
    agent_client_answer_close(&answer);
    if (answer.reply.status != AGENT_OK) {
        disconnect_agent(client);
        return false;
    }
    changed = !agent_client_same_incarnation(&client->status.hello,
                                             &answer.reply.hello);
    if (answer.reply.hello.active)
        client->status.replaced_ms = 0;
    else if (changed && client->status.hello.active)
        client->status.replaced_ms = clock_wall_ms();
    client->status.hello = answer.reply.hello;
    if (changed) {
        memset(&client->memory, 0, sizeof(client->memory));
        memset(&client->waste, 0, sizeof(client->waste));
        memset(client->status.levers, 0, sizeof(client->status.levers));
        client->status.restarted =
            node_status_restarted(client->state_dir, &client->status.hello);
    }
    /* A greeting's reply has these in value and error (agent_protocol.h). */
    client->status.unguarded_ms = (int64_t)answer.reply.value;
    client->status.knows = (uint32_t)answer.reply.error;
    memcpy(client->status.note, answer.reply.text, sizeof(client->status.note));
    return changed;
}

bool
agent_client_refresh(struct agent_client *client)
{
    struct agent_client_answer answer;
    int got;

    if (client->fd < 0) {
        client->fd = open_socket(client->state_dir);
        if (client->fd < 0) {
            if (client->status.state != NODE_ABSENT)
                client->status.note[0] = '\0';
            if (client->status.state == NODE_ABSENT &&
                !client->note_is_leave_reason && process_ended(client))
                enter_node_state(client, NODE_GONE);
            node_status_check_deaths(client->state_dir, &client->status);
            apply_leave_reason(client);
            return false;
        }
        client->peer = client->status.peer = peer_of(client->fd);
        client->note_is_leave_reason = false;
        client->levers_seen = false;
    }
    if (client->late_id) {
        got = receive_agent_reply(client->fd, &answer);
        if (got == 0) {
            enter_unresponsive(client);
            return false;
        }
        if (got > 0)
            agent_client_answer_close(&answer);
        if (got < 0 || answer.reply.id != client->late_id) {
            disconnect_agent(client);
            return false;
        }
        client->late_id = 0;
    }
    return greet_agent_process(client);
}

int
agent_client_call(struct agent_client *client,
                  const struct agent_request *request,
                  struct agent_client_answer *answer, struct error *err)
{
    return agent_client_call_with_fd(client, request, -1, answer, err);
}

int
agent_client_call_with_fd(struct agent_client *client,
                          const struct agent_request *request, int fd,
                          struct agent_client_answer *answer, struct error *err)
{
    struct agent_reply *reply = &answer->reply;

    for (int i = 0; i < AGENT_FDS_MAX; i++)
        answer->fds[i] = -1;
    if (node_status_check(&client->status, err) != 0)
        return -1;
    if (client->fd < 0)
        return handle_connection_end(client, err);
    if (exchange_with_agent(client, request, fd, answer, err) != 0)
        return -1;
    if (reply->status == AGENT_OK)
        return 0;
    agent_client_answer_close(answer);
    error_set(err, ER_UNKNOWN, "the agent in %s (pid %d) reports: %s",
              client->status.hello.exe, client->status.hello.pid,
              reply->text[0] ? reply->text : "failure without a reason");
    return -1;
}

/* Whether it is a regular file of the state directory's file system, which the
 * agent uses where memfd_create is forbidden.  Any other file without seals
 * could be a pipe, on which a read blocks for ever. */
static bool
is_state_dir_file(const char *directory, int fd)
{
    struct stat file, ours;

    return fstat(fd, &file) == 0 && S_ISREG(file.st_mode) &&
           stat(directory, &ours) == 0 && file.st_dev == ours.st_dev;
}

int
agent_client_read_memory(const struct agent_client *client, int fd,
                         struct buffer *out, const char *what,
                         struct error *err)
{
    if (fd < 0 || (fcntl(fd, F_GET_SEALS) < 0 &&
                   !is_state_dir_file(client->state_dir, fd))) {
        error_set(err, ER_UNKNOWN, "the agent sent no file in memory with %s",
                  what);
        return -1;
    }
    return fd_read_all(fd, out, what, err);
}

bool
agent_client_input_pending(const struct agent_client *client)
{
    struct pollfd input = {client->fd, POLLIN, 0};

    return client->fd >= 0 && poll(&input, 1, 0) > 0;
}
