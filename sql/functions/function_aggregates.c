/*
 * function_aggregates.c - aggregates that SQLite lacks, or defines otherwise:
 * GROUP_CONCAT, the standard deviations, and a subquery's single value.
 *
 * SQLite's group_concat() has no ORDER BY, and DISTINCT only without a
 * separator, so rows are collected here and sorted at the end: n log n, and
 * all of the group in SQLite's memory, which is counted for the statement.  A
 * group has ceilings beside that, since one sort cannot be interrupted.
 * Variances are computed by Welford's method, in one pass and without the
 * cancellation of sums of squares.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "buffer.h"
#include "collate.h"
#include "errors.h"
#include "function.h"
#include "function_table.h"
#include "handle.h"

enum {
    GROUP_ROWS_MAX = 100000,
    GROUP_BYTES_MAX = 16 * 1024 * 1024 /* bytes of a group's values and keys */
};

/* ---- GROUP_CONCAT(values..., keys..., count of values, distinct, directions,
 * separator) ---- */

struct group_row {
    struct span text;
    sqlite3_value **keys; /* copies */
};

struct group {
    struct group_row *rows;
    size_t count, capacity, bytes, key_count;
    bool distinct, failed;
    char directions[16];
    char *separator;
    size_t separator_size;
};

/* Allocates from SQLite, whose memory is bounded for each statement. */
static char *
copy_group_text(struct span text)
{
    char *copy = sqlite3_malloc64(text.size + 1);

    if (!copy)
        return NULL;
    if (text.size > 0)
        memcpy(copy, text.data, text.size);
    copy[text.size] = '\0';
    return copy;
}

static void
free_row(struct group_row *row, size_t keys)
{
    sqlite3_free((char *)row->text.data);
    for (size_t i = 0; row->keys && i < keys; i++)
        sqlite3_value_free(row->keys[i]);
    sqlite3_free(row->keys);
}

static bool
begin_group(struct group *group, int argc, sqlite3_value **argv)
{
    struct span separator = function_argument(argv[argc - 1]);
    struct span directions = function_argument(argv[argc - 2]);

    group->distinct = sqlite3_value_int(argv[argc - 3]) != 0;
    if (directions.size >= sizeof(group->directions))
        directions.size = sizeof(group->directions) - 1;
    memcpy(group->directions, directions.data, directions.size);
    group->key_count = directions.size;
    group->separator = copy_group_text(separator);
    group->separator_size = separator.size;
    return group->separator != NULL;
}

static bool
grow_group_rows(struct group *group)
{
    size_t capacity = group->capacity ? 2 * group->capacity : 16;
    struct group_row *rows;

    if (group->count < group->capacity)
        return true;
    if (group->count >= GROUP_ROWS_MAX)
        return false;
    rows = sqlite3_realloc64(group->rows, capacity * sizeof(*rows));
    if (!rows)
        return false;
    group->rows = rows;
    group->capacity = capacity;
    return true;
}

/* Allocates count keys, all NULL. */
static sqlite3_value **
new_keys(size_t count)
{
    size_t size = (count + 1) * sizeof(sqlite3_value *);
    sqlite3_value **keys = sqlite3_malloc64(size);

    return keys ? memset(keys, 0, size) : NULL;
}

static bool
add_group_row(struct group *group, int values, sqlite3_value **argv)
{
    struct group_row row = {{NULL, 0}, NULL};
    struct buffer text;

    if (!grow_group_rows(group))
        return false;
    buffer_init(&text, SELECT_VALUE_MAX);
    for (int i = 0; i < values; i++) {
        struct span part = function_argument(argv[i]);

        buffer_add(&text, part.data, part.size);
    }
    /* 64 is about what sqlite3_value_dup() allocates for one value. */
    group->bytes += text.size + group->key_count * 64;
    if (!text.failed && group->bytes < GROUP_BYTES_MAX)
        row.text.data = copy_group_text((struct span){text.data, text.size});
    row.text.size = text.size;
    buffer_fini(&text);
    row.keys = new_keys(group->key_count);
    if (!row.text.data || !row.keys)
        goto fail;
    for (size_t i = 0; i < group->key_count; i++) {
        row.keys[i] = sqlite3_value_dup(argv[values + (int)i]);
        if (!row.keys[i])
            goto fail;
        group->bytes += (size_t)sqlite3_value_bytes(row.keys[i]);
    }
    group->rows[group->count++] = row;
    return true;
fail:
    free_row(&row, group->key_count);
    return false;
}

