/* write_from.c - FROM: tables, queries, joins. */
#include "writer.h"

/* (SELECT ...) AS alias; SQLite names columns in a WITH alone.  Its name is
 * none of the query's own: the alias may be that of a table in it. */
static void
derived(struct writer *w, const struct tree_table *table)
{
    write_text(w, " (");
    if (table->columns) {
        write_text(w, " WITH hw_named");
        write_names(w, table->columns);
        write_text(w, " AS (");
    }
    w->query(w, table->query);
    write_text(w, table->columns ? ") SELECT * FROM hw_named)" : ")");
}

static void
table_alone(struct writer *w, const struct tree_table *table)
{
    struct span alias = table->alias;

    write_mark(w, table->text.data);
    if (table->query) {
        derived(w, table);
    } else if (table->inner) {
        write_text(w, " (");
        write_from(w, table->inner);
        write_text(w, ")");
    } else if (table->cte) {
        write_cte_name(w, table->name);
        alias = alias.size > 0 ? alias : table->name;
    } else {
        buffer_format(w->sql, " \"%s\".\"%s\"", table->table->database,
                      table->table->name);
    }
    if (alias.size > 0) {
        write_text(w, " AS");
        write_identifier(w, alias);
    }
}

void
write_from(struct writer *w, const struct tree_table *first)
{
    static const char *const joins[] = {[JOIN_FIRST] = "",
                                        [JOIN_COMMA] = ",",
                                        [JOIN_INNER] = " JOIN",
                                        [JOIN_LEFT] = " LEFT JOIN",
                                        [JOIN_RIGHT] = " RIGHT JOIN"};

    for (const struct tree_table *t = first; t; t = t->next) {
        write_text(w, t->natural ? " NATURAL" : "");
        write_text(w, joins[t->join]);
        table_alone(w, t);
        if (t->on) {
            write_text(w, " ON");
            write_expression(w, t->on);
        } else if (t->using) {
            write_text(w, " USING ");
            write_names(w, t->using);
        }
    }
}
