/*
 * heap_walk.c - the rows of the heap_* and cpu_* tables: how SQLite's planner
 * is told what they can look up, and the cursor that walks a snapshot.
 *
 * A profile of 20,000 stacks of 30 frames would be 600,000 rows; they are
 * never made.  The cursor walks the snapshot's own arrays, and a cell's text
 * is built when SQLite asks for it.  What a table can look up is a snapshot's
 * name, its base, and a key (a function's name by binary search, a stack by
 * number); xBestIndex offers just these and puts a high cost on plans without
 * a name, because loading every kept snapshot is what a wrong plan would cost.
 *
 * Runs inside sqlite3_step() on the statement's thread.  A cursor pins its
 * snapshot (readers) while it is in it.
 */
#include "heap_walk.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "catalog.h"
#include "cluster_ask.h"
#include "collate.h"
#include "cursor.h"
#include "errors.h"
#include "fetch.h"
#include "functions.h"
#include "handle.h"
#include "memory.h"
#include "observed_name.h"
#include "profile.h"
#include "select_sources.h"
#include "snapshot.h"
#include "sql_session.h"

enum {
    ROWS_GUESS = 100, /* of a produced table */
    /* More than any plan that knows the snapshot's name in advance. */
    UNNAMED_COST = 1000000000
};

static bool
is_equality_constraint(unsigned op)
{
    return op == SQLITE_INDEX_CONSTRAINT_EQ ||
           op == SQLITE_INDEX_CONSTRAINT_IS ||
           op == SQLITE_INDEX_CONSTRAINT_FUNCTION;
}

/* Returns whether the statement reads the column of snapshots, and whether it
 * has a condition on it other than '='. */
static int
use_of(int column, const sqlite3_index_info *info)
{
    int use = info->colUsed & (sqlite3_uint64)1 << column ? READS_SNAPSHOT : 0;

    for (int i = 0; i < info->nConstraint; i++)
        if (info->aConstraint[i].iColumn == column &&
            info->aConstraint[i].op < SQLITE_INDEX_CONSTRAINT_LIMIT &&
            !is_equality_constraint(info->aConstraint[i].op))
            use |= NAMES_SNAPSHOT;
    return use;
}

/*
 * Plans a walk: uses terms on names and on the key, which SQLite checks once
 * more.  Without a name the fresh snapshot is read, or all of them.  So where
 * any term gives the name, from another table or in each half of an OR, that
 * plan must win.
 */
static void
plan_walk(const struct heap_walk *walk, sqlite3_index_info *info)
{
    static const int plain[] = {BY_SNAPSHOT, BY_KEY},
                     compares[] = {BY_SNAPSHOT, BY_BASE, BY_KEY};
    const int *bits = walk->compares ? compares : plain;
    int columns = walk->compares ? 3 : 2, at[3] = {-1, -1, -1}, values = 0;

    if (walk->keyless)
        columns--;
    for (int i = 0; i < info->nConstraint; i++) {
        int column = info->aConstraint[i].iColumn;

        if (info->aConstraint[i].usable && column >= 0 && column < columns &&
            is_equality_constraint(info->aConstraint[i].op))
            at[column] = i;
    }
    for (int column = 0; column < columns; column++)
        if (at[column] >= 0) {
            info->aConstraintUsage[at[column]].argvIndex = ++values;
            info->idxNum |= bits[column];
        }
    /* SQLite hands idxNum to xFilter, so it carries what the plan found. */
    info->idxNum |= use_of(0, info);
    info->estimatedRows =
        info->idxNum & BY_KEY ? walk->rows_of_key : walk->rows;
    info->estimatedCost = (double)info->estimatedRows + 1;
    for (int column = 0; column < columns; column++)
        if (at[column] < 0 && bits[column] != BY_KEY)
            info->estimatedCost *= UNNAMED_COST;
}

/*
 * Does the statement itself name the nodes?  Only then they alone are asked.
 * Nodes from another table's rows would be asked one after the other, and one
 * that does not answer would fail the statement.
 */
