/*
 * snapshot_waste.c - see snapshot_waste.h.
 *
 * The figures are written that waste is computed from, not the result: a later
 * version may compute it better, also of old snapshots.
 */
#include "snapshot_waste.h"

#include <stdbool.h>
#include <string.h>

#include "arena.h"
#include "buffer.h"
#include "errors.h"
#include "live_parts.h"
#include "profile.h"
#include "reader.h"
#include "size_class.h"
#include "snapshot_parts.h"
#include "stats.h"
#include "waste.h"

enum {
    SIZES_MAX = 1 << 22,
    /* The fewest bytes that one of each takes: bounds what a count may
     * promise. */
    CLASS_BYTES = 5,
    SIZE_BYTES = 26
};

enum { HAS_SIZES = 1, ARENAS_LEFT_OUT = 2 };

static void
encode_sizes(const struct live_sizes *sizes, struct buffer *out)
{
    uint32_t stack = 0;

    buffer_lenenc(out, sizes->count);
    for (size_t i = 0; i < sizes->count; i++) {
        const struct live_size *size = &sizes->list[i];
        const double reals[] = {size->objects, size->bytes, size->variance};
        uint64_t bits[3];

        memcpy(bits, reals, sizeof(bits));
        buffer_lenenc(out, size->stack - stack);
        buffer_u8(out, (uint8_t)size->number);
        for (size_t k = 0; k < 3; k++)
            buffer_u64(out, bits[k]);
        stack = size->stack;
    }
}

/* The heap's figures in the file's order. */
enum { FIGURES = 8 };

static void
list_figures(struct waste_heap *heap, uint64_t *figures[FIGURES])
{
    uint64_t *const list[FIGURES] = {&heap->allocated, &heap->active,
                                     &heap->resident,  &heap->dirty,
                                     &heap->muzzy,     &heap->retained,
                                     &heap->tcache,    &heap->large_padding};

    memcpy(figures, list, sizeof(list));
}

void
snapshot_waste_encode(const struct profile *profile, struct buffer *out)
{
    struct waste_heap heap = profile->waste->heap;
    uint64_t *figures[FIGURES];

    list_figures(&heap, figures);
    buffer_u8(out, (uint8_t)((profile->sizes ? HAS_SIZES : 0) |
                             (heap.arenas_left_out ? ARENAS_LEFT_OUT : 0)));
    buffer_lenenc(out, profile->rate);
    buffer_u64(out, (uint64_t)heap.at_ms);
    for (size_t i = 0; i < FIGURES; i++)
        buffer_lenenc(out, *figures[i]);
    buffer_lenenc(out, heap.class_count);
    for (uint32_t i = 0; i < heap.class_count; i++) {
        const struct waste_class *of = &heap.classes[i];

        buffer_lenenc(out, of->size);
        buffer_lenenc(out, of->regions);
        buffer_lenenc(out, of->slab_size);
        buffer_lenenc(out, of->slabs);
        buffer_lenenc(out, of->in_use);
    }
    if (profile->sizes)
        encode_sizes(profile->sizes, out);
}

/* A number of bytes, at most what an SQL integer holds. */
static uint64_t
read_sql_size(struct reader *r)
{
    uint64_t bytes = reader_lenenc(r);

    r->failed |= bytes > INT64_MAX;
    return bytes;
}

/* Sizes ascend by stack and number of the size class, each pair once. */
static int
read_sizes(struct reader *r, struct profile *profile)
{
    struct live_sizes *sizes = arena_alloc(profile->arena, sizeof(*sizes));
    size_t count = snapshot_read_count(r, SIZE_BYTES, SIZES_MAX);
    struct live_size *list = arena_alloc(profile->arena, count * sizeof(*list));

    if (!sizes || !list)
        return -1;
    for (size_t i = 0; i < count && !r->failed; i++) {
        uint64_t step = reader_lenenc(r);
        uint32_t last = i > 0 ? list[i - 1].stack : 0;

        r->failed |= step >= profile->stack_count - last;
        list[i].stack = last + (uint32_t)step;
        list[i].number = reader_u8(r);
        r->failed |=
            list[i].number >= SIZE_CLASSES ||
            (i > 0 && step == 0 && list[i].number <= list[i - 1].number);
        list[i].objects = snapshot_read_real(r);
        list[i].bytes = snapshot_read_real(r);
        list[i].variance = snapshot_read_real(r);
    }
    *sizes = (struct live_sizes){list, count};
    profile->sizes = sizes;
    return 0;
}

