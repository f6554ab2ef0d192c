/*
 * admin_remote.c - ADMIN EXECUTE on one other node: passes its lines on as
 * they come.  It also has what all three cursors share: columns, rows, the
 * request.
 *
 * It takes a block only when the client has read the one before, so a slow
 * client holds the other node back instead of filling memory here.  Before it
 * waits for the next block it gives a step without rows, so that those before
 * go out.
 */
#include <inttypes.h>
#include <string.h>

#include "admin_task.h"
#include "arena.h"
#include "errors.h"
#include "memory.h"
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
admin_result_columns(const struct admin_task *task, size_t *count)
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
    cursor->base.columns =
        admin_result_columns(task, &cursor->base.column_count);
}

static void
put_admin_cell_text(struct value *out, const char *text, size_t size)
{
    memset(out, 0, sizeof(*out));
    out->type = VALUE_TEXT;
    out->data = text;
    out->size = size;
}

void
admin_put_row(const struct admin_row *row, struct value out[3])
{
    put_admin_cell_text(&out[0], row->id, strlen(row->id));
    if (row->failure) {
        put_admin_cell_text(&out[1], "ERROR", 5);
        put_admin_cell_text(&out[2], row->failure, strlen(row->failure));
        return;
    }
    put_admin_cell_text(&out[1], "OK", 2);
    put_admin_cell_text(&out[2], row->output.data, row->output.size);
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
        .stops = task->stops,
        .node_bytes_max = task->list ? ADMIN_CELL_MAX : SCRIPT_OUTPUT_MAX,
        .bytes_max = task->list ? ADMIN_LIST_MAX : SCRIPT_OUTPUT_MAX,
        .caller = &session->who,
        .connection_id = session->connection_id,
        .waker = await_waker(task->await)};

    return peers->ask(peers->arg, &request, err);
}

struct remote_cursor {
    struct sql_cursor cursor;
    struct admin_task task; /* the cursor owns its arena; its script is freed */
    struct peer_fanout *fanout; /* NULL: not asked yet */
    struct peer_block *block; /* the block whose rows are being sent, or NULL */
    size_t next;              /* the next row of block */
    bool gave;                /* rows were given since it last waited */
    bool ended;
};

static void
put_value(const struct remote_cursor *c, const struct span *cell,
          struct value *out)
{
    memset(out, 0, sizeof(*out));
    out->type = !cell->data     ? VALUE_NULL
                : c->task.bytes ? VALUE_BLOB
                                : VALUE_TEXT;
    out->data = cell->data;
    out->size = cell->size;
}

/* Adds rows of one block alone, since they are borrowed from it. */
static enum step
send_block_rows(struct remote_cursor *c, struct rows *out)
{
    while (out->count < out->capacity && c->next < c->block->row_count)
        put_value(c, &c->block->cells[c->next++], &out->values[out->count++]);
    c->gave = true;
    return STEP_MORE;
}

static void
drop_block(struct remote_cursor *c)
{
    mem_free(c->block);
    c->block = NULL;
    c->next = 0;
}

/* Ends the statement as the answer ended.  A cut answer is an error: a client
 * would take it for the whole. */
static enum step
end_remote_answer(struct remote_cursor *c, const struct peer_end *end,
                  struct error *err)
{
    c->ended = true;
    if (end->error.code == 0 && !end->truncated)
        return STEP_DONE;
    *err = end->error;
    if (err->code == 0)
        error_set(err, ER_UNKNOWN,
                  "the answer of node %" PRIu64 " is longer than %d MB",
                  c->task.ids[0], SCRIPT_OUTPUT_MAX >> 20);
    else if (strcmp(end->error.text, PEER_NOT_FOUND) == 0)
        error_set(err, end->error.code,
                  "node not found: %" PRIu64
                  "; SELECT id, address FROM heapwire.nodes lists the nodes",
                  c->task.ids[0]);
    return STEP_FAIL;
}

/* Takes a block: MORE, also without one if rows are to go out first. */
static enum step
take_remote_block(struct remote_cursor *c, struct error *err)
{
    const struct sql_peers *peers = c->task.session->node->peers;
    struct peer_end end = {0};

    for (;;)
        switch (peers->take(c->fanout, &c->block, &end)) {
        case PEER_BLOCK:
            return STEP_MORE;
        case PEER_END:
            return end_remote_answer(c, &end, err);
        case PEER_NOTHING_YET:
            if (c->gave) {
                c->gave = false;
                return STEP_MORE;
            }
            if (await_notification(c->cursor.await, err) != 0)
                return STEP_FAIL;
            break;
        case PEER_ALL_ENDED:
            return STEP_DONE;
        }
}

static enum step
remote_step(struct cursor *base, struct rows *out, struct error *err)
{
    struct remote_cursor *c = (struct remote_cursor *)base;
    enum step step = STEP_MORE;

    out->count = 0;
    if (sql_cursor_check(&c->cursor, err) != 0)
        return STEP_FAIL;
    if (c->ended)
        return STEP_DONE;
    if (!c->fanout)
        c->fanout = admin_ask(&c->task, err);
    if (!c->fanout)
        return STEP_FAIL;
    if (c->block && c->next == c->block->row_count)
        drop_block(c);
    if (!c->block)
        step = take_remote_block(c, err);
    return c->block && step == STEP_MORE ? send_block_rows(c, out) : step;
}

static void
remote_free(struct cursor *base)
{
    struct remote_cursor *c = (struct remote_cursor *)base;

    if (c->fanout)
        c->task.session->node->peers->release(c->fanout);
    drop_block(c);
    arena_free(c->task.arena);
    mem_free(c);
}

static const struct cursor_ops remote_ops = {remote_step, remote_free};

struct cursor *
admin_open_remote(const struct admin_task *task, struct error *err)
{
    struct remote_cursor *c = mem_zalloc(1, sizeof(*c));

    if (!c) {
        error_memory(err, "the statement");
        return NULL;
    }
    admin_cursor_init(&c->cursor, &remote_ops, task);
    c->cursor.base.timeout_ms = task->timeout_ms + ADMIN_GRACE_MS;
    c->task = *task;
    script_free(task->script); /* it was parsed to find its errors */
    c->task.script = NULL;
    return &c->cursor.base;
}
