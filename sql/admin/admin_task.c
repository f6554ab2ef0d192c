/* admin_task.c - see admin_task.h. */
#include "admin_task.h"

#include <string.h>

#include "peers.h"
#include "script.h"
#include "sql_cursor.h"
#include "sql_session.h"

static const struct column line_columns[] = {
    {"result", "", "", COLUMN_TEXT, 65535, 0, 0}};
static const struct column list_columns[] = {
    {"node_id", "", "", COLUMN_TEXT, ADMIN_ID_TEXT, 0, 0},
    {"status", "", "", COLUMN_TEXT, 5, 0, 0},
    {"result", "", "", COLUMN_TEXT, ADMIN_CELL_MAX, 0, 0}};

/* Columns for a script that prints bytes. */
static const struct column value_columns[] = {
    {"result", "", "", COLUMN_BLOB, SCRIPT_OUTPUT_MAX, 0, 0}};
static const struct column list_value_columns[] = {
    {"node_id", "", "", COLUMN_TEXT, ADMIN_ID_TEXT, 0, 0},
    {"status", "", "", COLUMN_TEXT, 5, 0, 0},
    {"result", "", "", COLUMN_BLOB, ADMIN_CELL_MAX, 0, 0}};

static const struct column *
columns_of(const struct admin_task *task, size_t *count)
{
    *count = task->list ? 3 : 1;
    if (task->bytes)
        return task->list ? list_value_columns : value_columns;
    return task->list ? list_columns : line_columns;
}

void
admin_cursor_init(struct sql_cursor *cursor, const struct cursor_ops *ops,
                  const struct admin_task *task)
{
    sql_cursor_init(cursor, ops, task->await);
    cursor->base.columns = columns_of(task, &cursor->base.column_count);
}

void
admin_put_text(struct value *out, const char *text, size_t size)
{
    memset(out, 0, sizeof(*out));
    out->type = VALUE_TEXT;
    out->data = text;
    out->size = size;
}

void
admin_put_row(const struct admin_row *row, struct value out[3])
{
    admin_put_text(&out[0], row->id, strlen(row->id));
    if (row->failure) {
        admin_put_text(&out[1], "ERROR", 5);
        admin_put_text(&out[2], row->failure, strlen(row->failure));
        return;
    }
    admin_put_text(&out[1], "OK", 2);
    admin_put_text(&out[2], row->output.data, row->output.size);
    out[2].type = row->bytes ? VALUE_BLOB : VALUE_TEXT;
}

/* A list has ceilings for each node and for all, and a number of nodes at a
 * time; for one node the script's own ceiling is enough. */
struct peer_fanout *
admin_ask(const struct admin_task *task, struct error *err)
{
    const struct sql_session *session = task->session;
    const struct sql_peers *peers = session->node->peers;
    const struct peer_request request = {
        .ids = task->ids,
        .id_count = task->id_count,
        .verb = PEER_SCRIPT,
        .text = task->text,
        .column_count = 1,
        .timeout_ms = task->timeout_ms,
        .parallel = task->list ? task->parallel : 0,
        .node_bytes_max = task->list ? ADMIN_CELL_MAX : SCRIPT_OUTPUT_MAX,
        .bytes_max = task->list ? ADMIN_LIST_MAX : SCRIPT_OUTPUT_MAX,
        .caller = &session->who,
        .connection_id = session->connection_id,
        .waker = await_waker(task->await)};

    return peers->ask(peers->arg, &request, err);
}
