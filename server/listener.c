/*
 * listener.c - see daemon.h.
 *
 * A listener is polled by main's libuv loop, but what it accepts belongs to the
 * sessions' loop: so main takes that loop's lock to accept, and accept4() is
 * called directly, as sessions are no handles of libuv.  A client that is
 * turned away gets an error that says why, even when no descriptor is left.
 * libuv closes handles in a later round; a listener that is to open again
 * (`reopens`) waits for that.
 */
#include "daemon.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "errors.h"
#include "files.h"
#include "log.h"
#include "reply.h"
#include "session.h"

/* A bound for one round: sessions that ended meanwhile are freed in between,
 * before the limit is reached. */
enum { ACCEPTS_PER_ITERATION = 16 };

static void poll_start(struct listener *l);

/* Goes before each line that the log has about this listener. */
static const char *
listener_log_prefix(const struct listener *l)
{
    return l->conversation->web ? "HTTP: " : "";
}

/* The kernel's buffer takes so short a message; otherwise it is not sent. */
static void
refuse_connection(const struct listener *l, int fd, const struct error *err)
{
    struct reply reply;

    reply_init(&reply);
    l->conversation->send_error(&reply, err);
    if (!reply.out.failed)
        (void)send(fd, reply.out.data, reply.out.size,
                   MSG_DONTWAIT | MSG_NOSIGNAL);
    reply_fini(&reply);
    fd_close(fd);
    log_ratelimited("refused a connection: %s", err->text);
}

static void
on_pause_over(uv_timer_t *timer)
{
    poll_start(timer->data);
}

/* Out of descriptors or memory: the kernel's queue holds new connections for a
 * while. */
static void
pause_accepting(struct listener *l, const char *why)
{
    log_ratelimited("accepts no connections for %d ms: %s", LISTENER_PAUSE_MS,
                    why);
    uv_poll_stop(&l->poll);
    uv_timer_start(&l->timer, on_pause_over, LISTENER_PAUSE_MS, 0);
}

/* When descriptors run out, one held in reserve accepts a client to tell it so;
 * it would otherwise hang in the kernel's queue.  False: nothing was accepted,
 * and errno says why. */
static bool
refuse_one_connection(struct listener *l)
{
    struct error err;
    int fd, why;

    fd_close(l->server->reserve);
    fd = accept4(l->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    why = errno;
    if (fd >= 0) {
        error_set(&err, ER_TOO_MANY_CONNECTIONS,
                  "Too many connections: heapwired has no descriptor left "
                  "(ulimit -Hn)");
        refuse_connection(l, fd, &err);
    }
    l->server->reserve = open("/dev/null", O_RDONLY | O_CLOEXEC);
    errno = why;
    return fd >= 0;
}

static void
accept_some(struct listener *l)
{
    struct error err;
    int fd;

    for (int i = 0; i < ACCEPTS_PER_ITERATION; i++) {
        fd = accept4(l->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0 && errno == EMFILE && refuse_one_connection(l))
            continue;
        if (fd < 0) {
            if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS ||
                errno == ENOMEM)
                pause_accepting(l, uv_strerror(uv_translate_sys_error(errno)));
            return; /* none left, or the client has gone */
        }
        if (!server_admit_connection(l->server, l->transport,
                                     l->conversation)) {
            error_set(&err, ER_TOO_MANY_CONNECTIONS, "Too many connections");
            refuse_connection(l, fd, &err);
        } else if (session_accept(l->server, fd, l->transport,
                                  l->conversation) != 0) {
            fd_close(fd);
            pause_accepting(l, "out of memory");
            return;
        }
    }
}

static void
on_connection(uv_poll_t *poll, int status, int events)
{
    struct listener *l = poll->data;

    (void)status;
    (void)events;
    loop_lock(&l->server->loop);
    accept_some(l);
    loop_unlock(&l->server->loop);
}

static void
poll_start(struct listener *l)
{
    uv_poll_start(&l->poll, UV_READABLE, on_connection);
}

static void
listener_init(struct listener *l, struct server *server,
              const struct conversation *conversation, enum transport transport)
{
    memset(l, 0, sizeof(*l));
    l->server = server;
    l->conversation = conversation;
    l->transport = transport;
    l->fd = -1;
    uv_timer_init(server->main, &l->timer);
    l->timer.data = l;
    l->handles = 1;
}

