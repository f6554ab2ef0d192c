/*
 * set.c - SET: evaluates and checks all assignments before it applies any.
 *
 * MySQL's SET is all or nothing, and drivers send many assignments in one; so
 * values are collected in a list (struct pending) and put in force at the end,
 * in one step that can only fail as a whole.  Expressions are evaluated by
 * SQLite, like those of a SELECT.
 */
#include "commands.h"

#include <inttypes.h>
#include <string.h>

#include "errors.h"
#include "select_query.h"
#include "select_tree.h"
#include "sql_cursor.h"
#include "sql_session.h"
#include "sql_statement.h"
#include "variables.h"

enum { CHARSET_MAX = 32, COLLATION_MAX = 64 };

struct pending {
    struct opening *opening;
    struct session_value *list;
    struct error *err;
};

static struct value
text_value(struct span text)
{
    struct value value = {VALUE_TEXT, text.data, text.size, 0, 0};

    return value;
}

static int
add_pending_value(struct pending *p, const struct variable *variable,
                  struct span name, const struct value *value)
{
    struct session_value *setting =
        session_value_new(variable, name, value, p->err);

    if (!setting)
        return -1;
    setting->next = p->list;
    p->list = setting;
    return 0;
}

/* Adds a system variable's value to the list; given NULL: the default. */
static int
add_pending_variable(struct pending *p, const char *name,
                     const struct value *given)
{
    const struct variable *variable = variable_find(span_of(name), p->err);
    struct span none = {"", 0};
    struct value value;

    if (!variable || variable_accept(variable, given, &value, p->err) != 0)
        return -1;
    if (variable->type == VARIABLE_INT && value.type == VALUE_INT &&
        value.integer < variable->least) { /* MySQL has no negative ones */
        warnings_add(p->opening->session, ER_TRUNCATED_VALUE,
                     "Truncated incorrect %s value: '%" PRId64 "'",
                     variable->name, value.integer);
        value.integer = variable->least;
    }
    return add_pending_value(p, variable, none, &value);
}

/* ---- SET NAMES ---- */

/* Character sets that clients may name; all texts are UTF-8 either way. */
static const struct {
    const char *name, *collation;
} charsets[] = {
    {"utf8mb4", "utf8mb4_general_ci"}, {"utf8mb3", "utf8mb3_general_ci"},
    {"utf8", "utf8mb3_general_ci"},    {"latin1", "latin1_swedish_ci"},
    {"ascii", "ascii_general_ci"},     {"binary", "binary"},
};

static int
unknown_charset(struct pending *p, struct span name)
{
    error_set(p->err, ER_UNKNOWN_CHARACTER_SET, "Unknown character set: '%.*s'",
              (int)(name.size < CHARSET_MAX ? name.size : CHARSET_MAX),
              name.data);
    return -1;
}

/* Does the collation's name begin with its character set's? */
static bool
is_charset_collation(const char *charset, struct span collation)
{
    size_t size = strlen(charset);

    return collation.size <= COLLATION_MAX && collation.size >= size &&
           memcmp(collation.data, charset, size) == 0;
}

static int
set_names(struct pending *p, const struct assignment *a)
{
    static const char *const variables_set[] = {"character_set_client",
                                                "character_set_connection",
                                                "character_set_results"};
    size_t i = 0;
    struct value charset, collation;

    if (a->kind != VALUE_IS_DEFAULT)
        while (i < sizeof(charsets) / sizeof(charsets[0]) &&
               !span_is_nocase(a->text, charsets[i].name))
            i++;
    if (i == sizeof(charsets) / sizeof(charsets[0]))
        return unknown_charset(p, a->text);
    charset = text_value(span_of(charsets[i].name));
    collation =
        text_value(a->name.size ? a->name : span_of(charsets[i].collation));
    if (a->name.size && !is_charset_collation(charsets[i].name, a->name)) {
        error_set(
            p->err, ER_WRONG_VALUE,
            "Variable 'collation_connection' can't be set to the value "
            "of '%.*s'",
            (int)(a->name.size < COLLATION_MAX ? a->name.size : COLLATION_MAX),
            a->name.data);
        return -1;
    }
    for (size_t v = 0; v < sizeof(variables_set) / sizeof(variables_set[0]);
         v++)
        if (add_pending_variable(p, variables_set[v], &charset) != 0)
            return -1;
    return add_pending_variable(p, "collation_connection", &collation);
}

