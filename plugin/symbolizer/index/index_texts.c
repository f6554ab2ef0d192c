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
    texts->places = mem_zalloc(INDEX_TEXTS_KEPT, sizeof(*texts->places));
    texts->arena = arena_new(INDEX_TEXTS_BYTES + INDEX_TEXTS_ASK_BYTES);
    return texts->places && texts->arena;
}

void
index_texts_fini(struct index_texts *texts)
{
    mem_free(texts->places);
    arena_free(texts->arena);
    memset(texts, 0, sizeof(*texts));
}

void
index_texts_begin(struct index_texts *texts)
{
    if (texts->count <= INDEX_TEXTS_KEPT / 2 &&
        arena_used(texts->arena) <= INDEX_TEXTS_BYTES)
        return;
    memset(texts->places, 0, INDEX_TEXTS_KEPT * sizeof(*texts->places));
    texts->count = 0;
    arena_clear(texts->arena);
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
    size_t i = (size_t)(hash_mix(hash_seed(texts), key) % INDEX_TEXTS_KEPT);
    const struct index_group *group;
    char bytes[INDEX_PACK_MAX + INDEX_PACK_SPARE];
    size_t start, end;

    text->data = "";
    text->size = 0;
    if (number == 0)
        return true;
    for (; texts->places[i].key != 0; i = (i + 1) % INDEX_TEXTS_KEPT)
        if (texts->places[i].key == key) {
            *text = texts->places[i].text;
            return true;
        }
    group = index_blocks_find(blocks, section, number);
    if (!group ||
        !unpack(group, (uint32_t)(number - group->first), bytes, &start, &end))
        return false;
    text->data = arena_strndup(texts->arena, bytes + start, end - start);
    if (!text->data)
        return false;
    text->size = end - start;
    texts->places[i].key = key;
    texts->places[i].text = *text;
    texts->count++;
    return true;
}
