/*
 * http_show.c - see http.h.  A struct statement_form: the statement gives it
 * rows one by one, and it appends what the path's form of answer makes of them.
 */
#include "http.h"

#include <stdio.h>
#include <string.h>

#include <openssl/evp.h>

#include "cursor.h"
#include "errors.h"
#include "http_metrics.h"
#include "http_route.h"
#include "clean_text.h"
#include "page_files.h"
#include "reply.h"
#include "sql.h"
#include "statement.h"

enum {
    TEXT_MAX = ERROR_TEXT_MAX + 256,
    OFF_MAX = 4 * 1024,
    METRICS_MAX = 64 * 1024 * 1024,
    ETAG_BYTES = 16,
    RETRY_S = 60
};

/* ---- errors ---- */

unsigned
http_error_status(const struct error *err)
{
    switch (err->code) {
    case ER_ACCESS_DENIED:
        return 401;
    case ER_PRIVILEGE:
    case ER_SECURE_TRANSPORT_REQUIRED:
        return 403;
    case ER_KEY_NOT_FOUND:
        return 404;
    case ER_DUP_ENTRY:
        return 409;
    case ER_HOST_IS_BLOCKED:
    case ER_USER_LIMIT_REACHED:
        return 429;
    case ER_FEATURE_DISABLED:
        return 501;
    case ER_QUERY_TIMEOUT:
        return 504;
    case ER_UNKNOWN:
    case ER_TOO_MANY_CONNECTIONS:
    case ER_SHUTDOWN:
    case ER_QUERY_INTERRUPTED:
    case ER_OUT_OF_MEMORY:
    case ER_OUT_OF_SORT_MEMORY:
    case ER_OUT_OF_RESOURCES:
    case ER_CANT_CREATE_THREAD:
    case ER_DISK_FULL:
        return 503;
    default: /* of the statement, or its parameters */
        return 400;
    }
}

void
http_show_message(struct http_answer *answer, struct buffer *out,
                  unsigned status, const char *text)
{
    answer->etag = NULL;
    http_answer_with_body(answer, out, status, HTTP_TEXT,
                          (struct span){text, strlen(text)});
}

void
http_show_error(struct http_answer *answer, struct buffer *out,
                const struct error *err)
{
    unsigned status = http_error_status(err);
    char text[TEXT_MAX];

    answer->more = NULL;
    if (status == 401 && !answer->from_page)
        answer->more = "WWW-Authenticate: Basic realm=\"heapwire\", "
                       "charset=\"UTF-8\"\r\n"
                       "WWW-Authenticate: Bearer\r\n";
    if (status == 429 && answer->retry_s == 0)
        answer->retry_s = RETRY_S;
    snprintf(text, sizeof(text), "%s\n", err->text);
    http_show_message(answer, out, status, text);
}

/* ---- rows ---- */

/* An ETag of the content, as a name may be another snapshot's later.  Weak,
 * because the body may be packed or not. */
static bool
make_etag(struct http_show_state *show, struct span body)
{
    uint8_t digest[EVP_MAX_MD_SIZE];
    char *at = show->etag + 3;

    if (EVP_Digest(body.data, body.size, digest, NULL, EVP_sha256(), NULL) != 1)
        return false;
    memcpy(show->etag, "W/\"", 3);
    for (size_t i = 0; i < ETAG_BYTES; i++, at += 2)
        snprintf(at, 3, "%02x", digest[i]);
    memcpy(at, "\"", 2);
    show->answer.etag = show->etag;
    return true;
}

/* A weak comparison, of one tag or of a list. */
static bool
is_etag_known(const struct http_show_state *show)
{
    return strcmp(show->if_none_match, "*") == 0 ||
           strstr(show->if_none_match, show->etag + 2);
}

/* The size of "script line 1, column 2: ", which is left out: whoever asked for
 * a path wrote no script. */
static size_t
script_position_size(const char *text, size_t size)
{
    static const char begin[] = "script line ";
    const char *end;

    if (size < sizeof(begin) || memcmp(text, begin, sizeof(begin) - 1) != 0)
        return 0;
    end = memmem(text, size, ": ", 2);
    return end ? (size_t)(end - text) + 2 : 0;
}

/* Sends the whole body, packed if that helps; or 304. */
static void
show_body(struct http_show_state *show, struct buffer *out, unsigned status,
          const char *type, struct span body)
{
    struct http_answer *a = &show->answer;

    show->complete = true;
    if (show->kept && make_etag(show, body) && *show->if_none_match &&
        is_etag_known(show)) {
        http_answer_with_body(a, out, 304, NULL, body);
    } else if (show->route->packed && a->gzip) {
        http_answer_begin(a, out, status, type, true);
        http_answer_part(a, out, body.data, body.size);
        http_answer_end(a, out);
    } else {
        http_answer_with_body(a, out, status, type, body);
    }
}

