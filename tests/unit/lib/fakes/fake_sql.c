/*
 * fake_sql.c - a small sql/ for the tests of server/.
 *
 * Each statement shows one thing that a cursor may do:
 *   SELECT 1               one row, on the loop
 *   SELECT rows N          N rows, on the loop
 *   SELECT slow N          N rows, beside the loop
 *   SELECT late N          N rows, then an error
 *   SELECT big N           one cell of N bytes
 *   SELECT wait N          waits for N ms, and sends progress meanwhile
 *   SELECT hang            waits until it is cancelled
 *   SELECT block           keeps a thread busy until it is cancelled
 *   SELECT stubborn        a row, and others once it has been cancelled
 *   SELECT types           one column of each kind of value, with NULL
 *   SELECT typed           one column of each type, out of texts and numbers
 *   SELECT ?, ?, ...       the parameters, as typed
 *   SELECT count ?, ...    how many there are
 *   SELECT empty           no row
 *   SELECT database        the current one
 *   SELECT length ...      the statement's own length
 *   SET autocommit = N, BEGIN, COMMIT, USE x, KILL [QUERY] n
 *   SHOW PROCESSLIST, ADMIN EXECUTE ... (the last parameter, or "false")
 * and everything else is a syntax error.
 */
#include "fake_sql.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "arena.h"
#include "errors.h"
#include "memory.h"

enum { DESCRIPTION_MAX = 4096 };

/* Copies what is borrowed; false without memory. */
static bool
keep_parameters(struct fake *f, const struct sql_parameters *parameters)
{
    size_t count = parameters ? parameters->count : 0;
    struct value *v;

    if (count == 0)
        return true;
    f->given = mem_zalloc(count, sizeof(*f->given));
    if (!f->given)
        return false;
    for (; f->given_count < count; f->given_count++) {
        v = &f->given[f->given_count];
        *v = parameters->values[f->given_count];
        if (v->type != VALUE_TEXT && v->type != VALUE_BLOB) {
            v->data = NULL;
            continue;
        }
        v->data = mem_strndup(v->data, v->size);
        if (!v->data)
            return false;
    }
    return true;
}

static struct fake *
fake_new(struct sql_session *s)
{
    struct fake *f = mem_zalloc(1, sizeof(*f));

    if (!f)
        return NULL;
    f->base.ops = &fake_ops;
    f->base.columns = f->columns;
    f->base.column_count = 1;
    f->base.info = "";
    f->session = s;
    f->step = step_text;
    for (size_t i = 0; i < COLUMNS; i++)
        f->columns[i] = (struct column){"result", "", "", COLUMN_TEXT, 64};
    return f;
}

static bool
number_after(const char *text, const char *word, uint64_t *out)
{
    size_t size = strlen(word);

    if (strncasecmp(text, word, size) != 0)
        return false;
    *out = strtoull(text + size, NULL, 10);
    return true;
}

static void
as_rows(struct fake *f, fake_step *step)
{
    f->step = step;
    f->base.column_count = 2;
    f->columns[0] =
        (struct column){"n", "numbers", "heapwire", COLUMN_BIGINT, 20};
    f->columns[1] =
        (struct column){"text", "numbers", "heapwire", COLUMN_TEXT, ROW_TEXT};
}

/* At PREPARE no parameter is known yet. */
static void
as_echo(struct fake *f, const char *text)
{
    static const enum column_type types[] = {
        [VALUE_NULL] = COLUMN_NULL,  [VALUE_TEXT] = COLUMN_TEXT,
        [VALUE_INT] = COLUMN_BIGINT, [VALUE_DOUBLE] = COLUMN_DOUBLE,
        [VALUE_BLOB] = COLUMN_BLOB,
    };
    size_t count = 0;

    for (const char *p = text; *p; p++)
        count += *p == '?';
    f->step = step_echo;
    f->base.column_count = count < COLUMNS ? count : COLUMNS;
    for (size_t i = 0; i < f->base.column_count; i++) {
        f->columns[i].name = "?";
        if (i < f->given_count)
            f->columns[i].type = types[f->given[i].type];
    }
}

