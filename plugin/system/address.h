/*
 * address.h - numeric addresses, parsed without ever looking up a name.
 */
#ifndef HW_ADDRESS_H
#define HW_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Rewrites an address to its canonical text, as inet_ntop writes it, so that
 * equal addresses compare equal.  size: at least INET6_ADDRSTRLEN.  -1: it is
 * not an address. */
int address_canonical(char *text, size_t size);

/* Whether other nodes can connect to it: no wildcard, no multicast group, and
 * no IPv4-mapped IPv6 address, which would be a second text of the same
 * address. */
bool address_is_reachable(const char *text, uint16_t port);
bool address_is_loopback(const char *text);

#endif
