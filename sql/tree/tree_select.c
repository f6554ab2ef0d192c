/* tree_select.c - one SELECT, TABLE or VALUES, and its labels. */
#include "errors.h"
#include "tree_parser.h"

/* ---- items ---- */

static struct node *
star(struct parser *p, struct tree_qualifier *of, const char *start)
{
    struct node *node = tree_node(p, NODE_STAR, start);

    if (!node)
        return NULL;
    node->of = of;
    parser_advance(p);
    return tree_end(p, node);
}

/* Whether [database.]table.* is here. */
static bool
at_qualified_star(struct parser *p)
{
    struct token token = p->token;
    struct lexer lexer;

    if (!tree_is_name(&token) || !token_is_operator(parser_ahead(p), "."))
        return false;
    lexer = p->behind;
    for (int dots = 0; dots < 2; dots++) {
        token = parser_next(p, &lexer);
        if (token_is_operator(&token, "*"))
            return true;
        if (!tree_may_name(&token))
            return false;
        token = parser_next(p, &lexer);
        if (!token_is_operator(&token, "."))
            return false;
    }
    return false;
}

static struct node *
qualified_star(struct parser *p)
{
    struct tree_qualifier *of = parser_alloc(p, sizeof(*of));
    const char *start = p->token.text.data;

    if (!of || parser_name(p, &of->table) != 0)
        return NULL;
    parser_advance(p);
    if (!token_is_operator(&p->token, "*")) {
        of->has_database = true;
        of->database = of->table;
        if (parser_name(p, &of->table) != 0)
            return NULL;
        parser_advance(p);
    }
    return star(p, of, start);
}

/* Clients find columns by label: an expression without an alias has its text as
 * typed, a column its own name, a string its value. */
static struct span
label_of(const struct parser *p, const struct node *value, const char *start)
{
    if (value->kind == NODE_COLUMN || value->kind == NODE_STRING)
        return value->name;
    return (struct span){start, (size_t)(p->consumed - start)};
}

static int
read_item(struct parser *p, struct tree_item *item, bool first)
{
    bool lists = p->select != NULL; /* else it is no SELECT's list */
    const char *start = p->token.text.data;

    if (first && lists && token_is_operator(&p->token, "*"))
        item->value = star(p, NULL, start);
    else if (lists && at_qualified_star(p))
        item->value = qualified_star(p);
    else
        item->value = tree_operators(p, BINDS_ALL);
    if (!item->value)
        return -1;
    if (item->value->kind == NODE_STAR)
        return 0;
    item->label = label_of(p, item->value, start);
    return lists ? tree_alias(p, true, &item->label, &item->has_alias) : 0;
}

int
tree_items(struct parser *p, bool one, struct tree_item **out)
{
    struct tree_item **first = out;

    do {
        struct tree_item *item = parser_alloc(p, sizeof(*item));

        if (!item || read_item(p, item, out == first) != 0)
            return -1;
        *out = item;
        out = &item->next;
    } while (!one && parser_accept_operator(p, ","));
    return 0;
}

/* ---- the clauses ---- */

static void
read_options(struct parser *p, struct tree_select *select)
{
    for (;;)
        if (parser_accept_any(p, "DISTINCT DISTINCTROW"))
            select->distinct = true;
        else if (parser_accept(p, "SQL_CALC_FOUND_ROWS"))
            select->counts = p->tree->counts = true;
        else if (!parser_accept_any(p, "ALL HIGH_PRIORITY STRAIGHT_JOIN "
                                       "SQL_NO_CACHE SQL_BIG_RESULT "
                                       "SQL_SMALL_RESULT SQL_BUFFER_RESULT"))
            return;
}

static int
read_group(struct parser *p, struct tree_select *select)
{
    struct node **tail = &select->group;

    if (parser_expect(p, "BY") != 0)
        return -1;
    do {
        if (tree_value(p, tail) != 0)
            return -1;
        tail = &(*tail)->next;
        if (!parser_accept(p, "ASC"))
            parser_accept(p, "DESC");
    } while (parser_accept_operator(p, ","));
    if (!token_is(&p->token, "WITH"))
        return 0;
    if (!token_is(parser_ahead(p), "ROLLUP"))
        return parser_fail(p);
    error_set(p->err, ER_NOT_SUPPORTED,
              "This version of heapwire doesn't yet support 'WITH ROLLUP'; "
              "add the totals with UNION ALL");
    return -1;
}

