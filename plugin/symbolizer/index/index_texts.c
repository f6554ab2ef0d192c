/* index_texts.c - see index_texts.h. */
#include "index_texts.h"

#include <string.h>

#include "arena.h"
#include "hash.h"
#include "index_blocks.h"
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

/* Each text is put together from the one before it. */
static bool
decode(struct reader r, uint64_t count, char text[INDEX_TEXT_MAX], size_t *size)
{
    *size = 0;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t start = index_leb(&r), end = index_leb(&r);
        uint64_t middle = index_leb(&r);
        struct span bytes;

        if (r.failed || start > *size || end > *size - start ||
            middle > INDEX_TEXT_MAX - start - end)
            return false;
        bytes = reader_bytes(&r, (size_t)middle);
        if (r.failed)
            return false;
        memmove(text + start + middle, text + *size - end, (size_t)end);
        if (middle)
            memcpy(text + start, bytes.data, (size_t)middle);
        *size = (size_t)(start + middle + end);
    }
    return true;
}

bool
index_texts_get(struct index_texts *texts, struct index_blocks *blocks,
                enum index_section section, uint64_t number, struct span *text)
{
    uint64_t key = number * INDEX_SECTIONS + section;
    size_t i = (size_t)hash_mix(hash_seed(texts), key) % INDEX_TEXTS_KEPT;
    const struct index_group *group;
    char bytes[INDEX_TEXT_MAX], *copy;
    size_t size;

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
        !decode(group->texts, number - group->first + 1, bytes, &size))
        return false;
    copy = arena_strndup(texts->arena, bytes, size);
    if (!copy)
        return false;
    text->data = copy;
    text->size = size;
    texts->places[i].key = key;
    texts->places[i].text = *text;
    texts->count++;
    return true;
}
