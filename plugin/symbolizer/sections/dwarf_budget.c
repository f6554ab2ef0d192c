/*
 * dwarf_budget.c - see dwarf_budget.h.
 *
 * A file decides how much memory reading it takes, and a hostile one decides
 * for too much.  RLIMIT_AS would end the helper with every answer that it has;
 * a budget makes a single table fail, and names come from symbols or from
 * libbfd instead.  Threads share it, so taking is a compare-and-swap; refusals
 * are counted to tell an incomplete reading from a complete one.
 */
#include "dwarf_budget.h"

#include <stdint.h>
#include <string.h>

#include "hash.h"
#include "memory.h"

enum { ITEMS_FIRST = 64 };

bool
dwarf_budget_try(struct dwarf_budget *budget, size_t size)
{
    size_t used, peak;

    used = atomic_load_explicit(&budget->used, memory_order_relaxed);
    do { /* Not add and undo: a refused size must not make another thread's
          * smaller one fail. */
        if (size > budget->max - used)
            return false;
    } while (!atomic_compare_exchange_weak_explicit(
        &budget->used, &used, used + size, memory_order_relaxed,
        memory_order_relaxed));
    peak = atomic_load_explicit(&budget->peak, memory_order_relaxed);
    while (used + size > peak &&
           !atomic_compare_exchange_weak_explicit(
               &budget->peak, &peak, used + size, memory_order_relaxed,
               memory_order_relaxed))
        ;
    return true;
}

bool
dwarf_budget_take(struct dwarf_budget *budget, size_t size)
{
    if (dwarf_budget_try(budget, size))
        return true;
    dwarf_budget_count_refusal(budget);
    return false;
}

void
dwarf_budget_give(struct dwarf_budget *budget, size_t size)
{
    atomic_fetch_sub_explicit(&budget->used, size, memory_order_relaxed);
}

void
dwarf_budget_count_refusal(struct dwarf_budget *budget)
{
    atomic_fetch_add_explicit(&budget->refused, 1, memory_order_relaxed);
}

size_t
dwarf_budget_refusals(struct dwarf_budget *budget)
{
    return atomic_load_explicit(&budget->refused, memory_order_relaxed);
}

size_t
dwarf_budget_peak(struct dwarf_budget *budget)
{
    return atomic_load_explicit(&budget->peak, memory_order_relaxed);
}

/* Grows by half, not to the double: unused memory counts against the budget,
 * and copying is cheap.  The pointer is copied by memcpy as arrays of any type
 * are passed. */
bool
dwarf_budget_grow(struct dwarf_budget *budget, void *array, size_t *capacity,
                  size_t wanted, size_t size)
{
    size_t grown = *capacity + *capacity / 2;
    void *old, *new;

    if (wanted <= *capacity)
        return true;
    if (grown < ITEMS_FIRST)
        grown = ITEMS_FIRST;
    if (grown < wanted)
        grown = wanted;
    if (grown > SIZE_MAX / 2 / size) {
        dwarf_budget_count_refusal(budget);
        return false;
    }
    if (!dwarf_budget_take(budget, (grown - *capacity) * size))
        return false;
    memcpy(&old, array, sizeof(old));
    new = mem_realloc(old, grown * size);
    if (!new) {
        dwarf_budget_give(budget, (grown - *capacity) * size);
        dwarf_budget_count_refusal(budget);
        return false;
    }
    memcpy(array, &new, sizeof(new));
    *capacity = grown;
    return true;
}

void
dwarf_budget_drop(struct dwarf_budget *budget, void *array, size_t *capacity,
                  size_t size)
{
    void *old;

    memcpy(&old, array, sizeof(old));
    mem_free(old);
    old = NULL;
    memcpy(array, &old, sizeof(old));
    dwarf_budget_give(budget, *capacity * size);
    *capacity = 0;
}

bool
dwarf_budget_grow_index(struct dwarf_budget *budget, struct hash_index *index,
                        size_t entries)
{
    size_t before = hash_index_room(index), bytes = hash_index_bytes(entries);

    if (entries <= before)
        return true;
    if (!dwarf_budget_take(budget, bytes))
        return false;
    if (hash_index_reserve(index, entries) != 0) {
        dwarf_budget_give(budget, bytes);
        dwarf_budget_count_refusal(budget);
        return false;
    }
    if (before > 0)
        dwarf_budget_give(budget, hash_index_bytes(before));
    return true;
}

void
dwarf_budget_drop_index(struct dwarf_budget *budget, struct hash_index *index)
{
    if (hash_index_room(index) > 0)
        dwarf_budget_give(budget, hash_index_bytes(hash_index_room(index)));
    hash_index_fini(index);
}

enum { BLOCK = 1 << 16 /* bytes of texts in one allocation */ };

struct kept_block {
    struct kept_block *next;
    size_t used;
    char bytes[BLOCK];
};

void
kept_texts_init(struct kept_texts *texts)
{
    pthread_mutex_init(&texts->lock, NULL);
    texts->last = NULL;
}

void
kept_texts_fini(struct kept_texts *texts)
{
    for (struct kept_block *b = texts->last, *next; b; b = next) {
        next = b->next;
        mem_free(b);
    }
    pthread_mutex_destroy(&texts->lock);
}

/* A block with size bytes free, or NULL.  Under the lock.  Copies are optional
 * (dwarf_budget_try): callers can read the section instead. */
static struct kept_block *
block_for(struct kept_texts *texts, struct dwarf_budget *budget, size_t size)
{
    struct kept_block *b = texts->last;

    if (b && size <= BLOCK - b->used)
        return b;
    if (size > BLOCK || !dwarf_budget_try(budget, sizeof(*b)))
        return NULL;
    b = mem_alloc(sizeof(*b));
    if (!b) {
        dwarf_budget_give(budget, sizeof(*b));
        return NULL;
    }
    b->next = texts->last;
    b->used = 0;
    texts->last = b;
    return b;
}

const char *
kept_texts_put(struct kept_texts *texts, struct dwarf_budget *budget,
               const char *text, size_t size)
{
    struct kept_block *b;
    char *copy = NULL;

    pthread_mutex_lock(&texts->lock);
    b = block_for(texts, budget, size);
    if (b) {
        copy = b->bytes + b->used;
        b->used += size;
    }
    pthread_mutex_unlock(&texts->lock);
    /* outside the lock: these bytes are the caller's alone by now */
    return copy ? memcpy(copy, text, size) : NULL;
}
