/*
 * http_request.c - see http_request.h.
 *
 * Whatever the bytes are, a second parser before us (a proxy) must have read
 * the same request: so every doubt is an error and ends the connection, and
 * nothing is repaired.  The head is parsed only when it is whole; until then a
 * scan for wrong lines keeps garbage from waiting for its end.  Linear in the
 * head, copies nothing.
 */
#include "http_request.h"

#include <string.h>

#include "ascii.h"

/* ---- the parameters behind the ? of a target ---- */

/* Takes the next "name=value" off *rest; false: there is none. */
static bool
next_query_pair(struct span *rest, struct span *name, struct span *value)
{
    const char *end, *equal;
    struct span pair = *rest;

    if (rest->size == 0)
        return false;
    end = memchr(rest->data, '&', rest->size);
    if (end)
        pair.size = (size_t)(end - rest->data);
    rest->data += pair.size + (end != NULL);
    rest->size -= pair.size + (end != NULL);
    equal = memchr(pair.data, '=', pair.size);
    *name = pair;
    *value = (struct span){pair.data, 0};
    if (!equal)
        return true;
    name->size = (size_t)(equal - pair.data);
    *value = (struct span){equal + 1, pair.size - name->size - 1};
    return true;
}

/* Decodes into out, with a NUL. http_request_read() has checked the digits of
 * each %xx. */
static int
decode_query_value(struct span from, char *out, size_t size)
{
    size_t n = 0;

    for (size_t i = 0; i < from.size; i++) {
        char c = from.data[i];

        if (c == '+') {
            c = ' ';
        } else if (c == '%') {
            if (from.size - i < 3)
                return -1;
            c = (char)(hex_digit(from.data[i + 1]) * 16 +
                       hex_digit(from.data[i + 2]));
            i += 2;
        }
        /* Control characters would end up in statements, logs and headers. */
        if (n + 1 >= size || (unsigned char)c < ' ' || c == 0x7f)
            return -1;
        out[n++] = c;
    }
    out[n] = '\0';
    return 0;
}

int
http_query_get(struct span query, const char *name, char *out, size_t size)
{
    struct span key, value;
    bool found = false;

    *out = '\0';
    while (next_query_pair(&query, &key, &value)) {
        if (!span_is(key, name))
            continue;
        if (found || decode_query_value(value, out, size) != 0)
            return -1;
        found = true;
    }
    return 0;
}

struct span
http_query_unknown(struct span query, const char *words)
{
    struct span key, value;

    while (next_query_pair(&query, &key, &value))
        if (key.size > 0 && !span_is_any(key, words))
            return key;
    return (struct span){"", 0};
}

/* Spans that may be given to memcpy() and its like even when they are empty. */
static const struct http_request empty = {.path = {"", 0},
                                          .query = {"", 0},
                                          .host = {"", 0},
                                          .authorization = {"", 0},
                                          .origin = {"", 0},
                                          .if_none_match = {"", 0},
                                          .site = {"", 0},
                                          .own = {"", 0},
                                          .body = {"", 0}};

struct head {
    struct http_request *request;
    bool has_host, has_length, has_encoding, has_authorization;
    bool has_origin, has_site;
    size_t length; /* of the body */
};

static int
set_request_error(struct http_request *request, unsigned status,
                  const char *why)
{
    request->status = status;
    request->why = why;
    return -1;
}

/* Is it the name of a method or of a header (RFC 9110, "token")? */
static bool
is_token(struct span s)
{
    static const char signs[] = "!#$%&'*+-.^_`|~";

    for (size_t i = 0; i < s.size; i++) {
        char c = s.data[i];

        if (!is_letter(c) && !is_digit(c) && (c == '\0' || !strchr(signs, c)))
            return false;
    }
    return s.size > 0;
}

/* Takes the part up to the first c off *rest, and c itself. */
static bool
take_delimited_part(struct span *rest, char c, struct span *out)
{
    const char *end = memchr(rest->data, c, rest->size);

    if (!end)
        return false;
    *out = (struct span){rest->data, (size_t)(end - rest->data)};
    rest->data = end + 1;
    rest->size -= out->size + 1;
    return true;
}