/* Is it a row of ADMIN EXECUTE ON ALL (id, status, text) that failed? */
static bool
is_failure(const struct value *row, size_t count)
{
    return count == 3 && row[1].type == VALUE_TEXT &&
           span_is((struct span){row[1].data, row[1].size}, "ERROR");
}

/* Keeps a failed node's line: if all nodes fail, the answer is 503. */
static void
keep_line(struct http_show_state *show, struct buffer *out,
          const struct buffer *line)
{
    if (show->value.max == 0)
        buffer_init(&show->value, REPLY_MAX);
    buffer_add(&show->value, line->data, line->size);
    out->failed = out->failed || line->failed || show->value.failed;
}

static void
show_tabbed_row(struct http_show_state *show, struct buffer *out,
                const struct value *row, size_t count)
{
    struct http_answer *a = &show->answer;
    struct buffer line;

    buffer_init(&line, REPLY_ROW_MAX);
    for (size_t i = 0; i < count; i++) {
        struct value v = row[i];

        if (i > 0)
            buffer_char(&line, '\t');
        if (i == 2 && v.type == VALUE_TEXT && is_failure(row, count)) {
            size_t place = script_position_size(v.data, v.size);

            v.data += place;
            v.size -= place;
        }
        http_answer_value(&line, &v);
    }
    buffer_char(&line, '\n');
    if (!a->begun && show->all_nodes && is_failure(row, count)) {
        keep_line(show, out, &line);
        buffer_fini(&line);
        return;
    }
    if (!a->begun)
        http_answer_begin(a, out, 200, show->route->type, show->route->packed);
    http_answer_part(a, out, show->value.data, show->value.size);
    buffer_clear(&show->value);
    http_answer_part(a, out, line.data, line.size);
    out->failed = out->failed || line.failed;
    buffer_fini(&line);
}

void
http_show_text(struct http_show_state *show, struct buffer *out)
{
    const struct http_route *route = show->route;

    show->kept = true;
    if (route->page)
        show->answer.policy = PAGE_POLICY;
    show_body(show, out, route->status ? route->status : 200, route->type,
              (struct span){route->text, strlen(route->text)});
}

static void
begin_json(struct http_show_state *show, struct buffer *out,
           const struct cursor *cursor)
{
    struct buffer head;

    buffer_init(&head, REPLY_ROW_MAX);
    buffer_text(&head, "{\"columns\":[");
    for (size_t i = 0; cursor && i < cursor->column_count; i++) {
        const char *name = cursor->columns[i].name;

        buffer_text(&head, i > 0 ? "," : "");
        json_append_string(name, strlen(name), &head);
    }
    buffer_text(&head, "],\n\"rows\":[");
    http_answer_begin(&show->answer, out, 200, show->route->type,
                      show->route->packed);
    http_answer_part(&show->answer, out, head.data, head.size);
    out->failed = out->failed || head.failed;
    buffer_fini(&head);
}

static void
show_json_row(struct http_show_state *show, struct buffer *out,
              const struct cursor *cursor, const struct value *row)
{
    struct buffer line;

    buffer_init(&line, REPLY_ROW_MAX);
    if (show->answer.begun)
        buffer_text(&line, ",\n");
    else
        begin_json(show, out, cursor);
    for (size_t i = 0; i < cursor->column_count; i++) {
        buffer_char(&line, i == 0 ? '[' : ',');
        http_answer_json(&line, &cursor->columns[i], &row[i]);
    }
    buffer_char(&line, ']');
    http_answer_part(&show->answer, out, line.data, line.size);
    out->failed = out->failed || line.failed;
    buffer_fini(&line);
}

static void
end_json(struct http_show_state *show, struct buffer *out,
         const struct cursor *cursor, const struct sql_session *sql)
{
    static const char plain[] = "]}\n";
    const char *warning;
    struct buffer tail;

    if (!show->answer.begun)
        begin_json(show, out, cursor);
    if (!sql_session_warning(sql, 0)) {
        http_answer_part(&show->answer, out, plain, sizeof(plain) - 1);
        http_answer_end(&show->answer, out);
        return;
    }
    buffer_init(&tail, REPLY_ROW_MAX);
    buffer_char(&tail, ']');
    for (size_t i = 0; (warning = sql_session_warning(sql, i)); i++) {
        buffer_text(&tail, i > 0 ? "," : ",\n\"warnings\":[");
        json_append_string(warning, strlen(warning), &tail);
    }
    buffer_text(&tail, "]}\n");
    http_answer_part(&show->answer, out, tail.data, tail.size);
    http_answer_end(&show->answer, out);
    out->failed = out->failed || tail.failed;
    buffer_fini(&tail);
}

