/* tree_parse.c - see tree_parse.h. */
#include "tree_parse.h"

#include "tree_parser.h"

static const struct tree_grammar grammar = {tree_operators, tree_query_read};

static int
parse_query(struct parser *p, struct tree *tree)
{
    tree->query = tree_query_read(p, NULL);
    return tree->query ? 0 : -1;
}

/* Names begin to be read otherwise, or end to be, from the token on. */
static void
enter(struct parser *p, struct tree *tree)
{
    p->tree = tree;
    p->looked = false;
    if (tree && parser_quotes(p, &p->token))
        p->token.kind = TOKEN_QUOTED;
}

int
tree_parse(struct parser *p, enum tree_form form, bool one,
           const struct tree **out)
{
    struct tree *tree = parser_alloc(p, sizeof(*tree));
    int rc;

    if (!tree)
        return -1;
    tree->form = form;
    tree->first = p->parameters;
    p->grammar = &grammar;
    p->tables = &tree->tables;
    p->start = p->token.text.data;
    enter(p, tree);
    rc = form == TREE_QUERY ? parse_query(p, tree)
                            : tree_items(p, one, &tree->items);
    enter(p, NULL);
    if (rc != 0 || tree_check_size(p) != 0)
        return -1;
    tree->parameters = p->parameters - tree->first;
    *out = tree;
    return 0;
}
