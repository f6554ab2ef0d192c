/*
 * channel.h - the agent's socket: its place, and the peers that may connect.
 *
 * Every descriptor belongs to the agent's thread.
 */
#ifndef HW_CHANNEL_H
#define HW_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "shared_fds.h"

struct channel {
    int directory, lock, listener, connection; /* -1: none */
    struct shared_fds_file listener_file, connection_file;
    pid_t holder; /* the process that serves, where CHANNEL_BUSY */
};

enum channel_result {
    CHANNEL_OPEN,
    CHANNEL_BUSY,  /* another process serves this directory */
    CHANNEL_FAILED /* reported on stderr; errno has the reason */
};

/* Opens a channel whose descriptors are all -1. */
enum channel_result channel_open(struct channel *channel,
                                 const char *state_dir);
/* True if the directory belongs to another user, which may still give it to us.
 */
bool channel_is_shut(const char *state_dir);
void channel_close(struct channel *channel);
/* Removes the socket's name.  Call before channel_close. */
void channel_remove(struct channel *channel);

/* False when the listener is no longer ours; drops a connection that is not. In
 * a shared descriptor table the host may have closed ours and reused the
 * numbers. */
bool channel_intact(struct channel *channel);

/* Accepts a waiting connection in place of the current one, if its peer is
 * root, the directory's owner or this process's user. */
void channel_accept(struct channel *channel);
void channel_disconnect(struct channel *channel);

/* Reads one packet of exactly size bytes; -1 for any other. */
int channel_receive(struct channel *channel, void *out, size_t size);
/* Sends one packet without waiting; -1 when the peer does not take it. */
int channel_send(struct channel *channel, const void *data, size_t size,
                 const int *fds, size_t fd_count);

#endif
