/*
 * tree_from.c - parses FROM: tables, queries, joins and index hints; also the
 * windows of OVER and WINDOW.
 *
 * FROM's parentheses are ambiguous: "((SELECT 1) x)" is a join of one table,
 * "((SELECT 1)) x" a query with an alias, and which one it is shows only
 * behind the inner ")".  A query without an alias is therefore handed outwards
 * (only) until a parenthesis has one.  Tables are not looked up here; they are
 * put on a list (tree->tables), so that the reader of tables need not walk the
 * tree.
 */
#include "errors.h"
#include "tree_parser.h"

static int
read_bound(struct parser *p, const char **bound, struct node **distance)
{
    bool unbounded = parser_accept(p, "UNBOUNDED");

    if (!unbounded && parser_accept(p, "CURRENT")) {
        *bound = "CURRENT ROW";
        return parser_expect(p, "ROW");
    }
    if (token_is(&p->token, "INTERVAL"))
        return parser_refuse(p, "INTERVAL of a frame",
                             "order by UNIX_TIMESTAMP(), and give seconds");
    if (!unbounded) {
        *distance = p->grammar->operators(p, BINDS_BIT_OR);
        if (!*distance)
            return -1;
    }
    *bound = unbounded ? "UNBOUNDED PRECEDING" : "PRECEDING";
    if (parser_accept(p, "PRECEDING"))
        return 0;
    *bound = unbounded ? "UNBOUNDED FOLLOWING" : "FOLLOWING";
    return parser_expect(p, "FOLLOWING");
}

/* ROWS BETWEEN 1 PRECEDING AND CURRENT ROW */
static int
read_frame(struct parser *p, struct tree_window *window)
{
    if (parser_accept(p, "ROWS"))
        window->frame = "ROWS";
    else if (parser_accept(p, "RANGE"))
        window->frame = "RANGE";
    else
        return 0;
    if (!parser_accept(p, "BETWEEN"))
        return read_bound(p, &window->bounds[0], &window->distance[0]);
    if (read_bound(p, &window->bounds[0], &window->distance[0]) != 0 ||
        parser_expect(p, "AND") != 0)
        return -1;
    return read_bound(p, &window->bounds[1], &window->distance[1]);
}

/* ([base] [PARTITION BY a, b] [ORDER BY c] [frame]) */
static int
read_specification(struct parser *p, struct tree_window *window)
{
    struct node list = {0};

    if (tree_open(p) != 0)
        return -1;
    if (tree_is_name(&p->token) && !token_is_any(&p->token, "ROWS RANGE") &&
        parser_decode(p, &window->base) != 0)
        return -1;
    if (parser_accept(p, "PARTITION") &&
        (parser_expect(p, "BY") != 0 || tree_list(p, &list) != 0))
        return -1;
    window->partition = list.first;
    if (tree_order_by(p, &window->order) != 0 || read_frame(p, window) != 0)
        return -1;
    if (token_is(&p->token, "EXCLUDE"))
        return parser_refuse(p, "EXCLUDE of a frame", "use a narrower frame");
    return tree_close(p);
}

struct tree_window *
tree_over(struct parser *p)
{
    struct tree_window *window = parser_alloc(p, sizeof(*window));

    if (!window)
        return NULL;
    window->refers = tree_may_name(&p->token);
    if (window->refers)
        return parser_decode(p, &window->name) == 0 ? window : NULL;
    return read_specification(p, window) == 0 ? window : NULL;
}

/* WINDOW name AS (...), ...; behind WINDOW. */
int
tree_windows(struct parser *p, struct tree_window **out)
{
    do {
        struct tree_window *window = parser_alloc(p, sizeof(*window));

        if (!window || parser_name(p, &window->name) != 0 ||
            parser_expect(p, "AS") != 0 || read_specification(p, window) != 0)
            return -1;
        *out = window;
        out = &window->next;
    } while (parser_accept_operator(p, ","));
    return 0;
}

/* Finds the CTE of that name; an inner WITH hides an outer one. */
static const struct tree_cte *
find_cte(const struct parser *p, struct span name)
{
    const struct tree_cte *cte = p->ctes;

    while (cte && !span_same_nocase(cte->name, name))
        cte = cte->outer;
    return cte;
}

struct tree_table *
tree_table_named(struct parser *p)
{
    struct tree_table *table = parser_alloc(p, sizeof(*table));

    if (!table)
        return NULL;
    table->text.data = p->token.text.data;
    if (!tree_is_name(&p->token))
        return tree_fail(p);
    if (parser_decode(p, &table->name) != 0)
        return NULL;
    table->has_database = parser_accept_operator(p, ".");
    if (table->has_database) {
        table->database = table->name;
        if (parser_name(p, &table->name) != 0)
            return NULL;
    } else {
        /* A name without a database is a CTE if there is one, else a table. */
        table->cte = find_cte(p, table->name);
    }
    table->text.size = (size_t)(p->consumed - table->text.data);
    p->tree->table_count++;
    /* A CTE is no table of the catalog, so it is not looked up. */
    if (table->cte) {
        p->select->reads_query = true;
        return table;
    }
    *p->tables = table;
    p->tables = &table->named;
    return table;
}

/* Skips USE INDEX [FOR JOIN] (a, b) and the like: what SQLite uses is chosen
 * elsewhere, and a client that gives hints does not depend on them. */
