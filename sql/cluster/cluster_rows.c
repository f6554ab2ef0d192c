/*
 * cluster_rows.c - the rows of one table on all nodes, for a cluster_ table.
 *
 * Each node is sent a SELECT of the table's columns and answers with texts, as
 * any client would get; they become values of the declared types here, since a
 * node of another version may send anything.  What does not fit its type is
 * NULL.  Columns that cost a node something are asked for only if the
 * statement reads them, and a condition on time is passed on.  Rows are kept
 * per node, up to ceilings per node and in all; past them an answer is cut off
 * with a warning rather than refused.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "catalog.h"
#include "clean_text.h"
#include "cluster_ask.h"
#include "errors.h"
#include "handle.h"
#include "memory.h"
#include "observed_name.h"
#include "peers.h"
#include "snapshot.h"
#include "sql_cursor.h"

enum { QUESTION_MAX = 4096, NUMBER_MAX = 63 };

struct cluster_rows {
    struct cluster_ask ask; /* first */
    const struct catalog_table *table;
    struct rowset *sets; /* one for each node; columns 0: no rows */
    size_t cells;
};

/* ---- values ---- */

/* Reads a number; false, and NULL, if the text is none.  Bounded and copied,
 * because strtod() needs a NUL. */
static bool
to_number(struct span text, bool whole, struct value *out)
{
    char copy[NUMBER_MAX + 1], *end;

    if (text.size == 0 || text.size > NUMBER_MAX ||
        memchr(text.data, '\0', text.size))
        return false;
    memcpy(copy, text.data, text.size);
    copy[text.size] = '\0';
    errno = 0;
    if (whole) {
        out->type = VALUE_INT;
        out->integer = strtoll(copy, &end, 10);
    } else {
        out->type = VALUE_DOUBLE;
        out->real = strtod(copy, &end);
    }
    if (!*end && errno == 0 && (whole || isfinite(out->real)))
        return true;
    out->type = VALUE_NULL;
    return false;
}

/* Adds a text of another node without its control characters, which could act
 * on a terminal. lines: newlines stay, where a column has sentences and not
 * names. */
static void
add_peer_cell_text(struct rowset *set, struct span text, bool lines)
{
    char *clean = mem_alloc(text.size + 1);
    if (!clean) {
        set->failed = true;
        return;
    }
    clean_text(text, clean);
    for (size_t i = 0; lines && i < text.size; i++)
        if (text.data[i] == '\n')
            clean[i] = '\n';
    rowset_bytes(set, clean, text.size);
    mem_free(clean);
}

static void
add_cell(struct cluster_rows *rows, struct rowset *set, size_t column,
         struct span text)
{
    /* column 0 of the table is node_id, which no node sends */
    const struct catalog_type *given = rows->table->columns[column + 1].type;
    enum column_type type = given->type;
    struct value value = {.type = VALUE_NULL};

    if (!text.data)
        rowset_null(set);
    else if (type == COLUMN_TINYINT || type == COLUMN_INT ||
             type == COLUMN_BIGINT) {
        to_number(text, true, &value);
        rowset_value(set, &value);
    } else if (type == COLUMN_DOUBLE) {
        to_number(text, false, &value);
        rowset_value(set, &value);
    } else
        add_peer_cell_text(set, text, given == &type_plain_text_nn);
}

/* ---- answers ---- */

static int
start_cluster_rows(struct cluster_ask *ask)
{
    struct cluster_rows *rows = (struct cluster_rows *)ask;

    rows->sets = mem_zalloc(ask->id_count + 1, sizeof(*rows->sets));
    return rows->sets ? 0 : -1;
}

/* Drops rows past a ceiling. */
static int
take_cluster_rows_block(struct cluster_ask *ask, const struct peer_block *block,
                        struct error *err)
{
    struct cluster_rows *rows = (struct cluster_rows *)ask;
    struct rowset *set = &rows->sets[block->id_index];
    size_t columns = rows->table->column_count - 1;

