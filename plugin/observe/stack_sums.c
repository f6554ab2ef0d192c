/*
 * stack_sums.c - see stack_sums.h.
 *
 * Samples are summed up as they come, so memory depends on the number of
 * different stacks, not on the length of the profile.  An open hash table of
 * stacks, which lie in an arena and are linked in the order of their first
 * samples, so that growing the table needs no other list.
 */
#include "stack_sums.h"

#include <string.h>

#include "arena.h"
#include "errors.h"
#include "hash.h"
#include "memory.h"

enum { SLOTS_FIRST = 1 << 10 }; /* a power of two */

struct stack_sum {
    struct stack_sum *next;
    uint64_t hash, samples, nanoseconds;
    uint32_t depth;
    uint64_t addresses[];
};

struct stack_sums {
    struct arena *arena;
    struct stack_sum **slots, *first, **last;
    size_t capacity, count, frames;
    uint64_t left_out; /* samples of stacks beyond the ceilings */
};

struct stack_sums *
stack_sums_new(void)
{
    struct stack_sums *sums = mem_zalloc(1, sizeof(*sums));

    if (!sums)
        return NULL;
    sums->arena = arena_new(STACK_SUMS_BYTES_MAX);
    sums->slots = mem_zalloc(SLOTS_FIRST, sizeof(struct stack_sum *));
    sums->capacity = SLOTS_FIRST;
    sums->last = &sums->first;
    if (!sums->arena || !sums->slots) {
        stack_sums_free(sums);
        return NULL;
    }
    return sums;
}

void
stack_sums_free(struct stack_sums *sums)
{
    if (!sums)
        return;
    arena_free(sums->arena);
    mem_free(sums->slots);
    mem_free(sums);
}

static struct stack_sum **
find_sum(const struct stack_sums *sums, uint64_t hash,
         const uint64_t *addresses, size_t depth)
{
    size_t i = hash & (sums->capacity - 1);

    for (; sums->slots[i]; i = (i + 1) & (sums->capacity - 1))
        if (sums->slots[i]->hash == hash && sums->slots[i]->depth == depth &&
            memcmp(sums->slots[i]->addresses, addresses,
                   depth * sizeof(*addresses)) == 0)
            break;
    return &sums->slots[i];
}

static int
grow_slots(struct stack_sums *sums)
{
    size_t room = sums->capacity * 2;
    struct stack_sum **slots = mem_zalloc(room, sizeof(struct stack_sum *));

    if (!slots)
        return -1;
    mem_free(sums->slots);
    sums->slots = slots;
    sums->capacity = room;
    for (struct stack_sum *s = sums->first; s; s = s->next)
        *find_sum(sums, s->hash, s->addresses, s->depth) = s;
    return 0;
}

static struct stack_sum *
add_sum(struct stack_sums *sums, uint64_t hash, const uint64_t *addresses,
        size_t depth)
{
    size_t bytes = depth * sizeof(*addresses);
    struct stack_sum *sum;

    if (sums->count >= sums->capacity / 2 && grow_slots(sums) != 0)
        return NULL;
    sum = arena_alloc(sums->arena, sizeof(*sum) + bytes);
    if (!sum)
        return NULL;
    sum->hash = hash;
    sum->depth = (uint32_t)depth;
    memcpy(sum->addresses, addresses, bytes);
    *find_sum(sums, hash, addresses, depth) = sum;
    *sums->last = sum;
    sums->last = &sum->next;
    sums->count++;
    sums->frames += depth;
    return sum;
}

int
stack_sums_add(struct stack_sums *sums, const uint64_t *addresses, size_t depth,
               uint64_t nanoseconds, struct error *err)
{
    uint64_t hash = hash_bytes(hash_seed(sums), (const char *)addresses,
                               depth * sizeof(*addresses));
    struct stack_sum *sum = *find_sum(sums, hash, addresses, depth);

    if (!sum && depth > 0 &&
        (sums->count >= HEAP_DUMP_STACKS_MAX ||
         sums->frames + depth > HEAP_DUMP_ADDRESSES_MAX)) {
        sums->left_out++;
        return stack_sums_add(sums, addresses, 0, nanoseconds, err);
    }
    if (!sum)
        sum = add_sum(sums, hash, addresses, depth);
    if (!sum) {
        error_memory(err, "the stacks of a profile");
        return -1;
    }
    sum->samples++;
    sum->nanoseconds += nanoseconds;
    return 0;
}

uint64_t
stack_sums_left_out(const struct stack_sums *sums)
{
    return sums->left_out;
}

/* ---- as a dump ---- */

/* Each frame gets an entry in addresses; heap_stacks_sort() merges equal
 * ones. */
static int
add_summed_stack(struct heap_dump *dump, const struct stack_sum *sum)
{
    struct heap_stack *stack = heap_stacks_add(&dump->stacks);
    uint32_t *indices =
        arena_alloc(dump->stacks.indices, (sum->depth + 1) * sizeof(*indices));

    if (!stack || !indices)
        return -1;
    *stack = (struct heap_stack){.addresses = indices,
                                 .depth = sum->depth,
                                 .objects = sum->samples,
                                 .bytes = sum->nanoseconds};
    for (uint32_t i = 0; i < sum->depth; i++) {
        indices[i] = (uint32_t)dump->address_count;
        dump->addresses[dump->address_count++] = sum->addresses[i];
    }
    dump->stack_count++;
    return 0;
}

static int
fill_dump(struct heap_dump *dump, const struct stack_sums *sums)
{
    dump->arena = arena_new(STACK_SUMS_BYTES_MAX);
    dump->addresses = mem_zalloc(sums->frames + 1, sizeof(*dump->addresses));
    if (!dump->arena || !dump->addresses ||
        heap_stacks_init(&dump->stacks, STACK_SUMS_BYTES_MAX) != 0)
        return -1;
    for (const struct stack_sum *s = sums->first; s; s = s->next)
        if (add_summed_stack(dump, s) != 0)
            return -1;
    return heap_stacks_sort(&dump->stacks, dump->addresses,
                            &dump->address_count, dump->arena);
}

struct heap_dump *
stack_sums_dump(const struct stack_sums *sums, enum profile_kind kind,
                struct error *err)
{
    struct heap_dump *dump = mem_zalloc(1, sizeof(*dump));

    if (dump) {
        dump->kind = kind;
        dump->rate = 1;
        if (fill_dump(dump, sums) == 0)
            return dump;
    }
    heap_dump_free(dump);
    error_memory(err, "a profile");
    return NULL;
}
