/*
 * write_call.c - writes calls of functions: their names in SQLite, and
 * arguments that are no plain list.
 *
 * A client cannot call functions whose name begins with hw_: the writers of
 * this folder choose their arguments (numbers of slots, kinds), which are not
 * checked again.
 */
#include <string.h>
#include <strings.h>

#include "errors.h"
#include "sql.h"
#include "types.h"
#include "writer.h"

/* function_aggregates.c has room for 15 directions. */
enum { GROUP_KEYS_MAX = 8 };

/* The function's name in SQLite, where it differs from MySQL's; else NULL. */
static const char *
sqlite_function_name(const struct node *node)
{
    struct span name = node->name;
    static const struct {
        const char *name, *out;
    } names[] = {
        {"CAST", "hw_cast"},
        {"CHAR", "hw_char"},
        {"CONVERT", "hw_cast"},
        {"GROUP_CONCAT", "hw_group_concat"},
        {"JSON_ARRAYAGG", "json_group_array"},
        {"JSON_OBJECTAGG", "json_group_object"},
        {"MID", "substring"},
        {"POSITION", "locate"},
        {"SUBSTR", "substring"},
    };

    if (span_is_nocase(name, "STRCMP") && node->first && node->first->next &&
        (write_is_bin(node->first) || write_is_bin(node->first->next)))
        return "hw_strcmp_bin";
    if (node->call->form == CALL_PLAIN)
        return NULL;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (span_is_nocase(name, names[i].name))
            return names[i].out;
    return NULL;
}

static void
write_call_unit(struct writer *w, const struct tree_call *call)
{
    buffer_format(w->sql, " '%.*s'", (int)call->unit.size, call->unit.data);
}

/* ---- windows ---- */

static void
write_window_bound(struct writer *w, const struct tree_window *window, size_t i)
{
    if (window->distance[i])
        write_operand(w, window->distance[i], TIGHT_ATOM);
    buffer_format(w->sql, " %s", window->bounds[i]);
}

void
write_window(struct writer *w, const struct tree_window *window)
{
    buffer_text(w->sql, " (");
    if (window->base.size > 0)
        write_identifier(w, window->base);
    if (window->partition)
        buffer_text(w->sql, " PARTITION BY");
    write_sorted_list(w, window->partition);
    write_order(w, window->order, false);
    if (window->frame) {
        buffer_format(w->sql, " %s%s", window->frame,
                      window->bounds[1] ? " BETWEEN" : "");
        write_window_bound(w, window, 0);
    }
    if (window->bounds[1]) {
        buffer_text(w->sql, " AND");
        write_window_bound(w, window, 1);
    }
    buffer_text(w->sql, ")");
}

/* ---- arguments ---- */

static void
write_cast_arguments(struct writer *w, const struct node *node)
{
    const struct tree_call *call = node->call;
    const char *type = call->type        ? call->type
                       : call->is_binary ? "BINARY"
                                         : "CHAR";

    write_list(w, node->first);
    buffer_format(w->sql, ",'%s',%ld,%ld", type, call->lengths[0],
                  call->lengths[1]);
}

static void
write_count_arguments(struct writer *w, const struct node *node)
{
    bool row = node->call->distinct && node->first->next;

    buffer_text(w->sql, node->call->distinct ? " DISTINCT" : "");
    buffer_text(w->sql, row ? " hw_row(" : "");
    write_list(w, node->first);
    buffer_text(w->sql, row ? ")" : "");
}

/* Writes hw_group_concat's arguments: the values, the keys, how many values,
 * whether distinct, the keys' directions, the separator. */
static void
group_concat(struct writer *w, const struct node *node)
{
    const struct tree_call *call = node->call;
    char directions[GROUP_KEYS_MAX + 1] = "";
    size_t values = 0, keys = 0;

    for (const struct node *n = node->first; n; n = n->next)
        values++;
    write_list(w, node->first);
    for (const struct tree_order *o = call->order; o; o = o->next) {
        if (keys == GROUP_KEYS_MAX) {
            write_fail_many(w, "keys", GROUP_KEYS_MAX,
                            "the ORDER BY of GROUP_CONCAT");
            return;
        }
        directions[keys++] = o->descending ? 'd' : 'a';
        buffer_text(w->sql, ",");
        write_expression(w, o->value);
    }
    buffer_format(w->sql, ",%zu,%d,'%s',", values, call->distinct, directions);
    write_string(w, call->separator);
}