/* Are there only visible characters and valid %xx? */
static bool
is_target(struct span s)
{
    if (s.size == 0 || s.data[0] != '/')
        return false;
    for (size_t i = 0; i < s.size; i++) {
        if (s.data[i] <= ' ' || s.data[i] >= 0x7f || s.data[i] == '#')
            return false;
        if (s.data[i] == '%' &&
            (s.size - i < 3 || hex_digit(s.data[i + 1]) < 0 ||
             hex_digit(s.data[i + 2]) < 0))
            return false;
    }
    return true;
}

static int
read_first_line(struct http_request *r, struct span line)
{
    struct span method, target;

    if (!take_delimited_part(&line, ' ', &method) ||
        !take_delimited_part(&line, ' ', &target) || !is_token(method))
        return set_request_error(r, 400,
                                 "the first line is no request of HTTP");
    if (span_is(line, "HTTP/1.0"))
        r->http_1_0 = r->closes = true;
    else if (line.size == 8 && memcmp(line.data, "HTTP/", 5) == 0 &&
             !span_is(line, "HTTP/1.1"))
        return set_request_error(r, 505, "this server speaks HTTP/1.1");
    else if (!span_is(line, "HTTP/1.1"))
        return set_request_error(r, 400,
                                 "the first line is no request of HTTP");
    r->method = span_is(method, "GET")    ? HTTP_GET
                : span_is(method, "HEAD") ? HTTP_HEAD
                : span_is(method, "POST") ? HTTP_POST
                                          : HTTP_OTHER;
    if (!is_target(target))
        return set_request_error(
            r, 400,
            "the target must begin with /, and each % must be a valid %xx");
    if (!take_delimited_part(&target, '?', &r->path))
        r->path = target;
    else
        r->query = target;
    return 0;
}

static int
read_length(struct head *h, struct span value)
{
    if (h->has_length)
        return set_request_error(h->request, 400,
                                 "Content-Length is given twice");
    h->has_length = true;
    /* Nine digits cannot overflow, and are more than the limit. */
    if (value.size == 0 || value.size > 9)
        return set_request_error(h->request, value.size ? 413 : 400,
                                 "Content-Length is empty or too large");
    for (size_t i = 0; i < value.size; i++) {
        if (!is_digit(value.data[i]))
            return set_request_error(h->request, 400,
                                     "Content-Length is no number");
        h->length = 10 * h->length + (size_t)(value.data[i] - '0');
    }
    return h->length <= HTTP_BODY_MAX
               ? 0
               : set_request_error(h->request, 413,
                                   "the body is larger than 1 MB");
}

static struct span
next_item(struct span *list)
{
    struct span item;

    if (!take_delimited_part(list, ',', &item)) {
        item = *list;
        list->size = 0;
    }
    return span_trim(item);
}

static void
read_connection(struct http_request *r, struct span list)
{
    while (list.size > 0)
        r->closes |= span_is_nocase(next_item(&list), "close");
}

/* Takes "gzip" and "gzip;q=0.5", but not "gzip;q=0". */
static void
read_encodings(struct http_request *r, struct span list)
{
    struct span item, name;
    bool refused;

    while (list.size > 0) {
        item = next_item(&list);
        if (!take_delimited_part(&item, ';', &name)) {
            name = item;
            item.size = 0;
        }
        item = span_trim(item);
        refused = item.size > 2 && item.data[2] == '0';
        for (size_t i = 3; refused && i < item.size; i++)
            refused = item.data[i] == '.' || item.data[i] == '0';
        if (span_is_nocase(span_trim(name), "gzip") && !refused)
            r->gzip = true;
    }
}

static int
read_request_header(struct head *h, struct span name, struct span value)
{
    struct http_request *r = h->request;

    if (span_is_nocase(name, "Content-Length"))
        return read_length(h, value);
    if (span_is_nocase(name, "Transfer-Encoding")) {
        h->has_encoding = true;
    } else if (span_is_nocase(name, "Host")) {
        if (h->has_host)
            return set_request_error(r, 400, "Host is given twice");
        h->has_host = true;
        r->host = value;
    } else if (span_is_nocase(name, "Authorization")) {
        if (h->has_authorization)
            return set_request_error(r, 400, "Authorization is given twice");
        h->has_authorization = true;
        r->authorization = value;
    } else if (span_is_nocase(name, "Connection")) {
        read_connection(r, value);
    } else if (span_is_nocase(name, "Expect") && !r->http_1_0) {
        r->expects = true;
        if (!span_is_nocase(value, "100-continue"))
            return set_request_error(r, 417, "Expect takes only 100-continue");
    } else if (span_is_nocase(name, "Accept-Encoding")) {
        read_encodings(r, value);
    } else if (span_is_nocase(name, "Accept")) {
        r->open = memmem(value.data, value.size, "application/openmetrics-text",
                         28) != NULL;
    } else if (span_is_nocase(name, "If-None-Match")) {
        r->if_none_match = value;
    } else if (span_is_nocase(name, "Origin")) {
        if (h->has_origin)
            return set_request_error(r, 400, "Origin is given twice");
        h->has_origin = true;
        r->origin = value;
    } else if (span_is_nocase(name, "Sec-Fetch-Site")) {
        if (h->has_site)
            return set_request_error(r, 400, "Sec-Fetch-Site is given twice");
        h->has_site = true;
        r->site = value;
    } else if (span_is_nocase(name, "X-Heapwire")) {
        r->own = value;
    }
    return 0;
}