static void
read_classes(struct reader *r, struct waste_heap *heap)
{
    heap->class_count =
        (uint32_t)snapshot_read_count(r, CLASS_BYTES, WASTE_CLASSES_MAX);
    r->failed |= heap->class_count == 0;
    for (uint32_t i = 0; i < heap->class_count && !r->failed; i++) {
        struct waste_class *of = &heap->classes[i];

        of->size = read_sql_size(r);
        of->regions = reader_lenenc(r);
        of->slab_size = read_sql_size(r);
        of->slabs = reader_lenenc(r);
        of->in_use = reader_lenenc(r);
        r->failed |= of->size <= (i > 0 ? heap->classes[i - 1].size : 0);
    }
}

int
snapshot_waste_decode(struct reader *r, struct profile *profile)
{
    struct waste_heap heap = {.at_ms = 0};
    uint64_t *figures[FIGURES];
    struct error ignored;
    uint8_t flags = reader_u8(r);

    list_figures(&heap, figures);
    heap.arenas_left_out = flags & ARENAS_LEFT_OUT;
    /* waste_fill() needs it, and the head's is set later */
    profile->rate = reader_lenenc(r);
    heap.at_ms = (int64_t)reader_u64(r);
    for (size_t i = 0; i < FIGURES; i++)
        *figures[i] = read_sql_size(r);
    read_classes(r, &heap);
    r->failed |= profile->rate == 0 || heap.at_ms <= 0 ||
                 (flags & ~(HAS_SIZES | ARENAS_LEFT_OUT));
    if (!r->failed && flags & HAS_SIZES && read_sizes(r, profile) != 0)
        return -1;
    return r->failed ? 0 : waste_fill(profile, &heap, &ignored);
}

/* ---- taken from jemalloc's statistics ---- */

static const struct stats_named *
find_stat_by_name(const struct stats *stats, const char *name)
{
    for (size_t i = 0; i < stats->named_count; i++)
        if (strcmp(stats->named[i].name, name) == 0)
            return &stats->named[i];
    return NULL;
}

/* Whether each large extent has one page more than its size (cache oblivious):
 * jemalloc places blocks at random cache lines in it, so that they do not all
 * compete for the same ones.  A choice when jemalloc is built, since 5.3 also
 * when it starts. */
static bool
is_cache_oblivious(const struct stats *stats)
{
    const struct stats_named *of =
        find_stat_by_name(stats, "opt.cache_oblivious");

    if (!of)
        of = find_stat_by_name(stats, "config.cache_oblivious");
    return of && of->is_number && of->number != 0;
}

static void
add_class(struct waste_heap *out, const struct waste_class *of)
{
    uint32_t count = out->class_count;

    if (count < WASTE_CLASSES_MAX &&
        (count == 0 || out->classes[count - 1].size < of->size))
        out->classes[out->class_count++] = *of;
}

void
waste_take(const struct stats *stats, struct waste_heap *out)
{
    const struct stats_named *left_out =
        find_stat_by_name(stats, "heapwire.arenas_left_out");
    bool padded = is_cache_oblivious(stats);

    memset(out, 0, sizeof(*out));
    if (!stats->allocated.known || !stats->active.known ||
        !stats->resident.known || stats->bin_count == 0 ||
        stats->bins[0].size == 0)
        return;
    out->at_ms = stats->allocator_ms;
    out->allocated = stats->allocated.value;
    out->active = stats->active.value;
    out->resident = stats->resident.value;
    out->retained = stats->retained.value;
    out->arenas_left_out = left_out != NULL;
    for (size_t i = 0; i < stats->arena_count; i++) {
        out->dirty += stats->arenas[i].dirty;
        out->muzzy += stats->arenas[i].muzzy;
        out->tcache += stats->arenas[i].tcache;
    }
    for (size_t i = 0; i < stats->bin_count; i++) {
        const struct stats_bin *bin = &stats->bins[i];

        add_class(out,
                  &(struct waste_class){bin->size, bin->regions, bin->slab_size,
                                        bin->curslabs, bin->curregs});
    }
    for (size_t i = 0; i < stats->large_count; i++) {
        const struct stats_large *large = &stats->larges[i];

        add_class(out, &(struct waste_class){.size = large->size,
                                             .in_use = large->extents});
        if (padded)
            out->large_padding += large->extents * stats->page;
    }
}
