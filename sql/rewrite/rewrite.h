/*
 * rewrite.h - rewrites MySQL's SELECT for SQLite, token by token.
 *
 * It translates names, strings, variables, operators and labels, and looks
 * tables up in the catalog; SQLite decides what a query means.
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
    REWRITE_SELECT,      /* a whole SELECT */
    REWRITE_EXPRESSIONS, /* a list of expressions; SELECT is written before it
                          */
    REWRITE_CONDITION    /* one condition, behind a WHERE that the output has */
};

struct rewrite {
    struct sql_session *session;
    struct span source; /* the whole statement, which errors quote */
    const struct fragment *fragment;
    enum rewrite_form form;
    struct arena *arena;            /* holds decoded names */
    const struct value *parameters; /* the values of the ?; NULL: unknown */
};

struct rewritten {
    bool has_tables; /* reads more than constants */
    bool assigns;    /* @x := y */
    bool has_limit;  /* has a LIMIT of its own */
    bool may_null; /* a column may be NULL though its table declares NOT NULL */
    struct table_set tables; /* all tables found, which the session may read */
    /* A condition mentions a column called snapshot, except to join it with
     * another of that name: the statement asks for kept snapshots. */
    bool names_snapshot;
    bool names_now;    /* a value is the text 'now' */
    struct span *into; /* user variables of INTO, in the arena */
    size_t into_count;
};

/* Appends the rewritten text to sql.  -1 with 1064, 1193, 1046, 1049, 1146 or
 * 1227. */
int rewrite_run(const struct rewrite *rewrite, struct buffer *sql,
                struct rewritten *out, struct error *err);

/* The place in the source that the output's byte `offset` comes from. start is
 * the size of sql before rewrite_run; *where is the clause's name. */
const char *rewrite_locate(const struct rewrite *rewrite, size_t start,
                           size_t offset, const char **where);

#endif
