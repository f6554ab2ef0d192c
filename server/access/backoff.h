/*
 * backoff.h - logins that failed, and how long the next ones wait.
 *
 * Counts failures in a row of each pair of an address and an account.  After a
 * few, the pair's logins are answered one after another, BACKOFF_STEP_MS apart,
 * the right ones too: whoever knows the password gets in, a little later.  One
 * that would wait longer than BACKOFF_WAIT_MS is refused unseen, or many
 * connections at once would be many guesses.  An address with many more
 * failures, of whatever accounts, has no free ones any more, and what waits for
 * it has a common, faster step.
 *
 * So from one address one account can be guessed at 1800 times an hour, and all
 * accounts together 18000 times; a login of the account that succeeds meanwhile
 * begins a new row, with its free failures, or one where the address has many.
 * A login never waits for the failures of another account alone.
 *
 * Guesses that come all the time take every admission of a pair, from the right
 * login too.  All processes of this host have one address, so each of their
 * users counts as an address: no local user keeps another one out.
 *
 * A login of the account clears its pair, ten quiet minutes clear anything.
 * IPv6 counts by /64, and all of loopback is one address.  The table has a
 * fixed size: the entry of the fewest failures makes room, and a secret decides
 * which entries meet, so that many names do not push out the one that is
 * guessed at.  No clock in here; with the loop's lock.
 */
#ifndef HW_BACKOFF_H
#define HW_BACKOFF_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

enum {
    BACKOFF_SETS = 256,
    BACKOFF_WAYS = 8,              /* entries of a set: 2048 in all */
    BACKOFF_STEP_MS = 2000,        /* between answers to a pair */
    BACKOFF_ADDRESS_STEP_MS = 200, /* ... and to an address */
    BACKOFF_WAIT_MS = 5000,        /* clients give up after 10 s */
    BACKOFF_ADDRESS_TIMES =
        10, /* failures of an address, for each free one of a pair */
    BACKOFF_RESET_MS = 10 * 60 * 1000
};

struct backoff_entry {
    uint64_t key; /* 0: free */
    uint64_t failed_ms;
    uint64_t next_ms;  /* when the next login may be answered */
    uint32_t failures; /* in a row; of an address: since it was quiet */
};

struct backoff { /* zeroed is empty */
    uint64_t secret;
    struct backoff_entry entries[BACKOFF_SETS][BACKOFF_WAYS];
};

/* The key that an address counts under; 0 for an address that never counts. */
uint64_t backoff_key(const struct sockaddr *address);
/* Is the key loopback's?  And the key of one user of this host. */
bool backoff_is_loopback(uint64_t key);
uint64_t backoff_key_of_user(uid_t uid);

/* A login of user comes from there: milliseconds until it may be answered, 0:
 * now.  False: not at all, and *wait_ms is when to try again.  Call it once for
 * each login; free: failures of a pair without consequence, 0: all. */
bool backoff_admit(struct backoff *b, uint64_t address, const char *user,
                   uint32_t free, uint64_t now_ms, uint64_t *wait_ms);
void backoff_failed(struct backoff *b, uint64_t address, const char *user,
                    uint32_t free, uint64_t now_ms);
void backoff_succeeded(struct backoff *b, uint64_t address, const char *user);

#endif