/* ---- variables ---- */

static int
evaluate_assignment(struct pending *p, const struct assignment *a,
                    struct value *out)
{
    *out = text_value(a->text);
    return a->kind == VALUE_IS_EXPRESSION
               ? select_evaluate(p->opening, a->expression, out, p->err)
               : 0;
}

/* Does a value depend on parameters that are absent, because the statement is
 * only described? */
static bool
is_absent(const struct pending *p, const struct assignment *a)
{
    return p->opening->describing && a->kind == VALUE_IS_EXPRESSION &&
           a->expression->parameters > 0;
}

/* Refuses SET GLOBAL: only the configuration file changes the node's
 * settings. */
static int
set_variable(struct pending *p, const struct assignment *a)
{
    const struct variable *variable = variable_find(a->name, p->err);
    struct value value;

    if (!variable)
        return -1;
    if (a->scope == SCOPE_GLOBAL) {
        error_set(p->err, ER_VARIABLE_READ_ONLY,
                  "Variable '%s' is a read only variable", variable->name);
        return -1;
    }
    if (a->kind == VALUE_IS_DEFAULT)
        return add_pending_variable(p, variable->name, NULL);
    if (is_absent(p, a)) /* only finds out whether it can be set at all */
        return variable_accept(variable, NULL, &value, p->err) != 0
                   ? -1
                   : select_check(p->opening, a->expression, p->err);
    if (evaluate_assignment(p, a, &value) != 0)
        return -1;
    return add_pending_variable(p, variable->name, &value);
}

static int
set_user_variable(struct pending *p, const struct assignment *a)
{
    struct value value;

    if (is_absent(p, a))
        return select_check(p->opening, a->expression, p->err);
    if (evaluate_assignment(p, a, &value) != 0)
        return -1;
    return add_pending_value(p, NULL, a->name, &value);
}

static int
prepare_assignment(struct pending *p, const struct assignment *a)
{
    switch (a->target) {
    case ASSIGN_NAMES:
        return set_names(p, a);
    case ASSIGN_USER:
        return set_user_variable(p, a);
    case ASSIGN_VARIABLE:
        break;
    }
    return set_variable(p, a);
}

/* Reverses the list, which was built backwards: of two assignments to one
 * variable the last must win. */
static struct session_value *
reverse_session_values(struct session_value *list)
{
    struct session_value *out = NULL, *next;

    for (; list; list = next) {
        next = list->next;
        list->next = out;
        out = list;
    }
    return out;
}

/* Applies autocommit, which every OK packet reports.  Switching it on ends a
 * transaction, as in MySQL. */
static void
follow_autocommit(struct sql_session *session, const struct session_value *list)
{
    for (; list; list = list->next)
        if (list->variable && strcmp(list->variable->name, "autocommit") == 0) {
            session->autocommit = list->value.integer != 0;
            if (session->autocommit)
                session->in_transaction = false;
        }
}

struct cursor *
set_open(struct opening *o, struct error *err)
{
    struct pending p = {o, NULL, err};
    /* The answer is made first: after the values are in force nothing may
     * fail. */
    struct cursor *ok = sql_cursor_ok(err);
    bool autocommit = o->session->autocommit;
    bool in_transaction = o->session->in_transaction;

    if (!ok)
        return NULL;
    for (const struct assignment *a = o->statement->set; a; a = a->next)
        if (prepare_assignment(&p, a) != 0) {
            session_value_free(p.list);
            cursor_free(ok);
            return NULL;
        }
    if (o->describing) {
        session_value_free(p.list);
        return ok;
    }
    p.list = reverse_session_values(p.list);
    follow_autocommit(o->session, p.list);
    if (session_value_apply(o->session, p.list, err) == 0)
        return ok;
    o->session->autocommit = autocommit;
    o->session->in_transaction = in_transaction;
    cursor_free(ok);
    return NULL;
}
