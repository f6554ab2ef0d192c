/* dwarf_room.c - see dwarf_room.h. */
#include "dwarf_room.h"

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
