/* test_select_tree.c - expressions and SELECTs to trees; what is no SELECT. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "buffer.h"
#include "errors.h"
#include "select_tree.h"
#include "sql_statement.h"
#include "suite.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static struct arena *arena;
static struct error err;
static const struct tree *tree;
static struct buffer out;

static void
set_up(void)
{
    arena = arena_new(24 << 20);
    buffer_init(&out, 1 << 20);
}

static void
tear_down(void)
{
    buffer_fini(&out);
    arena_free(arena);
}

/* -1 also for text behind the tree. */
static int
parse(const char *text, enum tree_form form)
{
    struct parsing how = {.arena = arena, .use = PARAMETERS_ABSENT};
    struct span source = {text, strlen(text)};
    struct parser p = {.lexer = lexer_of(source),
                       .source = source,
                       .how = &how,
                       .arena = arena,
                       .err = &err};

    memset(&err, 0, sizeof(err));
    p.token.text.data = text;
    parser_advance(&p);
    if (tree_parse(&p, form, form == TREE_CONDITION, &tree) != 0)
        return -1;
    return p.token.kind == TOKEN_END ? 0 : parser_fail(&p);
}

/* ---- operators: what binds to what ---- */

static bool
is_leaf(const struct node *node)
{
    return node->kind <= NODE_SYSTEM || node->kind == NODE_COLUMN ||
           node->kind == NODE_STAR || node->kind == NODE_QUERY ||
           node->kind == NODE_EXISTS;
}

/* Leaves as typed; of others the kind and the operands. */
static void
show(const struct node *node)
{
    static const char *const kinds[] = {
        [NODE_ASSIGN] = ":=",       [NODE_CALL] = "call",
        [NODE_LIKE] = "like",       [NODE_REGEXP] = "regexp",
        [NODE_IS] = "is",           [NODE_IN] = "in",
        [NODE_BETWEEN] = "between", [NODE_QUANTIFIED] = "quantified",
        [NODE_INTERVAL] = "date",   [NODE_COLLATE] = "collate",
        [NODE_ROW] = "row",         [NODE_CASE] = "case"};
    static const char *const operators[] = {
        [OP_OR] = "or",        [OP_XOR] = "xor",      [OP_AND] = "and",
        [OP_EQUAL] = "=",      [OP_IS_EQUAL] = "<=>", [OP_NOT_EQUAL] = "<>",
        [OP_LESS] = "<",       [OP_PLUS] = "+",       [OP_MINUS] = "-",
        [OP_TIMES] = "*",      [OP_BIT_XOR] = "^",    [OP_BIT_OR] = "|",
        [OP_ARROW] = "->",     [OP_NEGATIVE] = "neg", [OP_POSITIVE] = "pos",
        [OP_BANG] = "!",       [OP_NOT] = "not",      [OP_BINARY] = "binary",
        [OP_SHIFT_LEFT] = "<<"};
    bool operates = node->kind == NODE_PREFIX || node->kind == NODE_BINARY;

    if (is_leaf(node)) {
        buffer_add(&out, node->text.data, node->text.size);
        return;
    }
    buffer_format(&out, "(%s%s", node->negated ? "not-" : "",
                  operates ? operators[node->op] : kinds[node->kind]);
    for (const struct node *child = node->first; child; child = child->next) {
        buffer_char(&out, ' ');
        show(child);
    }
    buffer_char(&out, ')');
}

