/* index_room.h - growing arrays within a ceiling on memory. */
#ifndef HW_INDEX_ROOM_H
#define HW_INDEX_ROOM_H

#include <stdbool.h>
#include <stddef.h>

/* Like dwarf_room_take and dwarf_room_give; take NULL: no ceiling. */
struct index_room {
    bool (*take)(void *arg, size_t size);
    void (*give)(void *arg, size_t size);
    void *arg;
};

bool index_room_take(const struct index_room *room, size_t size);
void index_room_give(const struct index_room *room, size_t size);

/* Makes *array, of *capacity items of size bytes, hold wanted ones; false
 * without room or memory, and nothing has changed. */
bool index_room_grow(const struct index_room *room, void *array,
                     size_t *capacity, size_t wanted, size_t size);
/* Frees it and gives the room back. */
void index_room_drop(const struct index_room *room, void *array,
                     size_t *capacity, size_t size);

#endif
