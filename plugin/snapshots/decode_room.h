/*
 * decode_room.h - the memory that decoding may take: of snapshots that were
 * kept, imported or sent by peers.
 *
 * A few bytes of such a file can stand for a gigabyte, and heapwired shares its
 * cgroup with the database.  So it has a part of what memory_budget.h has for
 * all, and a decoder asks before it takes memory.  Decoded snapshots count as
 * long as they live.  Any thread.
 */
#ifndef HW_DECODE_ROOM_H
#define HW_DECODE_ROOM_H

#include <stdbool.h>
#include <stddef.h>

#include "memory_budget.h"

struct arena_meter;
struct error;

enum { DECODE_ROOM_BYTES = MEMORY_BUDGET_BYTES - MEMORY_BUDGET_KEPT };

/* Sets another ceiling, before anything is decoded; 0: none, and free memory is
 * not checked either. */
void decode_room_set(size_t bytes);

/* false: the ceiling has less left, or less of the machine's or the cgroup's
 * memory would stay free than decoding has taken. */
bool decode_room_take(size_t bytes);
void decode_room_give(size_t bytes);
/* The two, for an arena. */
extern const struct arena_meter decode_room_meter;

/* Fills err if this thread was refused any since it began: why, and what to
 * do. */
void decode_room_begin(void);
void decode_room_explain(struct error *err);

size_t decode_room_used(void);

#endif
