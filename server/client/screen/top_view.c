/*
 * top_view.c - see top_view.h.
 *
 * Each view is a table of columns, with the SQL of each, and a row of
 * top_views.  A column's rank says when it goes on a narrow terminal.  key
 * names the columns that tell a row from others, by which two polls are
 * compared.  A view whose table an old node lacks has another one to show
 * instead.
 */
#include "top_view.h"

#include "buffer.h"
#include "client.h"

#define COLUMNS(array)                                                         \
    .columns = (array), .count = sizeof(array) / sizeof((array)[0])

static const struct top_column functions[] = {
    {"FLAT", "SUM(flat_bytes)", TOP_BYTES, 0, 6, 0},
    {"FLAT%", NULL, TOP_SHARE, 0, 5, 3},
    {"+-", "SQRT(SUM(flat_error * flat_error))", TOP_BYTES, 0, 6, 5},
    {"CUM", "SUM(cum_bytes)", TOP_BYTES, 0, 6, 1},
    {"OBJECTS", "SUM(flat_objects)", TOP_COUNT, 0, 7, 4},
    {"NODES", "COUNT(DISTINCT node_id)", TOP_COUNT, 0, 5, 6},
    {"FUNCTION", "function", TOP_TEXT, 0, 0, 0},
};

static const struct top_column threads[] = {
    {"NODE", "node_id", TOP_TEXT, 0, 6, 4},
    {"TID", "coalesce(tid, concat('#', number))", TOP_TEXT, 0, 7, 2},
    {"BYTES", "live_bytes", TOP_BYTES, 0, 6, 0},
    {"SHARE", "percent", TOP_PERCENT, 0, 5, 3},
    {"OBJECTS", "live_objects", TOP_COUNT, 0, 7, 5},
    {"POOL", "pool", TOP_TEXT, 0, 15, 6},
    {"NAME", "name", TOP_TEXT, 0, 15, 1},
    {"TOP FUNCTION", "top_function", TOP_TEXT, 0, 0, 0},
};

static const struct top_column running[] = {
    {"NODE", "node_id", TOP_TEXT, 0, 6, 4},
    {"TID", "tid", TOP_TEXT, 0, 7, 2},
    {"S", "state", TOP_TEXT, 0, 1, 3},
    {"CPU%", NULL, TOP_LOAD, 4, 5, 0},
    {"TIME", "user_ms + system_ms", TOP_TIME, 0, 6, 1},
    {"WAITS IN", "wchan", TOP_TEXT, 0, 15, 5},
    {"NAME", "name", TOP_TEXT, 0, 0, 0},
};

static const struct top_column waste[] = {
    {"WASTE", "SUM(waste_bytes)", TOP_BYTES, 0, 6, 0},
    {"+-", "SUM(error_bytes)", TOP_BYTES, 0, 6, 4},
    {"LIVE", "SUM(live_bytes)", TOP_BYTES, 0, 6, 3},
    {"USED%", "100 * AVG(utilization)", TOP_PERCENT, 0, 5, 2},
    {"CLASS", "size_class", TOP_BYTES, 0, 6, 1},
    {"KIND", "kind", TOP_TEXT, 0, 13, 5},
    {"FUNCTION", "coalesce(`function`, concat('(', kind, ')'))", TOP_TEXT, 0, 0,
     0},
};

static const struct top_column grown[] = {
    {"NODE", "node_id", TOP_TEXT, 0, 6, 3},
    {"GROWN", NULL, TOP_GROWN, 4, 6, 0},
    {"+-", NULL, TOP_GROWN_ERROR, 6, 6, 2},
    {"CUM+", NULL, TOP_GROWN, 5, 6, 1},
    {"FLAT", "SUM(flat_bytes)", TOP_BYTES, 0, 6, 4},
    {"CUM", "SUM(cum_bytes)", TOP_BYTES, 0, 6, 5},
    {"FLAT+-", "SQRT(SUM(flat_error * flat_error))", TOP_BYTES, 0, 6, 6},
    {"FUNCTION", "function", TOP_TEXT, 0, 0, 0},
};

static const struct top_column diagnosis[] = {
    {"NODE", "node_id", TOP_TEXT, 0, 6, 1},
    {"#", "place", TOP_COUNT, 0, 2, 3},
    {"BYTES", "bytes", TOP_BYTES, 0, 6, 0},
    {"SURE", "certainty", TOP_TEXT, 0, 8, 2},
    {"VERDICT, WHY, WHAT TO DO",
     "concat(concat_ws(' ', verdict, subject), ': ', why, '. ', "
     "replace(steps, '\\n', '. '))",
     TOP_TEXT, 0, 0, 0},
};

static const struct top_column grown_kept[] = {
    {"GROWN", "flat_bytes", TOP_BYTES, 0, 6, 0},
    {"+-", "flat_error", TOP_BYTES, 0, 6, 2},
    {"CUM+", "cum_bytes", TOP_BYTES, 0, 6, 1},
    {"CUM+-", "cum_error", TOP_BYTES, 0, 6, 3},
    {"SURE", "significant", TOP_COUNT, 0, 4, 4},
    {"FUNCTION", "function", TOP_TEXT, 0, 0, 0},
};

