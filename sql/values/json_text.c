/*
 * json_text.c - checks JSON and brings it into MySQL's form, and walks
 * documents of that form.
 *
 * JSON stays text here; a tree or a binary form would have to be made and
 * freed for each row. json_normalize() is the only parser of what a client
 * wrote: strict, with a bound on depth, since it recurs.  What it leaves has
 * one blank behind each comma and colon, no escapes that are not needed, and
 * sorted, distinct names; so equal documents are equal texts, and the walking
 * functions may skip by quotes and brackets without checking again.
 *
 * Normalizing costs a sort and a copy for each object, on each level that it
 * lies in; walking is linear and allocates nothing.
 */
#include "json_text.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "buffer.h"
#include "ascii.h"
#include "memory.h"

/* ---- characters ---- */

static const char *
skip_json_blanks(const char *p, const char *end)
{
    while (p < end && (*p == ' ' || *p == '\t' || *p == '\n' || *p == '\r'))
        p++;
    return p;
}

/* Reads the four hexadecimal digits of \u; -1: they are none. */
static int
read_utf16_unit(const char *p, const char *end)
{
    int unit = 0;

    if (end - p < 4)
        return -1;
    for (int i = 0; i < 4; i++) {
        int digit = hex_digit(p[i]);

        if (digit < 0)
            return -1;
        unit = unit << 4 | digit;
    }
    return unit;
}

static void
add_utf8(struct buffer *out, uint32_t c)
{
    if (c < 0x80) {
        buffer_char(out, (char)c);
        return;
    }
    if (c < 0x800) {
        buffer_char(out, (char)(0xc0 | c >> 6));
    } else {
        if (c < 0x10000) {
            buffer_char(out, (char)(0xe0 | c >> 12));
        } else {
            buffer_char(out, (char)(0xf0 | c >> 18));
            buffer_char(out, (char)(0x80 | (c >> 12 & 0x3f)));
        }
        buffer_char(out, (char)(0x80 | (c >> 6 & 0x3f)));
    }
    buffer_char(out, (char)(0x80 | (c & 0x3f)));
}

/* Reads the character behind \u, whose digits p points at.  Characters past
 * U+FFFF are two halves (surrogates), as UTF-16 has them; one half alone is no
 * character: 0xffffffff. */
static uint32_t
read_escaped(const char **p, const char *end)
{
    int high = read_utf16_unit(*p, end), low;

    if (high < 0 || (high >= 0xdc00 && high < 0xe000))
        return UINT32_MAX;
    *p += 4;
    if (high < 0xd800 || high >= 0xe000)
        return (uint32_t)high;
    if (end - *p < 6 || (*p)[0] != '\\' || (*p)[1] != 'u')
        return UINT32_MAX;
    low = read_utf16_unit(*p + 2, end);
    if (low < 0xdc00 || low >= 0xe000)
        return UINT32_MAX;
    *p += 6;
    return 0x10000 + ((uint32_t)(high - 0xd800) << 10) +
           (uint32_t)(low - 0xdc00);
}

/* ---- strings ---- */

static const char escapes[] = "\"\"\\\\//b\bf\fn\nr\rt\t"; /* letter, meaning */

const char *
json_read_string(const char *p, const char *end, const char **at)
{
    for (p++; p < end && *p != '"'; p++) {
        *at = p;
        if ((unsigned char)*p < 0x20)
            return NULL;
        if (*p != '\\')
            continue;
        if (++p == end)
            return NULL;
        if (*p == 'u') {
            p++;
            if (read_escaped(&p, end) == UINT32_MAX)
                return NULL;
            p--;
        } else if (!strchr("\"\\/bfnrt", *p) || !*p) {
            return NULL;
        }
    }
    *at = p;
    return p < end ? p + 1 : NULL;
}

