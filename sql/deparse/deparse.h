/*
 * deparse.h - writes a SELECT's tree as SQLite's text.
 *
 * It translates names, strings, variables, operators and labels, and looks
 * tables up in the catalog; SQLite decides what a query means.
 */
#ifndef HW_DEPARSE_H
#define HW_DEPARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buffer.h"
#include "catalog.h"
#include "select_tree.h"
#include "sql_statement.h"

struct arena;
struct error;
struct sql_session;

enum {
    DEPARSE_OUTPUT_MAX = 2 * 1024 * 1024,
    DEPARSE_LABEL_MAX = 256 /* bytes of a label made from an expression */
};

struct deparse {
    struct sql_session *session;
    struct span source; /* the whole statement, which errors quote */
    const struct tree *tree;
    struct arena *arena;               /* holds decoded names */
    const struct value *parameters;    /* the values of the ?; NULL: unknown */
    const struct catalog_table *table; /* of SHOW ... WHERE, or NULL */
};

struct deparsed {
    bool may_null; /* a column may be NULL though its table declares NOT NULL */
    struct table_set tables; /* all tables found, which the session may read */
    /* A condition mentions a column called snapshot, except to join it with
     * another of that name: the statement asks for kept snapshots. */
    bool names_snapshot;
    bool names_now;    /* a value is the text 'now' */
    bool reads_values; /* what a parameter is decides whether it is right */
    /* For each ? of SQLite's text, its position among the statement's. */
    const size_t *positions;
    bool reordered; /* they are not the same */
};

/* Appends the text to sql; expressions get SELECT before them.  -1 with 1046,
 * 1049, 1146, 1227, 1305, 1367, 1436 or 1525. */
int deparse_run(const struct deparse *deparse, struct buffer *sql,
                struct deparsed *out, struct error *err);

/* The position in the source that the output's byte `offset` comes from. start
 * is the size of sql before deparse_run; *where is the clause's name. */
const char *deparse_locate(const struct deparse *deparse, size_t start,
                           size_t offset, const char **where);

#endif