static int
serve_listener_socket(struct listener *l, int fd, struct error *err)
{
    int rc = listen(fd, LISTENER_BACKLOG);

    if (rc != 0) {
        error_sys(err, ER_UNKNOWN, "cannot listen");
        return -1;
    }
    rc = uv_poll_init(l->server->main, &l->poll, fd);
    if (rc != 0) {
        error_set(err, ER_UNKNOWN, "cannot watch a socket: %s",
                  uv_strerror(rc));
        return -1;
    }
    l->fd = fd;
    l->poll.data = l;
    l->polling = true;
    l->handles++;
    poll_start(l);
    return 0;
}

static void
reopen_listener(struct listener *l, const struct config_address *address)
{
    char path[sizeof(l->path)];
    struct error err;

    if (l->transport == TRANSPORT_TCP) {
        listener_open_tcp(l, l->server, l->conversation, address);
        return;
    }
    /* listener_init() clears it, and a failed attempt must leave it for the
     * next. */
    memcpy(path, l->path, sizeof(path));
    if (listener_open_local(l, l->server, l->conversation, path, &err) != 0)
        log_ratelimited("%s: tried again", err.text);
    memcpy(l->path, path, sizeof(path));
}

static void
on_listener_handle_closed(uv_handle_t *handle)
{
    struct listener *l = handle->data;
    struct config_address address = l->address;

    if (--l->handles == 0 && l->reopens)
        reopen_listener(l, &address);
}

/* ---- unix ---- */

static bool
is_socket_served(const struct sockaddr_un *name)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    /* EAGAIN: the queue of whoever listens there is full. */
    bool served = fd >= 0 && (connect(fd, (const struct sockaddr *)name,
                                      sizeof(*name)) == 0 ||
                              errno == EAGAIN);

    fd_close(fd);
    return served;
}

/* Removes a socket without a listener, left by an earlier heapwired. */
static int
remove_stale(const struct sockaddr_un *name, struct error *err)
{
    struct stat st;

    if (lstat(name->sun_path, &st) != 0) {
        if (errno == ENOENT)
            return 0;
        error_sys(err, ER_UNKNOWN, "cannot examine %s", name->sun_path);
        return -1;
    }
    if (!S_ISSOCK(st.st_mode)) {
        error_set(err, ER_UNKNOWN, "%s exists and is not a socket",
                  name->sun_path);
        return -1;
    }
    if (is_socket_served(name)) {
        error_set(err, ER_UNKNOWN, "another server listens on %s",
                  name->sun_path);
        return -1;
    }
    if (unlink(name->sun_path) != 0) {
        error_sys(err, ER_UNKNOWN, "cannot remove the old %s", name->sun_path);
        return -1;
    }
    return 0;
}

int
listener_open_local(struct listener *l, struct server *server,
                    const struct conversation *conversation, const char *path,
                    struct error *err)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    struct stat st;
    int fd;

    listener_init(l, server, conversation, TRANSPORT_LOCAL);
    snprintf(name.sun_path, sizeof(name.sun_path), "%s", path);
    if (remove_stale(&name, err) != 0)
        return -1;
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) {
        error_sys(err, ER_UNKNOWN, "cannot make a socket");
        return -1;
    }
    /* On Linux bind() gives the file the socket's mode; umask() would change it
     * for all threads. */
    if (fchmod(fd, 0600) != 0 ||
        bind(fd, (struct sockaddr *)&name, sizeof(name)) != 0 ||
        lstat(path, &st) != 0) {
        error_sys(err, ER_UNKNOWN, "cannot bind %s", path);
        fd_close(fd);
        return -1;
    }
    snprintf(l->path, sizeof(l->path), "%s", path);
    l->device = st.st_dev;
    l->inode = st.st_ino;
    if (serve_listener_socket(l, fd, err) != 0) {
        fd_close(fd);
        return -1;
    }
    log_line("%slistening on %s", listener_log_prefix(l), path);
    return 0;
}

int
listener_chown(const struct listener *l, uid_t uid, gid_t gid,
               struct error *err)
{
    if (!*l->path || lchown(l->path, uid, gid) == 0)
        return 0;
    error_sys(err, ER_UNKNOWN, "cannot give %s to uid %u", l->path,
              (unsigned)uid);
    return -1;
}

/* ---- TCP ---- */

static socklen_t
socket_address(const struct config_address *from,
               struct sockaddr_storage *address)
{
    struct sockaddr_in *v4 = (struct sockaddr_in *)address;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)address;

    memset(address, 0, sizeof(*address));
    if (inet_pton(AF_INET, from->text, &v4->sin_addr) == 1) {
        v4->sin_family = AF_INET;
        v4->sin_port = htons(from->port);
        return sizeof(*v4);
    }
    inet_pton(AF_INET6, from->text, &v6->sin6_addr); /* config.c checked it */
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(from->port);
    return sizeof(*v6);
}