static void
step_group(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    struct group *group = sqlite3_aggregate_context(c, sizeof(*group));
    /* The last four arguments are the same in each row; see write_call.c. */
    int values = argc > 4 ? sqlite3_value_int(argv[argc - 4]) : 0;

    /* A failure sticks; finish_group() reports it. */
    if (!group || group->failed)
        return;
    if (values < 1 || values > argc - 4 ||
        (!group->separator && !begin_group(group, argc, argv)) ||
        (int)group->key_count != argc - 4 - values) {
        group->failed = true;
        return;
    }
    if (!function_any_null(values, argv) && !add_group_row(group, values, argv))
        group->failed = true;
}

/* Compares for qsort_r; NULL comes first. */
static int
by_keys(const void *a, const void *b, void *arg)
{
    const struct group_row *x = a, *y = b;
    const struct group *group = arg;

    for (size_t i = 0; i < group->key_count; i++) {
        bool x_null = sqlite3_value_type(x->keys[i]) == SQLITE_NULL;
        bool y_null = sqlite3_value_type(y->keys[i]) == SQLITE_NULL;
        int order = x_null || y_null ? y_null - x_null
                                     : function_compare(x->keys[i], y->keys[i],
                                                        COMPARE_TEXT);

        if (order)
            return group->directions[i] == 'd' ? -order : order;
    }
    return 0;
}

static int
by_text(const void *a, const void *b)
{
    const struct group_row *x = *(const struct group_row *const *)a;
    const struct group_row *y = *(const struct group_row *const *)b;
    int order = collate_compare(x->text, y->text);

    /* qsort() is not stable: of equal texts the row that came first must be
     * first. */
    return order ? order : x < y ? -1 : x > y;
}

/* Removes rows whose text equals an earlier row's.  It sorts pointers, so that
 * the rows keep their order. */
static bool
make_distinct(struct group *group)
{
    struct group_row **sorted =
        sqlite3_malloc64((group->count + 1) * sizeof(struct group_row *));
    size_t kept = 0;

    if (!sorted)
        return false;
    for (size_t i = 0; i < group->count; i++)
        sorted[i] = &group->rows[i];
    qsort(sorted, group->count, sizeof(*sorted), by_text);
    for (size_t i = 1, first = 0; i < group->count; i++) {
        if (collate_compare(sorted[first]->text, sorted[i]->text) != 0) {
            first = i;
            continue;
        }
        sqlite3_free((char *)sorted[i]->text.data);
        sorted[i]->text.data = NULL;
    }
    sqlite3_free(sorted);
    for (size_t i = 0; i < group->count; i++) {
        if (group->rows[i].text.data)
            group->rows[kept++] = group->rows[i];
        else
            free_row(&group->rows[i], group->key_count);
    }
    group->count = kept;
    return true;
}

static void
fail_group(sqlite3_context *c)
{
    struct error err;

    error_set(&err, ER_NOT_SUPPORTED,
              "A group of GROUP_CONCAT is too large: it has at most %d rows, "
              "%d MB of values and keys, and %d bytes in one row; select less",
              GROUP_ROWS_MAX, GROUP_BYTES_MAX >> 20, SELECT_VALUE_MAX);
    function_fail(c, &err);
}

