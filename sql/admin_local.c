/*
 * admin_local.c - ADMIN EXECUTE on this node: a script's output as rows.
 *
 * One target: its lines.  A list, where there are no peers: a row per node,
 * where this node is the only one that is known.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "admin.h"
#include "arena.h"
#include "errors.h"
#include "memory.h"
#include "script.h"
#include "sql_cursor.h"
#include "sql_session.h"

struct local_cursor {
    struct sql_cursor cursor;
    const struct sql_node *node;
    const char *user;    /* the session's, which outlives the cursor */
    struct arena *arena; /* holds script and ids */
    struct script *script;
    bool ran;
    struct span output; /* what of it is still to be sent */
    bool list;
    bool bytes; /* the output is one value, not lines */
    const uint64_t *ids;
    size_t id_count, next; /* id */
    struct error failure;  /* list: why the script failed; code 0 */
    struct buffer cell;    /* list: a cut output */
    char (*id_texts)[ADMIN_ID_TEXT];
};

/* The output without its trailing empty lines; bytes as they are. */
static void
take_output(struct local_cursor *c)
{
    const struct buffer *output = script_output(c->script);

    c->output.data = output->data ? output->data : "";
    c->output.size = output->size;
    while (!c->bytes && c->output.size > 0 &&
           c->output.data[c->output.size - 1] == '\n')
        c->output.size--;
}

/* An output without any line is one empty row. */
static enum step
send_lines(struct local_cursor *c, struct rows *out)
{
    if (c->bytes) {
        admin_put_text(&out->values[out->count++], c->output.data,
                       c->output.size);
        out->values->type = VALUE_BLOB;
        return STEP_DONE;
    }
    while (out->count < out->capacity) {
        const char *newline = memchr(c->output.data, '\n', c->output.size);
        size_t size =
            newline ? (size_t)(newline - c->output.data) : c->output.size;

        admin_put_text(&out->values[out->count++], c->output.data, size);
        if (!newline)
            return STEP_DONE;
        c->output.data += size + 1;
        c->output.size -= size + 1;
    }
    return STEP_MORE;
}

/* Bytes that may stay, no character in halves. */
static size_t
size_that_fits(struct span text)
{
    size_t size = ADMIN_CELL_MAX;

    while (size > 0 && ((unsigned char)text.data[size] & 0xc0) == 0x80)
        size--;
    return size;
}

/* Cuts an output that is too long for a cell, and says so in it. */
static void
fit_cell(struct local_cursor *c)
{
    size_t size;

    if (c->output.size <= ADMIN_CELL_MAX)
        return;
    if (c->bytes) {
        error_set(&c->failure, ER_UNKNOWN,
                  "the output is %zu bytes, more than the %d of a cell; ask "
                  "this node alone",
                  c->output.size, ADMIN_CELL_MAX);
        return;
    }
    size = size_that_fits(c->output);
    buffer_init(&c->cell, ADMIN_CELL_MAX + ADMIN_CELL_NOTE);
    buffer_add(&c->cell, c->output.data, size);
    buffer_format(&c->cell, "... [truncated: %zu bytes of %zu]", size,
                  c->output.size);
    if (c->cell.failed) {
        error_memory(&c->failure, "the output");
        return;
    }
    c->output.data = c->cell.data;
    c->output.size = c->cell.size;
}

static void
send_node(struct local_cursor *c, struct value out[3])
{
    uint64_t id = c->ids[c->next];
    struct admin_row row = {
        .id = c->id_texts[c->next], .output = c->output, .bytes = c->bytes};

    snprintf(c->id_texts[c->next], ADMIN_ID_TEXT, "%" PRIu64, id);
    if (id != c->node->id)
        row.failure = "node not found";
    else if (c->failure.code)
        row.failure = c->failure.text;
    admin_put_row(&row, out);
    c->next++;
}

static enum step
send_nodes(struct local_cursor *c, struct rows *out)
{
    while (out->count < out->capacity && c->next < c->id_count)
        send_node(c, out->values + 3 * out->count++);
    return c->next == c->id_count ? STEP_DONE : STEP_MORE;
}

static bool
includes_self(const struct local_cursor *c)
{
    for (size_t i = 0; i < c->id_count; i++)
        if (c->ids[i] == c->node->id)
            return true;
    return false;
}

/* DONE when there is something to send. */
static enum step
run(struct local_cursor *c, struct error *err)
{
    const struct script_host host = {c->node->controller, c->node->views,
                                     c->user, c->cursor.waker};
    enum step step = STEP_DONE;

    if (c->ran || !includes_self(c))
        return STEP_DONE;
    step = script_run(c->script, &host, &c->failure);
    if (step == STEP_WAIT)
        return sql_cursor_wait(&c->cursor, err);
    c->ran = true;
    if (step == STEP_FAIL) {
        if (c->list)
            return STEP_DONE;
        *err = c->failure;
        return STEP_FAIL;
    }
    take_output(c);
    if (c->list)
        fit_cell(c);
    return STEP_DONE;
}

static enum step
local_step(struct cursor *base, struct rows *out, struct error *err)
{
    struct local_cursor *c = (struct local_cursor *)base;
    enum step step;

    out->count = 0;
    if (sql_cursor_check(&c->cursor, err) != 0)
        return STEP_FAIL;
    step = run(c, err);
    if (step != STEP_DONE)
        return step;
    return c->list ? send_nodes(c, out) : send_lines(c, out);
}

static void
local_free(struct cursor *base)
{
    struct local_cursor *c = (struct local_cursor *)base;

    script_free(c->script);
    buffer_fini(&c->cell);
    arena_free(c->arena);
    mem_free(c);
}

static bool
local_progress(struct cursor *base, struct progress *out)
{
    struct local_cursor *c = (struct local_cursor *)base;

    return c->script && script_progress(c->script, out);
}

static const struct cursor_ops local_ops = {local_step, sql_cursor_cancel,
                                            local_free, local_progress};

struct cursor *
admin_open_local(const struct admin_task *task, struct error *err)
{
    struct local_cursor *c = mem_zalloc(1, sizeof(*c));
    void *texts =
        c ? arena_alloc(task->arena, task->id_count * sizeof(*c->id_texts))
          : NULL;

    if (!texts) {
        error_memory(err, "the statement");
        mem_free(c);
        return NULL;
    }
    sql_cursor_init(&c->cursor, &local_ops, task->waker);
    c->cursor.base.columns = admin_columns(task, &c->cursor.base.column_count);
    c->cursor.base.instant = !task->slow;
    c->node = task->session->node;
    c->user = task->session->who.user;
    c->arena = task->arena;
    c->script = task->script;
    c->list = task->list;
    c->bytes = task->bytes;
    c->ids = task->ids;
    c->id_count = task->id_count;
    c->id_texts = texts;
    return &c->cursor.base;
}