static const struct {
    const char *text, *tree;
} expressions[] = {
    {"1 + 2 * 3 - 4", "(- (+ 1 (* 2 3)) 4)"},
    {"1 or 2 xor 3 and not 4 = 5", "(or 1 (xor 2 (and 3 (not (= 4 5)))))"},
    {"1 = 2 like 3", "(= 1 (like 2 3))"},
    {"1 like 2 = 3", "(= (like 1 2) 3)"},
    {"1 = 2 in (3, 4) = 5", "(= (= 1 (in 2 3 4)) 5)"},
    {"a between 1 and 2 and 3", "(and (between a 1 2) 3)"},
    {"a not between 1 | 2 and 3 + 4", "(not-between a (| 1 2) (+ 3 4))"},
    {"a not in ((select 1))", "(not-in a select 1)"},
    {"a in ((select 1) union (select 2))",
     "(in a (select 1) union (select 2))"},
    {"a in ((select 1) + 0)", "(in a (+ select 1 0))"},
    {"(1, 2) in ((1, 2), row(3, 4))", "(in (row 1 2) (row 1 2) (row 3 4))"},
    {"- 1 ^ 2", "(^ (neg 1) 2)"},
    {"! 1 + 1", "(+ (! 1) 1)"},
    {"not not 1 is null", "(not (not (is 1 null)))"},
    {"1 is not unknown = 2", "(= (not-is 1 unknown) 2)"},
    {"binary a = b collate x_bin", "(= (binary a) (collate b))"},
    {"@a := @b := 1 or 2", "(:= (:= (or 1 2)))"},
    {"1 + @a := 2 + 3", "(+ 1 (:= (+ 2 3)))"},
    {"x + interval 1 + 2 day - 3", "(- (date x (+ 1 2)) 3)"},
    {"interval 1 day + x + 2", "(+ (date x 1) 2)"},
    {"x - interval (1) day", "(date x 1)"},
    {"x - interval(1, 2) * 3", "(- x (* (call 1 2) 3))"},
    {"x - interval((1), 2, 3) - (4)", "(- (- x (call 1 2 3)) 4)"},
    {"x + interval((1 + f(2, 3))) day", "(date x (+ 1 (call 2 3)))"},
    {"date_add(a, interval 1 day)", "(call a 1)"},
    {"extract(day from b)", "(call b)"},
    {"trim(leading 'x' from y)", "(call 'x' y)"},
    {"position(a in b in (c))", "(call a (in b c))"},
    {"a > all (select 1)", "(quantified a select 1)"},
    {"a <> all (select 1)", "(not-in a select 1)"},
    {"case a when 1 then 2 else 3 end + 1", "(+ (case a 1 2 3) 1)"},
    {"'a' 'b' = date '2026-01-31'", "(= 'a' 'b' date '2026-01-31')"},
    {"_utf8mb4'a' -> '$.b' << 1", "(<< (-> 'a' '$.b') 1)"},
    {"count(distinct a, b) + left(c, 1)", "(+ (call a b) (call c 1))"},
    {"heapwire.t.`select`", "heapwire.t.`select`"},
    {"/*! 1 + */ 2 # end", "(+ 1 2)"},
};

START_TEST(operators_bind_as_mysqls_do)
{
    ck_assert_msg(parse(expressions[_i].text, TREE_CONDITION) == 0, "%s: %s",
                  expressions[_i].text, err.text);
    show(tree->items->value);
    ck_assert_str_eq(out.data, expressions[_i].tree);
}
END_TEST

/* ---- faults ---- */

static const struct {
    const char *text, *near;
} faults[] = {
    {"select 1 +", "''"},
    {"select 1 2", "'2'"},
    {"select\n1 from\n from t", "'from t' at line 3"},
    {"select 1 + not 2", "'not 2'"},
    {"select 1 is 2", "'2'"},
    {"select 1 := 2", "':= 2'"},
    {"select a b c", "'c'"},
    {"select 1, * from t", "'* from t'"},
    {"select * from t left join u", "''"},
    {"select * from t left join u where 1", "'where 1'"},
    {"select 1 order by 1 union select 2", "'union select 2'"},
    {"select 1 having 1 having 2", "'having 2'"},
    {"select (1 having 1)", "'having 1)'"},
    {"select 1 limit -1", "'-1'"},
    {"select 1 limit 1 + 1", "'+ 1'"},
    {"select case 1 end", "'end'"},
    {"select exists (1)", "''"},
    {"select 1 in 2", "'2'"},
    {"select 1 = any (2)", "''"},
    {"select ()", "')'"},
    {"select count(distinct)", "')'"},
    {"select min(1, 2)", "', 2)'"},
    {"select count()", "')'"},
    {"select position(1, 2)", "', 2)'"},
    {"select concat(distinct 1)", "'distinct 1)'"},
    {"select cast(1 as nothing)", "'nothing)'"},
    {"select extract(1 from 2)", "'1 from 2)'"},
    {"select (select 1 into @a)", "'@a)'"},
    {"select 1 from t use index (?)", "'?)'"},
    {"with a as (select 1)", "''"},
    {"values row()", "')'"},
};

