/*
 * admin_fanout.c - ADMIN EXECUTE on many nodes: one row for each, sorted by
 * id.
 *
 * Nodes answer in any order, but rows come sorted, so that two runs can be
 * compared.  A row goes out, and its text is freed, once every node with a
 * smaller id has had its row; earlier answers wait in memory, at most
 * ADMIN_CELL_MAX bytes of one node and ADMIN_LIST_MAX of all.  Every node has
 * a row, also where it fails, and a client that hangs up cancels the scripts
 * that still run.  The statement's thread waits off the event loop.
 */
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "admin_task.h"
#include "arena.h"
#include "buffer.h"
#include "errors.h"
#include "memory.h"
#include "peers.h"
#include "script.h"
#include "sql_cursor.h"
#include "sql_session.h"

static const char no_memory[] = "Out of memory for the answer";

struct answer {
    struct buffer output;
    char *owned;         /* text of the failure, unless that is a literal */
    const char *failure; /* NULL: the node succeeded */
    uint16_t code;       /* of the failure */
    bool begun;          /* a line of output has arrived */
    bool truncated;
    bool ended;
    char id[ADMIN_ID_TEXT];
};

struct fanout_cursor {
    struct sql_cursor cursor;
    struct admin_task task; /* the cursor owns its arena; its script is freed */
    struct peer_fanout *fanout; /* NULL: not asked yet */
    struct answer *answers;     /* one for each id, in the arena */
    size_t next;                /* the first answer without a row yet */
    size_t sent;         /* rows before this one have freed their texts */
    atomic_size_t ended; /* answers that have ended; the progress reads it */
    bool gave;           /* rows were given since it last waited */
};

/* ---- one node's answer ---- */

/* Cuts the output at the ceiling. */
static void
append_answer_bytes(struct answer *a, struct span bytes)
{
    size_t room = ADMIN_CELL_MAX - a->output.size;
    size_t size = bytes.size < room ? bytes.size : room;

    buffer_add(&a->output, bytes.data, size);
    a->truncated = a->truncated || size < bytes.size;
}

static void
append_answer_line(struct answer *a, struct span line)
{
    if (a->truncated)
        return;
    if (a->begun)
        append_answer_bytes(a, (struct span){"\n", 1});
    if (!a->truncated)
        append_answer_bytes(a, line);
    a->begun = true;
}

static void
add_block(struct fanout_cursor *c, const struct peer_block *block)
{
    struct answer *a = &c->answers[block->id_index];

    for (size_t i = 0; i < block->row_count; i++)
        append_answer_line(a, block->cells[i].data ? block->cells[i]
                                                   : (struct span){"", 0});
}

/* Copies the text; without memory it still records a failure. */
static void
keep_failure(struct answer *a, uint16_t code, const char *text)
{
    a->code = code;
    a->owned = mem_strdup(text);
    a->failure = a->owned ? a->owned : no_memory;
    buffer_fini(&a->output);
}

/* Keeps a cut text, but drops a cut binary value. */
static void
note_truncation(const struct fanout_cursor *c, struct answer *a)
{
    struct span text = {a->output.data, a->output.size};
    size_t size = text.size;

    if (c->task.bytes) {
        char why[ERROR_TEXT_MAX];

        snprintf(why, sizeof(why),
                 "the output is more than the %d MB of a cell, or all nodes' "
                 "is more than %d MB; ask this node alone",
                 ADMIN_CELL_MAX >> 20, ADMIN_LIST_MAX >> 20);
        keep_failure(a, ER_UNKNOWN, why);
        return;
    }
    /* The cut may have gone through a UTF-8 character, of at most four
     * bytes. */
    while (size > 0 && text.size - size < 4 &&
           ((unsigned char)text.data[size - 1] & 0xc0) == 0x80)
        size--;
    if (size > 0 && ((unsigned char)text.data[size - 1] & 0x80))
        size--; /* drop a character that may be incomplete */
    a->output.size = size;
    buffer_format(&a->output, "... [truncated after %zu bytes]", size);
}

static void
end_answer(struct fanout_cursor *c, const struct peer_end *end)
{
    struct answer *a = &c->answers[end->id_index];

    if (a->ended)
        return;
    a->ended = true;
    a->truncated = a->truncated || end->truncated;
    if (end->error.code)
        keep_failure(a, end->error.code, end->error.text);
    else if (a->truncated)
        note_truncation(c, a);
    if (!a->failure && a->output.failed)
        keep_failure(a, ER_OUT_OF_MEMORY, no_memory);
    atomic_fetch_add_explicit(&c->ended, 1, memory_order_relaxed);
}

/* ---- all of them ---- */

/* Gives each node that has not ended an end, since nothing more will come. */
static void
end_all(struct fanout_cursor *c)
{
    struct peer_end end = {0};

    error_set(&end.error, ER_QUERY_INTERRUPTED, "interrupted");
    for (size_t i = c->next; i < c->task.id_count; i++) {
        end.id_index = i;
        end_answer(c, &end);
    }
}

