/*
 * function_hashes.c - hashes (MD5, SHA1, SHA2, CRC32), and bytes as texts and
 * back (HEX, TO_BASE64).
 */
#include <inttypes.h>
#include <openssl/evp.h>
#include <stdint.h>
#include <string.h>
#include <zlib.h>

#include "buffer.h"
#include "ascii.h"
#include "function.h"
#include "function_table.h"
#include "handle.h"
#include "kind.h"

enum { BASE64_LINE = 76, BASE64_BYTES = BASE64_LINE / 4 * 3 };

static void
append_hex_digits(struct buffer *out, const void *data, size_t size,
                  const char *digits)
{
    const unsigned char *bytes = data;

    for (size_t i = 0; i < size; i++) {
        buffer_char(out, digits[bytes[i] >> 4]);
        buffer_char(out, digits[bytes[i] & 15]);
    }
}

static void
return_hex_digest(sqlite3_context *c, const EVP_MD *method, struct span text)
{
    unsigned char bytes[EVP_MAX_MD_SIZE];
    unsigned size = 0;
    struct buffer out;

    /* OpenSSL refuses MD5 in FIPS mode. */
    if (EVP_Digest(text.data, text.size, bytes, &size, method, NULL) != 1) {
        sqlite3_result_error(c, "the digest is not available", -1);
        return;
    }
    buffer_init(&out, SELECT_VALUE_MAX);
    append_hex_digits(&out, bytes, size, "0123456789abcdef");
    function_buffer(c, &out);
}

static void
call_md5(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    if (!function_any_null(argc, argv))
        return_hex_digest(c, EVP_md5(), function_argument(argv[0]));
}

static void
call_sha1(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    if (!function_any_null(argc, argv))
        return_hex_digest(c, EVP_sha1(), function_argument(argv[0]));
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
    return_hex_digest(c, method, function_argument(argv[0]));
}

static void
call_crc32(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    struct span text = function_argument(argv[0]);

    if (!function_any_null(argc, argv))
        sqlite3_result_int64(
            c, (int64_t)crc32_z(0, (const Bytef *)text.data, text.size));
}

/* ---- bytes as texts ---- */

/* HEX: the digits of a number (of one past 64 bits, the largest), or of the
 * bytes of any other value. */
static void
call_hex(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    struct span text = function_argument(argv[0]);
    bool whole = kind_is_integer(argv[0]);
    double real = function_real(argv[0]);
    struct buffer out;

    if (function_any_null(argc, argv))
        return;
    buffer_init(&out, SELECT_VALUE_MAX);
    if (whole || function_is_number(argv[0]))
        buffer_format(&out, "%" PRIX64,
                      !whole && real <= -0x1p63 ? UINT64_MAX
                                                : function_natural(argv[0]));
    else
        append_hex_digits(&out, text.data, text.size, "0123456789ABCDEF");
    function_buffer(c, &out);
}

/* Breaks the text into lines as MySQL does. */
static void
call_to_base64(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    struct span text = function_argument(argv[0]);
    unsigned char line[BASE64_LINE + 1];
    struct buffer out;

    if (function_any_null(argc, argv))
        return;
    /* A view may be longer than other values, and so may its base64. */
    buffer_init(&out, (size_t)sqlite3_limit(sqlite3_context_db_handle(c),
                                            SQLITE_LIMIT_LENGTH, -1));
    for (size_t i = 0; i < text.size; i += BASE64_BYTES) {
        size_t left = text.size - i;

        if (i > 0)
            buffer_char(&out, '\n');
        buffer_add(&out, line,
                   (size_t)EVP_EncodeBlock(
                       line, (const unsigned char *)text.data + i,
                       (int)(left < BASE64_BYTES ? left : BASE64_BYTES)));
    }
    function_buffer(c, &out);
}

/* UNHEX: of an odd number of digits the first is a byte of its own; anything
 * else than digits gives NULL. */
static void
call_unhex(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    struct span text = function_argument(argv[0]);
    struct buffer out;
    int byte = 0;

    if (function_any_null(argc, argv))
        return;
    buffer_init(&out, SELECT_VALUE_MAX);
    for (size_t i = 0; i < text.size; i++) {
        int digit = hex_digit(text.data[i]);

        if (digit < 0) {
            buffer_fini(&out);
            return;
        }
        byte = byte << 4 | digit;
        if ((text.size - i) % 2 == 1) {
            buffer_char(&out, (char)byte);
            byte = 0;
        }
    }
    function_buffer_bytes(c, &out);
}

/* Returns the six bits of a letter; -1: it has none. */
static int
base64_digit(char c)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                 "abcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *found = c ? strchr(digits, c) : NULL;

    return found ? (int)(found - digits) : -1;
}

/* Reads fours of letters between blanks; the last may end in one or two '='. */
static bool
read_base64(struct buffer *out, struct span text)
{
    uint32_t bits = 0;
    int count = 0, padding = 0;

    for (size_t i = 0; i < text.size; i++) {
        int digit = base64_digit(text.data[i]);

        if (is_blank(text.data[i]))
            continue;
        if (text.data[i] == '=' ? count < 2 || count > 3 || ++padding > 2
                                : digit < 0 || padding > 0)
            return false;
        bits = bits << 6 | (uint32_t)(digit < 0 ? 0 : digit);
        if (++count < 4)
            continue;
        for (int n = 0; n < 3 - padding; n++)
            buffer_char(out, (char)(bits >> (16 - 8 * n)));
        count = padding > 0 ? 4 : 0; /* nothing may follow */
        bits = 0;
    }
    return count == 0 || (count == 4 && padding <= 2);
}

static void
call_from_base64(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    struct buffer out;

    if (function_any_null(argc, argv))
        return;
    buffer_init(&out, SELECT_VALUE_MAX);
    if (read_base64(&out, function_argument(argv[0])))
        function_buffer_bytes(c, &out);
    else
        buffer_fini(&out);
}

const struct function hash_functions[] = {
    {"md5", 1, 1, call_md5, RETURNS_TEXT, .width = 32},
    {"sha", 1, 1, call_sha1, RETURNS_TEXT, .width = 40},
    {"sha1", 1, 1, call_sha1, RETURNS_TEXT, .width = 40},
    {"sha2", 2, 2, call_sha2, RETURNS_TEXT, .width = 128},
    {"crc32", 1, 1, call_crc32, RETURNS_BIGINT},
    {"hex", 1, 1, call_hex, RETURNS_TEXT},
    {"to_base64", 1, 1, call_to_base64, RETURNS_TEXT},
    {"unhex", 1, 1, call_unhex, RETURNS_BINARY},
    {"from_base64", 1, 1, call_from_base64, RETURNS_BINARY},
    {NULL},
};