const struct top_view top_views[TOP_NUMBERS] = {
    [TOP_FUNCTIONS] = {.name = "functions",
                       .table = "heap_functions",
                       .group = "function",
                       .key = {6},
                       .keys = 1,
                       .instead = -1,
                       COLUMNS(functions)},
    [TOP_THREADS] = {.name = "threads",
                     .table = "heap_threads",
                     .missing = "no node knows its threads' memory (no table "
                                "heap_threads): this shows what they do",
                     .empty =
                         "no memory of threads is known (profiling is off, or "
                         "threads are not recorded): this shows what they do",
                     .key = {0, 1, 6},
                     .keys = 3,
                     .sort = 2,
                     .instead = TOP_RUNNING,
                     COLUMNS(threads)},
    [TOP_RUNNING] = {.name = "running",
                     .table = "threads",
                     .key = {0, 1},
                     .keys = 2,
                     .sort = 3,
                     .instead = -1,
                     COLUMNS(running)},
    [TOP_WASTE] = {.name = "waste",
                   .table = "heap_waste",
                   .group = "kind, size_class, `function`",
                   .where = "within IS NOT NULL", /* others hold no memory */
                   .missing = "this node's heapwired has no table heap_waste: "
                              "it is older than this program",
                   .key = {4, 5, 6},
                   .keys = 3,
                   .instead = -1,
                   COLUMNS(waste)},
    [TOP_DIFF] = {.name = "diff",
                  .table = "heap_functions",
                  .group = "node_id, function",
                  .key = {0, 7},
                  .keys = 2,
                  .sort = 1,
                  .instead = -1,
                  COLUMNS(grown)},
    [TOP_DIAGNOSIS] = {.name = "diagnosis",
                       .table = "diagnosis",
                       .key = {0, 1},
                       .keys = 2,
                       .sort = 1,
                       .instead = -1,
                       COLUMNS(diagnosis)},
    [TOP_DIFF_KEPT] = {.name = "diff",
                       .table = "heap_diff",
                       .key = {5},
                       .keys = 1,
                       .instead = -1,
                       .alone = true,
                       COLUMNS(grown_kept)},
};

/* Writes a table of all nodes.  If the account may ask this node only, it is
 * this node's table with its id added, so that columns stay the same. */
static void
put_table(const char *table, bool local, const struct top_scope *scope,
          struct buffer *out)
{
    if (!local && !scope->alone)
        buffer_format(out, "heapwire.cluster_%s", table);
    else if (local)
        buffer_format(out, "heapwire.%s", table);
    else
        buffer_format(out,
                      "(SELECT %llu AS node_id, own.* FROM heapwire.%s own) "
                      "AS one",
                      (unsigned long long)scope->self, table);
}

void
top_view_statement(enum top_number number, const struct top_scope *scope,
                   struct buffer *out)
{
    const struct top_view *view = &top_views[number];
    const char *word = " WHERE ";
    unsigned sort = view->sort, place_of_sort = 1;

    buffer_text(out, "SELECT ");
    for (unsigned i = 0, n = 0; i < view->count; i++)
        if (view->columns[i].sql)
            buffer_format(out, "%s%s", n++ ? ", " : "", view->columns[i].sql);
    buffer_text(out, " FROM ");
    put_table(view->table, view->alone, scope, out);
    if (scope->node && !view->alone) {
        buffer_format(out, "%snode_id = %llu", word,
                      (unsigned long long)scope->node);
        word = " AND ";
    }
    if (number == TOP_DIFF_KEPT) {
        buffer_format(out, "%sbase = ", word);
        sql_string(scope->base, out);
        word = " AND ";
    } else if (scope->kept) {
        buffer_format(out, "%ssnapshot = 'last'", word);
        word = " AND ";
    }
    if (view->where)
        buffer_format(out, "%s%s", word, view->where);
    if (view->group)
        buffer_format(out, " GROUP BY %s", view->group);
    /* LIMIT must cut the smallest rows, so a derived column is ordered by what
     * it derives from */
    while (!view->columns[sort].sql)
        sort = view->columns[sort].of;
    for (unsigned i = 0; i < sort; i++)
        place_of_sort += view->columns[i].sql != NULL;
    buffer_format(out, " ORDER BY %u DESC LIMIT %d", place_of_sort,
                  TOP_ROWS_MAX);
}

void
top_view_nodes_statement(const struct top_scope *scope, struct buffer *out)
{
    buffer_format(out,
                  "SELECT id, state, last_error, profiling FROM heapwire.nodes"
                  "%s ORDER BY id",
                  scope->alone ? " WHERE self = 1" : "");
}

void
top_view_memory_statement(const struct top_scope *scope, struct buffer *out)
{
    buffer_text(out, "SELECT node_id, rss, cgroup_limit, allocated, active, "
                     "resident FROM ");
    put_table("memory", false, scope, out);
}
