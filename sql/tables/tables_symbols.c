/*
 * tables_symbols.c - the symbol indexes: why names are fast, or slow.
 *
 * CREATE TABLE heapwire.symbol_indexes (
 *     build_id varchar(1024) NOT NULL, object varchar(1024),
 *     state varchar(64) NOT NULL, bytes bigint unsigned,
 *     debug_bytes bigint unsigned, made datetime,
 *     milliseconds bigint unsigned, last_used datetime,
 *     note varchar(1024) NOT NULL)
 *
 * Objects that are named quickly without one are not in it.
 */
#include "catalog_tables.h"
#include "controller.h"
#include "errors.h"
#include "index_keeper.h"
#include "memory.h"
#include "rowset.h"
#include "sql_session.h"

static void
add_if_known(struct rowset *out, uint64_t value)
{
    if (value > 0)
        rowset_int(out, (int64_t)value);
    else
        rowset_null(out);
}

static void
add_index(struct rowset *out, const struct index_entry *entry)
{
    static const char *const states[] = {
        [INDEX_NONE] = "none",     [INDEX_SHIPPED] = "shipped",
        [INDEX_WANTED] = "wanted", [INDEX_MAKING] = "making",
        [INDEX_READY] = "ready",   [INDEX_FAILED] = "failed"};
    char id[BUILD_ID_TEXT];

    build_id_text(&entry->id, id);
    rowset_text(out, id);
    if (*entry->object)
        rowset_text(out, entry->object);
    else
        rowset_null(out);
    rowset_text(out, states[entry->state]);
    add_if_known(out, entry->bytes);
    add_if_known(out, entry->debug_bytes);
    rowset_time(out, entry->made_ms);
    add_if_known(out, entry->took_ms);
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
    {"build_id", &type_text, "Of the object, and the name of the file",
     CATALOG_KEY},
    {"object", &type_text, "NULL: not seen since the start"},
    {"state", &type_name,
     "ready, shipped (beside the object), wanted, making, failed or none",
     CATALOG_SET},
    {"bytes", &type_ubigint, "Of the file; NULL: no index was made"},
    {"debug_bytes", &type_ubigint,
     "Of debug information in the object itself; NULL: none, or not seen"},
    {"made", &type_time, "UTC; NULL: no index was made"},
    {"milliseconds", &type_ubigint, "That it took; NULL: an earlier heapwired"},
    {"last_used", &type_time, "When names were wanted of it, UTC"},
    {"note", &type_text, "Why it failed, or another one goes unused",
     CATALOG_SET},
};

const struct catalog_table table_symbol_indexes = {
    "heapwire",
    "symbol_indexes",
    "Objects that are named by a symbol index, or should be",
    CATALOG_COLUMNS(symbol_indexes),
    PRIVILEGE_STATUS,
    produce};
