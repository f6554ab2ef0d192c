/*
 * select_query.h - a SELECT in SQLite's text, prepared on its own handle.
 */
#ifndef HW_SELECT_QUERY_H
#define HW_SELECT_QUERY_H

#include <sqlite3.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "buffer.h"
#include "cursor.h"
#include "deparse.h"
#include "handle.h"
#include "reader.h"

struct arena;
struct catalog_scope;
struct catalog_table;
struct cursor;
struct error;
struct opening;
struct select_plan;
struct sql_parameters;
struct sql_session;
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

/* ---- plans ----
 *
 * The finished plan of a SELECT without tables, kept by its text: applications
 * send few texts, many times.  It depends on nothing but the text and its
 * parameters' types.  So none is made or used where more matters: tables, whose
 * database and privilege must be looked up, and variables that the session has
 * set.  Any thread. */

enum {
    PLANS_KEPT = 64,
    PLAN_TEXT_MAX = 512, /* bytes of the statement, */
    PLAN_VALUE_MAX =
        512, /* bytes of a parameter, since longer ones widen columns */
    PLAN_BYTES_MAX = 4096 /* bytes of all that a plan keeps */
};

struct select_plan {
    struct arena *arena; /* holds all of it */
    atomic_uint references;
    struct span text;             /* of the statement */
    const enum value_type *types; /* of the parameters */
    size_t parameter_count;
    struct span sql; /* SQLite's text */
    const struct column *columns;
    size_t column_count;
    bool has_limit; /* as in struct query */
};

/* A reference to the plan of the text, or NULL. */
struct select_plan *select_plan_find(const struct sql_session *session,
                                     struct span text,
                                     const struct sql_parameters *parameters);
void select_plan_unref(struct select_plan *plan); /* NULL is fine */

/* Keeps the plan of an open query, if it qualifies. */
void select_plan_keep(const struct query *query, const struct cursor *cursor,
                      const struct sql_parameters *parameters);

void select_plan_clear(void); /* Drops all plans. */

/* ---- opens SELECT and DO ---- */

/* Number of SELECTs that were opened to be read, since the start. */
uint64_t select_count(void);

struct cursor *select_open(struct opening *opening, struct error *err);
/* Opens a cursor without a statement or an arena; takes the plan. */
struct cursor *select_open_plan(const struct opening *opening,
                                struct select_plan *plan, struct error *err);
struct cursor *do_open(struct opening *opening, struct error *err);
/* Opens table's rows that meet the condition, for SHOW ... WHERE. */
struct cursor *select_open_where(struct opening *opening,
                                 const struct catalog_table *table,
                                 const struct catalog_scope *scope,
                                 struct error *err);

/* ---- a row's values: select_value.c ---- */

/* Reads column i of the present row.  Its bytes are SQLite's until the next
 * step, or lie in arena.  A wrong date in a column of dates is NULL.  -1 with
 * 1037 or 1690. */
int select_value(sqlite3_stmt *statement, int i, const struct column *column,
                 struct arena *arena, struct value *out, struct error *err);
/* Copies the value's bytes to arena.  -1 with *err. */
int select_value_keep(struct arena *arena, struct value *value,
                      struct error *err);

/* SELECT ... INTO @a, @b: one row becomes user variables.  Takes rows, also on
 * failure.  The names must last as long as the cursor. */
struct cursor *select_into(const struct opening *opening, struct cursor *rows,
                           const struct span *names, size_t count,
                           struct error *err);

/* The same for DO, which drops the row. */
struct cursor *select_into_nothing(struct cursor *rows, struct error *err);

#endif
