/*
 * texts.c - numbers texts for profiles, names and snapshot files.
 *
 * A profile names the same functions in very many frames, and most of
 * them by pointers to texts that live as long as the set.  So there are two
 * open hash tables: one by content, which compares texts, and one by address,
 * which answers for a pointer seen before without reading the text.  Both
 * tables double when they are half full, for which the arena that holds the
 * copies is charged; what a larger table replaces stays charged until the arena
 * is freed.  Texts come from the
 * database: hashes are seeded (hash.h).  Not thread-safe.
 */
#include "texts.h"

#include <string.h>

#include "arena.h"
#include "hash.h"
#include "memory.h"

enum { FIRST_CAPACITY = 256 }; /* a power of two, as TEXTS_MAX is */

struct entry {
    const char *text;
    size_t size;
};

struct address_slot {
    const char *text; /* NULL: free */
    uint32_t number;
};

struct texts {
    struct arena *arena;
    struct entry *entries;   /* capacity of them, count in use */
    struct hash_index index; /* of entries */
    uint32_t capacity, count;
    struct address_slot
        *address_slots; /* address_slot_capacity of them, at most half in use */
    uint32_t address_slot_capacity, address_slot_count;
    bool borrows, unique_addresses;
};

struct texts *
texts_new(struct arena *arena)
{
    struct texts *texts = mem_zalloc(1, sizeof(*texts));

    if (!texts)
        return NULL;
    texts->arena = arena;
    texts->capacity = FIRST_CAPACITY;
    texts->entries = mem_zalloc(FIRST_CAPACITY, sizeof(*texts->entries));
    if (!texts->entries ||
        hash_index_reserve(&texts->index, FIRST_CAPACITY) != 0) {
        texts_free(texts);
        return NULL;
    }
    return texts;
}

struct texts *
texts_new_borrowing(struct arena *arena, bool unique_addresses)
{
    struct texts *texts = texts_new(arena);

    if (texts) {
        texts->borrows = true;
        texts->unique_addresses = unique_addresses;
    }
    return texts;
}

void
texts_free(struct texts *texts)
{
    if (!texts)
        return;
    mem_free(texts->entries);
    hash_index_fini(&texts->index);
    mem_free(texts->address_slots);
    mem_free(texts);
}

static struct hash_slot *
find_text_slot(const struct texts *texts, const char *text, size_t size,
               uint32_t hash)
{
    struct hash_slot *slot = hash_index_first(&texts->index, hash);

    for (; slot->entry; slot = hash_index_next(&texts->index, slot)) {
        const struct entry *e = &texts->entries[slot->entry - 1];

        if (e->size == size && memcmp(e->text, text, size) == 0)
            break;
    }
    return slot;
}

/* Asks the meter first, so that a hostile import is refused before memory runs
 * out.  If the second table fails, the set is still whole, with the old
 * capacity. */
static int
grow_text_tables(struct texts *texts)
{
    uint32_t room = texts->capacity * 2;
    struct entry *entries;

    if (room > TEXTS_MAX)
        return -1;
    if (!arena_charge(texts->arena,
                      room * sizeof(*entries) + hash_index_bytes(room)))
        return -1;
    entries = mem_realloc(texts->entries, room * sizeof(*entries));
    if (!entries)
        return -1;
    texts->entries = entries;
    if (hash_index_reserve(&texts->index, room) != 0)
        return -1;
    texts->capacity = room;
    return 0;
}

static int
add_unique_text(struct texts *texts, const char *text, size_t size, bool borrow,
                uint32_t *number)
{
    uint32_t hash = (uint32_t)hash_bytes(hash_seed(texts), text, size);
    struct hash_slot *slot = find_text_slot(texts, text, size, hash);
    const char *copy = text;

    if (!slot->entry) {
        if (texts->count == texts->capacity) {
            if (grow_text_tables(texts) != 0)
                return -1;
            slot = find_text_slot(texts, text, size, hash);
        }
        if (!borrow)
            copy = arena_strndup(texts->arena, text, size);
        if (!copy)
            return -1;
        texts->entries[texts->count] = (struct entry){copy, size};
        *slot = (struct hash_slot){++texts->count, hash};
    }
    *number = slot->entry - 1;
    return 0;
}

/* Adds a text without a slot in the table by content: it is found by its
 * address alone (texts_new_borrowing with unique_addresses). */
static int
append_text_entry(struct texts *texts, const char *text, uint32_t *number)
{
    if (texts->count == texts->capacity && grow_text_tables(texts) != 0)
        return -1;
    *number = texts->count++;
    texts->entries[*number] = (struct entry){text, strlen(text)};
    return 0;
}

int
texts_add(struct texts *texts, const char *text, size_t size, uint32_t *number)
{
    return add_unique_text(texts, text, size, false, number);
}

static struct address_slot *
find_text_address_slot(struct address_slot *slots, uint32_t room,
                       const struct texts *texts, const char *text)
{
    uint32_t mask = room - 1;
    uint32_t i = (uint32_t)hash_mix(hash_seed(texts), (uintptr_t)text) & mask;

    while (slots[i].text && slots[i].text != text)
        i = (i + 1) & mask;
    return &slots[i];
}

static int
grow_text_address_slots(struct texts *texts)
{
    uint32_t room = texts->address_slot_capacity
                        ? texts->address_slot_capacity * 2
                        : FIRST_CAPACITY;
    struct address_slot *slots;

    if (room > 2 * TEXTS_MAX) /* half of them stay free */
        return -1;
    if (!arena_charge(texts->arena, room * sizeof(*slots)))
        return -1;
    slots = mem_zalloc(room, sizeof(*slots));
    if (!slots)
        return -1;
    for (uint32_t i = 0; i < texts->address_slot_capacity; i++)
        if (texts->address_slots[i].text)
            *find_text_address_slot(slots, room, texts,
                                    texts->address_slots[i].text) =
                texts->address_slots[i];
    mem_free(texts->address_slots);
    texts->address_slots = slots;
    texts->address_slot_capacity = room;
    return 0;
}

int
texts_add_lasting(struct texts *texts, const char *text, uint32_t *number)
{
    struct address_slot *slot;

    if (texts->address_slot_count * 2 >= texts->address_slot_capacity &&
        grow_text_address_slots(texts) != 0)
        return -1;
    slot = find_text_address_slot(texts->address_slots,
                                  texts->address_slot_capacity, texts, text);
    if (!slot->text) {
        if ((texts->unique_addresses
                 ? append_text_entry(texts, text, &slot->number)
                 : add_unique_text(texts, text, strlen(text), texts->borrows,
                                   &slot->number)) != 0)
            return -1;
        slot->text = text;
        texts->address_slot_count++;
    }
    *number = slot->number;
    return 0;
}

void
texts_clear_addresses(struct texts *texts)
{
    if (texts->address_slot_count > 0)
        memset(texts->address_slots, 0,
               texts->address_slot_capacity * sizeof(*texts->address_slots));
    texts->address_slot_count = 0;
}

const char *
texts_get(const struct texts *texts, uint32_t number)
{
    return texts->entries[number].text;
}

size_t
texts_size(const struct texts *texts, uint32_t number)
{
    return texts->entries[number].size;
}

uint32_t
texts_count(const struct texts *texts)
{
    return texts->count;
}

size_t
texts_memory(const struct texts *texts)
{
    return sizeof(*texts) + texts->capacity * sizeof(*texts->entries) +
           hash_index_bytes(texts->capacity) +
           texts->address_slot_capacity * sizeof(*texts->address_slots);
}