void
json_decode(struct buffer *out, struct span string)
{
    const char *p = string.data + 1, *end = string.data + string.size - 1;

    while (p < end) {
        const char *plain = memchr(p, '\\', (size_t)(end - p));

        plain = plain ? plain : end;
        buffer_add(out, p, (size_t)(plain - p));
        p = plain + 1;
        if (plain == end)
            return;
        if (*p == 'u') {
            p++;
            add_utf8(out, read_escaped(&p, end));
            continue;
        }
        for (size_t i = 0; escapes[i]; i += 2)
            if (escapes[i] == *p)
                buffer_char(out, escapes[i + 1]);
        p++;
    }
}

void
json_quote(struct buffer *out, struct span text)
{
    buffer_char(out, '"');
    for (size_t i = 0; i < text.size; i++) {
        char c = text.data[i], letter = '\0';

        if ((unsigned char)c >= 0x20 && c != '"' && c != '\\') {
            buffer_char(out, c);
            continue;
        }
        for (size_t e = 0; escapes[e]; e += 2)
            if (escapes[e + 1] == c)
                letter = escapes[e];
        if (letter)
            buffer_format(out, "\\%c", letter);
        else
            buffer_format(out, "\\u%04x", (unsigned)c);
    }
    buffer_char(out, '"');
}

/* ---- numbers ---- */

/* Checks a number; NULL: it is none. strtod() accepts more (hexadecimal, inf),
 * so the grammar is checked first; the text ends in a NUL, which strtod()
 * needs.  1e999 is refused, as in MySQL. */
static const char *
read_json_number(const char *p, const char *end)
{
    const char *start = p;

    p += *p == '-';
    if (p == end || !is_digit(*p) ||
        (*p == '0' && p + 1 < end && is_digit(p[1])))
        return NULL;
    while (p < end && is_digit(*p))
        p++;
    if (p < end && *p == '.') {
        if (++p == end || !is_digit(*p))
            return NULL;
        while (p < end && is_digit(*p))
            p++;
    }
    if (p < end && (*p == 'e' || *p == 'E')) {
        p++;
        p += p < end && (*p == '-' || *p == '+');
        if (p == end || !is_digit(*p))
            return NULL;
        while (p < end && is_digit(*p))
            p++;
    }
    return isfinite(strtod(start, NULL)) ? p : NULL;
}

/* ---- documents ---- */

struct parse {
    const char *at, *end; /* at: the position of a fault */
    struct buffer *out;
    size_t depth;
    bool deep;
};

static bool read_json_value(struct parse *p);

/* A member of an object in the output: the position of its name in quotes, and
 * the sizes of the name and of all of it.  Positions, not pointers: the output
 * grows meanwhile and moves. */
struct member {
    size_t name_at, name_size;
    size_t size; /* of name, colon and value */
    size_t order;
};

struct members {
    struct member *all;
    size_t count, capacity;
    const struct buffer *out;
};

static bool
add_member(struct members *members, struct member member)
{
    size_t capacity = members->capacity ? 2 * members->capacity : 8;
    struct member *all;

    if (members->count == members->capacity) {
        all = mem_realloc(members->all, capacity * sizeof(*all));
        if (!all)
            return false;
        members->all = all;
        members->capacity = capacity;
    }
    /* qsort_r() is not stable, and of equal names the last one must be
     * known. */
    member.order = members->count;
    members->all[members->count++] = member;
    return true;
}

static int
compare_members_by_name(const void *a, const void *b, void *arg)
{
    const struct member *x = a, *y = b;
    const struct members *members = arg;
    const char *data = members->out->data;

    if (x->name_size != y->name_size)
        return x->name_size < y->name_size ? -1 : 1;
    return memcmp(data + x->name_at, data + y->name_at, x->name_size);
}

static int
compare_members(const void *a, const void *b, void *arg)
{
    const struct member *x = a, *y = b;
    int order = compare_members_by_name(a, b, arg);

    return order ? order : x->order < y->order ? -1 : 1;
}

/* Sorts the members that stand in out from start on: by the length of their
 * names, then by their bytes, as MySQL's binary form has them.  Each member is
 * copied twice. */
