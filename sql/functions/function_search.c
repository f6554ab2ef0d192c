/*
 * function_search.c - functions that look into texts: LIKE, REGEXP, LOCATE,
 * FIELD, SUBSTRING_INDEX.
 *
 * A pattern may take time out of all proportion to its text, and one user's
 * pattern must not hold up others.  LIKE is bounded by text times pattern and
 * charges for that.  A regular expression (PCRE2; MySQL's ICU has nearly its
 * syntax) has limits on steps, depth and memory, runs off the event loop from
 * its first byte on, and asks at each item of the pattern whether the
 * statement was cancelled.  A constant pattern is compiled once per statement.
 *
 * LOCATE compares by the collation, so it turns both texts into keys of fixed
 * size and searches these with memmem(): linear, where comparing at each
 * position would be quadratic.
 */
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <stdio.h>
#include <string.h>

#include "buffer.h"
#include "collate.h"
#include "function.h"
#include "function_table.h"
#include "handle.h"

enum {
    LIKE_STEPS = 16,          /* steps of LIKE that count as one byte of work */
    REGEX_PATTERN_MAX = 4096, /* bytes */
    REGEX_MATCH_MAX = 100000, /* of PCRE2's steps from one position in a text */
    REGEX_HEAP_KB = 4096,
    REGEX_DEPTH_MAX = 1000
};

/* x LIKE y is like(y, x) in SQLite.  The escape is a backslash by default.  If
 * either side is bytes (BINARY makes them), case counts. */
static void
call_like(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    struct span escape = {"\\", 1};
    bool binary = sqlite3_value_type(argv[0]) == SQLITE_BLOB ||
                  sqlite3_value_type(argv[1]) == SQLITE_BLOB;

    if (function_any_null(argc, argv))
        return;
    if (argc == 3)
        escape = function_argument(argv[2]);
    if (escape.size > 1)
        sqlite3_result_error(c, "Incorrect arguments to ESCAPE", -1);
    else if (function_argument(argv[0]).size > LIKE_PATTERN_MAX)
        sqlite3_result_error(c, "LIKE pattern is too long", -1);
    else if (!function_charge(c, function_argument(argv[0]).size *
                                     function_argument(argv[1]).size /
                                     LIKE_STEPS))
        /* an empty escape: its byte is the NUL behind it, which escapes nothing
         */
        sqlite3_result_int(c, (binary ? like_match_binary : like_match)(
                                  function_argument(argv[1]),
                                  function_argument(argv[0]), *escape.data));
}

/* ---- REGEXP ---- */

static int
on_regex_callout(pcre2_callout_block *at, void *handle)
{
    (void)at;
    return handle_is_cancelled(handle) ? PCRE2_ERROR_CALLOUT : 0;
}

static void
free_regex(void *code)
{
    pcre2_code_free(code);
}

static void
fail_regex(sqlite3_context *c, int code)
{
    unsigned char reason[120];
    char text[200];

    pcre2_get_error_message(code, reason, sizeof(reason));
    snprintf(text, sizeof(text), "Regex error '%s'", (const char *)reason);
    sqlite3_result_error(c, text, -1);
}

/* The options of PCRE2.  If either side is bytes, case counts.  Invalid UTF-8
 * in a text matches nothing instead of failing; AUTO_CALLOUT is what lets
 * on_regex_callout() be asked. */
static uint32_t
regex_options(sqlite3_value **argv)
{
    bool bytes = sqlite3_value_type(argv[0]) == SQLITE_BLOB ||
                 sqlite3_value_type(argv[1]) == SQLITE_BLOB;

    return PCRE2_UTF | PCRE2_MATCH_INVALID_UTF | PCRE2_AUTO_CALLOUT |
           (bytes ? 0 : PCRE2_CASELESS);
}

static pcre2_code *
compile_regex(sqlite3_context *c, sqlite3_value *value, uint32_t options)
{
    struct span pattern = function_argument(value);
    pcre2_code *code;
    size_t offset;
    int failure;

    if (function_compute(c))
        return NULL;
    if (pattern.size > REGEX_PATTERN_MAX) {
        sqlite3_result_error(c, "Regex error 'the pattern is too long'", -1);
        return NULL;
    }
    code = pcre2_compile((PCRE2_SPTR)pattern.data, pattern.size, options,
                         &failure, &offset, NULL);
    if (!code)
        fail_regex(c, failure);
    return code;
}

