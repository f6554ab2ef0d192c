/*
 * fake_sql.c - a small sql/ for the tests of server/.
 *
 * Each statement shows one thing that a cursor may do:
 *   SELECT 1               one row, on the loop
 *   SELECT rows N          N rows, on the loop
 *   SELECT slow N          N rows, stepped by workers
 *   SELECT late N          N rows, then an error
 *   SELECT big N           one cell of N bytes
 *   SELECT wait N          says WAIT, is woken by a thread after N ms, and
 *                          tells progress meanwhile
 *   SELECT hang            waits until it is cancelled
 *   SELECT block           keeps a worker busy until it is cancelled
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
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "arena.h"
#include "cursor.h"
#include "errors.h"
#include "memory.h"
#include "sql.h"

enum { ROW_TEXT = 48, COLUMNS = 12, LIST_MAX = 2048, DESCRIPTION_MAX = 4096 };

struct sql_session {
    const struct sql_node *node;
    struct sql_identity who;
    uint32_t id;
    char database[SQL_NAME_MAX + 1];
    bool autocommit, in_transaction;
};

struct fake {
    struct cursor base;
    enum step (*step)(struct fake *fake, struct rows *out, struct error *err);
    struct column columns[COLUMNS];
    struct sql_session *session;
    uint64_t left, done;
    char text[CURSOR_BATCH][ROW_TEXT];
    char *big;
    size_t big_size;
    struct sql_session_row *list;
    struct value *given; /* the parameters */
    size_t given_count;
    struct waker waker;
    atomic_bool cancelled;
    pthread_t thread;
    pthread_mutex_t lock; /* guards the three below */
    pthread_cond_t cond;
    bool threaded, stop, awake;
};

int
privileges_parse(const char *text, uint32_t *out, struct error *err)
{
    static const struct {
        const char *name;
        uint32_t bit;
    } names[] = {{"status", PRIVILEGE_STATUS},   {"profile", PRIVILEGE_PROFILE},
                 {"control", PRIVILEGE_CONTROL}, {"cluster", PRIVILEGE_CLUSTER},
                 {"admin", PRIVILEGE_ADMIN},     {"all", PRIVILEGE_ALL}};
    uint32_t bits = 0;

    while (*text) {
        size_t size = strcspn(text, ", "), i;

        for (i = 0; i < 6; i++)
            if (strlen(names[i].name) == size &&
                strncmp(text, names[i].name, size) == 0)
                break;
        if (i == 6) {
            error_set(err, ER_WRONG_VALUE, "unknown privilege '%.*s'",
                      (int)size, text);
            return -1;
        }
        bits |= names[i].bit;
        text += size;
        text += strspn(text, ", ");
    }
    if (!bits) {
        error_set(err, ER_WRONG_VALUE, "no privilege is named");
        return -1;
    }
    *out = bits;
    return 0;
}

struct sql_session *
sql_session_new(const struct sql_node *node, const struct sql_identity *who,
                uint32_t connection_id)
{
    struct sql_session *s = mem_zalloc(1, sizeof(*s));

    if (s) {
        s->node = node;
        s->who = *who;
        s->id = connection_id;
        s->autocommit = true;
    }
    return s;
}

void
sql_session_free(struct sql_session *s)
{
    mem_free(s);
}

void
sql_session_reset(struct sql_session *s)
{
    s->autocommit = true;
    s->in_transaction = false;
}

int
sql_session_use(struct sql_session *s, struct span database, struct error *err)
{
    if (!span_is(database, "heapwire") &&
        !span_is(database, "information_schema")) {
        error_set(err, ER_BAD_DB, "Unknown database '%.*s'", (int)database.size,
                  database.data);
        return -1;
    }
    snprintf(s->database, sizeof(s->database), "%.*s", (int)database.size,
             database.data);
    return 0;
}

const char *
sql_session_database(const struct sql_session *s)
{
    return s->database;
}

bool
sql_session_autocommit(const struct sql_session *s)
{
    return s->autocommit;
}

bool
sql_session_in_transaction(const struct sql_session *s)
{
    return s->in_transaction;
}

uint32_t
sql_session_idle_s(const struct sql_session *s)
{
    return s->node->idle_timeout_s;
}

static void *
sleep_and_wake(void *arg)
{
    struct fake *f = arg;
    struct timespec until;
    bool stopped;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += (time_t)(f->left / 1000);
    until.tv_nsec += (long)(f->left % 1000) * 1000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    pthread_mutex_lock(&f->lock);
    while (!f->stop && pthread_cond_timedwait(&f->cond, &f->lock, &until) == 0)
        ;
    f->awake = true;
    stopped = f->stop;
    pthread_mutex_unlock(&f->lock);
    if (!stopped)
        f->waker.wake(f->waker.arg);
    return NULL;
}