static bool
sort_members(struct buffer *out, size_t start, struct members *members)
{
    size_t size = out->size - start, count = members->count;
    char *copy;
    bool first = true;

    if (out->failed || count == 0)
        return !out->failed;
    qsort_r(members->all, count, sizeof(*members->all), compare_members,
            members);
    copy = mem_alloc(size);
    if (!copy)
        return false;
    memcpy(copy, out->data + start, size);
    for (size_t i = 0; i < count; i++)
        members->all[i].name_at -= start;
    out->size = start;
    for (size_t i = 0; i < count; i++) {
        const struct member *m = &members->all[i], *next = m + 1;

        if (i + 1 < count && next->name_size == m->name_size &&
            memcmp(copy + next->name_at, copy + m->name_at, m->name_size) == 0)
            continue; /* of equal names the last one counts; order put it
                       * last */
        buffer_text(out, first ? "" : ", ");
        buffer_add(out, copy + m->name_at, m->size);
        first = false;
    }
    mem_free(copy);
    return !out->failed;
}

/* Copies a string in quotes; what need not be escaped is written as it is. */
static bool
copy_string(struct parse *p)
{
    const char *start = p->at;
    struct span string;
    struct buffer text;
    const char *next = json_read_string(start, p->end, &p->at);

    if (!next)
        return false;
    string = (struct span){start, (size_t)(next - start)};
    p->at = next;
    if (!memchr(start, '\\', string.size)) {
        buffer_add(p->out, start, string.size);
        return true;
    }
    buffer_init(&text, string.size);
    json_decode(&text, string);
    json_quote(p->out, (struct span){text.data ? text.data : "", text.size});
    p->out->failed |= text.failed;
    buffer_fini(&text);
    return true;
}

/* Skips a character and the blanks around it; false if another one is there. */
static bool
accept_json_char(struct parse *p, char c)
{
    p->at = skip_json_blanks(p->at, p->end);
    if (p->at == p->end || *p->at != c)
        return false;
    p->at = skip_json_blanks(p->at + 1, p->end);
    return true;
}

static bool
read_member(struct parse *p, struct members *members)
{
    struct member member = {.name_at = p->out->size};

    if (p->at == p->end || *p->at != '"' || !copy_string(p))
        return false;
    member.name_size = p->out->size - member.name_at;
    if (!accept_json_char(p, ':'))
        return false;
    buffer_text(p->out, ": ");
    if (!read_json_value(p))
        return false;
    member.size = p->out->size - member.name_at;
    if (!add_member(members, member))
        p->out->failed = true;
    return true;
}

static bool
read_object(struct parse *p)
{
    struct members members = {.out = p->out};
    size_t start;
    bool valid;

    buffer_char(p->out, '{');
    start = p->out->size;
    accept_json_char(p, '{');
    valid = accept_json_char(p, '}');
    while (!valid && read_member(p, &members)) {
        valid = accept_json_char(p, '}');
        if (!valid && !accept_json_char(p, ','))
            break;
    }
    if (valid && !sort_members(p->out, start, &members))
        p->out->failed = true;
    mem_free(members.all);
    buffer_char(p->out, '}');
    return valid;
}

static bool
read_array(struct parse *p)
{
    buffer_char(p->out, '[');
    accept_json_char(p, '[');
    if (!accept_json_char(p, ']')) {
        for (;;) {
            if (!read_json_value(p))
                return false;
            if (accept_json_char(p, ']'))
                break;
            if (!accept_json_char(p, ','))
                return false;
            buffer_text(p->out, ", ");
        }
    }
    buffer_char(p->out, ']');
    return true;
}

static bool
read_nested(struct parse *p)
{
    bool valid;

    /* The thread's stack is the limit that this protects. */
    p->deep = p->depth == JSON_DEPTH_MAX;
    if (p->deep)
        return false;
    p->depth++;
    valid = *p->at == '{' ? read_object(p) : read_array(p);
    p->depth--;
    return valid;
}

