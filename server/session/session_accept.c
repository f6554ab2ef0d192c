/*
 * session_accept.c - begins a session: the client's address, and the greeting.
 * Called on main's thread with the sessions' lock; from then on the loop has
 * it.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "memory.h"
#include "server_counts.h"
#include "session.h"

static void
peer_address(struct session *s, int fd, char *host, size_t size)
{
    struct sockaddr_storage address;
    const struct sockaddr *a = (const struct sockaddr *)&address;
    socklen_t length = sizeof(address);
    char text[INET6_ADDRSTRLEN] = "?";
    unsigned port = 0;

    memset(&address, 0, sizeof(address));
    if (getpeername(fd, (struct sockaddr *)&address, &length) == 0) {
        if (a->sa_family == AF_INET)
            port = ((const struct sockaddr_in *)a)->sin_port;
        else
            port = ((const struct sockaddr_in6 *)a)->sin6_port;
        inet_ntop(a->sa_family,
                  a->sa_family == AF_INET
                      ? (const void *)&((const struct sockaddr_in *)a)->sin_addr
                      : &((const struct sockaddr_in6 *)a)->sin6_addr,
                  text, sizeof(text));
        s->address_key = backoff_key(a);
    }
    snprintf(s->who.host, sizeof(s->who.host), "%s", text);
    snprintf(host, size, "%s:%u", text, ntohs((uint16_t)port));
}

/* Fills in the client's address, or on the unix socket its uid. */
static int
find_client(struct session *s, int fd, char *host, size_t size)
{
    struct ucred peer;
    socklen_t length = sizeof(peer);

    snprintf(s->who.host, sizeof(s->who.host), "localhost");
    snprintf(host, size, "localhost");
    if (s->transport == TRANSPORT_TCP) {
        peer_address(s, fd, host, size);
        return 0;
    }
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0)
        return -1;
    s->peer_uid = peer.uid;
    return 0;
}

int
session_accept(struct server *server, int fd, enum transport transport,
               const struct conversation *conversation)
{
    struct session *s = mem_zalloc(1, sizeof(*s));
    char host[SQL_HOST_MAX + 8];

    if (!s)
        return -1;
    s->transport = transport;
    s->source = (struct loop_source){.fd = fd, .on_event = session_on_event};
    if (find_client(s, fd, host, sizeof(host)) != 0 ||
        loop_watch(&server->loop, &s->source, EPOLLIN) != 0) {
        mem_free(s);
        return -1;
    }
    s->server = server;
    s->conversation = conversation;
    s->more.run = session_more;
    s->grave.run = session_free;
    packet_reader_init(&s->in, SESSION_LOGIN_PACKET);
    reply_init(&s->reply);
    registry_add(&server->registry, &s->entry, host, conversation->web);
    server_add(server, s);
    conversation->greet(s);
    session_process(s);
    return 0;
}
