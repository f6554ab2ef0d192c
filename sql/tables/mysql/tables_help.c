/* tables_help.c - HELP, whose one topic is ADMIN EXECUTE; tables_empty.def has
 * the answer about any other. */
#include "catalog_tables.h"
#include "rowset.h"

static void
produce_topic(const struct catalog_scope *scope, struct rowset *out)
{
    (void)scope;
    rowset_text(out, "ADMIN EXECUTE");
    rowset_text(out, "ADMIN EXECUTE ON {node_id | (node_id, ...) | ALL "
                     "[BACKENDS | COMPUTE NODES]} 'script'\n\n"
                     "Runs a script on the nodes that are named and returns "
                     "what it prints: a row for each line of one node's, a "
                     "row for each node of a list or ALL. SELECT id, self "
                     "FROM heapwire.nodes lists the nodes, and which "
                     "is this one. SET heapwire_timeout bounds it, in "
                     "seconds; SET heapwire_parallel says on how many nodes "
                     "at a time it runs. Scripts drive the heap profiler of "
                     "the database.\n");
    rowset_text(out, "ADMIN EXECUTE ON ALL "
                     "'System.print(HeapProf.getInstance()."
                     "has_enable())'\n");
}

static const struct catalog_column topic[] = {
    {"name", &type_name_nn},
    {"description", &type_plain_text_nn},
    {"example", &type_plain_text_nn},
};

const struct catalog_table tables_help[] = {
    {CATALOG_HIDDEN, "help_topic", CATALOG_COLUMNS(topic), produce_topic},
    {NULL},
};
