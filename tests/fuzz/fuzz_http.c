/*
 * fuzz_http.c - any bytes as what an HTTP client sends.
 *
 * What the requests of a stream are must not depend on the pieces in which it
 * arrives; no request may pass of which another reader could think that it ends
 * elsewhere; and any bytes come back from an answer as they went in.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <zlib.h>

#include "buffer.h"
#include "errors.h"
#include "fuzz_target.h"
#include "http_answer.h"
#include "http.h"
#include "http_request.h"
#include "http_route.h"

enum { VALUE = 64, NODE = 10001 };

static void
check_within(struct span part, struct span whole)
{
    if (part.size > 0 && (part.data < whole.data || part.size > whole.size ||
                          part.data > whole.data + whole.size - part.size))
        abort();
}

/* How many lines of the head begin with that name, in any case, and with
 * blanks in all the places where some reader skips them. */
static size_t
count_headers(struct span head, const char *name)
{
    size_t size = strlen(name), count = 0;

    for (size_t i = 1; i + size < head.size; i++) {
        size_t from = i;

        if (head.data[i - 1] != '\n' && head.data[i - 1] != '\r')
            continue;
        while (from + size < head.size &&
               isblank((unsigned char)head.data[from]))
            from++;
        count += from + size < head.size &&
                 strncasecmp(head.data + from, name, size) == 0 &&
                 strchr(" \t:", head.data[from + size]);
    }
    return count;
}

static void
check_ends(const struct http_request *r, struct span bytes)
{
    struct span head = {bytes.data, r->size - r->body.size};

    if (r->size > bytes.size || r->body.size > HTTP_BODY_MAX ||
        head.size > HTTP_HEAD_MAX + 2 ||
        count_headers(head, "Content-Length") > 1 ||
        count_headers(head, "Transfer-Encoding") > 0 ||
        count_headers(head, "Host") > 1 ||
        (r->body.size > 0 && count_headers(head, "Content-Length") != 1) ||
        memmem(head.data, head.size, "\r\n\r\n", 4) !=
            head.data + head.size - 4)
        abort();
    for (size_t i = 0; i < head.size; i++)
        if ((head.data[i] == '\n' && head.data[i - 1] != '\r') ||
            (head.data[i] == '\r' && head.data[i + 1] != '\n') ||
            head.data[i] == '\0')
            abort();
}

/* As /sql takes it: any. */
static bool
is_body(const struct buffer *statement, struct span body)
{
    return statement->size == body.size &&
           memcmp(statement->data, body.data, body.size) == 0;
}

/* A statement has no quote that the route did not write. */
static void
check_statement(const struct http_request *r)
{
    const struct http_route *route = http_route_find(r, r->method == HTTP_POST);
    struct error err = {0};
    struct buffer out;
    size_t quotes = 0;

    if (!route || !route->make)
        return;
    buffer_init(&out, HTTP_STATEMENT_MAX);
    if (http_route_statement(route, r, NODE, &out, &err) != 0
            ? err.code != ER_WRONG_ARGUMENTS
            : out.size == 0)
        abort();
    for (size_t i = 0; i < out.size && !is_body(&out, r->body); i++) {
        quotes += out.data[i] == '\'';
        if (out.data[i] == '\\' || out.data[i] == ';')
            abort();
    }
    if (quotes % 2 != 0)
        abort();
    buffer_fini(&out);
}

/* Nothing is made up: what is borrowed has the bytes that came, and what was
 * decoded is as long as that many digits can be. */
static void
check_proof(struct span authorization)
{
    struct http_proof *proof = malloc(sizeof(*proof)); /* for the sanitizers */
    struct span decoded;

    if (!proof)
        abort();
    if (http_proof_read(authorization, proof)) {
        decoded = (struct span){proof->bytes, authorization.size / 4 * 3};
        check_within(proof->name, proof->token ? authorization : decoded);
        check_within(proof->secret, proof->token ? authorization : decoded);
        if (proof->name.data + proof->name.size + 1 != proof->secret.data ||
            proof->secret.data[-1] != (proof->token ? '.' : ':'))
            abort();
    }
    free(proof);
}

static void
check_request(const struct http_request *r, struct span bytes)
{
    static const char *const names[] = {"node", "snapshot", "seconds"};
    char value[VALUE];

    check_ends(r, bytes);
    check_within(r->path, bytes);
    check_within(r->query, bytes);
    check_within(r->host, bytes);
    check_within(r->authorization, bytes);
    check_within(r->if_none_match, bytes);
    check_within(r->body, bytes);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (http_query_get(r->query, names[i], value, sizeof(value)) == 0 &&
            strlen(value) >= sizeof(value))
            abort();
    (void)http_query_unknown(r->query, "node gc");
    check_proof(r->authorization);
    check_statement(r);
}

/* ---- a stream ---- */

enum { REQUESTS = 64 };

struct seen {
    size_t count, at; /* at: where what is no whole request begins */
    enum http_state state;
    size_t sizes[REQUESTS];
};

