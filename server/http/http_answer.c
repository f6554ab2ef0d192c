/*
 * http_answer.c - see http_answer.h.
 *
 * A body of known size has Content-Length; rows are sent as they are made, in
 * chunks, so that a result needs no memory and a failure in the middle shows as
 * a missing last chunk.  gzip is done while they pass (zlib at its fastest: 256
 * KB for each answer that is packed).  Security headers are on every answer,
 * errors included: a browser must not run or frame anything that came from a
 * database.
 */
#include "http_answer.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "buffer.h"
#include "clean_text.h"
#include "cursor.h"
#include "memory.h"
#include "real_text.h"
#include "server.h"
#include "zlib_memory.h"

enum {
    GZIP_WINDOW = 15 + 16, /* zlib's largest window; + 16: a gzip header */
    GZIP_MEMORY = 8,       /* zlib's default */
    PIECE = 16 * 1024      /* bytes that deflate() writes at once */
};

static const struct {
    unsigned status;
    const char *text;
} statuses[] = {
    {200, "OK"},
    {304, "Not Modified"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {409, "Conflict"},
    {413, "Content Too Large"},
    {417, "Expectation Failed"},
    {421, "Misdirected Request"},
    {429, "Too Many Requests"},
    {431, "Request Header Fields Too Large"},
    {501, "Not Implemented"},
    {503, "Service Unavailable"},
    {504, "Gateway Timeout"},
    {505, "HTTP Version Not Supported"},
};

static const char *
status_text(unsigned status)
{
    for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++)
        if (statuses[i].status == status)
            return statuses[i].text;
    return "Unknown";
}

/* strftime's names are English, as no locale is set. */
static void
add_date(struct buffer *out)
{
    time_t now = time(NULL);
    char text[40];
    struct tm tm;

    if (gmtime_r(&now, &tm) &&
        strftime(text, sizeof(text), "%a, %d %b %Y %H:%M:%S GMT", &tm) > 0)
        buffer_format(out, "Date: %s\r\n", text);
}

static void
add_answer_head(struct http_answer *a, struct buffer *out, unsigned status,
                const char *type)
{
    buffer_format(out, "HTTP/1.1 %u %s\r\n", status, status_text(status));
    add_date(out);
    if (type)
        buffer_format(out, "Content-Type: %s\r\n", type);
    if (a->etag)
        buffer_format(out, "ETag: %s\r\nCache-Control: private, no-cache\r\n",
                      a->etag);
    else
        buffer_text(out, "Cache-Control: no-store\r\n");
    buffer_format(out,
                  "Vary: Accept-Encoding\r\n"
                  "X-Content-Type-Options: nosniff\r\n"
                  "Content-Security-Policy: %s\r\n"
                  "Cross-Origin-Resource-Policy: same-origin\r\n",
                  a->policy ? a->policy : "default-src 'none'");
    if (status >= 400) /* go tool pprof shows the text only then */
        buffer_text(out, "X-Go-Pprof: 1\r\n");
    if (a->more)
        buffer_text(out, a->more);
    if (status == 429)
        buffer_format(out, "Retry-After: %u\r\n", a->retry_s);
    if (a->closes)
        buffer_text(out, "Connection: close\r\n");
    a->begun = true;
}

void
http_answer_with_body(struct http_answer *a, struct buffer *out,
                      unsigned status, const char *type, struct span body)
{
    bool empty = status == 304;

    add_answer_head(a, out, status, empty ? NULL : type);
    if (!empty)
        buffer_format(out, "Content-Length: %zu\r\n", body.size);
    buffer_text(out, "\r\n");
    if (!empty && !a->head_alone)
        buffer_add(out, body.data, body.size);
}

static struct z_stream_s *
new_packer(void)
{
    z_stream *z = mem_zalloc(1, sizeof(*z));

    if (!z)
        return NULL;
    z->zalloc = zlib_alloc;
    z->zfree = zlib_free;
    if (deflateInit2(z, Z_BEST_SPEED, Z_DEFLATED, GZIP_WINDOW, GZIP_MEMORY,
                     Z_DEFAULT_STRATEGY) == Z_OK)
        return z;
    mem_free(z);
    return NULL;
}

