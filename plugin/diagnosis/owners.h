/*
 * owners.h - who has what of RSS no jemalloc has.
 */
#ifndef HW_OWNERS_H
#define HW_OWNERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "diagnosis_facts.h"

struct await;
struct controller;
struct error;
struct memory_map;

enum {
    OWNER_NAME_MAX = 160, /* bytes, with the NUL; a longer one is cut */
    OWNERS_FRESH_MS = 60000
};

struct owner_sum {
    char name[OWNER_NAME_MAX];
    uint64_t bytes;
};

struct owner_sums {
    struct owner_sum list[FACTS_OWNERS]; /* largest first */
    size_t count;
    struct fact more;        /* of the smaller ones together */
    struct fact jemalloc;    /* besides, of all jemallocs */
    struct fact page_tables; /* not a part of RSS */
    int64_t taken_ms;        /* wall clock */
};

/* Pure: the sums of a map.  False without memory. */
bool owners_sum(const struct memory_map *map, struct owner_sums *out);

/* Whether who has it is worth the time that it takes to find out: some 20 ms
 * for each GB of RSS. */
bool owners_are_wanted(const struct diagnosis_facts *facts);

/* Reads what the database has mapped, which keeps its own mmap and munmap
 * waiting for a mapping at a time; or gives the sums of OWNERS_FRESH_MS ago at
 * most, where about as much is outside as was then, and the last ones in any
 * case where reading would take more than a fiftieth of the time; likewise why
 * there are none.  Any thread.  -1 with *err: it cannot be read, or not in 3 s,
 * or the await is over. */
int owners_find(struct controller *controller, const char *user,
                struct await *await, uint64_t outside, struct owner_sums *out,
                struct error *err);
#endif
