/*
 * reply.h - replies to a client: OK, ERR, EOF, columns, rows.
 *
 * Everything is appended to one capped buffer; the session sends it.  Layouts:
 * PROTOCOL.md.
 */
#ifndef HW_REPLY_H
#define HW_REPLY_H

#include <stddef.h>
#include <stdint.h>

#include "buffer.h"
#include "cursor.h"

struct error;
struct progress;

enum {
    REPLY_ROW_MAX = 64 * 1024 * 1024, /* one row, encoded */
    REPLY_FULL = 256 * 1024, /* where the statement stops making rows */
    REPLY_MAX = REPLY_ROW_MAX + 2 * REPLY_FULL /* so one row always fits */
};

struct reply {
    struct buffer out;
    uint8_t sequence;      /* of the next packet */
    uint32_t capabilities; /* the client's AND ours; 0 before the greeting */
    uint16_t status;       /* STATUS_... of OK and EOF */
    uint16_t warnings;     /* of OK and EOF */
};

void reply_init(struct reply *r);
void reply_fini(struct reply *r);

void reply_ok(struct reply *r, uint64_t affected_rows, const char *info);
void reply_error(struct reply *r, const struct error *err);
void reply_text(struct reply *r, const char *text); /* COM_STATISTICS */

/* The ends of columns (classic clients only) and of rows. */
void reply_columns(struct reply *r, const struct cursor *cursor);
void reply_end(struct reply *r);
void reply_end_with(struct reply *r,
                    uint16_t status); /* status: additional bits for this end */
/* Columns alone: the rows will be fetched.  Every client gets the end here. */
void reply_cursor(struct reply *r, const struct cursor *cursor);
/* COM_STMT_PREPARE: at most 65535 of each. */
void reply_prepared(struct reply *r, uint32_t id, size_t parameters,
                    const struct column *columns, size_t column_count);
/* For clients with CAPABILITY_PROGRESS, before anything else of a reply; for
 * other nodes between any two packets of it. */
void reply_progress(struct reply *r, const struct progress *progress);

/* COM_FIELD_LIST: column definitions, each with an absent default. */
void reply_fields(struct reply *r, const struct cursor *cursor);

/* -1 with *err if the row is too large; nothing of it is kept. */
int reply_row(struct reply *r, const struct value *values, size_t count,
              struct error *err);
int reply_binary_row(struct reply *r, const struct column *columns,
                     const struct value *values, size_t count,
                     struct error *err);

#endif