void
http_answer_begin(struct http_answer *a, struct buffer *out, unsigned status,
                  const char *type, bool may_pack)
{
    add_answer_head(a, out, status, type);
    /* without memory for a packer the body is sent as it is */
    if (may_pack && a->gzip && !a->head_alone && (a->packer = new_packer()))
        buffer_text(out, HTTP_PACKED);
    a->chunked = !a->http_1_0 && !a->head_alone;
    if (a->chunked)
        buffer_text(out, "Transfer-Encoding: chunked\r\n");
    buffer_text(out, "\r\n");
}

/* An empty chunk would mark the end of the body. */
static void
add_chunk(const struct http_answer *a, struct buffer *out, const void *data,
          size_t size)
{
    if (size == 0)
        return;
    if (a->chunked)
        buffer_format(out, "%zx\r\n", size);
    buffer_add(out, data, size);
    if (a->chunked)
        buffer_text(out, "\r\n");
}

static void
compress_answer_data(struct http_answer *a, struct buffer *out,
                     const void *data, size_t size, int flush)
{
    char MEM_UNSET piece[PIECE];
    z_stream *z = a->packer;

    z->next_in = (Bytef *)(uintptr_t)data;
    z->avail_in = (uInt)size;
    do {
        z->next_out = (Bytef *)piece;
        z->avail_out = sizeof(piece);
        (void)deflate(z, flush);
        add_chunk(a, out, piece, sizeof(piece) - z->avail_out);
    } while (z->avail_out == 0);
}

void
http_answer_part(struct http_answer *a, struct buffer *out, const void *data,
                 size_t size)
{
    if (a->head_alone)
        return;
    if (a->packer) /* without a flush zlib gathers small rows into good blocks
                    */
        compress_answer_data(a, out, data, size, Z_NO_FLUSH);
    else
        add_chunk(a, out, data, size);
}

void
http_answer_end(struct http_answer *a, struct buffer *out)
{
    if (a->packer)
        compress_answer_data(a, out, "", 0, Z_FINISH);
    if (a->chunked)
        buffer_text(out, "0\r\n\r\n");
    http_answer_fini(a);
}

void
http_answer_fini(struct http_answer *a)
{
    if (!a->packer)
        return;
    deflateEnd(a->packer);
    mem_free(a->packer);
    a->packer = NULL;
}

void
http_answer_pack(struct span body, struct buffer *out)
{
    struct http_answer a = {.packer = new_packer()};

    if (a.packer)
        compress_answer_data(&a, out, body.data, body.size, Z_FINISH);
    else
        out->failed = true;
    http_answer_fini(&a);
}

void
http_answer_value(struct buffer *out, const struct value *v)
{
    char text[REAL_TEXT];

    if (v->type == VALUE_INT)
        buffer_format(out, "%" PRId64, v->integer);
    else if (v->type == VALUE_DOUBLE)
        buffer_add(out, text, real_text(v->real, text));
    else if (v->type != VALUE_NULL)
        buffer_add(out, v->data, v->size);
}

void
http_answer_json(struct buffer *out, const struct column *column,
                 const struct value *v)
{
    struct span text = {v->data, v->size};
    char digits[24];

    if (v->type == VALUE_NULL ||
        (v->type == VALUE_DOUBLE && !isfinite(v->real))) {
        buffer_text(out, "null");
        return;
    }
    if (v->type == VALUE_DOUBLE) {
        http_answer_value(out, v);
        return;
    }
    if (v->type == VALUE_INT)
        text = (struct span){digits, (size_t)snprintf(digits, sizeof(digits),
                                                      "%" PRId64, v->integer)};
    if ((v->type == VALUE_INT || column->type == COLUMN_DECIMAL) &&
        json_is_number(text, false))
        buffer_add(out, text.data, text.size);
    else
        json_append_string(text.data, text.size, out);
}

/* ---- an answer that requests share ---- */

bool
http_shared_try_reuse(struct server_answer *shared, uint64_t now_ms)
{
    if (shared->asked_ms && now_ms - shared->asked_ms < HTTP_SHARED_MAX_MS &&
        now_ms - shared->last_ms < HTTP_SHARED_MS)
        return true;
    shared->last_ms = now_ms;
    return false;
}

void
http_shared_keep(struct server_answer *shared, struct buffer *body,
                 uint64_t asked_ms)
{
    struct buffer old = shared->body;

    /* A slower request may end after a faster one: the newer figures stay. */
    if (asked_ms < shared->asked_ms)
        return;
    shared->body = *body;
    shared->asked_ms = asked_ms;
    *body = old;
}
