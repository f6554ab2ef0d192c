/* select_hashes.c - digests, and bytes as texts. */
#include <arpa/inet.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/evp.h>

#include "buffer.h"
#include "select_functions.h"
#include "select_handle.h"

enum { BASE64_LINE = 76 };

static void
add_hex(struct buffer *out, const void *data, size_t size, const char *digits)
{
    const unsigned char *bytes = data;

    for (size_t i = 0; i < size; i++) {
        buffer_char(out, digits[bytes[i] >> 4]);
        buffer_char(out, digits[bytes[i] & 15]);
    }
}

static void
digest(sqlite3_context *c, const EVP_MD *method, struct span text)
{
    unsigned char bytes[EVP_MAX_MD_SIZE];
    unsigned size = 0;
    struct buffer out;

    if (EVP_Digest(text.data, text.size, bytes, &size, method, NULL) != 1) {
        sqlite3_result_error(c, "the digest is not available", -1);
        return;
    }
    buffer_init(&out, SELECT_VALUE_MAX);
    add_hex(&out, bytes, size, "0123456789abcdef");
    function_buffer(c, &out);
}

static void
call_md5(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    if (!function_any_null(argc, argv))
        digest(c, EVP_md5(), function_argument(argv[0]));
}

static void
call_sha1(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    if (!function_any_null(argc, argv))
        digest(c, EVP_sha1(), function_argument(argv[0]));
}

static void
call_sha2(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    const EVP_MD *method;

    if (function_any_null(argc, argv))
        return;
    switch (function_integer(argv[1])) {
    case 0:
    case 256:
        method = EVP_sha256();
        break;
    case 224:
        method = EVP_sha224();
        break;
    case 384:
        method = EVP_sha384();
        break;
    case 512:
        method = EVP_sha512();
        break;
    default:
        return;
    }
    digest(c, method, function_argument(argv[0]));
}

