/*
 * tables_malloc.c - what the node's jemalloc counts, as it counts.
 *
 * CREATE TABLE heapwire.malloc_stats (
 *     name varchar(64) NOT NULL, value bigint, text varchar(64) NOT NULL)
 * CREATE TABLE heapwire.malloc_bins (
 *     bin bigint NOT NULL, size bigint NOT NULL, regions bigint NOT NULL,
 *     slab_size bigint NOT NULL, nmalloc bigint NOT NULL,
 *     ndalloc bigint NOT NULL, nrequests bigint NOT NULL,
 *     curregs bigint NOT NULL, curslabs bigint NOT NULL,
 *     nonfull_slabs bigint NOT NULL, allocated bigint NOT NULL,
 *     wasted bigint NOT NULL, utilization double)
 * CREATE TABLE heapwire.malloc_arenas (
 *     arena bigint NOT NULL, threads bigint NOT NULL,
 *     small_allocated bigint NOT NULL, large_allocated bigint NOT NULL,
 *     active bigint NOT NULL, dirty bigint NOT NULL, muzzy bigint NOT NULL,
 *     mapped bigint NOT NULL, retained bigint NOT NULL,
 *     metadata bigint NOT NULL, resident bigint NOT NULL)
 */
#include <math.h>
#include <string.h>

#include "catalog_tables.h"
#include "errors.h"
#include "rowset.h"
#include "sql.h"
#include "stats.h"

/* The statistics; NULL, and the table fails, if jemalloc gives none. */
static const struct stats *
jemalloc_stats(const struct catalog_scope *scope, struct rowset *out)
{
    struct error why;

    if (scope->stats && scope->stats->named_count > 0)
        return scope->stats;
    if (scope->stats && scope->stats->failure)
        error_set(&why, ER_UNKNOWN, "%s", scope->stats->failure);
    else if (scope->stats && scope->stats->unusable)
        error_set(&why, ER_UNKNOWN,
                  "%s; heapwire.memory has the kernel's figures",
                  scope->stats->unusable);
    else
        error_set(
            &why, ER_UNKNOWN,
            "the database does not allocate through jemalloc, which alone "
            "has such statistics; heapwire.memory has the kernel's figures");
    rowset_fail(out, &why);
    return NULL;
}

static void
add(struct rowset *out, uint64_t value)
{
    rowset_int(out, (int64_t)value);
}

/* ---- heapwire.malloc_stats ---- */

static void
produce_stats(const struct catalog_scope *scope, struct rowset *out)
{
    const struct stats *stats = jemalloc_stats(scope, out);

    for (size_t i = 0; stats && i < stats->named_count; i++) {
        const struct stats_named *named = &stats->named[i];

        rowset_text(out, named->name);
        if (named->is_number)
            rowset_int(out, named->number);
        else
            rowset_null(out);
        rowset_text(out, named->text);
    }
}

static const struct catalog_column stats_columns[] = {
    CATALOG_NODE_ID,
    {"name", &type_name, "As jemalloc's mallctl() names it", CATALOG_KEY},
    {"value", &type_bigint, "NULL where it is a word; a truth is 0 or 1"},
    {"text", &type_name, "The value as text", CATALOG_SET},
};

const struct catalog_table table_malloc_stats = {
    "heapwire",
    "malloc_stats",
    "Totals and settings of the database's jemalloc, as of now or at most a "
    "second ago",
    CATALOG_OWN_COLUMNS(stats_columns),
    PRIVILEGE_STATUS,
    produce_stats,
    NEED_STATS};

const struct catalog_table table_cluster_malloc_stats = {
    .database = "heapwire",
    .name = "cluster_malloc_stats",
    .comment = "heapwire.malloc_stats of every node",
    .columns = stats_columns,
    .column_count = sizeof(stats_columns) / sizeof(stats_columns[0]),
    .privilege = PRIVILEGE_STATUS | PRIVILEGE_CLUSTER,
    .of = &table_malloc_stats};

/* ---- heapwire.malloc_bins ---- */

