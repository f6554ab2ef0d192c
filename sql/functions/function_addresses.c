/*
 * function_addresses.c - addresses of networks, and UUIDs, as texts and bytes:
 * INET_ATON, INET6_NTOA, UUID, UUID_TO_BIN and their like.
 *
 * libc's inet_ntop() and inet_aton() are not used where MySQL differs from
 * them: MySQL takes 1.2 for 1.0.0.2, writes even a single zero word as "::",
 * and allows three digits of decimals only.
 */
#include <arpa/inet.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "ascii.h"
#include "errors.h"
#include "function.h"
#include "function_table.h"

enum { IPV4 = 4, IPV6 = 16, UUID = 16, UUID_TEXT = 36, RANDOM_MAX = 1024 };

/* ---- IPv4 ---- */

/* INET_ATON: up to four bytes between points; of fewer, the last stands for
 * those that are missing. */
static void
call_inet_aton(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    struct span text = function_argument(argv[0]);
    uint64_t number = 0, byte = 0;
    int points = 0;
    /* A text that is empty or ends with a point is no address. */
    char last = '.';

    if (function_any_null(argc, argv))
        return;
    for (size_t i = 0; i < text.size && byte <= UINT8_MAX; i++) {
        last = text.data[i];
        if (last == '.') {
            number = number << 8 | byte;
            byte = 0;
            points++;
        } else {
            byte =
                is_digit(last) ? byte * 10 + (uint64_t)last - '0' : UINT64_MAX;
        }
    }
    if (last == '.' || byte > UINT8_MAX) {
        function_warn_wrong(c, "string", text);
        return;
    }
    if (points == 1 || points == 2)
        number <<= 8 * (3 - points);
    function_unsigned(c, number << 8 | byte);
}

static void
return_ipv4(sqlite3_context *c, const unsigned char *bytes)
{
    char text[INET_ADDRSTRLEN];
    int size = snprintf(text, sizeof(text), "%u.%u.%u.%u", bytes[0], bytes[1],
                        bytes[2], bytes[3]);

    function_text(c, text, (size_t)size);
}

static void
call_inet_ntoa(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    uint64_t number = function_natural(argv[0]);
    unsigned char bytes[IPV4];

    if (function_any_null(argc, argv))
        return;
    if (number > UINT32_MAX) {
        function_warn_wrong(c, "string", function_argument(argv[0]));
        return;
    }
    for (int i = 0; i < IPV4; i++)
        bytes[i] = (unsigned char)(number >> (24 - 8 * i));
    return_ipv4(c, bytes);
}

/* Four numbers of one to three digits. */
static bool
parse_ipv4(struct span text, unsigned char out[IPV4])
{
    size_t at = 0;

    for (int i = 0; i < IPV4; i++) {
        unsigned byte = 0, digits = 0;

        if (i > 0 && (at == text.size || text.data[at++] != '.'))
            return false;
        for (; at < text.size && is_digit(text.data[at]) && digits < 3;
             digits++)
            byte = byte * 10 + (unsigned)(text.data[at++] - '0');
        if (digits == 0 || byte > UINT8_MAX)
            return false;
        out[i] = (unsigned char)byte;
    }
    return at == text.size;
}

/* ---- IPv6 ---- */

static bool
parse_ipv6(struct span text, unsigned char out[IPV6])
{
    char copy[INET6_ADDRSTRLEN];

    if (text.size >= sizeof(copy) || memchr(text.data, '\0', text.size))
        return false;
    memcpy(copy, text.data, text.size);
    copy[text.size] = '\0';
    return inet_pton(AF_INET6, copy, out) == 1;
}

static void
call_inet6_aton(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    struct span text = function_argument(argv[0]);
    unsigned char bytes[IPV6];

    if (function_any_null(argc, argv))
        return;
    if (parse_ipv4(text, bytes))
        function_bytes(c, bytes, IPV4);
    else if (parse_ipv6(text, bytes))
        function_bytes(c, bytes, IPV6);
    else
        function_warn_wrong(c, "string", text);
}

static unsigned
ipv6_group_value(const unsigned char *bytes, int i)
{
    const unsigned char *word = bytes + i + i;

    return (unsigned)word[0] << 8 | word[1];
}

static bool
begins_with_zeros(const unsigned char *bytes, size_t count)
{
    static const unsigned char zeros[IPV6];

    return memcmp(bytes, zeros, count) == 0;
}

static bool
is_compatible(const unsigned char *bytes)
{
    /* :: and ::1 have these zeros, too, but are IPv6's own. */
    return begins_with_zeros(bytes, 12) && ipv6_group_value(bytes, 6) != 0;
}

static bool
is_mapped(const unsigned char *bytes)
{
    return begins_with_zeros(bytes, 10) && ipv6_group_value(bytes, 5) == 0xffff;
}

