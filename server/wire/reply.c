/*
 * reply.c - see reply.h.
 *
 * Layouts are in PROTOCOL.md.  What differs between clients is decided here by
 * their capabilities: an EOF or an OK at the end of rows, an EOF behind the
 * column definitions, an SQLSTATE. Each packet is built in place, with room for
 * its header before it; a row that does not fit is cut off again.
 */
#include "reply.h"

#include <stdio.h>
#include <string.h>

#include "row_value.h"
#include "await.h"
#include "capability.h"
#include "clean_text.h"
#include "errors.h"
#include "packet.h"

enum {
    HEADER_OK = 0x00,
    HEADER_NULL = 0xfb,
    HEADER_EOF = 0xfe,
    HEADER_ERROR = 0xff,
    CHARSET_UTF8MB4 = 45,
    CHARSET_BINARY = 63,
    DECIMALS_DYNAMIC = 31,
    FLAG_BLOB = 0x10,
    FLAG_BINARY = 0x80,
    PROGRESS_CODE = 0xffff,
    PROGRESS_TEXT_MAX = 190
};

struct declaration {
    uint8_t type;
    uint8_t decimals; /* used if the column has none of its own */
    uint16_t charset;
    uint16_t flags;
    uint32_t bytes_per_character;
};

/* Each type as clients see it: PROTOCOL.md, "Values and types". */
static const struct declaration declarations[] = {
    [COLUMN_NULL] = {0x06, 0, CHARSET_BINARY, FLAG_BINARY, 1},
    [COLUMN_TEXT] = {0xfd, DECIMALS_DYNAMIC, CHARSET_UTF8MB4, 0, 4},
    [COLUMN_LONGTEXT] = {0xfc, DECIMALS_DYNAMIC, CHARSET_UTF8MB4, FLAG_BLOB, 4},
    [COLUMN_BLOB] = {0xfc, 0, CHARSET_BINARY, FLAG_BINARY | FLAG_BLOB, 1},
    /* With the flag, Connector/J reads TINYINT(1) as bytes, not as a Boolean.
     */
    [COLUMN_TINYINT] = {0x01, 0, CHARSET_BINARY, 0, 1},
    [COLUMN_INT] = {0x03, 0, CHARSET_BINARY, FLAG_BINARY, 1},
    [COLUMN_BIGINT] = {0x08, 0, CHARSET_BINARY, FLAG_BINARY, 1},
    [COLUMN_DOUBLE] = {0x05, DECIMALS_DYNAMIC, CHARSET_BINARY, FLAG_BINARY, 1},
    [COLUMN_DECIMAL] = {0xf6, 0, CHARSET_BINARY, FLAG_BINARY, 1},
    [COLUMN_DATE] = {0x0a, 0, CHARSET_BINARY, FLAG_BINARY, 1},
    [COLUMN_TIME] = {0x0b, 0, CHARSET_BINARY, FLAG_BINARY, 1},
    [COLUMN_DATETIME] = {0x0c, 0, CHARSET_BINARY, FLAG_BINARY, 1},
    [COLUMN_TIMESTAMP] = {0x07, 0, CHARSET_BINARY, FLAG_BINARY, 1},
};

void
reply_init(struct reply *r)
{
    memset(r, 0, sizeof(*r));
    r->status = STATUS_AUTOCOMMIT;
    buffer_init(&r->out, REPLY_MAX);
}

void
reply_fini(struct reply *r)
{
    buffer_fini(&r->out);
}

static void
put_ok(struct reply *r, uint8_t header, uint64_t affected_rows,
       const char *info)
{
    size_t mark = packet_begin(&r->out);

    buffer_u8(&r->out, header);
    buffer_lenenc(&r->out, affected_rows);
    buffer_lenenc(&r->out, 0); /* last insert id */
    buffer_u16(&r->out, r->status);
    buffer_u16(&r->out, r->warnings);
    if (*info)
        buffer_lenenc_bytes(&r->out, info, strlen(info));
    packet_end(&r->out, mark, &r->sequence);
}

