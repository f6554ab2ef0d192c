/*
 * notify_relay.h - passes the database's messages on to systemd.
 *
 * In a service of Type=notify systemd heeds its main process, which is
 * heapwire-run.  So the database gets another NOTIFY_SOCKET, of ours, and its
 * messages go on to systemd's; but not MAINPID (that is us), and no
 * descriptors.
 */
#ifndef HW_NOTIFY_RELAY_H
#define HW_NOTIFY_RELAY_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>

enum { NOTIFY_MAX = 4096, NOTIFY_ADDRESS_MAX = 32 };

#define NOTIFY_ENV "NOTIFY_SOCKET"

struct notify_relay {
    int fd; /* -1: nothing is relayed */
    struct sockaddr_un manager;
    socklen_t manager_size;
    char address[NOTIFY_ADDRESS_MAX]; /* for the database's environment */
    bool logged;                      /* a dropped part was logged */
};

/* manager: the value of NOTIFY_SOCKET. -1: none, or of an unknown kind. */
int notify_relay_open(struct notify_relay *relay, const char *manager);
void notify_relay_close(struct notify_relay *relay);

/* Passes on what has come; SIGIO announces it. */
void notify_relay_pass(struct notify_relay *relay);

enum { WORD_SOCKET_NAME = 16 };

/* A datagram socket for words to heapwire-run: the kernel chooses its abstract
 * name in the network namespace, and each word comes with its sender's pid and
 * uid.  -1: there is none; else the descriptor, and its name without the
 * leading NUL.
 */
int word_socket_open(char name[WORD_SOCKET_NAME]);
/* From now on SIGIO announces a word: call it with SIGIO blocked, which would
 * end the process. */
void word_socket_wake(int fd);

#endif
