/*
 * user_locks.h - the names that sessions of this node lock by GET_LOCK().
 *
 * A connection's id owns a lock, which counts how often it was taken.  Callable
 * from any thread.
 */
#ifndef HW_USER_LOCKS_H
#define HW_USER_LOCKS_H

#include <stdint.h>

#include "reader.h"

enum {
    USER_LOCK_NAME_MAX = 64, /* bytes, compared without case */
    USER_LOCKS_MAX = 256     /* of all sessions together */
};

enum user_lock { USER_LOCK_DONE, USER_LOCK_BUSY, USER_LOCK_NONE };

/* BUSY: another's; NONE: there are too many. */
enum user_lock user_lock_take(struct span name, uint32_t owner);
/* BUSY: another's; NONE: it is not locked. */
enum user_lock user_lock_release(struct span name, uint32_t owner);
/* Returns how many times it had taken any. */
unsigned user_locks_release(uint32_t owner);
/* 0: it is free. */
uint32_t user_lock_owner(struct span name);

#endif