static void
produce_bins(const struct catalog_scope *scope, struct rowset *out)
{
    const struct stats *stats = jemalloc_stats(scope, out);

    for (size_t i = 0; stats && i < stats->bin_count; i++) {
        const struct stats_bin *bin = &stats->bins[i];
        double regions = (double)bin->curslabs * (double)bin->regions;

        add(out, i);
        add(out, bin->size);
        add(out, bin->regions);
        add(out, bin->slab_size);
        add(out, bin->nmalloc);
        add(out, bin->ndalloc);
        add(out, bin->nrequests);
        add(out, bin->curregs);
        add(out, bin->curslabs);
        add(out, bin->nonfull_slabs);
        add(out, bin->size * bin->curregs);
        add(out, bin->curregs < bin->curslabs * bin->regions
                     ? (bin->curslabs * bin->regions - bin->curregs) * bin->size
                     : 0);
        if (regions > 0)
            rowset_double(out,
                          round(1e4 * (double)bin->curregs / regions) / 1e4);
        else
            rowset_null(out);
    }
}

static const struct catalog_column bin_columns[] = {
    {"bin", &type_bigint, "Ascending by size", CATALOG_KEY},
    {"size", &type_bigint, "Bytes of a region: what one allocation gets",
     CATALOG_SET},
    {"regions", &type_bigint, "Regions of a slab", CATALOG_SET},
    {"slab_size", &type_bigint, "Bytes of a slab", CATALOG_SET},
    {"nmalloc", &type_bigint, "Regions ever given to threads' caches or out",
     CATALOG_SET},
    {"ndalloc", &type_bigint, "Regions ever given back", CATALOG_SET},
    {"nrequests", &type_bigint, "Allocations ever asked for", CATALOG_SET},
    {"curregs", &type_bigint, "Regions in use, threads' caches included",
     CATALOG_SET},
    {"curslabs", &type_bigint, "Slabs", CATALOG_SET},
    {"nonfull_slabs", &type_bigint, "Slabs with both used and free regions",
     CATALOG_SET},
    {"allocated", &type_bigint, "Bytes in use: size * curregs", CATALOG_SET},
    {"wasted", &type_bigint, "Bytes of the slabs' regions that are not in use",
     CATALOG_SET},
    {"utilization", &type_double,
     "Share of the slabs' regions in use, 0 to 1; NULL without slabs"},
};

const struct catalog_table table_malloc_bins = {
    "heapwire",
    "malloc_bins",
    "jemalloc's size classes of small allocations, all arenas together",
    CATALOG_COLUMNS(bin_columns),
    PRIVILEGE_STATUS,
    produce_bins,
    NEED_STATS};

/* ---- heapwire.malloc_arenas ---- */

static void
produce_arenas(const struct catalog_scope *scope, struct rowset *out)
{
    const struct stats *stats = jemalloc_stats(scope, out);

    for (size_t i = 0; stats && i < stats->arena_count; i++) {
        const struct stats_arena *arena = &stats->arenas[i];

        add(out, arena->index);
        add(out, arena->threads);
        add(out, arena->small_allocated);
        add(out, arena->large_allocated);
        add(out, arena->active);
        add(out, arena->dirty);
        add(out, arena->muzzy);
        add(out, arena->mapped);
        add(out, arena->retained);
        add(out, arena->metadata);
        add(out, arena->resident);
    }
}

static const struct catalog_column arena_columns[] = {
    {"arena", &type_bigint, "jemalloc's number", CATALOG_KEY},
    {"threads", &type_bigint, "Threads that allocate from it", CATALOG_SET},
    {"small_allocated", &type_bigint, "Bytes in use, of size classes in bins",
     CATALOG_SET},
    {"large_allocated", &type_bigint, "Bytes in use, larger ones", CATALOG_SET},
    {"active", &type_bigint, "Bytes of pages in use", CATALOG_SET},
    {"dirty", &type_bigint, "Bytes of free pages not given back yet",
     CATALOG_SET},
    {"muzzy", &type_bigint, "Bytes of free pages the kernel may take",
     CATALOG_SET},
    {"mapped", &type_bigint, "Bytes of its address space in use", CATALOG_SET},
    {"retained", &type_bigint, "Bytes of address space kept, without memory",
     CATALOG_SET},
    {"metadata", &type_bigint, "Bytes of its bookkeeping", CATALOG_SET},
    {"resident", &type_bigint, "Bytes in memory, by jemalloc's count",
     CATALOG_SET},
};

const struct catalog_table table_malloc_arenas = {
    "heapwire",
    "malloc_arenas",
    "jemalloc's arenas that were ever used; past 1024, "
    "heapwire.arenas_left_out of malloc_stats says how many more",
    CATALOG_COLUMNS(arena_columns),
    PRIVILEGE_STATUS,
    produce_arenas,
    NEED_STATS};
