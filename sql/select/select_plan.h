/*
 * select_plan.h - the finished plan of a SELECT without tables, kept by its
 * text: applications send few texts, many times.
 *
 * A plan depends on nothing but the text and its parameters' types.  So none is
 * made or used where more matters: tables, whose database and privilege must be
 * looked up, and variables that the session has set.  Any thread.
 */
#ifndef HW_SELECT_PLAN_H
#define HW_SELECT_PLAN_H

#include <stdatomic.h>

#include "cursor.h"
#include "reader.h"

struct query;
struct sql_parameters;
struct sql_session;

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

void select_plan_forget(void); /* Drops all plans. */

#endif
