/*
 * backoff.c - see backoff.h.
 *
 * A table of 256 sets of 8 entries: 64 KB, and a login costs a scan of two
 * sets.  It never grows, so that an attacker with many addresses or names
 * cannot use up memory; what he can do is push out entries, and then those with
 * the fewest and oldest failures go first.  Keys are hashed with a secret, so
 * nobody can choose names that fall into one set on purpose.
 */
#include "backoff.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

#include "hash.h"

enum { KEY_LOOPBACK = 1, KEY_LOW_PREFIX = 2 };

/* A key is the /64 prefix of an IPv6 address, or 0xffff or 1 in the upper half
 * with an IPv4 address or a uid below: no address has those prefixes. */
static const uint64_t KEY_OF_USERS = UINT64_C(1) << 32;

static uint64_t
key_v4(uint32_t address)
{
    if (address >> 24 == 127)
        return KEY_LOOPBACK;
    return UINT64_C(0xffff) << 32 | address;
}

uint64_t
backoff_key(const struct sockaddr *address)
{
    const struct in6_addr *v6;
    uint64_t prefix = 0;
    uint32_t v4;

    if (address->sa_family == AF_INET) {
        v4 = ((const struct sockaddr_in *)address)->sin_addr.s_addr;
        return key_v4(ntohl(v4));
    }
    if (address->sa_family != AF_INET6)
        return 0;
    v6 = &((const struct sockaddr_in6 *)address)->sin6_addr;
    if (IN6_IS_ADDR_LOOPBACK(v6))
        return KEY_LOOPBACK;
    if (IN6_IS_ADDR_V4MAPPED(v6)) {
        memcpy(&v4, v6->s6_addr + 12, sizeof(v4));
        return key_v4(ntohl(v4));
    }
    for (int i = 0; i < 8; i++)
        prefix = prefix << 8 | v6->s6_addr[i];
    return prefix > KEY_LOW_PREFIX ? prefix : KEY_LOW_PREFIX;
}

bool
backoff_is_loopback(uint64_t key)
{
    return key == KEY_LOOPBACK;
}

/* The key lies in 0:1::/32, which no host has. */
uint64_t
backoff_key_of_user(uid_t uid)
{
    return KEY_OF_USERS + uid;
}

static uint64_t
key_of_address(const struct backoff *b, uint64_t address)
{
    /* Never 0, which marks a free entry. */
    return hash_mix(b->secret, address) | 1;
}

static uint64_t
key_of_pair(const struct backoff *b, uint64_t address, const char *user)
{
    return hash_bytes(key_of_address(b, address), user, strlen(user)) | 1;
}

static struct backoff_entry *
set_of(struct backoff *b, uint64_t key)
{
    return b->entries[(key >> 32) % BACKOFF_SETS];
}

/* NULL: there is no entry, or its last failure is ten minutes ago. */
static struct backoff_entry *
find_backoff_entry(struct backoff *b, uint64_t key, uint64_t now_ms)
{
    struct backoff_entry *set = set_of(b, key);

    for (int i = 0; i < BACKOFF_WAYS; i++)
        if (set[i].key == key && now_ms - set[i].failed_ms < BACKOFF_RESET_MS)
            return &set[i];
    return NULL;
}

static uint32_t
recent_failure_count(const struct backoff_entry *e, uint64_t now_ms)
{
    return now_ms - e->failed_ms < BACKOFF_RESET_MS ? e->failures : 0;
}

static void
record_login_failure(struct backoff *b, uint64_t key, uint64_t now_ms)
{
    struct backoff_entry *set = set_of(b, key),
                         *e = find_backoff_entry(b, key, now_ms);

    if (!e) {
        /* The victim: the fewest recent failures; of several, the oldest. */
        e = &set[0];
        for (int i = 1; i < BACKOFF_WAYS; i++)
            if (recent_failure_count(&set[i], now_ms) <
                    recent_failure_count(e, now_ms) ||
                (recent_failure_count(&set[i], now_ms) ==
                     recent_failure_count(e, now_ms) &&
                 set[i].failed_ms < e->failed_ms))
                e = &set[i];
        *e = (struct backoff_entry){.key = key};
    }
    e->failed_ms = now_ms;
    e->failures += e->failures < UINT32_MAX;
}

static uint64_t
next_attempt_ms(const struct backoff_entry *e, uint64_t now_ms)
{
    return e->next_ms > now_ms ? e->next_ms : now_ms;
}

bool
backoff_admit(struct backoff *b, uint64_t address, const char *user,
              uint32_t free, uint64_t now_ms, uint64_t *wait_ms)
{
    struct backoff_entry *pair, *all;
    bool is_many;
    uint64_t at;

    *wait_ms = 0;
    if (!address || free == 0)
        return true;
    pair = find_backoff_entry(b, key_of_pair(b, address, user), now_ms);
    all = find_backoff_entry(b, key_of_address(b, address), now_ms);
    is_many = all && all->failures >= free * BACKOFF_ADDRESS_TIMES;
    /* A pair without failures is let through even from a bad address: its owner
     * has done nothing wrong. */
    if (!pair || (pair->failures < free && !is_many))
        return true;
    at = next_attempt_ms(pair, now_ms);
    if (is_many && next_attempt_ms(all, now_ms) > at)
        at = next_attempt_ms(all, now_ms);
    *wait_ms = at - now_ms;
    if (*wait_ms > BACKOFF_WAIT_MS)
        return false;
    /* Admission itself takes a place in the row, or many logins at once would
     * all be admitted. */
    pair->next_ms = at + BACKOFF_STEP_MS;
    if (is_many)
        all->next_ms = next_attempt_ms(all, now_ms) + BACKOFF_ADDRESS_STEP_MS;
    return true;
}

void
backoff_failed(struct backoff *b, uint64_t address, const char *user,
               uint32_t free, uint64_t now_ms)
{
    struct backoff_entry *pair;
    uint64_t key;

    if (!address || free == 0)
        return;
    key = key_of_pair(b, address, user);
    record_login_failure(b, key, now_ms);
    record_login_failure(b, key_of_address(b, address), now_ms);
    /* NULL if recording the address's failure took its place. */
    pair = find_backoff_entry(b, key, now_ms);
    if (pair && pair->failures == free)
        pair->next_ms = now_ms + BACKOFF_STEP_MS;
}

void
backoff_succeeded(struct backoff *b, uint64_t address, const char *user)
{
    uint64_t key = key_of_pair(b, address, user);
    struct backoff_entry *set = set_of(b, key);

    for (int i = 0; address && i < BACKOFF_WAYS; i++)
        if (set[i].key == key)
            memset(&set[i], 0, sizeof(set[i]));
}
