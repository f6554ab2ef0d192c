/*
 * admin.c - ADMIN EXECUTE: a script's output as rows.
 *
 * One target: its lines.  A list or ALL: a row per node, where this node is
 * the only one that is known.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "arena.h"
#include "errors.h"
#include "execute.h"
#include "memory.h"
#include "script.h"
#include "sql_cursor.h"
#include "sql_session.h"
#include "sql_statement.h"

enum {
    CELL_MAX = 8 * 1024 * 1024, /* bytes of one node's output in a list */
    ID_TEXT_MAX = 21
};

struct admin_cursor {
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
    char (*id_texts)[ID_TEXT_MAX];
};

static const struct column line_columns[] = {
    {"result", "", "", COLUMN_TEXT, 65535, 0, 0}};
static const struct column list_columns[] = {
    {"node_id", "", "", COLUMN_TEXT, ID_TEXT_MAX, 0, 0},
    {"status", "", "", COLUMN_TEXT, 5, 0, 0},
    {"result", "", "", COLUMN_TEXT, CELL_MAX, 0, 0}};

/* Of a script that prints bytes. */
static const struct column value_columns[] = {
    {"result", "", "", COLUMN_BLOB, SCRIPT_OUTPUT_MAX, 0, 0}};
static const struct column list_value_columns[] = {
    {"node_id", "", "", COLUMN_TEXT, ID_TEXT_MAX, 0, 0},
    {"status", "", "", COLUMN_TEXT, 5, 0, 0},
    {"result", "", "", COLUMN_BLOB, CELL_MAX, 0, 0}};

static void
set_text(struct value *out, const char *text, size_t size)
{
    memset(out, 0, sizeof(*out));
    out->type = VALUE_TEXT;
    out->data = text;
    out->size = size;
}

/* The output without its trailing empty lines; bytes as they are. */
static void
take_output(struct admin_cursor *c)
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
send_lines(struct admin_cursor *c, struct rows *out)
{
    if (c->bytes) {
        set_text(&out->values[out->count++], c->output.data, c->output.size);
        out->values->type = VALUE_BLOB;
        return STEP_DONE;
    }
    while (out->count < out->capacity) {
        const char *newline = memchr(c->output.data, '\n', c->output.size);
        size_t size =
            newline ? (size_t)(newline - c->output.data) : c->output.size;

        set_text(&out->values[out->count++], c->output.data, size);
        if (!newline)
            return STEP_DONE;
        c->output.data += size + 1;
        c->output.size -= size + 1;
    }
    return STEP_MORE;
}

/* Cuts an output that is too long for a cell, and says so in it. */
static void
fit_cell(struct admin_cursor *c)
{
    size_t size = CELL_MAX;

    if (c->output.size <= CELL_MAX)
        return;
    if (c->bytes) {
        error_set(&c->failure, ER_UNKNOWN,
                  "the output is %zu bytes, more than the %d of a cell; ask "
                  "this node alone",
                  c->output.size, CELL_MAX);
        return;
    }
    while (size > 0 && ((unsigned char)c->output.data[size] & 0xc0) == 0x80)
        size--; /* not in the middle of a character */
    buffer_init(&c->cell, CELL_MAX + 100);
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
send_node(struct admin_cursor *c, struct value row[3])
{
    uint64_t id = c->ids[c->next];
    int size = snprintf(c->id_texts[c->next], ID_TEXT_MAX, "%" PRIu64, id);

    set_text(&row[0], c->id_texts[c->next], (size_t)size);
    set_text(&row[1], "ERROR", 5);
    if (id != c->node->id) {
        set_text(&row[2], "node not found", 14);
    } else if (c->failure.code) {
        set_text(&row[2], c->failure.text, strlen(c->failure.text));
    } else {
        set_text(&row[1], "OK", 2);
        set_text(&row[2], c->output.data, c->output.size);
        row[2].type = c->bytes ? VALUE_BLOB : VALUE_TEXT;
    }
    c->next++;
}

static enum step
send_nodes(struct admin_cursor *c, struct rows *out)
{
    while (out->count < out->capacity && c->next < c->id_count)
        send_node(c, out->values + 3 * out->count++);
    return c->next == c->id_count ? STEP_DONE : STEP_MORE;
}

static bool
includes_self(const struct admin_cursor *c)
{
    for (size_t i = 0; i < c->id_count; i++)
        if (c->ids[i] == c->node->id)
            return true;
    return false;
}

/* DONE when there is something to send. */
static enum step
run(struct admin_cursor *c, struct error *err)
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
admin_step(struct cursor *base, struct rows *out, struct error *err)
{
    struct admin_cursor *c = (struct admin_cursor *)base;
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
admin_free(struct cursor *base)
{
    struct admin_cursor *c = (struct admin_cursor *)base;

    script_free(c->script);
    buffer_fini(&c->cell);
    arena_free(c->arena);
    mem_free(c);
}

static bool
admin_progress(struct cursor *base, struct progress *out)
{
    struct admin_cursor *c = (struct admin_cursor *)base;

    return c->script && script_progress(c->script, out);
}

static const struct cursor_ops admin_ops = {admin_step, sql_cursor_cancel,
                                            admin_free, admin_progress};

/* The script and what must last with it move into the arena.  One that is not
 * known yet is only described. */
static int
prepare(struct admin_cursor *c, struct opening *o, struct error *err)
{
    if (o->statement->admin.script_unknown)
        return 0;
    c->script = script_parse(o->statement->admin.script, o->arena, err);
    if (!c->script)
        return -1;
    c->bytes = script_prints_bytes(c->script);
    c->cursor.base.instant = !script_is_slow(c->script);
    return script_check(c->script, o->session->who.privileges, err);
}

static int
resolve_targets(struct admin_cursor *c, const struct admin_execute *admin,
                struct arena *arena, struct error *err)
{
    uint64_t *self = arena_alloc(arena, sizeof(*self));

    c->list = admin->target != TARGET_ONE;
    c->ids = admin->ids;
    c->id_count = admin->id_count;
    if (admin->target == TARGET_COMPUTE_NODES) {
        error_set(err, ER_UNKNOWN,
                  "no target nodes resolved for ADMIN EXECUTE");
        return -1;
    }
    if (self && admin->target == TARGET_ALL) {
        *self = c->node->id;
        c->ids = self;
        c->id_count = 1;
    }
    if (!c->list && !admin->ids_unknown && !includes_self(c)) {
        error_set(err, ER_UNKNOWN, "node not found: %" PRIu64, c->ids[0]);
        return -1;
    }
    c->id_texts = arena_alloc(arena, c->id_count * sizeof(*c->id_texts));
    if (self && c->id_texts)
        return 0;
    error_memory(err, "the statement");
    return -1;
}

struct cursor *
admin_open(struct opening *o, struct error *err)
{
    struct admin_cursor *c = mem_zalloc(1, sizeof(*c));

    if (!c) {
        error_memory(err, "the statement");
        return NULL;
    }
    sql_cursor_init(&c->cursor, &admin_ops, o->waker);
    c->node = o->session->node;
    c->user = o->session->who.user;
    if (prepare(c, o, err) != 0 ||
        resolve_targets(c, &o->statement->admin, o->arena, err) != 0) {
        script_free(c->script);
        mem_free(c);
        return NULL;
    }
    c->cursor.base.columns = !c->bytes ? c->list ? list_columns : line_columns
                             : c->list ? list_value_columns
                                       : value_columns;
    c->cursor.base.column_count = c->list ? 3 : 1;
    c->arena = o->arena;
    o->arena = NULL;
    return &c->cursor.base;
}
