/*
 * dwarf_budget.h - limits the memory that one file's debug information may
 * take.
 *
 * It counts what the sections read and inflate, and what their users keep.
 * Callable from any thread.
 */
#ifndef HW_DWARF_BUDGET_H
#define HW_DWARF_BUDGET_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

struct hash_index;
struct kept_block;

/* Zero it, but for max. */
struct dwarf_budget {
    size_t max;                        /* bytes */
    atomic_size_t used, peak, refused; /* counters: relaxed */
};

/* Takes bytes of the budget for what the caller keeps; false: too little is
 * left. */
bool dwarf_budget_take(struct dwarf_budget *budget, size_t size);
/* The same for optional work: a failure does not count as refused. */
bool dwarf_budget_try(struct dwarf_budget *budget, size_t size);
void dwarf_budget_give(struct dwarf_budget *budget, size_t size);
/* How often memory was refused.  If the number grew during a reading, its
 * result may be incomplete. */
size_t dwarf_budget_refusals(struct dwarf_budget *budget);
/* Counts a refusal for another reason than the ceiling. */
void dwarf_budget_count_refusal(struct dwarf_budget *budget);
size_t dwarf_budget_peak(struct dwarf_budget *budget);

/* Makes *array, of *capacity items of size bytes, hold the wanted number, and
 * takes what it grows by from the budget.  false, and nothing has changed but
 * the refusals: no room, or no memory. */
bool dwarf_budget_grow(struct dwarf_budget *budget, void *array,
                       size_t *capacity, size_t wanted, size_t size);
/* Frees it and gives its bytes back. */
void dwarf_budget_drop(struct dwarf_budget *budget, void *array,
                       size_t *capacity, size_t size);

/* The same for an index of a growing list: room for that many entries. */
bool dwarf_budget_grow_index(struct dwarf_budget *budget,
                             struct hash_index *index, size_t entries);
void dwarf_budget_drop_index(struct dwarf_budget *budget,
                             struct hash_index *index);

/* Lasting copies of short texts.  Callable from any thread. */

struct kept_texts {
    pthread_mutex_t lock;
    struct kept_block *last; /* under lock */
};

void kept_texts_init(struct kept_texts *texts);
void kept_texts_fini(struct kept_texts *texts);

/* The copy is charged; NULL: too little is left. */
const char *kept_texts_put(struct kept_texts *texts,
                           struct dwarf_budget *budget, const char *text,
                           size_t size);

#endif