/* Writes the longest run of zeros as "::", even one of a single word, as MySQL
 * does; the last 32 bits of a compatible or mapped address are written as
 * IPv4. */
static void
return_ipv6(sqlite3_context *c, const unsigned char *bytes)
{
    bool tail = is_compatible(bytes) || is_mapped(bytes);
    int words = tail ? 6 : 8, gap = -1, gap_size = 0, size = 0;
    char text[INET6_ADDRSTRLEN];

    for (int i = 0, run = 0; i < words; i++) {
        run = ipv6_group_value(bytes, i) == 0 ? run + 1 : 0;
        if (run > gap_size) {
            gap_size = run;
            gap = i + 1 - run;
        }
    }
    for (int i = 0; i < words; i++) {
        size_t room = sizeof(text) - (size_t)size;

        if (i >= gap && i < gap + gap_size)
            size += snprintf(text + size, room, "%s", i == gap ? "::" : "");
        else
            size += snprintf(text + size, room, "%s%x",
                             i > 0 && i != gap + gap_size ? ":" : "",
                             ipv6_group_value(bytes, i));
    }
    if (tail)
        size += snprintf(text + size, sizeof(text) - (size_t)size,
                         "%s%u.%u.%u.%u", gap + gap_size == words ? "" : ":",
                         bytes[12], bytes[13], bytes[14], bytes[15]);
    function_text(c, text, (size_t)size);
}

static void
call_inet6_ntoa(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    bool binary = sqlite3_value_type(argv[0]) == SQLITE_BLOB;
    struct span bytes = function_argument(argv[0]);

    if (function_any_null(argc, argv))
        return;
    if (binary && bytes.size == IPV4)
        return_ipv4(c, (const unsigned char *)bytes.data);
    else if (binary && bytes.size == IPV6)
        return_ipv6(c, (const unsigned char *)bytes.data);
    else
        function_warn_wrong(c, "string", bytes);
}

static void
call_is_ipv4(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    unsigned char bytes[IPV4];

    sqlite3_result_int(c, !function_any_null(argc, argv) &&
                              parse_ipv4(function_argument(argv[0]), bytes));
}

static void
call_is_ipv6(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    unsigned char bytes[IPV6];

    sqlite3_result_int(c, !function_any_null(argc, argv) &&
                              parse_ipv6(function_argument(argv[0]), bytes));
}

static void
call_is_compatible(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    struct span bytes = function_argument(argv[0]);

    (void)argc;
    sqlite3_result_int(c, bytes.size == IPV6 &&
                              is_compatible((const unsigned char *)bytes.data));
}

static void
call_is_mapped(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    struct span bytes = function_argument(argv[0]);

    (void)argc;
    sqlite3_result_int(c, bytes.size == IPV6 &&
                              is_mapped((const unsigned char *)bytes.data));
}

/* ---- UUIDs ---- */

/* Reads a UUID: 32 digits, or with dashes behind the 8th, 12th, 16th and 20th,
 * and then perhaps in braces. */
static bool
parse_uuid(struct span text, unsigned char out[UUID])
{
    bool dashes;

    if (text.size == UUID_TEXT + 2 && text.data[0] == '{' &&
        text.data[UUID_TEXT + 1] == '}')
        text = (struct span){text.data + 1, UUID_TEXT};
    dashes = text.size == UUID_TEXT;
    if (!dashes && text.size != (size_t)2 * UUID)
        return false;
    for (int i = 0; i < UUID; i++) {
        int high, low;

        if (dashes && i >= 4 && i <= 10 && i % 2 == 0 && *text.data++ != '-')
            return false;
        high = hex_digit(*text.data++);
        low = hex_digit(*text.data++);
        if (high < 0 || low < 0)
            return false;
        out[i] = (unsigned char)(high << 4 | low);
    }
    return true;
}

static void
return_uuid(sqlite3_context *c, const unsigned char *b)
{
    char text[UUID_TEXT + 1];

    snprintf(text, sizeof(text),
             "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-"
             "%02x%02x%02x%02x%02x%02x",
             b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10],
             b[11], b[12], b[13], b[14], b[15]);
    function_text(c, text, UUID_TEXT);
}

/* Makes a UUID of version 1, as MySQL does: the time in 100 ns since 1582, and
 * a random node instead of a network card's address, which would tell the
 * machine. */
