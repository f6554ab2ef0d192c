/*
 * admin_local.c - ADMIN EXECUTE on this node alone: a script's output as lines.
 */
#include <string.h>

#include "admin_task.h"
#include "arena.h"
#include "controller.h"
#include "errors.h"
#include "memory.h"
#include "script.h"
#include "sql_cursor.h"
#include "sql_session.h"
#include "warnings.h"

struct local_cursor {
    struct sql_cursor cursor;
    const struct sql_node *node;
    struct sql_session *session;
    const char *user; /* borrowed from the session, which outlives the cursor */
    struct arena *arena; /* holds the script */
    struct script *script;
    bool ran;
    struct span output; /* output that is still to be sent */
    bool bytes;         /* the output is one value, not lines */
};

/* Drops empty lines at the end of the output, unless it is bytes. */
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

/* An output without lines becomes one empty row. */
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

/* Warns when new profiles will be incomplete. */
static void
warn_of_profile(const struct local_cursor *c)
{
    struct node_status status;

    controller_status(c->node->controller, &status);
    if (status.state != NODE_CONNECTED || status.hello.allocator != AGENT_OK)
        return;
    if (*status.note)
        warnings_add(c->session, ER_UNKNOWN, "%s", status.note);
    if (*status.elsewhere)
        warnings_add(c->session, ER_UNKNOWN, "%s", status.elsewhere);
}

/* DONE once the output is ready. */
static enum step
run(struct local_cursor *c, struct error *err)
{
    const struct script_host host = {c->node->controller, c->node->views,
                                     c->user, c->cursor.await};
    enum step step;

    if (c->ran)
        return STEP_DONE;
    c->ran = true;
    step = script_run(c->script, &host, err);
    if (step == STEP_DONE && script_switches_on(c->script))
        warn_of_profile(c);
    if (step == STEP_DONE)
        take_output(c);
    return step;
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
    return step == STEP_DONE ? send_lines(c, out) : step;
}

static void
local_free(struct cursor *base)
{
    struct local_cursor *c = (struct local_cursor *)base;

    script_free(c->script);
    arena_free(c->arena);
    mem_free(c);
}

static const struct cursor_ops local_ops = {local_step, local_free};

struct cursor *
admin_open_local(const struct admin_task *task, struct error *err)
{
    struct local_cursor *c = mem_zalloc(1, sizeof(*c));

    if (!c) {
        error_memory(err, "the statement");
        return NULL;
    }
    admin_cursor_init(&c->cursor, &local_ops, task);
    c->node = task->session->node;
    c->session = task->session;
    c->user = task->session->who.user;
    c->arena = task->arena;
    c->script = task->script;
    c->bytes = task->bytes;
    return &c->cursor.base;
}
