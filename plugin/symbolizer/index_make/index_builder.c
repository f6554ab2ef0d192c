/*
 * index_builder.c - see index_builder.h; index_emit.c writes the result.
 *
 * Facts come unit by unit from several threads, in any order, and a file wants
 * them by address without overlaps.  They are kept as plain arrays, 24 bytes a
 * fact, and sorted once at the end by merging runs: units come sorted, so there
 * are few runs, and a stable merge lets the fact that was added first win.  All
 * memory counts against DWARF's budget.  One thread at a time: index_units.c
 * holds its lock.
 */
#include "index_builder.h"

#include <string.h>

#include "dwarf_budget.h"
#include "errors.h"
#include "index_encoder.h"
#include "memory.h"
#include "search.h"

/* Adds an interval, unless it is empty.  false: no room. */
static bool
index_intervals_add(struct index_intervals *intervals,
                    struct dwarf_budget *budget,
                    const struct index_interval *item)
{
    if (item->end <= item->start)
        return true;
    if (!dwarf_budget_grow(budget, &intervals->items, &intervals->capacity,
                           intervals->count + 1, sizeof(*item)))
        return false;
    intervals->items[intervals->count++] = *item;
    return true;
}

static void
index_intervals_fini(struct index_intervals *intervals,
                     struct dwarf_budget *budget)
{
    dwarf_budget_drop(budget, &intervals->items, &intervals->capacity,
                      sizeof(*intervals->items));
    intervals->count = 0;
}

/* The end of the ascending run that starts at i. */
static size_t
run_end(const struct index_interval *items, size_t i, size_t count)
{
    for (i++; i < count && items[i - 1].start <= items[i].start; i++)
        ;
    return i < count ? i : count;
}

static void
merge_interval_halves(const struct index_interval *from, size_t left,
                      size_t right, size_t end, struct index_interval *to)
{
    size_t i = left, k = right;

    while (i < right && k < end)
        *to++ = from[k].start < from[i].start ? from[k++] : from[i++];
    memcpy(to, from + i, (right - i) * sizeof(*to));
    memcpy(to + (right - i), from + k, (end - k) * sizeof(*to));
}

/* Merges adjacent runs until one is left.  Stable: of equal starts the left
 * run's comes first. */
static bool
merge_sort(struct index_intervals *intervals, struct dwarf_budget *budget)
{
    struct index_interval *spare = NULL;
    size_t spare_capacity = 0;

    while (run_end(intervals->items, 0, intervals->count) < intervals->count) {
        struct index_interval *swap = intervals->items;
        size_t swap_capacity = intervals->capacity, middle, end;

        /* only if something is out of order */
        if (!spare && !dwarf_budget_grow(budget, &spare, &spare_capacity,
                                         intervals->count, sizeof(*spare)))
            return false;
        for (size_t i = 0; i < intervals->count; i = end) {
            middle = run_end(swap, i, intervals->count);
            end = middle < intervals->count
                      ? run_end(swap, middle, intervals->count)
                      : middle;
            merge_interval_halves(swap, i, middle, end, spare + i);
        }
        intervals->items = spare;
        intervals->capacity = spare_capacity;
        spare = swap;
        spare_capacity = swap_capacity;
    }
    dwarf_budget_drop(budget, &spare, &spare_capacity, sizeof(*spare));
    return true;
}

/* Sorts by start and removes overlaps: the first in that order wins, and of
 * equal starts the one that was added first.  false: no room. */
static bool
index_intervals_sort(struct index_intervals *intervals,
                     struct dwarf_budget *budget)
{
    uint64_t end = 0;
    size_t kept = 0;

    if (!merge_sort(intervals, budget))
        return false;
    for (size_t i = 0; i < intervals->count; i++) {
        struct index_interval item = intervals->items[i];

        if (item.start < end)
            item.start = end;
        if (item.start >= item.end)
            continue;
        end = item.end;
        intervals->items[kept++] = item;
    }
    intervals->count = kept;
    return true;
}

struct index_builder {
    struct index_collected all;
    bool failed, sorted;
};

