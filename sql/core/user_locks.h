/*
 * user_locks.h - the names that sessions of this node lock with GET_LOCK().
 *
 * A connection's id owns a lock, which counts how often it was taken.  Any
 * thread may call these.
 */
#ifndef HW_USER_LOCKS_H
#define HW_USER_LOCKS_H

#include <stdint.h>

#include "reader.h"

enum {
    USER_LOCK_NAME_MAX = 64, /* bytes, compared without case */
    USER_LOCKS_MAX = 256     /* locks of all sessions together */
};

enum user_lock { USER_LOCK_DONE, USER_LOCK_BUSY, USER_LOCK_NONE };

/* BUSY: another owner has it; NONE: all places are taken. */
enum user_lock user_lock_take(struct span name, uint32_t owner);
/* BUSY: another owner has it; NONE: it is not locked. */
enum user_lock user_lock_release(struct span name, uint32_t owner);
/* Releases all locks of owner; returns how many times it had taken them. */
unsigned user_locks_release(uint32_t owner);
/* 0: the name is not locked. */
uint32_t user_lock_owner(struct span name);

#endif