static void
call_crc32(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    struct span text = function_argument(argv[0]);
    uint32_t crc = UINT32_MAX;

    if (function_any_null(argc, argv))
        return;
    for (size_t i = 0; i < text.size; i++) {
        crc ^= (unsigned char)text.data[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (0xedb88320u & (0 - (crc & 1)));
    }
    sqlite3_result_int64(c, (uint32_t)~crc);
}

/* ---- bytes as texts ---- */

/* HEX: a number's digits, or the bytes of anything else. */
static void
call_hex(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    struct span text = function_argument(argv[0]);
    struct buffer out;

    if (function_any_null(argc, argv))
        return;
    buffer_init(&out, SELECT_VALUE_MAX);
    if (function_is_number(argv[0]))
        buffer_format(&out, "%" PRIX64, (uint64_t)function_integer(argv[0]));
    else
        add_hex(&out, text.data, text.size, "0123456789ABCDEF");
    function_buffer(c, &out);
}

static int
hex_digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

static void
return_bytes(sqlite3_context *c, struct buffer *bytes)
{
    if (bytes->failed)
        sqlite3_result_error_toobig(c);
    else
        sqlite3_result_blob64(c, bytes->data ? bytes->data : "", bytes->size,
                              SQLITE_TRANSIENT);
    buffer_fini(bytes);
}

static void
call_unhex(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    struct span text = function_argument(argv[0]);
    int high = 0;
    struct buffer out;

    if (function_any_null(argc, argv))
        return;
    buffer_init(&out, SELECT_VALUE_MAX);
    for (size_t i = 0; i < text.size; i++) {
        int digit = hex_digit(text.data[i]);

        if (digit < 0) {
            buffer_fini(&out);
            return;
        }
        if ((text.size - i) % 2 == 0)
            high = digit;
        else
            buffer_char(&out, (char)(high << 4 | digit));
        high = (text.size - i) % 2 == 0 ? high : 0;
    }
    return_bytes(c, &out);
}

static const char base64_digits[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static void
call_to_base64(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    struct span text = function_argument(argv[0]);
    const unsigned char *p = (const unsigned char *)text.data;
    struct buffer out;

    if (function_any_null(argc, argv))
        return;
    buffer_init(&out, (size_t)sqlite3_limit(sqlite3_context_db_handle(c),
                                            SQLITE_LIMIT_LENGTH, -1));
    for (size_t i = 0; i < text.size; i += 3) {
        size_t left = text.size - i;
        uint32_t bits = (uint32_t)p[i] << 16 |
                        (left > 1 ? (uint32_t)p[i + 1] << 8 : 0) |
                        (left > 2 ? p[i + 2] : 0);

        if (i > 0 && i / 3 * 4 % BASE64_LINE == 0)
            buffer_char(&out, '\n');
        buffer_char(&out, base64_digits[bits >> 18]);
        buffer_char(&out, base64_digits[bits >> 12 & 63]);
        buffer_char(&out,
                    (char)(left > 1 ? base64_digits[bits >> 6 & 63] : '='));
        buffer_char(&out, (char)(left > 2 ? base64_digits[bits & 63] : '='));
    }
    function_buffer(c, &out);
}

static void
call_from_base64(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    struct span text = function_argument(argv[0]);
    uint32_t bits = 0;
    size_t count = 0, padding = 0;
    struct buffer out;

    if (function_any_null(argc, argv))
        return;
    buffer_init(&out, SELECT_VALUE_MAX);
    for (size_t i = 0; i < text.size; i++) {
        char byte = text.data[i];
        const char *digit = byte ? strchr(base64_digits, byte) : NULL;

        if (byte == ' ' || (byte >= '\t' && byte <= '\r'))
            continue;
        padding += byte == '=';
        if ((!digit && byte != '=') || (digit && padding > 0) || padding > 2)
            goto wrong;
        bits = bits << 6 | (digit ? (uint32_t)(digit - base64_digits) : 0);
        if (++count % 4 != 0)
            continue;
        for (size_t k = 0; k < 3 - padding; k++)
            buffer_char(&out, (char)(bits >> (16 - 8 * k)));
    }
    if (count % 4 == 0) {
        return_bytes(c, &out);
        return;
    }
wrong:
    buffer_fini(&out);
}

/* ---- addresses ---- */

static void
call_inet_aton(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    struct in_addr address;

    if (!function_any_null(argc, argv) &&
        inet_pton(AF_INET, function_argument(argv[0]).data, &address) == 1)
        sqlite3_result_int64(c, ntohl(address.s_addr));
}

static void
call_inet_ntoa(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    int64_t number = function_integer(argv[0]);
    struct in_addr address = {htonl((uint32_t)number)};
    char text[INET_ADDRSTRLEN];

    if (!function_any_null(argc, argv) && number >= 0 && number <= UINT32_MAX &&
        inet_ntop(AF_INET, &address, text, sizeof(text)))
        function_text(c, text, strlen(text));
}

const struct function hash_functions[] = {
    {"md5", 1, 1, call_md5, RETURNS_TEXT},
    {"sha", 1, 1, call_sha1, RETURNS_TEXT},
    {"sha1", 1, 1, call_sha1, RETURNS_TEXT},
    {"sha2", 2, 2, call_sha2, RETURNS_TEXT},
    {"crc32", 1, 1, call_crc32, RETURNS_BIGINT},
    {"hex", 1, 1, call_hex, RETURNS_TEXT},
    {"unhex", 1, 1, call_unhex, RETURNS_TEXT},
    {"to_base64", 1, 1, call_to_base64, RETURNS_TEXT},
    {"from_base64", 1, 1, call_from_base64, RETURNS_TEXT},
    {"inet_aton", 1, 1, call_inet_aton, RETURNS_BIGINT},
    {"inet_ntoa", 1, 1, call_inet_ntoa, RETURNS_TEXT},
    {NULL},
};
