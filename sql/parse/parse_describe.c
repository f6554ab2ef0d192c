/* parse_describe.c - DESCRIBE table, which is SHOW COLUMNS; EXPLAIN SELECT. */
#include "parse.h"

#include "errors.h"

enum { SHOWN = 64 }; /* bytes of a name in an error */

static int
refuse(struct parser *p, const char *what)
{
    error_set(p->err, ER_NOT_SUPPORTED,
              "This version of heapwire doesn't yet support '%s'", what);
    return -1;
}

/* table [column | 'pattern'] */
static int
parse_table(struct parser *p, struct sql_statement *out)
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
              format.size < SHOWN ? (int)format.size : SHOWN, format.data);
    return -1;
}

static bool
at_format(const struct parser *p)
{
    struct lexer ahead = p->lexer;
    struct token next = lexer_next(&ahead);

    return token_is(&p->token, "FORMAT") && token_is_operator(&next, "=");
}

int
parse_describe(struct parser *p, struct sql_statement *out)
{
    enum explain_format format = EXPLAIN_TABLE;

    parser_advance(p);
    if (token_is(&p->token, "ANALYZE"))
        return refuse(p, "EXPLAIN ANALYZE");
    if (token_is(&p->token, "FOR"))
        return refuse(p, "EXPLAIN FOR CONNECTION");
    if (token_is_any(&p->token, "INSERT UPDATE DELETE REPLACE"))
        return parse_change(p, out);
    if (at_format(p) && parse_format(p, &format) != 0)
        return -1;
    if (!parser_accept(p, "EXTENDED"))
        parser_accept(p, "PARTITIONS");
    if (!token_is_any(&p->token, "SELECT WITH") &&
        !token_is_operator(&p->token, "("))
        return parse_table(p, out);
    out->kind = STATEMENT_EXPLAIN;
    out->format = format;
    return tree_parse(p, TREE_QUERY, false, &out->select);
}
