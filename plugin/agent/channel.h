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

#include "agent_protocol.h"
#include "shared_fds.h"

struct channel {
    int directory, lock, listener, connection; /* -1: none */
    struct shared_fds_file listener_file, connection_file;
    uid_t owner;  /* the directory's */
    pid_t holder; /* the process that serves, where CHANNEL_BUSY */
};

enum channel_result {
    CHANNEL_OPEN,
    CHANNEL_BUSY,  /* another process serves this directory */
    CHANNEL_FAILED /* reported on stderr; errno has the reason */
};

/* Opens a channel whose descriptors are all -1, and erases the words. */
enum channel_result channel_open(struct channel *channel,
                                 const char *state_dir);
/* True if the directory belongs to another user, which may still give it to us.
 */
bool channel_is_shut(const char *state_dir);
/* Serves there again where the directory, the lock or the socket's name was
 * deleted, and keeps the connection; false: it cannot yet. */
bool channel_renew(struct channel *channel, const char *state_dir);
/* Whether that is needed: others do not find us there. */
bool channel_is_lost(const struct channel *channel, const char *state_dir);
void channel_close(struct channel *channel);
/* Closes the directory: what needs it fails from now on. */
void channel_leave_directory(struct channel *channel);
/* Leaves why the agent ends, for heapwired; "": nothing of note.  Only in a
 * table of its own: in a shared one the lock's number may be a file of the
 * host. */
void channel_leave_word(const struct channel *channel,
                        const struct agent_hello *self, const char *why);
/* Likewise, of this process, whose agent has not served: it holds no lock. */
void channel_leave_early_word(const char *state_dir, const char *why);
/* Removes the socket's name.  Call before channel_close. */
void channel_remove(struct channel *channel);

/* False when the listener is no longer ours; drops a connection that is not. In
 * a shared descriptor table the host may have closed ours and reused the
 * numbers. */
bool channel_intact(struct channel *channel);

/* Accepts a waiting connection in place of the current one, if its peer is
 * root, the directory's owner or this process's user; false: it is not. */
bool channel_accept(struct channel *channel);
void channel_disconnect(struct channel *channel);

/* Reads one packet of exactly size bytes; -1 for any other. */
int channel_receive(struct channel *channel, void *out, size_t size);
/* Sends one packet without waiting; -1 when the peer does not take it. */
int channel_send(struct channel *channel, const void *data, size_t size,
                 const int *fds, size_t fd_count);

#endif
