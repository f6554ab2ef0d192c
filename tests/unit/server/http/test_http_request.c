/* test_http_request.c - requests of HTTP, and their parameters. */
#include <stdlib.h>
#include <string.h>

#include "http_request.h"
#include "suite.h"

#define HOST "Host: localhost\r\n"

static enum http_state
read_text(const char *text, struct http_request *out)
{
    return http_request_read((struct span){text, strlen(text)}, out);
}

static void
is(struct span s, const char *text)
{
    ck_assert_msg(span_is(s, text), "'%.*s', and not '%s'", (int)s.size, s.data,
                  text);
}

/* A block of its own, so that a sanitizer sees a look behind its end. */
START_TEST(a_request_may_be_cut_at_every_byte)
{
    static const char text[] =
        "POST /a%20b?c=d&e HTTP/1.1\r\nhOsT:\tx:1 \r\nAuthorization: Basic "
        "y\r\n"
        "Accept-Encoding: br, GZIP;q=0.5\r\nConnection: keep-alive, Close\r\n"
        "If-None-Match: \"z\"\r\nOrigin: http://x:1\r\nX-Heapwire: 1\r\n"
        "Accept: application/openmetrics-text;version=1.0.0,*/*\r\n"
        "Content-Length: 5\r\n\r\nhelloGET";
    const size_t whole = sizeof(text) - 1 - 3;
    struct http_request r;

    for (size_t size = 0; size < sizeof(text); size++) {
        char *bytes = malloc(size + !size);

        ck_assert_ptr_nonnull(bytes);
        memcpy(bytes, text, size);
        ck_assert_int_eq(http_request_read((struct span){bytes, size}, &r),
                         size < whole ? HTTP_MORE : HTTP_COMPLETE);
        if (size >= whole)
            ck_assert_uint_eq(r.size, whole);
        free(bytes);
    }
    ck_assert_int_eq(read_text(text, &r), HTTP_COMPLETE);
    ck_assert_int_eq(r.method, HTTP_POST);
    is(r.path, "/a%20b");
    is(r.query, "c=d&e");
    is(r.host, "x:1");
    is(r.authorization, "Basic y");
    is(r.if_none_match, "\"z\"");
    is(r.origin, "http://x:1");
    is(r.own, "1");
    is(r.body, "hello");
    ck_assert(r.gzip && r.open && r.closes && !r.http_1_0);
}
END_TEST

static const struct {
    const char *text;
    unsigned status;
} bad[] = {
    {"GET /\r\n\r\n", 400},
    {"GET / HTTP/1.1\r\n\r\n", 400},
    {"GET / HTTP/2.0\r\n" HOST "\r\n", 505},
    {"GET / HTTP/1.10\r\n" HOST "\r\n", 400},
    {"GET / http/1.1\r\n" HOST "\r\n", 400},
    {"get / HTTP/1.1\r\n" HOST "\r\n", 400},
    {"G(T / HTTP/1.1\r\n" HOST "\r\n", 400},
    {"GET * HTTP/1.1\r\n" HOST "\r\n", 400},
    {"GET /%g0 HTTP/1.1\r\n" HOST "\r\n", 400},
    {"GET /# HTTP/1.1\r\n" HOST "\r\n", 400},
    {"GET /\x80 HTTP/1.1\r\n" HOST "\r\n", 400},
    {"GET / HTTP/1.1\r\n" HOST HOST "\r\n", 400},
    {"GET / HTTP/1.1\r\n" HOST " folded\r\n\r\n", 400},
    {"GET / HTTP/1.1\r\n" HOST ": x\r\n\r\n", 400},
    {"GET / HTTP/1.1\r\n" HOST "a b: x\r\n\r\n", 400},
    {"GET / HTTP/1.1\r\n" HOST "a\r\n\r\n", 400},
    {"GET / HTTP/1.1\r\n" HOST "a: \x7f\r\n\r\n", 400},
    {"GET / HTTP/1.1\r\n" HOST "a: \1\r\n\r\n", 400},
    {"GET / HTTP/1.1\n", 400},
    {"\r\nGET / HTTP/1.1\r\n" HOST "\r\n", 400},
    {"POST / HTTP/1.1\r\n" HOST "Content-Length: 1\r\n"
     "Content-Length: 1\r\n\r\n",
     400},
    {"POST / HTTP/1.1\r\n" HOST "Content-Length: 1, 1\r\n\r\n", 400},
    {"GET / HTTP/1.1\r\n" HOST "Origin: http://a\r\nOrigin: http://b\r\n\r\n",
     400},
    {"GET / HTTP/1.1\r\n" HOST "Sec-Fetch-Site: cross-site\r\n"
     "sec-fetch-site: same-origin\r\n\r\n",
     400},
    {"GET / HTTP/1.1\r\n" HOST "Origin:\r\nOrigin: http://b\r\n\r\n", 400},
    {"POST / HTTP/1.1\r\n" HOST "Content-Length:\r\n\r\n", 400},
    {"POST / HTTP/1.1\r\n" HOST "Content-Length: -1\r\n\r\n", 400},
    {"POST / HTTP/1.1\r\n" HOST "Content-Length: 1048577\r\n\r\n", 413},
    {"POST / HTTP/1.1\r\n" HOST "Content-Length: 18446744073709551617\r\n\r\n",
     413},
    {"POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n", 501},
    {"POST / HTTP/1.1\r\n" HOST "Content-Length: 1\r\n"
     "transfer-encoding: identity\r\n\r\n",
     400},
};

