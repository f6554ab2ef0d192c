/*
 * bundle.c - see bundle.h.
 *
 * The file is a page with its style and script, and all answers as JSON in a
 * block that browsers do not run.  json_append_string() writes no '<' and
 * add_view_json() escapes it, so no name can end that block.  The page's policy
 * runs no script without this file's nonce and loads nothing from a network,
 * since names come from a database that nobody here vouches for.  A part that
 * fails is left out, and the status says so: half a bundle is better than none.
 * With --hash-names, columns that hold names become digests and columns that
 * hold sentences are not asked for at all.
 */
#include "bundle.h"

#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "buffer.h"
#include "bundle_files.h"
#include "bundle_names.h"
#include "clean_text.h"
#include "output_file.h"
#include "show_rows.h"
#include "client.h"

enum {
    FILE_MAX = 256 << 20,
    STATEMENT_MAX = 4096,
    NAME_MAX_JSON = 1 << 16,
    NEWEST = 4,
    NONCE = 16
};

struct bundle {
    const char *const *given;
    bool hash;
    unsigned char key[BUNDLE_KEY];
    struct buffer out;
    unsigned views;
    char *heap; /* the first view's name */
};

/* What the page shows of the node, besides the heaps. */
static const struct part {
    const char *name, *statement;
    /* asks for no column that may tell names of functions */
    const char *hashed;
} parts[] = {
    {"profiler",
     "SELECT p.state, p.since, p.profiling, p.active, p.sample_rate, "
     "p.started, "
     "p.reason, n.id AS node_id, n.version FROM profiler p JOIN nodes n ON "
     "n.self = 1"},
    {"memory",
     "SELECT taken, rss, rss_file, allocated, active, metadata, resident, "
     "mapped, retained, cgroup_current, cgroup_limit, unexplained FROM memory"},
    {"history",
     "SELECT CAST(floor(unix_timestamp(at) / 10) * 10 AS signed) AS t, pid, "
     "started, min(responsive) AS responsive, max(rss) AS rss, max(allocated) "
     "AS allocated, max(active) AS active, max(resident) AS resident, "
     "max(cgroup_limit) AS `limit`, max(seconds) AS seconds FROM "
     "memory_history GROUP BY 1, 2, 3 ORDER BY 1"},
    {"deaths",
     "SELECT coalesce(at, sampled, started) AS at, how, pid, oom_kills, rss, "
     "allocated, cgroup_limit, last_snapshot FROM deaths ORDER BY 1 DESC LIMIT "
     "500"},
    {"snapshots",
     "SELECT name, kind, taken, node_id, pid, bytes, samples, rss, allocated, "
     "cause, reason FROM snapshots ORDER BY taken",
     "SELECT name, kind, taken, node_id, pid, bytes, samples, rss, allocated "
     "FROM snapshots ORDER BY taken"},
    {"settings", "SELECT name, value FROM settings"},
    {"diagnosis",
     "SELECT verdict, certainty, subject, bytes, why, steps FROM diagnosis "
     "ORDER BY place",
     "SELECT verdict, certainty, subject, bytes FROM diagnosis ORDER BY place"},
    {"trend", "SELECT `function`, bytes, bytes_per_hour, low, high, "
              "growth_percent, points, since, ages, verdict FROM heap_trend "
              "ORDER BY bytes_per_hour DESC, bytes DESC"},
};

/* What it shows of the first heap, whose name is put behind the statement. */
static const struct part parts_of_heap[] = {
    {"threads",
     "SELECT pool, live_bytes, percent, live_objects, top_bytes, name AS "
     "thread_name, coalesce(tid, concat('#', number)) AS thread, top_function "
     "FROM heap_threads WHERE live_bytes > 0 AND snapshot = "},
    {"waste",
     "SELECT coalesce(`function`, concat('(', kind, ')')) AS `function`, "
     "waste_bytes, error_bytes, size_class, round(100 * utilization, 2) AS "
     "used_percent, live_bytes, asked_bytes, kind FROM heap_waste WHERE "
     "waste_bytes <> 0 AND within IS NOT NULL AND snapshot = "},
};

