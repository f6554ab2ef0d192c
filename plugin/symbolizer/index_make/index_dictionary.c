/* index_dictionary.c - see index_dictionary.h. */
#include "index_dictionary.h"

#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "dwarf_room.h"
#include "hash.h"
#include "symbol_index_format.h"

enum { FIRST_PLACES = 1 << 10 };

bool
index_dictionary_init(struct index_dictionary *dictionary,
                      struct dwarf_room *room)
{
    memset(dictionary, 0, sizeof(*dictionary));
    dictionary->room = room;
    dictionary->arena = arena_new(SIZE_MAX / 2);
    return dictionary->arena &&
           index_dictionary_add(dictionary, (struct span){"", 0}) == 0;
}

void
index_dictionary_fini(struct index_dictionary *dictionary)
{
    if (!dictionary->room)
        return;
    arena_free(dictionary->arena);
    dwarf_room_give(dictionary->room, dictionary->arena_charged);
    dwarf_room_drop(dictionary->room, &dictionary->words,
                    &dictionary->words_capacity, sizeof(*dictionary->words));
    dwarf_room_drop(dictionary->room, &dictionary->places,
                    &dictionary->places_capacity, sizeof(*dictionary->places));
    dwarf_room_drop(dictionary->room, &dictionary->sorted,
                    &dictionary->sorted_capacity, sizeof(*dictionary->sorted));
    memset(dictionary, 0, sizeof(*dictionary));
}

static uint64_t
hash_of(const struct index_dictionary *dictionary, struct span text)
{
    uint64_t h = hash_mix(hash_seed(dictionary), text.size), last = 0;

    for (; text.size >= 8; text.data += 8, text.size -= 8)
        h = hash_mix(h, index_load((const uint8_t *)text.data));
    if (text.size)
        memcpy(&last, text.data, text.size);
    return hash_mix(h, last);
}

static bool
is_word(const struct index_word *word, struct span text)
{
    return word->size == text.size &&
           (text.size == 0 || memcmp(word->data, text.data, text.size) == 0);
}

/* Doubles the places when half of them are taken. */
static bool
more_places(struct index_dictionary *dictionary)
{
    size_t wanted = dictionary->places_capacity
                        ? dictionary->places_capacity * 2
                        : FIRST_PLACES;
    uint32_t *places = NULL;
    size_t capacity = 0;

    if (dictionary->count < dictionary->places_capacity / 2)
        return true;
    if (!dwarf_room_grow(dictionary->room, &places, &capacity, wanted,
                         sizeof(*places)))
        return false;
    memset(places, 0, capacity * sizeof(*places));
    for (size_t i = 0; i < dictionary->count; i++) {
        const struct index_word *word = &dictionary->words[i];
        struct span text = {word->data, word->size};
        size_t k = (size_t)(hash_of(dictionary, text) % capacity);

        while (places[k])
            k = (k + 1) % capacity;
        places[k] = (uint32_t)i + 1;
    }
    dwarf_room_drop(dictionary->room, &dictionary->places,
                    &dictionary->places_capacity, sizeof(*places));
    dictionary->places = places;
    dictionary->places_capacity = capacity;
    return true;
}

uint32_t
index_dictionary_add(struct index_dictionary *dictionary, struct span text)
{
    struct index_word *word;
    size_t i;

    text.size = text.size ? strnlen(text.data, text.size) : 0;
    if (text.size > INDEX_TEXT_MAX)
        text.size = INDEX_TEXT_MAX;
    if (!more_places(dictionary))
        return UINT32_MAX;
    i = (size_t)(hash_of(dictionary, text) % dictionary->places_capacity);
    for (; dictionary->places[i]; i = (i + 1) % dictionary->places_capacity)
        if (is_word(&dictionary->words[dictionary->places[i] - 1], text))
            return dictionary->places[i] - 1;
    if (dictionary->count >= INDEX_ITEMS_MAX ||
        !dwarf_room_grow(dictionary->room, &dictionary->words,
                         &dictionary->words_capacity, dictionary->count + 1,
                         sizeof(*word)) ||
        !dwarf_room_take(dictionary->room, text.size + 1))
        return UINT32_MAX;
    dictionary->arena_charged += text.size + 1;
    word = &dictionary->words[dictionary->count];
    word->data = arena_strndup(dictionary->arena, text.data, text.size);
    word->size = (uint32_t)text.size;
    word->rank = 0;
    if (!word->data)
        return UINT32_MAX;
    dictionary->places[i] = (uint32_t)++dictionary->count;
    return (uint32_t)dictionary->count - 1;
}

void
index_dictionary_use(struct index_dictionary *dictionary, uint32_t number)
{
    dictionary->words[number].rank = 1;
}

static int
compare(const void *a, const void *b, void *arg)
{
    const struct index_word *words = arg;
    const struct index_word *x = &words[*(const uint32_t *)a];
    const struct index_word *y = &words[*(const uint32_t *)b];
    int order = memcmp(x->data, y->data, x->size < y->size ? x->size : y->size);

    return order ? order : (x->size > y->size) - (x->size < y->size);
}

bool
index_dictionary_rank(struct index_dictionary *dictionary)
{
    size_t n = 0;

    index_dictionary_use(dictionary, 0);
    if (!dwarf_room_grow(dictionary->room, &dictionary->sorted,
                         &dictionary->sorted_capacity, dictionary->count,
                         sizeof(*dictionary->sorted)))
        return false;
    for (size_t i = 0; i < dictionary->count; i++)
        if (dictionary->words[i].rank)
            dictionary->sorted[n++] = (uint32_t)i;
    qsort_r(dictionary->sorted, n, sizeof(*dictionary->sorted), compare,
            dictionary->words);
    for (size_t i = 0; i < n; i++)
        dictionary->words[dictionary->sorted[i]].rank = (uint32_t)i;
    dictionary->sorted_count = n;
    return true;
}

struct span
index_dictionary_word(const struct index_dictionary *dictionary, size_t rank)
{
    const struct index_word *word =
        &dictionary->words[dictionary->sorted[rank]];

    return (struct span){word->data, word->size};
}
