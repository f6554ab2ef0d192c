/* keyed_stacks.c - see keyed_stacks.h. */
#include "keyed_stacks.h"

#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "memory.h"
#include "profile.h"
#include "texts.h"

enum { KEY_MAX = 64 << 20, FIRST_CAPACITY = 64, CANCEL_EVERY = 256 };

void *
keyed_stacks_grow(void **list, size_t *room, size_t count, size_t item)
{
    size_t more = *room ? *room * 2 : FIRST_CAPACITY;
    void *grown;

    if (count == *room) {
        grown = mem_realloc(*list, more * item);
        if (!grown)
            return NULL;
        *list = grown;
        *room = more;
    }
    return (char *)*list + count * item;
}

int
keyed_stacks_init(struct keyed_stacks *keyed, struct arena *arena,
                  size_t memory_max)
{
    buffer_init(&keyed->key, KEY_MAX);
    keyed->arena = arena;
    keyed->scratch = arena_new(memory_max);
    if (!keyed->scratch)
        return -1;
    keyed->names = texts_new(arena);
    keyed->location_keys = texts_new(keyed->scratch);
    keyed->stack_keys = texts_new(keyed->scratch);
    return keyed->names && keyed->location_keys && keyed->stack_keys ? 0 : -1;
}

void
keyed_stacks_fini(struct keyed_stacks *keyed)
{
    texts_free(keyed->names);
    texts_free(keyed->location_keys);
    texts_free(keyed->stack_keys);
    arena_free(keyed->scratch);
    buffer_fini(&keyed->key);
    mem_free(keyed->locations);
    mem_free(keyed->stacks);
}

void
keyed_stacks_key_text(struct keyed_stacks *keyed, const char *text)
{
    buffer_add(&keyed->key, text, strlen(text) + 1);
}

int
keyed_stacks_number(struct keyed_stacks *keyed, struct texts *texts,
                    uint32_t *number)
{
    if (keyed->key.failed)
        return -1;
    return texts_add(texts, keyed->key.data ? keyed->key.data : "",
                     keyed->key.size, number);
}

/* Checked now and then, as i counts up. */
static bool
poll_walk_cancelled(struct keyed_stacks *keyed, size_t i)
{
    if (i % CANCEL_EVERY == 0 && keyed->cancelled &&
        atomic_load(keyed->cancelled))
        keyed->stopped = true;
    return keyed->stopped;
}

/* ---- locations ---- */

static int
location_detail_level(const struct location *location)
{
    const struct frame *frame = &location->frames[location->frame_count - 1];

    return (location->symbol != NULL) + 2 * (*frame->file != '\0');
}

static int
copy_location_names(struct keyed_stacks *keyed, const struct location *from,
                    struct keyed_location *to)
{
    uint64_t address = to->location.address;

    if (location_copy(keyed->arena, keyed->names, from, &to->location) != 0)
        return -1;
    to->location.address = address;
    return 0;
}

int
keyed_stacks_location(struct keyed_stacks *keyed, const struct location *from,
                      const struct keyed_location *place, bool fuller_names,
                      uint32_t *number)
{
    struct keyed_location *to;

    if (keyed_stacks_number(keyed, keyed->location_keys, number) != 0)
        return -1;
    if (*number < keyed->location_count) {
        to = &keyed->locations[*number];
        return fuller_names && location_detail_level(from) >
                                   location_detail_level(&to->location)
                   ? copy_location_names(keyed, from, to)
                   : 0;
    }
    to =
        keyed_stacks_grow((void **)&keyed->locations, &keyed->location_capacity,
                          keyed->location_count, sizeof(*to));
    if (!to)
        return -1;
    *to = *place;
    if (copy_location_names(keyed, from, to) != 0)
        return -1;
    keyed->location_count++;
    return 0;
}

static int
walk_locations(struct keyed_stacks *keyed, const struct keyed_walk *walk,
               uint32_t *numbers)
{
    for (size_t i = 0; i < walk->profile->location_count; i++) {
        const struct location *from = &walk->profile->locations[i];
        struct keyed_location place = {.location.address = from->address};

        if (poll_walk_cancelled(keyed, i))
            return -1;
        buffer_clear(&keyed->key);
        if (walk->locate(walk->arg, from, &place) != 0 ||
            keyed_stacks_location(keyed, from, &place, walk->fuller_names,
                                  &numbers[i]) != 0)
            return -1;
    }
    return 0;
}