/* What it shows of the process, if there is one. */
static const struct part mappings = {
    "mappings",
    "SELECT coalesce(nullif(owner, ''), nullif(name, ''), concat('(', kind, "
    "')')) AS owner, rss, size, anonymous AS anon, swap, tid, first_seen, "
    "permissions AS mode, `start`, kind FROM mappings ORDER BY rss DESC LIMIT "
    "2000"};

/* Columns that hold names from the code of the database program. */
static const char *const hidden_columns[] = {
    "function", "top_function", "subject", "owner", "pool", "thread_name"};

/* ---- rows as JSON ---- */

static bool
is_hidden_column(const struct bundle *b, const char *column)
{
    for (size_t i = 0;
         b->hash && i < sizeof(hidden_columns) / sizeof(*hidden_columns); i++)
        if (strcmp(column, hidden_columns[i]) == 0)
            return true;
    return false;
}

static void
add_hidden_cell(struct bundle *b, const char *cell, size_t size)
{
    struct buffer text;

    buffer_init(&text, NAME_MAX_JSON);
    json_append_string(cell, size, &text);
    if (text.failed)
        b->out.failed = true; /* fails rather than writing the name */
    else
        bundle_hash_name(text.data, text.size, b->key, &b->out);
    buffer_fini(&text);
}

static void
append_rows_json(struct bundle *b, MYSQL_RES *rows)
{
    struct buffer *out = &b->out;
    MYSQL_FIELD *fields = mysql_fetch_fields(rows);
    unsigned count = mysql_num_fields(rows);
    const char *before = "[";
    MYSQL_ROW row;

    buffer_text(out, "[");
    while ((row = mysql_fetch_row(rows))) {
        const unsigned long *sizes = mysql_fetch_lengths(rows);

        buffer_text(out, *before == '[' ? "\n{" : ",\n{");
        before = ",";
        for (unsigned i = 0; i < count; i++) {
            if (i > 0)
                buffer_char(out, ',');
            json_append_string(fields[i].name, fields[i].name_length, out);
            buffer_char(out, ':');
            if (!row[i])
                buffer_text(out, "null");
            else if (is_hidden_column(b, fields[i].name))
                add_hidden_cell(b, row[i], sizes[i]);
            else if (client_is_number(&fields[i],
                                      (struct span){row[i], sizes[i]}))
                buffer_add(out, row[i], sizes[i]);
            else
                json_append_string(row[i], sizes[i], out);
        }
        buffer_char(out, '}');
    }
    buffer_char(out, ']');
}

static MYSQL_RES *
query_bundle_rows(struct bundle *b, const char *statement,
                  enum client_status *status)
{
    return client_ask(b->given, (struct span){statement, strlen(statement)},
                      true, status);
}

static enum client_status
append_bundle_part(struct bundle *b, const char *name, const char *statement)
{
    enum client_status status = CLIENT_OK;
    MYSQL_RES *rows = query_bundle_rows(b, statement, &status);

    if (rows) {
        buffer_format(&b->out, ",\n\"%s\":", name);
        append_rows_json(b, rows);
    }
    mysql_free_result(rows);
    return status;
}

/* ---- heaps ---- */

/* Adds JSON that the node made.  It may have any '<', which could end the
 * page's block, so each becomes \u003c. */
static void
add_view_json(struct bundle *b, const char *json, size_t size)
{
    const char *end = json + size, *less;

    for (; (less = memchr(json, '<', (size_t)(end - json))); json = less + 1) {
        buffer_add(&b->out, json, (size_t)(less - json));
        buffer_text(&b->out, "\\u003c");
    }
    buffer_add(&b->out, json, (size_t)(end - json));
}

