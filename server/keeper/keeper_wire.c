/*
 * keeper_wire.c - see keeper_wire.h.
 *
 * The configuration is sent as its structs are in memory, since both ends are
 * one executable: what must not be sent is overwritten in a copy.  Every wait
 * polls with a deadline for the whole message, so a keeper that sends byte by
 * byte is late, too.
 */
#include "keeper_wire.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include <openssl/crypto.h>

#include "clock.h"
#include "config.h"
#include "errors.h"
#include "memory.h"
#include "auth.h"

_Static_assert(sizeof(struct config) +
                       (size_t)PEERS_MAX * sizeof(struct config_peer) +
                       (size_t)USERS_MAX * sizeof(struct user) + 64 <=
                   KEEPER_ANSWER_MAX,
               "any configuration is one answer");

/* ---- messages ---- */

/* Waits until the socket can be written or read.  -1 with errno, ETIMEDOUT when
 * the deadline has passed.  UINT64_MAX: none. */
static int
wait_for_message_socket(int fd, short events, uint64_t deadline_ms)
{
    struct pollfd poll_fd = {.fd = fd, .events = events};
    uint64_t now = clock_ms();
    int left = -1, rc;

    if (deadline_ms != UINT64_MAX)
        left = now < deadline_ms ? (int)(deadline_ms - now) : 0;
    rc = poll(&poll_fd, 1, left);
    if (rc > 0 || (rc < 0 && errno == EINTR))
        return 0;
    if (rc == 0)
        errno = ETIMEDOUT;
    return -1;
}

static int
send_message_bytes(int fd, const void *data, size_t size, uint64_t deadline_ms)
{
    const char *at = data;

    while (size > 0) {
        ssize_t n = send(fd, at, size, MSG_DONTWAIT | MSG_NOSIGNAL);

        if (n < 0 && errno != EAGAIN && errno != EINTR)
            return -1;
        if (n < 0 && wait_for_message_socket(fd, POLLOUT, deadline_ms) != 0)
            return -1;
        if (n > 0) {
            at += n;
            size -= (size_t)n;
        }
    }
    return 0;
}

static int
receive_all(int fd, void *data, size_t size, uint64_t deadline_ms)
{
    char *at = data;

    while (size > 0) {
        ssize_t n = recv(fd, at, size, MSG_DONTWAIT);

        if (n == 0)
            errno = EPIPE;
        if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
            return -1;
        if (n < 0 && wait_for_message_socket(fd, POLLIN, deadline_ms) != 0)
            return -1;
        if (n > 0) {
            at += n;
            size -= (size_t)n;
        }
    }
    return 0;
}

int
keeper_send(int fd, const struct buffer *message, int timeout_ms)
{
    uint64_t deadline_ms = clock_ms() + (uint64_t)timeout_ms;
    uint32_t size = (uint32_t)message->size;

    if (message->failed) {
        errno = ENOMEM;
        return -1;
    }
    if (send_message_bytes(fd, &size, sizeof(size), deadline_ms) != 0)
        return -1;
    return send_message_bytes(fd, message->data, message->size, deadline_ms);
}

/* Reads and drops a message for which there is no memory, so that the next one
 * begins where it should.  Always -1, with ENOMEM. */
static int
skip_message_bytes(int fd, size_t size, uint64_t deadline_ms)
{
    char bytes[1024];

    for (size_t part; size > 0; size -= part) {
        part = size < sizeof(bytes) ? size : sizeof(bytes);
        if (receive_all(fd, bytes, part, deadline_ms) != 0)
            return -1;
    }
    OPENSSL_cleanse(bytes, sizeof(bytes));
    errno = ENOMEM;
    return -1;
}

