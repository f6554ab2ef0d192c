/* dwarf_room.c - see dwarf_room.h. */
#include "dwarf_room.h"

#include <stdint.h>
#include <string.h>

#include "memory.h"

enum { ITEMS_FIRST = 64 };

bool
dwarf_room_try(struct dwarf_room *room, size_t size)
{
    size_t used, peak;

    used = atomic_load_explicit(&room->used, memory_order_relaxed);
    do { /* A refused size must not count even for a moment. */
        if (size > room->max - used)
            return false;
    } while (!atomic_compare_exchange_weak_explicit(
        &room->used, &used, used + size, memory_order_relaxed,
        memory_order_relaxed));
    peak = atomic_load_explicit(&room->peak, memory_order_relaxed);
    while (used + size > peak &&
           !atomic_compare_exchange_weak_explicit(
               &room->peak, &peak, used + size, memory_order_relaxed,
               memory_order_relaxed))
        ;
    return true;
}

bool
dwarf_room_take(struct dwarf_room *room, size_t size)
{
    if (dwarf_room_try(room, size))
        return true;
    dwarf_room_refuse(room);
    return false;
}

void
dwarf_room_give(struct dwarf_room *room, size_t size)
{
    atomic_fetch_sub_explicit(&room->used, size, memory_order_relaxed);
}

void
dwarf_room_refuse(struct dwarf_room *room)
{
    atomic_fetch_add_explicit(&room->refused, 1, memory_order_relaxed);
}

size_t
dwarf_room_refused(struct dwarf_room *room)
{
    return atomic_load_explicit(&room->refused, memory_order_relaxed);
}

size_t
dwarf_room_peak(struct dwarf_room *room)
{
    return atomic_load_explicit(&room->peak, memory_order_relaxed);
}

/* By half, not twice: copying is cheap against the memory held. */
bool
dwarf_room_grow(struct dwarf_room *room, void *array, size_t *capacity,
                size_t wanted, size_t size)
{
    size_t grown = *capacity + *capacity / 2;
    void *old, *new;

    if (wanted <= *capacity)
        return true;
    if (grown < ITEMS_FIRST)
        grown = ITEMS_FIRST;
    if (grown < wanted)
        grown = wanted;
    if (grown > SIZE_MAX / 2 / size ||
        !dwarf_room_take(room, (grown - *capacity) * size))
        return false;
    memcpy(&old, array, sizeof(old));
    new = mem_realloc(old, grown * size);
    if (!new) {
        dwarf_room_give(room, (grown - *capacity) * size);
        return false;
    }
    memcpy(array, &new, sizeof(new));
    *capacity = grown;
    return true;
}

void
dwarf_room_drop(struct dwarf_room *room, void *array, size_t *capacity,
                size_t size)
{
    void *old;

    memcpy(&old, array, sizeof(old));
    mem_free(old);
    old = NULL;
    memcpy(array, &old, sizeof(old));
    dwarf_room_give(room, *capacity * size);
    *capacity = 0;
}
