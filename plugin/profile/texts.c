/* texts.c - see texts.h.  Open addressing over an array of copies. */
#include "texts.h"

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

struct texts {
    struct arena *arena;
    struct entry *entries; /* room of them, count in use */
    uint32_t *slots;       /* 1 + number; twice room */
    uint32_t room, count;
};

static uint32_t
hash_text(const struct texts *texts, const char *text, size_t size)
{
    uint64_t h = hash_mix(hash_seed(texts), size), piece;

    for (; size >= sizeof(piece);
         text += sizeof(piece), size -= sizeof(piece)) {
        memcpy(&piece, text, sizeof(piece));
        h = hash_mix(h, piece);
    }
    piece = 0;
    memcpy(&piece, text, size);
    return (uint32_t)hash_mix(h, piece);
}

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

void
texts_free(struct texts *texts)
{
    if (!texts)
        return;
    mem_free(texts->entries);
    mem_free(texts->slots);
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

int
texts_add(struct texts *texts, const char *text, size_t size, uint32_t *number)
{
    uint32_t hash = hash_text(texts, text, size);
    uint32_t *slot = slot_of(texts, text, size, hash);
    const char *copy;

    if (!*slot) {
        if (texts->count == texts->room && grow(texts) != 0)
            return -1;
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