static void
end_lines(struct http_show_state *show, struct buffer *out,
          const struct sql_session *sql)
{
    const char *warning;
    struct buffer tail;

    buffer_init(&tail, REPLY_ROW_MAX);
    for (size_t i = 0; (warning = sql_session_warning(sql, i)); i++)
        buffer_format(&tail, "warning: %s\n", warning);
    http_answer_part(&show->answer, out, tail.data, tail.size);
    out->failed = out->failed || tail.failed;
    buffer_fini(&tail);
}

static int
take_metrics(struct http_show_state *show, const struct value *row,
             size_t count, struct error *err)
{
    if (!show->metrics)
        show->metrics = http_metrics_new(show->all_nodes);
    if (!show->metrics) {
        error_memory(err, "the metrics");
        return -1;
    }
    http_metrics_row(show->metrics, row, count);
    return 0;
}

static const char *
type_of_metrics(const struct http_show_state *show)
{
    return show->open_metrics ? HTTP_METRICS_OPEN : HTTP_METRICS_TYPE;
}

static void
pack_all(struct buffer *text)
{
    struct buffer packed;

    buffer_init(&packed, text->max);
    http_answer_pack((struct span){text->data, text->size}, &packed);
    packed.failed = packed.failed || text->failed;
    buffer_fini(text);
    *text = packed;
}

void
http_show_shared(struct http_show_state *show, struct buffer *out)
{
    const struct buffer *body = &show->shared->body;

    if (show->answer.gzip)
        show->answer.more = HTTP_PACKED;
    http_answer_with_body(&show->answer, out, 200, type_of_metrics(show),
                          (struct span){body->data, body->size});
}

static void
show_metrics(struct http_show_state *show, struct buffer *out)
{
    struct buffer text;

    if (!show->metrics) {
        http_show_message(
            &show->answer, out, 503,
            "no such node answered: SELECT id, state, last_error FROM "
            "heapwire.nodes\n");
        return;
    }
    buffer_init(&text, METRICS_MAX);
    http_metrics_write(show->metrics, show->open_metrics, &text);
    if (show->shared && show->answer.gzip)
        pack_all(&text);
    out->failed = out->failed || text.failed;
    if (!text.failed && show->shared) {
        http_shared_keep(show->shared, &text, show->asked_ms);
        http_show_shared(show, out);
    } else if (!text.failed) {
        show_body(show, out, 200, type_of_metrics(show),
                  (struct span){text.data, text.size});
    }
    buffer_fini(&text);
}

static void
show_ready(struct http_show_state *show, struct buffer *out,
           const struct value *state)
{
    char text[TEXT_MAX];
    bool ready = span_is((struct span){state->data, state->size}, "connected");

    snprintf(text, sizeof(text), "%sthe database is %.*s\n",
             ready ? "" : "not ready: ", (int)state->size, state->data);
    show_body(show, out, ready ? 200 : 503, HTTP_TEXT,
              (struct span){text, strlen(text)});
}

static void
show_value(struct http_show_state *show, struct buffer *out,
           const struct value *v)
{
    struct span body = {v->data, v->size};
    struct buffer number;

    buffer_init(&number, TEXT_MAX);
    if (v->type != VALUE_TEXT && v->type != VALUE_BLOB) {
        http_answer_value(&number, v);
        out->failed = out->failed || number.failed;
        body = (struct span){number.data, number.size};
    }
    if (!number.failed)
        show_body(show, out, 200, show->route->type, body);
    buffer_fini(&number);
}

/* Answers in the words of the system that had the path first, and says why, if
 * that is known. */
static void
answer_profiling_off(struct http_show_state *show, struct buffer *out,
                     unsigned status, const char *why)
{
    const struct http_route *route = show->route;
    bool is_json = *route->off == '{';
    struct buffer text;

    buffer_init(&text, OFF_MAX);
    buffer_text(&text, route->off);
    if (is_json) {
        buffer_text(&text, ",\"reason\":");
        json_append_string(why, strlen(why), &text);
        buffer_text(&text, "}\n");
    } else {
        buffer_format(&text, "\n%s\n", why);
    }
    show->answer.more = NULL;
    out->failed = out->failed || text.failed;
    if (!text.failed)
        http_answer_with_body(&show->answer, out, status,
                              is_json ? HTTP_JSON : HTTP_TEXT,
                              (struct span){text.data, text.size});
    buffer_fini(&text);
}

/* Fails because the value is NULL; the next column says why, if there is one.
 */
static int
fail_null(const struct cursor *cursor, const struct value *row,
          struct error *err)
{
    if (cursor->column_count > 1 && row[1].type == VALUE_TEXT)
        error_set(err, ER_UNKNOWN, "%.*s", (int)row[1].size, row[1].data);
    else
        error_set(err, ER_UNKNOWN, "the node does not know this now");
    return -1;
}

