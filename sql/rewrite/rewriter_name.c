/* rewriter_name.c - names of tables, common table expressions, columns,
 * functions. */
#include "rewriter.h"

#include <string.h>
#include <strings.h>

#include "catalog.h"
#include "errors.h"
#include "privileges.h"
#include "rewrite_words.h"
#include "sql.h"
#include "sql_session.h"

/* ---- tables ---- */

static bool
is_cte(const struct rewriter *r, struct span name)
{
    for (size_t i = 0; i < r->cte_count; i++)
        if (r->ctes[i].size == name.size &&
            strncasecmp(r->ctes[i].data, name.data, name.size) == 0)
            return true;
    return false;
}

/* [database.]table where a table is expected; the token is the first name. */
static int
table_reference(struct rewriter *r)
{
    const struct catalog_table *table;
    struct span first, second;
    bool qualified = token_is_operator(&r->ahead, ".");

    rewriter_top(r)->expects_table = false;
    r->result->has_tables = true;
    if (rewriter_decode(r, &r->token, &first) != 0)
        return -1;
    if (!qualified && is_cte(r, first)) {
        rewriter_top(r)->reads_select = true;
        rewriter_emit_identifier(r, first);
        return 0;
    }
    second = first;
    if (qualified) {
        rewriter_advance(r);
        rewriter_advance(r);
        if (!rewriter_may_name(&r->token))
            return rewriter_fail(r);
        if (rewriter_decode(r, &r->token, &second) != 0)
            return -1;
    }
    table = catalog_resolve(r->job->session, qualified ? &first : NULL, second,
                            r->err);
    if (!table || privilege_check(r->job->session->who.privileges,
                                  table->privilege, r->err) != 0)
        return -1;
    table_set_add(&r->result->tables, catalog_index(table));
    buffer_format(r->sql, " \"%s\".\"%s\"", table->database, table->name);
    return 0;
}

/* WITH name [(columns)] AS (...), name ... */
static int
define_cte(struct rewriter *r)
{
    struct span name;

    if (r->cte_count == REWRITE_CTES_MAX)
        return rewriter_fail(r);
    if (rewriter_decode(r, &r->token, &name) != 0)
        return -1;
    r->ctes[r->cte_count++] = name;
    rewriter_emit_identifier(r, name);
    return 0;
}

/* A function's name, which a parenthesis follows. */
static int
call(struct rewriter *r)
{
    const char *out = NULL;

    r->call_follows = true;
    r->special_follows = rewriter_special(r->token.text, &out);
    rewriter_operand(r, OPERAND_OTHER);
    if (!out)
        return rewriter_emit_decoded(r, &r->token);
    rewriter_emit(r, out);
    return 0;
}

/* hw_...: only the rewriter makes such calls, with arguments that it has
 * chosen. */
static int
check_call(struct rewriter *r)
{
    struct span name;

    if (rewriter_decode(r, &r->token, &name) != 0)
        return -1;
    if (name.size < 3 || strncasecmp(name.data, "hw_", 3) != 0)
        return 0;
    error_set(r->err, ER_FUNCTION_UNKNOWN, "FUNCTION %.*s does not exist",
              name.size < SQL_NAME_MAX ? (int)name.size : SQL_NAME_MAX,
              name.data);
    return -1;
}

int
rewriter_name(struct rewriter *r)
{
    struct level *level = rewriter_top(r);
    bool part = token_is_operator(&r->previous, ".");

    if (level->expects_table)
        return table_reference(r);
    if (level->clause == CLAUSE_WITH && !part)
        return define_cte(r);
    if (part) {
        rewriter_snapshot_column(r);
        return rewriter_emit_decoded(r, &r->token);
    }
    if (!rewriter_wants_operand(r)) {
        rewriter_expression_end(r); /* an alias */
        return rewriter_emit_decoded(r, &r->token);
    }
    if (token_is_operator(&r->ahead, "(") && check_call(r) != 0)
        return -1;
    if (r->token.kind == TOKEN_WORD && token_is_operator(&r->ahead, "("))
        return call(r);
    if (token_is(&r->token, "UNKNOWN") &&
        (token_is(&r->previous, "IS") || token_is(&r->previous, "NOT"))) {
        rewriter_operand(r, OPERAND_OTHER);
        rewriter_emit(r, "NULL");
        return 0;
    }
    rewriter_operand(r, OPERAND_COLUMN);
    rewriter_snapshot_column(r);
    return rewriter_emit_decoded(r, &r->token);
}
