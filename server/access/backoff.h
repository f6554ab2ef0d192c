/*
 * backoff.h - addresses with failed logins, and how long each is refused.
 *
 * After a few failures in a row an address is refused for a second, after the
 * next for two, and so on up to a minute.  Ten quiet minutes clear it.  So does
 * a login of one user, if all failures were that user's: otherwise an attacker
 * with an account of its own could guess without end.  IPv6 counts by /64, and
 * all of loopback is one address.  The table has a fixed size: the entry that
 * failed longest ago makes room.  No clock in here; on the loop.
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
    uint64_t user; /* hash of the user that failed; 0: several users */
    uint64_t failed_ms, until_ms;
    uint32_t failures; /* in a row */
};

struct backoff { /* zeroed is empty */
    struct backoff_entry entries[BACKOFF_SETS][BACKOFF_WAYS];
};

/* The key that an address counts under; 0 for an address that never counts. */
uint64_t backoff_key(const struct sockaddr *address);

/* Milliseconds for which it is still refused; 0: it is not. */
uint64_t backoff_left_ms(const struct backoff *b, uint64_t key,
                         uint64_t now_ms);
/* free: failures without consequence; 0: all of them. */
void backoff_failed(struct backoff *b, uint64_t key, const char *user,
                    uint32_t free, uint64_t now_ms);
void backoff_succeeded(struct backoff *b, uint64_t key, const char *user);

#endif
