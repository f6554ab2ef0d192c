/* index_raw_names.c - see index_raw_names.h. */
#include "index_raw_names.h"

#include <string.h>

#include "hash.h"
#include "index_room.h"

enum { FIRST_PLACES = 1 << 10, NAMES_MAX = 1 << 28 };

void
index_raw_names_init(struct index_raw_names *names,
                     const struct index_room *room)
{
    memset(names, 0, sizeof(*names));
    names->room = room;
}

void
index_raw_names_fini(struct index_raw_names *names)
{
    if (!names->room)
        return;
    index_room_drop(names->room, &names->list, &names->capacity,
                    sizeof(*names->list));
    index_room_drop(names->room, &names->places, &names->places_capacity,
                    sizeof(*names->places));
    names->count = 0;
}

static size_t
place_of(const struct index_raw_names *names, const char *text, bool linkage,
         size_t capacity)
{
    uint64_t h = hash_mix(hash_seed(names), (uint64_t)(uintptr_t)text);

    return (size_t)((h ^ linkage) % capacity);
}

static bool
more_places(struct index_raw_names *names)
{
    size_t wanted =
        names->places_capacity ? names->places_capacity * 2 : FIRST_PLACES;
    uint32_t *places = NULL;
    size_t capacity = 0;

    if (names->count < names->places_capacity / 2)
        return true;
    if (!index_room_grow(names->room, &places, &capacity, wanted,
                         sizeof(*places)))
        return false;
    memset(places, 0, capacity * sizeof(*places));
    for (size_t i = 0; i < names->count; i++) {
        size_t k = place_of(names, names->list[i].text.data,
                            names->list[i].linkage, capacity);

        while (places[k])
            k = (k + 1) % capacity;
        places[k] = (uint32_t)i + 1;
    }
    index_room_drop(names->room, &names->places, &names->places_capacity,
                    sizeof(*places));
    names->places = places;
    names->places_capacity = capacity;
    return true;
}

uint32_t
index_raw_names_add(struct index_raw_names *names, struct span text,
                    bool linkage, bool *added)
{
    const struct index_raw_name *known;
    size_t i;

    *added = false;
    if (!more_places(names))
        return UINT32_MAX;
    i = place_of(names, text.data, linkage, names->places_capacity);
    for (; names->places[i]; i = (i + 1) % names->places_capacity) {
        known = &names->list[names->places[i] - 1];
        if (known->text.data == text.data && known->text.size == text.size &&
            known->linkage == linkage)
            return names->places[i] - 1;
    }
    if (names->count >= NAMES_MAX ||
        !index_room_grow(names->room, &names->list, &names->capacity,
                         names->count + 1, sizeof(*names->list)))
        return UINT32_MAX;
    names->list[names->count] = (struct index_raw_name){text, 0, linkage};
    names->places[i] = (uint32_t)++names->count;
    *added = true;
    return (uint32_t)names->count - 1;
}
