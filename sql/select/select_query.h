/*
 * select_query.h - a rewritten SELECT, prepared on a handle of its own.
 */
#ifndef HW_SELECT_QUERY_H
#define HW_SELECT_QUERY_H

#include "buffer.h"
#include "rewrite.h"
#include "handle.h"

struct select_plan;
struct value;

enum {
    /* Operations that a SELECT may take on the event loop, some milliseconds;
     * past them it starts again on a worker. */
    SELECT_LOOP_OPS = 100 * 1000
};

struct query {
    struct rewrite rewrite; /* borrows the statement: until it is open */
    struct rewritten rewritten;
    struct buffer sql;
    size_t prefix; /* bytes of sql that were not rewritten */
    struct handle *handle;
    sqlite3_stmt *statement;
};

/* Rewrites and prepares.  A table (not NULL: SHOW's, whose privilege was
 * checked) is selected from, and the rewritten text its condition.  -1 with
 * *err and nothing to close. */
int query_open(struct query *query, const struct rewrite *rewrite,
               const struct catalog_scope *scope,
               const struct catalog_table *table, struct error *err);
/* The same of a SELECT that was rewritten before, without an error's place. */
int query_open_plan(struct query *query, const struct select_plan *plan,
                    struct sql_session *session, const struct value *parameters,
                    struct error *err);
void query_close(struct query *query); /* a zeroed or closed one is fine */

/* sqlite3_step's answer when that is neither a row nor the end.  Returns -1. */
int query_fail(const struct query *query, int rc, struct error *err);

/* Whether select_evaluate would find all names. */
int select_check(const struct rewrite *rewrite, struct error *err);

/* Works out one expression; out's data is in the rewrite's arena. */
int select_evaluate(const struct rewrite *rewrite, struct value *out,
                    struct error *err);

#endif
