/* select_plan.c - see select_query.h. */

#include <pthread.h>
#include <string.h>

#include "arena.h"
#include "select_query.h"
#include "sql.h"
#include "sql_cursor.h"
#include "sql_session.h"

/* Each text has one place, which the newest plan takes. */
static struct {
    pthread_mutex_t lock;
    struct select_plan *plans[PLANS_KEPT];
} kept = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* FNV-1a. */
static size_t
place_of(struct span text)
{
    uint32_t hash = 2166136261;

    for (size_t i = 0; i < text.size; i++)
        hash = (hash ^ (unsigned char)text.data[i]) * 16777619;
    return hash % PLANS_KEPT;
}

static size_t
count_of(const struct sql_parameters *parameters)
{
    return parameters ? parameters->count : 0;
}

/* Whether hints and session variables do not matter: the variables' values and
 * types, and the parts of sql_mode about " and ||. */
static bool
is_plain(const struct sql_session *session, struct span text)
{
    if (text.size > PLAN_TEXT_MAX || memmem(text.data, text.size, "/*+", 3))
        return false;
    for (size_t i = 0; session->values && i < text.size; i++)
        if (strchr("@\"|", text.data[i]))
            return false;
    return true;
}

static bool
answers(const struct select_plan *plan, struct span text,
        const struct sql_parameters *parameters)
{
    if (plan->text.size != text.size ||
        plan->parameter_count != count_of(parameters) ||
        memcmp(plan->text.data, text.data, text.size) != 0)
        return false;
    for (size_t i = 0; i < plan->parameter_count; i++)
        if (parameters->values[i].type != plan->types[i] ||
            parameters->values[i].kind != 0 ||
            parameters->values[i].size > PLAN_VALUE_MAX)
            return false;
    return true;
}

struct select_plan *
select_plan_find(const struct sql_session *session, struct span text,
                 const struct sql_parameters *parameters)
{
    struct select_plan *plan;

    if (!is_plain(session, text))
        return NULL;
    pthread_mutex_lock(&kept.lock);
    plan = kept.plans[place_of(text)];
    if (plan && answers(plan, text, parameters))
        atomic_fetch_add(&plan->references, 1);
    else
        plan = NULL;
    pthread_mutex_unlock(&kept.lock);
    return plan;
}

void
select_plan_unref(struct select_plan *plan)
{
    if (plan && atomic_fetch_sub(&plan->references, 1) == 1)
        arena_free(plan->arena);
}

static struct span
copy(struct arena *arena, const char *data, size_t size)
{
    return (struct span){arena_strndup(arena, data, size), size};
}

static const enum value_type *
copy_types(struct arena *arena, const struct sql_parameters *parameters)
{
    size_t count = count_of(parameters);
    enum value_type *types = arena_alloc(arena, count * sizeof(*types));

    for (size_t i = 0; types && i < count; i++)
        types[i] = parameters->values[i].type;
    return types;
}

/* A plan with one reference; NULL: too large, or out of memory. */
static struct select_plan *
plan_new(const struct query *query, const struct cursor *cursor,
         const struct sql_parameters *parameters)
{
    struct span text = query->deparse.source;
    struct arena *arena = arena_new(PLAN_BYTES_MAX);
    struct select_plan *plan = arena ? arena_alloc(arena, sizeof(*plan)) : NULL;

    if (plan) {
        plan->text = copy(arena, text.data, text.size);
        plan->types = copy_types(arena, parameters);
        plan->parameter_count = count_of(parameters);
        plan->sql = copy(arena, query->sql.data, query->sql.size);
        plan->columns = sql_cursor_copy_columns(cursor, arena);
        plan->column_count = cursor->column_count;
        plan->has_limit = query->has_limit;
    }
    if (!plan || !plan->text.data || !plan->types || !plan->sql.data ||
        !plan->columns) {
        arena_free(arena);
        return NULL;
    }
    plan->arena = arena;
    atomic_init(&plan->references, 1);
    return plan;
}

/* Stores plan (or NULL) in its place, and takes it. */
static void
put(size_t place, struct select_plan *plan)
{
    struct select_plan *old;

    pthread_mutex_lock(&kept.lock);
    old = kept.plans[place];
    kept.plans[place] = plan;
    pthread_mutex_unlock(&kept.lock);
    select_plan_unref(old);
}

void
select_plan_keep(const struct query *query, const struct cursor *cursor,
                 const struct sql_parameters *parameters)
{
    static const struct table_set none;
    const struct deparsed *deparsed = &query->deparsed;
    const struct tree *tree = query->deparse.tree;
    struct select_plan *plan;

    if (!is_plain(query->deparse.session, query->deparse.source) ||
        tree->table_count > 0 || tree->assigns || tree->into_count > 0 ||
        deparsed->reordered || deparsed->reads_values ||
        !table_set_has_all(&none, &deparsed->tables))
        return;
    for (size_t i = 0; i < count_of(parameters); i++)
        if (parameters->values[i].size > PLAN_VALUE_MAX ||
            parameters->values[i].kind != 0)
            return;
    plan = plan_new(query, cursor, parameters);
    if (plan)
        put(place_of(query->deparse.source), plan);
}

void
select_plan_forget(void)
{
    for (size_t i = 0; i < PLANS_KEPT; i++)
        put(i, NULL);
}
