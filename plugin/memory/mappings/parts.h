/*
 * parts.h - stretches of a process's memory whose owner is known.
 *
 * The kernel joins neighbours to one mapping, whoever asked for them.
 */
#ifndef HW_PARTS_H
#define HW_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "memory_map.h"

enum { PARTS_MAX = 1 << 18 /* after neighbours have become one */ };

struct part {
    uint64_t start, end;
    enum range_kind kind;
    int32_t tid;
    const char *owner, *evidence; /* as in struct memory_range */
};

struct parts {
    struct part *list;
    size_t count, capacity;
    bool full; /* some were dropped: no room or no memory */
};

void parts_fini(struct parts *parts); /* zeroed is fine */
void parts_add(struct parts *parts, const struct part *part);
/* Makes them ascend and disjoint: of two that overlap, the first one has the
 * place.  Neighbours of one owner become one. */
void parts_sort(struct parts *parts);
/* After parts_sort: the first that ends behind that address; count: none. */
size_t parts_find(const struct parts *parts, uint64_t address);

#endif
