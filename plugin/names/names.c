/*
 * names.c - see names.h.
 *
 * An open-addressing table with linear probing, from addresses to locations
 * that lie in one arena.  A profile has up to some 100,000 addresses and nearly
 * as many texts, many of them equal: a text is stored once, and comparing two
 * is comparing pointers.  Slots hold the address beside the pointer, so a probe
 * touches one cache line.
 *
 * One thread builds the table; it is then immutable but for names_keep_made(),
 * where threads race to add a derived value and the first one wins.
 */
#include "names.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "arena.h"
#include "hash.h"
#include "memory.h"
#include "texts.h"

enum { TABLE_FIRST = 256, NOTE_MAX = 256 };

/* The address is here, too, so that a probe does not follow the pointer. */
struct slot {
    uint64_t address;
    struct location *location; /* NULL: free */
};

struct names {
    struct arena *arena;
    struct slot *slots; /* capacity of them, a power of two */
    size_t capacity, count;
    struct texts *texts;
    size_t limit;
    atomic_int references;
    struct names_made *_Atomic made[NAMES_MADE_KINDS];
    char note[NOTE_MAX];
};

struct names *
names_new(size_t limit_bytes)
{
    struct names *names = mem_zalloc(1, sizeof(*names));

    if (!names)
        return NULL;
    names->references = 1;
    names->limit = limit_bytes;
    names->arena = arena_new(limit_bytes);
    names->capacity = TABLE_FIRST;
    names->slots = mem_zalloc(TABLE_FIRST, sizeof(*names->slots));
    if (names->arena)
        names->texts = texts_new(names->arena);
    if (!names->arena || !names->slots || !names->texts) {
        names_free(names);
        return NULL;
    }
    return names;
}

void
names_count_memory(struct names *names, const struct arena_meter *meter)
{
    arena_set_meter(names->arena, meter);
}

struct names *
names_ref(struct names *names)
{
    atomic_fetch_add_explicit(&names->references, 1, memory_order_relaxed);
    return names;
}

size_t
names_memory(const struct names *names)
{
    size_t bytes =
        arena_used(names->arena) + names->capacity * sizeof(*names->slots);

    for (unsigned i = 0; i < NAMES_MADE_KINDS; i++)
        bytes += names_made(names, i) ? names_made(names, i)->bytes : 0;
    return bytes;
}

/* Release pairs with acquire: the thread that frees has seen all uses end. */
void
names_free(struct names *names)
{
    if (!names || atomic_fetch_sub_explicit(&names->references, 1,
                                            memory_order_acq_rel) > 1)
        return;
    for (unsigned i = 0; i < NAMES_MADE_KINDS; i++)
        if (names->made[i])
            names->made[i]->free(names->made[i]);
    texts_free(names->texts);
    arena_free(names->arena);
    mem_free(names->slots);
    mem_free(names);
}

static size_t
home_of(const struct slot *slots, size_t capacity, uint64_t address)
{
    return hash_mix(hash_seed(slots), address) & (capacity - 1);
}

static struct slot *
find_location_slot(struct slot *slots, size_t capacity, uint64_t address)
{
    size_t i = home_of(slots, capacity, address);

    while (slots[i].location && slots[i].address != address)
        i = (i + 1) & (capacity - 1);
    return &slots[i];
}

/* Moves all to a larger table; -1 past the limit or without memory.  The arena
 * has the same limit for all else. */
static int
set_capacity(struct names *names, size_t capacity)
{
    struct slot *slots;

    if (capacity * sizeof(*slots) > names->limit ||
        !arena_charge(names->arena, capacity * sizeof(*slots)))
        return -1;
    slots = mem_zalloc(capacity, sizeof(*slots));
    if (!slots)
        return -1;
    for (size_t i = 0; i < names->capacity; i++)
        if (names->slots[i].location)
            *find_location_slot(slots, capacity, names->slots[i].address) =
                names->slots[i];
    mem_free(names->slots);
    names->slots = slots;
    names->capacity = capacity;
    return 0;
}

static bool
is_location_table_full(size_t count, size_t capacity)
{
    return count * 4 >= capacity * 3;
}

static int
grow_locations(struct names *names)
{
    return is_location_table_full(names->count, names->capacity)
               ? set_capacity(names, names->capacity * 2)
               : 0;
}

/* A failure is ignored: the table grows again with each addition, and it may be
 * large enough for those that do come. */
void
names_expect(struct names *names, size_t count)
{
    size_t capacity = names->capacity;

    while (is_location_table_full(names->count + count, capacity))
        capacity *= 2;
    if (capacity > names->capacity)
        (void)set_capacity(names, capacity);
}

void
names_prefetch(const struct names *names, uint64_t address)
{
    __builtin_prefetch(
        &names->slots[home_of(names->slots, names->capacity, address)], 1);
}

struct texts *
names_texts(struct names *names)
{
    return names->texts;
}

const char *
names_text(struct names *names, struct span text)
{
    uint32_t number;

    if (texts_add(names->texts, text.data, text.size, &number) != 0)
        return NULL;
    return texts_get(names->texts, number);
}

static const char *
intern_name_text(struct names *names, const char *text)
{
    return names_text(names, (struct span){text, strlen(text)});
}