static bool
names_nodes(sqlite3_index_info *info, int i)
{
    sqlite3_value *value;

    if (!info->aConstraint[i].usable || info->aConstraint[i].iColumn != 0 ||
        (info->aConstraint[i].op != SQLITE_INDEX_CONSTRAINT_EQ &&
         info->aConstraint[i].op != SQLITE_INDEX_CONSTRAINT_FUNCTION))
        return false;
    if (sqlite3_vtab_in(info, i, -1)) /* take a whole list at once */
        return sqlite3_vtab_in(info, i, 1) != 0;
    return sqlite3_vtab_rhs_value(info, i, &value) == SQLITE_OK;
}

static bool
is_since(const struct catalog_table *table, const sqlite3_index_info *info,
         int i)
{
    int column = info->aConstraint[i].iColumn;
    unsigned op = info->aConstraint[i].op;

    return !table->of->walk && info->aConstraint[i].usable && column > 0 &&
           (op == SQLITE_INDEX_CONSTRAINT_GT ||
            op == SQLITE_INDEX_CONSTRAINT_GE) &&
           table->columns[column].type->type == COLUMN_DATETIME;
}

/* Chooses the nodes to ask, and the snapshot, or from what time on. */
static void
plan_nodes(const struct catalog_table *table, sqlite3_index_info *info)
{
    const struct catalog_table *of = table->of;
    int snapshot = -1, node = -1, since = -1, values = 0;

    for (int i = 0; i < info->nConstraint; i++) {
        if (is_since(table, info, i))
            since = i;
        if (node < 0 && names_nodes(info, i))
            node = i;
        else if (of->walk && info->aConstraint[i].usable &&
                 info->aConstraint[i].iColumn == 1 &&
                 is_equality_constraint(info->aConstraint[i].op))
            snapshot = i;
    }
    info->estimatedRows = ROWS_GUESS;
    info->estimatedCost = ROWS_GUESS;
    info->idxNum = use_of(1, info);
    /* argvIndex gives the order in which xFilter gets the values: snapshot,
     * node, since. */
    if (snapshot >= 0) {
        info->aConstraintUsage[snapshot].argvIndex = ++values;
        info->idxNum |= BY_SNAPSHOT;
    } else if (of->walk) {
        info->estimatedCost *= UNNAMED_COST;
    }
    if (node >= 0) {
        info->aConstraintUsage[node].argvIndex = ++values;
        info->idxNum |= BY_NODE;
    } else {
        info->estimatedCost *= ROWS_GUESS;
    }
    if (since >= 0) {
        info->aConstraintUsage[since].argvIndex = ++values;
        info->idxNum |= BY_SINCE | info->aConstraint[since].iColumn
                                       << SINCE_SHIFT;
    }
}

void
select_vtab_plan(const struct catalog_table *table, sqlite3_index_info *info)
{
    if (table->walk) {
        plan_walk(table->walk, info);
    } else if (table->of) {
        plan_nodes(table, info);
    } else {
        info->estimatedCost = ROWS_GUESS;
        info->estimatedRows = ROWS_GUESS;
    }
}

/* The index of the row's stack, in tables of stacks. */
static uint32_t
index_row_stack(const struct heap_position *position)
{
    return position->walk->row == HEAP_AGES
               ? position->source->parts.ages[position->at].stack
               : position->at;
}

/* Whether the row's stack has rows in its table. */
static bool
has_rows(const struct heap_position *position)
{
    switch (position->walk->row) {
    case HEAP_FRAMES:
        return position->frame_count > 0;
    case HEAP_CHURN:
        return position->source->profile->stacks[position->at].objects_ever > 0;
    default:
        return true;
    }
}

