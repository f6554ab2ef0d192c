/*
 * memory_budget.h - the memory that clients may make heapwired take, in one
 * account: packets and statements under way, prepared statements, replies that
 * nobody reads yet, SELECTs, and what is decoded.
 *
 * One ceiling for all, because one for each kind is as many times the memory as
 * there are kinds, and heapwired shares its cgroup with the database; and no
 * more than half of the memory that was free there and on the machine.  Users
 * share it as user_quota.h says: a user gets more while it holds less than is
 * free.  What decodes holds for nobody, and leaves MEMORY_BUDGET_KEPT to users.
 * Any thread.
 */
#ifndef HW_MEMORY_BUDGET_H
#define HW_MEMORY_BUDGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena_meter;
struct error;

enum {
    MEMORY_BUDGET_BYTES = 256 << 20,
    MEMORY_BUDGET_KEPT = 64 << 20,
    MEMORY_BUDGET_SMALL = 64 << 10 /* what always fits, of each one */
};

struct error;

/* One user's part of it; zeroed: nothing.  Its owner is who took the first
 * byte, until it is empty. */
struct memory_reservation {
    size_t bytes;
    unsigned user; /* index of the owner */
};

/* Sets the reservation to so many bytes; owner NULL: decoding.  False: refused,
 * and the reservation is as before.  Fewer bytes, and small ones, are never
 * refused. */
bool memory_reserve(struct memory_reservation *reservation, const char *owner,
                    size_t bytes);
/* The same, for bytes that are there already. */
void memory_charge(struct memory_reservation *reservation, const char *owner,
                   size_t bytes);
size_t memory_budget_used(void);
/* Sets 1037: why what was refused. */
void memory_budget_explain(struct error *err, const char *what);

/* How many bytes are free, of the machine's or of our cgroup's; file pages that
 * the kernel can take back included; UINT64_MAX: unknown. */
uint64_t memory_left(void);
/* Of the machine's alone. */
uint64_t memory_left_machine(void);

/* Bytes of MemAvailable in a text in the form of /proc/meminfo; UINT64_MAX: it
 * has none. */
uint64_t memory_left_of(const char *meminfo, size_t size);

/*
 * The memory that decoding may take: of snapshots that were kept, imported or
 * sent by peers.
 *
 * A few bytes of such a file can stand for a gigabyte, and heapwired shares its
 * cgroup with the database.  So decoding has a part of the budget above, and a
 * decoder asks before it takes memory.  Decoded snapshots count as long as they
 * live.  Any thread.
 */

/* Sets another ceiling, before anything is decoded; 0: none, and free memory is
 * not checked either. */
void decode_budget_set(size_t bytes);

/* false: the ceiling has less left, or less of the machine's or the cgroup's
 * memory would stay free than decoding has taken. */
bool decode_budget_take(size_t bytes);
void decode_budget_give(size_t bytes);

/* decode_budget_take and decode_budget_give, for an arena. */
extern const struct arena_meter decode_budget_meter;

/* Around a decoding, on one thread: explain fills err, if the budget refused
 * memory since begin, with why and what to do. */
void decode_budget_begin(void);
void decode_budget_explain(struct error *err);
size_t decode_budget_used(void);

#endif