static void
call_uuid(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    uint64_t time = clock_wall_ms() * 10000 + UINT64_C(0x01b21dd213814000);
    unsigned char bytes[UUID];
    unsigned few;

    (void)argc;
    (void)argv;
    sqlite3_randomness(UUID, bytes);
    memcpy(&few, bytes, sizeof(few));
    time += few % 10000; /* fills the millisecond, which the clock here does
                          * not resolve */
    for (int i = 0; i < 4; i++)
        bytes[i] = (unsigned char)(time >> (24 - 8 * i));
    bytes[4] = (unsigned char)(time >> 40);
    bytes[5] = (unsigned char)(time >> 32);
    bytes[6] = (unsigned char)(0x10 | (time >> 56 & 0x0f));
    bytes[7] = (unsigned char)(time >> 48);
    bytes[8] = 0x80 | (bytes[8] & 0x3f);
    bytes[10] |= 1; /* the multicast bit, which no network card's address has
                     * (RFC 9562, 6.10) */
    return_uuid(c, bytes);
}

static void
call_is_uuid(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    unsigned char bytes[UUID];

    if (!function_any_null(argc, argv))
        sqlite3_result_int(c, parse_uuid(function_argument(argv[0]), bytes));
}

static void
fail_uuid(sqlite3_context *c, struct span text)
{
    struct error err;

    error_set(&err, ER_WRONG_VALUE_FOR_TYPE,
              "Incorrect string value: '%.*s' for function %s: a UUID has 32 "
              "hexadecimal digits, or 16 bytes",
              (int)(text.size < UUID_TEXT ? text.size : UUID_TEXT), text.data,
              function_name(c));
    function_fail(c, &err);
}

/* Moves the slowly changing part of the time to the front, or back, so that
 * UUIDs sort by time. */
static void
swap_uuid(const unsigned char *from, unsigned char *out, bool back)
{
    static const unsigned char places[] = {6, 7, 4, 5, 0, 1, 2, 3};

    memcpy(out, from, UUID);
    for (size_t i = 0; i < sizeof(places); i++)
        out[back ? places[i] : i] = from[back ? i : places[i]];
}

static bool
is_swapped(int argc, sqlite3_value **argv)
{
    return argc > 1 && function_real(argv[1]) != 0;
}

static void
call_uuid_to_bin(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    unsigned char bytes[UUID], swapped[UUID];

    if (function_any_null(1, argv))
        return;
    if (!parse_uuid(function_argument(argv[0]), bytes)) {
        fail_uuid(c, function_argument(argv[0]));
        return;
    }
    swap_uuid(bytes, swapped, false);
    function_bytes(c, is_swapped(argc, argv) ? swapped : bytes, UUID);
}

static void
call_bin_to_uuid(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    struct span text = function_argument(argv[0]);
    const unsigned char *bytes = (const unsigned char *)text.data;
    unsigned char swapped[UUID];

    if (function_any_null(1, argv))
        return;
    if (text.size != UUID) {
        fail_uuid(c, text);
        return;
    }
    swap_uuid(bytes, swapped, true);
    return_uuid(c, is_swapped(argc, argv) ? swapped : bytes);
}

static void
call_random_bytes(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    int64_t size = function_count(argv[0]);
    unsigned char bytes[RANDOM_MAX];

    if (function_any_null(argc, argv))
        return;
    if (size < 1 || size > RANDOM_MAX) {
        sqlite3_result_error(
            c, "length value is out of range in 'random_bytes': 1 to 1024", -1);
        return;
    }
    sqlite3_randomness((int)size, bytes);
    function_bytes(c, bytes, (size_t)size);
}

const struct function address_functions[] = {
    {"inet_aton", 1, 1, call_inet_aton, RETURNS_UNSIGNED, .width = 21},
    {"inet_ntoa", 1, 1, call_inet_ntoa, RETURNS_TEXT, .width = 31},
    {"inet6_aton", 1, 1, call_inet6_aton, RETURNS_BINARY, .width = 16},
    {"inet6_ntoa", 1, 1, call_inet6_ntoa, RETURNS_TEXT, .width = 39},
    {"is_ipv4", 1, 1, call_is_ipv4, RETURNS_BIGINT, .width = 1},
    {"is_ipv6", 1, 1, call_is_ipv6, RETURNS_BIGINT, .width = 1},
    {"is_ipv4_compat", 1, 1, call_is_compatible, RETURNS_BIGINT, .width = 1},
    {"is_ipv4_mapped", 1, 1, call_is_mapped, RETURNS_BIGINT, .width = 1},
    {"uuid", 0, 0, call_uuid, RETURNS_TEXT, .width = 36},
    {"is_uuid", 1, 1, call_is_uuid, RETURNS_BIGINT, .width = 1},
    {"uuid_to_bin", 1, 2, call_uuid_to_bin, RETURNS_BINARY, .width = 16},
    {"bin_to_uuid", 1, 2, call_bin_to_uuid, RETURNS_TEXT, .width = 36},
    {"random_bytes", 1, 1, call_random_bytes, RETURNS_BINARY, .width = 1024},
    {NULL},
};
