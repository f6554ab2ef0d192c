/*
 * fuzz_http.c - any bytes as what an HTTP client sends.
 *
 * What a request is must not depend on the pieces in which it arrives, nor on
 * what follows it; and no request may pass of which another reader could think
 * that it ends elsewhere.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "buffer.h"
#include "errors.h"
#include "fuzz_target.h"
#include "http_query.h"
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

/* A statement has no quote that the route did not write. */
static void
check_statement(const struct http_request *r)
{
    const struct http_route *route = http_route_find(r->path);
    struct error err = {0};
    struct buffer out;
    size_t quotes = 0;

    if (!route || !route->make)
        return;
    buffer_init(&out, HTTP_STATEMENT_MAX);
    if (route->make(r, NODE, &out, &err) != 0 ? err.code != ER_WRONG_ARGUMENTS
                                              : out.size == 0)
        abort();
    for (size_t i = 0; i < out.size; i++) {
        quotes += out.data[i] == '\'';
        if (out.data[i] == '\\' || out.data[i] == ';')
            abort();
    }
    if (quotes % 2 != 0)
        abort();
    buffer_fini(&out);
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
    check_statement(r);
}

/* Its own block, for the sanitizers. */
static enum http_state
read_exact(struct span bytes, struct http_request *r, char **block)
{
    *block = malloc(bytes.size + !bytes.size);
    if (!*block)
        abort();
    memcpy(*block, bytes.data, bytes.size);
    return http_request_read((struct span){*block, bytes.size}, r);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct span bytes = {(const char *)data, size};
    struct http_request whole, part;
    enum http_state state, early;
    char *block, *other;
    size_t step = size / 64 + 1;

    if (size == 0)
        return 0;
    state = read_exact(bytes, &whole, &block);
    if (state == HTTP_BAD && (!whole.why || whole.status < 400))
        abort();
    if (state == HTTP_WHOLE)
        check_request(&whole, (struct span){block, size});
    for (size_t cut = 0; cut < size; cut += step) {
        early = read_exact((struct span){bytes.data, cut}, &part, &other);
        /* Once it is judged, more bytes change nothing. */
        if (early == HTTP_WHOLE &&
            (state != HTTP_WHOLE || part.size != whole.size))
            abort();
        if (early == HTTP_BAD && state != HTTP_BAD)
            abort();
        free(other);
    }
    free(block);
    return 0;
}
