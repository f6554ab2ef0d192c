/*
 * import.c - CALL import_snapshot('name', bytes): keeps a snapshot made
 * elsewhere, an export() or a heap profile that jemalloc wrote.
 *
 * The bytes are hostile: the decoder checks and bounds all of them, and its
 * memory is counted against the budget of all clients.  Decoding and writing
 * happen in the cursor's step, off the event loop; the statement's arena, in
 * which the bytes lie, belongs to the cursor until then.
 */
#include "commands.h"

#include <string.h>

#include "arena.h"
#include "controller.h"
#include "errors.h"
#include "memory.h"
#include "memory_budget.h"
#include "profile.h"
#include "snapshot.h"
#include "snapshot_file.h"
#include "sql_cursor.h"
#include "sql_session.h"
#include "sql_statement.h"

struct import_cursor {
    struct sql_cursor cursor;
    struct store *store;
    struct arena *arena; /* holds bytes */
    struct span bytes;
    char kept[SNAPSHOT_NAME_MAX + 1];
};

static const struct column columns[] = {
    {"name", "", "", COLUMN_TEXT, SNAPSHOT_NAME_MAX, COLUMN_NOT_NULL, 0}};

static int
check_import_name(struct span name, struct error *err)
{
    if (snapshot_is_name(name.data, name.size))
        return 0;
    error_set(err, ER_WRONG_ARGUMENTS,
              "'%.*s' is not a snapshot's name (1 to %d of a-z, 0-9, _)",
              span_shown(name), name.data, SNAPSHOT_NAME_MAX);
    return -1;
}

/* Decodes the bytes, with or without a newline at the end, which some clients
 * add when they write a value to a file. */
static struct snapshot *
decode_imported_bytes(struct span bytes, struct error *err)
{
    struct error why; /* a step that succeeds leaves *err alone */
    struct snapshot *snapshot = snapshot_import(bytes.data, bytes.size, &why);

    if (!snapshot && bytes.size > 0 && bytes.data[bytes.size - 1] == '\n')
        snapshot = snapshot_import(bytes.data, bytes.size - 1, NULL);
    if (!snapshot)
        *err = why;
    return snapshot;
}

/* Stores the snapshot.  The file is built in memory first, so room is taken
 * for it; it is no larger than the snapshot. */
static int
store_imported_snapshot(struct store *store, struct snapshot *snapshot,
                        struct error *err)
{
    size_t bytes = profile_bytes(snapshot->profile);
    int rc;

    decode_budget_begin();
    if (!decode_budget_take(bytes)) {
        decode_budget_explain(err);
        return -1;
    }
    rc = store_add(store, snapshot, err);
    decode_budget_give(bytes);
    return rc;
}

static int
import_snapshot_bytes(struct import_cursor *c, struct error *err)
{
    struct snapshot *snapshot = decode_imported_bytes(c->bytes, err);
    int rc;

    if (!snapshot)
        return -1;
    memcpy(snapshot->name, c->kept, sizeof(snapshot->name));
    rc = store_imported_snapshot(c->store, snapshot, err);
    snapshot_unref(snapshot);
    return rc;
}

static enum step
import_step(struct cursor *base, struct rows *out, struct error *err)
{
    struct import_cursor *c = (struct import_cursor *)base;

    out->count = 0;
    await_compute(c->cursor.await);
    if (sql_cursor_check(&c->cursor, err) != 0 ||
        store_check_name(c->store, c->kept, err) != 0 ||
        import_snapshot_bytes(c, err) != 0)
        return STEP_FAIL;
    out->values[out->count++] = (struct value){
        .type = VALUE_TEXT, .data = c->kept, .size = strlen(c->kept)};
    return STEP_DONE;
}

static void
import_free(struct cursor *base)
{
    struct import_cursor *c = (struct import_cursor *)base;

    arena_free(c->arena);
    mem_free(c);
}

static const struct cursor_ops import_ops = {import_step, import_free};

struct cursor *
import_open(struct opening *o, struct error *err)
{
    const struct import *import = &o->statement->import;
    struct import_cursor *c;

    if (!o->describing && check_import_name(import->name, err) != 0)
        return NULL;
    c = mem_zalloc(1, sizeof(*c));
    if (!c) {
        error_memory(err, "the statement");
        return NULL;
    }
    sql_cursor_init(&c->cursor, &import_ops, o->await);
    c->cursor.base.columns = columns;
    c->cursor.base.column_count = 1;
    c->store = controller_store(o->session->node->controller);
    c->bytes = import->bytes;
    if (!o->describing)
        memcpy(c->kept, import->name.data, import->name.size);
    c->arena = o->arena;
    o->arena = NULL;
    return &c->cursor.base;
}
