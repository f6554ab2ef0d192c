/* parse_statement.h - from a text to a statement. */
#ifndef HW_PARSE_STATEMENT_H
#define HW_PARSE_STATEMENT_H

#include "sql_statement.h"

struct arena;
struct error;
struct sql_parameters;
struct sql_session;

enum { STATEMENT_BYTES_MAX = 24 * 1024 * 1024 }; /* of a statement's arena */

enum parameter_use {
    PARAMETERS_NONE,   /* a ? is a syntax error */
    PARAMETERS_ABSENT, /* counted; their values are not there */
    PARAMETERS_GIVEN
};

struct parsing {
    struct arena *arena;
    enum parameter_use use;
    const struct sql_parameters *parameters; /* GIVEN: borrowed to the end */
    const struct sql_session *session; /* whose @names are known; or NULL */
};

/*
 * Exactly one statement, a trailing semicolon allowed.  -1 with 1064 and the
 * text near the fault; 1065 for nothing but blanks and comments; 1290 for what
 * would change data; 1235 for what parses but does not exist here; 1210 when
 * there are not as many values as ?, or one does not fit its place; 1390 past
 * SQL_PARAMETERS_MAX.
 */
int statement_parse(struct span text, const struct parsing *how,
                    struct sql_statement *out, struct error *err);

#endif
