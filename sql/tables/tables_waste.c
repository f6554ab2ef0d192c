/*
 * tables_waste.c - heapwire.heap_waste: memory in the allocator's pages that
 * nobody uses, by the functions whose objects keep it there
 * (plugin/profile/model/waste.h).
 *
 * The functions are heap_stacks' leaves.  A snapshot without jemalloc's size
 * classes has no rows, and a warning says why.
 */
#include <math.h>

#include "catalog_tables.h"
#include "heap_walk.h"
#include "select_sources.h"
#include "sql.h"
#include "waste_rows.h"

enum {
    WASTE_SNAPSHOT,
    WASTE_KIND,
    WASTE_FUNCTION,
    WASTE_SIZE_CLASS,
    WASTE_LIVE_BYTES,
    WASTE_LIVE_OBJECTS,
    WASTE_ASKED_BYTES,
    WASTE_WASTE_BYTES,
    WASTE_ERROR_BYTES,
    WASTE_UTILIZATION,
    WASTE_WITHIN,
    WASTE_METHOD
};

static void
waste_cell(struct heap_position *position, size_t column, struct value *out)
{
    const struct waste_row *row = &position->source->waste.list[position->at];

    switch (column) {
    case WASTE_SNAPSHOT:
        cell_text(out, position->source->label);
        break;
    case WASTE_KIND:
        cell_text(out, row->kind);
        break;
    case WASTE_FUNCTION:
        if (row->function)
            cell_text(out, row->function);
        break;
    case WASTE_SIZE_CLASS:
        if (row->size_class > 0)
            cell_estimate(out, (double)row->size_class);
        break;
    case WASTE_LIVE_BYTES:
        if (row->has_live)
            cell_estimate(out, row->live_bytes);
        break;
    case WASTE_LIVE_OBJECTS:
        if (row->has_live)
            cell_estimate(out, row->objects);
        break;
    case WASTE_ASKED_BYTES:
        if (row->has_asked)
            cell_estimate(out, row->asked_bytes);
        break;
    case WASTE_WASTE_BYTES:
        cell_estimate(out, row->waste);
        break;
    case WASTE_ERROR_BYTES:
        if (row->has_error)
            cell_estimate(out, row->error);
        break;
    case WASTE_UTILIZATION:
        if (row->utilization >= 0) {
            out->type = VALUE_DOUBLE;
            out->real = round(row->utilization * 1e4) / 1e4;
        }
        break;
    case WASTE_WITHIN:
        if (row->within)
            cell_text(out, row->within);
        break;
    case WASTE_METHOD:
        cell_text(out, row->method);
        break;
    default:
        break;
    }
}

static const struct catalog_column waste[] = {
    CATALOG_NODE_ID,
    {"snapshot", &type_name_nn, HEAP_SNAPSHOT_COMMENT},
    {"kind", &type_name_nn,
     "slabs (free regions, by function and size class), slab ends, large "
     "padding, other pages; dirty, metadata; tcache; muzzy, retained"},
    {"function", &type_text,
     "The leaf that allocated what keeps the slabs; NULL: no function's"},
    {"size_class", &type_ubigint, "Bytes of a region; NULL: of no class"},
    {"live_bytes", &type_ubigint,
     "Bytes in use in regions of the class that the function allocated; NULL: "
     "of no function"},
    {"live_objects", &type_ubigint,
     "Objects in use of the class that the function allocated; NULL: of no "
     "function"},
    {"asked_bytes", &type_ubigint,
     "Bytes of live_bytes that the program asked for; NULL: no recorder "
     "sampled it"},
    {"waste_bytes", &type_bigint_nn,
     "Held and used by nobody: the class's free regions by the share of its "
     "regions in use"},
    {"error_bytes", &type_ubigint_nn,
     "By how much that may be wrong: the standard error of sampling and, where "
     "method is spread, how far another spread could differ"},
    {"utilization", &type_double,
     "Share of the class's regions in use, as in malloc_bins; NULL without "
     "slabs"},
    {"within", &type_name,
     "The figure of heapwire.memory that has these bytes (active: active - "
     "allocated, resident: resident - active); NULL: not in memory"},
    {"method", &type_name_nn,
     "samples (exact sizes), one class (the stack's mean size is a class), "
     "spread (its mean lies between classes), not in the profile, counted"},
};

static const struct heap_walk waste_walk = {HEAP_WASTE, 200, 200, waste_cell,
                                            .keyless = true};

const struct catalog_table tables_waste[] = {
    {"heapwire", "heap_waste", CATALOG_OWN_COLUMNS(waste),
     .comment = "What the allocator's pages hold and nobody uses, by function "
                "and size class",
     .privilege = PRIVILEGE_PROFILE, .walk = &waste_walk},
    CATALOG_OF_ALL("heap_waste", waste, PRIVILEGE_PROFILE, &tables_waste[0]),
    {NULL},
};