static void
as_typed(struct fake *f)
{
    f->step = step_typed;
    f->base.column_count = COLUMNS;
    for (size_t i = 0; i < COLUMNS; i++) {
        f->columns[i].name = fake_typed[i].name;
        f->columns[i].type = fake_typed[i].type;
        f->columns[i].flags = fake_typed[i].flags;
    }
}

static bool
open_select(struct fake *f, const char *text)
{
    if (strncasecmp(text, "SELECT ?", 8) == 0) {
        as_echo(f, text);
    } else if (strncasecmp(text, "SELECT count ?", 14) == 0) {
        snprintf(f->text[0], ROW_TEXT, "%zu", f->given_count);
    } else if (strcasecmp(text, "SELECT typed") == 0) {
        as_typed(f);
    } else if (strcasecmp(text, "SELECT 1") == 0) {
        snprintf(f->text[0], ROW_TEXT, "1");
    } else if (number_after(text, "SELECT rows ", &f->left)) {
        as_rows(f, step_rows);
    } else if (number_after(text, "SELECT slow ", &f->left)) {
        as_rows(f, step_rows);
        f->computes = true;
    } else if (number_after(text, "SELECT late ", &f->left)) {
        as_rows(f, step_late);
    } else if (number_after(text, "SELECT big ", &f->left)) {
        f->big_size = f->left;
        f->big = mem_alloc(f->big_size);
        if (f->big)
            memset(f->big, 'x', f->big_size);
    } else if (number_after(text, "SELECT wait ", &f->left)) {
        f->step = step_wait;
        f->computes = true;
        snprintf(f->text[0], ROW_TEXT, "waited");
    } else if (strcasecmp(text, "SELECT hang") == 0) {
        f->step = step_hang;
        f->computes = true;
    } else if (strcasecmp(text, "SELECT block") == 0) {
        f->step = step_block;
        f->computes = true;
    } else if (strcasecmp(text, "SELECT stubborn") == 0) {
        f->step = step_stubborn;
        f->computes = true;
    } else if (strcasecmp(text, "SELECT empty") == 0) {
        f->step = step_empty;
    } else if (strcasecmp(text, "SELECT database") == 0) {
        snprintf(f->text[0], ROW_TEXT, "%.47s", f->session->database);
    } else if (strncasecmp(text, "SELECT length ", 14) == 0) {
        snprintf(f->text[0], ROW_TEXT, "%" PRIu64, f->left);
    } else if (strcasecmp(text, "SELECT types") == 0) {
        f->step = step_types;
        f->base.column_count = 4;
        f->columns[0] = (struct column){"i", "", "", COLUMN_BIGINT, 20};
        f->columns[1] = (struct column){"d", "", "", COLUMN_DOUBLE, 20};
        f->columns[2] = (struct column){"b", "", "", COLUMN_BLOB, 20};
    } else {
        return false;
    }
    return true;
}

