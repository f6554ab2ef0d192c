/*
 * texts.h - a set of distinct texts, numbered from 0 as they come.
 */
#ifndef HW_TEXTS_H
#define HW_TEXTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;
struct texts;

enum { TEXTS_MAX = 1 << 24 }; /* texts in a set */

/* Copies live in arena, which outlives the set.  NULL: out of memory. */
struct texts *texts_new(struct arena *arena);
/* A set that does not copy the texts that texts_add_lasting is given.
 * unique_addresses: equal texts have equal addresses, so that such texts are
 * compared by address alone; only the texts of texts_add are then compared with
 * each other. */
struct texts *texts_new_borrowing(struct arena *arena, bool unique_addresses);
void texts_free(struct texts *texts); /* NULL is fine; the copies stay */

/* The number of a text, added unless there.  -1: no memory, or too many. */
int texts_add(struct texts *texts, const char *text, size_t size,
              uint32_t *number);

/* As texts_add, for a text that stays unchanged while the set lives: it is read
 * at its first use only, and found by its address afterwards. */
int texts_add_lasting(struct texts *texts, const char *text, uint32_t *number);

/* Forgets the addresses: they may hold other texts by now. */
void texts_clear_addresses(struct texts *texts);

const char *texts_get(const struct texts *texts, uint32_t number);
size_t texts_size(const struct texts *texts, uint32_t number); /* its bytes */
uint32_t texts_count(const struct texts *texts);
size_t texts_memory(const struct texts *texts); /* but for the copies */

#endif
