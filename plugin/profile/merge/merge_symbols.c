/*
 * merge_symbols.c - matches functions of one name between builds.  See
 * merge_sum.h.
 *
 * Within a build, the value of its symbol tells a function from others of its
 * name, and views show it where they must.  Another build has other values.  So
 * the n-th function of a name (by value, in one module and source file) counts
 * as the n-th of every build, and gets the value of the first build that came.
 */
#include "merge_sum.h"

#include <stdlib.h>
#include <string.h>

#include "mappings.h"
#include "memory.h"

struct sorted {
    struct location *location;
    const char *file; /* of the function, without its directories */
    uint32_t build;
};

/* Equal functions become neighbors. */
static int
compare_functions(const struct sorted *a, const struct sorted *b)
{
    int difference = strcmp(a->location->symbol, b->location->symbol);

    if (difference == 0)
        difference = strcmp(a->location->module, b->location->module);
    return difference ? difference : strcmp(a->file, b->file);
}

static int
compare(const void *x, const void *y)
{
    const struct sorted *a = x, *b = y;
    int difference = compare_functions(a, b);
    uint64_t i = a->location->symbol_start, k = b->location->symbol_start;

    if (difference)
        return difference;
    if (a->build != b->build)
        return a->build < b->build ? -1 : 1;
    return i < k ? -1 : i > k;
}

/* The functions of one name, from first to end; starts has room for all. */
static void
match(struct sorted *first, const struct sorted *end, uint64_t *starts)
{
    size_t known = 0, nth = 0;
    uint64_t last = 0;

    for (struct sorted *at = first; at < end; at++) {
        uint64_t start = at->location->symbol_start;

        if (at == first || at->build != at[-1].build)
            nth = 0;
        else if (start != last)
            nth++;
        last = start;
        if (nth == known)
            starts[known++] = start;
        at->location->symbol_start = starts[nth];
    }
}

static void
match_all(struct sorted *list, size_t count, uint64_t *starts)
{
    for (size_t from = 0, to; from < count; from = to) {
        for (to = from + 1;
             to < count && compare_functions(&list[from], &list[to]) == 0;)
            to++;
        match(&list[from], &list[to], starts);
    }
}

int
merge_symbols(struct merge *m)
{
    struct sorted *list = mem_zalloc(m->location_count, sizeof(*list));
    uint64_t *starts = mem_zalloc(m->location_count, sizeof(*starts));
    size_t count = 0;
    int rc = -1;

    if (!list || !starts)
        goto out;
    for (size_t i = 0; i < m->location_count; i++) {
        struct location *location = &m->locations[i].location;

        if (!location->symbol)
            continue;
        list[count++] = (struct sorted){
            location,
            mapping_basename(location->frames[location->frame_count - 1].file),
            m->locations[i].build};
    }
    if (count > 0)
        qsort(list, count, sizeof(*list), compare);
    match_all(list, count, starts);
    rc = 0;
out:
    mem_free(list);
    mem_free(starts);
    return rc;
}
