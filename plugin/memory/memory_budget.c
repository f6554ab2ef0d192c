/*
 * memory_budget.c - see memory_budget.h.
 *
 * Two things are checked, as each alone is not enough.  The account bounds what
 * heapwired takes by itself, and divides it between users.  What the machine
 * and our cgroup have left bounds it where the database has taken nearly all:
 * then the OOM killer could choose the database because of us.  The second look
 * reads files of the kernel, so it is taken only once for each 4 MB; the
 * account is a few additions under one lock.
 *
 * Each session, statement and decoder holds a reservation of its own, which
 * only its thread changes.  Called on the loop's thread and on workers.
 */
#include "memory_budget.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "arena.h"
#include "buffer.h"
#include "ascii.h"
#include "errors.h"
#include "files.h"
#include "process_memory.h"
#include "reader.h"
#include "user_quota.h"

enum { DECODE_BUDGET_BYTES = MEMORY_BUDGET_BYTES - MEMORY_BUDGET_KEPT };

enum { MEMINFO_MAX = 64 << 10 };

uint64_t
memory_left_of(const char *meminfo, size_t size)
{
    static const char key[] = "MemAvailable:";
    const size_t key_size = sizeof(key) - 1;
    struct reader r = reader_of(meminfo, size);
    struct span line;
    uint64_t kb = 0;
    size_t at;

    while (reader_line(&r, &line)) {
        if (line.size <= key_size || memcmp(line.data, key, key_size) != 0)
            continue;
        at = key_size;
        while (at < line.size && line.data[at] == ' ')
            at++;
        while (at < line.size && is_digit(line.data[at]) &&
               kb < UINT64_MAX >> 20)
            kb = kb * 10 + (uint64_t)(line.data[at++] - '0');
        return kb << 10;
    }
    return UINT64_MAX;
}

uint64_t
memory_left_machine(void)
{
    struct buffer text;
    struct error err;
    uint64_t left = UINT64_MAX;

    buffer_init(&text, MEMINFO_MAX);
    if (file_read_all("/proc/meminfo", &text, &err) == 0)
        left = memory_left_of(text.data, text.size);
    buffer_fini(&text);
    return left;
}

static uint64_t
left_in_the_cgroup(void)
{
    struct stats own = {0};
    uint64_t used;

    process_memory_read(getpid(), &own);
    if (!own.cgroup_limit.known || !own.cgroup_current.known ||
        own.cgroup_limit.value == 0)
        return UINT64_MAX;
    used = own.cgroup_current.value;
    if (own.cgroup_cache.known && own.cgroup_cache.value <= used)
        /* The kernel reclaims file pages before it kills. */
        used -= own.cgroup_cache.value;
    return own.cgroup_limit.value > used ? own.cgroup_limit.value - used : 0;
}

uint64_t
memory_left(void)
{
    uint64_t machine = memory_left_machine(), cgroup = left_in_the_cgroup();

    return machine < cgroup ? machine : cgroup;
}

enum {
    /* After so many more bytes the free memory is read again, from files of the
     * kernel. */
    CHECK_BYTES = 4 << 20,
    /* Where less is free, only small blocks are granted. */
    LEFT_MIN = 16 << 20,
    USERS = 64, /* who hold memory; all further ones share the last slot */
    NOBODY = 0
};

static struct {
    pthread_mutex_t lock;
    size_t taken;
    struct {
        char name[USER_QUOTA_OWNER_MAX + 1];
        size_t bytes;
    } users[USERS];
} budget = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* With the lock. */
static unsigned
find_budget_user(const char *owner)
{
    /* Slot 0 is NOBODY's; a slot is free while it holds no bytes. */
    unsigned place = USERS - 1;

    if (!owner)
        return NOBODY;
    for (unsigned i = 1; i < USERS; i++) {
        if (budget.users[i].bytes == 0)
            place = i < place ? i : place;
        else if (strcmp(budget.users[i].name, owner) == 0)
            return i;
    }
    snprintf(budget.users[place].name, sizeof(budget.users[place].name), "%s",
             budget.users[place].bytes > 0 ? "" : owner);
    return place;
}

/* With the lock. */
static bool
is_shared_out(unsigned place, size_t more)
{
    size_t taken = budget.taken, theirs = budget.users[place].bytes;
    size_t unused =
        taken < MEMORY_BUDGET_BYTES ? MEMORY_BUDGET_BYTES - taken : 0;

    /* The rule of user_quota.h in bytes: a user may hold as much as stays
     * free. */
    if (place == NOBODY)
        return unused < MEMORY_BUDGET_KEPT ||
               more > unused - MEMORY_BUDGET_KEPT;
    return theirs > unused || more > unused - theirs;
}

