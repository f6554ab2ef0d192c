/*
 * tables_diagnosis.c - heapwire.diagnosis: what is unusual about the
 * database's memory and what to do, as rows; diagnose() gives the same as a
 * page.
 *
 * The work is plugin/diagnosis's.  The snapshot was fetched before, where it
 * may be had (NEED_TOTAL); without one the findings are fewer.
 */
#include "allocator.h"
#include "buffer.h"
#include "catalog_tables.h"
#include "controller.h"
#include "errors.h"
#include "node_facts.h"
#include "sql.h"
#include "sql_cursor.h"
#include "sql_session.h"
#include "view_cache.h"
#include "view_options.h"

enum { STEPS_TEXT_MAX = FINDING_STEPS_MAX * (FINDING_TEXT_MAX + 8) };

static void
add_steps(const struct finding *finding, struct rowset *out)
{
    struct buffer text;

    buffer_init(&text, STEPS_TEXT_MAX);
    for (size_t i = 0; i < finding->step_count; i++)
        buffer_format(&text, "%s%zu. %s", i > 0 ? "\n" : "", i + 1,
                      finding->steps[i]);
    out->failed |= text.failed;
    rowset_bytes(out, text.size > 0 ? text.data : "", text.size);
    buffer_fini(&text);
}

static void
add_finding_row(const struct finding *finding, size_t place, struct rowset *out)
{
    rowset_int(out, (int64_t)place);
    rowset_text(out, finding_kind_name(finding->kind));
    rowset_text(out, finding_certainty_name(finding->certainty));
    rowset_text(out, finding->subject[0] ? finding->subject : NULL);
    rowset_int_if(out, finding->bytes > 0 && finding->bytes <= INT64_MAX,
                  (int64_t)finding->bytes);
    rowset_text(out, finding->why);
    add_steps(finding, out);
}

static void
produce_diagnosis(const struct catalog_scope *scope, struct rowset *out)
{
    const struct sql_node *node = scope->session->node;
    char wrappers[WRAPPERS_TEXT_BYTES] = "";
    struct view_options options = view_defaults;
    const struct node_sources from = {.controller = node->controller,
                                      .node_id = node->id,
                                      .await = scope->await,
                                      .user = scope->session->who.user,
                                      .state_dir = node->state_dir,
                                      .history = node->history,
                                      .trends = node->trends,
                                      .snapshot = scope->snapshot,
                                      .no_snapshot = scope->no_total,
                                      .options = &options};
    struct node_diagnosis *made;
    struct error err;

    if (node->views)
        view_cache_get_wrappers(node->views, wrappers);
    options.wrappers = wrappers;
    options.cancelled = scope->cancelled;
    made = node_diagnosis_new(&from, &err);
    if (!made) {
        rowset_fail(out, &err);
        return;
    }
    for (size_t i = 0; i < made->diagnosis.count; i++)
        add_finding_row(&made->diagnosis.findings[i], i + 1, out);
    node_diagnosis_free(made);
}

static const struct catalog_column diagnosis_columns[] = {
    CATALOG_NODE_ID,
    {"place", &type_ubigint, "1: what to look at first", CATALOG_KEY},
    {"verdict", &type_name_nn,
     "died, does not answer, full soon, leak, growth, fragmentation, free "
     "pages "
     "kept, outside the allocator, cache that fills, limit too low, not known "
     "yet or nothing unusual"},
    {"certainty", &type_name_nn, "possible, likely or certain"},
    {"subject", &type_256,
     "The function or other thing that it is about; NULL: the whole database"},
    {"bytes", &type_bigint,
     "How many bytes it is about; NULL: it is not about bytes"},
    {"why", &type_text_nn, "What was seen"},
    {"steps", &type_plain_text_nn,
     "What to do, a line each, the least risky first"},
};

const struct catalog_table tables_diagnosis[] = {
    {"heapwire", "diagnosis", CATALOG_OWN_COLUMNS(diagnosis_columns),
     produce_diagnosis,
     "What is unusual about the database's memory, and what to do about it",
     PRIVILEGE_PROFILE, NEED_TOTAL | NEED_TIME},
    CATALOG_OF_ALL("diagnosis", diagnosis_columns, PRIVILEGE_PROFILE,
                   &tables_diagnosis[0]),
    {NULL},
};
