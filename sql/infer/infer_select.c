/* infer_select.c - the columns of SELECT, FROM and WITH. */
#include <string.h>
#include <strings.h>

#include "errors.h"
#include "inference.h"
#include "sql_session.h"

static bool
same(struct span a, struct span b)
{
    return a.size == b.size && strncasecmp(a.data, b.data, a.size) == 0;
}

/* ---- columns ---- */

static void
add_column(struct inference *p, struct shape *shape, struct span name,
           struct result_type type)
{
    size_t capacity = shape->capacity ? shape->capacity * 2 : 8;
    struct shape_column *grown;

    if (shape->count == shape->capacity) {
        grown = inference_alloc(p, capacity * sizeof(*grown));
        if (!grown)
            return;
        if (shape->count)
            memcpy(grown, shape->columns, shape->count * sizeof(*grown));
        shape->columns = grown;
        shape->capacity = capacity;
    }
    shape->columns[shape->count].name = name;
    shape->columns[shape->count++].type = type;
}

static size_t
source_columns(const struct source *source)
{
    return source->table ? source->table->column_count : source->shape.count;
}

static struct shape_column
source_column(const struct source *source, size_t i)
{
    const struct catalog_column *column;
    struct shape_column out;

    if (!source->table)
        return source->shape.columns[i];
    column = &source->table->columns[i];
    out.name.data = column->name;
    out.name.size = strlen(column->name);
    out.type = result_type_of(column->type->type);
    out.type.width = column->type->width;
    out.type.flags = catalog_flags(source->table, i);
    return out;
}

struct result_type
infer_column(const struct inference *p, const struct span *table,
             struct span name)
{
    for (const struct sources *s = p->sources; s; s = s->outer)
        for (const struct source *source = s->first; source;
             source = source->next) {
            if (table && !same(source->name, *table))
                continue;
            for (size_t i = 0; i < source_columns(source); i++) {
                struct shape_column column = source_column(source, i);

                if (same(column.name, name))
                    return column.type;
            }
        }
    return result_type_unknown();
}

/* ---- FROM ---- */

/* [AS] name */
static bool
accept_alias(struct inference *p, struct span *out)
{
    enum token_kind kind;

    if (!inference_accept(p, "AS") && !inference_at_name(p) &&
        inference_here(p)->token.kind != TOKEN_STRING)
        return false;
    kind = inference_here(p)->token.kind;
    if (kind != TOKEN_WORD && kind != TOKEN_QUOTED && kind != TOKEN_STRING)
        return false;
    *out = inference_name(p, &inference_here(p)->token);
    p->at++;
    return true;
}

/* (a, b) behind a name: labels of its columns. */
static void
rename_columns(struct inference *p, struct shape *shape)
{
    size_t i = 0;

    if (!inference_accept_operator(p, "("))
        return;
    for (; inference_at_name(p); i++) {
        if (i < shape->count)
            shape->columns[i].name =
                inference_name(p, &inference_here(p)->token);
        p->at++;
        inference_accept_operator(p, ",");
    }
    inference_accept_operator(p, ")");
}

static struct source *
add_source(struct inference *p)
{
    struct source *source = inference_alloc(p, sizeof(*source));

    if (!source)
        return NULL;
    *p->sources->last = source;
    p->sources->last = &source->next;
    return source;
}

static void
derived_table(struct inference *p)
{
    size_t end = inference_here(p)->match;
    struct source *source;
    struct shape shape;

    p->at++;
    shape = infer_select(p);
    p->at = end;
    inference_accept_operator(p, ")");
    source = add_source(p);
    if (!source)
        return;
    source->shape = shape;
    if (accept_alias(p, &source->name))
        rename_columns(p, &source->shape);
}

static void
named_table(struct inference *p)
{
    struct span first = inference_name(p, &inference_here(p)->token), second;
    struct source *source = add_source(p);
    struct error unlikely; /* never set: SQLite found the table */
    const struct cte *cte = p->ctes;
    bool qualified;

    p->at++;
    qualified = inference_accept_operator(p, ".");
    second = first;
    if (qualified) {
        second = inference_name(p, &inference_here(p)->token);
        inference_skip(p);
    }
    if (!source)
        return;
    source->name = second;
    while (!qualified && cte && !same(cte->name, first))
        cte = cte->outer;
    if (!qualified && cte)
        source->shape = cte->shape;
    else
        source->table = catalog_resolve(
            p->job->session, qualified ? &first : NULL, second, &unlikely);
    accept_alias(p, &source->name);
}