/* Stores the port that the kernel chose, if the port was 0. */
static void
note_port(struct listener *l)
{
    struct sockaddr_storage address;
    socklen_t size = sizeof(address);

    memset(&address, 0, sizeof(address));
    if (getsockname(l->fd, (struct sockaddr *)&address, &size) != 0)
        return;
    if (address.ss_family == AF_INET)
        l->address.port = ntohs(((struct sockaddr_in *)&address)->sin_port);
    else
        l->address.port = ntohs(((struct sockaddr_in6 *)&address)->sin6_port);
    if (!l->conversation->web)
        l->server->node.port = l->address.port;
}

/* Set once, on the listening socket: accepted ones inherit them.  After
 * LISTENER_KEEPALIVE_S of silence ten probes are sent, a second apart, so that
 * a vanished client is noticed. */
static int
set_tcp_options(int fd)
{
    int yes = 1, idle_s = LISTENER_KEEPALIVE_S, interval_s = 1, probes = 10;

    return setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) ||
                   setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes,
                              sizeof(yes)) ||
                   setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &yes,
                              sizeof(yes)) ||
                   setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s,
                              sizeof(idle_s)) ||
                   setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval_s,
                              sizeof(interval_s)) ||
                   setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes,
                              sizeof(probes))
               ? -1
               : 0;
}

static int
bind_tcp(struct listener *l, struct error *err)
{
    struct sockaddr_storage address;
    socklen_t size = socket_address(&l->address, &address);
    int fd;

    fd = socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
                0);
    if (fd < 0) {
        error_sys(err, ER_UNKNOWN, "no socket");
        return -1;
    }
    if (set_tcp_options(fd) != 0 ||
        bind(fd, (struct sockaddr *)&address, size) != 0) {
        error_sys(err, ER_UNKNOWN, "bind");
        fd_close(fd);
        return -1;
    }
    if (serve_listener_socket(l, fd, err) != 0) {
        fd_close(fd);
        return -1;
    }
    note_port(l);
    return 0;
}

static void
try_tcp(uv_timer_t *timer)
{
    struct listener *l = timer->data;
    char text[CONFIG_ADDRESS_TEXT];
    struct error err;

    config_address_text(&l->address, text, sizeof(text));
    if (bind_tcp(l, &err) == 0) {
        config_address_text(&l->address, text, sizeof(text));
        log_line("%slistening on %s", listener_log_prefix(l), text);
        return;
    }
    /* Of failures one after the other only the first is logged. */
    if (l->retry_ms == 0)
        log_fault("%scannot listen on %s (%s): stop the program that has that "
                  "port, or set %s to another, or to none; until then "
                  "heapwired tries again, and serves the unix socket",
                  listener_log_prefix(l), text, err.text,
                  l->conversation->web ? "http" : "listen");
    l->retry_ms = l->retry_ms ? 2 * l->retry_ms : LISTENER_RETRY_MS;
    if (l->retry_ms > LISTENER_RETRY_MAX_MS)
        l->retry_ms = LISTENER_RETRY_MAX_MS;
    uv_timer_start(&l->timer, try_tcp, l->retry_ms, 0);
}

void
listener_open_tcp(struct listener *l, struct server *server,
                  const struct conversation *conversation,
                  const struct config_address *address)
{
    if (l->handles > 0) {
        l->reopens = true;
        l->address = *address;
        return;
    }
    listener_init(l, server, conversation, TRANSPORT_TCP);
    l->address = *address;
    try_tcp(&l->timer);
}

void
listener_renew(struct listener *l)
{
    struct stat st;

    if (!listener_is_open(l) || l->reopens ||
        (l->polling && (lstat(l->path, &st) == 0 || errno != ENOENT)))
        return;
    log_line("%s was deleted: makes it again", l->path);
    listener_close(l);
    l->reopens = true;
}

bool
listener_is_open(const struct listener *l)
{
    return l->reopens ||
           (l->handles > 0 && !uv_is_closing((const uv_handle_t *)&l->timer));
}

void
listener_close(struct listener *l)
{
    struct stat st;

    l->reopens = false;
    /* Closed already, or not yet opened: a zeroed listener is fine. */
    if (l->handles == 0 || uv_is_closing((uv_handle_t *)&l->timer))
        return;
    uv_close((uv_handle_t *)&l->timer, on_listener_handle_closed);
    if (l->polling)
        uv_close((uv_handle_t *)&l->poll, on_listener_handle_closed);
    l->polling = false;
    fd_close(l->fd);
    l->fd = -1;
    if (*l->path && lstat(l->path, &st) == 0 && st.st_dev == l->device &&
        st.st_ino == l->inode) /* and not a new one of the same name */
        (void)unlink(l->path);
}
