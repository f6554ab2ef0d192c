/*
 * tables_mappings.c - what the database has mapped.
 *
 * jemalloc's memory is among the anonymous; the rest is what rss has besides.
 */
#include <string.h>

#include "catalog_tables.h"
#include "clean_text.h"
#include "controller.h"
#include "errors.h"
#include "memory.h"
#include "node_status.h"
#include "process_memory.h"
#include "rowset.h"
#include "sql_session.h"

static void
add_mapping(struct rowset *out, const struct process_mapping *mapping)
{
    char name[MAPPING_NAME_MAX + 1];
    size_t size = strlen(mapping->name);

    clean_text((struct span){mapping->name, size}, name);
    rowset_bytes(out, name, size);
    rowset_text(out, mapping->kind);
    rowset_int(out, (int64_t)mapping->count);
    rowset_int(out, (int64_t)mapping->size);
    rowset_int(out, (int64_t)mapping->rss);
    rowset_int(out, (int64_t)mapping->swap);
}

/* Without rows, one row gives the reason: reading every table still works. */
static void
add_why(struct rowset *out, const char *why)
{
    rowset_text(out, why);
    rowset_text(out, "unknown");
    rowset_nulls(out, 4);
}

static void
produce(const struct catalog_scope *scope, struct rowset *out)
{
    struct process_mapping *list = mem_zalloc(MAPPINGS_MAX, sizeof(*list));
    struct node_status status;
    struct error err;
    size_t count = 0;

    controller_status(scope->session->node->controller, &status);
    if (!list)
        out->failed = true;
    else if (status.state == NODE_GONE)
        node_status_check(&status, &err);
    else if (status.peer == 0)
        error_set(&err, ER_UNKNOWN,
                  "no database is connected, or its process cannot be seen "
                  "from here (another pid namespace)");
    else
        count =
            process_mappings_read(status.peer, scope->cancelled, list, &err);
    if (list && count == 0)
        add_why(out, err.text);
    for (size_t i = 0; i < count; i++)
        add_mapping(out, &list[i]);
    mem_free(list);
}

static const struct catalog_column mappings[] = {
    {"name", &type_text_nn,
     "The file, or the kernel's word; empty: memory without a name, as "
     "jemalloc's is"},
    {"kind", &type_name_nn,
     "file, shared memory, heap (brk), stack, anonymous, kernel; others: past "
     "1024 names; unknown: it cannot be read, and name says why"},
    {"mappings", &type_bigint, "The number of mappings"},
    {"size", &type_bigint, "Bytes of address space"},
    {"rss", &type_bigint, "Bytes in memory, also where others share them"},
    {"swap", &type_bigint, "Bytes swapped out"},
};

const struct catalog_table tables_mappings[] = {
    {"heapwire", "mappings", CATALOG_COLUMNS(mappings), produce,
     "What the database has mapped, the largest first; the kernel looks at all "
     "of its pages for it",
     PRIVILEGE_PROFILE, NEED_TIME},
    {NULL},
};
