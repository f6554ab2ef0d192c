/*
 * tables_diff.c - what grew from one snapshot to another, by function.
 *
 * CREATE TABLE heapwire.heap_diff (
 *     snapshot varchar(64) NOT NULL, base varchar(64) NOT NULL,
 *     function varchar(1024) NOT NULL, module varchar(1024),
 *     flat_bytes bigint NOT NULL, flat_error bigint unsigned NOT NULL,
 *     cum_bytes bigint NOT NULL, cum_error bigint unsigned NOT NULL,
 *     flat_objects bigint NOT NULL, cum_objects bigint NOT NULL,
 *     significant tinyint(1) NOT NULL)
 *
 * What grew most comes first.  Names and weights are those of heap_functions.
 */
#include <math.h>
#include <string.h>

#include "catalog_tables.h"
#include "functions.h"
#include "heap_cell.h"
#include "heap_walk.h"
#include "select_pins.h"
#include "significance.h"
#include "sql.h"

enum {
    DIFF_SNAPSHOT,
    DIFF_BASE,
    DIFF_FUNCTION,
    DIFF_MODULE,
    DIFF_FLAT_BYTES,
    DIFF_FLAT_ERROR,
    DIFF_CUM_BYTES,
    DIFF_CUM_ERROR,
    DIFF_FLAT_OBJECTS,
    DIFF_CUM_OBJECTS,
    DIFF_SIGNIFICANT
};

static void
cell(struct heap_place *place, size_t column, struct value *out)
{
    const struct functions *functions = place->pin->functions;
    const struct function *f = &functions->list[heap_place_index(place)];

    switch (column) {
    case DIFF_SNAPSHOT:
        cell_text(out, place->pin->label);
        break;
    case DIFF_BASE:
        cell_text(out, place->pin->base);
        break;
    case DIFF_FUNCTION:
        cell_text(out, f->name);
        break;
    case DIFF_MODULE:
        cell_known(out, f->module);
        break;
    case DIFF_FLAT_BYTES:
        cell_estimate(out, f->flat_bytes);
        break;
    case DIFF_FLAT_ERROR:
        cell_estimate(out, sqrt(f->flat_variance));
        break;
    case DIFF_CUM_BYTES:
        cell_estimate(out, f->cumulative_bytes);
        break;
    case DIFF_CUM_ERROR:
        cell_estimate(out, sqrt(f->cumulative_variance));
        break;
    case DIFF_FLAT_OBJECTS:
        cell_estimate(out, f->flat_objects);
        break;
    case DIFF_CUM_OBJECTS:
        cell_estimate(out, f->cumulative_objects);
        break;
    case DIFF_SIGNIFICANT:
        out->type = VALUE_INT;
        out->integer = significance_is(
            f->cumulative_bytes, f->cumulative_variance, functions->errors);
        break;
    default:
        break;
    }
}

static const struct catalog_column columns[] = {
    [DIFF_SNAPSHOT] = {"snapshot", &type_name,
                       "The kept snapshot that snapshot = '...' asks for; else "
                       "a fresh one, now",
                       CATALOG_SET},
    [DIFF_BASE] = {"base", &type_name,
                   "What it is compared with: base = '...' must say it",
                   CATALOG_SET},
    [DIFF_FUNCTION] = {"function", &type_text, "As in heap_functions",
                       CATALOG_SET},
    [DIFF_MODULE] = {"module", &type_text,
                     "The program or library that has it"},
    [DIFF_FLAT_BYTES] = {"flat_bytes", &type_bigint,
                         "More in use than before, allocated by the function "
                         "itself",
                         CATALOG_SET},
    [DIFF_FLAT_ERROR] =
        {"flat_error", &type_ubigint,
         "Its standard error, by the sampling of what was allocated and "
         "freed between",
         CATALOG_SET},
    [DIFF_CUM_BYTES] = {"cum_bytes", &type_bigint,
                        "More in use than before, allocated by it and "
                        "whatever it called",
                        CATALOG_SET},
    [DIFF_CUM_ERROR] = {"cum_error", &type_ubigint, "Its standard error",
                        CATALOG_SET},
    [DIFF_FLAT_OBJECTS] = {"flat_objects", &type_bigint,
                           "More objects, of the function itself", CATALOG_SET},
    [DIFF_CUM_OBJECTS] = {"cum_objects", &type_bigint,
                          "More objects, of it and whatever it called",
                          CATALOG_SET},
    [DIFF_SIGNIFICANT] = {"significant", &type_boolean,
                          "cum_bytes is no sampling noise: of a hundred "
                          "differences in which nothing grew one has "
                          "any function that is",
                          CATALOG_SET},
};

static const struct heap_walk walk = {HEAP_FUNCTIONS, 3000, 1, cell, true};

const struct catalog_table table_heap_diff = {
    .database = "heapwire",
    .name = "heap_diff",
    .comment = "What grew from one snapshot to another, by function",
    .columns = columns,
    .column_count = sizeof(columns) / sizeof(columns[0]),
    .privilege = PRIVILEGE_PROFILE,
    .walk = &walk};