static enum client_status
add_view(struct bundle *b, const char *name)
{
    enum client_status status = CLIENT_OK;
    struct buffer statement;
    MYSQL_RES *rows = NULL;
    MYSQL_ROW row;

    buffer_init(&statement, STATEMENT_MAX);
    buffer_text(&statement, "SELECT calls(");
    sql_string(name, &statement);
    buffer_char(&statement, ')');
    if (statement.failed) {
        warnx("a snapshot's name is not so long");
        status = CLIENT_USAGE;
    } else {
        rows =
            client_ask(b->given, (struct span){statement.data, statement.size},
                       true, &status);
    }
    row = rows ? mysql_fetch_row(rows) : NULL;
    if (row && row[0]) {
        size_t size = mysql_fetch_lengths(rows)[0];

        if (!b->heap)
            b->heap = strdup(name);
        buffer_text(&b->out, b->views++ > 0 ? ",\n" : "\n");
        json_append_string(name, strlen(name), &b->out);
        buffer_char(&b->out, ':');
        if (b->hash)
            bundle_hash_names(row[0], size, b->key, &b->out);
        else
            add_view_json(b, row[0], size);
    }
    mysql_free_result(rows);
    buffer_fini(&statement);
    return status;
}

/* Adds the parts of the first heap that was there.  That heap is named as the
 * user or the node named it. */
static enum client_status
add_parts_of_heap(struct bundle *b)
{
    enum client_status all = CLIENT_OK, one;

    for (size_t i = 0;
         b->heap && i < sizeof(parts_of_heap) / sizeof(*parts_of_heap); i++) {
        struct buffer statement;

        buffer_init(&statement, STATEMENT_MAX);
        buffer_text(&statement, parts_of_heap[i].statement);
        sql_string(b->heap, &statement);
        buffer_text(&statement, " ORDER BY 2 DESC LIMIT 500");
        buffer_char(&statement, '\0');
        one = statement.failed ? CLIENT_USAGE
                               : append_bundle_part(b, parts_of_heap[i].name,
                                                    statement.data);
        all = one == CLIENT_OK ? all : one;
        buffer_fini(&statement);
    }
    return all;
}

/* Adds what is shown if no snapshot is named: the heap now, if there is a
 * database that answers, and the newest snapshots. */
static enum client_status
add_newest(struct bundle *b)
{
    enum client_status status = CLIENT_OK, view;
    char statement[256];
    MYSQL_RES *rows;
    MYSQL_ROW row;

    if (add_view(b, "now") == CLIENT_NO_NODE)
        return CLIENT_NO_NODE;
    if (!b->heap) /* the reason was printed */
        warnx("the bundle has no heap of now, only what is kept");
    snprintf(statement, sizeof(statement),
             "SELECT name FROM snapshots WHERE kind = 'heap' ORDER BY taken "
             "DESC LIMIT %d",
             NEWEST);
    rows = query_bundle_rows(b, statement, &status);
    while (rows && status == CLIENT_OK && (row = mysql_fetch_row(rows))) {
        view = row[0] ? add_view(b, row[0]) : CLIENT_OK;
        status = view == CLIENT_OK ? status : view;
    }
    mysql_free_result(rows);
    return status;
}

static bool
has_profiled_process(struct bundle *b)
{
    enum client_status status = CLIENT_OK;
    MYSQL_RES *rows = query_bundle_rows(b,
                                        "SELECT 1 FROM profiler WHERE state IN "
                                        "('connected', 'unresponsive')",
                                        &status);
    bool there = rows && mysql_num_rows(rows) > 0;

    mysql_free_result(rows);
    return there;
}

/* ---- the file ---- */

static void
append_nonce_hex(struct buffer *out, const unsigned char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        buffer_format(out, "%02x", bytes[i]);
}