/* Writes values of JSON: SQLite would make numbers of truths, and lose digits
 * of a DECIMAL. */
static void
write_json_arguments(struct writer *w, const struct node *node, bool pairs)
{
    bool key = pairs;

    for (const struct node *n = node->first; n; n = n->next) {
        bool plain = n->kind == NODE_STRING || n->kind == NODE_STAR;

        buffer_text(w->sql, plain ? "" : key ? " hw_json_name(" : " hw_json(");
        write_expression(w, n);
        buffer_text(w->sql, plain               ? ""
                            : key               ? ")"
                            : write_is_truth(n) ? ",1)"
                                                : ",0)");
        buffer_text(w->sql, n->next ? "," : "");
        key = pairs && !key;
    }
}

static void
write_trim_arguments(struct writer *w, const struct node *node)
{
    if (node->call->unit.size > 0) {
        write_call_unit(w, node->call);
        buffer_text(w->sql, node->first->next ? "," : ",' ',");
    }
    write_list(w, node->first);
}

/* ---- CHARSET, COLLATION, COERCIBILITY: known before a value is ---- */

static bool
is_text_operand(const struct node *node)
{
    enum column_type type = types_operand(node, 0).type;

    return type == COLUMN_TEXT || type == COLUMN_LONGTEXT;
}

static const char *
collation_of(const struct node *node)
{
    return !is_text_operand(node) ? "binary"
           : write_is_bin(node)   ? "utf8mb4_bin"
                                  : "utf8mb4_general_ci";
}

/* Returns MySQL's coercibility: the smaller it is, the more the operand
 * decides how a comparison is made. */
static int
coercibility_of(const struct node *node)
{
    enum column_type type = types_operand(node, 0).type;
    int least = 4;

    if (node->kind == NODE_COLLATE)
        return 0;
    if (type == COLUMN_NULL)
        return 6;
    if (!is_text_operand(node) && type != COLUMN_BLOB)
        return 5;
    if (node->kind == NODE_COLUMN || node->kind == NODE_USER ||
        node->kind == NODE_PREFIX)
        return 2;
    if (node->kind == NODE_SYSTEM)
        return 3;
    if (node->kind != NODE_CALL)
        return least;
    if (node->call->form == CALL_CAST)
        return 2;
    if (span_is_any(node->name, "CURRENT_ROLE CURRENT_USER DATABASE SCHEMA "
                                "SESSION_USER SYSTEM_USER USER VERSION"))
        return 3;
    for (const struct node *n = node->first; n; n = n->next) {
        int of = coercibility_of(n);

        least = of < least ? of : least;
    }
    return least;
}

/* Writes the value and the answer about it; the value, so that an error in it
 * is found. */
static void
write_collation_property(struct writer *w, const struct node *node)
{
    const struct node *of = node->first;

    write_list(w, of);
    if (!of)
        return;
    if (span_is_nocase(node->name, "COERCIBILITY"))
        buffer_format(w->sql, ",%d", coercibility_of(of));
    else if (span_is_nocase(node->name, "CHARSET"))
        buffer_format(w->sql, ",'%s'",
                      is_text_operand(of) ? "utf8mb4" : "binary");
    else
        buffer_format(w->sql, ",'%s'", collation_of(of));
}

/* Writes the arguments of GREATEST, LEAST and NULLIF, which compare and then
 * give one: dates and times get one form for that.  One that is returned must
 * stay as it is, so NULLIF changes its second alone. */
static void
compared_arguments(struct writer *w, const struct node *node)
{
    bool second = span_is_nocase(node->name, "NULLIF");
    enum temporal_form as = write_temporal_form(node->first, 0);

    for (const struct node *n = node->first; n; n = n->next) {
        if (as == TEMPORAL_FORM_NONE || n->type == COLUMN_NULL ||
            (second ? n == node->first : write_is_temporal(n, as)))
            write_expression(w, n);
        else
            write_as_temporal(w, n, as, !second);
        buffer_text(w->sql, n->next ? "," : "");
    }
}

