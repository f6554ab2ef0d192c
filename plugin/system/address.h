/* address.h - numeric addresses: no name is ever looked up. */
#ifndef HW_ADDRESS_H
#define HW_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One address has many texts; this leaves the one that inet_ntop writes.  size:
 * at least INET6_ADDRSTRLEN.  -1: it is no address. */
int address_canonical(char *text, size_t size);

/* One node's own, that others can connect to: no wildcard, no group, and not an
 * IPv4 one in an IPv6 dress, which would be a second text of it. */
bool address_is_reachable(const char *text, uint16_t port);
bool address_is_loopback(const char *text);

#endif
