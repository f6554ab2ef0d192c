/*
 * heap_sums.c - see heap_sums.h.
 *
 * Names take most of a profile's memory, and two snapshots number them
 * differently.  A hash of 8 bytes takes the name's place: with one seed it is
 * the same in every snapshot.  A stack's hash mixes those of its frames, leaf
 * first.  Only the largest 1,024 functions and 2,048 stacks are kept, 24 bytes
 * each.  The work takes one pass over the stacks and a few sorts; any thread,
 * memory from an arena of its own.
 */
#include "heap_sums.h"

#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "errors.h"
#include "hash.h"
#include "heap_trend.h"
#include "memory.h"
#include "profile.h"
#include "stack_names.h"
#include "texts.h"

enum { SUMS_MEMORY_MAX = 256 << 20 };

/* Scratch memory while the stacks are summed up. */
struct summing {
    const struct profile *profile;
    uint64_t seed;
    struct stack_names names;
    struct stack_frame *frames;
    struct heap_sum *functions; /* by number of the name's text */
    uint64_t *hashes;           /* of each text; 0: not computed yet */
    struct heap_sum *stacks;    /* one for each; keep_largest adds up equal
                                 * ones */
    uint32_t *leaves;           /* of each stack: the number of its leaf's
                                 * text */
};

/* Never 0: that means "not computed" here, and "unused" in a sum. */
static uint64_t
hash_function_name(struct summing *s, uint32_t name)
{
    if (s->hashes[name] == 0)
        s->hashes[name] = hash_bytes(s->seed, texts_get(s->names.texts, name),
                                     texts_size(s->names.texts, name)) |
                          1;
    return s->hashes[name];
}

static int
sum_stack(struct summing *s, size_t i)
{
    const struct profile_stack *stack = &s->profile->stacks[i];
    uint64_t hash = s->seed;
    size_t count;

    s->leaves[i] = UINT32_MAX;
    if (stack_names_get(&s->names, stack, s->frames, &count) != 0)
        return -1;
    for (size_t k = 0; k < count; k++) {
        uint32_t name = s->frames[k].name;

        /* allocator functions and wrappers have an empty name and do not
         * count */
        if (texts_size(s->names.texts, name) == 0)
            continue;
        hash = hash_mix(hash, hash_function_name(s, name));
        if (s->leaves[i] != UINT32_MAX)
            continue;
        s->leaves[i] = name;
        s->functions[name].name = hash_function_name(s, name);
        s->functions[name].bytes += stack->bytes;
        s->functions[name].variance += stack->variance;
    }
    s->stacks[i] = (struct heap_sum){hash, stack->bytes, stack->variance};
    return 0;
}

static int
compare_sums_by_name(const void *a, const void *b)
{
    const struct heap_sum *x = a, *y = b;

    return (x->name > y->name) - (x->name < y->name);
}

static int
compare_sums_by_bytes(const void *a, const void *b)
{
    const struct heap_sum *x = a, *y = b;

    return (x->bytes < y->bytes) - (x->bytes > y->bytes);
}

/* Adds up equal names, and returns the largest as a new list, ordered by name.
 * NULL: no memory. */
static struct heap_sum *
keep_largest(struct heap_sum *list, size_t count, size_t most, size_t *kept)
{
    struct heap_sum *out;
    size_t distinct = 0;

    qsort(list, count, sizeof(*list), compare_sums_by_name);
    for (size_t i = 0; i < count; i++) {
        if (list[i].name == 0)
            continue;
        if (distinct > 0 && list[distinct - 1].name == list[i].name) {
            list[distinct - 1].bytes += list[i].bytes;
            list[distinct - 1].variance += list[i].variance;
        } else {
            list[distinct++] = list[i];
        }
    }
    *kept = distinct;
    if (distinct > most) {
        qsort(list, distinct, sizeof(*list), compare_sums_by_bytes);
        qsort(list, most, sizeof(*list), compare_sums_by_name);
        *kept = most;
    }
    out = mem_alloc((*kept + 1) * sizeof(*out));
    if (out && *kept > 0)
        memcpy(out, list, *kept * sizeof(*out));
    return out;
}

const struct heap_sum *
heap_sum_find(const struct heap_sum *list, size_t count, uint64_t name)
{
    struct heap_sum key = {.name = name};

    return bsearch(&key, list, count, sizeof(*list), compare_sums_by_name);
}

/* Call before keep_largest sorts s->stacks, as leaves[] goes by the profile's
 * order. */