/* ---- stacks ---- */

/* The number of the stack of the locations in keyed->key. */
static int
find_or_add_stack(struct keyed_stacks *keyed, uint32_t *number)
{
    size_t size = keyed->key.size;
    struct profile_stack *to;
    uint32_t *copy;

    if (keyed_stacks_number(keyed, keyed->stack_keys, number) != 0)
        return -1;
    if (*number < keyed->stack_count)
        return 0;
    to = keyed_stacks_grow((void **)&keyed->stacks, &keyed->stack_capacity,
                           keyed->stack_count, sizeof(*to));
    copy = arena_alloc(keyed->arena, size);
    if (!to || !copy)
        return -1;
    if (size > 0)
        memcpy(copy, keyed->key.data, size);
    *to = (struct profile_stack){.locations = copy,
                                 .depth = (uint32_t)(size / sizeof(*copy))};
    keyed->stack_count++;
    return 0;
}

static int
walk_stacks(struct keyed_stacks *keyed, const struct keyed_walk *walk,
            const uint32_t *numbers)
{
    for (size_t i = 0; i < walk->profile->stack_count; i++) {
        const struct profile_stack *from = &walk->profile->stacks[i];
        uint32_t number;

        buffer_clear(&keyed->key);
        for (uint32_t k = 0; k < from->depth; k++)
            buffer_add(&keyed->key, &numbers[from->locations[k]],
                       sizeof(*numbers));
        if (walk->root)
            buffer_add(&keyed->key, walk->root, sizeof(*walk->root));
        if (poll_walk_cancelled(keyed, i) ||
            find_or_add_stack(keyed, &number) != 0)
            return -1;
        walk->add(walk->arg, &keyed->stacks[number], number, from);
    }
    return 0;
}

int
keyed_stacks_add(struct keyed_stacks *keyed, const struct keyed_walk *walk)
{
    uint32_t *numbers =
        mem_zalloc(walk->profile->location_count, sizeof(*numbers));
    int rc = -1;

    if (numbers && walk_locations(keyed, walk, numbers) == 0)
        rc = walk_stacks(keyed, walk, numbers);
    mem_free(numbers);
    return rc;
}

/* ---- the end ---- */

static int
compare_keyed_by_address(const void *a, const void *b, void *arg)
{
    const struct keyed_location *list = arg;
    uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
    uint64_t x = list[i].location.address, y = list[k].location.address;

    if (x != y)
        return x < y ? -1 : 1;
    return i < k ? -1 : i > k;
}

int
keyed_stacks_finish(struct keyed_stacks *keyed, struct profile *out)
{
    size_t count = keyed->location_count;
    uint32_t *order = arena_alloc(keyed->scratch, count * sizeof(*order));
    struct location *locations =
        arena_alloc(keyed->arena, count * sizeof(*locations));
    struct profile_stack *stacks =
        arena_alloc(keyed->arena, keyed->stack_count * sizeof(*stacks));

    if (!order || !locations || !stacks)
        return -1;
    for (size_t i = 0; i < count; i++)
        order[i] = (uint32_t)i;
    if (count > 0)
        qsort_r(order, count, sizeof(*order), compare_keyed_by_address,
                keyed->locations);
    for (size_t i = 0; i < count; i++) {
        locations[i] = keyed->locations[order[i]].location;
        keyed->locations[order[i]].final = (uint32_t)i;
    }
    for (size_t i = 0; i < keyed->stack_count; i++) {
        uint32_t *indices = (uint32_t *)keyed->stacks[i].locations; /* ours */

        stacks[i] = keyed->stacks[i];
        for (uint32_t k = 0; k < stacks[i].depth; k++)
            indices[k] = keyed->locations[indices[k]].final;
    }
    out->locations = locations;
    out->location_count = count;
    out->stacks = stacks;
    out->stack_count = keyed->stack_count;
    profile_add_up(out);
    return 0;
}
