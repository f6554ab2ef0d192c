/* loopback_peers.c - see loopback_peers.h.  What stands for the wire is not of
 * mem_alloc(), whose failures are for what is tested; but mem_free() is free().
 */
#include "loopback_peers.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cursor.h"

enum { NUMBER_MAX = 32, BATCH = 16 };

struct peer_fanout {
    struct peer_request request; /* its ids and text are ours */
    const struct sql_node *node;
    struct peer_forwarded forwarded;
    struct peer_channel channel;
    struct sql_session *session; /* NULL: not begun */
    struct cursor *cursor;       /* likewise */
    size_t next;                 /* id that has no end yet */
    size_t bytes;
    bool ended, cut; /* the cursor was; before its end */
};

static void *
obtain(size_t size)
{
    void *got = calloc(1, size + 1);

    if (!got)
        abort();
    return got;
}

static size_t
list(void *arg, struct peer_row *out, size_t max)
{
    const struct sql_node *node = arg;

    if (max == 0)
        return 1;
    *out = (struct peer_row){.id = node->id,
                             .port = node->port,
                             .role = PEER_BACKEND,
                             .self = true,
                             .known = true,
                             .alive = true,
                             .version = HW_VERSION};
    memcpy(out->address, node->address, sizeof(out->address));
    return 1;
}

static void *
copy(const void *data, size_t size)
{
    return memcpy(obtain(size), data, size);
}

static struct peer_fanout *
ask(void *arg, const struct peer_request *request, struct error *err)
{
    struct peer_fanout *f = obtain(sizeof(*f));
    struct peer_request *r = &f->request;

    (void)err;
    f->node = arg;
    *r = *request;
    r->ids = copy(request->ids, request->id_count * sizeof(*request->ids));
    r->text.data = copy(request->text.data, request->text.size);
    f->forwarded =
        (struct peer_forwarded){request->verb,          r->text,
                                *request->caller,       f->node->id,
                                request->connection_id, request->timeout_ms};
    return f;
}

/* ---- the answer ---- */

static int
open_envelope(void *arg, struct span envelope, struct arena *arena,
              struct peer_forwarded *out, struct error *err)
{
    (void)envelope;
    (void)arena;
    (void)err;
    *out = ((struct peer_fanout *)arg)->forwarded;
    return 0;
}

static int
begin(struct peer_fanout *f, struct error *err)
{
    static const struct span forward = {"ADMIN FORWARD '00'", 18};
    static const struct sql_identity other = {.user = "", .host = "loopback"};

    f->session = sql_session_new(f->node, &other, 1);
    if (!f->session) {
        error_memory(err, "a session");
        return -1;
    }
    f->channel = (struct peer_channel){f, open_envelope};
    sql_session_set_channel(f->session, &f->channel);
    /* The asker steps what it asks: it waits itself. */
    f->cursor = sql_open(f->session, forward, NULL, f->request.waker.arg, err);
    if (!f->cursor)
        return -1;
    if (f->cursor->column_count == f->request.column_count)
        return 0;
    error_set(err, ER_UNKNOWN, "rpc failed: %zu columns",
              f->cursor->column_count);
    return -1;
}

/* As the text protocol has it; number is used where it is one. */
static struct span
text_of(const struct value *value, char number[NUMBER_MAX])
{
    switch (value->type) {
    case VALUE_INT:
        snprintf(number, NUMBER_MAX, "%" PRId64, value->integer);
        break;
    case VALUE_DOUBLE:
        snprintf(number, NUMBER_MAX, "%.17g", value->real);
        break;
    case VALUE_NULL:
        return (struct span){NULL, 0};
    default:
        return (struct span){value->data, value->size};
    }
    return (struct span){number, strlen(number)};
}

static size_t
size_of_row(const struct value *values, size_t columns)
{
    char number[NUMBER_MAX];
    size_t size = 0;

    for (size_t i = 0; i < columns; i++)
        size += text_of(&values[i], number).size;
    return size;
}

/* Rows that are within the ceilings, whole ones. */
static size_t
allow(struct peer_fanout *f, const struct rows *rows, size_t *bytes)
{
    const struct peer_request *r = &f->request;
    size_t columns = r->column_count, count = 0;
    size_t max =
        r->node_bytes_max < r->bytes_max ? r->node_bytes_max : r->bytes_max;

    *bytes = 0;
    for (; count < rows->count && !f->cut; count++) {
        size_t size = size_of_row(rows->values + count * columns, columns);

        f->cut = size > max - f->bytes;
        if (f->cut)
            break;
        f->bytes += size;
        *bytes += size;
    }
    return count;
}

static struct peer_block *
make_block(struct peer_fanout *f, const struct rows *rows)
{
    size_t bytes, count = allow(f, rows, &bytes);
    size_t cells = count * f->request.column_count;
    struct peer_block *block =
        obtain(sizeof(*block) + cells * sizeof(struct span) + bytes);
    char *to = (char *)&block->cells[cells], number[NUMBER_MAX];

    block->id_index = f->next;
    block->row_count = count;
    block->bytes = bytes;
    for (size_t i = 0; i < cells; i++) {
        struct span text = text_of(&rows->values[i], number);

        if (text.size > 0)
            memcpy(to, text.data, text.size);
        block->cells[i] = (struct span){text.data ? to : NULL, text.size};
        to += text.size;
    }
    return block;
}

static enum peer_event
step(struct peer_fanout *f, struct peer_block **block, struct peer_end *end)
{
    struct value values[BATCH * PEER_COLUMNS_MAX];
    struct rows rows = {values, 0, BATCH};
    enum step step = STEP_MORE;

    if (!f->cursor && begin(f, &end->error) != 0)
        return PEER_END;
    while (step == STEP_MORE && rows.count == 0 && !f->ended && !f->cut)
        step = f->cursor->ops->step(f->cursor, &rows, &end->error);
    if (step == STEP_FAIL)
        return PEER_END;
    f->ended = f->ended || step == STEP_DONE;
    if (rows.count > 0) {
        *block = make_block(f, &rows);
        return PEER_BLOCK;
    }
    end->truncated = f->cut;
    return f->ended || f->cut ? PEER_END : PEER_NOTHING_YET;
}

static enum peer_event
take(struct peer_fanout *f, struct peer_block **block, struct peer_end *end)
{
    enum peer_event event = PEER_END;

    if (f->next == f->request.id_count)
        return PEER_ALL_ENDED;
    memset(end, 0, sizeof(*end));
    if (f->request.ids[f->next] == f->node->id)
        event = step(f, block, end);
    else
        error_set(&end->error, ER_KEY_NOT_FOUND, "node not found");
    end->id_index = f->next;
    f->next += event == PEER_END;
    return event;
}

static void
release(struct peer_fanout *f)
{
    if (!f)
        return;
    cursor_free(f->cursor);
    sql_session_free(f->session);
    free((void *)f->request.ids);
    free((void *)f->request.text.data);
    free(f);
}

struct sql_peers
loopback_peers(struct sql_node *node)
{
    return (struct sql_peers){node, list, ask, take, release};
}
