/*
 * tables_trend.c - heapwire.heap_trend: which functions' memory grows, by the
 * snapshots that are kept by default. plugin/trend/README.md says how that is
 * found, and how reliable it is.
 */
#include <math.h>
#include <string.h>

#include "allocator.h"
#include "catalog_tables.h"
#include "errors.h"
#include "heap_trend.h"
#include "sql.h"
#include "sql_cursor.h"
#include "sql_session.h"
#include "view_cache.h"
#include "view_options.h"

static void
add_trend_bytes(struct rowset *out, bool known, double bytes)
{
    rowset_int_if(out, known && fabs(bytes) < 9e18,
                  known && fabs(bytes) < 9e18 ? (int64_t)bytes : 0);
}

static void
add_known_text(struct rowset *out, const char *text)
{
    rowset_text(out, *text ? text : NULL);
}

static void
add_trend(struct rowset *out, const struct heap_trend_rows *rows,
          const struct heap_trend_row *row)
{
    const struct trend *trend = &row->trend;

    rowset_text(out, row->function);
    add_trend_bytes(out, true, row->bytes);
    add_trend_bytes(out, trend->sloped, trend->slope * 3600);
    add_trend_bytes(out, trend->sloped, trend->low * 3600);
    add_trend_bytes(out, trend->sloped, trend->high * 3600);
    if (row->share >= 0)
        rowset_double(out, round(row->share * 10000) / 100);
    else
        rowset_null(out);
    add_known_text(out, row->ages);
    rowset_text(out, trend_verdict_name(trend->verdict));
    rowset_text(out, trend->why);
    rowset_int(out, (int64_t)trend->points);
    rowset_text(out, row->since);
    rowset_time(out, row->since_ms);
    rowset_text(out, rows->now);
    add_known_text(out, row->folded);
}

static void
produce_trend(const struct catalog_scope *scope, struct rowset *out)
{
    const struct sql_node *node = scope->session->node;
    char wrappers[WRAPPERS_TEXT_BYTES] = "";
    struct view_options options = view_defaults;
    struct heap_trend_rows rows;
    struct error err;

    if (!node->trends)
        return;
    if (node->views)
        view_cache_get_wrappers(node->views, wrappers);
    options.wrappers = wrappers;
    options.cancelled = scope->cancelled;
    if (heap_trend_init(node->trends, scope->snapshot, &options, &rows, &err) !=
        0) {
        rowset_fail(out, &err);
        return;
    }
    for (size_t i = 0; i < rows.count; i++)
        add_trend(out, &rows, &rows.list[i]);
    heap_trend_fini(&rows);
}

static const struct catalog_column trend[] = {
    CATALOG_NODE_ID,
    {"function", &type_text_nn, "As in heap_functions: what itself allocated"},
    {"bytes", &type_ubigint_nn, "In use now"},
    {"bytes_per_hour", &type_bigint,
     "Bytes an hour by which that grows; NULL: not known yet"},
    {"low", &type_bigint, "The interval that holds it in 98 of 100"},
    {"high", &type_bigint, NULL},
    {"growth_percent", &type_double,
     "Its share of the growth of all growing functions; NULL: it does not "
     "grow"},
    {"ages", &type_256,
     "How old what is in use is, where a recorder knows: under 1 s 3 %, over "
     "1 day 97 %"},
    {"verdict", &type_name_nn, "grows, fills, steady, saw-tooth or unknown"},
    {"note", &type_text_nn, "Why it is unknown"},
    {"points", &type_ubigint_nn, "Snapshots that this is from"},
    {"base", &type_name_nn, "The first of them"},
    {"since", &type_time_nn, "When it was taken, UTC"},
    {"snapshot", &type_name_nn, "The last of them: now is a fresh one"},
    {"folded", &type_longtext,
     "The stack of the function's that grew most since base, as in "
     "heap_stacks"},
};

const struct catalog_table tables_trend[] = {
    {"heapwire", "heap_trend", CATALOG_OWN_COLUMNS(trend), produce_trend,
     "Whether each large function's memory grows, by the snapshots that are "
     "kept by default",
     PRIVILEGE_PROFILE, NEED_TOTAL | NEED_TIME},
    CATALOG_OF_ALL("heap_trend", trend, PRIVILEGE_PROFILE, &tables_trend[0]),
    {NULL},
};