struct index_builder *
index_builder_new(struct dwarf_budget *budget)
{
    struct index_builder *builder = mem_zalloc(1, sizeof(*builder));

    if (!builder)
        return NULL;
    builder->all.budget = budget;
    if (!index_dictionary_init(&builder->all.names, builder->all.budget) ||
        !index_dictionary_init(&builder->all.files, builder->all.budget)) {
        index_builder_free(builder);
        return NULL;
    }
    return builder;
}

void
index_builder_free(struct index_builder *builder)
{
    struct index_collected *all;

    if (!builder)
        return;
    all = &builder->all;
    index_intervals_fini(&all->ranges, all->budget);
    index_intervals_fini(&all->rows, all->budget);
    index_intervals_fini(&all->symbols, all->budget);
    dwarf_budget_drop(all->budget, &all->nodes, &all->node_capacity,
                      sizeof(*all->nodes));
    index_dictionary_fini(&all->names);
    index_dictionary_fini(&all->files);
    mem_free(builder);
}

bool
index_builder_failed(const struct index_builder *builder)
{
    return builder->failed;
}

static uint32_t
add_builder_text(struct index_builder *builder,
                 struct index_dictionary *dictionary, struct span text)
{
    uint32_t number = index_dictionary_add(dictionary, text);

    if (number != UINT32_MAX)
        return number;
    builder->failed = true;
    return 0;
}

uint32_t
index_builder_name(struct index_builder *builder, struct span name)
{
    return add_builder_text(builder, &builder->all.names, name);
}

uint32_t
index_builder_file(struct index_builder *builder, struct span path)
{
    return add_builder_text(builder, &builder->all.files, path);
}

uint32_t
index_builder_node(struct index_builder *builder, const struct index_node *node)
{
    struct index_collected *all = &builder->all;

    /* parents first: a reader relies on lower numbers */
    if ((node->parent != INDEX_NONE && node->parent >= all->node_count) ||
        all->node_count >= INDEX_ITEMS_MAX ||
        !dwarf_budget_grow(all->budget, &all->nodes, &all->node_capacity,
                           all->node_count + 1, sizeof(*node))) {
        builder->failed = true;
        return INDEX_NONE;
    }
    all->nodes[all->node_count] = *node;
    return (uint32_t)all->node_count++;
}

static void
add_builder_interval(struct index_builder *builder,
                     struct index_intervals *intervals,
                     const struct index_interval *item)
{
    if (!index_intervals_add(intervals, builder->all.budget, item))
        builder->failed = true;
}

void
index_builder_range(struct index_builder *builder, uint64_t start, uint64_t end,
                    uint32_t node)
{
    struct index_interval item = {start, end, node, 0};

    if (node < builder->all.node_count)
        add_builder_interval(builder, &builder->all.ranges, &item);
}

void
index_builder_left_out(struct index_builder *builder, uint64_t start,
                       uint64_t end)
{
    struct index_interval item = {start, end, INDEX_NONE, 0};

    add_builder_interval(builder, &builder->all.ranges, &item);
}

void
index_builder_row(struct index_builder *builder, uint64_t start, uint64_t end,
                  uint32_t file, uint32_t line)
{
    struct index_interval item = {start, end, file, line};

    add_builder_interval(builder, &builder->all.rows, &item);
}

/* Code 4 GiB behind its symbol's start gets no symbol: the distance has 32
 * bits. */
void
index_builder_symbol(struct index_builder *builder, uint64_t start,
                     uint64_t end, uint64_t symbol_start, uint32_t name)
{
    struct index_interval item = {start, end, name,
                                  (uint32_t)(start - symbol_start)};

    if (symbol_start <= start && start - symbol_start <= UINT32_MAX)
        add_builder_interval(builder, &builder->all.symbols, &item);
}

void
index_builder_function(struct index_builder *builder, uint64_t start,
                       uint64_t end, uint64_t function_start)
{
    const uint32_t none = index_builder_name(builder, (struct span){"", 0});

    if (function_start <= start)
        /* name 0 and a distance that is one more: see SYMBOLS in
         * symbol_index_format.h */
        index_builder_symbol(builder, start, end, function_start - 1, none);
}

