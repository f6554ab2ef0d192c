/*
 * tree_parse.c - parses a whole SELECT (or TABLE, or VALUES), and what is
 * around it: WITH, UNION, ORDER BY, LIMIT, INTO, locks; the entry is
 * tree_parse() of select_tree.h.
 *
 * MySQL's grammar lets a query begin with any number of parentheses, and ORDER
 * BY and LIMIT follow each level. read_query() reads one level: arms, then
 * what follows them.  INTERSECT binds closer than UNION and EXCEPT, so its
 * arms become one query of their own.  What the parser notes on its way
 * (tables, aggregates, whether values may be NULL) spares later readers a walk
 * of the tree.
 */
#include "errors.h"
#include "select_tree.h"
#include "tree_parser.h"

/* ---- items ---- */

static struct node *
make_star_node(struct parser *p, struct tree_qualifier *of, const char *start)
{
    struct node *node = tree_node(p, NODE_STAR, start);

    if (!node)
        return NULL;
    node->of = of;
    parser_advance(p);
    return tree_end(p, node);
}

/* Does [database.]table.* begin here?  It looks up to five tokens ahead with a
 * copy of the lexer, since a name and a dot may also begin a column. */
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
    return make_star_node(p, of, start);
}

/* Clients find columns by label: an expression without an alias has its text as
 * typed, a column its own name, a string its value. */
static struct span
select_item_label(const struct parser *p, const struct node *value,
                  const char *start)
{
    if (value->kind == NODE_COLUMN || value->kind == NODE_STRING)
        return value->name;
    return (struct span){start, (size_t)(p->consumed - start)};
}

static int
read_item(struct parser *p, struct tree_item *item, bool first)
{
    bool lists = p->select != NULL; /* else it is DO's or SET's expression */
    const char *start = p->token.text.data;

    if (first && lists && token_is_operator(&p->token, "*"))
        item->value = make_star_node(p, NULL, start);
    else if (lists && at_qualified_star(p))
        item->value = qualified_star(p);
    else
        item->value = tree_operators(p, BINDS_ALL);
    if (!item->value)
        return -1;
    if (item->value->kind == NODE_STAR)
        return 0;
    item->label = select_item_label(p, item->value, start);
    return lists ? tree_alias(p, true, &item->label, &item->has_alias) : 0;
}

/* one: an item alone, which no comma follows. */
static int
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
read_select_options(struct parser *p, struct tree_select *select)
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
    return parser_refuse(p, "WITH ROLLUP", "add the totals with UNION ALL");
}

/* Reads INTO's @a, @b, behind INTO; files and routines' variables are
 * refused. */
static int
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
            return tree_is_name(&p->token)
                       ? parser_refuse(p, "INTO a variable of a routine",
                                       "write it with @")
                       : parser_fail(p);
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
    /* An aggregate in HAVING alone groups all rows, too, but SQLite wants
     * GROUP BY for it. */
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
    read_select_options(p, select);
    if (tree_items(p, false, &select->items) != 0)
        return -1;
    for (const struct tree_item *i = select->items; i; i = i->next)
        select->columns++;
    return read_clauses(p, select);
}

/* Reads TABLE t, which is SELECT * FROM t. */
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
read_values_rows(struct parser *p, struct tree_select *select)
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

/* Reads one SELECT, TABLE or VALUES, without ORDER BY, LIMIT and INTO, which
 * belong to the whole UNION. */
static struct tree_select *
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
        rc = read_values_rows(p, select);
    else
        rc = parser_fail(p);
    select->text.size = (size_t)(p->consumed - select->text.data);
    return rc == 0 ? select : NULL;
}

/* Behind "(" or at the start of the statement; for first see tree_grammar. */
static struct tree_query *read_query(struct parser *p,
                                     struct tree_query *first);

/* ---- WITH ---- */

/* name [(columns)] AS (SELECT ...) */
static int
read_cte(struct parser *p, struct tree_cte *cte, bool recursive)
{
    if (!tree_is_name(&p->token))
        return parser_fail(p);
    if (p->cte_count == TREE_CTES_MAX)
        return parser_fail_many(p, "queries", TREE_CTES_MAX, "WITH");
    p->cte_count++;
    if (parser_decode(p, &cte->name) != 0 ||
        (token_is_operator(&p->token, "(") &&
         tree_names(p, &cte->columns) != 0) ||
        parser_expect(p, "AS") != 0 || tree_open(p) != 0)
        return -1;
    cte->outer = p->ctes;
    /* WITH RECURSIVE knows itself; without it the name means an outer CTE or a
     * table, and is known only behind its query. */
    if (recursive)
        p->ctes = cte;
    cte->query = read_query(p, NULL);
    if (!cte->query)
        return -1;
    p->ctes = cte;
    return tree_close(p);
}

