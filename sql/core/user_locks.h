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
#include "waker.h"

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

/* One that is woken whenever a lock is released. */
struct user_lock_watch {
    struct waker waker;
    struct user_lock_watch *next;
};

void user_locks_watch(struct user_lock_watch *watch, struct waker waker);
/* It is not woken any more once this returns; fine if it was not watched. */
void user_locks_unwatch(const struct user_lock_watch *watch);

/* 0: the name is not locked. */
uint32_t user_lock_owner(struct span name);

#endif
