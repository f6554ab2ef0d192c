/* sql_harness.c - see sql_harness.h. */
#include "sql_harness.h"

#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "loopback_peers.h"
#include "memory.h"
#include "scripted_controller.h"
#include "view_cache.h"

enum { ANSWER_MAX = 256 << 20, PULLS_MAX = 10000000 };

static size_t
list_sessions(void *arg, struct sql_session_row *out, size_t max)
{
    static const struct {
        uint32_t id;
        const char *user, *command, *info;
    } list[] = {{7, "admin", "Query", "SHOW PROCESSLIST"},
                {8, "other", "Sleep", NULL}};
    size_t count = 0;

    (void)arg;
    for (; count < 2 && count < max; count++) {
        struct sql_session_row *row = &out[count];

        memset(row, 0, sizeof(*row));
        row->id = list[count].id;
        snprintf(row->user, sizeof(row->user), "%s", list[count].user);
        snprintf(row->host, sizeof(row->host), "localhost");
        snprintf(row->command, sizeof(row->command), "%s", list[count].command);
        row->seconds = 3;
        row->has_info = list[count].info != NULL;
        if (row->has_info)
            snprintf(row->info, sizeof(row->info), "%s", list[count].info);
    }
    return count;
}

static int
host_kill(void *arg, uint32_t id, bool query_only,
          const struct sql_identity *by, struct error *err)
{
    struct harness *h = arg;

    (void)by;
    if (id != 7 && id != 8) {
        error_set(err, ER_NO_SUCH_THREAD, "Unknown thread id: %" PRIu32, id);
        return -1;
    }
    h->killed = id;
    h->killed_query = query_only;
    return 0;
}

static void
count(void *arg, struct sql_counts *out)
{
    (void)arg;
    *out = (struct sql_counts){42, 9, 3, 2, 1, 1000, 2000};
}

static size_t
list_settings(void *arg, struct sql_setting_row *out, size_t max)
{
    (void)arg;
    if (max < 2)
        return 0;
    out[0] = (struct sql_setting_row){"id", "10001", false};
    out[1] = (struct sql_setting_row){"statement_timeout", "60", true};
    return 2;
}

static size_t
list_users(void *arg, struct sql_user_row *out, size_t max)
{
    (void)arg;
    if (max < 2)
        return 0;
    out[0] = (struct sql_user_row){"ann", true, PRIVILEGE_STATUS, 2};
    out[1] = (struct sql_user_row){"bob", false, PRIVILEGE_ALL, 0};
    return 2;
}

static size_t
list_audit(void *arg, struct sql_audit_row *out, size_t max)
{
    (void)arg;
    if (max < 1)
        return 0;
    out[0] = (struct sql_audit_row){
        1795228260000, 7, "ann", "10.0.0.1", 1227, 0, 21, 3, "ADMIN EXECUTE x"};
    return 1;
}

static void
wake(void *arg)
{
    ((struct harness *)arg)->wakes++;
}

void
harness_init(struct harness *h, uint32_t privileges)
{
    struct sql_identity who = {"admin", "localhost", privileges};

    sql_start();
    memset(h, 0, sizeof(*h));
    h->node.id = HARNESS_SELF;
    snprintf(h->node.address, sizeof(h->node.address), "127.0.0.1");
    h->node.port = 9036;
    h->node.started_ms = 1795228260000;
    h->node.controller = scripted_reset();
    h->node.views = view_cache_start(scripted.store, 0, &h->error);
    ck_assert_ptr_nonnull(h->node.views);
    h->alone = loopback_peers(&h->node);
    h->node.peers = &h->alone;
    h->node.idle_timeout_s = 28800;
    h->node.max_connections = 5000;
    h->node.host = (struct sql_host){h,         list_sessions, host_kill,
                                     count,     list_settings, list_users,
                                     list_audit};
    h->session = sql_session_new(&h->node, &who, 7);
    ck_assert_ptr_nonnull(h->session);
    buffer_init(&h->answer, ANSWER_MAX);
}

void
harness_fini(struct harness *h)
{
    harness_close(h);
    sql_session_free(h->session);
    view_cache_stop(h->node.views);
    buffer_fini(&h->answer);
}

struct cursor *
harness_open_span(struct harness *h, struct span text)
{
    struct sql_parameters parameters = {h->parameters, h->parameter_count};
    struct waker waker = {wake, h};

    harness_close(h);
    memset(&h->error, 0, sizeof(h->error));
    h->cursor = sql_open(h->session, text, h->parameters ? &parameters : NULL,
                         waker, &h->error);
    if (!h->cursor)
        ck_assert_uint_ne(h->error.code, 0);
    return h->cursor;
}

struct cursor *
harness_open(struct harness *h, const char *text)
{
    struct span span = {text, strlen(text)};

    return harness_open_span(h, span);
}

void
harness_close(struct harness *h)
{
    cursor_free(h->cursor);
    h->cursor = NULL;
}

static void
add_value(struct buffer *out, const struct value *value)
{
    switch (value->type) {
    case VALUE_NULL:
        buffer_text(out, "\\N");
        break;
    case VALUE_INT:
        buffer_format(out, "#%" PRId64, value->integer);
        break;
    case VALUE_DOUBLE:
        buffer_format(out, "~%g", value->real);
        break;
    case VALUE_TEXT:
    case VALUE_BLOB:
        buffer_add(out, value->data, value->size);
        break;
    }
}

void
harness_add_rows(struct harness *h, const struct rows *rows)
{
    size_t columns = h->cursor->column_count;

    for (size_t i = 0; i < rows->count * columns; i++) {
        buffer_text(&h->answer, i % columns ? "|" : "\n");
        add_value(&h->answer, &rows->values[i]);
    }
}

enum step
harness_pull(struct harness *h)
{
    size_t columns = h->cursor->column_count ? h->cursor->column_count : 1;
    struct value *values = mem_zalloc(columns * CURSOR_BATCH, sizeof(*values));
    struct rows rows = {values, 0, CURSOR_BATCH};
    enum step step = STEP_MORE;

    for (size_t i = 0; step == STEP_MORE; i++) {
        ck_assert_uint_lt(i, PULLS_MAX);
        rows.count = 0;
        step = h->cursor->ops->step(h->cursor, &rows, &h->error);
        ck_assert_uint_le(rows.count, CURSOR_BATCH);
        if (step != STEP_FAIL)
            harness_add_rows(h, &rows);
    }
    mem_free(values);
    ck_assert(!h->answer.failed);
    return step;
}

const char *
harness_run(struct harness *h, const char *text)
{
    buffer_clear(&h->answer);
    if (harness_open(h, text)) {
        if (h->cursor->column_count == 0)
            buffer_text(&h->answer, "OK");
        for (size_t i = 0; i < h->cursor->column_count; i++)
            buffer_format(&h->answer, "%s%s", i ? "|" : "",
                          h->cursor->columns[i].name);
        ck_assert_int_ne(harness_pull(h), STEP_WAIT);
        harness_close(h);
    }
    if (h->error.code) {
        ck_assert_str_eq(h->error.sqlstate, error_sqlstate(h->error.code));
        buffer_clear(&h->answer);
        buffer_format(&h->answer, "%u/%s %s", h->error.code, h->error.sqlstate,
                      h->error.text);
    }
    return h->answer.data;
}
