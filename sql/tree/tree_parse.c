/* tree_parse.c - see tree_parse.h. */
#include "tree_parse.h"

#include "tree_parser.h"
#include "variables.h"

static const struct tree_grammar grammar = {tree_operators, tree_query_read};

static int
parse_query(struct parser *p, struct tree *tree)
{
    tree->query = tree_query_read(p, NULL);
    return tree->query ? 0 : -1;
}

/* Changes how "a" and || are read, from the token on. */
static void
set_mode(struct parser *p, bool on)
{
    const struct sql_session *session = p->how->session;

    p->ansi_quotes = on && session && variable_sql_mode(session, "ANSI_QUOTES");
    p->pipes_concat =
        on && session && variable_sql_mode(session, "PIPES_AS_CONCAT");
    p->looked = false;
    if (p->ansi_quotes && p->token.kind == TOKEN_STRING &&
        p->token.text.data[0] == '"')
        p->token.kind = TOKEN_QUOTED;
}

int
tree_parse(struct parser *p, enum tree_form form, bool one, struct tree **out)
{
    struct tree *tree = parser_alloc(p, sizeof(*tree));
    int rc;

    p->select = parser_alloc(p, sizeof(*p->select)); /* around all others */
    if (!tree || !p->select)
        return -1;
    tree->form = form;
    tree->first = p->parameters;
    p->tree = tree;
    p->grammar = &grammar;
    p->tables = &tree->tables;
    p->start = p->token.text.data;
    set_mode(p, true);
    rc = form == TREE_QUERY ? parse_query(p, tree)
                            : tree_items(p, p->select, one, &tree->items);
    set_mode(p, false);
    if (rc != 0 || tree_check_size(p) != 0)
        return -1;
    tree->parameters = p->parameters - tree->first;
    *out = tree;
    return 0;
}
