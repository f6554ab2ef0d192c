/* daemon.h - heapwired as a whole: from a configuration to a running node. */
#ifndef HW_DAEMON_H
#define HW_DAEMON_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <uv.h>

#include "config.h"
#include "server.h"

struct account;
struct arguments;
struct cluster;
struct config;
struct config_faults;
struct conversation;
struct debug_fetcher;
struct error;
struct membership;
struct server;
struct state_dir;
struct supervised;

/* ---- listener.c ----
 * Accepts connections on the unix socket and on TCP.  On the loop.  If a TCP
 * port is in use, tries again until it is free. */

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
    bool reopens;     /* opens at address once it is closed */
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
/* Binds now or, where the port is in use, later; a listener that is still
 * closing opens after that.  Logs which. */
void listener_open_tcp(struct listener *l, struct server *server,
                       const struct conversation *conversation,
                       const struct config_address *address);
/* Makes the unix socket again where its name was deleted. */
void listener_renew(struct listener *l);
bool listener_is_open(const struct listener *l);
/* Gives the unix socket's file to a user that heapwired will become. */
int listener_chown(const struct listener *l, uid_t uid, gid_t gid,
                   struct error *err);
/* Closes and unlinks; l may be freed once the loop has called back (handles ==
 * 0). */
void listener_close(struct listener *l);

/* Checks everything, starts nothing; prints the effective values.  The exit
 * status: 0, or EX_CONFIG with one line per fault on stderr. */
int daemon_check(const struct arguments *arguments);

/* Serves until SIGTERM or SIGINT.  The exit status: EX_CONFIG, EX_TEMPFAIL when
 * another heapwired serves the state directory, EX_OSERR, 0. */
int daemon_run(const struct arguments *arguments);

/* ---- daemon_check.c ----
 * Finds what would stop a start, before anything starts; reports on stderr. */

void daemon_print_faults(const struct config_faults *faults);
int daemon_print_error(const struct error *err); /* -1 */
/* The path of a program that lies beside heapwired, as its helpers do. */
int daemon_find_program(const char *program, char out[PATH_MAX],
                        struct error *err);
/* Starts what fetches debug information, if the configuration or the
 * environment names servers; *out NULL: nothing does.  Once, and before the
 * controller.  -1 with *err: the environment names more than is taken. */
int daemon_start_debug(const struct config *config, struct debug_fetcher **out,
                       struct error *err);
/* Where the state directory is, if that is not its usual place. */
void daemon_print_state_note(const struct config *config);
/* *account: the user that config names, if it names one. */
int daemon_check_user(const struct config *config, struct account *account,
                      struct error *err);

/* ---- daemon_cluster.c ----
 * The cluster as a part of heapwired.  Belongs to the loop. */

struct daemon_cluster {
    struct config *config; /* borrowed, as server */
    struct server *server;
    struct cluster *cluster; /* NULL: not started; cluster_free's at the end */
    struct membership *membership;
};

/* Sets this node's identity, with one incarnation throughout.  Before the first
 * login. */
int daemon_cluster_identify(struct daemon_cluster *c, struct error *err);
/* After the unix socket listens, through which the node asks itself. */
int daemon_cluster_start(struct daemon_cluster *c, struct error *err);
/* Takes the secret and the peers of a reload. */
void daemon_cluster_reload(struct daemon_cluster *c, struct config *from);
/* Before the server stops; may come twice. */
void daemon_cluster_stop(struct daemon_cluster *c);

/* ---- daemon_state_dir.c, too ----
 * Gives the state directory's files to another user.  The directory's owner of
 * an earlier run may have moved other users' files into it, or linked them:
 * the owner of those never changes. */

enum { GIVEN_FILES = 11 };

struct given_files {
    const struct state_dir *dir; /* reopened by state_dir_recheck() */
    ino_t strange[GIVEN_FILES];  /* another user's; 0: none */
};

/* Once root has the directory, before any file in it is made or opened. */
void given_files_note(struct given_files *files, const struct state_dir *dir);

/* Both leave a strange file as it is and return 0; -1 with errno: EPERM also
 * for a file with several names. */
int given_files_give(const struct given_files *files, int fd,
                     const struct account *account);
/* Gives two files of the directory, where they exist. */
int given_files_give_two(const struct given_files *files, const char *one,
                         const char *other, const struct account *account);

/* ---- daemon_state_dir.c ----
 * Notices on the loop that the state directory was deleted, or names in it:
 * cleaners of /tmp do that, file by file or all at once.  All is made again.
 * If only root can make the directory and heapwired has left root, heapwire-run
 * makes it, or whoever starts heapwired again. */

enum { STATE_DIR_CHECK_MS = 2000 };

struct state_dir_watch {
    uv_timer_t timer;
    struct state_dir *dir;
    const char *path;
    const struct supervised *supervised;
    struct listener *local, *http_local;
    void (*renewed)(void *arg), (*end)(void *arg);
    void *arg;
    int deaths;      /* the file; -1: there is none */
    bool open, lost; /* the directory is gone, since ... */
    uint64_t lost_ms;
};

/* renewed: the directory is a new one; end: it is gone, and somebody starts
 * heapwired again. */
void state_dir_watch_start(struct state_dir_watch *watch, uv_loop_t *loop,
                           struct state_dir *dir, const char *path,
                           const struct supervised *supervised,
                           struct listener *local, struct listener *http_local,
                           void (*renewed)(void *arg), void (*end)(void *arg),
                           void *arg);
void state_dir_watch_stop(struct state_dir_watch *watch);

#endif
