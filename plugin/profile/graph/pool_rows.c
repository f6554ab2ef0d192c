/*
 * pool_rows.c - see pool_rows.h.
 *
 * A difference of profiles that are rooted at their pools has all that is
 * needed: the location at the root of each stack tells the pool, so the rows
 * are one pass of sums.  Comparing two lists of threads would fail, because
 * threads come and go between two snapshots, while a pool stays.
 *
 * Pools are many tests, too: judge_pools() marks only growth that is more than
 * sampling noise.  Made on the thread of the statement.
 */
#include "pool_rows.h"

#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "errors.h"
#include "functions.h"
#include "headline.h"
#include "memory.h"
#include "profile.h"
#include "profile_root.h"
#include "texts.h"

enum {
    NO_POOL = UINT32_MAX,
    POOL_NAMES_MAX = 64 << 20 /* bytes: some threads' names from each node */
};

/* How much a pool grew by one leaf function. */
struct pool_leaf {
    uint32_t pool, name;
    double bytes;
};

/* The location at the root of a stack. */
static uint32_t
pool_root_of(const struct profile_stack *stack)
{
    return stack->locations[stack->depth - 1];
}

static const char *
pool_of(const struct profile *profile, uint32_t root)
{
    static const char before[] = PROFILE_POOL;
    const char *name = profile->locations[root].frames[0].function;

    return strncmp(name, before, sizeof(before) - 1) == 0
               ? name + sizeof(before) - 1
               : "";
}

/* Adds the stacks up; numbers[i] becomes the row of the root at location i.
 * Rows are found by name, because a sum of nodes has several locations for one
 * pool. */
static int
add_pools(struct pool_rows *rows, const struct profile *profile,
          struct texts *names, uint32_t *numbers)
{
    for (size_t i = 0; i < profile->location_count; i++)
        numbers[i] = NO_POOL;
    for (size_t i = 0; i < profile->stack_count; i++) {
        const struct profile_stack *stack = &profile->stacks[i];
        uint32_t *number = &numbers[pool_root_of(stack)];
        const char *pool = pool_of(profile, pool_root_of(stack));
        struct pool_row *row;

        if (*number == NO_POOL &&
            texts_add(names, pool, strlen(pool), number) != 0)
            return -1;
        row = &rows->list[*number];
        row->pool = pool;
        row->top = "";
        row->bytes += stack->bytes;
        row->objects += stack->objects;
        row->variance += stack->variance;
    }
    rows->count = texts_count(names);
    return 0;
}

static int
compare_leaves(const void *a, const void *b)
{
    const struct pool_leaf *x = a, *y = b;

    if (x->pool != y->pool)
        return x->pool < y->pool ? -1 : 1;
    return x->name < y->name ? -1 : x->name > y->name;
}

/* Lists the leaf functions of the stacks.  A stack of only one frame is left
 * out: its leaf is the root, because all else was the allocator's. */
static size_t
list_leaves(const struct profile *profile, const uint32_t *numbers,
            struct functions *functions, struct stack_frame *frames,
            struct pool_leaf *out)
{
    size_t count = 0;

    for (size_t i = 0; i < profile->stack_count; i++)
        if (functions_stack(functions, i, frames) > 1)
            out[count++] =
                (struct pool_leaf){numbers[pool_root_of(&profile->stacks[i])],
                                   frames[0].name, profile->stacks[i].bytes};
    if (count > 0)
        qsort(out, count, sizeof(*out), compare_leaves);
    return count;
}

static void
find_grown(const struct functions *functions, const struct pool_leaf *leaves,
           size_t count, struct pool_row *rows)
{
    for (size_t i = 0, next; i < count; i = next) {
        struct pool_row *row = &rows[leaves[i].pool];
        double bytes = 0;

        for (next = i;
             next < count && compare_leaves(&leaves[i], &leaves[next]) == 0;
             next++)
            bytes += leaves[next].bytes;
        if (bytes <= row->top_bytes)
            continue;
        row->top = texts_get(functions->names.texts, leaves[i].name);
        row->top_bytes = bytes;
    }
}

static int
compare_pools(const void *a, const void *b)
{
    const struct pool_row *x = a, *y = b;

    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? 1 : -1;
    return strcmp(x->pool, y->pool);
}

static void
judge_pools(struct pool_rows *rows, struct significance_change *changes)
{
    double errors;

    for (uint32_t i = 0; i < rows->count; i++)
        changes[i] = (struct significance_change){rows->list[i].bytes,
                                                  rows->list[i].variance};
    errors = significance_errors(changes, rows->count);
    for (uint32_t i = 0; i < rows->count; i++)
        rows->list[i].significant = significance_is(
            rows->list[i].bytes, rows->list[i].variance, errors);
}

int
pool_rows_init(struct pool_rows *out, const struct profile *profile,
               struct functions *functions, struct error *err)
{
    size_t stacks = profile->stack_count + 1;
    uint32_t *numbers =
        mem_zalloc(profile->location_count + 1, sizeof(*numbers));
    struct pool_leaf *leaves = mem_zalloc(stacks, sizeof(*leaves));
    struct significance_change *changes = mem_zalloc(stacks, sizeof(*changes));
    struct stack_frame *frames =
        mem_zalloc(functions->names.longest + 1, sizeof(*frames));
    struct arena *arena = arena_new(POOL_NAMES_MAX);
    struct texts *names = arena ? texts_new(arena) : NULL;
    size_t count;
    int rc = -1;

    *out = (struct pool_rows){.list = mem_zalloc(stacks, sizeof(*out->list))};
    if (numbers && leaves && changes && frames && names && out->list &&
        add_pools(out, profile, names, numbers) == 0) {
        count = list_leaves(profile, numbers, functions, frames, leaves);
        find_grown(functions, leaves, count, out->list);
        judge_pools(out, changes);
        if (out->count > 0)
            qsort(out->list, out->count, sizeof(*out->list), compare_pools);
        rc = 0;
    }
    texts_free(names);
    arena_free(arena);
    mem_free(numbers);
    mem_free(leaves);
    mem_free(changes);
    mem_free(frames);
    if (rc != 0) {
        pool_rows_fini(out);
        error_memory(err, "the pools of two snapshots");
    }
    return rc;
}

void
pool_rows_fini(struct pool_rows *rows)
{
    mem_free(rows->list);
    *rows = (struct pool_rows){0};
}
