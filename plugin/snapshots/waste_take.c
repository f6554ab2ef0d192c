/* waste_take.c - see waste_take.h. */
#include "waste_take.h"

#include <stdbool.h>
#include <string.h>

#include "stats.h"
#include "waste.h"

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