static bool
at_from_end(const struct inference *p)
{
    const struct piece *here = inference_here(p);

    return here->token.kind == TOKEN_END || here->word == WORD_TAIL ||
           here->word == WORD_GROUP || here->word == WORD_HAVING ||
           here->word == WORD_INTO || here->word == WORD_LOCKING ||
           here->word == WORD_WINDOW || here->word == WORD_LIMIT ||
           here->word == WORD_UNION || token_is_operator(&here->token, ")");
}

/* Tables, JOIN, ON conditions, and joins in parentheses. */
static void
from(struct inference *p)
{
    bool expects_table = true;

    while (!p->lost && !at_from_end(p)) {
        const struct piece *here = inference_here(p);

        if (expects_table && token_is_operator(&here->token, "(")) {
            if (here[1].word == WORD_SELECT || here[1].word == WORD_WITH) {
                derived_table(p);
                expects_table = false;
            } else if (++p->depth > INFERENCE_DEPTH_MAX) {
                p->lost = true;
            } else {
                p->at++;
                from(p);
                inference_accept_operator(p, ")");
                p->depth--;
                expects_table = false;
            }
        } else if (expects_table && (here->token.kind == TOKEN_WORD ||
                                     here->token.kind == TOKEN_QUOTED)) {
            named_table(p);
            expects_table = false;
        } else {
            expects_table =
                token_is_operator(&here->token, ",") || here->word == WORD_JOIN;
            inference_skip(p);
        }
    }
}

/* ---- the list ---- */

/* "*" and "table.*" */
static bool
star(struct inference *p, struct shape *shape)
{
    const struct piece *here = inference_here(p);
    struct span table = {NULL, 0};
    size_t i = 0;

    while (here[i].token.kind == TOKEN_WORD ||
           here[i].token.kind == TOKEN_QUOTED) {
        if (!token_is_operator(&here[i + 1].token, "."))
            return false;
        table = inference_name(p, &here[i].token);
        i += 2;
    }
    if (!token_is_operator(&here[i].token, "*"))
        return false;
    p->at += i + 1;
    for (const struct source *s = p->sources->first; s; s = s->next)
        for (size_t c = 0; (i == 0 || same(s->name, table)) &&
                           c < source_columns(s) && !p->no_memory;
             c++) {
            struct shape_column column = source_column(s, c);

            add_column(p, shape, column.name, column.type);
        }
    return true;
}

static struct span
label(struct inference *p, size_t first)
{
    const struct token *last = &p->pieces[p->at - 1].token;
    const char *start = p->pieces[first].token.text.data;
    struct span text = {start,
                        (size_t)(last->text.data + last->text.size - start)};

    if (last->kind == TOKEN_QUOTED || p->at == first + 1)
        return inference_name(p, last);
    if (last->kind == TOKEN_WORD &&
        token_is_operator(&p->pieces[p->at - 2].token, "."))
        return last->text;
    return text;
}

static void
item(struct inference *p, struct shape *shape, size_t end)
{
    size_t first = p->at;
    struct result_type type;
    struct span name;

    if (star(p, shape))
        return;
    type = infer_expression(p);
    if (!p->no_memory)
        p->lost = false;
    if (p->at == first || p->at > end)
        p->at = first + 1;
    name = label(p, first);
    accept_alias(p, &name);
    if (p->at < end && !inference_is_operator(p, ","))
        type = result_type_unknown();
    while (p->at < end && !inference_is_operator(p, ","))
        inference_skip(p);
    add_column(p, shape, name, type);
}

static bool
at_list_end(const struct inference *p)
{
    return inference_here(p)->word == WORD_FROM || at_from_end(p);
}

/* One SELECT of a UNION.  It reads FROM first, though that comes later in the
 * text. */