/* As intern_name_text(), for a text that another table keeps at its address:
 * texts remembers the address, so each is hashed once. */
static const char *
intern_known(struct names *names, const char *text)
{
    uint32_t number;

    if (texts_add_lasting(names->texts, text, &number) != 0)
        return NULL;
    return texts_get(names->texts, number);
}

/* The location of an address, added if it is new (*added); keep interns its
 * texts.  NULL without memory. */
static struct location *
add_code_location(struct names *names, uint64_t address,
                  const struct frame *frames, uint32_t frame_count,
                  const char *(*keep)(struct names *names, const char *text),
                  bool *added)
{
    struct location *location;
    struct frame *copies;

    *added = false;
    location =
        find_location_slot(names->slots, names->capacity, address)->location;
    if (location)
        return location;
    if (frame_count == 0 || frame_count > NAMES_INLINE_MAX ||
        grow_locations(names) != 0)
        return NULL;
    location = arena_alloc(names->arena, sizeof(*location));
    copies = arena_alloc(names->arena, frame_count * sizeof(*copies));
    if (!location || !copies)
        return NULL;
    for (uint32_t i = 0; i < frame_count; i++) {
        copies[i].function = keep(names, frames[i].function);
        copies[i].file = keep(names, frames[i].file ? frames[i].file : "");
        copies[i].line = frames[i].line;
        if (!copies[i].function || !copies[i].file)
            return NULL;
    }
    location->address = address;
    location->frames = copies;
    location->frame_count = frame_count;
    location->module = "";
    /* Looked up again: grow_locations() may have moved the table.  Last, so
     * that a failure above adds nothing. */
    *find_location_slot(names->slots, names->capacity, address) =
        (struct slot){address, location};
    names->count++;
    *added = true;
    return location;
}

int
names_add(struct names *names, uint64_t address, const struct frame *frames,
          uint32_t frame_count, bool in_allocator)
{
    bool added;
    struct location *location = add_code_location(
        names, address, frames, frame_count, intern_name_text, &added);

    if (added)
        location->in_allocator = in_allocator;
    return location ? 0 : -1;
}

int
names_add_known(struct names *names, uint64_t address,
                const struct location *known, bool in_allocator)
{
    bool added;
    struct location *location =
        add_code_location(names, address, known->frames, known->frame_count,
                          intern_known, &added);

    if (!location)
        return -1;
    if (!added)
        return 0;
    location->in_allocator = in_allocator;
    if (!known->symbol)
        return 0;
    location->symbol = intern_known(names, known->symbol);
    location->symbol_start = known->symbol_start;
    return location->symbol ? 0 : -1;
}

void
names_clear_addresses(struct names *names)
{
    texts_clear_addresses(names->texts);
}

int
names_add_own(struct names *names, const struct location *location)
{
    size_t size = location->frame_count * sizeof(*location->frames);
    struct location *copy;
    struct frame *frames;

    if (names_find(names, location->address))
        return 0;
    if (location->frame_count == 0 ||
        location->frame_count > NAMES_INLINE_MAX || grow_locations(names) != 0)
        return -1;
    copy = arena_alloc(names->arena, sizeof(*copy));
    frames = arena_alloc(names->arena, size);
    if (!copy || !frames)
        return -1;
    memcpy(frames, location->frames, size);
    *copy = *location;
    copy->frames = frames;
    *find_location_slot(names->slots, names->capacity, location->address) =
        (struct slot){location->address, copy};
    names->count++;
    return 0;
}

int
names_set_symbol(struct names *names, uint64_t address, const char *symbol,
                 uint64_t start)
{
    struct location *location =
        find_location_slot(names->slots, names->capacity, address)->location;

    if (!location)
        return -1;
    if (location->symbol)
        return 0;
    location->symbol = intern_name_text(names, symbol);
    location->symbol_start = start;
    return location->symbol ? 0 : -1;
}

int
names_set_module(struct names *names, uint64_t address, const char *module,
                 uint64_t offset)
{
    struct location *location =
        find_location_slot(names->slots, names->capacity, address)->location;
    const char *copy;

    if (!location)
        return -1;
    if (*location->module)
        return 0;
    copy = intern_name_text(names, module);
    if (!copy)
        return -1;
    location->module = copy;
    location->module_offset = offset;
    return 0;
}

const struct location *
names_find(const struct names *names, uint64_t address)
{
    return find_location_slot(names->slots, names->capacity, address)->location;
}

size_t
names_count(const struct names *names)
{
    return names->count;
}

bool
names_keep_made(struct names *names, unsigned kind, struct names_made *made)
{
    struct names_made *none = NULL;

    return atomic_compare_exchange_strong_explicit(&names->made[kind], &none,
                                                   made, memory_order_acq_rel,
                                                   memory_order_acquire);
}

struct names_made *
names_made(const struct names *names, unsigned kind)
{
    return atomic_load_explicit(&names->made[kind], memory_order_acquire);
}

void
names_set_note(struct names *names, const char *note)
{
    snprintf(names->note, sizeof(names->note), "%s", note);
}

const char *
names_note(const struct names *names)
{
    return names->note;
}