static void
put_eof(struct reply *r)
{
    size_t mark = packet_begin(&r->out);

    buffer_u8(&r->out, HEADER_EOF);
    buffer_u16(&r->out, r->warnings);
    buffer_u16(&r->out, r->status);
    packet_end(&r->out, mark, &r->sequence);
}

void
reply_ok(struct reply *r, uint64_t affected_rows, const char *info)
{
    put_ok(r, HEADER_OK, affected_rows, info);
}

void
reply_end(struct reply *r)
{
    if (r->capabilities & CAPABILITY_DEPRECATE_EOF)
        /* An OK packet, but with EOF's header byte, as DEPRECATE_EOF asks. */
        put_ok(r, HEADER_EOF, 0, "");
    else
        put_eof(r);
}

void
reply_end_with(struct reply *r, uint16_t status)
{
    uint16_t before = r->status;

    r->status |= status;
    reply_end(r);
    r->status = before;
}

/* Names and errors may quote the statement, whose bytes need not be UTF-8. */
static void
put_utf8(struct buffer *out, struct span text)
{
    char *room;

    if (text_is_utf8(text)) {
        buffer_add(out, text.data, text.size);
        return;
    }
    room = buffer_reserve(out, text.size + 1);
    if (!room)
        return;
    clean_text(text, room);
    buffer_claim(out, text.size);
}

/* Before the greeting no SQLSTATE is sent, as the client would print it. */
void
reply_error(struct reply *r, const struct error *err)
{
    size_t mark = packet_begin(&r->out);

    buffer_u8(&r->out, HEADER_ERROR);
    buffer_u16(&r->out, err->code);
    if (r->capabilities & CAPABILITY_PROTOCOL_41) {
        buffer_char(&r->out, '#');
        buffer_text(&r->out, err->sqlstate);
    }
    put_utf8(&r->out, (struct span){err->text, strlen(err->text)});
    packet_end(&r->out, mark, &r->sequence);
}

void
reply_text(struct reply *r, const char *text)
{
    size_t mark = packet_begin(&r->out);

    buffer_text(&r->out, text);
    packet_end(&r->out, mark, &r->sequence);
}

static void
put_name(struct reply *r, const char *name)
{
    struct span text = {name ? name : "", name ? strlen(name) : 0};

    buffer_lenenc(&r->out, text.size);
    put_utf8(&r->out, text);
}

static uint32_t
display_length(const struct column *column, const struct declaration *as)
{
    uint64_t length = column->width ? column->width : 1;

    length *= as->bytes_per_character;
    return length < UINT32_MAX ? (uint32_t)length : UINT32_MAX;
}

static void
put_definition(struct reply *r, const struct column *column,
               const struct declaration *as, bool with_default)
{
    size_t mark = packet_begin(&r->out);

    /* catalog, schema, table, org_table, name, org_name */
    put_name(r, "def");
    put_name(r, column->database);
    put_name(r, column->table);
    put_name(r, column->table);
    put_name(r, column->name);
    put_name(r, column->origin ? column->origin : column->name);
    buffer_u8(&r->out, 0x0c); /* length of the fixed fields */
    buffer_u16(&r->out, as->charset);
    buffer_u32(&r->out, display_length(column, as));
    buffer_u8(&r->out, as->type);
    buffer_u16(&r->out, as->flags | column->flags);
    buffer_u8(&r->out, column->decimals ? column->decimals : as->decimals);
    buffer_u16(&r->out, 0);
    if (with_default)
        buffer_u8(&r->out, HEADER_NULL);
    packet_end(&r->out, mark, &r->sequence);
}

static void
put_reply_column(struct reply *r, const struct column *column,
                 bool with_default)
{
    put_definition(r, column, &declarations[column->type], with_default);
}

/* Only classic clients get an EOF behind definitions. */
static void
end_definitions(struct reply *r)
{
    if (!(r->capabilities & CAPABILITY_DEPRECATE_EOF))
        put_eof(r);
}