/* INTO @a, @b: the only destination that is supported. */
int
tree_into(struct parser *p)
{
    struct tree *tree = p->tree;

    if (token_is_any(&p->token, "OUTFILE DUMPFILE")) {
        error_set(p->err, ER_READ_ONLY,
                  "The heapwire server is running with the --read-only option "
                  "so it cannot write a file");
        return -1;
    }
    if (p->nesting > 0 || tree->into_count > 0 || tree->form != TREE_QUERY)
        return parser_fail(p);
    tree->into = parser_alloc(p, TREE_INTO_MAX * sizeof(*tree->into));
    if (!tree->into)
        return -1;
    do {
        if (p->token.kind != TOKEN_USER)
            return parser_fail(p);
        if (tree->into_count == TREE_INTO_MAX)
            return parser_fail_many(p, "variables", TREE_INTO_MAX, "INTO");
        if (parser_decode(p, &tree->into[tree->into_count++]) != 0)
            return -1;
    } while (parser_accept_operator(p, ","));
    return 0;
}

static int
read_clauses(struct parser *p, struct tree_select *select)
{
    if (parser_accept(p, "INTO") && tree_into(p) != 0)
        return -1;
    if (parser_accept(p, "FROM") && tree_from(p, select) != 0)
        return -1;
    if (parser_accept(p, "WHERE") && tree_value(p, &select->where) != 0)
        return -1;
    if (parser_accept(p, "GROUP") && read_group(p, select) != 0)
        return -1;
    select->lists_aggregates = select->aggregates;
    if (parser_accept(p, "HAVING")) {
        if (tree_value(p, &select->having) != 0)
            return -1;
        select->filters_rows = !select->group && !select->aggregates;
    }
    return parser_accept(p, "WINDOW") ? tree_windows(p, &select->windows) : 0;
}

static int
read_select(struct parser *p, struct tree_select *select)
{
    read_options(p, select);
    if (tree_items(p, false, &select->items) != 0)
        return -1;
    for (const struct tree_item *i = select->items; i; i = i->next)
        select->columns++;
    return read_clauses(p, select);
}

/* TABLE t is SELECT * FROM t. */
static int
read_table(struct parser *p, struct tree_select *select)
{
    const char *start = p->token.text.data;
    struct tree_item *item = parser_alloc(p, sizeof(*item));

    if (!item)
        return -1;
    item->value = tree_node(p, NODE_STAR, start);
    select->items = item;
    select->columns = 1;
    select->from = tree_table_named(p);
    return item->value && select->from ? 0 : -1;
}

/* VALUES ROW(1, 2), ROW(3, 4), or MariaDB's VALUES (1, 2), (3, 4) */
static int
read_values(struct parser *p, struct tree_select *select)
{
    struct node **tail = &select->rows;

    p->tree->has_rows = true;
    do {
        struct node *row = tree_start(p, NODE_ROW);

        if (!row)
            return -1;
        parser_accept(p, "ROW");
        if (tree_open(p) != 0 || tree_list(p, row) != 0 || tree_close(p) != 0)
            return -1;
        *tail = tree_end(p, row);
        tail = &row->next;
    } while (parser_accept_operator(p, ","));
    for (const struct node *n = select->rows->first; n; n = n->next)
        select->columns++;
    return 0;
}

struct tree_select *
tree_select_read(struct parser *p)
{
    struct tree_select *select = parser_alloc(p, sizeof(*select));
    int rc;

    if (!select)
        return NULL;
    select->text.data = p->token.text.data;
    p->select = select;
    p->tree->selects++;
    if (parser_accept(p, "SELECT"))
        rc = read_select(p, select);
    else if (parser_accept(p, "TABLE"))
        rc = read_table(p, select);
    else if (parser_accept(p, "VALUES"))
        rc = read_values(p, select);
    else
        rc = parser_fail(p);
    select->text.size = (size_t)(p->consumed - select->text.data);
    return rc == 0 ? select : NULL;
}
