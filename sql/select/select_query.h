/*
 * select_query.h - a SELECT in SQLite's text, prepared on its own handle.
 */
#ifndef HW_SELECT_QUERY_H
#define HW_SELECT_QUERY_H

#include "buffer.h"
#include "deparse.h"
#include "handle.h"

struct opening;
struct select_plan;
struct value;

struct query {
    struct deparse deparse; /* borrows the statement, until the query is open */
    struct deparsed deparsed;
    bool has_limit; /* a LIMIT of its own */
    struct buffer sql;
    size_t prefix; /* bytes of sql before the written text */
    struct handle *handle;
    sqlite3_stmt *statement;
};

/* Writes tree as SQL, and prepares it. table (SHOW's, whose privilege was
 * checked; or NULL) is selected from, with the written text as the condition.
 * -1 with *err, and there is nothing to close. */
int query_open(struct query *query, const struct opening *opening,
               const struct tree *tree, const struct catalog_scope *scope,
               const struct catalog_table *table, struct error *err);
/* Prepares the SELECT of a plan; its errors name no place in the text. */
int query_open_plan(struct query *query, const struct select_plan *plan,
                    const struct opening *opening, struct error *err);
void query_close(struct query *query); /* a zeroed or closed one is fine */

/* Sets *err for an answer of sqlite3_step that is neither a row nor the end.
 * Returns -1. */
int query_fail(const struct query *query, int rc, struct error *err);

/* Checks that select_evaluate would find all names.  -1 with *err. */
int select_check(const struct opening *opening, const struct tree *tree,
                 struct error *err);

/* Evaluates one expression; out's data is in the opening's arena. */
int select_evaluate(const struct opening *opening, const struct tree *tree,
                    struct value *out, struct error *err);

#endif
