/*
 * listener.h - accepts connections on the unix socket and on TCP.
 *
 * On the loop.  If a TCP port is in use, tries again until it is free.
 */
#ifndef HW_LISTENER_H
#define HW_LISTENER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <uv.h>

#include "config.h"
#include "server.h"

struct conversation;
struct error;

enum {
    LISTENER_BACKLOG = 128,
    LISTENER_KEEPALIVE_S = 60,
    LISTENER_PAUSE_MS = 100,  /* when there are no descriptors left */
    LISTENER_RETRY_MS = 1000, /* then twice that, and so on */
    LISTENER_RETRY_MAX_MS = 30 * 1000
};

struct listener {
    struct server *server;
    const struct conversation *conversation;
    enum transport transport;
    int fd; /* -1: closed */
    uv_poll_t poll;
    uv_timer_t timer; /* ends a pause, or tries to bind again */
    bool polling;
    bool again;       /* opens at address once it is closed */
    unsigned handles; /* open libuv handles */
    uint64_t retry_ms;
    char path[CONFIG_SOCKET_MAX + 1]; /* local: to be removed at the end */
    dev_t device;
    ino_t inode;
    struct config_address address; /* TCP */
};

/* Binds the unix socket, 0600. Usually its directory is ours alone; in any
 * directory, only root and our own user get in. */
int listener_open_local(struct listener *l, struct server *server,
                        const struct conversation *conversation,
                        const char *path, struct error *err);
/* Binds now or later, or once it is closed; logs which. */
void listener_open_tcp(struct listener *l, struct server *server,
                       const struct conversation *conversation,
                       const struct config_address *address);
/* Makes the unix socket again where its name was deleted. */
void listener_renew(struct listener *l);
bool listener_is_open(const struct listener *l);
/* Gives the unix socket's file to a user that heapwired will become. */
int listener_give(const struct listener *l, uid_t uid, gid_t gid,
                  struct error *err);
/* Closes and unlinks; l may be freed once the loop has called back (handles ==
 * 0). */
void listener_close(struct listener *l);

#endif
