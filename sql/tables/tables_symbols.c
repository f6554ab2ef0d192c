/*
 * tables_symbols.c - the symbol indexes: why names are fast, or slow.
 *
 * Objects that are named quickly without one are not in it.
 */
#include <string.h>

#include "catalog_tables.h"
#include "clean_text.h"
#include "controller.h"
#include "errors.h"
#include "index_keeper.h"
#include "memory.h"
#include "node_status.h"
#include "process_memory.h"
#include "sql_cursor.h"
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
produce_mappings(const struct catalog_scope *scope, struct rowset *out)
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

static void
add_index(struct rowset *out, const struct index_entry *entry)
{
    static const char *const states[] = {
        [INDEX_NONE] = "none",     [INDEX_SHIPPED] = "shipped",
        [INDEX_WANTED] = "wanted", [INDEX_MAKING] = "making",
        [INDEX_READY] = "ready",   [INDEX_FAILED] = "failed"};
    char id[BUILD_ID_TEXT];

    build_id_text(&entry->id, id);
    ROWSET_TEXTS(out, id, *entry->object ? entry->object : NULL,
                 states[entry->state]);
    rowset_int_if(out, entry->bytes > 0, (int64_t)entry->bytes);
    rowset_int_if(out, entry->debug_bytes > 0, (int64_t)entry->debug_bytes);
    rowset_time(out, entry->made_ms);
    rowset_int_if(out, entry->took_ms > 0, (int64_t)entry->took_ms);
    rowset_time(out, entry->used_ms);
    rowset_text(out, entry->why);
}

static void
produce(const struct catalog_scope *scope, struct rowset *out)
{
    struct index_keeper *keeper =
        controller_indexes(scope->session->node->controller);
    struct index_entry *list;
    struct error err;
    size_t count;

    if (!keeper)
        return;
    list = mem_zalloc(INDEX_ENTRIES_MAX, sizeof(*list));
    if (!list) {
        error_memory(&err, "the list of symbol indexes");
        rowset_fail(out, &err);
        return;
    }
    count = index_keeper_list(keeper, list, INDEX_ENTRIES_MAX);
    for (size_t i = 0; i < count; i++)
        add_index(out, &list[i]);
    mem_free(list);
}

static const struct catalog_column symbol_indexes[] = {
    CATALOG_NODE_ID,
    {"build_id", &type_text, "Of the object, and the name of the file",
     CATALOG_KEY},
    {"object", &type_text, "NULL: not seen since the start"},
    {"state", &type_name_nn,
     "ready, shipped (beside the object), wanted, making, failed or none"},
    {"bytes", &type_ubigint, "Of the file; NULL: no index was made"},
    {"debug_bytes", &type_ubigint,
     "Of debug information in the object itself; NULL: none, or not seen"},
    {"made", &type_time, "UTC; NULL: no index was made"},
    {"milliseconds", &type_ubigint, "That it took; NULL: an earlier heapwired"},
    {"last_used", &type_time, "When names were wanted of it, UTC"},
    {"note", &type_text_nn, "Why it failed, or another one goes unused"},
};

const struct catalog_table tables_symbols[] = {
    {"heapwire", "symbol_indexes", CATALOG_OWN_COLUMNS(symbol_indexes), produce,
     "Objects that are named by a symbol index, or should be",
     PRIVILEGE_STATUS},
    CATALOG_OF_ALL("symbol_indexes", symbol_indexes, PRIVILEGE_STATUS,
                   &tables_symbols[0]),
    {"heapwire", "mappings", CATALOG_COLUMNS(mappings), produce_mappings,
     "What the database has mapped, the largest first; the kernel looks at all "
     "of its pages for it",
     PRIVILEGE_PROFILE, NEED_TIME},
    {NULL},
};
