/*
 * tables_functions.c - a heap profile by function: heap_functions, and what
 * grew from one snapshot to another, heap_diff.
 *
 * What grew most comes first.  Names and weights are the same in both.
 */
#include <math.h>
#include <string.h>

#include "catalog_tables.h"
#include "functions.h"
#include "headline.h"
#include "heap_cell.h"
#include "heap_walk.h"
#include "select_pins.h"
#include "sql.h"

/* What a column of either table shows. */
enum shown {
    SNAPSHOT,
    BASE,
    FUNCTION,
    MODULE,
    FLAT_BYTES,
    FLAT_PERCENT,
    FLAT_ERROR,
    FLAT_OBJECTS,
    CUM_BYTES,
    CUM_PERCENT,
    CUM_ERROR,
    CUM_OBJECTS,
    SIGNIFICANT
};

/* Rounds to hundredths. */
static void
set_percent(struct value *out, double part, double whole)
{
    out->type = VALUE_DOUBLE;
    out->real = whole > 0 ? round(part / whole * 10000) / 100 : 0;
}

static void
show(const struct heap_place *place, enum shown what, struct value *out)
{
    const struct functions *functions = place->pin->functions;
    const struct function *f = &functions->list[heap_place_index(place)];

    switch (what) {
    case SNAPSHOT:
        cell_text(out, place->pin->label);
        break;
    case BASE:
        cell_text(out, place->pin->base);
        break;
    case FUNCTION:
        cell_text(out, f->name);
        break;
    case MODULE:
        cell_known(out, f->module);
        break;
    case FLAT_BYTES:
        cell_estimate(out, f->flat_bytes);
        break;
    case FLAT_PERCENT:
        set_percent(out, f->flat_bytes, functions->bytes);
        break;
    case FLAT_ERROR:
        cell_estimate(out, sqrt(f->flat_variance));
        break;
    case FLAT_OBJECTS:
        cell_estimate(out, f->flat_objects);
        break;
    case CUM_BYTES:
        cell_estimate(out, f->cumulative_bytes);
        break;
    case CUM_PERCENT:
        set_percent(out, f->cumulative_bytes, functions->bytes);
        break;
    case CUM_ERROR:
        cell_estimate(out, sqrt(f->cumulative_variance));
        break;
    case CUM_OBJECTS:
        cell_estimate(out, f->cumulative_objects);
        break;
    case SIGNIFICANT:
        out->type = VALUE_INT;
        out->integer = significance_is(
            f->cumulative_bytes, f->cumulative_variance, functions->errors);
        break;
    }
}

/* ---- heap_functions ---- */

static void
functions_cell(struct heap_place *place, size_t column, struct value *out)
{
    static const enum shown columns[] = {SNAPSHOT,    FUNCTION,     MODULE,
                                         FLAT_BYTES,  FLAT_PERCENT, CUM_BYTES,
                                         CUM_PERCENT, FLAT_OBJECTS, CUM_OBJECTS,
                                         FLAT_ERROR,  CUM_ERROR};

    show(place, columns[column], out);
}

static const struct catalog_column functions[] = {
    CATALOG_NODE_ID,
    {"snapshot", &type_name_nn, HEAP_SNAPSHOT_COMMENT},
    {"function", &type_text_nn,
     "As in the call graph; (inline) follows inlined ones"},
    {"module", &type_text, "The program or library that has it"},
    {"flat_bytes", &type_ubigint_nn,
     "In use, allocated by the function itself"},
    {"flat_percent", &type_double_nn,
     "Of all bytes that are in the call graph"},
    {"cum_bytes", &type_ubigint_nn,
     "In use, allocated by it and whatever it called"},
    {"cum_percent", &type_double_nn, "Of all bytes that are in the call graph"},
    {"flat_objects", &type_ubigint_nn,
     "In use, allocated by the function itself"},
    {"cum_objects", &type_ubigint_nn,
     "In use, allocated by it and whatever it called"},
    {"flat_error", &type_ubigint_nn,
     "The standard error of flat_bytes, by sampling"},
    {"cum_error", &type_ubigint_nn, "The standard error of cum_bytes"},
};

static const struct heap_walk functions_walk = {HEAP_FUNCTIONS, 3000, 1,
                                                functions_cell};

/* ---- heap_diff ---- */

static void
diff_cell(struct heap_place *place, size_t column, struct value *out)
{
    static const enum shown columns[] = {
        SNAPSHOT,  BASE,      FUNCTION,     MODULE,      FLAT_BYTES, FLAT_ERROR,
        CUM_BYTES, CUM_ERROR, FLAT_OBJECTS, CUM_OBJECTS, SIGNIFICANT};

    show(place, columns[column], out);
}

static const struct catalog_column diff[] = {
    {"snapshot", &type_name_nn,
     "The kept snapshot that snapshot = '...' asks for; else a fresh one, now"},
    {"base", &type_name_nn,
     "What it is compared with: base = '...' must say it"},
    {"function", &type_text_nn, "As in heap_functions"},
    {"module", &type_text, "The program or library that has it"},
    {"flat_bytes", &type_bigint_nn,
     "More in use than before, allocated by the function itself"},
    {"flat_error", &type_ubigint_nn,
     "Its standard error, by the sampling of what was allocated and freed "
     "between"},
    {"cum_bytes", &type_bigint_nn,
     "More in use than before, allocated by it and whatever it called"},
    {"cum_error", &type_ubigint_nn, "Its standard error"},
    {"flat_objects", &type_bigint_nn, "More objects, of the function itself"},
    {"cum_objects", &type_bigint_nn,
     "More objects, of it and whatever it called"},
    {"significant", &type_boolean_nn,
     "cum_bytes is no sampling noise: of a hundred differences in which "
     "nothing grew one has any function that is"},
};

static const struct heap_walk diff_walk = {HEAP_FUNCTIONS, 3000, 1, diff_cell,
                                           true};

const struct catalog_table tables_functions[] = {
    {"heapwire", "heap_functions", CATALOG_OWN_COLUMNS(functions),
     .comment = "What each function has allocated that is in use",
     .privilege = PRIVILEGE_PROFILE, .walk = &functions_walk},
    CATALOG_OF_ALL("heap_functions", functions, PRIVILEGE_PROFILE,
                   &tables_functions[0]),
    {"heapwire", "heap_diff", CATALOG_COLUMNS(diff),
     .comment = "What grew from one snapshot to another, by function",
     .privilege = PRIVILEGE_PROFILE, .walk = &diff_walk},
    {NULL},
};