/* Moves to a stack that has rows, and finds its frames. */
static void
seek_stack_with_rows(struct heap_position *position)
{
    struct functions *functions = position->source->functions;

    position->frame = 0;
    if (position->walk->row == HEAP_FUNCTIONS ||
        position->walk->row == HEAP_CALLS ||
        position->walk->row == HEAP_THREADS ||
        position->walk->row == HEAP_POOLS || position->walk->row == HEAP_WASTE)
        return;
    for (; position->at < position->end; position->at++) {
        position->frame_count = functions_stack(
            functions, index_row_stack(position), position->frames);
        if (has_rows(position))
            return;
    }
}

/* Finds the rows of a function by name; all rows for a name that is not ASCII,
 * since the collation may equate others with it.  SQLite compares each row
 * once more. */
static void
find_function(struct heap_position *position, const struct value *key)
{
    const struct functions *functions = position->source->functions;
    struct span name;

    position->end = functions->count;
    if (!key)
        return;
    name = collate_trimmed((struct span){key->data, key->size});
    for (size_t i = 0; i < name.size; i++)
        if ((unsigned char)name.data[i] >= 0x80)
            return;
    position->order = functions->by_name;
    functions_find(functions, name.data, name.size, &position->at,
                   &position->end);
}

static void
find_numbered(struct heap_position *position, const struct value *key)
{
    size_t count = position->walk->row == HEAP_CALLS
                       ? position->source->calls.count
                       : position->source->profile->stack_count;

    position->end = (uint32_t)count;
    if (!key)
        return;
    position->end = 0;
    if (key->integer < 1 || (uint64_t)key->integer > count)
        return;
    position->end = (uint32_t)key->integer;
    position->at = position->end - 1;
}

static void
find_thread_or_age_rows(struct heap_position *position, const struct value *key)
{
    const struct part_rows *parts = &position->source->parts;

    position->end = position->walk->row == HEAP_THREADS ? parts->thread_count
                                                        : parts->age_count;
    if (!key)
        return;
    position->end = 0;
    if (key->integer >= 1 &&
        (uint64_t)key->integer <= position->source->profile->stack_count)
        part_rows_find(parts, (uint32_t)key->integer - 1, &position->at,
                       &position->end);
}

static int
open_heap_position(struct heap_position *position, const struct heap_walk *walk,
                   const struct select_source *source, const struct value *key)
{
    struct stack_frame *frames = position->frames;
    struct buffer text = position->text;

    /* The room for frames fits the source's longest stack, so it is kept while
     * the cursor stays in one source, as in a join. */
    if (position->source != source) {
        mem_free(frames);
        position->source = NULL;
        position->frames = frames =
            mem_zalloc(source->functions->names.longest + 1, sizeof(*frames));
        if (!frames)
            return -1;
    }
    if (!position->walk)
        buffer_init(&text, SELECT_VALUE_MAX);
    *position = (struct heap_position){
        .walk = walk, .source = source, .frames = frames, .text = text};
    if (walk->row == HEAP_FUNCTIONS)
        find_function(position, key);
    else if (walk->row == HEAP_WASTE)
        position->end = source->waste.count;
    else if (walk->row == HEAP_POOLS)
        position->end = source->pools.count;
    else if (walk->row == HEAP_THREADS || walk->row == HEAP_AGES)
        find_thread_or_age_rows(position, key);
    else
        find_numbered(position, key);
    seek_stack_with_rows(position);
    return 0;
}

uint32_t
heap_position_index(const struct heap_position *position)
{
    return position->order ? position->order[position->at] : position->at;
}

/* ---- the cursor ---- */

bool
heap_done(const struct heap_cursor *cursor)
{
    return cursor->position.at >= cursor->position.end;
}

static void
release_cursor_snapshot(struct heap_cursor *cursor)
{
    if (cursor->source)
        cursor->source->readers--;
    cursor->source = NULL;
}

static void
reset_heap_cursor(struct heap_cursor *cursor)
{
    release_cursor_snapshot(cursor);
    sqlite3_value_free(cursor->base_name);
    sqlite3_value_free(cursor->key);
    cursor->base_name = cursor->key = NULL;
    cursor->walks = false;
    /* The room for frames and text stays for the next filter: a join calls it
     * for every row. */
    cursor->position.at = cursor->position.end = 0;
}

