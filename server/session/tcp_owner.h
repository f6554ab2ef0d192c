/*
 * tcp_owner.h - whose process holds the other end of a TCP connection of this
 * host.
 *
 * Asks the kernel (sock_diag(7)), in some 30 us.  Any thread.
 */
#ifndef HW_TCP_OWNER_H
#define HW_TCP_OWNER_H

#include <stdbool.h>
#include <sys/types.h>

/* False: the other end is elsewhere, has no process any more, or the kernel
 * does not tell. */
bool tcp_owner(int fd, uid_t *uid);

#endif
