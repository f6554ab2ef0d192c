/*
 * tables_malloc.c - jemalloc's own statistics as tables: totals, bins, arenas,
 * and every jemalloc found in the process.
 *
 * The figures are fetched before (NEED_STATS) and shown as jemalloc counts
 * them.  A database without jemalloc, or a jemalloc that cannot be asked, is
 * an error that says so and where other figures are; an empty table would look
 * like zero.
 */
#include <math.h>
#include <string.h>

#include "catalog_tables.h"
#include "errors.h"
#include "sql.h"
#include "sql_cursor.h"
#include "stats.h"
#include "stats_allocators.h"

enum {
    ASKED_OF_IT = 7
}; /* columns that only a jemalloc that can be called
    * answers */

static void
add_truths(struct rowset *out, const struct stats_allocator *a)
{
    rowset_int(out, a->config_prof);
    rowset_int(out, a->opt_prof);
    rowset_int(out, a->active);
    rowset_int(out, a->serves_malloc);
    rowset_int(out, a->serves_new);
    rowset_int_if(out, a->counted, (int64_t)a->allocated);
    rowset_int_if(out, a->counted && a->resident > 0, (int64_t)a->resident);
}

static void
produce_allocators(const struct catalog_scope *scope, struct rowset *out)
{
    const struct stats *stats = scope->stats;
    struct error why;

    if (!stats || !stats->allocators) {
        if (stats && stats->failure)
            error_set(&why, ER_UNKNOWN, "%s", stats->failure);
        else
            error_set(&why, ER_UNKNOWN,
                      "the agent in the database is older than heapwired and "
                      "does not list allocators; restart the database to load "
                      "the new one");
        rowset_fail(out, &why);
        return;
    }
    for (size_t i = 0; i < stats->allocator_count; i++) {
        const struct stats_allocator *a = &stats->allocators[i];

        ROWSET_TEXTS(out, a->object, a->mallctl, a->version, a->variable);
        rowset_int(out, a->chosen);
        rowset_int(out, a->callable);
        if (a->callable)
            add_truths(out, a);
        else
            rowset_nulls(out, ASKED_OF_IT);
        rowset_text(out, a->found);
        rowset_text(out, a->note);
    }
}

static const struct catalog_column columns[] = {
    CATALOG_NODE_ID,
    {"object", &type_text_nn, "The file that has it"},
    {"mallctl", &type_name_nn, "The name of its mallctl in the object"},
    {"version", &type_name_nn},
    {"variable", &type_name_nn, "The environment variable that it reads"},
    {"chosen", &type_boolean_nn, "1: profiles and statistics are of this one"},
    {"callable", &type_boolean_nn, "0: the note says why"},
    {"can_profile", &type_boolean, "Built with --enable-prof"},
    {"opt_prof", &type_boolean, "Started with prof:true"},
    {"active", &type_boolean, "Whether allocations are sampled"},
    {"serves_malloc", &type_boolean,
     "Whether the process's malloc is this one's"},
    {"serves_new", &type_boolean,
     "Whether the process's operator new is this one's"},
    {"allocated", &type_bigint, "Bytes in use; NULL: built without statistics"},
    {"resident", &type_bigint, "Bytes in memory, by its count"},
    {"found", &type_name_nn,
     "How: exported, symtab, debug, index, scan (of the code) or given"},
    {"note", &type_text_nn, "Why it cannot be called, and what to do"},
};

/* Returns the statistics.  NULL if jemalloc gives none; the table fails
 * then. */
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
            "the database does not allocate through jemalloc: only jemalloc "
            "has such statistics; heapwire.memory has the kernel's figures");
    rowset_fail(out, &why);
    return NULL;
}

static void
add_malloc_count(struct rowset *out, uint64_t value)
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
        rowset_int_if(out, named->is_number, named->number);
        rowset_text(out, named->text);
    }
}

static const struct catalog_column stats_columns[] = {
    CATALOG_NODE_ID,
    {"name", &type_name, "As jemalloc's mallctl() names it", CATALOG_KEY},
    {"value", &type_bigint, "NULL where it is a word; a truth is 0 or 1"},
    {"text", &type_name_nn, "The value as text"},
};

/* ---- heapwire.malloc_bins ---- */