static struct value
read_walk_key(sqlite3_value *from)
{
    struct value key = {.type = VALUE_TEXT};

    key.integer = sqlite3_value_int64(from);
    key.data = (const char *)sqlite3_value_text(from);
    key.size = (size_t)sqlite3_value_bytes(from);
    return key;
}

/* Warns about a table of differences without a base, which is empty.  A base
 * is never guessed; and a client that reads every table must not fail here. */
static int
no_base(struct handle *handle, const struct heap_walk *walk)
{
    if (handle->fetch && !handle->fetch->sources->no_base)
        warnings_add(handle->session, ER_WRONG_ARGUMENTS,
                     "%s compares with a snapshot that must be named: "
                     "add WHERE base = '...'",
                     walk->row == HEAP_POOLS ? "heap_pool_diff" : "heap_diff");
    if (handle->fetch)
        /* Once per statement: in a join this is called for each row. */
        handle->fetch->sources->no_base = true;
    return SQLITE_OK;
}

static const char *
optional_value_text(sqlite3_value *value)
{
    return value ? (const char *)sqlite3_value_text(value) : NULL;
}

/* Moves before the first row of the source. */
static int
start_snapshot_walk(struct heap_cursor *cursor, struct handle *handle,
                    const struct heap_walk *walk, sqlite3_value *key)
{
    struct value wanted = {0};
    int rc = SQLITE_OK;
    bool has = true;

    if (walk->row == HEAP_CALLS)
        rc = select_source_calls(handle, cursor->source);
    else if (walk->row == HEAP_THREADS || walk->row == HEAP_AGES)
        rc = select_source_parts(handle, cursor->source, walk->row == HEAP_AGES,
                                 &has);
    else if (walk->row == HEAP_WASTE)
        rc = select_source_waste(handle, cursor->source, &has);
    else if (walk->row == HEAP_POOLS)
        rc = select_source_pools(handle, cursor->source, &has);
    else if (walk->row == HEAP_CHURN)
        has = select_source_counts(handle, cursor->source);
    if (rc != SQLITE_OK || !has)
        return rc;
    if (key)
        wanted = read_walk_key(key);
    return open_heap_position(&cursor->position, walk, cursor->source,
                              key ? &wanted : NULL) == 0
               ? SQLITE_OK
               : SQLITE_NOMEM;
}

/* Moves to the next snapshot that has rows. */
static int
walk_on(struct heap_cursor *cursor, struct handle *handle,
        const struct heap_walk *walk)
{
    int rc = SQLITE_OK;

    while (rc == SQLITE_OK && heap_done(cursor)) {
        release_cursor_snapshot(cursor);
        rc = select_source_next(handle, &cursor->next,
                                optional_value_text(cursor->base_name),
                                walk->observed, &cursor->source);
        if (!cursor->source)
            break;
        rc = start_snapshot_walk(cursor, handle, walk, cursor->key);
    }
    return rc;
}

bool
heap_names_kept(const struct handle *handle, int number)
{
    return number & NAMES_SNAPSHOT ||
           (number & READS_SNAPSHOT && handle->names_snapshot);
}

static int
fail_kind(struct handle *handle, const struct heap_walk *walk, const char *name,
          const char *base)
{
    if (walk->observed)
        error_set(&handle->failure, ER_WRONG_ARGUMENTS,
                  "'%.64s' is a snapshot of the heap, which heap_functions and "
                  "heap_stacks have; here are cpu:10, wall:10, and kept ones "
                  "of the kinds cpu and wall",
                  name);
    else if (walk->compares && base && strcmp(base, name) != 0)
        error_set(&handle->failure, ER_WRONG_ARGUMENTS,
                  "'%.64s' is a profile of time, which no table compares: "
                  "SELECT top('%.64s', '%.64s') does, and so do flamegraph and "
                  "the other views",
                  name, name, base);
    else
        error_set(&handle->failure, ER_WRONG_ARGUMENTS,
                  "'%.64s' is a profile of time, and not of the heap: "
                  "cpu_functions and cpu_stacks have it",
                  name);
    handle->failed = true;
    return SQLITE_ERROR;
}