/* Takes one event; false: there is none yet. */
static bool
take_fanout_event(struct fanout_cursor *c)
{
    struct peer_block *block = NULL;
    struct peer_end end = {0};

    switch (c->task.session->node->peers->take(c->fanout, &block, &end)) {
    case PEER_NOTHING_YET:
        return false;
    case PEER_BLOCK:
        add_block(c, block);
        mem_free(block);
        break;
    case PEER_END:
        end_answer(c, &end);
        break;
    case PEER_ALL_ENDED:
        end_all(c);
        break;
    }
    return true;
}

static bool
has_row(const struct fanout_cursor *c)
{
    return c->next < c->task.id_count && c->answers[c->next].ended;
}

/* Takes events until a row can be sent.  It returns before it waits if rows
 * were given before, so that these go out first. */
static int
wait_for_fanout_row(struct fanout_cursor *c, struct error *err)
{
    while (!has_row(c) && c->next < c->task.id_count) {
        if (sql_cursor_check(&c->cursor, err) != 0)
            return -1;
        if (take_fanout_event(c))
            continue;
        if (c->gave)
            break;
        if (await_notification(c->cursor.await, err) != 0)
            return -1;
    }
    c->gave = has_row(c);
    return sql_cursor_check(&c->cursor, err);
}

static void
send_row(struct fanout_cursor *c, struct value out[3])
{
    struct answer *a = &c->answers[c->next];
    struct admin_row row = {
        .id = a->id,
        .failure = a->failure,
        .output = {a->output.data ? a->output.data : "", a->output.size},
        .bytes = c->task.bytes};

    snprintf(a->id, sizeof(a->id), "%" PRIu64, c->task.ids[c->next]);
    if (a->failure)
        warnings_add(c->task.session, a->code, "node %s: %s", a->id,
                     a->failure);
    else if (a->truncated)
        warnings_add(c->task.session, ER_UNKNOWN,
                     "node %s: the output was truncated", a->id);
    admin_put_row(&row, out);
    c->next++;
}

/* Frees what the rows of the last step borrowed. */
static void
drop_sent(struct fanout_cursor *c)
{
    for (; c->sent < c->next; c->sent++) {
        struct answer *a = &c->answers[c->sent];

        buffer_fini(&a->output);
        mem_free(a->owned);
        a->owned = NULL;
    }
}

static bool
admin_fanout_progress(void *of, struct progress *out)
{
    struct fanout_cursor *c = of;
    size_t ended = atomic_load_explicit(&c->ended, memory_order_relaxed);

    *out = (struct progress){1, 1, (unsigned)(ended * 100 / c->task.id_count),
                             "Asking the nodes"};
    return true;
}

static int
start_admin_fanout(struct fanout_cursor *c, struct error *err)
{
    c->fanout = admin_ask(&c->task, err);
    if (!c->fanout)
        return -1;
    await_watch(c->cursor.await, admin_fanout_progress, c);
    return 0;
}

static enum step
fanout_step(struct cursor *base, struct rows *out, struct error *err)
{
    struct fanout_cursor *c = (struct fanout_cursor *)base;

    out->count = 0;
    drop_sent(c);
    if (sql_cursor_check(&c->cursor, err) != 0)
        return STEP_FAIL;
    if (!c->fanout && start_admin_fanout(c, err) != 0)
        return STEP_FAIL;
    if (wait_for_fanout_row(c, err) != 0)
        return STEP_FAIL;
    while (out->count < out->capacity && has_row(c))
        send_row(c, out->values + 3 * out->count++);
    if (c->next == c->task.id_count)
        return STEP_DONE;
    return STEP_MORE;
}

static void
fanout_free(struct cursor *base)
{
    struct fanout_cursor *c = (struct fanout_cursor *)base;

    if (c->fanout) {
        /* The progress must not look at the cursor any more once it is
         * freed. */
        await_watch(c->cursor.await, NULL, NULL);
        c->task.session->node->peers->release(c->fanout);
    }
    for (size_t i = c->sent; i < c->task.id_count; i++) {
        buffer_fini(&c->answers[i].output);
        mem_free(c->answers[i].owned);
    }
    arena_free(c->task.arena);
    mem_free(c);
}

static const struct cursor_ops fanout_ops = {fanout_step, fanout_free};

struct cursor *
admin_open_fanout(const struct admin_task *task, struct error *err)
{
    struct fanout_cursor *c = mem_zalloc(1, sizeof(*c));
    struct answer *answers =
        arena_alloc(task->arena, task->id_count * sizeof(*answers));

    if (!c || !answers) {
        error_memory(err, "the statement");
        mem_free(c);
        return NULL;
    }
    admin_cursor_init(&c->cursor, &fanout_ops, task);
    c->cursor.base.timeout_ms = task->timeout_ms + ADMIN_GRACE_MS;
    c->task = *task;
    c->answers = answers;
    atomic_init(&c->ended, 0);
    for (size_t i = 0; i < task->id_count; i++)
        buffer_init(&answers[i].output, ADMIN_CELL_MAX + ADMIN_CELL_NOTE);
    script_free(task->script); /* it was parsed to find its errors */
    c->task.script = NULL;
    return &c->cursor.base;
}
