/*
 * writer.c - what all writers use: names, strings, lists, sorting keys,
 * positions, and whether the statement asks for kept snapshots.
 *
 * A failure sticks (failed, or the buffer's own): writers go on, and what they
 * write is thrown away, so that none of them has to check.  Every name and
 * string of the client's is quoted here and nowhere else.
 */
#include "writer.h"

#include <stdint.h>
#include <string.h>

#include "cursor.h"
#include "errors.h"
#include "handle.h"
#include "memory.h"
#include "snapshot.h"
#include "sql_statement.h"

enum { KEY_TEXT_MAX = 200 /* bytes of an item that is written again */ };

static const char *
current_clause_name(const struct writer *w)
{
    return w->scope ? w->scope->where : "field list";
}

/* Notes a position for deparse_locate, which is less exact without memory. */
void
write_mark(struct writer *w, const char *source)
{
    size_t capacity = w->mark_capacity ? 2 * w->mark_capacity : 256;
    struct mark *grown;

    if (!w->marking)
        return;
    if (w->mark_count == w->mark_capacity) {
        grown = mem_realloc(w->marks, capacity * sizeof(*grown));
        if (!grown)
            return;
        w->marks = grown;
        w->mark_capacity = capacity;
    }
    w->marks[w->mark_count++] =
        (struct mark){w->sql->size, source, current_clause_name(w)};
}

void
write_fail_many(struct writer *w, const char *what, int most, const char *where)
{
    if (!w->failed)
        error_set(w->err, ER_NOT_SUPPORTED, STATEMENT_TOO_MANY, what, most,
                  where);
    w->failed = true;
}

unsigned
write_slot(struct writer *w)
{
    if (w->slots == SLOTS_MAX) {
        write_fail_many(w, "CASE x, ANY and ALL", SLOTS_MAX, "a statement");
        return 0;
    }
    return w->slots++;
}

/* Doubles the quotes in text.  A NUL, which would end the statement for SQLite,
 * becomes a question mark. */
static void
write_quoted_text(struct writer *w, char quote, struct span text,
                  const char *end)
{
    buffer_char(w->sql, quote);
    for (size_t i = 0; i < text.size; i++) {
        char c = text.data[i];

        if (c == quote)
            buffer_char(w->sql, quote);
        if (c == '\0')
            c = '?';
        buffer_char(w->sql, c);
    }
    buffer_text(w->sql, end);
}

void
write_identifier(struct writer *w, struct span name)
{
    buffer_char(w->sql, ' ');
    write_quoted_text(w, '"', name, "\"");
}

static struct span
cut_label(struct span text)
{
    if (text.size <= DEPARSE_LABEL_MAX)
        return text;
    text.size = DEPARSE_LABEL_MAX;
    while (text.size > 0 &&
           ((unsigned char)text.data[text.size] & 0xc0) == 0x80)
        text.size--;
    return text;
}

void
write_label(struct writer *w, const struct tree_item *item)
{
    write_identifier(w, item->has_alias ? item->label : cut_label(item->label));
}

void
write_column_label(struct writer *w, struct span label)
{
    write_identifier(w, cut_label(label));
}

void
write_cte_name(struct writer *w, struct span name)
{
    buffer_char(w->sql, ' ');
    write_quoted_text(w, '"', name, " \"");
}

void
write_string(struct writer *w, struct span text)
{
    write_quoted_text(w, '\'', text, "'");
}

void
write_expression(struct writer *w, const struct node *node)
{
    struct result_type lost = write_lost_kind(node);
    bool text = write_chooses_text(node);

    /* Stops the recursion early; the result does not matter any more. */
    if (w->failed || w->sql->failed)
        return;
    write_mark(w, node->text.data);
    buffer_text(w->sql, text ? " hw_cast(" : "");
    write_begin_kind(w, lost);
    w->node(w, node);
    write_end_kind(w, lost);
    buffer_text(w->sql, text ? ",'CHAR',-1,-1)" : "");
}

void
write_list(struct writer *w, const struct node *first)
{
    for (const struct node *node = first; node; node = node->next) {
        buffer_text(w->sql, node == first ? "" : ",");
        write_expression(w, node);
    }
}

void
write_operand(struct writer *w, const struct node *node, enum tight least)
{
    bool open = write_tight(w, node) < least;

    buffer_text(w->sql, open ? " (" : "");
    write_expression(w, node);
    buffer_text(w->sql, open ? ")" : "");
}

void
write_compared(struct writer *w, const struct node *node, enum tight least)
{
    w->compared = node->kind == NODE_COLUMN;
    write_operand(w, node, least);
    w->compared = false;
}

void
write_collated(struct writer *w, const struct node *node)
{
    enum operand_kind kind = write_kind(node);
    bool plain = write_is_text(kind) || kind == OPERAND_OTHER;

    write_compared(w, node, plain ? TIGHT_COLLATE : TIGHT_EQUAL);
    buffer_text(w->sql, plain ? " COLLATE " COLLATION_TEXT : "");
}

/* Reads the position in ORDER BY 2; 0: no column has it. */
static size_t
parse_item_position(struct span digits)
{
    size_t place = 0;

    for (size_t i = 0; i < digits.size && place <= CURSOR_COLUMNS_MAX; i++)
        place = place * 10 + (size_t)(digits.data[i] - '0');
    return place <= CURSOR_COLUMNS_MAX ? place : 0;
}

/* Finds the item of the list that a term of ORDER BY or GROUP BY means; NULL:
 * none. */