static void
produce_bins(const struct catalog_scope *scope, struct rowset *out)
{
    const struct stats *stats = jemalloc_stats(scope, out);

    for (size_t i = 0; stats && i < stats->bin_count; i++) {
        const struct stats_bin *bin = &stats->bins[i];
        double regions = (double)bin->curslabs * (double)bin->regions;

        add_malloc_count(out, i);
        add_malloc_count(out, bin->size);
        add_malloc_count(out, bin->regions);
        add_malloc_count(out, bin->slab_size);
        add_malloc_count(out, bin->nmalloc);
        add_malloc_count(out, bin->ndalloc);
        add_malloc_count(out, bin->nrequests);
        add_malloc_count(out, bin->curregs);
        add_malloc_count(out, bin->curslabs);
        add_malloc_count(out, bin->nonfull_slabs);
        add_malloc_count(out, bin->size * bin->curregs);
        add_malloc_count(
            out, bin->curregs < bin->curslabs * bin->regions
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
    CATALOG_NODE_ID,
    {"bin", &type_bigint, "Ascending by size", CATALOG_KEY},
    {"size", &type_bigint_nn, "Bytes of a region: what one allocation gets"},
    {"regions", &type_bigint_nn, "Regions of a slab"},
    {"slab_size", &type_bigint_nn, "Bytes of a slab"},
    {"nmalloc", &type_bigint_nn,
     "Regions ever given to threads' caches or out"},
    {"ndalloc", &type_bigint_nn, "Regions ever given back"},
    {"nrequests", &type_bigint_nn, "Allocations ever asked for"},
    {"curregs", &type_bigint_nn, "Regions in use, threads' caches included"},
    {"curslabs", &type_bigint_nn, "Slabs"},
    {"nonfull_slabs", &type_bigint_nn, "Slabs with both used and free regions"},
    {"allocated", &type_bigint_nn, "Bytes in use: size * curregs"},
    {"wasted", &type_bigint_nn,
     "Bytes of the slabs' regions that are not in use"},
    {"utilization", &type_double,
     "Share of the slabs' regions in use, 0 to 1; NULL without slabs"},
};

/* ---- heapwire.malloc_arenas ---- */

static void
produce_arenas(const struct catalog_scope *scope, struct rowset *out)
{
    const struct stats *stats = jemalloc_stats(scope, out);

    for (size_t i = 0; stats && i < stats->arena_count; i++) {
        const struct stats_arena *arena = &stats->arenas[i];

        add_malloc_count(out, arena->index);
        add_malloc_count(out, arena->threads);
        add_malloc_count(out, arena->small_allocated);
        add_malloc_count(out, arena->large_allocated);
        add_malloc_count(out, arena->active);
        add_malloc_count(out, arena->dirty);
        add_malloc_count(out, arena->muzzy);
        add_malloc_count(out, arena->mapped);
        add_malloc_count(out, arena->retained);
        add_malloc_count(out, arena->metadata);
        add_malloc_count(out, arena->resident);
    }
}

static const struct catalog_column arena_columns[] = {
    CATALOG_NODE_ID,
    {"arena", &type_bigint, "jemalloc's number", CATALOG_KEY},
    {"threads", &type_bigint_nn, "Threads that allocate from it"},
    {"small_allocated", &type_bigint_nn,
     "Bytes in use, of size classes in bins"},
    {"large_allocated", &type_bigint_nn, "Bytes in use, of larger allocations"},
    {"active", &type_bigint_nn, "Bytes of pages in use"},
    {"dirty", &type_bigint_nn, "Bytes of free pages not given back yet"},
    {"muzzy", &type_bigint_nn, "Bytes of free pages the kernel may take"},
    {"mapped", &type_bigint_nn, "Bytes of its address space in use"},
    {"retained", &type_bigint_nn,
     "Bytes of address space kept, without memory"},
    {"metadata", &type_bigint_nn, "Bytes of its bookkeeping"},
    {"resident", &type_bigint_nn, "Bytes in memory, by jemalloc's count"},
};

const struct catalog_table tables_malloc[] = {
    {"heapwire", "malloc_stats", CATALOG_OWN_COLUMNS(stats_columns),
     produce_stats,
     "Totals and settings of the database's jemalloc, as of now or at most a "
     "second ago",
     PRIVILEGE_STATUS, NEED_STATS},
    CATALOG_OF_ALL("malloc_stats", stats_columns, PRIVILEGE_STATUS,
                   &tables_malloc[0]),
    {"heapwire", "malloc_bins", CATALOG_OWN_COLUMNS(bin_columns), produce_bins,
     "jemalloc's size classes of small allocations, all arenas together",
     PRIVILEGE_STATUS, NEED_STATS},
    {"heapwire", "malloc_arenas", CATALOG_OWN_COLUMNS(arena_columns),
     produce_arenas,
     "jemalloc's arenas that were ever used; past 1024, "
     "heapwire.arenas_left_out of malloc_stats says how many more",
     PRIVILEGE_STATUS, NEED_STATS},
    CATALOG_OF_ALL("malloc_bins", bin_columns, PRIVILEGE_STATUS,
                   &tables_malloc[2]),
    CATALOG_OF_ALL("malloc_arenas", arena_columns, PRIVILEGE_STATUS,
                   &tables_malloc[3]),
    {"heapwire", "allocators", CATALOG_OWN_COLUMNS(columns), produce_allocators,
     "Every jemalloc in the database, and which one is profiled",
     PRIVILEGE_STATUS, NEED_STATS},
    CATALOG_OF_ALL("allocators", columns, PRIVILEGE_STATUS, &tables_malloc[6]),
    {NULL},
};