    if (!set->columns)
        rowset_init(set, columns);
    for (size_t row = 0; row < block->row_count; row++) {
        if (rowset_rows(set) >= CLUSTER_NODE_ROWS_MAX ||
            rows->cells + columns > CLUSTER_CELLS_MAX) {
            ask->truncated[block->id_index] = true;
            return 0;
        }
        rows->cells += columns;
        for (size_t i = 0; i < columns; i++)
            add_cell(rows, set, i, block->cells[row * columns + i]);
    }
    return rowset_done(set, err);
}

static int
finish_cluster_rows(struct cluster_ask *ask, struct error *err)
{
    struct cluster_rows *rows = (struct cluster_rows *)ask;

    (void)err;
    /* Part of a node's rows would be a wrong answer: a failed node has none. */
    for (size_t i = 0; i < ask->id_count; i++)
        if (ask->failures[i].text)
            rowset_fini(&rows->sets[i]);
    return 0;
}

static void
free_rows(struct cluster_ask *ask)
{
    struct cluster_rows *rows = (struct cluster_rows *)ask;

    for (size_t i = 0; rows->sets && i < ask->id_count; i++)
        rowset_fini(&rows->sets[i]);
    mem_free(rows->sets);
    mem_free(rows);
}

static const struct cluster_ask_ops rows_ops = {start_cluster_rows,
                                                take_cluster_rows_block,
                                                finish_cluster_rows, free_rows};

/* ---- questions ---- */

static void
write_question(const struct catalog_table *table, bool needs_node,
               const char *snapshot, const char *snapshot_condition,
               const struct cluster_since *since, struct buffer *out)
{
    buffer_text(out, "SELECT ");
    for (size_t i = 1; i < table->column_count; i++)
        /* The column costs the node something, and the statement does not read
         * it. */
        if (!needs_node && table->columns[i].needs)
            buffer_text(out, i > 1 ? ", NULL" : "NULL");
        else
            buffer_format(out, "%s`%s`", i > 1 ? ", " : "",
                          table->columns[i].name);
    buffer_format(out, " FROM heapwire.`%s`", table->of->name);
    if (since)
        buffer_format(out, " WHERE `%s` >= '%s'", since->column, since->text);
    if (!snapshot) {
        buffer_text(out, snapshot_condition);
        return;
    }
    buffer_text(out, " WHERE snapshot = '");
    for (; *snapshot; snapshot++) {
        /* The name comes from the client's text and goes into another node's
         * statement. */
        if (*snapshot == '\'' || *snapshot == '\\')
            buffer_char(out, *snapshot == '\'' ? '\'' : '\\');
        buffer_char(out, *snapshot);
    }
    buffer_char(out, '\'');
}

/* Must the nodes stop their database for a moment to answer?  Then not all of
 * them do it at once. */
static bool
must_ask_serially(const struct catalog_table *of, bool needs_node)
{
    unsigned needs =
        of->needs | (needs_node ? catalog_needs(of, UINT64_MAX) : 0);

    return (needs & (NEED_TOTAL | NEED_SNAPSHOT | NEED_THREADS)) != 0;
}

/* The key is the text of the question and its nodes. */
static void
write_cluster_rows_key(struct buffer *key, const struct buffer *question,
                       const uint64_t *ids, size_t id_count)
{
    buffer_add(key, question->data, question->size);
    buffer_char(key, '\0');
    for (size_t i = 0; i < id_count; i++)
        buffer_u64(key, ids[i]);
    key->failed |= question->failed;
}

static int
request_cluster_rows(struct handle *handle, const struct catalog_table *table,
                     const uint64_t *ids, size_t id_count, bool in_turn,
                     uint32_t seconds, const struct buffer *question,
                     struct buffer *key, struct cluster_ask **out)
{
    struct peer_request request = {.verb = PEER_SELECT,
                                   .text = {question->data, question->size},
                                   .column_count = table->column_count - 1,
                                   .parallel = in_turn, /* 1; 0: all at once */
                                   .node_bytes_max = CLUSTER_NODE_BYTES_MAX,
                                   .bytes_max = CLUSTER_BYTES_MAX};
    struct cluster_rows *rows = mem_zalloc(1, sizeof(*rows));

