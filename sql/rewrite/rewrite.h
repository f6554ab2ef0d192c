/*
 * rewrite.h - MySQL's SELECT in SQLite's words, token by token.
 *
 * Names, strings, variables, operators and labels are translated here and
 * tables are looked up in the catalog; SQLite decides what a query means.
 */
#ifndef HW_REWRITE_H
#define HW_REWRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buffer.h"
#include "catalog.h"
#include "sql_statement.h"

struct arena;
struct error;
struct sql_session;

enum {
    REWRITE_SOURCE_MAX = 256 * 1024, /* bytes of a SELECT */
    REWRITE_OUTPUT_MAX = 2 * 1024 * 1024,
    REWRITE_LABEL_MAX = 256, /* bytes of a label made from an expression */
    REWRITE_CTES_MAX = 32,
    REWRITE_INTO_MAX = 64 /* variables of SELECT ... INTO */
};

enum rewrite_form {
    REWRITE_SELECT,      /* the whole of it */
    REWRITE_EXPRESSIONS, /* a list of them: SELECT goes before */
    REWRITE_CONDITION    /* one, behind a WHERE that is in the output */
};

struct rewrite {
    struct sql_session *session;
    struct span source; /* the statement, for errors */
    const struct fragment *fragment;
    enum rewrite_form form;
    struct arena *arena;            /* of decoded names */
    const struct value *parameters; /* the statement's; NULL: not known */
};

struct rewritten {
    bool has_tables; /* anything but constants is read */
    bool assigns;    /* @x := y */
    bool has_limit;  /* a LIMIT of its own */
    bool may_null;   /* a column of a table may be NULL where none of it is */
    struct table_set tables; /* each that was looked up and allowed */
    /* A condition has a column called snapshot in it, other than to join it
     * with another of that name: the snapshots that are kept are asked for. */
    bool names_snapshot;
    bool names_now;    /* a value is 'now' */
    struct span *into; /* user variables, in the arena */
    size_t into_count;
};

/* Appends to sql.  -1 with 1064, 1193, 1046, 1049, 1146, 1227. */
int rewrite_run(const struct rewrite *rewrite, struct buffer *sql,
                struct rewritten *out, struct error *err);

/* Where in the source the output's byte `offset` comes from; start is the
 * size that sql had before rewrite_run; *where is the clause's name. */
const char *rewrite_locate(const struct rewrite *rewrite, size_t start,
                           size_t offset, const char **where);

#endif