static void
charge_reservation(struct memory_reservation *reservation, unsigned place,
                   size_t bytes)
{
    budget.taken += bytes - reservation->bytes;
    budget.users[place].bytes += bytes - reservation->bytes;
    reservation->user = place;
    reservation->bytes = bytes;
}

/* sum is taken already and so no longer in left: at most half of what was free
 * without it. */
static bool
is_left(size_t sum)
{
    uint64_t left = memory_left();

    return left >= LEFT_MIN && left - LEFT_MIN >= sum;
}

static bool
resize_reservation(struct memory_reservation *reservation, const char *owner,
                   size_t bytes, bool always)
{
    size_t had = reservation->bytes, before, sum;
    unsigned place;
    bool refused;

    if (bytes == had)
        return true;
    /* Giving back is never refused, nor what a login or a short statement
     * needs. */
    always |= bytes < had || bytes <= MEMORY_BUDGET_SMALL;
    pthread_mutex_lock(&budget.lock);
    /* Whoever took the first byte stays the owner until it is empty. */
    place = had > 0 ? reservation->user : find_budget_user(owner);
    refused = !always && is_shared_out(place, bytes - had);
    before = budget.taken;
    if (!refused)
        charge_reservation(reservation, place, bytes);
    sum = budget.taken;
    pthread_mutex_unlock(&budget.lock);
    /* Charged first and read afterwards, without the lock: two threads that ask
     * at a time then see each other's bytes. */
    if (refused || always || sum / CHECK_BYTES == before / CHECK_BYTES ||
        is_left(sum))
        return !refused;
    resize_reservation(reservation, owner, had, true);
    return false;
}

bool
memory_reserve(struct memory_reservation *reservation, const char *owner,
               size_t bytes)
{
    return resize_reservation(reservation, owner, bytes, false);
}

void
memory_charge(struct memory_reservation *reservation, const char *owner,
              size_t bytes)
{
    resize_reservation(reservation, owner, bytes, true);
}

size_t
memory_budget_used(void)
{
    size_t taken;

    pthread_mutex_lock(&budget.lock);
    taken = budget.taken;
    pthread_mutex_unlock(&budget.lock);
    return taken;
}

void
memory_budget_explain(struct error *err, const char *what)
{
    error_set(err, ER_OUT_OF_MEMORY,
              "Out of memory: no room for %s: all clients of this node share "
              "%d MB, and never more than half of the free memory, and %zu MB "
              "are taken; one user gets at most as much as stays free for the "
              "others; try again later",
              what, MEMORY_BUDGET_BYTES >> 20, memory_budget_used() >> 20);
}

const struct arena_meter decode_budget_meter = {decode_budget_take,
                                                decode_budget_give};

/* Set before any thread starts; 0: none. */
static size_t ceiling = DECODE_BUDGET_BYTES;
static struct {
    pthread_mutex_t lock;
    size_t used;
    struct memory_reservation reserved;
} room = {.lock = PTHREAD_MUTEX_INITIALIZER};
static _Thread_local bool refused;

void
decode_budget_set(size_t bytes)
{
    ceiling = bytes;
}

size_t
decode_budget_used(void)
{
    size_t used;

    pthread_mutex_lock(&room.lock);
    used = room.used;
    pthread_mutex_unlock(&room.lock);
    return used;
}

bool
decode_budget_take(size_t bytes)
{
    bool taken = true;
    size_t sum;

    pthread_mutex_lock(&room.lock);
    if (ceiling > 0)
        taken = !__builtin_add_overflow(room.used, bytes, &sum) &&
                sum <= ceiling && memory_reserve(&room.reserved, NULL, sum);
    room.used += taken ? bytes : 0;
    pthread_mutex_unlock(&room.lock);
    refused |= !taken;
    return taken;
}

void
decode_budget_give(size_t bytes)
{
    pthread_mutex_lock(&room.lock);
    room.used -= bytes;
    if (ceiling > 0)
        memory_reserve(&room.reserved, NULL, room.used);
    pthread_mutex_unlock(&room.lock);
}

void
decode_budget_begin(void)
{
    refused = false;
}

void
decode_budget_explain(struct error *err)
{
    char now[32] = "how much is not known";
    uint64_t left;

    if (!refused)
        return;
    left = memory_left();
    if (left < UINT64_MAX)
        snprintf(now, sizeof(now), "%llu MB are left now",
                 (unsigned long long)(left >> 20));
    error_set(err, ER_OUT_OF_RESOURCES,
              "Out of resources: all that is decoded at one time may take at "
              "most %zu MB, and half of the free memory (%s): this and what "
              "others decode need more; try again later, or read the file with "
              "heapwire-prof elsewhere",
              ceiling >> 20, now);
}