/* In its own block, for the sanitizers. */
static enum http_state
read_exact(struct span bytes, size_t *size)
{
    char *block = malloc(bytes.size + !bytes.size);
    struct http_request r;
    enum http_state state;

    if (!block)
        abort();
    memcpy(block, bytes.data, bytes.size);
    state = http_request_read((struct span){block, bytes.size}, &r);
    if (state == HTTP_BAD && (!r.why || r.status < 400))
        abort();
    if (state == HTTP_COMPLETE)
        check_request(&r, (struct span){block, bytes.size});
    *size = r.size;
    free(block);
    return state;
}

/* All requests that are whole once the bytes are there. */
static void
take(struct seen *seen, struct span bytes)
{
    size_t size;

    while (seen->state != HTTP_BAD && seen->count < REQUESTS) {
        seen->state = read_exact(
            (struct span){bytes.data + seen->at, bytes.size - seen->at}, &size);
        if (seen->state != HTTP_COMPLETE)
            return;
        seen->sizes[seen->count++] = size;
        seen->at += size;
    }
}

static void
check_pieces(struct span bytes)
{
    size_t step = bytes.size <= 512 ? 1 : bytes.size / 64;
    struct seen whole = {.state = HTTP_MORE}, pieces = {.state = HTTP_MORE};

    take(&whole, bytes);
    for (size_t end = step; end < bytes.size; end += step)
        take(&pieces, (struct span){bytes.data, end});
    take(&pieces, bytes);
    if (whole.count != pieces.count || whole.state != pieces.state ||
        memcmp(whole.sizes, pieces.sizes, whole.count * sizeof(size_t)) != 0)
        abort();
}

/* ---- an answer ---- */

/* The body behind the head, its chunks joined; the caller frees it. */
static char *
unchunk(const struct buffer *out, bool chunked, size_t *size)
{
    const char *end = out->data + out->size;
    const char *at = memmem(out->data, out->size, "\r\n\r\n", 4);
    char *body = malloc(out->size), *digits;
    size_t n;

    if (!at || !body)
        abort();
    at += 4;
    *size = 0;
    while (chunked) {
        n = strtoul(at, &digits, 16);
        if (digits == at || memcmp(digits, "\r\n", 2) != 0)
            abort();
        at = digits + 2;
        if (n > (size_t)(end - at) - 2 || memcmp(at + n, "\r\n", 2) != 0)
            abort();
        memcpy(body + *size, at, n);
        *size += n;
        at += n + 2;
        if (n == 0 && at != end)
            abort();
        if (n == 0)
            return body;
    }
    *size = (size_t)(end - at);
    memcpy(body, at, *size);
    return body;
}

static void
check_packed(const char *packed, size_t packed_size, struct span bytes)
{
    char *plain = malloc(bytes.size + 1);
    z_stream z = {.next_in = (Bytef *)(uintptr_t)packed,
                  .avail_in = (uInt)packed_size,
                  .next_out = (Bytef *)plain,
                  .avail_out = (uInt)bytes.size + 1};

    if (!plain || inflateInit2(&z, 15 + 16) != Z_OK ||
        inflate(&z, Z_FINISH) != Z_STREAM_END || z.total_out != bytes.size ||
        z.avail_in != 0 || memcmp(plain, bytes.data, bytes.size) != 0)
        abort();
    inflateEnd(&z);
    free(plain);
}

/* The first byte says which form; each part is as long as its first byte. */
static void
check_answer(struct span bytes)
{
    uint8_t form = (uint8_t)bytes.data[0];
    struct http_answer a = {
        .http_1_0 = form & 1, .gzip = form & 2, .head_alone = form & 4};
    struct buffer out;
    size_t size, part;
    char *body;

    buffer_init(&out, 2 * bytes.size + 64 * 1024);
    http_answer_begin(&a, &out, 200, HTTP_TEXT, true);
    for (size_t at = 0; at < bytes.size; at += part) {
        part = (uint8_t)bytes.data[at];
        if (part == 0) /* an empty part is no end */
            http_answer_part(&a, &out, "", part++);
        if (part > bytes.size - at)
            part = bytes.size - at;
        http_answer_part(&a, &out, bytes.data + at, part);
    }
    http_answer_end(&a, &out);
    if (out.failed)
        abort();
    body = unchunk(&out, a.chunked, &size);
    if (a.head_alone ? size != 0
                     : !a.gzip && (size != bytes.size ||
                                   memcmp(body, bytes.data, bytes.size) != 0))
        abort();
    if (a.gzip && !a.head_alone)
        check_packed(body, size, bytes);
    free(body);
    buffer_fini(&out);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct span bytes = {(const char *)data, size};
    struct span authorization = {bytes.data, size < 4096 ? size : 4096};

    if (size == 0)
        return 0;
    check_pieces(bytes);
    check_answer(bytes);
    check_proof(authorization);
    return 0;
}