static void
finish_group(sqlite3_context *c)
{
    struct group *group = sqlite3_aggregate_context(c, 0);
    struct buffer out;

    if (!group)
        return;
    buffer_init(&out, SELECT_VALUE_MAX);
    if (group->distinct && !make_distinct(group))
        group->failed = true;
    if (!group->failed && group->count > 1 && group->key_count > 0)
        qsort_r(group->rows, group->count, sizeof(*group->rows), by_keys,
                group);
    for (size_t i = 0; i < group->count; i++) {
        if (i > 0)
            buffer_add(&out, group->separator, group->separator_size);
        buffer_add(&out, group->rows[i].text.data, group->rows[i].text.size);
    }
    /* Only the statement's memory gave out: query_fail() says how much it may
     * take. */
    if (group->failed && function_handle(c)->memory.exceeded)
        sqlite3_result_error_nomem(c);
    else if (group->failed)
        fail_group(c);
    else if (group->count > 0)
        function_buffer(c, &out);
    buffer_fini(&out);
    for (size_t i = 0; i < group->count; i++)
        free_row(&group->rows[i], group->key_count);
    sqlite3_free(group->rows);
    sqlite3_free(group->separator);
}

/* ---- deviations ---- */

struct spread {
    int64_t count;
    double mean, squares; /* mean, and the sum of squared differences from it */
};

static void
step_spread(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    struct spread *s = sqlite3_aggregate_context(c, sizeof(*s));
    double x = function_real(argv[0]), difference;

    if (!s || function_any_null(argc, argv))
        return;
    s->count++;
    /* Welford: the mean moves by a share of the difference, and the squares
     * grow by the difference to the old mean times that to the new one. */
    difference = x - s->mean;
    s->mean += difference / (double)s->count;
    s->squares += difference * (x - s->mean);
}

static void
finish_spread(sqlite3_context *c, int64_t less, bool root)
{
    const struct spread *s = sqlite3_aggregate_context(c, 0);
    double variance;

    if (!s || s->count <= less)
        return;
    variance = s->squares / (double)(s->count - less);
    sqlite3_result_double(c, root ? sqrt(variance) : variance);
}

static void
finish_deviation(sqlite3_context *c)
{
    finish_spread(c, 0, true);
}

static void
finish_sample_deviation(sqlite3_context *c)
{
    finish_spread(c, 1, true);
}

static void
finish_variance(sqlite3_context *c)
{
    finish_spread(c, 0, false);
}

static void
finish_sample_variance(sqlite3_context *c)
{
    finish_spread(c, 1, false);
}

/* ---- the value of a scalar subquery ---- */

struct only {
    sqlite3_value *value; /* a copy */
    bool found;
};

static void
step_one(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    struct only *only = sqlite3_aggregate_context(c, sizeof(*only));

    (void)argc;
    if (!only) {
        sqlite3_result_error_nomem(c);
        return;
    }
    /* MySQL's error 1242; SQLite alone would take the first row. */
    if (only->found) {
        sqlite3_result_error(c, "Subquery returns more than 1 row", -1);
        return;
    }
    only->found = true;
    only->value = sqlite3_value_dup(argv[0]);
    if (!only->value)
        sqlite3_result_error_nomem(c);
}

/* Gives the one value; a subquery without rows gives NULL. */
static void
finish_one(sqlite3_context *c)
{
    struct only *only = sqlite3_aggregate_context(c, 0);

    if (!only || !only->value)
        return;
    sqlite3_result_value(c, only->value);
    sqlite3_value_free(only->value);
    only->value = NULL;
}

const struct function aggregate_functions[] = {
    {"hw_one", 1, 1, step_one, RETURNS_FIRST, finish_one},
    {"hw_group_concat", 5, FUNCTION_ANY, step_group, RETURNS_TEXT,
     finish_group},
    {"std", 1, 1, step_spread, RETURNS_DOUBLE, finish_deviation},
    {"stddev", 1, 1, step_spread, RETURNS_DOUBLE, finish_deviation},
    {"stddev_pop", 1, 1, step_spread, RETURNS_DOUBLE, finish_deviation},
    {"stddev_samp", 1, 1, step_spread, RETURNS_DOUBLE, finish_sample_deviation},
    {"variance", 1, 1, step_spread, RETURNS_DOUBLE, finish_variance},
    {"var_pop", 1, 1, step_spread, RETURNS_DOUBLE, finish_variance},
    {"var_samp", 1, 1, step_spread, RETURNS_DOUBLE, finish_sample_variance},
    {NULL},
};