static int
read_header_line(struct head *h, struct span line)
{
    struct span name;

    for (size_t i = 0; i < line.size; i++)
        if (((unsigned char)line.data[i] < ' ' && line.data[i] != '\t') ||
            line.data[i] == 0x7f)
            return set_request_error(h->request, 400,
                                     "a header has a control character");
    if (!take_delimited_part(&line, ':', &name) || !is_token(name))
        return set_request_error(h->request, 400, "a header has no name");
    return read_request_header(h, name, span_trim(line));
}

/* Takes a line, and its CR LF, off *rest; a bare LF is an error. */
static bool
next_head_line(struct span *rest, struct span *line)
{
    if (!take_delimited_part(rest, '\n', line) || line->size == 0 ||
        line->data[line->size - 1] != '\r')
        return false;
    line->size--;
    return true;
}

static int
read_head(struct head *h, struct span bytes)
{
    struct http_request *r = h->request;
    struct span line;
    size_t count = 0;

    if (!next_head_line(&bytes, &line))
        return set_request_error(r, 400, "a line does not end with CR LF");
    if (read_first_line(r, line) != 0)
        return -1;
    while (bytes.size > 0) {
        if (++count > HTTP_HEADERS_MAX)
            return set_request_error(r, 431, "there are more than 64 headers");
        if (!next_head_line(&bytes, &line))
            return set_request_error(r, 400, "a line does not end with CR LF");
        if (read_header_line(h, line) != 0)
            return -1;
    }
    /* A body that one parser reads by length and another by chunks is how a
     * request is smuggled. */
    if (h->has_encoding)
        return set_request_error(
            r, h->has_length ? 400 : 501,
            "a body needs Content-Length, and no Transfer-Encoding");
    if (!h->has_host && !r->http_1_0)
        return set_request_error(r, 400, "there is no Host");
    return 0;
}

/* False: no head begins like that, so there is no need to wait for its end. */
static bool
may_begin_head(struct span bytes)
{
    struct span line;

    if (memchr(bytes.data, '\0', bytes.size))
        return false;
    while (memchr(bytes.data, '\n', bytes.size))
        if (!next_head_line(&bytes, &line))
            return false;
    return true;
}

enum http_state
http_request_read(struct span bytes, struct http_request *out)
{
    struct head head = {.request = out};
    struct span first = bytes;
    const char *end;
    size_t size;

    *out = empty;
    if (bytes.size == 0)
        return HTTP_MORE;
    /* A method is in capitals; a TLS record or another protocol is not. */
    if (*bytes.data < 'A' || *bytes.data > 'Z') {
        set_request_error(out, 400, "this is no request of HTTP");
        return HTTP_BAD;
    }
    if (first.size > HTTP_HEAD_MAX)
        first.size = HTTP_HEAD_MAX;
    end = memmem(first.data, first.size, "\r\n\r\n", 4);
    if (!end) {
        if (!may_begin_head(first))
            set_request_error(out, 400, "this is no request of HTTP");
        else if (bytes.size >= HTTP_HEAD_MAX)
            set_request_error(out, 431, "the headers are larger than 16 KB");
        return out->status ? HTTP_BAD : HTTP_MORE;
    }
    /* With the CR LF of the last header, without the empty line. */
    size = (size_t)(end - first.data) + 2;
    if (read_head(&head, (struct span){first.data, size}) != 0)
        return HTTP_BAD;
    size += 2;
    out->size = size + head.length;
    if (bytes.size < out->size)
        return HTTP_MORE;
    out->body = (struct span){bytes.data + size, head.length};
    return HTTP_COMPLETE;
}