void
index_builder_symbols_only(struct index_builder *builder)
{
    builder->all.symbols_only = true;
}

static int
sort_builder_ranges(struct index_builder *builder, struct error *err)
{
    struct index_collected *all = &builder->all;

    if (!builder->failed && !builder->sorted)
        builder->failed = !index_intervals_sort(&all->ranges, all->budget);
    builder->sorted = true;
    if (!builder->failed)
        return 0;
    error_set(err, ER_OUT_OF_MEMORY,
              "the symbol index needs more memory than it may have");
    return -1;
}

/* A chain has at most the depth of inlining: parents have lower numbers. */
static uint32_t
root_of(const struct index_collected *all, uint32_t node)
{
    while (node != INDEX_NONE && all->nodes[node].parent != INDEX_NONE)
        node = all->nodes[node].parent;
    return node;
}

/* The index of the first range that ends behind address. */
static size_t
range_after(const struct index_intervals *ranges, uint64_t address)
{
    return SEARCH_ABOVE(ranges->items, ranges->count, end, address);
}

struct run {
    uint64_t start, end;
    uint32_t root;
    void (*function)(void *arg, uint64_t start, uint64_t end, uint32_t root);
    void *arg;
};

/* Extends the run up to end, or reports it and begins another with this
 * root. */
static void
extend_root_run(struct run *run, uint64_t end, uint32_t root)
{
    if (root != run->root && run->end > run->start) {
        run->function(run->arg, run->start, run->end, run->root);
        run->start = run->end;
    }
    run->root = root;
    run->end = end;
}

/* Sorts the ranges at the first call: no range may be added afterwards. */
int
index_builder_roots(struct index_builder *builder, uint64_t start, uint64_t end,
                    void (*function)(void *arg, uint64_t start, uint64_t end,
                                     uint32_t root),
                    void *arg, struct error *err)
{
    const struct index_collected *all = &builder->all;
    struct run run = {start, start, INDEX_NONE, function, arg};

    if (sort_builder_ranges(builder, err) != 0)
        return -1;
    if (start >= end)
        return 0;
    for (size_t i = range_after(&all->ranges, start);
         i < all->ranges.count && all->ranges.items[i].start < end; i++) {
        const struct index_interval *item = &all->ranges.items[i];

        /* a gap between ranges has no function */
        if (item->start > run.end)
            extend_root_run(&run, item->start, INDEX_NONE);
        extend_root_run(&run, item->end < end ? item->end : end,
                        root_of(all, item->a));
    }
    if (run.end < end)
        extend_root_run(&run, end, INDEX_NONE);
    function(arg, run.start, run.end, run.root);
    return 0;
}

int
index_builder_finish(struct index_builder *builder, const uint8_t *build_id,
                     size_t build_id_size,
                     int (*write)(void *arg, const void *data, size_t size,
                                  struct error *err),
                     void *arg, struct error *err)
{
    struct index_encoder encoders[INDEX_SECTIONS];
    struct index_collected *all = &builder->all;
    int rc = -1;

    for (int i = 0; i < INDEX_SECTIONS; i++)
        index_encoder_init(&encoders[i]);
    if (sort_builder_ranges(builder, err) != 0)
        goto out;
    /* the key of the file, so nothing could find it */
    if (build_id_size == 0 || build_id_size > INDEX_BUILD_ID_MAX) {
        error_set(err, ER_UNKNOWN,
                  "without a build-id there can be no symbol index");
        goto out;
    }
    if (!index_intervals_sort(&all->rows, all->budget) ||
        !index_intervals_sort(&all->symbols, all->budget) ||
        !index_emit(all, encoders)) {
        builder->failed = true;
        sort_builder_ranges(builder, err);
        goto out;
    }
    rc =
        index_encoder_write(encoders, build_id, build_id_size, write, arg, err);
out:
    for (int i = 0; i < INDEX_SECTIONS; i++)
        index_encoder_fini(&encoders[i]);
    return rc;
}