static const struct tree_item *
find_ordering_item(const struct scope *scope, const struct node *node)
{
    const struct tree_item *item;
    size_t wanted =
        node->kind == NODE_INTEGER ? parse_item_position(node->text) : 0;

    if (!scope ||
        (node->kind != NODE_INTEGER && (node->kind != NODE_COLUMN || node->of)))
        return NULL;
    item = scope->select->items;
    for (size_t place = 1;
         item && item->value->kind != NODE_STAR && place <= CURSOR_COLUMNS_MAX;
         item = item->next, place++)
        if (node->kind == NODE_INTEGER
                ? place == wanted
                : span_same_nocase(item->label, node->name))
            return item;
    return NULL;
}

/* Finds the column of a UNION that a term of its ORDER BY means; SIZE_MAX: it
 * is no UNION, or the term is an expression. */
static size_t
column_of(const struct scope *scope, const struct node *node)
{
    const struct tree_query *query = scope ? scope->united : NULL;

    if (query && node->kind == NODE_INTEGER)
        return parse_item_position(node->text) - 1;
    for (size_t i = 0; query && node->kind == NODE_COLUMN && !node->of &&
                       i < types_columns(query);
         i++)
        if (span_same_nocase(types_label(query, i), node->name))
            return i;
    return SIZE_MAX;
}

/* Does SQLite know how it compares: a number, or a column of a table?  Other
 * terms get a collation, because SQLite's sorter compares its default byte by
 * byte. */
static bool
is_collated(const struct writer *w, const struct node *node)
{
    const struct scope *s = w->scope;
    const struct tree_item *item = find_ordering_item(s, node);
    size_t column = column_of(s, node);

    node = item ? item->value : node;
    if (column != SIZE_MAX)
        return result_type_is_number(types_column(s->united, column)) ||
               write_is_bin(node);
    if (node->kind != NODE_COLUMN)
        return write_is_bin(node) || write_is_number(node);
    /* A column may be that of a derived table, which has no collation, if any
     * SELECT around reads one. */
    while (s && !s->select->reads_query)
        s = s->outer;
    return !s;
}

/* Writes hw_key(x) for a DECIMAL that SQLite would not sort. item: what x
 * means in the list; it is written again, as its label may also be a column's
 * name.  But its label is written if it is long, or if it has a ?, which may
 * stand in the text only once. */
static void
write_key(struct writer *w, const struct node *node,
          const struct tree_item *item)
{
    size_t size, parameters = w->parameters;
    bool by_label = item && item->value->text.size > KEY_TEXT_MAX;
    size_t column = column_of(w->scope, node);

    if (column != SIZE_MAX) {
        buffer_format(w->sql, " hw_key( hw_v%zu)", column);
        return;
    }
    buffer_text(w->sql, " hw_key(");
    size = w->sql->size;
    if (!by_label)
        write_expression(w, item ? item->value : node);
    if (by_label || (item && w->parameters != parameters && !w->sql->failed)) {
        /* Takes back what was written. */
        w->sql->size = size;
        w->parameters = parameters;
        write_label(w, item);
    }
    buffer_text(w->sql, ")");
}

/* Must write_key() write it? */
static bool
needs_key(const struct writer *w, const struct node *node,
          const struct tree_item *item)
{
    size_t column = column_of(w->scope, node);

    if (column != SIZE_MAX)
        return result_type_is_long(types_column(w->scope->united, column));
    if (item)
        node = item->value;
    /* Writing an assignment a second time would assign twice. */
    return result_type_is_long(types_operand(node, 0)) && !w->tree->assigns;
}

static void
write_sort_term(struct writer *w, const struct node *node)
{
    bool collated = is_collated(w, node);

    write_operand(w, node, collated ? TIGHT_OR : TIGHT_COLLATE);
    buffer_text(w->sql, collated ? "" : " COLLATE " COLLATION_TEXT);
}

void
write_sorted_list(struct writer *w, const struct node *first)
{
    for (const struct node *node = first; node; node = node->next) {
        buffer_text(w->sql, node == first ? "" : ",");
        write_sort_term(w, node);
    }
}

void
write_order(struct writer *w, const struct tree_order *order, bool lists)
{
    const char *before = " ORDER BY";

    for (; order; order = order->next) {
        const struct tree_item *item =
            lists ? find_ordering_item(w->scope, order->value) : NULL;

        buffer_text(w->sql, before);
        if (needs_key(w, order->value, item))
            write_key(w, order->value, item);
        else
            write_sort_term(w, order->value);
        buffer_text(w->sql, order->descending ? " DESC" : "");
        before = ",";
    }
}

/*
 * ---- snapshots ----
 *
 * A heap_* table is the present heap, unless a condition mentions its snapshot.
 * SQLite shows a table few conditions: no OR, no function of a column.  So the
 * writer looks for them here, by the column's name.
 */

/* Is it a column called snapshot, or a label for one in the latest SELECT? */
bool
write_is_snapshot(const struct writer *w, const struct node *node)
{
    struct span alias = w->snapshot_alias;

    return node->kind == NODE_COLUMN &&
           (span_is_nocase(node->name, "snapshot") ||
            (alias.size > 0 && span_same_nocase(node->name, alias)));
}

void
write_snapshot_column(struct writer *w, const struct node *column)
{
    const char *where = current_clause_name(w);

    if (!w->joined && write_is_snapshot(w, column))
        w->result->names_snapshot |= w->compared ||
                                     strcmp(where, "where clause") == 0 ||
                                     strcmp(where, "on clause") == 0 ||
                                     strcmp(where, "having clause") == 0;
}

void
write_snapshot_value(struct writer *w, const struct value *value)
{
    struct span text = {value->data, value->size};

    if (value->type == VALUE_TEXT && span_is_nocase(text, SNAPSHOT_NOW))
        w->result->names_now = true;
}
