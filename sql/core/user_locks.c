/* user_locks.c - see user_locks.h. */
#include "user_locks.h"

#include <pthread.h>
#include <string.h>
#include <strings.h>

struct lock {
    uint32_t owner; /* 0: the place is free */
    unsigned count;
    char name[USER_LOCK_NAME_MAX + 1];
};

static struct {
    pthread_mutex_t mutex;
    struct lock locks[USER_LOCKS_MAX];
} held = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static struct lock *
find(struct span name)
{
    for (size_t i = 0; i < USER_LOCKS_MAX; i++)
        if (held.locks[i].owner && span_is_nocase(name, held.locks[i].name))
            return &held.locks[i];
    return NULL;
}

static struct lock *
find_place(void)
{
    for (size_t i = 0; i < USER_LOCKS_MAX; i++)
        if (!held.locks[i].owner)
            return &held.locks[i];
    return NULL;
}

enum user_lock
user_lock_take(struct span name, uint32_t owner)
{
    enum user_lock result = USER_LOCK_DONE;
    struct lock *lock;

    pthread_mutex_lock(&held.mutex);
    lock = find(name);
    if (lock && lock->owner != owner) {
        result = USER_LOCK_BUSY;
    } else if (!lock) {
        lock = find_place();
        if (!lock)
            result = USER_LOCK_NONE;
        else
            memcpy(lock->name, name.data, name.size);
    }
    if (result == USER_LOCK_DONE) {
        lock->owner = owner;
        lock->count++;
    }
    pthread_mutex_unlock(&held.mutex);
    return result;
}

enum user_lock
user_lock_release(struct span name, uint32_t owner)
{
    enum user_lock result = USER_LOCK_NONE;
    struct lock *lock;

    pthread_mutex_lock(&held.mutex);
    lock = find(name);
    if (lock)
        result = lock->owner == owner ? USER_LOCK_DONE : USER_LOCK_BUSY;
    if (result == USER_LOCK_DONE && --lock->count == 0)
        memset(lock, 0, sizeof(*lock));
    pthread_mutex_unlock(&held.mutex);
    return result;
}

unsigned
user_locks_release(uint32_t owner)
{
    unsigned count = 0;

    pthread_mutex_lock(&held.mutex);
    for (size_t i = 0; i < USER_LOCKS_MAX; i++)
        if (held.locks[i].owner == owner) {
            count += held.locks[i].count;
            memset(&held.locks[i], 0, sizeof(held.locks[i]));
        }
    pthread_mutex_unlock(&held.mutex);
    return count;
}

uint32_t
user_lock_owner(struct span name)
{
    const struct lock *lock;
    uint32_t owner;

    pthread_mutex_lock(&held.mutex);
    lock = find(name);
    owner = lock ? lock->owner : 0;
    pthread_mutex_unlock(&held.mutex);
    return owner;
}