static int
skip_hints(struct parser *p)
{
    while (parser_accept_any(p, "USE FORCE IGNORE")) {
        if (!parser_accept(p, "INDEX") && parser_expect(p, "KEY") != 0)
            return -1;
        if (parser_accept(p, "FOR") && !parser_accept(p, "JOIN") &&
            !(parser_accept_any(p, "ORDER GROUP") && parser_accept(p, "BY")))
            return parser_fail(p);
        if (tree_open(p) != 0)
            return -1;
        while (tree_may_name(&p->token)) {
            parser_advance(p);
            if (!parser_accept_operator(p, ","))
                break;
        }
        if (tree_close(p) != 0)
            return -1;
    }
    return 0;
}

static struct tree_table *
read_named_table(struct parser *p)
{
    struct tree_table *table = tree_table_named(p);
    bool found;

    if (!table || tree_alias(p, false, &table->alias, &found) != 0 ||
        skip_hints(p) != 0)
        return NULL;
    return table;
}

/* Reads the alias that a query in FROM must have, and perhaps names for its
 * columns. */
static struct tree_table *
finish_derived(struct parser *p, struct tree_table *table)
{
    bool found;

    if (tree_alias(p, false, &table->alias, &found) != 0)
        return NULL;
    if (!found) {
        error_set(p->err, ER_DERIVED_ALIAS,
                  "Every derived table must have its own alias");
        return NULL;
    }
    if (token_is_operator(&p->token, "(") &&
        tree_names(p, &table->columns) != 0)
        return NULL;
    return table;
}

static struct tree_table *read_joins(struct parser *p,
                                     struct tree_query **only);

/*
 * (SELECT ...) alias, or joins in parentheses.  *only, unless NULL, takes a
 * query that has no alias: perhaps the parentheses around have it, or a UNION
 * follows.
 */
static struct tree_table *
read_parenthesised_table(struct parser *p, struct tree_query **only)
{
    struct tree_table *table = parser_alloc(p, sizeof(*table));

    if (!table || tree_open(p) != 0)
        return NULL;
    table->text.data = p->token.text.data;
    if (tree_at_query(&p->token))
        table->query = p->grammar->query(p, NULL);
    else
        table->inner = read_joins(p, &table->query);
    if ((!table->query && !table->inner) || tree_close(p) != 0)
        return NULL;
    p->tree->table_count++;
    if (!table->query)
        return table;
    table->inner = NULL;
    p->select->reads_query = true;
    if (only && (token_is_operator(&p->token, ")") || tree_at_set(&p->token))) {
        *only = table->query;
        return table;
    }
    return finish_derived(p, table);
}

static struct tree_table *
read_table_factor(struct parser *p, struct tree_query **only)
{
    if (token_is_any(&p->token, "LATERAL JSON_TABLE")) {
        parser_refuse(p,
                      token_is(&p->token, "LATERAL") ? "LATERAL" : "JSON_TABLE",
                      "a table in FROM cannot depend on another one");
        return NULL;
    }
    if (token_is_operator(&p->token, "("))
        return read_parenthesised_table(p, only);
    return read_named_table(p);
}

/* Reads the join that begins here, up to its table; *found: there is one. */
static int
read_join(struct parser *p, struct tree_table *join, bool *found)
{
    *found = true;
    if (parser_accept_operator(p, ",")) {
        join->join = JOIN_COMMA;
        return 0;
    }
    join->join = JOIN_INNER;
    if (parser_accept_any(p, "STRAIGHT_JOIN JOIN"))
        return 0;
    join->natural = parser_accept(p, "NATURAL");
    if (token_is_any(&p->token, "LEFT RIGHT")) {
        join->join = token_is(&p->token, "LEFT") ? JOIN_LEFT : JOIN_RIGHT;
        /* An outer join fills with NULLs what its table declares NOT NULL. */
        p->tree->may_null = true;
        parser_advance(p);
        parser_accept(p, "OUTER");
    } else if (!parser_accept(p, "INNER") &&
               !(parser_accept(p, "CROSS") && !join->natural) &&
               !join->natural) {
        *found = false;
        return 0;
    }
    return parser_expect(p, "JOIN");
}

/* ON or USING, which an outer join must have. */
static int
read_condition(struct parser *p, struct tree_table *table)
{
    if (table->join == JOIN_COMMA || table->natural)
        return 0;
    if (parser_accept(p, "ON"))
        return tree_value(p, &table->on);
    if (parser_accept(p, "USING"))
        return tree_names(p, &table->using);
    return table->join == JOIN_INNER ? 0 : parser_fail(p);
}

static struct tree_table *
read_joins(struct parser *p, struct tree_query **only)
{
    struct tree_table *first = read_table_factor(p, only), *last = first;
    struct tree_table join = {0};
    bool found;

    if (!first)
        return NULL;
    /* The parentheses held one query without an alias: a UNION may follow, or
     * the outer parentheses name it. */
    if (only && *only) {
        if (tree_at_set(&p->token))
            *only = p->grammar->query(p, *only);
        return *only ? first : NULL;
    }
    for (;;) {
        if (read_join(p, &join, &found) != 0)
            return NULL;
        if (!found)
            return first;
        last->next = read_table_factor(p, NULL);
        if (!last->next)
            return NULL;
        last = last->next;
        last->join = join.join;
        last->natural = join.natural;
        if (read_condition(p, last) != 0)
            return NULL;
    }
}

int
tree_from(struct parser *p, struct tree_select *select)
{
    if (parser_accept(p, "DUAL"))
        return 0;
    select->from = read_joins(p, NULL);
    return select->from ? 0 : -1;
}