/* 1: understood; 0: not; -1: *err */
static int
open_other(struct fake *f, const char *text, struct error *err)
{
    struct sql_session *s = f->session;
    const struct sql_host *host = &s->node->host;
    uint64_t n;

    f->step = step_empty;
    f->base.column_count = 0;
    if (number_after(text, "SET autocommit = ", &n)) {
        s->autocommit = n != 0;
        f->base.info = "set";
    } else if (strcasecmp(text, "BEGIN") == 0) {
        s->in_transaction = true;
    } else if (strcasecmp(text, "COMMIT") == 0) {
        s->in_transaction = false;
    } else if (strncasecmp(text, "USE ", 4) == 0) {
        return sql_session_use(s, (struct span){text + 4, strlen(text + 4)},
                               err) == 0
                   ? 1
                   : -1;
    } else if (number_after(text, "KILL QUERY ", &n)) {
        return host->kill(host->arg, (uint32_t)n, true, &s->who, err) ? -1 : 1;
    } else if (number_after(text, "KILL ", &n)) {
        return host->kill(host->arg, (uint32_t)n, false, &s->who, err) ? -1 : 1;
    } else if (strcasecmp(text, "SHOW PROCESSLIST") == 0) {
        f->list = mem_zalloc(LIST_MAX, sizeof(*f->list));
        if (f->list)
            f->left = host->list_sessions(host->arg, f->list, LIST_MAX);
        else
            f->left = 0;
        f->step = step_list;
        f->base.column_count = 4;
        f->columns[0].type = COLUMN_BIGINT;
    } else if (strncasecmp(text, "ADMIN EXECUTE", 13) == 0) {
        f->step = step_text;
        f->base.column_count = 1;
        snprintf(f->text[0], ROW_TEXT, "false");
        if (f->given_count > 0)
            snprintf(f->text[0], ROW_TEXT, "%.47s",
                     f->given[f->given_count - 1].data);
    } else {
        return 0;
    }
    return 1;
}

void
sql_start(void)
{
}

struct cursor *
sql_open(struct sql_session *session, struct span text,
         const struct sql_parameters *parameters, struct await *await,
         struct error *err)
{
    struct fake *f = fake_new(session);
    char *copy = mem_strndup(text.data, text.size);
    int rc;

    if (!f || !copy || !keep_parameters(f, parameters)) {
        error_memory(err, "a statement");
        if (f)
            fake_free(&f->base);
        mem_free(copy);
        return NULL;
    }
    f->left = text.size;
    f->await = await;
    rc = !parameters && strchr(copy, '?') ? 0
         : open_select(f, copy)           ? 1
                                          : open_other(f, copy, err);
    mem_free(copy);
    if (rc == 1)
        return &f->base;
    if (rc == 0)
        error_set(err, ER_PARSE,
                  "You have an error in your SQL syntax near '%.*s' at line 1",
                  (int)(text.size < 80 ? text.size : 80), text.data);
    fake_free(&f->base);
    return NULL;
}

int
sql_describe(struct sql_session *session, struct span text, struct await *await,
             struct sql_description *out, struct error *err)
{
    static const struct sql_parameters none = {NULL, 0};
    bool rows = text.size > 6 && (strncasecmp(text.data, "SELECT", 6) == 0 ||
                                  strncasecmp(text.data, "ADMIN", 5) == 0);
    struct cursor *cursor;
    struct column *columns;

    memset(out, 0, sizeof(*out));
    for (size_t i = 0; i < text.size; i++)
        out->parameter_count += text.data[i] == '?';
    if (!rows)
        return 0;
    cursor = sql_open(session, text, &none, await, err);
    if (!cursor)
        return -1;
    out->arena = arena_new(DESCRIPTION_MAX);
    columns = out->arena ? arena_alloc(out->arena,
                                       cursor->column_count * sizeof(*columns))
                         : NULL;
    if (columns) {
        memcpy(columns, cursor->columns,
               cursor->column_count * sizeof(*columns));
        out->columns = columns;
        out->column_count = cursor->column_count;
    }
    cursor_free(cursor);
    if (columns)
        return 0;
    arena_free(out->arena);
    error_memory(err, "columns");
    return -1;
}

void
sql_description_fini(struct sql_description *description)
{
    arena_free(description->arena);
    description->arena = NULL;
}

struct cursor *
sql_open_fields(struct sql_session *session, struct span table,
                struct error *err)
{
    struct fake *f;

    if (!span_is(table, "numbers")) {
        error_set(err, ER_NO_SUCH_TABLE, "Table '%.*s' doesn't exist",
                  (int)table.size, table.data);
        return NULL;
    }
    f = fake_new(session);
    if (!f) {
        error_memory(err, "columns");
        return NULL;
    }
    as_rows(f, step_rows);
    return &f->base;
}