static int
read_with_clause(struct parser *p, struct tree_query *query)
{
    struct tree_cte **tail = &query->ctes;

    p->tree->has_with = true;
    query->recursive = parser_accept(p, "RECURSIVE");
    do {
        struct tree_cte *cte = parser_alloc(p, sizeof(*cte));

        if (!cte || read_cte(p, cte, query->recursive) != 0)
            return -1;
        *tail = cte;
        tail = &cte->next;
    } while (parser_accept_operator(p, ","));
    return 0;
}

/* ---- UNION ---- */

/* Reads an arm: a SELECT, or a query in parentheses. */
static struct tree_arm *
read_primary(struct parser *p)
{
    struct tree_arm *arm = parser_alloc(p, sizeof(*arm));

    if (!arm)
        return NULL;
    if (!token_is_operator(&p->token, "(")) {
        arm->select = tree_select_read(p);
        return arm->select ? arm : NULL;
    }
    if (tree_open(p) != 0)
        return NULL;
    arm->query = read_query(p, NULL);
    return arm->query && tree_close(p) == 0 ? arm : NULL;
}

static enum tree_set
accept_set(struct parser *p, bool intersect)
{
    static const struct {
        const char *word;
        enum tree_set set;
    } sets[] = {{"UNION", SET_UNION},
                {"EXCEPT", SET_EXCEPT},
                {"INTERSECT", SET_INTERSECT}};

    for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++)
        if ((sets[i].set == SET_INTERSECT) == intersect &&
            parser_accept(p, sets[i].word)) {
            bool all = parser_accept(p, "ALL");

            if (!all)
                parser_accept(p, "DISTINCT");
            /* The other arm may have a NULL in a column that the first
             * declares NOT NULL. */
            p->tree->may_null = true;
            return sets[i].set + (all ? 1 : 0);
        }
    return SET_FIRST;
}

/* Reads the arms behind the first one: those of INTERSECT, or those of the
 * others. */
static int read_arms(struct parser *p, struct tree_arm *first, bool intersect);

/* INTERSECT binds closer than UNION: it makes one arm. */
static struct tree_arm *
read_term(struct parser *p, struct tree_arm *arm)
{
    struct tree_arm *outer;

    if (!arm || !token_is(&p->token, "INTERSECT"))
        return arm;
    /* The arms of INTERSECT become a query of their own in one arm of the
     * UNION. */
    outer = parser_alloc(p, sizeof(*outer));
    if (!outer || read_arms(p, arm, true) != 0)
        return NULL;
    outer->query = parser_alloc(p, sizeof(*outer->query));
    if (!outer->query)
        return NULL;
    outer->query->arms = arm;
    return outer;
}

static int
read_arms(struct parser *p, struct tree_arm *first, bool intersect)
{
    struct tree_arm *last = first;
    enum tree_set set;

    while ((set = accept_set(p, intersect)) != SET_FIRST) {
        struct tree_arm *arm = read_primary(p);

        if (!intersect)
            arm = read_term(p, arm);
        if (!arm)
            return -1;
        arm->set = set;
        last->next = arm;
        last = arm;
    }
    return 0;
}

/* ---- what follows ---- */

static int
refuse_counts(struct parser *p)
{
    return parser_refuse(p, "SQL_CALC_FOUND_ROWS with LIMIT",
                         "count the rows with SELECT COUNT(*)");
}

static struct node *
read_limit_operand(struct parser *p)
{
    if (p->token.kind != TOKEN_INTEGER && p->token.kind != TOKEN_PARAMETER)
        return tree_fail(p);
    return tree_operand(p);
}

/* LIMIT n, LIMIT m, n, LIMIT n OFFSET m: numbers, no expressions. */
static int
read_limit_clause(struct parser *p, struct tree_query *query)
{
    /* SQL_CALC_FOUND_ROWS wants the number of rows without LIMIT, which SQLite
     * does not give. */
    for (const struct tree_arm *arm = query->arms; arm; arm = arm->next)
        if ((arm->select && arm->select->counts) ||
            (p->tree->counts && p->nesting == 0))
            return refuse_counts(p);
    query->limit = read_limit_operand(p);
    if (!query->limit)
        return -1;
    if (parser_accept_operator(p, ",")) {
        query->offset = query->limit;
        query->limit = read_limit_operand(p);
        return query->limit ? 0 : -1;
    }
    if (!parser_accept(p, "OFFSET"))
        return 0;
    query->offset = read_limit_operand(p);
    return query->offset ? 0 : -1;
}