/* Reserves all of it at once: growing would leave copies that nobody wipes. */
int
keeper_receive(int fd, struct buffer *message, int timeout_ms)
{
    uint64_t deadline_ms =
        timeout_ms < 0 ? UINT64_MAX : clock_ms() + (uint64_t)timeout_ms;
    uint32_t size;
    char *room;

    if (receive_all(fd, &size, sizeof(size), deadline_ms) != 0)
        return -1;
    /* The sender has begun, so the rest is due. */
    if (timeout_ms < 0)
        deadline_ms = clock_ms() + KEEPER_ANSWER_MS;
    if (size > message->max) {
        errno = EMSGSIZE;
        return -1;
    }
    room = buffer_reserve(message, size);
    if (!room)
        return skip_message_bytes(fd, size, deadline_ms);
    if (receive_all(fd, room, size, deadline_ms) != 0)
        return -1;
    buffer_claim(message, size);
    return 0;
}

/* ---- the configuration ---- */

static void
redact_secret_text(char *text, size_t size)
{
    static const char word[] = "(not shown)";
    bool given = *text != '\0';

    OPENSSL_cleanse(text, size);
    if (given)
        memcpy(text, word, sizeof(word));
}

/* Copies field by field: a new secret in struct user stays behind unless it is
 * named here. */
static struct user
redacted_user(const struct user *user)
{
    struct user out;

    memset(&out, 0, sizeof(out));
    memcpy(out.name, user->name, strlen(user->name));
    out.verifier.has_native = user->verifier.has_native;
    out.verifier.is_token = user->verifier.is_token;
    out.privileges = user->privileges;
    out.max_connections = user->max_connections;
    return out;
}

void
keeper_put_config(struct buffer *out, const struct config *config)
{
    struct config c;
    struct user user;

    memcpy(&c, config, sizeof(c));
    redact_secret_text(c.cluster.secret, sizeof(c.cluster.secret));
    redact_secret_text(c.cluster.etcd.password,
                       sizeof(c.cluster.etcd.password));
    /* Pointers of this process mean nothing in the other. */
    c.users = NULL;
    c.cluster.peers = NULL;
    c.cluster.peer_capacity = c.cluster.peer_count;
    buffer_add(out, &c, sizeof(c));
    if (c.cluster.peer_count > 0)
        buffer_add(out, config->cluster.peers,
                   c.cluster.peer_count * sizeof(struct config_peer));
    buffer_u32(out, (uint32_t)users_count(config->users));
    for (size_t i = 0; i < users_count(config->users); i++) {
        user = redacted_user(users_at(config->users, i));
        buffer_add(out, &user, sizeof(user));
    }
}

static int
read_peers(struct reader *in, struct config *config, struct error *err)
{
    struct config_cluster *cluster = &config->cluster;
    size_t count = cluster->peer_count;
    struct span bytes = {"", 0};

    cluster->peers = NULL;
    /* Cleared before anything can fail, for config_fini(). */
    cluster->peer_count = cluster->peer_capacity = 0;
    if (count <= PEERS_MAX)
        bytes = reader_bytes(in, count * sizeof(*cluster->peers));
    if (count == 0 || bytes.size == 0)
        return 0;
    cluster->peers = mem_alloc(bytes.size);
    if (!cluster->peers) {
        error_memory(err, "the peers");
        return -1;
    }
    memcpy(cluster->peers, bytes.data, bytes.size);
    cluster->peer_count = cluster->peer_capacity = count;
    return 0;
}

static int
read_users(struct reader *in, struct config *config, struct error *err)
{
    uint32_t count = reader_u32(in);
    struct user user;

    config->users = users_new(err);
    if (!config->users)
        return -1;
    for (uint32_t i = 0; i < count && !in->failed; i++) {
        struct span bytes = reader_bytes(in, sizeof(user));

        if (bytes.size != sizeof(user))
            break;
        memcpy(&user, bytes.data, sizeof(user));
        if (users_add(config->users, &user, err) != 0)
            return -1;
    }
    return 0;
}

int
keeper_read_config(struct reader *in, struct config *config, struct error *err)
{
    struct span bytes = reader_bytes(in, sizeof(*config));

    if (bytes.size == sizeof(*config))
        memcpy(config, bytes.data, sizeof(*config));
    config->users = NULL;
    if (read_peers(in, config, err) != 0 || read_users(in, config, err) != 0)
        return -1;
    if (reader_done(in))
        return 0;
    error_set(err, ER_UNKNOWN, "%s sends a malformed configuration",
              KEEPER_NAME);
    return -1;
}
