/* address.h - numeric addresses: no name is ever looked up. */
#ifndef HW_ADDRESS_H
#define HW_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Rewrites an address to the one text that inet_ntop writes.  size: at least
 * INET6_ADDRSTRLEN. -1: it is no address. */
int address_canonical(char *text, size_t size);

/* An address of one node that others can connect to: no wildcard, no multicast
 * group, and no IPv4-mapped IPv6 address, which would be a second text of it.
 */
bool address_is_reachable(const char *text, uint16_t port);
bool address_is_loopback(const char *text);

#endif
