/*
 * prepared_commands.c - see prepared_commands.h.
 *
 * Executing, closing or resetting a statement ends its open cursor first.  A
 * command without a reply must not send an error: the client would take it for
 * the answer to its next command.
 */
#include "prepared_commands.h"

#include "errors.h"
#include "prepared.h"
#include "session.h"
#include "sql.h"
#include "statement.h"

enum { FLAG_CURSOR_READ_ONLY = 1 };

/* Finds the statement that a packet names; NULL: the client has its error. */
static struct prepared *
find_packet_statement(struct session *s, struct reader *r, const char *command)
{
    uint32_t id = reader_u32(r);
    struct prepared *p = NULL;
    struct error err;

    if (r->failed)
        error_set(&err, ER_MALFORMED_PACKET,
                  "Malformed communication packet: %s names no statement",
                  command);
    else
        p = prepared_find(s->prepared, id, command, &err);
    if (!p)
        reply_error(&s->reply, &err);
    return p;
}

/* The same for commands that have no reply. */
static struct prepared *
find_quietly(struct session *s, struct reader *r)
{
    uint32_t id = reader_u32(r);

    return r->failed ? NULL : prepared_find(s->prepared, id, "", NULL);
}

static void
reply_description(struct session *s, struct span text,
                  const struct sql_description *description)
{
    struct error err;
    struct prepared *p = prepared_new(&s->prepared, s->who.user, text,
                                      description->parameter_count, &err);

    if (!p) {
        reply_error(&s->reply, &err);
        return;
    }
    reply_prepared(&s->reply, p->id, p->parameter_count, description->columns,
                   description->column_count);
}

void
prepared_prepare(struct session *s, struct span body)
{
    statement_describe(s, body, reply_description);
}

static bool
can_open_prepared_cursor(const struct prepared *p, struct error *err)
{
    if (p->list->cursors < PREPARED_CURSORS_MAX)
        return true;
    error_set(err, ER_TOO_MANY_PREPARED,
              "Can't open more than %d cursors in a connection: fetch the rows "
              "of one to the end, or close it",
              PREPARED_CURSORS_MAX);
    return false;
}

void
prepared_execute(struct session *s, struct span body)
{
    struct reader r = reader_of(body.data, body.size);
    struct prepared *p = find_packet_statement(s, &r, "COM_STMT_EXECUTE");
    struct error err;
    bool cursor;

    if (!p)
        return;
    statement_drop(p);
    /* Scrollable cursors and cursors for update are executed without a cursor.
     */
    cursor = reader_u8(&r) == FLAG_CURSOR_READ_ONLY;
    reader_u32(&r); /* iterations: always one */
    if (r.failed)
        error_set(&err, ER_MALFORMED_PACKET,
                  "Malformed communication packet: COM_STMT_EXECUTE is cut "
                  "short");
    if (r.failed || (cursor && !can_open_prepared_cursor(p, &err))) {
        reply_error(&s->reply, &err);
        prepared_drop_long(p);
        return;
    }
    statement_execute(s, p, reader_rest(&r), cursor);
}

void
prepared_send_long_data(struct session *s, struct span body)
{
    struct reader r = reader_of(body.data, body.size);
    struct prepared *p = find_quietly(s, &r);
    uint16_t parameter = reader_u16(&r);

    if (p && !r.failed)
        prepared_add_long(p, parameter, reader_rest(&r));
}

void
prepared_close(struct session *s, struct span body)
{
    struct reader r = reader_of(body.data, body.size);
    struct prepared *p = find_quietly(s, &r);

    if (p)
        statement_drop(p);
    prepared_free(p);
}

void
prepared_reset(struct session *s, struct span body)
{
    struct reader r = reader_of(body.data, body.size);
    struct prepared *p = find_packet_statement(s, &r, "COM_STMT_RESET");

    if (!p)
        return;
    statement_drop(p);
    prepared_drop_long(p);
    reply_ok(&s->reply, 0, "");
}

void
prepared_fetch(struct session *s, struct span body)
{
    struct reader r = reader_of(body.data, body.size);
    struct prepared *p = find_packet_statement(s, &r, "COM_STMT_FETCH");
    uint32_t count = reader_u32(&r);
    struct error err;

    if (!p)
        return;
    if (!r.failed && p->cursor) {
        statement_fetch(p, count);
        return;
    }
    if (r.failed)
        error_set(&err, ER_MALFORMED_PACKET,
                  "Malformed communication packet: COM_STMT_FETCH is cut "
                  "short");
    else
        error_set(&err, ER_NO_OPEN_CURSOR,
                  "The statement (%u) has no open cursor", p->id);
    reply_error(&s->reply, &err);
}

void
prepared_drop_all(struct session *s)
{
    for (size_t i = 0; s->prepared && i < PREPARED_MAX; i++)
        if (s->prepared->slots[i])
            statement_drop(s->prepared->slots[i]);
    prepared_list_free(s->prepared);
    s->prepared = NULL;
}