static void
write_call_arguments(struct writer *w, const struct node *node)
{
    const struct tree_call *call = node->call;

    switch (call->form) {
    case CALL_CAST:
    case CALL_CONVERT:
        write_cast_arguments(w, node);
        return;
    case CALL_COUNT:
        write_count_arguments(w, node);
        return;
    case CALL_GROUP_CONCAT:
        group_concat(w, node);
        return;
    case CALL_TRIM:
        write_trim_arguments(w, node);
        return;
    case CALL_AGGREGATE:
        buffer_text(w->sql, call->distinct ? " DISTINCT" : "");
        if (span_is_any(node->name, "SUM AVG BIT_AND BIT_OR BIT_XOR")) {
            write_number(w, node->first);
            return;
        }
        break;
    case CALL_CHAR:
        buffer_text(w->sql, call->has_using && !call->is_binary ? " 1" : " 0");
        buffer_text(w->sql, node->first ? "," : "");
        break;
    case CALL_EXTRACT:
    case CALL_TIMESTAMP:
        write_call_unit(w, call);
        buffer_text(w->sql, node->first ? "," : "");
        break;
    case CALL_PLAIN:
        if (span_is_any(node->name, "GREATEST LEAST NULLIF")) {
            compared_arguments(w, node);
            return;
        }
        if (span_is_any(node->name, "CHARSET COERCIBILITY COLLATION")) {
            write_collation_property(w, node);
            return;
        }
        break;
    default:
        break;
    }
    if (span_is_any(node->name, "JSON_ARRAY JSON_ARRAYAGG JSON_GROUP_ARRAY"))
        write_json_arguments(w, node, false);
    else if (span_is_any(node->name,
                         "JSON_OBJECT JSON_OBJECTAGG JSON_GROUP_OBJECT"))
        write_json_arguments(w, node, true);
    else
        write_list(w, node->first);
    if (call->form == CALL_DATE_ADD && call->unit.size > 0) {
        buffer_text(w->sql, ",");
        write_call_unit(w, call);
    }
}

/* ---- all ---- */

/* Refuses hw_...: only the writers make such calls, with arguments that they
 * have chosen. */
static bool
refuse_internal_function(struct writer *w, struct span name)
{
    if (name.size < 3 || strncasecmp(name.data, "hw_", 3) != 0)
        return false;
    if (!w->failed)
        error_set(w->err, ER_FUNCTION_UNKNOWN, "FUNCTION %.*s does not exist",
                  name.size < SQL_NAME_MAX ? (int)name.size : SQL_NAME_MAX,
                  name.data);
    w->failed = true;
    return true;
}

/* Writes a call.  MAX and MIN of DECIMALs that SQLite does not order are those
 * of their keys, which write_expression() makes DECIMALs again. */
static void
write_function_call(struct writer *w, const struct node *node)
{
    const struct tree_call *call = node->call;
    const char *out = sqlite_function_name(node);
    bool key = span_is_any(node->name, "MAX MIN") && write_is_long(node);

    if (out)
        buffer_format(w->sql, " %s", out);
    else
        write_identifier(w, node->name);
    buffer_text(w->sql, key ? "( hw_key(" : "(");
    write_call_arguments(w, node);
    buffer_text(w->sql, key ? "))" : ")");
    if (!call->over)
        return;
    buffer_text(w->sql, " OVER");
    if (call->over->refers)
        write_identifier(w, call->over->name);
    else
        write_window(w, call->over);
}

void
write_call(struct writer *w, const struct node *node)
{
    bool formed =
        span_is_any(node->name, "JSON_ARRAY JSON_ARRAYAGG JSON_GROUP_ARRAY "
                                "JSON_OBJECT JSON_OBJECTAGG JSON_GROUP_OBJECT");

    if (refuse_internal_function(w, node->name))
        return;
    buffer_text(w->sql, formed ? " hw_json_form(" : "");
    write_function_call(w, node);
    buffer_text(w->sql, formed ? ")" : "");
}
