/* names.c - see names.h.  An open-addressing table over one arena. */
#include "names.h"

#include <stdio.h>
#include <string.h>

#include "arena.h"
#include "hash.h"
#include "memory.h"
#include "texts.h"

enum { TABLE_FIRST = 256, NOTE_MAX = 256 };

/* With the address, so that looking for one touches nothing else. */
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
    char note[NOTE_MAX];
};

struct names *
names_new(size_t limit_bytes)
{
    struct names *names = mem_zalloc(1, sizeof(*names));

    if (!names)
        return NULL;
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
names_free(struct names *names)
{
    if (!names)
        return;
    texts_free(names->texts);
    arena_free(names->arena);
    mem_free(names->slots);
    mem_free(names);
}

static struct slot *
slot_of(struct slot *slots, size_t capacity, uint64_t address)
{
    size_t i = hash_mix(hash_seed(slots), address) & (capacity - 1);

    while (slots[i].location && slots[i].address != address)
        i = (i + 1) & (capacity - 1);
    return &slots[i];
}

/* The table doubles at three quarters, while under the limit. */
static int
grow_locations(struct names *names)
{
    size_t capacity = names->capacity * 2;
    struct slot *slots;

    if (names->count * 4 < names->capacity * 3)
        return 0;
    if (capacity * sizeof(*slots) > names->limit)
        return -1;
    slots = mem_zalloc(capacity, sizeof(*slots));
    if (!slots)
        return -1;
    for (size_t i = 0; i < names->capacity; i++)
        if (names->slots[i].location)
            *slot_of(slots, capacity, names->slots[i].address) =
                names->slots[i];
    mem_free(names->slots);
    names->slots = slots;
    names->capacity = capacity;
    return 0;
}

const char *
names_text(struct names *names, const char *text)
{
    uint32_t number;

    if (texts_add(names->texts, text, strlen(text), &number) != 0)
        return NULL;
    return texts_get(names->texts, number);
}

int
names_add(struct names *names, uint64_t address, const struct frame *frames,
          uint32_t frame_count, bool in_allocator)
{
    struct location *location;
    struct frame *copies;

    if (names_find(names, address))
        return 0;
    if (frame_count == 0 || frame_count > NAMES_INLINE_MAX ||
        grow_locations(names) != 0)
        return -1;
    location = arena_alloc(names->arena, sizeof(*location));
    copies = arena_alloc(names->arena, frame_count * sizeof(*copies));
    if (!location || !copies)
        return -1;
    for (uint32_t i = 0; i < frame_count; i++) {
        copies[i].function = names_text(names, frames[i].function);
        copies[i].file =
            names_text(names, frames[i].file ? frames[i].file : "");
        copies[i].line = frames[i].line;
        if (!copies[i].function || !copies[i].file)
            return -1;
    }
    location->address = address;
    location->frames = copies;
    location->frame_count = frame_count;
    location->in_allocator = in_allocator;
    location->module = "";
    *slot_of(names->slots, names->capacity, address) =
        (struct slot){address, location};
    names->count++;
    return 0;
}

int
names_add_known(struct names *names, const struct location *location)
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
    *slot_of(names->slots, names->capacity, location->address) =
        (struct slot){location->address, copy};
    names->count++;
    return 0;
}

int
names_set_symbol(struct names *names, uint64_t address, const char *symbol,
                 uint64_t start)
{
    struct location *location =
        slot_of(names->slots, names->capacity, address)->location;

    if (!location)
        return -1;
    if (location->symbol)
        return 0;
    location->symbol = names_text(names, symbol);
    location->symbol_start = start;
    return location->symbol ? 0 : -1;
}

int
names_set_module(struct names *names, uint64_t address, const char *module,
                 uint64_t offset)
{
    struct location *location =
        slot_of(names->slots, names->capacity, address)->location;
    const char *copy;

    if (!location)
        return -1;
    if (*location->module)
        return 0;
    copy = names_text(names, module);
    if (!copy)
        return -1;
    location->module = copy;
    location->module_offset = offset;
    return 0;
}

const struct location *
names_find(const struct names *names, uint64_t address)
{
    return slot_of(names->slots, names->capacity, address)->location;
}

size_t
names_count(const struct names *names)
{
    return names->count;
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