static void
begin_page(struct bundle *b, const unsigned char nonce[NONCE])
{
    struct buffer *out = &b->out;

    buffer_text(out, "<!doctype html>\n<html lang=\"en\">\n<head>\n"
                     "<meta charset=\"utf-8\">\n"
                     "<meta http-equiv=\"Content-Security-Policy\" "
                     "content=\"default-src 'none'; script-src 'nonce-");
    append_nonce_hex(out, nonce, NONCE);
    buffer_text(out, "'; style-src 'nonce-");
    append_nonce_hex(out, nonce, NONCE);
    buffer_text(out, "'; img-src data:; worker-src blob:; base-uri 'none'; "
                     "form-action 'none'\">\n"
                     "<meta name=\"viewport\" content=\"width=device-width, "
                     "initial-scale=1\">\n<title>heapwire</title>\n"
                     "<link rel=\"icon\" href=\"data:,\">\n<style nonce=\"");
    append_nonce_hex(out, nonce, NONCE);
    buffer_text(out, "\">\n");
    buffer_add(out, bundle_style, bundle_style_size);
    buffer_text(out, "</style>\n</head>\n<body>\n<noscript><p>This file needs "
                     "its script.</p></noscript>\n"
                     "<script type=\"application/json\" id=\"data\">\n"
                     "{\"hashed\":");
    buffer_text(out, b->hash ? "true" : "false");
}

static void
end_page(struct bundle *b, const unsigned char nonce[NONCE])
{
    buffer_text(&b->out, "}\n</script>\n<script nonce=\"");
    append_nonce_hex(&b->out, nonce, NONCE);
    buffer_text(&b->out, "\">\n");
    buffer_add(&b->out, bundle_script, bundle_script_size);
    buffer_text(&b->out, "</script>\n</body>\n</html>\n");
}

/* Collects all parts.  One that is missing leaves the others, and the status
 * tells it. */
static enum client_status
collect_bundle_parts(struct bundle *b, char **words, int count)
{
    enum client_status all = CLIENT_OK, one;

    buffer_text(&b->out, ",\n\"calls\":{");
    for (int i = 0; i < count && all != CLIENT_NO_NODE; i++) {
        one = add_view(b, words[i]);
        all = one == CLIENT_OK ? all : one;
    }
    if (count == 0)
        all = add_newest(b);
    buffer_char(&b->out, '}');
    for (size_t i = 0;
         i < sizeof(parts) / sizeof(*parts) && all != CLIENT_NO_NODE; i++) {
        one = append_bundle_part(
            b, parts[i].name,
            b->hash && parts[i].hashed ? parts[i].hashed : parts[i].statement);
        all = one == CLIENT_OK ? all : one;
    }
    if (all != CLIENT_NO_NODE) {
        one = add_parts_of_heap(b);
        all = one == CLIENT_OK ? all : one;
    }
    if (all != CLIENT_NO_NODE && has_profiled_process(b)) {
        one = append_bundle_part(b, mappings.name, mappings.statement);
        all = one == CLIENT_OK ? all : one;
    }
    return all;
}

enum client_status
bundle_write(const char *const *given, char **words, int count, bool hash,
             const char *file)
{
    struct bundle b = {.given = given, .hash = hash};
    unsigned char nonce[NONCE];
    enum client_status status, written;

    if (getrandom(nonce, sizeof(nonce), 0) != sizeof(nonce) ||
        getrandom(b.key, sizeof(b.key), 0) != sizeof(b.key)) {
        warn("random numbers");
        return CLIENT_FAILED;
    }
    buffer_init(&b.out, FILE_MAX);
    begin_page(&b, nonce);
    status = collect_bundle_parts(&b, words, count);
    end_page(&b, nonce);
    if (b.out.failed) {
        warnx("the bundle is larger than %d MB, or memory ran out: name fewer "
              "snapshots",
              FILE_MAX >> 20);
        status = CLIENT_FAILED;
    } else if (status != CLIENT_NO_NODE && status != CLIENT_USAGE) {
        /* Only its owner may read it, since it tells what a database does. */
        written = output_file_write((struct span){b.out.data, b.out.size}, file,
                                    0600);
        status = written == CLIENT_OK ? status : written;
    }
    free(b.heap);
    buffer_fini(&b.out);
    return status;
}