START_TEST(what_could_be_read_in_two_ways_is_refused)
{
    struct http_request r;

    ck_assert_int_eq(read_text(bad[_i].text, &r), HTTP_BAD);
    ck_assert_uint_eq(r.status, bad[_i].status);
    ck_assert_ptr_nonnull(r.why);
}
END_TEST

/* At once: the rest may never come. */
START_TEST(garbage_is_seen_before_its_end)
{
    static const char *const garbage[] = {"\x16\x03\x01", "\n", "x",
                                          "GET / HTTP/1.1\nH"};
    static char zero[] = "GET /";
    struct http_request r;

    for (size_t i = 0; i < sizeof(garbage) / sizeof(garbage[0]); i++)
        ck_assert_int_eq(read_text(garbage[i], &r), HTTP_BAD);
    zero[4] = '\0';
    ck_assert_int_eq(http_request_read((struct span){zero, 5}, &r), HTTP_BAD);
}
END_TEST

START_TEST(a_head_has_its_size)
{
    static char text[HTTP_HEAD_MAX + 64];
    struct http_request r;
    size_t size;

    memset(text, 'x', sizeof(text));
    memcpy(text, "GET /", 5);
    ck_assert_int_eq(
        http_request_read((struct span){text, HTTP_HEAD_MAX - 1}, &r),
        HTTP_MORE);
    ck_assert_int_eq(http_request_read((struct span){text, HTTP_HEAD_MAX}, &r),
                     HTTP_BAD);
    ck_assert_uint_eq(r.status, 431);
    size = (size_t)sprintf(text, "GET / HTTP/1.1\r\n" HOST);
    for (size_t i = 0; i < HTTP_HEADERS_MAX; i++)
        size += (size_t)sprintf(text + size, "a: b\r\n");
    strcpy(text + size, "\r\n");
    ck_assert_int_eq(read_text(text, &r), HTTP_BAD);
    ck_assert_uint_eq(r.status, 431);
    strcpy(text + size - strlen("a: b\r\n"), "\r\n");
    ck_assert_int_eq(read_text(text, &r), HTTP_COMPLETE);
}
END_TEST

START_TEST(gzip_may_be_refused)
{
    static const struct {
        const char *accepts;
        bool gzip;
    } rows[] = {{"gzip", true},        {"br,gzip", true},
                {"gzip;q=0", false},   {"gzip; q=0.000", false},
                {"gzip;q=0.1", true},  {"xgzip", false},
                {"*", false},          {"", false},
                {"deflate,,gz", false}};
    char text[128];
    struct http_request r;

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        sprintf(text, "GET / HTTP/1.0\r\nAccept-Encoding: %s\r\n\r\n",
                rows[i].accepts);
        ck_assert_int_eq(read_text(text, &r), HTTP_COMPLETE);
        ck_assert_msg(r.gzip == rows[i].gzip, "%s", rows[i].accepts);
        ck_assert(r.http_1_0 && r.closes);
    }
}
END_TEST

START_TEST(parameters_are_decoded)
{
    static const char text[] = "a=b%41%2b+c&empty&&x=&long=0123456789&n=%0a";
    struct span query = {text, sizeof(text) - 1};
    char out[8];

    ck_assert_int_eq(http_query_get(query, "a", out, sizeof(out)), 0);
    ck_assert_str_eq(out, "bA+ c");
    ck_assert_int_eq(http_query_get(query, "empty", out, sizeof(out)), 0);
    ck_assert_str_eq(out, "");
    ck_assert_int_eq(http_query_get(query, "none", out, sizeof(out)), 0);
    ck_assert_str_eq(out, "");
    ck_assert_int_eq(http_query_get(query, "long", out, sizeof(out)), -1);
    ck_assert_int_eq(http_query_get(query, "n", out, sizeof(out)), -1);
    ck_assert_int_eq(
        http_query_get((struct span){"a=1&a=2", 7}, "a", out, sizeof(out)), -1);
    is(http_query_unknown(query, "a empty x long n"), "");
    is(http_query_unknown(query, "a empty x n"), "long");
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("http_request");
    TCase *tc = tcase_create("http_request");

    tcase_add_test(tc, a_request_may_be_cut_at_every_byte);
    tcase_add_loop_test(tc, what_could_be_read_in_two_ways_is_refused, 0,
                        sizeof(bad) / sizeof(bad[0]));
    tcase_add_test(tc, garbage_is_seen_before_its_end);
    tcase_add_test(tc, a_head_has_its_size);
    tcase_add_test(tc, gzip_may_be_refused);
    tcase_add_test(tc, parameters_are_decoded);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
