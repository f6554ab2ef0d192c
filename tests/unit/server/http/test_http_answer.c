/* test_http_answer.c - heads, chunks, packed bodies. */
#include <stdlib.h>
#include <string.h>

#include <zlib.h>

#include "buffer.h"
#include "http_answer.h"
#include "suite.h"

/* The body behind the head, which must have the line. */
static const char *
body_of(const struct buffer *out, const char *line)
{
    const char *end = strstr(out->data, "\r\n\r\n");

    ck_assert_ptr_nonnull(end);
    ck_assert_msg(!line || memmem(out->data, (size_t)(end - out->data) + 2,
                                  line, strlen(line)),
                  "no '%s' in: %s", line, out->data);
    return end + 4;
}

START_TEST(a_whole_answer_has_its_length)
{
    struct http_answer a = {.closes = true, .more = "X: y\r\n"};
    struct buffer out;

    buffer_init(&out, 4096);
    http_answer_with_body(&a, &out, 404, HTTP_TEXT, (struct span){"none\n", 5});
    ck_assert_str_eq(body_of(&out, "Content-Length: 5\r\n"), "none\n");
    body_of(&out, "HTTP/1.1 404 Not Found\r\n");
    body_of(&out, "Connection: close\r\n");
    body_of(&out, "X: y\r\n");
    body_of(&out, "Cache-Control: no-store\r\n");
    buffer_clear(&out);
    a = (struct http_answer){.head_alone = true, .etag = "\"e\""};
    http_answer_with_body(&a, &out, 200, HTTP_TEXT, (struct span){"none\n", 5});
    ck_assert_str_eq(body_of(&out, "Content-Length: 5\r\n"), "");
    body_of(&out, "ETag: \"e\"\r\n");
    buffer_clear(&out);
    http_answer_with_body(&a, &out, 304, HTTP_TEXT, (struct span){"none\n", 5});
    ck_assert_str_eq(body_of(&out, "304 Not Modified"), "");
    ck_assert_ptr_null(strstr(out.data, "Content-Length"));
    buffer_fini(&out);
}
END_TEST

START_TEST(an_empty_part_is_no_end)
{
    struct http_answer a = {.head_alone = false};
    struct buffer out;

    buffer_init(&out, 4096);
    http_answer_begin(&a, &out, 200, HTTP_TEXT, true);
    http_answer_part(&a, &out, "0123456789abcdef!", 17);
    http_answer_part(&a, &out, "", 0);
    http_answer_part(&a, &out, "x", 1);
    http_answer_end(&a, &out);
    ck_assert_str_eq(body_of(&out, "Transfer-Encoding: chunked\r\n"),
                     "11\r\n0123456789abcdef!\r\n1\r\nx\r\n0\r\n\r\n");
    body_of(&out, "Vary: Accept-Encoding\r\n");
    buffer_clear(&out);
    a = (struct http_answer){.http_1_0 = true, .closes = true};
    http_answer_begin(&a, &out, 200, HTTP_TEXT, false);
    http_answer_part(&a, &out, "x", 1);
    http_answer_end(&a, &out);
    ck_assert_str_eq(body_of(&out, "Connection: close\r\n"), "x");
    buffer_clear(&out);
    a = (struct http_answer){.head_alone = true, .gzip = true};
    http_answer_begin(&a, &out, 200, HTTP_TEXT, true);
    http_answer_part(&a, &out, "x", 1);
    http_answer_end(&a, &out);
    ck_assert_str_eq(body_of(&out, NULL), "");
    buffer_fini(&out);
}
END_TEST

enum { PARTS = 3000 };

/* The chunks of a body, joined. */
static size_t
join(const char *chunks, char *out)
{
    size_t total = 0, size;
    char *end;

    while ((size = strtoul(chunks, &end, 16)) > 0) {
        memcpy(out + total, end + 2, size);
        total += size;
        chunks = end + 2 + size + 2;
    }
    ck_assert_str_eq(end, "\r\n\r\n");
    return total;
}

START_TEST(a_packed_body_comes_back)
{
    struct http_answer a = {.gzip = true};
    static char packed[1 << 20], plain[PARTS * 8 + 1], back[PARTS * 8 + 1];
    z_stream z = {.next_out = (Bytef *)back, .avail_out = sizeof(back)};
    struct buffer out;

    buffer_init(&out, 1 << 20);
    http_answer_begin(&a, &out, 200, HTTP_TEXT, true);
    for (size_t i = 0; i < PARTS; i++) {
        sprintf(plain + 8 * i, "%08zx", i * 2654435761u & 0xffffffff);
        http_answer_part(&a, &out, plain + 8 * i, 8);
    }
    http_answer_end(&a, &out);
    ck_assert_ptr_null(a.packer);
    z.next_in = (Bytef *)packed;
    z.avail_in =
        (uInt)join(body_of(&out, "Content-Encoding: gzip\r\n"), packed);
    ck_assert_int_eq(inflateInit2(&z, 15 + 16), Z_OK);
    ck_assert_int_eq(inflate(&z, Z_FINISH), Z_STREAM_END);
    ck_assert_uint_eq(z.total_out, PARTS * 8);
    ck_assert_mem_eq(back, plain, PARTS * 8);
    buffer_clear(&out);
    http_answer_pack((struct span){plain, PARTS * 8}, &out); /* all at once */
    memset(back, 0, sizeof(back));
    ck_assert_int_eq(inflateReset(&z), Z_OK);
    z.next_in = (Bytef *)out.data;
    z.avail_in = (uInt)out.size;
    z.next_out = (Bytef *)back;
    z.avail_out = sizeof(back);
    ck_assert_int_eq(inflate(&z, Z_FINISH), Z_STREAM_END);
    ck_assert_uint_eq(z.avail_in, 0);
    ck_assert_mem_eq(back, plain, PARTS * 8);
    inflateEnd(&z);
    buffer_fini(&out);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("http_answer");
    TCase *tc = tcase_create("http_answer");

    tcase_add_test(tc, a_whole_answer_has_its_length);
    tcase_add_test(tc, an_empty_part_is_no_end);
    tcase_add_test(tc, a_packed_body_comes_back);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