static int
name_heap_sums(struct summing *s, const struct heap_sums *sums,
               struct arena *arena, struct heap_named *named)
{
    size_t stacks = s->profile->stack_count;

    named->functions = arena_alloc(arena, (sums->function_count + 1) *
                                              sizeof(*named->functions));
    named->leaves = arena_alloc(arena, (stacks + 1) * sizeof(*named->leaves));
    named->stacks = arena_alloc(arena, (stacks + 1) * sizeof(*named->stacks));
    if (!named->functions || !named->leaves || !named->stacks)
        return -1;
    for (size_t i = 0; i < stacks; i++) {
        const struct heap_sum *function =
            s->leaves[i] == UINT32_MAX
                ? NULL
                : heap_sum_find(sums->functions, sums->function_count,
                                s->hashes[s->leaves[i]]);

        named->leaves[i] = UINT32_MAX;
        if (!function)
            continue;
        named->leaves[i] = (uint32_t)(function - sums->functions);
        if (!named->functions[named->leaves[i]])
            named->functions[named->leaves[i]] =
                arena_strndup(arena, texts_get(s->names.texts, s->leaves[i]),
                              texts_size(s->names.texts, s->leaves[i]));
        if (!named->functions[named->leaves[i]])
            return -1;
    }
    return 0;
}

static int
sum_all_stacks(struct summing *s, struct arena *scratch)
{
    size_t stacks = s->profile->stack_count, texts = s->names.texts_max;

    s->frames =
        arena_alloc(scratch, (s->names.longest + 1) * sizeof(*s->frames));
    s->functions = arena_alloc(scratch, (texts + 1) * sizeof(*s->functions));
    s->hashes = arena_alloc(scratch, (texts + 1) * sizeof(*s->hashes));
    s->stacks = arena_alloc(scratch, (stacks + 1) * sizeof(*s->stacks));
    s->leaves = arena_alloc(scratch, (stacks + 1) * sizeof(*s->leaves));
    if (!s->frames || !s->functions || !s->hashes || !s->stacks || !s->leaves)
        return -1;
    for (size_t i = 0; i < stacks; i++)
        if (sum_stack(s, i) != 0)
            return -1;
    return 0;
}

static int
fill_sums(struct heap_sums *sums, struct summing *s, struct arena *arena,
          struct arena *scratch, struct heap_named *named)
{
    size_t stacks = s->profile->stack_count;

    if (sum_all_stacks(s, scratch) != 0)
        return -1;
    for (size_t i = 0; i < stacks; i++)
        sums->bytes += s->stacks[i].bytes;
    sums->functions = keep_largest(s->functions, s->names.texts_max,
                                   HEAP_TREND_FUNCTIONS, &sums->function_count);
    if (!sums->functions ||
        (named && name_heap_sums(s, sums, arena, named) != 0))
        return -1;
    for (size_t i = 0; named && i < stacks; i++)
        named->stacks[i] = s->stacks[i].name;
    sums->stacks =
        keep_largest(s->stacks, stacks, HEAP_TREND_STACKS, &sums->stack_count);
    return sums->stacks ? 0 : -1;
}

struct heap_sums *
heap_sums_new(const struct profile *profile, const struct view_options *options,
              uint64_t seed, struct arena *arena, struct heap_named *named,
              struct error *err)
{
    struct summing s = {.profile = profile, .seed = seed | 1};
    struct arena *scratch = arena_new(SUMS_MEMORY_MAX);
    struct heap_sums *sums = mem_zalloc(1, sizeof(*sums));
    int rc = -1;

    if (!scratch || !sums) {
        error_memory(err, "the sums of a heap profile");
        goto out;
    }
    sums->references = 1;
    if (stack_names_init(&s.names, profile, options, scratch, err) != 0)
        goto out;
    rc = fill_sums(sums, &s, arena, scratch, named);
    if (rc != 0)
        error_memory(err, "the sums of a heap profile");
out:
    stack_names_fini(&s.names);
    arena_free(scratch);
    if (rc == 0)
        return sums;
    heap_sums_unref(sums);
    return NULL;
}

struct heap_sums *
heap_sums_ref(struct heap_sums *sums)
{
    atomic_fetch_add_explicit(&sums->references, 1, memory_order_relaxed);
    return sums;
}

void
heap_sums_unref(struct heap_sums *sums)
{
    if (!sums || atomic_fetch_sub_explicit(&sums->references, 1,
                                           memory_order_acq_rel) > 1)
        return;
    mem_free(sums->functions);
    mem_free(sums->stacks);
    mem_free(sums);
}