/* Can a snapshot of that name be in this table?  Only the name is looked at,
 * so that nothing is taken just to be refused. */
static bool
fits_name(const struct heap_walk *walk, const char *name)
{
    const char *rest = cluster_name_rest(name);

    return walk->observed ? *rest && strcasecmp(rest, SNAPSHOT_NOW) != 0
                          : !observed_name_is(rest);
}

static int
open_named_source(struct heap_cursor *cursor, struct handle *handle,
                  const struct heap_walk *walk, const char *name,
                  const char *base)
{
    int rc;

    if (name && !fits_name(walk, name))
        return fail_kind(handle, walk, name, base);
    rc = select_source_pin(handle, name, base, &cursor->source);
    if (rc == SQLITE_OK &&
        walk->observed != (cursor->source->profile->kind != PROFILE_HEAP))
        return fail_kind(handle, walk, cursor->source->label, base);
    return rc;
}

/* Moves before the first row; = NULL gives none. */
int
heap_filter(struct heap_cursor *cursor, struct handle *handle,
            const struct heap_walk *walk, int number, sqlite3_value **argv)
{
    sqlite3_value *name = NULL, *base = NULL, *key = NULL;
    int rc;

    reset_heap_cursor(cursor);
    if (walk->compares && !(number & BY_BASE))
        return no_base(handle, walk);
    if (number & BY_SNAPSHOT)
        name = *argv++;
    if (number & BY_BASE)
        base = *argv++;
    if (number & BY_KEY)
        key = *argv;
    if ((name && !optional_value_text(name)) ||
        (base && !optional_value_text(base)) ||
        (key && !optional_value_text(key)))
        return SQLITE_OK;
    if (base && !fits_name(walk, optional_value_text(base)))
        return fail_kind(handle, walk, optional_value_text(base), NULL);
    /* The rows of waste need jemalloc's size classes, which a recorder's
     * snapshot has from the last time they were asked for. */
    if (walk->row == HEAP_WASTE && !name) {
        rc = fetch_needs(handle, NEED_STATS);
        if (rc != SQLITE_OK)
            return rc;
    }
    if (name || !(walk->observed || heap_names_kept(handle, number))) {
        rc = open_named_source(cursor, handle, walk, optional_value_text(name),
                               optional_value_text(base));
        return rc == SQLITE_OK ? start_snapshot_walk(cursor, handle, walk, key)
                               : rc;
    }
    cursor->walks = true;
    cursor->next = 0;
    cursor->base_name = base ? sqlite3_value_dup(base) : NULL;
    cursor->key = key ? sqlite3_value_dup(key) : NULL;
    if ((base && !cursor->base_name) || (key && !cursor->key))
        return SQLITE_NOMEM;
    return walk_on(cursor, handle, walk);
}

int
heap_next(struct heap_cursor *cursor, struct handle *handle)
{
    struct heap_position *position = &cursor->position;

    if (position->walk->row == HEAP_FRAMES &&
        ++position->frame < position->frame_count)
        return SQLITE_OK;
    position->at++;
    seek_stack_with_rows(position);
    return cursor->walks ? walk_on(cursor, handle, position->walk) : SQLITE_OK;
}

/* The row's number: 10 bits of the source, 33 of the row, 20 of the frame.
 * SQLite unites the halves of an OR by them, so rows of several snapshots need
 * different ones. */
int64_t
heap_row_number(const struct heap_cursor *cursor)
{
    return (int64_t)cursor->source->number << 53 |
           (int64_t)heap_position_index(&cursor->position) << 20 |
           (int64_t)cursor->position.frame;
}

void
heap_cursor_fini(struct heap_cursor *cursor)
{
    reset_heap_cursor(cursor);
    mem_free(cursor->position.frames);
    buffer_fini(&cursor->position.text);
}