/* Compiles argv[argument]; SQLite keeps the result while the pattern is
 * constant. */
static pcre2_code *
find_or_compile_regex(sqlite3_context *c, sqlite3_value **argv, int argument,
                      bool *owned)
{
    pcre2_code *code = sqlite3_get_auxdata(c, argument);

    *owned = false;
    if (code)
        /* Each match is work without proportion to its text, so the statement
         * is asked each time. */
        return function_compute(c) ? NULL : code;
    code = compile_regex(c, argv[argument], regex_options(argv));
    *owned = code != NULL;
    return code;
}

/* Finds the first match: 1 and its bytes, 0: no match, -1: the error is set. */
static int
find_regex_match(sqlite3_context *c, pcre2_code *code, struct span text,
                 size_t from, size_t *start, size_t *end)
{
    pcre2_match_context *limits;
    pcre2_match_data *match;
    int rc = PCRE2_ERROR_NOMEMORY, found = -1;

    /* Asks at least whether the statement is over: REGEXP_REPLACE matches in a
     * loop. */
    if (function_charge(c, 0))
        return -1;
    /* Each match gets its own: they are small, and a context kept with the
     * pattern would need a place per handle. */
    limits = pcre2_match_context_create(NULL);
    match = pcre2_match_data_create(1, NULL);
    if (limits && match) {
        pcre2_set_callout(limits, on_regex_callout, function_handle(c));
        pcre2_set_match_limit(limits, REGEX_MATCH_MAX);
        pcre2_set_depth_limit(limits, REGEX_DEPTH_MAX);
        pcre2_set_heap_limit(limits, REGEX_HEAP_KB);
        rc = pcre2_match(code, (PCRE2_SPTR)text.data, text.size, from, 0, match,
                         limits);
    }
    if (rc >= 0) {
        *start = pcre2_get_ovector_pointer(match)[0];
        *end = pcre2_get_ovector_pointer(match)[1];
        found = 1;
    } else if (rc == PCRE2_ERROR_NOMATCH) {
        found = 0;
    } else if (rc == PCRE2_ERROR_CALLOUT) {
        sqlite3_result_error_code(c, SQLITE_INTERRUPT);
    } else {
        fail_regex(c, rc);
    }
    pcre2_match_data_free(match);
    pcre2_match_context_free(limits);
    return found;
}

/* Hands the pattern to SQLite, which may free it at once: call it last. */
static void
cache_compiled_regex(sqlite3_context *c, int argument, pcre2_code *code,
                     bool owned)
{
    if (owned)
        sqlite3_set_auxdata(c, argument, code, free_regex);
}

/* x REGEXP y is regexp(y, x) */
static void
call_regexp(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    pcre2_code *code;
    size_t start, end;
    bool owned;
    int found;

    if (function_any_null(argc, argv))
        return;
    code = find_or_compile_regex(c, argv, 0, &owned);
    if (!code)
        return;
    found =
        find_regex_match(c, code, function_argument(argv[1]), 0, &start, &end);
    if (found >= 0)
        sqlite3_result_int(c, found);
    cache_compiled_regex(c, 0, code, owned);
}

/* Reads the letters of a match type; false: unknown letter. */
static bool
match_options(struct span letters, uint32_t *options)
{
    for (size_t i = 0; i < letters.size; i++)
        switch (letters.data[i]) {
        case 'c':
            *options &= ~(uint32_t)PCRE2_CASELESS;
            break;
        case 'i':
            *options |= PCRE2_CASELESS;
            break;
        case 'm':
            *options |= PCRE2_MULTILINE;
            break;
        case 'n':
            *options |= PCRE2_DOTALL;
            break;
        case 'u':
            break;
        default:
            return false;
        }
    return true;
}

