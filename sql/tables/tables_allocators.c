/*
 * tables_allocators.c - heapwire.allocators: every jemalloc in the database.
 *
 * CREATE TABLE heapwire.allocators (
 *     object varchar(1024) NOT NULL, mallctl varchar(64) NOT NULL,
 *     version varchar(64) NOT NULL, variable varchar(64) NOT NULL,
 *     chosen tinyint(1) NOT NULL, callable tinyint(1) NOT NULL,
 *     can_profile tinyint(1), opt_prof tinyint(1), active tinyint(1),
 *     serves_malloc tinyint(1), serves_new tinyint(1), allocated bigint,
 *     found varchar(64) NOT NULL, note varchar(1024) NOT NULL)
 */
#include "catalog_tables.h"
#include "errors.h"
#include "rowset.h"
#include "schema_types.h"
#include "sql.h"
#include "stats.h"
#include "stats_allocators.h"

enum { ASKED_OF_IT = 6 }; /* columns that it answers itself */

static void
add_truths(struct rowset *out, const struct stats_allocator *a)
{
    rowset_int(out, a->config_prof);
    rowset_int(out, a->opt_prof);
    rowset_int(out, a->active);
    rowset_int(out, a->serves_malloc);
    rowset_int(out, a->serves_new);
    if (a->counted)
        rowset_int(out, (int64_t)a->allocated);
    else
        rowset_null(out);
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

        rowset_text(out, a->object);
        rowset_text(out, a->mallctl);
        rowset_text(out, a->version);
        rowset_text(out, a->variable);
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
    {"object", &type_text, "The file that has it", CATALOG_SET},
    {"mallctl", &type_name, "The name of its mallctl in the object",
     CATALOG_SET},
    {"version", &type_name, NULL, CATALOG_SET},
    {"variable", &type_name, "The environment variable that it reads",
     CATALOG_SET},
    {"chosen", &type_boolean, "1: profiles and statistics are of this one",
     CATALOG_SET},
    {"callable", &type_boolean, "0: the note says why", CATALOG_SET},
    {"can_profile", &type_boolean, "Built with --enable-prof"},
    {"opt_prof", &type_boolean, "Started with prof:true"},
    {"active", &type_boolean, "Whether allocations are sampled"},
    {"serves_malloc", &type_boolean, "Whether the process's malloc is its"},
    {"serves_new", &type_boolean, "Whether its operator new is"},
    {"allocated", &type_bigint, "Bytes in use; NULL: not counted"},
    {"found", &type_name,
     "How: exported, symtab, debug, index, scan (of the code) or given",
     CATALOG_SET},
    {"note", &type_text, "Why it cannot be called, and what to do",
     CATALOG_SET},
};

const struct catalog_table table_allocators = {
    "heapwire",
    "allocators",
    "Every jemalloc in the database, and which one is profiled",
    CATALOG_OWN_COLUMNS(columns),
    PRIVILEGE_STATUS,
    produce_allocators,
    NEED_STATS};

const struct catalog_table table_cluster_allocators = {
    .database = "heapwire",
    .name = "cluster_allocators",
    .comment = "heapwire.allocators of every node",
    .columns = columns,
    .column_count = sizeof(columns) / sizeof(columns[0]),
    .privilege = PRIVILEGE_STATUS | PRIVILEGE_CLUSTER,
    .of = &table_allocators};
