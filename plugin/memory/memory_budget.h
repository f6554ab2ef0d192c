/*
 * memory_budget.h - the memory that clients may make heapwired take, in one
 * account: packets and statements under way, prepared statements, replies that
 * nobody reads yet, SELECTs, and what is decoded.
 *
 * One ceiling for all, because one for each kind is as many times the memory as
 * there are kinds, and heapwired shares its cgroup with the database; and no
 * more than half of the memory that was free there and on the machine.  Users
 * share it as share.h says: a user gets more while it holds less than is free.
 * What decodes holds for nobody, and leaves MEMORY_BUDGET_KEPT to users.  Any
 * thread.
 */
#ifndef HW_MEMORY_BUDGET_H
#define HW_MEMORY_BUDGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    MEMORY_BUDGET_BYTES = 256 << 20,
    MEMORY_BUDGET_KEPT = 64 << 20,
    MEMORY_BUDGET_SMALL = 64 << 10 /* what always fits, of each holder */
};

struct error;

/* What one holder has of it; zeroed: nothing.  Its owner is who took the first
 * byte, until it holds nothing. */
struct memory_hold {
    size_t bytes;
    unsigned user; /* place of the owner */
};

/* It holds so many bytes now; owner NULL: decoding.  False: it may not, and
 * holds what it did.  Fewer bytes, and small ones, are never refused. */
bool memory_hold(struct memory_hold *hold, const char *owner, size_t bytes);
/* The same, for bytes that are there already. */
void memory_hold_all(struct memory_hold *hold, const char *owner, size_t bytes);
size_t memory_budget_used(void);
/* Sets 1037: why what was refused. */
void memory_budget_explain(struct error *err, const char *what);

/* How many bytes are free, of the machine's or of our cgroup's; file pages that
 * the kernel can take back included; UINT64_MAX: unknown. */
uint64_t memory_left(void);

/* The machine's: MemAvailable of a text as /proc/meminfo has it. */
uint64_t memory_left_of(const char *meminfo, size_t size);

#endif