START_TEST(a_fault_is_found_where_it_is)
{
    ck_assert_int_eq(parse(faults[_i].text, TREE_QUERY), -1);
    ck_assert_uint_eq(err.code, ER_PARSE);
    ck_assert_msg(strstr(err.text, faults[_i].near) != NULL, "%s: %s",
                  faults[_i].text, err.text);
}
END_TEST

/* ---- depth ---- */

/* before, a number of times; then "1" and, so often, behind. */
static char *
repeated(const char *before, int count, const char *behind)
{
    buffer_clear(&out);
    for (int i = 0; i < count; i++)
        buffer_text(&out, before);
    buffer_text(&out, "1");
    for (int i = 0; i < count; i++)
        buffer_text(&out, behind);
    return out.data;
}

static const struct {
    const char *before, *behind;
    int most; /* 0: any number */
} deep[] = {
    {"(", ")", NESTING_MAX},
    {"f(", ")", NESTING_MAX},
    {"(select ", ")", NESTING_MAX},
    {"- ", "", TREE_DEPTH_MAX - 1},
    {"not ", "", TREE_DEPTH_MAX - 1},
    {"@a := ", "", TREE_DEPTH_MAX - 1},
    {"case when ", " then 1 end", TREE_DEPTH_MAX - 1},
    {"", " or 1", TREE_DEPTH_MAX - 1},
    {"", " + 1", TREE_DEPTH_MAX - 1},
    {"group_concat(1 order by ", ")", NESTING_MAX},
};

START_TEST(what_is_too_deep_is_refused)
{
    const int most = deep[_i].most;

    ck_assert_msg(parse(repeated(deep[_i].before, most, deep[_i].behind),
                        TREE_CONDITION) == 0,
                  "%s: %s", deep[_i].before, err.text);
    ck_assert_int_le(tree->items->value->depth, TREE_DEPTH_MAX);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(
            parse(repeated(deep[_i].before, i == 0 ? most + 1 : 10000,
                           deep[_i].behind),
                  TREE_CONDITION),
            -1);
        ck_assert_uint_eq(err.code, ER_STACK_OVERRUN);
    }
}
END_TEST

/* A reader may go as deep as the sum of all. */
START_TEST(depths_add_up)
{
    struct buffer text;

    buffer_init(&text, 1 << 20);
    for (int i = 0; i < 10; i++)
        buffer_text(&text, "group_concat(x order by ");
    buffer_text(&text, "1");
    for (int i = 0; i < 10; i++) {
        for (int j = 0; j < 100; j++)
            buffer_text(&text, " + 1");
        buffer_text(&text, ")");
    }
    ck_assert_int_eq(parse(text.data, TREE_CONDITION), -1);
    ck_assert_uint_eq(err.code, ER_STACK_OVERRUN);
    buffer_fini(&text);
}
END_TEST

START_TEST(what_is_long_is_refused)
{
    static char text[TREE_SOURCE_MAX + 100];

    memset(text, ' ', sizeof(text) - 1);
    memcpy(text, "select 1", 8);
    memcpy(text + TREE_SOURCE_MAX + 50, ", 2", 3);
    ck_assert_int_eq(parse(text, TREE_QUERY), -1);
    ck_assert_uint_eq(err.code, ER_NOT_SUPPORTED);
}
END_TEST

/* ---- a whole SELECT ---- */

