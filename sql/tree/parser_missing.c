/*
 * parser_missing.c - names what MySQL has and heapwire has not, in a SELECT.
 *
 * Where a statement cannot be read on, the two words there tell whether MySQL
 * would read on: then the error is 1235 with a reason, not a syntax error.
 */
#include "errors.h"
#include "lexer.h"
#include "parser.h"

static const struct {
    const char *first, *second; /* second: one of these */
    const char *what, *why;
} missing[] = {
    {"AT", "TIME", "AT TIME ZONE", "all times are UTC"},
    {"GROUPS", "BETWEEN CURRENT UNBOUNDED", "GROUPS of a frame",
     "use ROWS or RANGE"},
    {"IGNORE", "NULLS", "IGNORE NULLS", "leave them out by WHERE"},
    {"MEMBER", "OF", "MEMBER OF", "use JSON_CONTAINS"},
    {"PARTITION", "(", "PARTITION", "no table has partitions"},
    {"PROCEDURE", "ANALYSE", "PROCEDURE ANALYSE", "DESCRIBE has the types"},
    {"RETURNING",
     "BINARY CHAR DATE DATETIME DECIMAL DOUBLE FLOAT INTEGER JSON REAL SIGNED "
     "TIME UNSIGNED YEAR",
     "JSON_VALUE ... RETURNING", "use JSON_EXTRACT and CAST"},
    {"SOUNDS", "LIKE", "SOUNDS LIKE", "compare the SOUNDEX of both"},
    {"VALUES", "(", "VALUES()", "nothing is inserted"},
    {"{", "OJ", "{OJ ...}", "leave out the braces"},
};

int
parser_refuse(struct parser *p, const char *what, const char *why)
{
    error_set(p->err, ER_NOT_SUPPORTED,
              "This version of heapwire doesn't yet support '%s': %s", what,
              why);
    return -1;
}

int
parser_refuse_missing(struct parser *p, const struct token *next)
{
    for (size_t i = 0; i < sizeof(missing) / sizeof(missing[0]); i++) {
        if (!token_is(&p->token, missing[i].first) &&
            !token_is_operator(&p->token, missing[i].first))
            continue;
        if (token_is_any(next, missing[i].second) ||
            token_is_operator(next, missing[i].second))
            return parser_refuse(p, missing[i].what, missing[i].why);
    }
    return 0;
}

int
parser_refuse_change(struct parser *p)
{
    error_set(p->err, ER_READ_ONLY,
              "The heapwire server is running with the --read-only option so "
              "it cannot execute this statement");
    return -1;
}