static bool
read_json_value(struct parse *p)
{
    static const char *const words[] = {"null", "true", "false"};
    const char *next = NULL;

    p->at = skip_json_blanks(p->at, p->end);
    if (p->at == p->end)
        return false;
    if (*p->at == '"')
        return copy_string(p);
    if (*p->at == '{' || *p->at == '[')
        return read_nested(p);
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        size_t size = strlen(words[i]);

        if ((size_t)(p->end - p->at) >= size &&
            memcmp(p->at, words[i], size) == 0)
            next = p->at + size;
    }
    if (!next)
        next = read_json_number(p->at, p->end);
    if (!next)
        return false;
    buffer_add(p->out, p->at, (size_t)(next - p->at));
    p->at = next;
    return true;
}

enum json_fault
json_normalize(struct span text, struct buffer *out, size_t *at)
{
    struct parse p = {text.data, text.data + text.size, out, 0, false};
    bool valid = read_json_value(&p);

    if (valid)
        p.at = skip_json_blanks(p.at, p.end);
    *at = (size_t)(p.at - text.data);
    return p.deep                   ? JSON_TOO_DEEP
           : valid && p.at == p.end ? JSON_FINE
                                    : JSON_WRONG;
}

/* ---- values of a document in our form ---- */

enum json_kind
json_kind(struct span value)
{
    switch (value.size > 0 ? *value.data : 'n') {
    case '{':
        return JSON_OBJECT;
    case '[':
        return JSON_ARRAY;
    case '"':
        return JSON_STRING;
    case 't':
    case 'f':
        return JSON_BOOLEAN;
    case 'n':
        return JSON_NULL;
    default:
        return JSON_NUMBER;
    }
}

/* Returns the end of the value at p.  A bracket in a string is skipped with
 * the string, and a checked document has as many brackets closed as open. */
static const char *
skip_json_text_value(const char *p, const char *end)
{
    size_t depth = 0;

    for (; p < end; p++) {
        if (*p == '"') {
            for (p++; p < end && *p != '"'; p++)
                p += *p == '\\';
        } else if (*p == '{' || *p == '[') {
            depth++;
        } else if (depth == 0 && strchr(",:]} ", *p)) {
            return p;
        } else if (*p == '}' || *p == ']') {
            depth--;
        }
    }
    return end;
}

struct json_walk
json_walk(struct span value)
{
    struct json_walk walk = {value.data, value.data + value.size, false};
    enum json_kind kind = json_kind(value);

    if (kind == JSON_OBJECT || kind == JSON_ARRAY) {
        walk.object = kind == JSON_OBJECT;
        walk.at++;
        walk.end--;
    }
    return walk;
}

bool
json_next(struct json_walk *walk, struct span *name, struct span *value)
{
    const char *next;

    if (walk->at >= walk->end)
        return false;
    *name = (struct span){"", 0};
    if (walk->object) {
        next = skip_json_text_value(walk->at, walk->end);
        *name = (struct span){walk->at, (size_t)(next - walk->at)};
        walk->at = next + 2; /* json_normalize writes ": " after a name, */
    }
    next = skip_json_text_value(walk->at, walk->end);
    *value = (struct span){walk->at, (size_t)(next - walk->at)};
    walk->at = next + 2; /* and ", " after a value */
    return true;
}

size_t
json_count(struct span value)
{
    struct json_walk walk = json_walk(value);
    struct span name, part;
    size_t count = 0;

    while (json_next(&walk, &name, &part))
        count++;
    return count;
}

bool
json_member(struct span object, struct span name, struct span *out)
{
    struct json_walk walk = json_walk(object);
    struct span other;

    while (json_next(&walk, &other, out))
        if (other.size == name.size &&
            memcmp(other.data, name.data, name.size) == 0)
            return true;
    return false;
}

size_t
json_depth(struct span value)
{
    size_t depth = 0, deepest = 1;
    const char *end = value.data + value.size;

    for (const char *p = value.data; p < end; p++) {
        if (*p == '}' || *p == ']') {
            depth--;
            continue;
        }
        if (*p != ',' && *p != ':' && *p != ' ' && depth >= deepest)
            deepest = depth + 1;
        if (*p == '"')
            for (p++; p < end && *p != '"'; p++)
                p += *p == '\\';
        else if (*p == '{' || *p == '[')
            depth++;
    }
    return deepest;
}
