/*
 * owners.h - whose the part of RSS is that no jemalloc has.
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
    struct fact more;        /* the smaller ones together */
    struct fact jemalloc;    /* what all jemallocs have */
    struct fact page_tables; /* not a part of RSS */
    int64_t taken_ms;        /* wall clock */
};

/* Adds up a map by owner.  Pure.  False without memory. */
bool owners_sum(const struct memory_map *map, struct owner_sums *out);

/* Whether that part is large enough to be read: reading takes some 20 ms for
 * each GB of RSS. */
bool owners_are_wanted(const struct diagnosis_facts *facts);

/* Reads the database's mappings; its own mmap and munmap wait meanwhile, for
 * one mapping at a time.  Gives earlier sums instead if they are at most
 * OWNERS_FRESH_MS old and about as much is outside as then, or, however much
 * is, if reading again would take more than a fiftieth of the time; an earlier
 * failure likewise.  Any thread.  -1 with *err: they cannot be read, or not
 * within 3 s, or the await is over. */
int owners_find(struct controller *controller, const char *user,
                struct await *await, uint64_t outside, struct owner_sums *out,
                struct error *err);
#endif