static void
add(struct fake *f, struct rows *out, const char *text, size_t size)
{
    struct value *v = out->values + out->count++ * f->base.column_count;

    memset(v, 0, sizeof(*v));
    v->type = VALUE_TEXT;
    v->data = text;
    v->size = size;
}

static enum step
step_rows(struct fake *f, struct rows *out, struct error *err)
{
    struct value *v;
    size_t i;

    (void)err;
    for (i = 0; i < out->capacity && f->done < f->left; i++, f->done++) {
        snprintf(f->text[i], ROW_TEXT, "row number %" PRIu64, f->done);
        v = out->values + out->count++ * 2;
        v[0] = (struct value){.type = VALUE_INT, .integer = (int64_t)f->done};
        v[1] = (struct value){
            .type = VALUE_TEXT, .data = f->text[i], .size = strlen(f->text[i])};
    }
    return f->done < f->left ? STEP_MORE : STEP_DONE;
}

static enum step
step_late(struct fake *f, struct rows *out, struct error *err)
{
    if (f->done < f->left) {
        (void)step_rows(f, out, err);
        return STEP_MORE;
    }
    error_set(err, ER_UNKNOWN, "this came late");
    return STEP_FAIL;
}

static enum step
step_text(struct fake *f, struct rows *out, struct error *err)
{
    (void)err;
    add(f, out, f->big ? f->big : f->text[0],
        f->big ? f->big_size : strlen(f->text[0]));
    return STEP_DONE;
}

static enum step
step_empty(struct fake *f, struct rows *out, struct error *err)
{
    (void)f;
    (void)out;
    (void)err;
    return STEP_DONE;
}

static enum step
step_wait(struct fake *f, struct rows *out, struct error *err)
{
    bool awake;

    if (!f->threaded) {
        if (pthread_create(&f->thread, NULL, sleep_and_wake, f) != 0)
            abort();
        f->threaded = true;
        return STEP_WAIT;
    }
    pthread_mutex_lock(&f->lock);
    awake = f->awake;
    pthread_mutex_unlock(&f->lock);
    return awake ? step_text(f, out, err) : STEP_WAIT;
}

static enum step
step_hang(struct fake *f, struct rows *out, struct error *err)
{
    (void)f;
    (void)out;
    (void)err;
    return STEP_WAIT;
}

static enum step
step_block(struct fake *f, struct rows *out, struct error *err)
{
    struct timespec nap = {0, 2000000};

    (void)out;
    while (!atomic_load(&f->cancelled))
        nanosleep(&nap, NULL);
    error_set(err, ER_QUERY_INTERRUPTED, "Query execution was interrupted");
    return STEP_FAIL;
}

static enum step
step_types(struct fake *f, struct rows *out, struct error *err)
{
    struct value *v = out->values;

    (void)f;
    (void)err;
    v[0] = (struct value){.type = VALUE_INT, .integer = INT64_MIN};
    v[1] = (struct value){.type = VALUE_DOUBLE, .real = 0.1};
    v[2] = (struct value){.type = VALUE_BLOB, .data = "\0\1\xff", .size = 3};
    v[3] = (struct value){.type = VALUE_NULL};
    out->count = 1;
    return STEP_DONE;
}

static enum step
step_echo(struct fake *f, struct rows *out, struct error *err)
{
    (void)err;
    memcpy(out->values, f->given, f->base.column_count * sizeof(*f->given));
    out->count = 1;
    return STEP_DONE;
}

static const struct {
    const char *name;
    enum column_type type;
    uint16_t flags;
    const char *text; /* or NULL */
    int64_t integer;
} typed[COLUMNS] = {
    {"null", COLUMN_NULL, 0, NULL, 0},
    {"text", COLUMN_TEXT, 0, NULL, 42},
    {"longtext", COLUMN_LONGTEXT, COLUMN_NOT_NULL, "long", 0},
    {"blob", COLUMN_BLOB, 0, "\xff\xfe", 0},
    {"int", COLUMN_INT, 0, "-7", 0},
    {"bigint", COLUMN_BIGINT, COLUMN_UNSIGNED, "18446744073709551615", 0},
    {"double", COLUMN_DOUBLE, 0, "0.5", 0},
    {"decimal", COLUMN_DECIMAL, 0, "1234567890.123456789", 0},
    {"date", COLUMN_DATE, 0, "2026-11-21", 0},
    {"time", COLUMN_TIME, 0, "-99:30:15.5", 0},
    {"datetime", COLUMN_DATETIME, 0, "2026-11-21 13:14:15.123", 0},
    {"timestamp", COLUMN_TIMESTAMP, 0, "no time at all", 0},
};

static enum step
step_typed(struct fake *f, struct rows *out, struct error *err)
{
    (void)f;
    (void)err;
    for (size_t i = 0; i < COLUMNS; i++) {
        struct value *v = &out->values[i];

        *v = (struct value){.type = VALUE_INT, .integer = typed[i].integer};
        if (typed[i].text)
            *v = (struct value){.type = VALUE_TEXT,
                                .data = typed[i].text,
                                .size = strlen(typed[i].text)};
    }
    out->count = 1;
    return STEP_DONE;
}