static void
put_columns(struct reply *r, const struct cursor *cursor)
{
    size_t mark = packet_begin(&r->out);

    buffer_lenenc(&r->out, cursor->column_count);
    packet_end(&r->out, mark, &r->sequence);
    for (size_t i = 0; i < cursor->column_count; i++)
        put_reply_column(r, &cursor->columns[i], false);
}

void
reply_columns(struct reply *r, const struct cursor *cursor)
{
    put_columns(r, cursor);
    end_definitions(r);
}

void
reply_cursor(struct reply *r, const struct cursor *cursor)
{
    put_columns(r, cursor);
    reply_end_with(r, STATUS_CURSOR_EXISTS);
}

void
reply_prepared(struct reply *r, uint32_t id, size_t parameters,
               const struct column *columns, size_t column_count)
{
    static const struct column parameter = {.name = "?"};
    /* VAR_STRING: what a parameter really is comes with its value. */
    static const struct declaration any = {0xfd, 0, CHARSET_BINARY, FLAG_BINARY,
                                           1};
    size_t mark = packet_begin(&r->out);

    buffer_u8(&r->out, HEADER_OK);
    buffer_u32(&r->out, id);
    buffer_u16(&r->out, (uint16_t)column_count);
    buffer_u16(&r->out, (uint16_t)parameters);
    buffer_u8(&r->out, 0);
    buffer_u16(&r->out, 0); /* warnings */
    packet_end(&r->out, mark, &r->sequence);
    for (size_t i = 0; i < parameters; i++)
        put_definition(r, &parameter, &any, false);
    if (parameters > 0)
        end_definitions(r);
    for (size_t i = 0; i < column_count; i++)
        put_reply_column(r, &columns[i], false);
    if (column_count > 0)
        end_definitions(r);
}

void
reply_progress(struct reply *r, const struct progress *progress)
{
    const char *text = progress->text ? progress->text : "";
    unsigned percent = progress->percent < 100 ? progress->percent : 100;
    size_t mark = packet_begin(&r->out);

    /* MariaDB reads an ERR packet with code 0xffff as a progress report. */
    buffer_u8(&r->out, HEADER_ERROR);
    buffer_u16(&r->out, PROGRESS_CODE);
    buffer_u8(&r->out, 1); /* texts */
    buffer_u8(&r->out, (uint8_t)progress->stage);
    buffer_u8(&r->out, (uint8_t)progress->stages);
    /* in thousandths of a percent */
    buffer_u24(&r->out, percent * 1000);
    buffer_lenenc_bytes(&r->out, text, strnlen(text, PROGRESS_TEXT_MAX));
    packet_end(&r->out, mark, &r->sequence);
}

void
reply_fields(struct reply *r, const struct cursor *cursor)
{
    for (size_t i = 0; i < cursor->column_count; i++)
        put_reply_column(r, &cursor->columns[i], true);
    reply_end(r);
}

/* -1 with *err: the row is removed from the buffer, which stays usable. */
static int
end_row(struct reply *r, size_t mark, bool broken, struct error *err)
{
    bool fits = r->out.size - mark <= REPLY_ROW_MAX;

    if (fits)
        packet_end(&r->out, mark, &r->sequence);
    if (fits && !r->out.failed)
        return 0;
    packet_drop(&r->out, mark);
    r->out.failed = broken;
    error_set(err, ER_OUT_OF_MEMORY,
              "a row of the result is larger than %d bytes, or memory ran out",
              REPLY_ROW_MAX);
    return -1;
}

int
reply_row(struct reply *r, const struct value *values, size_t count,
          struct error *err)
{
    /* set by an earlier packet: it must stay so */
    bool broken = r->out.failed;
    size_t mark = packet_begin(&r->out);

    for (size_t i = 0; i < count; i++)
        text_value_put(&r->out, &values[i]);
    return end_row(r, mark, broken, err);
}

int
reply_binary_row(struct reply *r, const struct column *columns,
                 const struct value *values, size_t count, struct error *err)
{
    bool broken = r->out.failed;
    size_t mark = packet_begin(&r->out);

    binary_row_put(&r->out, columns, values, count);
    return end_row(r, mark, broken, err);
}
