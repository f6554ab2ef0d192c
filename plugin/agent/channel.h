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
    CHANNEL_FAILED /* said on stderr; errno says why */
};

/* The channel must be all -1. */
enum channel_result channel_open(struct channel *channel,
                                 const char *state_dir);
/* Whether the directory is another user's; that user may still give it to us.
 */
bool channel_is_shut(const char *state_dir);
void channel_close(struct channel *channel);
/* Removes the socket's name.  Call before channel_close. */
void channel_remove(struct channel *channel);

/* False when the listener is no longer ours; forgets a connection that is not.
 * In a table shared with the host, the host may have closed them and have
 * something of its own under their numbers. */
bool channel_intact(struct channel *channel);

/* Replaces the connection by a waiting one, if its peer is root, the
 * directory's owner or this process's own user now. */
void channel_accept(struct channel *channel);
void channel_disconnect(struct channel *channel);

/* One packet of exactly size bytes; -1 when anything else came. */
int channel_receive(struct channel *channel, void *out, size_t size);
/* Never waits; -1 when the peer does not take it. */
int channel_send(struct channel *channel, const void *data, size_t size,
                 const int *fds, size_t fd_count);

#endif
