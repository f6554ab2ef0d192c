/*
 * tables_allocators.c - heapwire.allocators: every jemalloc in the database.
 */
#include "catalog_tables.h"
#include "errors.h"
#include "rowset.h"
#include "sql.h"
#include "stats.h"
#include "stats_allocators.h"

enum { ASKED_OF_IT = 7 }; /* columns that it answers itself */

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
    {"serves_malloc", &type_boolean, "Whether the process's malloc is its"},
    {"serves_new", &type_boolean, "Whether its operator new is"},
    {"allocated", &type_bigint, "Bytes in use; NULL: built without statistics"},
    {"resident", &type_bigint, "Bytes in memory, by its count"},
    {"found", &type_name_nn,
     "How: exported, symtab, debug, index, scan (of the code) or given"},
    {"note", &type_text_nn, "Why it cannot be called, and what to do"},
};

const struct catalog_table tables_allocators[] = {
    {"heapwire", "allocators", CATALOG_OWN_COLUMNS(columns), produce_allocators,
     "Every jemalloc in the database, and which one is profiled",
     PRIVILEGE_STATUS, NEED_STATS},
    CATALOG_OF_ALL("allocators", columns, PRIVILEGE_STATUS,
                   &tables_allocators[0]),
    {NULL},
};
