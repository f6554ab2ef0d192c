/* parse_statement.h - parses a text into a statement. */
#ifndef HW_PARSE_STATEMENT_H
#define HW_PARSE_STATEMENT_H

#include "parser.h"
#include "sql_statement.h"

struct error;

/* Bytes of a statement's arena. */
enum { STATEMENT_BYTES_MAX = 24 * 1024 * 1024 };

/*
 * Parses exactly one statement, which may end with a semicolon.  -1 with 1064
 * and the text near the fault; 1065: the text has only blanks and comments;
 * 1290: the statement would change data; 1235: it is not supported; 1210: the
 * number of values differs from that of ?, or a value does not fit its ?;
 * 1390: more than SQL_PARAMETERS_MAX.
 */
int statement_parse(struct span text, const struct parsing *how,
                    struct sql_statement *out, struct error *err);

#endif
