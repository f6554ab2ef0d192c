/* texts.c - see texts.h.  Open addressing over an array of copies, and over
 * the places of texts that last. */
#include "texts.h"

#include <stdbool.h>
#include <string.h>

#include "arena.h"
#include "hash.h"
#include "memory.h"

enum { ROOM_FIRST = 256, ROOM_MAX = 1 << 24 }; /* powers of two */

struct entry {
    const char *text;
    size_t size;
    uint32_t hash;
};

struct place {
    const char *text; /* NULL: free */
    uint32_t number;
};

struct texts {
    struct arena *arena;
    struct entry *entries; /* room of them, count in use */
    uint32_t *slots;       /* 1 + number; twice room */
    uint32_t room, count;
    struct place *places; /* place_room of them, at most half in use */
    uint32_t place_room, place_count;
    bool borrows;
};

struct texts *
texts_new(struct arena *arena)
{
    struct texts *texts = mem_zalloc(1, sizeof(*texts));

    if (!texts)
        return NULL;
    texts->arena = arena;
    texts->room = ROOM_FIRST;
    texts->entries = mem_zalloc(ROOM_FIRST, sizeof(*texts->entries));
    texts->slots = mem_zalloc((size_t)ROOM_FIRST * 2, sizeof(*texts->slots));
    if (!texts->entries || !texts->slots) {
        texts_free(texts);
        return NULL;
    }
    return texts;
}

struct texts *
texts_new_borrowing(struct arena *arena)
{
    struct texts *texts = texts_new(arena);

    if (texts)
        texts->borrows = true;
    return texts;
}

void
texts_free(struct texts *texts)
{
    if (!texts)
        return;
    mem_free(texts->entries);
    mem_free(texts->slots);
    mem_free(texts->places);
    mem_free(texts);
}

static uint32_t *
slot_of(const struct texts *texts, const char *text, size_t size, uint32_t hash)
{
    uint32_t mask = texts->room * 2 - 1, i = hash & mask;

    for (; texts->slots[i]; i = (i + 1) & mask) {
        const struct entry *e = &texts->entries[texts->slots[i] - 1];

        if (e->hash == hash && e->size == size &&
            memcmp(e->text, text, size) == 0)
            break;
    }
    return &texts->slots[i];
}

static int
grow(struct texts *texts)
{
    uint32_t room = texts->room * 2;
    struct entry *entries;
    uint32_t *slots;

    if (room > ROOM_MAX)
        return -1;
    entries = mem_realloc(texts->entries, room * sizeof(*entries));
    if (!entries)
        return -1;
    texts->entries = entries;
    slots = mem_zalloc((size_t)room * 2, sizeof(*slots));
    if (!slots)
        return -1;
    mem_free(texts->slots);
    texts->slots = slots;
    texts->room = room;
    for (uint32_t i = 0; i < texts->count; i++) {
        const struct entry *e = &entries[i];

        *slot_of(texts, e->text, e->size, e->hash) = i + 1;
    }
    return 0;
}

static int
add(struct texts *texts, const char *text, size_t size, bool borrow,
    uint32_t *number)
{
    uint32_t hash = (uint32_t)hash_bytes(hash_seed(texts), text, size);
    uint32_t *slot = slot_of(texts, text, size, hash);
    const char *copy = text;

    if (!*slot) {
        if (texts->count == texts->room && grow(texts) != 0)
            return -1;
        if (!borrow)
            copy = arena_strndup(texts->arena, text, size);
        if (!copy)
            return -1;
        slot = slot_of(texts, text, size, hash);
        texts->entries[texts->count] = (struct entry){copy, size, hash};
        *slot = ++texts->count;
    }
    *number = *slot - 1;
    return 0;
}

int
texts_add(struct texts *texts, const char *text, size_t size, uint32_t *number)
{
    return add(texts, text, size, false, number);
}

static struct place *
place_of(struct place *places, uint32_t room, const struct texts *texts,
         const char *text)
{
    uint32_t mask = room - 1;
    uint32_t i = (uint32_t)hash_mix(hash_seed(texts), (uintptr_t)text) & mask;

    while (places[i].text && places[i].text != text)
        i = (i + 1) & mask;
    return &places[i];
}

static int
grow_places(struct texts *texts)
{
    uint32_t room = texts->place_room ? texts->place_room * 2 : ROOM_FIRST;
    struct place *places;

    if (room > ROOM_MAX)
        return -1;
    places = mem_zalloc(room, sizeof(*places));
    if (!places)
        return -1;
    for (uint32_t i = 0; i < texts->place_room; i++)
        if (texts->places[i].text)
            *place_of(places, room, texts, texts->places[i].text) =
                texts->places[i];
    mem_free(texts->places);
    texts->places = places;
    texts->place_room = room;
    return 0;
}

int
texts_add_lasting(struct texts *texts, const char *text, uint32_t *number)
{
    struct place *place;

    if (texts->place_count * 2 >= texts->place_room && grow_places(texts) != 0)
        return -1;
    place = place_of(texts->places, texts->place_room, texts, text);
    if (!place->text) {
        if (add(texts, text, strlen(text), texts->borrows, &place->number) != 0)
            return -1;
        place->text = text;
        texts->place_count++;
    }
    *number = place->number;
    return 0;
}

void
texts_forget_places(struct texts *texts)
{
    if (texts->place_count > 0)
        memset(texts->places, 0, texts->place_room * sizeof(*texts->places));
    texts->place_count = 0;
}

const char *
texts_get(const struct texts *texts, uint32_t number)
{
    return texts->entries[number].text;
}

uint32_t
texts_count(const struct texts *texts)
{
    return texts->count;
}

size_t
texts_memory(const struct texts *texts)
{
    return sizeof(*texts) +
           texts->room * (sizeof(*texts->entries) + 2 * sizeof(*texts->slots)) +
           texts->place_room * sizeof(*texts->places);
}
