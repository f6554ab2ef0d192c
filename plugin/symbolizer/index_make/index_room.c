/* index_room.c - see index_room.h. */
#include "index_room.h"

#include <stdint.h>
#include <string.h>

#include "memory.h"

enum { FIRST = 64 };

bool
index_room_take(const struct index_room *room, size_t size)
{
    return !room->take || room->take(room->arg, size);
}

void
index_room_give(const struct index_room *room, size_t size)
{
    if (room->take)
        room->give(room->arg, size);
}

/* By half, not twice: copying is cheap against the memory held. */
bool
index_room_grow(const struct index_room *room, void *array, size_t *capacity,
                size_t wanted, size_t size)
{
    size_t grown = *capacity + *capacity / 2;
    void *old, *new;

    if (wanted <= *capacity)
        return true;
    if (grown < FIRST)
        grown = FIRST;
    if (grown < wanted)
        grown = wanted;
    if (grown > SIZE_MAX / 2 / size ||
        !index_room_take(room, (grown - *capacity) * size))
        return false;
    memcpy(&old, array, sizeof(old));
    new = mem_realloc(old, grown * size);
    if (!new) {
        index_room_give(room, (grown - *capacity) * size);
        return false;
    }
    memcpy(array, &new, sizeof(new));
    *capacity = grown;
    return true;
}

void
index_room_drop(const struct index_room *room, void *array, size_t *capacity,
                size_t size)
{
    void *old;

    memcpy(&old, array, sizeof(old));
    mem_free(old);
    old = NULL;
    memcpy(array, &old, sizeof(old));
    index_room_give(room, *capacity * size);
    *capacity = 0;
}