static enum step
step_list(struct fake *f, struct rows *out, struct error *err)
{
    (void)err;
    for (size_t i = 0; i < out->capacity && f->done < f->left; i++, f->done++) {
        struct sql_session_row *row = &f->list[f->done];
        struct value *v = out->values + out->count++ * 4;

        v[0] = (struct value){.type = VALUE_INT, .integer = row->id};
        v[1] = (struct value){
            .type = VALUE_TEXT, .data = row->user, .size = strlen(row->user)};
        v[2] = (struct value){.type = VALUE_TEXT,
                              .data = row->command,
                              .size = strlen(row->command)};
        v[3] = (struct value){.type = row->has_info ? VALUE_TEXT : VALUE_NULL,
                              .data = row->info,
                              .size = strlen(row->info)};
    }
    return f->done < f->left ? STEP_MORE : STEP_DONE;
}

static enum step
fake_step(struct cursor *cursor, struct rows *out, struct error *err)
{
    struct fake *f = (struct fake *)cursor;

    if (atomic_load(&f->cancelled)) {
        error_set(err, ER_QUERY_INTERRUPTED, "Query execution was interrupted");
        return STEP_FAIL;
    }
    return f->step(f, out, err);
}

static void
fake_cancel(struct cursor *cursor)
{
    atomic_store(&((struct fake *)cursor)->cancelled, true);
}

static void
fake_free(struct cursor *cursor)
{
    struct fake *f = (struct fake *)cursor;

    if (f->threaded) {
        pthread_mutex_lock(&f->lock);
        f->stop = true;
        pthread_cond_signal(&f->cond);
        pthread_mutex_unlock(&f->lock);
        pthread_join(f->thread, NULL);
    }
    pthread_mutex_destroy(&f->lock);
    pthread_cond_destroy(&f->cond);
    mem_free(f->big);
    mem_free(f->list);
    for (size_t i = 0; i < f->given_count; i++)
        mem_free((char *)f->given[i].data);
    mem_free(f->given);
    mem_free(f);
}

static bool
fake_progress(struct cursor *cursor, struct progress *out)
{
    struct fake *f = (struct fake *)cursor;

    if (f->step != step_wait)
        return false;
    *out = (struct progress){2, 3, 42, "waiting for nothing"};
    return true;
}

static const struct cursor_ops fake_ops = {fake_step, fake_cancel, fake_free,
                                           fake_progress};

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
    f->base.instant = true;
    f->base.info = "";
    f->session = s;
    f->step = step_text;
    for (size_t i = 0; i < COLUMNS; i++)
        f->columns[i] = (struct column){"result", "", "", COLUMN_TEXT, 64};
    pthread_mutex_init(&f->lock, NULL);
    pthread_cond_init(&f->cond, NULL);
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
as_rows(struct fake *f,
        enum step (*step)(struct fake *, struct rows *, struct error *))
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
        f->columns[i].name = typed[i].name;
        f->columns[i].type = typed[i].type;
        f->columns[i].flags = typed[i].flags;
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
        f->base.instant = false;
    } else if (number_after(text, "SELECT late ", &f->left)) {
        as_rows(f, step_late);
    } else if (number_after(text, "SELECT big ", &f->left)) {
        f->big_size = f->left;
        f->big = mem_alloc(f->big_size);
        if (f->big)
            memset(f->big, 'x', f->big_size);
    } else if (number_after(text, "SELECT wait ", &f->left)) {
        f->step = step_wait;
        snprintf(f->text[0], ROW_TEXT, "waited");
    } else if (strcasecmp(text, "SELECT hang") == 0) {
        f->step = step_hang;
    } else if (strcasecmp(text, "SELECT block") == 0) {
        f->step = step_block;
        f->base.instant = false;
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

struct cursor *
sql_open(struct sql_session *session, struct span text,
         const struct sql_parameters *parameters, struct waker waker,
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
    f->waker = waker;
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
sql_describe(struct sql_session *session, struct span text,
             struct sql_description *out, struct error *err)
{
    static const struct sql_parameters none = {NULL, 0};
    static const struct waker nobody = {NULL, NULL};
    bool rows = text.size > 6 && (strncasecmp(text.data, "SELECT", 6) == 0 ||
                                  strncasecmp(text.data, "ADMIN", 5) == 0);
    struct cursor *cursor;
    struct column *columns;

    memset(out, 0, sizeof(*out));
    for (size_t i = 0; i < text.size; i++)
        out->parameter_count += text.data[i] == '?';
    if (!rows)
        return 0;
    cursor = sql_open(session, text, &none, nobody, err);
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
