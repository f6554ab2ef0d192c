/* index_texts.c - see index_texts.h. */
#include "index_texts.h"

#include <string.h>

#include "arena.h"
#include "hash.h"
#include "index_blocks.h"
#include "index_pack.h"
#include "memory.h"

bool
index_texts_init(struct index_texts *texts)
{
    texts->room = INDEX_TEXTS_FIRST;
    texts->places = mem_zalloc(INDEX_TEXTS_FIRST, sizeof(*texts->places));
    texts->arena = arena_new(INDEX_TEXTS_BYTES);
    return texts->places && texts->arena;
}

void
index_texts_fini(struct index_texts *texts)
{
    mem_free(texts->places);
    arena_free(texts->arena);
    memset(texts, 0, sizeof(*texts));
}

static struct index_text *
place_of(struct index_text *places, uint32_t room, uint64_t key)
{
    uint32_t i = (uint32_t)hash_mix(hash_seed(places), key) & (room - 1);

    while (places[i].key != 0 && places[i].key != key)
        i = (i + 1) & (room - 1);
    return &places[i];
}

static bool
grow(struct index_texts *texts)
{
    uint32_t room = texts->room * 2;
    struct index_text *places;

    if (room > INDEX_TEXTS_BYTES / sizeof(*places))
        return false;
    places = mem_zalloc(room, sizeof(*places));
    if (!places)
        return false;
    for (uint32_t i = 0; i < texts->room; i++)
        if (texts->places[i].key != 0)
            *place_of(places, room, texts->places[i].key) = texts->places[i];
    mem_free(texts->places);
    texts->places = places;
    texts->room = room;
    return true;
}

/* Unpacks up to the item-th text, whose place in bytes is [*start, *end):
 * sizes come first. */
static bool
unpack(const struct index_group *group, uint32_t item,
       char bytes[INDEX_PACK_MAX + INDEX_PACK_SPARE], size_t *start,
       size_t *end)
{
    struct reader r = group->texts;
    size_t sum = 0;

    *start = *end = 0;
    for (uint32_t i = 0; i < group->items; i++) {
        uint64_t size = index_leb(&r);

        if (r.failed || size > INDEX_TEXT_MAX || size > INDEX_PACK_MAX - sum)
            return false;
        sum += (size_t)size;
        if (i < item)
            *start = sum;
        if (i == item)
            *end = sum;
    }
    return index_unpack(&r, bytes, sum, *end);
}

bool
index_texts_get(struct index_texts *texts, struct index_blocks *blocks,
                enum index_section section, uint64_t number, struct span *text)
{
    uint64_t key = number * INDEX_SECTIONS + section;
    const struct index_group *group;
    char bytes[INDEX_PACK_MAX + INDEX_PACK_SPARE];
    struct index_text *place;
    size_t start, end;

    text->data = "";
    text->size = 0;
    if (number == 0)
        return true;
    place = place_of(texts->places, texts->room, key);
    if (place->key == key) {
        *text = place->text;
        return true;
    }
    group = index_blocks_find(blocks, section, number);
    if (!group ||
        !unpack(group, (uint32_t)(number - group->first), bytes, &start, &end))
        return false;
    if (texts->count * 2 >= texts->room && !grow(texts))
        return false;
    text->data = arena_strndup(texts->arena, bytes + start, end - start);
    if (!text->data)
        return false;
    text->size = end - start;
    *place_of(texts->places, texts->room, key) =
        (struct index_text){key, *text};
    texts->count++;
    return true;
}
