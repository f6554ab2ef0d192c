/*
 * user_locks.c - the locks of GET_LOCK() and RELEASE_LOCK(), which migration
 * tools take before they change something.
 *
 * They are names in one table of the process and guard nothing of heapwire's.
 * GET_LOCK() with a timeout waits in its own statement: it registers a watch,
 * tries again whenever any lock is released, and so needs no queue per lock.
 * All locks share one mutex; it is held for a scan of at most USER_LOCKS_MAX
 * slots.
 */
#include "sql_session.h"

#include <pthread.h>
#include <string.h>
#include <strings.h>

struct lock {
    /* NULL: the slot is free.  Not the connection's id: a statement that
     * another node forwards has the id of its caller there. */
    const struct sql_session *owner;
    unsigned count;
    char name[USER_LOCK_NAME_MAX + 1];
};

/* All of it is guarded by the mutex. */
static struct {
    pthread_mutex_t mutex;
    struct lock locks[USER_LOCKS_MAX];
    struct user_lock_watch *watches;
} held = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static struct lock *
find_user_lock(struct span name)
{
    for (size_t i = 0; i < USER_LOCKS_MAX; i++)
        if (held.locks[i].owner && span_is_nocase(name, held.locks[i].name))
            return &held.locks[i];
    return NULL;
}

static struct lock *
find_free_user_lock(void)
{
    for (size_t i = 0; i < USER_LOCKS_MAX; i++)
        if (!held.locks[i].owner)
            return &held.locks[i];
    return NULL;
}

static void
clear_user_lock(struct lock *lock)
{
    memset(lock, 0, sizeof(*lock));
    /* Wakes all waiters, whichever name they wait for: they are few, and each
     * looks again. wake() only posts a notification, so it may be called under
     * the mutex. */
    for (struct user_lock_watch *w = held.watches; w; w = w->next)
        w->waker.wake(w->waker.arg);
}

enum user_lock
user_lock_take(struct span name, const struct sql_session *owner)
{
    enum user_lock result = USER_LOCK_DONE;
    struct lock *lock;

    pthread_mutex_lock(&held.mutex);
    lock = find_user_lock(name);
    if (lock && lock->owner != owner) {
        result = USER_LOCK_BUSY;
    } else if (!lock) {
        lock = find_free_user_lock();
        if (!lock)
            result = USER_LOCK_NONE;
        else
            memcpy(lock->name, name.data, name.size);
    }
    /* An owner may take a lock several times and must release it as often, as
     * in MySQL since 5.7. */
    if (result == USER_LOCK_DONE) {
        lock->owner = owner;
        lock->count++;
    }
    pthread_mutex_unlock(&held.mutex);
    return result;
}

enum user_lock
user_lock_release(struct span name, const struct sql_session *owner)
{
    enum user_lock result = USER_LOCK_NONE;
    struct lock *lock;

    pthread_mutex_lock(&held.mutex);
    lock = find_user_lock(name);
    if (lock)
        result = lock->owner == owner ? USER_LOCK_DONE : USER_LOCK_BUSY;
    if (result == USER_LOCK_DONE && --lock->count == 0)
        clear_user_lock(lock);
    pthread_mutex_unlock(&held.mutex);
    return result;
}

unsigned
user_locks_release(const struct sql_session *owner)
{
    unsigned count = 0;

    pthread_mutex_lock(&held.mutex);
    for (size_t i = 0; i < USER_LOCKS_MAX; i++)
        if (held.locks[i].owner == owner) {
            count += held.locks[i].count;
            clear_user_lock(&held.locks[i]);
        }
    pthread_mutex_unlock(&held.mutex);
    return count;
}

void
user_locks_watch(struct user_lock_watch *watch, struct waker waker)
{
    watch->waker = waker;
    pthread_mutex_lock(&held.mutex);
    watch->next = held.watches;
    held.watches = watch;
    pthread_mutex_unlock(&held.mutex);
}

/* Taking the mutex also waits for a clear_user_lock() that is just waking the
 * watch, so the caller may free it afterwards. */
void
user_locks_unwatch(const struct user_lock_watch *watch)
{
    struct user_lock_watch **at = &held.watches;

    pthread_mutex_lock(&held.mutex);
    while (*at && *at != watch)
        at = &(*at)->next;
    if (*at)
        *at = watch->next;
    pthread_mutex_unlock(&held.mutex);
}

uint32_t
user_lock_owner(struct span name)
{
    const struct lock *lock;
    uint32_t owner;

    pthread_mutex_lock(&held.mutex);
    lock = find_user_lock(name);
    owner = lock ? lock->owner->connection_id : 0;
    pthread_mutex_unlock(&held.mutex);
    return owner;
}
