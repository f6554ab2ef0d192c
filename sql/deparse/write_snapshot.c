/*
 * write_snapshot.c - finds out whether a statement asks for kept snapshots.
 *
 * A heap_* table is the present heap, unless a condition mentions its snapshot.
 * SQLite shows a table few conditions: no OR, no function of a column.  So the
 * writer looks for them here, by the column's name.
 */
#include <string.h>

#include "snapshot.h"
#include "sql_session.h"
#include "writer.h"

/* Also its label in the latest SELECT. */
bool
write_is_snapshot(const struct writer *w, const struct node *node)
{
    struct span alias = w->snapshot_alias;

    return node->kind == NODE_COLUMN &&
           (span_is_nocase(node->name, "snapshot") ||
            (alias.size > 0 && span_same_nocase(node->name, alias)));
}

void
write_snapshot_item(struct writer *w, const struct tree_item *item)
{
    if (item->has_alias && write_is_snapshot(w, item->value))
        w->snapshot_alias = item->label;
}

void
write_snapshot_column(struct writer *w, const struct node *column)
{
    const char *where = write_where(w);

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