static struct shape
select_core(struct inference *p)
{
    struct sources sources = {.outer = p->sources, .last = &sources.first};
    struct shape shape = {0};
    size_t start, end;

    p->at++;
    while (inference_here(p)->word == WORD_QUANTIFIER ||
           inference_here(p)->word == WORD_DROP ||
           inference_here(p)->word == WORD_CALC ||
           inference_is(p, "STRAIGHT_JOIN"))
        p->at++;
    start = p->at;
    while (!at_list_end(p))
        inference_skip(p);
    end = p->at;
    p->sources = &sources;
    if (inference_here(p)->word == WORD_FROM) {
        p->at++;
        if (!inference_accept(p, "DUAL"))
            from(p);
    }
    while (inference_here(p)->token.kind != TOKEN_END &&
           inference_here(p)->word != WORD_UNION &&
           !inference_is_operator(p, ")"))
        inference_skip(p);
    if (!p->lost) {
        size_t after = p->at;

        p->at = start;
        while (!p->lost && p->at < end) {
            item(p, &shape, end);
            inference_accept_operator(p, ",");
        }
        p->at = after;
    }
    p->sources = sources.outer;
    return shape;
}

/* ---- WITH, UNION ---- */

static void
widen(struct shape *shape, const struct shape *other)
{
    for (size_t i = 0; i < shape->count && i < other->count; i++)
        shape->columns[i].type =
            result_type_widened(shape->columns[i].type, other->columns[i].type);
}

/* A SELECT, or one in parentheses, as part of a compound. */
static struct shape
part(struct inference *p)
{
    struct shape shape = {0};
    size_t end;

    if (inference_here(p)->word == WORD_SELECT)
        return select_core(p);
    if (!inference_is_operator(p, "(")) {
        p->lost = true;
        return shape;
    }
    end = inference_here(p)->match;
    p->at++;
    shape = infer_select(p);
    if (!p->lost && p->at == end)
        inference_accept_operator(p, ")");
    else
        p->lost = true;
    return shape;
}

/* SELECT ... UNION SELECT ...; if it is recursive (cte not NULL), the first
 * part gives the columns that the others see. */
static struct shape
compound(struct inference *p, struct cte *cte, size_t names)
{
    struct shape shape, other;
    size_t at;

    shape = part(p);
    if (cte) {
        at = p->at;
        p->at = names;
        rename_columns(p, &shape);
        p->at = at;
        cte->shape = shape;
        p->ctes = cte;
    }
    while (!p->lost && inference_here(p)->word == WORD_UNION) {
        p->at++;
        while (inference_here(p)->word == WORD_QUANTIFIER)
            p->at++;
        other = part(p);
        widen(&shape, &other);
    }
    return shape;
}

/* name [(columns)] AS (SELECT ...) */
static void
define_cte(struct inference *p)
{
    struct cte *cte = inference_alloc(p, sizeof(*cte));
    size_t names = p->at + 1, end;

    if (!cte)
        return;
    cte->outer = p->ctes;
    cte->name = inference_name(p, &inference_here(p)->token);
    p->at++;
    if (inference_is_operator(p, "("))
        inference_skip(p);
    inference_accept(p, "AS");
    if (!inference_is_operator(p, "(")) {
        p->lost = true;
        return;
    }
    end = inference_here(p)->match;
    p->at++;
    if (inference_here(p)->word == WORD_WITH) {
        cte->shape = infer_select(p);
        p->at = names;
        rename_columns(p, &cte->shape);
        p->ctes = cte;
    } else {
        compound(p, cte, names);
    }
    p->at = end;
    inference_accept_operator(p, ")");
}

struct shape
infer_select(struct inference *p)
{
    struct cte *outer = p->ctes;
    struct shape shape = {0};

    if (++p->depth > INFERENCE_DEPTH_MAX)
        p->lost = true;
    if (inference_here(p)->word == WORD_WITH) {
        p->at++;
        inference_accept(p, "RECURSIVE");
        do
            define_cte(p);
        while (!p->lost && inference_accept_operator(p, ","));
    }
    if (!p->lost)
        shape = compound(p, NULL, 0);
    p->ctes = outer;
    p->depth--;
    return shape;
}

bool
infer_at_select(const struct inference *p)
{
    return inference_here(p)->word == WORD_SELECT ||
           inference_here(p)->word == WORD_WITH;
}