/* OF t, u */
static int
skip_tables(struct parser *p)
{
    do {
        if (!tree_is_name(&p->token))
            return parser_fail(p);
        parser_advance(p);
    } while (parser_accept_operator(p, ".") || parser_accept_operator(p, ","));
    return 0;
}

/* Skips FOR UPDATE [OF t] [NOWAIT | SKIP LOCKED | WAIT n], FOR SHARE and LOCK
 * IN SHARE MODE: no statement changes data, so there is nothing to lock. */
static int
skip_lock(struct parser *p)
{
    if (parser_accept(p, "LOCK"))
        return parser_expect(p, "IN") != 0 || parser_expect(p, "SHARE") != 0
                   ? -1
                   : parser_expect(p, "MODE");
    parser_advance(p);
    if (!parser_accept(p, "UPDATE") && parser_expect(p, "SHARE") != 0)
        return -1;
    if (parser_accept(p, "OF") && skip_tables(p) != 0)
        return -1;
    if (parser_accept(p, "SKIP"))
        return parser_expect(p, "LOCKED");
    if (parser_accept(p, "WAIT")) {
        if (p->token.kind != TOKEN_INTEGER)
            return parser_fail(p);
        parser_advance(p);
        return 0;
    }
    parser_accept(p, "NOWAIT");
    return 0;
}

static int
read_tail(struct parser *p, struct tree_query *query)
{
    if (tree_order_by(p, &query->order) != 0)
        return -1;
    if (parser_accept(p, "LIMIT") && read_limit_clause(p, query) != 0)
        return -1;
    while (token_is_any(&p->token, "INTO FOR LOCK"))
        if (parser_accept(p, "INTO") ? tree_into(p) : skip_lock(p))
            return -1;
    return 0;
}

static struct tree_query *
read_query(struct parser *p, struct tree_query *first)
{
    struct tree_query *query = parser_alloc(p, sizeof(*query));
    struct tree_arm *arm;
    struct tree_select *select = p->select;
    struct tree_cte *ctes = p->ctes;
    size_t count = p->cte_count;

    if (!query)
        return NULL;
    query->text.data = first ? first->text.data : p->token.text.data;
    if (!first && parser_accept(p, "WITH") &&
        (read_with_clause(p, query) != 0 ||
         (token_is_any(&p->token, "DELETE UPDATE") &&
          parser_refuse_change(p) != 0)))
        return NULL;
    arm = first ? parser_alloc(p, sizeof(*arm)) : read_primary(p);
    if (arm && first)
        arm->query = first;
    query->arms = read_term(p, arm);
    if (!query->arms || read_arms(p, query->arms, false) != 0 ||
        read_tail(p, query) != 0)
        return NULL;
    /* An inner query ends: what it knew is forgotten. */
    p->select = select;
    p->ctes = ctes;
    p->cte_count = count;
    query->text.size = (size_t)(p->consumed - query->text.data);
    return query;
}

/* ---- all ---- */

static const struct tree_grammar grammar = {tree_operators, read_query};

/* Sets whether "a" may be a name (ANSI_QUOTES).  The token behind the next one
 * was perhaps read the other way, so it is read again. */
static void
set_parser_tree(struct parser *p, struct tree *tree)
{
    p->tree = tree;
    p->has_ahead = false;
    if (tree && parser_quotes(p, &p->token))
        p->token.kind = TOKEN_QUOTED;
}

int
tree_parse(struct parser *p, enum tree_form form, bool one,
           const struct tree **out)
{
    struct tree *tree = parser_alloc(p, sizeof(*tree));
    bool done;

    if (!tree)
        return -1;
    tree->form = form;
    tree->first = p->parameters;
    p->grammar = &grammar;
    p->tables = &tree->tables;
    p->start = p->token.text.data;
    set_parser_tree(p, tree);
    if (form == TREE_QUERY)
        tree->query = read_query(p, NULL);
    done = form == TREE_QUERY ? tree->query != NULL
                              : tree_items(p, one, &tree->items) == 0;
    set_parser_tree(p, NULL);
    if (!done || tree_check_size(p) != 0)
        return -1;
    tree->parameters = p->parameters - tree->first;
    *out = tree;
    return 0;
}
