/*
 * backoff.h - addresses whose logins failed, and how long they are refused.
 *
 * After a few failures in a row an address is refused for a second, after the
 * next for two, and so on up to a minute.  Ten quiet minutes clear it, or a
 * login of the user whose failures they all were: another's would let whoever
 * has an account guess without end.  IPv6 counts by /64, and all of loopback is
 * one address. The table has a fixed size: the entry that failed longest ago
 * makes room. No clock in here; on the loop.
 */
#ifndef HW_BACKOFF_H
#define HW_BACKOFF_H

#include <stdint.h>
#include <sys/socket.h>

enum {
    BACKOFF_SETS = 128,
    BACKOFF_WAYS = 8, /* entries of a set: 1024 addresses in all */
    BACKOFF_FIRST_MS = 1000,
    BACKOFF_MAX_MS = 60 * 1000,
    BACKOFF_FORGET_MS = 10 * 60 * 1000
};

struct backoff_entry {
    uint64_t key;  /* 0: free */
    uint64_t user; /* hash of whose failures they were; 0: several users' */
    uint64_t failed_ms, until_ms;
    uint32_t failures; /* in a row */
};

struct backoff { /* zeroed is empty */
    struct backoff_entry entries[BACKOFF_SETS][BACKOFF_WAYS];
};

/* What an address counts as; 0 for one that never counts. */
uint64_t backoff_key(const struct sockaddr *address);

/* Milliseconds that it is still refused for; 0: it is welcome. */
uint64_t backoff_left_ms(const struct backoff *b, uint64_t key,
                         uint64_t now_ms);
/* free: failures without consequence; 0: all of them. */
void backoff_failed(struct backoff *b, uint64_t key, const char *user,
                    uint32_t free, uint64_t now_ms);
void backoff_succeeded(struct backoff *b, uint64_t key, const char *user);

#endif
