/* parse_describe.c - DESCRIBE table, which is SHOW COLUMNS; EXPLAIN SELECT. */
#include "parser.h"

#include "errors.h"

static int
refuse(struct parser *p, const char *what)
{
    error_set(p->err, ER_NOT_SUPPORTED,
              "This version of heapwire doesn't yet support '%s'", what);
    return -1;
}

/* table [column | 'pattern'] */
static int
parse_table(struct parser *p, struct statement *out)
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

/* FORMAT = TRADITIONAL is the one there is. */
static int
parse_format(struct parser *p)
{
    struct span format;

    parser_advance(p);
    if (!parser_accept_operator(p, "="))
        return parser_fail(p);
    if (parser_name_or_string(p, &format) != 0)
        return -1;
    return span_is_nocase(format, "TRADITIONAL")
               ? 0
               : refuse(p, "EXPLAIN in another format than TRADITIONAL");
}

static bool
at_format(const struct parser *p)
{
    struct lexer ahead = p->lexer;
    struct token next = lexer_next(&ahead);

    return token_is(&p->token, "FORMAT") && token_is_operator(&next, "=");
}

int
parse_describe(struct parser *p, struct statement *out)
{
    static const char *const changes[] = {"INSERT", "UPDATE", "DELETE",
                                          "REPLACE"};

    parser_advance(p);
    if (token_is(&p->token, "ANALYZE"))
        return refuse(p, "EXPLAIN ANALYZE");
    if (token_is(&p->token, "FOR"))
        return refuse(p, "EXPLAIN FOR CONNECTION");
    for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++)
        if (token_is(&p->token, changes[i]))
            return parse_change(p, out);
    if (at_format(p) && parse_format(p) != 0)
        return -1;
    if (!parser_accept(p, "EXTENDED"))
        parser_accept(p, "PARTITIONS");
    if (!token_is(&p->token, "SELECT") && !token_is(&p->token, "WITH") &&
        !token_is_operator(&p->token, "("))
        return parse_table(p, out);
    out->kind = STATEMENT_EXPLAIN;
    return parser_fragment(p, false, &out->select);
}
