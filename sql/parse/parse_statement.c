/*
 * parse_statement.c - the table of all statements by their first word, and the
 * parsers of the small ones.
 *
 * Parsing looks nothing up and changes nothing, so that it can also be run
 * only to find out what a statement is (sql_is_short_statement).
 */
#include "parse_statement.h"

#include <string.h>

#include "errors.h"
#include "parse.h"

/* table [column | 'pattern'] */
static int
parse_describe_table(struct parser *p, struct sql_statement *out)
{
    struct show *show = &out->show;

    out->kind = STATEMENT_SHOW;
    show->what = "columns";
    show->subject = SHOW_OF_TABLE;
    if (parser_table(p, show) != 0)
        return -1;
    if (parser_done(p))
        return 0;
    show->has_like = true;
    return parser_name_or_string(p, &show->like);
}

static int
parse_format(struct parser *p, enum explain_format *out)
{
    static const char *const names[] = {[EXPLAIN_TABLE] = "TRADITIONAL",
                                        [EXPLAIN_JSON] = "JSON",
                                        [EXPLAIN_TREE] = "TREE"};
    struct span format;

    parser_advance(p);
    if (parser_expect_operator(p, "=") != 0 ||
        parser_name_or_string(p, &format) != 0)
        return -1;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (span_is_nocase(format, names[i])) {
            *out = (enum explain_format)i;
            return 0;
        }
    error_set(p->err, ER_UNKNOWN_EXPLAIN_FORMAT,
              "Unknown EXPLAIN format name: '%.*s'; allowed are TRADITIONAL, "
              "JSON and TREE",
              span_shown(format), format.data);
    return -1;
}

static bool
at_format(struct parser *p)
{
    return token_is(&p->token, "FORMAT") &&
           token_is_operator(parser_ahead(p), "=");
}

static int
parse_describe(struct parser *p, struct sql_statement *out)
{
    enum explain_format format = EXPLAIN_TABLE;

    parser_advance(p);
    if (token_is(&p->token, "ANALYZE"))
        return parser_refuse(p, "EXPLAIN ANALYZE", "leave out ANALYZE");
    if (at_format(p) && parse_format(p, &format) != 0)
        return -1;
    if (token_is(&p->token, "FOR"))
        return parser_refuse(p, "EXPLAIN FOR CONNECTION",
                             "SHOW FULL PROCESSLIST has the statement");
    if (token_is_any(&p->token, "INSERT UPDATE DELETE REPLACE"))
        return parse_change(p, out);
    if (!parser_accept(p, "EXTENDED"))
        parser_accept(p, "PARTITIONS");
    /* DESCRIBE and EXPLAIN mean the same in MySQL: what follows tells a table
     * from a query. */
    if (!token_is_any(&p->token, "SELECT WITH TABLE VALUES") &&
        !token_is_operator(&p->token, "("))
        return parse_describe_table(p, out);
    out->kind = STATEMENT_EXPLAIN;
    out->format = format;
    return tree_parse(p, TREE_QUERY, false, &out->select);
}

static int
parse_select(struct parser *p, struct sql_statement *out)
{
    out->kind = STATEMENT_SELECT;
    parse_select_hint(p, out);
    return tree_parse(p, TREE_QUERY, false, &out->select);
}

static int
parse_do(struct parser *p, struct sql_statement *out)
{
    out->kind = STATEMENT_DO;
    parser_advance(p);
    return tree_parse(p, TREE_EXPRESSIONS, false, &out->select);
}

static int
parse_use(struct parser *p, struct sql_statement *out)
{
    out->kind = STATEMENT_USE;
    parser_advance(p);
    return parser_name(p, &out->use);
}

/* Is the id of KILL a number, or a ? for one, alone?  An expression (7 + 1,
 * connection_id()) is read as a tree instead. */
static bool
at_id(struct parser *p)
{
    const struct token *next = parser_ahead(p);

    return (p->token.kind == TOKEN_INTEGER ||
            p->token.kind == TOKEN_PARAMETER) &&
           (next->kind == TOKEN_END || token_is_operator(next, ";"));
}

static int
parse_id(struct parser *p, uint32_t *out)
{
    uint64_t id;

    if (p->token.kind == TOKEN_INTEGER) {
        if (!parser_digits(p->token.text, &id))
            id = UINT64_MAX; /* an id that no session has */
        parser_advance(p);
    } else if (parser_number(p, &id, NULL) != 0) {
        return -1;
    }
    *out = id > UINT32_MAX ? UINT32_MAX : (uint32_t)id;
    return 0;
}