/* REGEXP_LIKE(x, pattern[, type]) */
static void
call_regexp_like(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    uint32_t options = regex_options(argv);
    pcre2_code *code;
    size_t start, end;
    bool owned = true;
    int found;

    if (function_any_null(argc, argv))
        return;
    if (argc == 3 && !match_options(function_argument(argv[2]), &options)) {
        sqlite3_result_error(c, "Incorrect arguments to regexp_like", -1);
        return;
    }
    code = argc == 3 ? compile_regex(c, argv[1], options)
                     : find_or_compile_regex(c, argv, 1, &owned);
    if (!code)
        return;
    found =
        find_regex_match(c, code, function_argument(argv[0]), 0, &start, &end);
    if (found >= 0)
        sqlite3_result_int(c, found);
    if (argc == 3)
        free_regex(code); /* the next row may have another type */
    else
        cache_compiled_regex(c, 1, code, owned);
}

/* REGEXP_INSTR(x, pattern), REGEXP_SUBSTR(x, pattern) */
static void
regexp_find(sqlite3_context *c, sqlite3_value **argv, bool position)
{
    struct span text = function_argument(argv[0]), before = {text.data, 0};
    pcre2_code *code;
    size_t start, end;
    bool owned;
    int found;

    if (function_any_null(2, argv))
        return;
    code = find_or_compile_regex(c, argv, 1, &owned);
    if (!code)
        return;
    found = find_regex_match(c, code, text, 0, &start, &end);
    if (found == 1) {
        before.size = start;
        if (position)
            sqlite3_result_int64(c, utf8_length(before) + 1);
        else
            function_text(c, text.data + start, end - start);
    } else if (found == 0 && position) {
        sqlite3_result_int(c, 0);
    }
    cache_compiled_regex(c, 1, code, owned);
}

static void
call_regexp_instr(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    (void)argc;
    regexp_find(c, argv, true);
}

static void
call_regexp_substr(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    (void)argc;
    regexp_find(c, argv, false);
}

/* REGEXP_REPLACE(x, pattern, to): replaces every match by to, taken
 * literally. */
static void
call_regexp_replace(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    struct span text = function_argument(argv[0]);
    struct span to = function_argument(argv[2]);
    struct buffer out;
    pcre2_code *code;
    size_t at = 0, start, end;
    bool owned;
    int found;

    if (function_any_null(argc, argv))
        return;
    code = find_or_compile_regex(c, argv, 1, &owned);
    if (!code)
        return;
    buffer_init(&out, SELECT_VALUE_MAX);
    while ((found = find_regex_match(c, code, text, at, &start, &end)) == 1) {
        buffer_add(&out, text.data + at, start - at);
        buffer_add(&out, to.data, to.size);
        if (end == start) { /* an empty match: copy one character */
            struct span rest = {text.data + end, text.size - end};
            size_t size = utf8_prefix(rest, 1);

            buffer_add(&out, rest.data, size);
            end += size;
        }
        at = end;
        if (at >= text.size || out.failed)
            break;
    }
    if (found >= 0) {
        buffer_add(&out, text.data + at, text.size - at);
        function_buffer(c, &out);
    } else {
        buffer_fini(&out);
    }
    cache_compiled_regex(c, 1, code, owned);
}

/* ---- positions ---- */

enum { KEY = 3 /* bytes of a character's key */ };

/* Appends a key of three bytes for each character, of its weight and its size:
 * MySQL finds a character only where one of the same weight has as many bytes.
 * Only a key's first byte has the highest bit set, so memmem() finds whole
 * keys alone. */
static void
add_keys(struct buffer *out, struct span text)
{
    while (text.size > 0) {
        const char *from = text.data;
        unsigned weight = collate_take(&text);
        /* 2 bits of size (1 to 4 bytes) and 16 of weight make three bytes of 6
         * bits each; the first has the highest bit set, too. */
        size_t bytes = (size_t)(text.data - from) - 1;

        buffer_char(out, (char)(0x80 | bytes << 4 | weight >> 12));
        buffer_char(out, (char)(weight >> 6 & 0x3f));
        buffer_char(out, (char)(weight & 0x3f));
    }
}

