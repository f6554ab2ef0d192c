/*
 * profile_stacks.c - see profile_stacks.h.
 *
 * Estimates first and adds then, as jeprof does when a stack repeats.
 */
#include "profile_stacks.h"

#include <math.h>
#include <string.h>

#include "arena.h"
#include "hash.h"
#include "heap_dump.h"
#include "memory.h"
#include "profile.h"

enum { ESTIMATE_PARTS = 1024 };

/* While stacks are taken. */
struct taking {
    struct profile *profile;
    struct profile_stack *list;
    uint32_t *slots; /* 1 + place in list, by hash; NULL: no two are the same */
    size_t mask;
};

static uint64_t
hash_stack(uint64_t seed, const struct heap_stack *stack)
{
    return hash_bytes(seed, (const char *)stack->addresses,
                      stack->depth * sizeof(*stack->addresses));
}

static struct profile_stack *
add_stack(struct taking *t, const struct heap_stack *from)
{
    struct profile_stack *place = &t->list[t->profile->stack_count++];

    place->locations = from->addresses;
    place->depth = from->depth;
    return place;
}

/* The stack of equal addresses in list, or a new one at its end. */
static struct profile_stack *
place_stack(struct taking *t, const struct heap_stack *from)
{
    size_t size = from->depth * sizeof(*from->addresses);
    size_t i = hash_stack(hash_seed(t->slots), from) & t->mask;
    struct profile_stack *place;

    for (; t->slots[i]; i = (i + 1) & t->mask) {
        place = &t->list[t->slots[i] - 1];
        if (place->depth == from->depth &&
            memcmp(place->locations, from->addresses, size) == 0)
            return place;
    }
    place = add_stack(t, from);
    t->slots[i] = (uint32_t)t->profile->stack_count;
    return place;
}

static void
add_saturated(uint64_t *to, uint64_t n)
{
    if (__builtin_add_overflow(*to, n, to))
        *to = UINT64_MAX;
}

static void
add_sampled(struct profile_sampled *to, uint64_t objects, uint64_t bytes)
{
    add_saturated(&to->objects, objects);
    add_saturated(&to->bytes, bytes);
}

/*
 * Each of the n objects that were sampled had the chance p = 1/scale to be,
 * and stands for w = scale * its bytes.  Such a sum has the variance
 * n * w * w * (1 - p), estimated from the sample itself.
 */
static double
variance_of(uint64_t objects, uint64_t bytes, double scale)
{
    double each;

    if (objects == 0)
        return 0;
    each = (double)bytes * scale / (double)objects;
    return (double)objects * each * each * (1 - 1 / scale);
}

/*
 * An estimate, in 1/1024s.  Sums of such are exact up to 8 TB, whatever their
 * order, so that what is equal compares equal, and what did not change differs
 * by 0.
 */
static double
estimate(uint64_t sampled, double scale)
{
    return rint((double)sampled * scale * ESTIMATE_PARTS) / ESTIMATE_PARTS;
}

static void
add_counts(struct profile_stack *to, const struct heap_stack *from,
           uint64_t rate)
{
    double scale = profile_scale(from->objects, from->bytes, rate);
    double ever = profile_scale(from->objects_ever, from->bytes_ever, rate);

    to->objects += estimate(from->objects, scale);
    to->bytes += estimate(from->bytes, scale);
    to->objects_ever += estimate(from->objects_ever, ever);
    to->bytes_ever += estimate(from->bytes_ever, ever);
    to->variance += variance_of(from->objects, from->bytes, scale);
    add_sampled(&to->in_use, from->objects, from->bytes);
    add_sampled(&to->ever, from->objects_ever, from->bytes_ever);
}

/* A part's are given back at once: there is room for the rest. */
static int
take_part(struct taking *t, struct heap_stacks *part, uint64_t rate)
{
    struct profile *profile = t->profile;

    heap_stacks_place(part);
    for (struct heap_piece *piece = part->first; piece; piece = piece->next)
        for (size_t i = 0; i < piece->count; i++) {
            const struct heap_stack *from = &piece->stacks[i];

            add_counts(t->slots ? place_stack(t, from) : add_stack(t, from),
                       from, rate);
            add_saturated(&profile->samples, from->objects);
            profile->accumulated |= from->objects_ever > 0;
        }
    if (part->indices && arena_adopt(profile->arena, part->indices) != 0)
        return -1;
    heap_stacks_fini(part);
    return 0;
}

int
profile_stacks_take(struct profile *profile, struct heap_dump *dump)
{
    struct taking t = {.profile = profile};
    size_t capacity = 16;
    int rc = -1;

    t.list = arena_alloc(profile->arena, dump->stack_count * sizeof(*t.list));
    if (!t.list)
        return -1;
    while (capacity < dump->stack_count * 2)
        capacity *= 2;
    t.mask = capacity - 1;
    if (!dump->sorted) {
        if (!arena_hold(profile->arena, capacity * sizeof(*t.slots)))
            return -1;
        t.slots = mem_zalloc(capacity, sizeof(*t.slots));
        if (!t.slots)
            return -1;
    }
    for (int i = 0; i < HEAP_DUMP_PARTS; i++)
        if (take_part(&t, &dump->parts[i], dump->rate) != 0)
            goto out;
    profile->stacks = t.list;
    profile_add_up(profile);
    rc = 0;
out:
    mem_free(t.slots);
    return rc;
}
