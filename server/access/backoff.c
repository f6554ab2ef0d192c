/* backoff.c - see backoff.h. */
#include "backoff.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

#include "hash.h"

enum { KEY_LOOPBACK = 1, KEY_ODD = 2 };

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
    return prefix > KEY_ODD ? prefix : KEY_ODD;
}

/* Fibonacci hashing: neighbours go to different sets. */
static size_t
set_of(uint64_t key)
{
    return (size_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 32) % BACKOFF_SETS;
}

static struct backoff_entry *
find(const struct backoff *b, uint64_t key)
{
    const struct backoff_entry *set = b->entries[set_of(key)];

    for (int i = 0; key && i < BACKOFF_WAYS; i++)
        if (set[i].key == key)
            return (struct backoff_entry *)&set[i];
    return NULL;
}

static struct backoff_entry *
take(struct backoff *b, uint64_t key)
{
    struct backoff_entry *set = b->entries[set_of(key)], *e = find(b, key);

    if (e)
        return e;
    e = &set[0];
    for (int i = 1; i < BACKOFF_WAYS && e->key; i++)
        if (!set[i].key || set[i].failed_ms < e->failed_ms)
            e = &set[i];
    memset(e, 0, sizeof(*e));
    e->key = key;
    return e;
}

uint64_t
backoff_left_ms(const struct backoff *b, uint64_t key, uint64_t now_ms)
{
    const struct backoff_entry *e = find(b, key);

    return e && e->until_ms > now_ms ? e->until_ms - now_ms : 0;
}

static uint64_t
hash_of(const char *user)
{
    return hash_bytes(0, user, strlen(user)) | 1;
}

void
backoff_failed(struct backoff *b, uint64_t key, const char *user, uint32_t free,
               uint64_t now_ms)
{
    struct backoff_entry *e;
    uint64_t wait_ms = BACKOFF_FIRST_MS;

    if (!key || free == 0)
        return;
    e = take(b, key);
    if (now_ms - e->failed_ms >= BACKOFF_FORGET_MS)
        e->failures = 0;
    if (e->failures == 0)
        e->user = hash_of(user);
    else if (e->user != hash_of(user))
        e->user = 0;
    e->failed_ms = now_ms;
    if (++e->failures < free)
        return;
    for (uint32_t i = free; i < e->failures && wait_ms < BACKOFF_MAX_MS; i++)
        wait_ms *= 2;
    e->until_ms =
        now_ms + (wait_ms < BACKOFF_MAX_MS ? wait_ms : BACKOFF_MAX_MS);
}

void
backoff_succeeded(struct backoff *b, uint64_t key, const char *user)
{
    struct backoff_entry *e = find(b, key);

    if (e && e->user == hash_of(user))
        memset(e, 0, sizeof(*e));
}