/* Returns the position of what in text, in characters from 1; 0: not found. */
static void
return_text_position(sqlite3_context *c, struct span what, struct span text,
                     int64_t from)
{
    struct buffer keys; /* of both texts */
    const char *found;
    size_t size;

    if (from < 1 || from > utf8_length(text) + 1) {
        sqlite3_result_int(c, 0);
        return;
    }
    if (what.size == 0) {
        sqlite3_result_int64(c, from);
        return;
    }
    buffer_init(&keys, (size_t)2 * KEY * SELECT_VALUE_MAX);
    add_keys(&keys, text);
    size = keys.size;
    add_keys(&keys, what);
    if (keys.failed) {
        sqlite3_result_error_toobig(c);
    } else {
        found = memmem(keys.data + (from - 1) * KEY,
                       size - (size_t)(from - 1) * KEY, keys.data + size,
                       keys.size - size);
        sqlite3_result_int64(c, found ? (found - keys.data) / KEY + 1 : 0);
    }
    buffer_fini(&keys);
}

static void
call_locate(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    if (!function_any_null(argc, argv))
        return_text_position(c, function_argument(argv[0]),
                             function_argument(argv[1]),
                             argc > 2 ? function_integer(argv[2]) : 1);
}

static void
call_instr(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    if (!function_any_null(argc, argv))
        return_text_position(c, function_argument(argv[1]),
                             function_argument(argv[0]), 1);
}

/* FIELD(x, a, b, ...): one number among the texts makes all of them numbers. */
static void
call_field(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    enum compare_how compare = COMPARE_TEXT;
    int place = 0;

    for (int i = 0; i < argc; i++)
        if (function_is_number(argv[i]))
            compare = COMPARE_NUMBER;
    for (int i = 1; i < argc && place == 0; i++)
        if (sqlite3_value_type(argv[0]) != SQLITE_NULL &&
            sqlite3_value_type(argv[i]) != SQLITE_NULL &&
            function_compare(argv[0], argv[i], compare) == 0)
            place = i;
    sqlite3_result_int(c, place);
}

/* SUBSTRING_INDEX(x, between, n): the text up to the n-th separator, or from
 * the n-th one counted from the end.  Separators are found from the left and
 * do not overlap, also for n < 0: the first pass counts them, the second stops
 * behind number total + n + 1. */
static void
call_substring_index(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    struct span text = function_argument(argv[0]);
    struct span between = function_argument(argv[1]);
    int64_t count = function_integer(argv[2]), total = 0;
    size_t at = 0;

    if (function_any_null(argc, argv))
        return;
    if (between.size == 0 || count == 0) {
        function_text(c, "", 0);
        return;
    }
    for (size_t pass = 0; pass < 2; pass++) {
        const char *p = text.data, *end = text.data + text.size, *found;
        int64_t seen = 0;

        while ((found = memmem(p, (size_t)(end - p), between.data,
                               between.size)) != NULL) {
            seen++;
            if (count > 0 && seen == count) {
                function_text(c, text.data, (size_t)(found - text.data));
                return;
            }
            p = found + between.size;
            if (pass == 1 && seen == total + count + 1)
                at = (size_t)(p - text.data);
        }
        if (count > 0 || seen + count < 0)
            break;
        total = seen;
    }
    function_text(c, text.data + at, text.size - at);
}

const struct function search_functions[] = {
    {"like", 2, 3, call_like, RETURNS_BIGINT},
    {"regexp", 2, 2, call_regexp, RETURNS_BIGINT},
    {"regexp_like", 2, 3, call_regexp_like, RETURNS_BIGINT},
    {"regexp_instr", 2, 2, call_regexp_instr, RETURNS_BIGINT},
    {"regexp_substr", 2, 2, call_regexp_substr, RETURNS_TEXT},
    {"regexp_replace", 3, 3, call_regexp_replace, RETURNS_TEXT},
    {"locate", 2, 3, call_locate, RETURNS_BIGINT},
    {"instr", 2, 2, call_instr, RETURNS_BIGINT},
    {"field", 2, FUNCTION_ANY, call_field, RETURNS_BIGINT},
    {"substring_index", 3, 3, call_substring_index, RETURNS_TEXT},
    {NULL},
};
