/*
 * tables_history.c - the database's memory over the last hours.
 *
 * The kernel's figures are of each second, jemalloc's of each ten.
 */
#include <string.h>

#include "catalog_tables.h"
#include "clock.h"
#include "history.h"
#include "memory.h"
#include "rowset.h"
#include "sql_session.h"

enum { AT, PID, STARTED, PROFILING, RESPONSIVE, RSS, FIGURES = 10 };

static void
give_int(struct value *out, int64_t value)
{
    out->type = VALUE_INT;
    out->integer = value;
}

static void
give_time(struct value *out, int64_t wall_ms, char text[ROWSET_TEXT])
{
    if (wall_ms <= 0)
        return;
    clock_text(wall_ms, text, ROWSET_TEXT);
    out->type = VALUE_TEXT;
    out->data = text;
    out->size = strlen(text);
}

static void
give_figure(struct value *out, const struct history_sample *s, size_t i)
{
    const struct stats_figure *const figures[FIGURES] = {
        &s->rss,       &s->cgroup_current, &s->cgroup_cache, &s->cgroup_limit,
        &s->allocated, &s->active,         &s->metadata,     &s->resident,
        &s->mapped,    &s->retained};

    if (figures[i]->known && figures[i]->value <= INT64_MAX)
        give_int(out, (int64_t)figures[i]->value);
}

static void
cell(const void *taken, size_t row, size_t column, struct value *out,
     char text[ROWSET_TEXT])
{
    const struct history_sample *sample =
        (const struct history_sample *)taken + row;

    switch (column) {
    case AT:
        give_time(out, sample->at_ms, text);
        break;
    case PID:
        give_int(out, sample->pid);
        break;
    case STARTED:
        give_time(out, sample->started_ms, text);
        break;
    case PROFILING:
        give_int(out, sample->profiling);
        break;
    case RESPONSIVE:
        give_int(out, !sample->unresponsive);
        break;
    default:
        give_figure(out, sample, column - RSS);
    }
}

/* Copies the samples, which take a sixth of the memory of their cells. */
static void
produce(const struct catalog_scope *scope, struct rowset *out)
{
    struct history *history = scope->session->node->history;
    struct history_sample *samples =
        history ? mem_alloc(HISTORY_SAMPLES * sizeof(*samples)) : NULL;
    uint64_t next = 0;

    if (samples)
        rowset_take(out, samples,
                    history_read(history, &next, samples, HISTORY_SAMPLES),
                    cell);
    else if (history)
        out->failed = true;
}

static const struct catalog_column memory_history[] = {
    CATALOG_NODE_ID,
    {"at", &type_time, "UTC; one row a second while a database is there"},
    {"pid", &type_ubigint_nn, "Of the database then"},
    {"started", &type_time, "When that database came up, UTC"},
    {"profiling", &type_boolean_nn, "Whether it was on"},
    {"responsive", &type_boolean_nn, "Whether the database answered"},
    {"rss", &type_bigint, "Bytes in memory, by the kernel's count"},
    {"cgroup_current", &type_bigint,
     "Bytes that the cgroup uses, page cache included"},
    {"cgroup_cache", &type_bigint,
     "Of them file pages, which the kernel takes back first"},
    {"cgroup_limit", &type_bigint,
     "The smallest limit of the cgroup and those around it; NULL: none"},
    {"allocated", &type_bigint,
     "Bytes the program has in use; jemalloc's figures: each ten seconds, and "
     "of up to three seconds before"},
    {"active", &type_bigint, "Bytes of pages that hold them"},
    {"metadata", &type_bigint, "Bytes of jemalloc's bookkeeping"},
    {"resident", &type_bigint, "Bytes in memory, by jemalloc's count"},
    {"mapped", &type_bigint, "Bytes of address space in use"},
    {"retained", &type_bigint, "Bytes of address space kept, without memory"},
};

const struct catalog_table tables_history[] = {
    {"heapwire", "memory_history", CATALOG_OWN_COLUMNS(memory_history), produce,
     "The database's memory of the last hours, oldest first", PRIVILEGE_STATUS},
    CATALOG_OF_ALL("memory_history", memory_history, PRIVILEGE_STATUS,
                   &tables_history[0]),
    {NULL},
};