static int
parse_kill(struct parser *p, struct sql_statement *out)
{
    out->kind = STATEMENT_KILL;
    parser_advance(p);
    out->kill.query_only = parser_accept(p, "QUERY");
    if (!out->kill.query_only)
        parser_accept(p, "CONNECTION");
    return at_id(p)
               ? parse_id(p, &out->kill.id)
               : tree_parse(p, TREE_EXPRESSIONS, true, &out->kill.expression);
}

/* ---- transactions: of the session alone, as no statement changes data ---- */

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
            out->kind = STATEMENT_BEGIN; /* CHAIN begins the next transaction
                                          * at once */
    }
    if (parser_accept(p, "NO"))
        return parser_expect(p, "RELEASE");
    if (!token_is(&p->token, "RELEASE"))
        return 0;
    return parser_refuse(p, "RELEASE at the end of a transaction",
                         "close the connection");
}

/* WITH CONSISTENT SNAPSHOT | READ ONLY | READ WRITE [, ...] */
static int
parse_start(struct parser *p, struct sql_statement *out)
{
    if (token_is_any(&p->token, "GROUP_REPLICATION REPLICA SLAVE"))
        return parse_change(p, out);
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

static int
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

static int
parse_savepoint(struct parser *p, struct sql_statement *out)
{
    struct span name;

    out->kind = STATEMENT_NOTHING;
    parser_accept(p, "RELEASE");
    if (parser_expect(p, "SAVEPOINT") != 0)
        return -1;
    return parser_name(p, &name);
}

/* ---- all ---- */

static const struct {
    const char *word;
    int (*parse)(struct parser *p, struct sql_statement *out);
} statements[] = {
    {"ADMIN", parse_admin},
    {"SELECT", parse_select},
    {"WITH", parse_select},
    {"TABLE", parse_select},
    {"VALUES", parse_select},
    {"SHOW", parse_show},
    {"DESC", parse_describe},
    {"DESCRIBE", parse_describe},
    {"EXPLAIN", parse_describe},
    {"SET", parse_set},
    {"USE", parse_use},
    {"KILL", parse_kill},
    {"DO", parse_do},
    {"BEGIN", parse_transaction},
    {"START", parse_transaction},
    {"COMMIT", parse_transaction},
    {"ROLLBACK", parse_transaction},
    {"SAVEPOINT", parse_savepoint},
    {"RELEASE", parse_savepoint},
};

static int
parse_any(struct parser *p, struct sql_statement *out)
{
    for (size_t i = 0; i < sizeof(statements) / sizeof(statements[0]); i++)
        if (token_is(&p->token, statements[i].word))
            return statements[i].parse(p, out);
    if (token_is_operator(&p->token, "(")) /* (SELECT 1) UNION (SELECT 2) */
        return parse_select(p, out);
    return parse_other(p, out);
}

static int
fail_another(struct parser *p)
{
    struct error syntax;

    parser_fail(p);
    syntax = *p->err;
    error_set(p->err, ER_PARSE, "%s: one statement at a time", syntax.text);
    return -1;
}

int
statement_parse(struct span text, const struct parsing *how,
                struct sql_statement *out, struct error *err)
{
    struct parser p = {.lexer = lexer_of(text),
                       .source = text,
                       .how = how,
                       .arena = how->arena,
                       .any = parse_any,
                       .err = err};
    bool another;

    memset(out, 0, sizeof(*out));
    out->source = text;
    /* parser_advance() takes the end of this empty token as consumed. */
    p.token.text.data = text.data;
    parser_advance(&p);
    /* Some clients send ";SELECT 1". */
    parser_accept_operator(&p, ";");
    if (p.token.kind == TOKEN_END) {
        error_set(err, ER_EMPTY_QUERY, "Query was empty");
        return -1;
    }
    if (parse_any(&p, out) != 0)
        return -1;
    /* Several statements in one text are refused: one text is one cursor. */
    another = parser_accept_operator(&p, ";") && p.token.kind != TOKEN_END;
    if (p.token.kind != TOKEN_END)
        return another ? fail_another(&p) : parser_fail(&p);
    out->parameters = p.parameters;
    return parser_count_parameters(&p);
}
