/*
 * rewriter_subquery.c - a SELECT in place of a value may have one row at most.
 *
 * SQLite takes the first row of many.  So hw_one(), an aggregate that fails at
 * the second row, reads a SELECT that may have several.
 */
#include "rewriter.h"

bool
rewriter_is_scalar(const struct rewriter *r, const struct level *outer)
{
    static const char *const words[] = {"EXISTS", "IN",  "ANY",
                                        "SOME",   "ALL", "OVER"};
    const struct pending *last;

    if (r->call_follows || outer->expects_table || outer->clause == CLAUSE_WITH)
        return false;
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (token_is(&r->previous, words[i]))
            return false;
    last = r->pending_count > outer->pending_base
               ? &r->pending[r->pending_count - 1]
               : NULL;
    return !last || last->left.kind != OPERAND_ROW;
}

static bool
may_have_rows(const struct level *level)
{
    if (level->is_short)
        return false;
    if (level->is_compound || level->has_group)
        return true;
    return level->has_from && (!level->has_aggregate || level->has_over);
}

/* x IN ((SELECT ...)) */
static bool
is_whole_list(const struct rewriter *r, const struct level *list,
              const struct level *level)
{
    if (!list->in_list || list->listed > 0 || r->sql->failed ||
        !token_is_operator(&r->ahead, ")"))
        return false;
    for (size_t i = list->content; i + 1 < level->content; i++)
        if (r->sql->data[i] != ' ')
            return false;
    return true;
}

void
rewriter_scalar_end(struct rewriter *r)
{
    struct level *level = rewriter_top(r);

    if (level->quantified && level->is_query) {
        buffer_format(r->sql, ") SELECT hw_bounds(%u,v) FROM hw_rows",
                      level->slot);
        rewriter_insert(r, level->content, " WITH hw_rows(v) AS (");
        return;
    }
    if (!level->scalar || !level->is_query)
        return;
    if (is_whole_list(r, level - 1, level)) {
        r->sql->data[level->content - 1] = ' ';
        level->bare = level[-1].is_query = true;
        return;
    }
    if (level->columns > 1 || !may_have_rows(level))
        return;
    buffer_text(r->sql, ") SELECT hw_one(v) FROM hw_rows");
    rewriter_insert(r, level->content, " WITH hw_rows(v) AS (");
}