    if (!rows) {
        error_memory(&handle->failure, "a question to the cluster");
        handle->failed = true;
        return SQLITE_ERROR;
    }
    rows->ask.ops = &rows_ops;
    rows->ask.seconds = seconds;
    rows->table = table;
    *out = &rows->ask;
    return cluster_begin(handle, &rows->ask, key, ids, id_count, &request);
}

int
cluster_rows_need(struct handle *handle, const struct catalog_table *table,
                  const uint64_t *ids, size_t id_count, const char *snapshot,
                  bool kept, bool fresh, const struct cluster_since *since,
                  const struct cluster_rows **out)
{
    /* Without a condition a node takes a fresh snapshot; LIKE '%' reads those
     * that are kept. */
    const char *snapshot_condition =
        !kept   ? ""
        : fresh ? " WHERE snapshot LIKE '%' OR snapshot = 'now'"
                : " WHERE snapshot LIKE '%'";
    bool needs_node = table_set_has(&handle->needs_node, catalog_index(table));
    struct observed_name observed = {0};
    struct buffer question, key;
    struct cluster_ask *ask;
    int rc;

    if (snapshot && table->of->walk && observed_name_is(snapshot) &&
        observed_name_parse(snapshot, &observed, &handle->failure) != 0) {
        handle->failed = true;
        return SQLITE_ERROR;
    }
    buffer_init(&question, QUESTION_MAX);
    buffer_init(&key, QUESTION_MAX + (id_count + 1) * sizeof(uint64_t));
    write_question(table, needs_node, snapshot, snapshot_condition, since,
                   &question);
    write_cluster_rows_key(&key, &question, ids, id_count);
    rc = cluster_find(handle, &key, &ask);
    if (rc == SQLITE_OK && !ask && since) {
        size_t index = catalog_index(table);

        if (table_set_has(&handle->bounded, index)) {
            /* In a join the time may differ for each row: instead of asking
             * again for each, all rows are asked for once. */
            buffer_fini(&question);
            buffer_fini(&key);
            return cluster_rows_need(handle, table, ids, id_count, snapshot,
                                     kept, fresh, NULL, out);
        }
        table_set_add(&handle->bounded, index);
    }
    if (rc == SQLITE_OK && !ask)
        rc = request_cluster_rows(handle, table, ids, id_count,
                                  fresh ||
                                      must_ask_serially(table->of, needs_node),
                                  observed.seconds, &question, &key, &ask);
    if (rc == SQLITE_OK)
        *out = (const struct cluster_rows *)ask;
    buffer_fini(&question);
    buffer_fini(&key);
    return rc;
}

/* ---- reading ---- */

static size_t
rows_of(const struct cluster_position *position)
{
    const struct rowset *set = &position->rows->sets[position->node];

    return set->columns ? rowset_rows(set) : 0;
}

static void
skip_empty(struct cluster_position *position)
{
    while (!cluster_position_done(position) &&
           position->row >= rows_of(position)) {
        position->node++;
        position->row = 0;
    }
}

void
cluster_position_first(struct cluster_position *position,
                       const struct cluster_rows *rows)
{
    *position = (struct cluster_position){.rows = rows};
    skip_empty(position);
}

void
cluster_position_next(struct cluster_position *position)
{
    position->row++;
    skip_empty(position);
}

bool
cluster_position_done(const struct cluster_position *position)
{
    return !position->rows || position->node >= position->rows->ask.id_count;
}

void
cluster_position_cell(const struct cluster_position *position, size_t column,
                      struct value *out)
{
    if (column == 0) {
        out->type = VALUE_INT;
        out->integer = (int64_t)position->rows->ask.ids[position->node];
        return;
    }
    *out = rowset_row(&position->rows->sets[position->node],
                      position->row)[column - 1];
}
