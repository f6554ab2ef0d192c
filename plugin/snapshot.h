/*
 * snapshot.h - one heap profile with everything needed to read it later.
 *
 * Immutable once made and shared by reference count (atomic).
 */
#ifndef HW_SNAPSHOT_H
#define HW_SNAPSHOT_H

#include <stdint.h>

#include "agent_protocol.h"

enum { SNAPSHOT_NAME_MAX = 64 };

struct profile;

struct snapshot {
    char name[SNAPSHOT_NAME_MAX + 1]; /* [a-z0-9_]{1,64} */
    int64_t taken_ms;                 /* wall clock */
    struct agent_hello hello;         /* incarnation, rate, active since, ... */
    struct profile *profile;
    int references; /* atomic */
};

struct snapshot *snapshot_new(void); /* one reference; NULL: no memory */
struct snapshot *snapshot_ref(struct snapshot *snapshot);
void snapshot_unref(struct snapshot *snapshot); /* NULL is fine */

#endif