START_TEST(a_select_has_its_parts)
{
    const struct tree_select *select;
    const struct tree_table *table;

    ck_assert_int_eq(
        parse("with c(n) as (select 1) select distinct t.*, a + 1 x, `b`, 'c', "
              "max( d ) from c, h.t as u left join (v join w using (a, b)) on "
              "? = 1, (select 2) y where 1 group by a, 2 having 3 "
              "union all select 4 order by x desc limit 5, ? for update",
              TREE_QUERY),
        0);
    select = tree->query->arms->select;
    ck_assert_ptr_null(tree->query->arms->query);
    ck_assert_int_eq(tree->query->arms->next->set, SET_UNION_ALL);
    ck_assert(select->distinct && select->aggregates && select->reads_query);
    ck_assert_uint_eq(select->columns, 5);
    ck_assert_int_eq(select->items->value->kind, NODE_STAR);
    ck_assert(span_is(select->items->next->label, "x"));
    ck_assert(span_is(select->items->next->next->label, "b"));
    ck_assert(span_is(select->items->next->next->next->label, "c"));
    ck_assert(
        span_is(select->items->next->next->next->next->label, "max( d )"));
    table = select->from;
    ck_assert_ptr_nonnull(table->cte);
    ck_assert_ptr_eq(tree->tables, table->next);
    ck_assert(span_is(table->next->alias, "u"));
    ck_assert_int_eq(table->next->next->join, JOIN_LEFT);
    ck_assert_ptr_nonnull(table->next->next->inner);
    ck_assert_ptr_nonnull(table->next->next->on);
    ck_assert_ptr_nonnull(table->next->next->next->query);
    ck_assert_ptr_null(tree->tables->named->named->named);
    ck_assert(tree->query->order->descending);
    ck_assert_int_eq(tree->query->offset->kind, NODE_INTEGER);
    ck_assert_uint_eq(tree->query->limit->parameter, 1);
    ck_assert_uint_eq(tree->parameters, 2);
}
END_TEST

/* The same holds in a SET, a DO or a SHOW; only their own items have
 * neither. */
START_TEST(a_select_in_any_statement_has_stars_and_aliases)
{
    static const char *const texts[] = {
        "(select 1 as a)",
        "(select 1 a)",
        "exists (select * from t)",
        "(select t.* from (select 1 'a') t)",
        "1 in (select 'x' as y union select d.t.* from d.t)",
        "(with c as (select 1 as a) select * from c)"};
    static const char *const none[] = {
        "*", "t.*", "1 as a", "1 a", "(select 1 a), 1 a", "1 + (select *) a"};

    for (size_t i = 0; i < COUNT(texts); i++) {
        ck_assert_msg(parse(texts[i], TREE_EXPRESSIONS) == 0, "%s", texts[i]);
        ck_assert_msg(parse(texts[i], TREE_CONDITION) == 0, "%s", texts[i]);
    }
    for (size_t i = 0; i < COUNT(none); i++) {
        ck_assert_msg(parse(none[i], TREE_EXPRESSIONS) != 0, "%s", none[i]);
        ck_assert_msg(parse(none[i], TREE_CONDITION) != 0, "%s", none[i]);
    }
}
END_TEST

START_TEST(end_is_a_name_too)
{
    ck_assert_int_eq(parse("select end, case end when end then end else end "
                           "end end, 1 as end from t end",
                           TREE_QUERY),
                     0);
    ck_assert(span_is(tree->query->arms->select->items->next->label, "end"));
    ck_assert(span_is(tree->query->arms->select->from->alias, "end"));
}
END_TEST

START_TEST(intersect_binds_closer_than_union)
{
    const struct tree_arm *arms;

    ck_assert_int_eq(
        parse("select 1 union select 2 intersect select 3", TREE_QUERY), 0);
    arms = tree->query->arms;
    ck_assert_ptr_nonnull(arms->select);
    ck_assert_int_eq(arms->next->set, SET_UNION);
    ck_assert_ptr_nonnull(arms->next->query);
    ck_assert_int_eq(arms->next->query->arms->next->set, SET_INTERSECT);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("select_tree");
    TCase *tc = tcase_create("tree");

    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_loop_test(tc, operators_bind_as_mysqls_do, 0, COUNT(expressions));
    tcase_add_loop_test(tc, a_fault_is_found_where_it_is, 0, COUNT(faults));
    tcase_add_loop_test(tc, what_is_too_deep_is_refused, 0, COUNT(deep));
    tcase_add_test(tc, depths_add_up);
    tcase_add_test(tc, what_is_long_is_refused);
    tcase_add_test(tc, a_select_has_its_parts);
    tcase_add_test(tc, a_select_in_any_statement_has_stars_and_aliases);
    tcase_add_test(tc, end_is_a_name_too);
    tcase_add_test(tc, intersect_binds_closer_than_union);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
