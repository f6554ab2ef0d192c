/*
 * tables_symbols.c - heapwire.symbol_indexes: for which objects an index of
 * symbols exists or is wanted, and so why naming is fast or slow.  Objects
 * that are named quickly without one are not in it.
 */
#include <string.h>

#include "catalog_tables.h"
#include "controller.h"
#include "errors.h"
#include "index_service.h"
#include "memory.h"
#include "sql_cursor.h"
#include "sql_session.h"

static void
add_symbol_index_row(struct rowset *out, const struct index_entry *entry)
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
produce_symbol_indexes(const struct catalog_scope *scope, struct rowset *out)
{
    struct index_service *service =
        controller_indexes(scope->session->node->controller);
    struct index_entry *list;
    struct error err;
    size_t count;

    if (!service)
        return;
    list = mem_zalloc(INDEX_ENTRIES_MAX, sizeof(*list));
    if (!list) {
        error_memory(&err, "the list of symbol indexes");
        rowset_fail(out, &err);
        return;
    }
    count = index_service_list(service, list, INDEX_ENTRIES_MAX);
    for (size_t i = 0; i < count; i++)
        add_symbol_index_row(out, &list[i]);
    mem_free(list);
}

static const struct catalog_column symbol_indexes[] = {
    CATALOG_NODE_ID,
    {"build_id", &type_256,
     "The build-id of the object, which also names the index file",
     CATALOG_KEY},
    {"object", &type_text, "NULL: not seen since the start"},
    {"state", &type_name_nn,
     "ready, shipped (beside the object), wanted, making, failed or none"},
    {"bytes", &type_ubigint,
     "Bytes of the index file; NULL: no index was made"},
    {"debug_bytes", &type_ubigint,
     "Bytes of debug information in the object itself; NULL: none, or not "
     "seen"},
    {"made", &type_time, "UTC; NULL: no index was made"},
    {"milliseconds", &type_ubigint,
     "How long that took; NULL: an earlier heapwired made it"},
    {"last_used", &type_time, "When names were wanted of it, UTC"},
    {"note", &type_text_nn, "Why it failed, or why another index is not used"},
};

const struct catalog_table tables_symbols[] = {
    {"heapwire", "symbol_indexes", CATALOG_OWN_COLUMNS(symbol_indexes),
     produce_symbol_indexes,
     "Objects that are named by a symbol index, or should be",
     PRIVILEGE_STATUS},
    CATALOG_OF_ALL("symbol_indexes", symbol_indexes, PRIVILEGE_STATUS,
                   &tables_symbols[0]),
    {NULL},
};
