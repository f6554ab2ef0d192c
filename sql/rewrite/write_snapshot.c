/*
 * write_snapshot.c - finds out whether a statement asks for kept snapshots.
 *
 * A heap_* table is the present heap, unless a condition mentions its snapshot.
 * SQLite shows a table few conditions: no OR, no function of a column.  So the
 * writer looks for them here, by the column's name.
 */
#include <string.h>
#include <strings.h>

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
            (node->name.size > 0 && node->name.size == alias.size &&
             strncasecmp(node->name.data, alias.data, alias.size) == 0));
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
    static const char *const conditions[] = {"where clause", "on clause",
                                             "having clause"};
    bool asks = w->compared;

    if (w->joined || !write_is_snapshot(w, column))
        return;
    for (size_t i = 0; i < sizeof(conditions) / sizeof(conditions[0]); i++)
        asks = asks || strcmp(write_where(w), conditions[i]) == 0;
    w->result->names_snapshot |= asks;
}

void
write_snapshot_value(struct writer *w, const struct value *value)
{
    struct span text = {value->data, value->size};

    if (value->type == VALUE_TEXT && span_is_nocase(text, SNAPSHOT_NOW))
        w->result->names_now = true;
}
