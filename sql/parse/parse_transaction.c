/*
 * parse_transaction.c - BEGIN, COMMIT, ROLLBACK and savepoints.
 *
 * Statements change no data, so these only start and end the session's
 * transaction.
 */
#include "parse.h"

#include "errors.h"

/* [AND [NO] CHAIN] [[NO] RELEASE] */
static int
parse_end(struct parser *p, struct sql_statement *out)
{
    bool no;

    out->kind = STATEMENT_END;
    if (parser_accept(p, "AND")) {
        no = parser_accept(p, "NO");
        if (parser_expect(p, "CHAIN") != 0)
            return -1;
        if (!no)
            out->kind = STATEMENT_BEGIN; /* CHAIN begins the next one at once */
    }
    if (parser_accept(p, "NO"))
        return parser_expect(p, "RELEASE");
    if (!token_is(&p->token, "RELEASE"))
        return 0;
    error_set(
        p->err, ER_NOT_SUPPORTED,
        "This version of heapwire doesn't yet support 'RELEASE at the end "
        "of a transaction'; close the connection");
    return -1;
}

/* WITH CONSISTENT SNAPSHOT | READ ONLY | READ WRITE [, ...] */
static int
parse_start(struct parser *p, struct sql_statement *out)
{
    out->kind = STATEMENT_BEGIN;
    if (parser_expect(p, "TRANSACTION") != 0)
        return -1;
    if (parser_done(p))
        return 0;
    do {
        if (parser_accept(p, "WITH")) {
            if (parser_expect(p, "CONSISTENT") != 0 ||
                parser_expect(p, "SNAPSHOT") != 0)
                return -1;
        } else if (parser_expect(p, "READ") != 0 ||
                   (!parser_accept(p, "ONLY") &&
                    parser_expect(p, "WRITE") != 0)) {
            return -1;
        }
    } while (parser_accept_operator(p, ","));
    return 0;
}

int
parse_transaction(struct parser *p, struct sql_statement *out)
{
    bool rollback = token_is(&p->token, "ROLLBACK");
    struct span name;

    if (parser_accept(p, "START"))
        return parse_start(p, out);
    if (parser_accept(p, "BEGIN")) {
        out->kind = STATEMENT_BEGIN;
        parser_accept(p, "WORK");
        return 0;
    }
    parser_advance(p);
    parser_accept(p, "WORK");
    if (!rollback || !parser_accept(p, "TO"))
        return parse_end(p, out);
    out->kind = STATEMENT_NOTHING; /* the transaction goes on */
    parser_accept(p, "SAVEPOINT");
    return parser_name(p, &name);
}

int
parse_savepoint(struct parser *p, struct sql_statement *out)
{
    struct span name;

    out->kind = STATEMENT_NOTHING;
    parser_accept(p, "RELEASE");
    if (parser_expect(p, "SAVEPOINT") != 0)
        return -1;
    return parser_name(p, &name);
}