/* Keeps the value of a client's own statement until it is known that no further
 * row comes. */
static int
keep_value(struct http_show_state *show, const struct cursor *cursor,
           const struct value *v, struct error *err)
{
    struct buffer *kept = &show->value;

    if (show->has_value || cursor->column_count > 1) {
        error_set(err, ER_WRONG_ARGUMENTS,
                  "/value shows one value, and the statement has %s; /sql "
                  "shows all",
                  show->has_value ? "several rows" : "several columns");
        return -1;
    }
    if (v->type == VALUE_NULL)
        return fail_null(cursor, v, err);
    buffer_init(kept, REPLY_MAX);
    buffer_text(kept, "");
    http_answer_value(kept, v);
    if (kept->failed) {
        buffer_fini(kept);
        error_memory(err, "a value");
        return -1;
    }
    show->has_value = true;
    return 0;
}

static int
on_http_result_row(void *arg, struct reply *reply, const struct cursor *cursor,
                   const struct value *values, struct error *err)
{
    struct http_show_state *show = arg;
    struct buffer *out = &reply->out;

    if (show->complete)
        return 0;
    if (show->route->show == HTTP_SHOW_JSON) {
        show_json_row(show, out, cursor, values);
    } else if (show->route->show == HTTP_SHOW_LINES) {
        show_tabbed_row(show, out, values, cursor->column_count);
    } else if (show->route->show == HTTP_SHOW_METRICS) {
        return take_metrics(show, values, cursor->column_count, err);
    } else if (show->route->post) {
        return keep_value(show, cursor, values, err);
    } else if (values[0].type == VALUE_NULL) {
        return fail_null(cursor, values, err);
    } else if (show->route->show == HTTP_SHOW_READY) {
        show_ready(show, out, values);
    } else {
        show_value(show, out, values);
    }
    return 0;
}

static void
on_http_result_end(void *arg, struct reply *reply, const struct cursor *cursor,
                   const struct sql_session *sql)
{
    struct http_show_state *show = arg;
    struct http_answer *a = &show->answer;

    if (show->complete)
        return;
    if (show->route->show == HTTP_SHOW_METRICS) {
        show_metrics(show, &reply->out);
        return;
    }
    if (show->route->show == HTTP_SHOW_JSON) {
        end_json(show, &reply->out, cursor, sql);
        return;
    }
    if (show->has_value) {
        show_body(show, &reply->out, 200, show->route->type,
                  (struct span){show->value.data, show->value.size});
        buffer_fini(&show->value);
        return;
    }
    if (!a->begun && show->value.size > 0) {
        http_answer_with_body(
            a, &reply->out, 503, show->route->type,
            (struct span){show->value.data, show->value.size});
        return;
    }
    if (!a->begun && !a->head_alone && show->route->show != HTTP_SHOW_LINES) {
        if (strchr(show->route->path, '*'))
            http_show_message(
                a, &reply->out, 404,
                "no snapshot of that name is kept; SELECT name FROM "
                "heapwire.snapshots lists those that are\n");
        else if (show->route->hint)
            answer_profiling_off(show, &reply->out, 503, show->route->hint);
        else
            http_show_message(a, &reply->out, 503,
                              "the node does not know this now\n");
        return;
    }
    if (!a->begun)
        http_answer_begin(a, &reply->out, 200, show->route->type,
                          show->route->packed);
    if (show->route->show == HTTP_SHOW_LINES && !show->all_nodes &&
        sql_session_warning(sql, 0))
        end_lines(show, &reply->out, sql);
    http_answer_end(a, &reply->out);
}

static void
on_http_result_error(void *arg, struct reply *reply, const struct error *err)
{
    struct http_show_state *show = arg;
    struct error said = *err;

    if (show->route->show == HTTP_SHOW_LINES) {
        size_t place = script_position_size(err->text, strlen(err->text));

        snprintf(said.text, sizeof(said.text), "%s", err->text + place);
    }
    /* The status has been sent: only a missing last chunk can tell of the
     * error. */
    if (show->answer.begun)
        show->broken = true;
    else if (show->route->off && err->code == ER_FEATURE_DISABLED)
        answer_profiling_off(show, &reply->out, http_error_status(err),
                             said.text);
    else
        http_show_error(&show->answer, &reply->out, &said);
}

void
http_show_fini(struct http_show_state *show)
{
    http_answer_fini(&show->answer);
    buffer_fini(&show->value);
    http_metrics_free(show->metrics);
    show->metrics = NULL;
}

static bool
is_last(const void *arg)
{
    const struct http_show_state *show = arg;

    return show->answer.closes || show->broken;
}

const struct statement_form http_form = {.row = on_http_result_row,
                                         .end = on_http_result_end,
                                         .fail = on_http_result_error,
                                         .is_last = is_last};
