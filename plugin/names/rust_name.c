/*
 * rust_name.c - see rust_name.h.
 *
 * Only text that C++ never has identifies a name as Rust's: "<type>::",
 * "::<types>", hashes, and " .> ", which an arrow becomes in the older
 * mangling.  All other names of Rust are shortened right as C++'s.
 */
#include "rust_name.h"

#include <string.h>

#include "digit.h"

enum { NESTING_MAX = 32 };

struct writer {
    char *out;
    size_t size;
    bool rust; /* something was seen that C++ does not have */
};

static bool
begins(struct span text, const char *word)
{
    size_t size = strlen(word);

    return text.size >= size && memcmp(text.data, word, size) == 0;
}

/* What hashes are written in. */
static bool
is_hash_digit(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'f');
}

static struct span
behind(struct span text, size_t size)
{
    return (struct span){text.data + size, text.size - size};
}

static bool
has(struct span text, const char *word)
{
    return memmem(text.data, text.size, word, strlen(word)) != NULL;
}

bool
rust_name_is_global_allocator(struct span name)
{
    return has(name, "GlobalAlloc") && /* nearly none does */
           (has(name, " as core::alloc::global::GlobalAlloc>::") ||
            has(name, " as core::alloc::GlobalAlloc>::") ||
            has(name, "<impl core::alloc::global::GlobalAlloc for ") ||
            has(name, "<impl core::alloc::GlobalAlloc for "));
}

/* Of "->", or " .>": it closes nothing. */
static bool
ends_arrow(struct span text, size_t i)
{
    return i > 0 &&
           (text.data[i - 1] == '-' ||
            (i > 1 && text.data[i - 1] == '.' && text.data[i - 2] == ' '));
}

/* How brackets change at i: 1 opens, -1 closes. */
static int
step(struct span text, size_t i)
{
    char c = text.data[i];

    if (c == '<' || c == '(' || c == '[' || c == '{')
        return 1;
    return c == ')' || c == ']' || c == '}' ||
                   (c == '>' && !ends_arrow(text, i))
               ? -1
               : 0;
}

/* What the bracket that text begins with holds. */
static bool
take_bracket(struct span text, struct span *inner)
{
    int depth = 0;

    for (size_t i = 0; i < text.size; i++) {
        depth += step(text, i);
        if (depth == 0) {
            *inner = (struct span){text.data + 1, i - 1};
            return true;
        }
    }
    return false;
}

/* Where word stands outside all brackets, or text.size. */
static size_t
find(struct span text, const char *word)
{
    int depth = 0;

    for (size_t i = 0; i < text.size; i++) {
        if (depth == 0 && begins(behind(text, i), word))
            return i;
        depth += step(text, i);
    }
    return text.size;
}

/* Other languages' "<...>". */
static bool
is_foreign(struct span inner)
{
    return begins(inner, "lambda") || begins(inner, "unnamed") ||
           begins(inner, "anonymous") || begins(inner, "init>") ||
           begins(inner, "clinit>");
}

static void
put(struct writer *w, const char *text, size_t size)
{
    memmove(w->out + w->size, text, size);
    w->size += size;
}

static bool put_type(struct writer *w, struct span text, unsigned nesting);

/* The type of "type as trait". */
static bool
put_self(struct writer *w, struct span inner, unsigned nesting)
{
    inner.size = find(inner, " as ");
    return put_type(w, inner, nesting);
}

/* The type of "trait for type", or of "type". */
static bool
put_implemented(struct writer *w, struct span inner, unsigned nesting)
{
    size_t of = find(inner, " for ");

    if (of < inner.size)
        inner = behind(inner, of + strlen(" for "));
    return put_type(w, inner, nesting);
}

static bool
ends_colons(const struct writer *w, size_t first)
{
    return w->size >= first + 2 && memcmp(w->out + w->size - 2, "::", 2) == 0;
}

/* text begins with a bracket that stands in a path which began at first. */
static bool
put_angles(struct writer *w, struct span text, struct span inner, size_t first,
           unsigned nesting)
{
    struct span rest = behind(text, inner.size + 2);
    bool ends = rest.size == 0 || *rest.data == ' ' || *rest.data == '.';

    if (w->size > first && !ends_colons(w, first))
        return true; /* arguments of a type or, in the older mangling, of a
                        function */
    if (is_foreign((struct span){inner.data, inner.size + 1}) ||
        (!ends && !begins(rest, "::")) || (ends && w->size == first))
        return false;
    w->rust = true;
    if (w->size == first)
        return put_self(w, inner, nesting);
    if (begins(inner, "impl ")) {
        w->size = first; /* what precedes is where the code stands */
        return put_implemented(w, behind(inner, strlen("impl ")), nesting);
    }
    w->size -= 2; /* "::" */
    return w->size > first;
}

/* Bytes of the hash that distinguishes crates of one name,
 * "[0123456789abcdef]", of which
 * "::" follows; 0: text begins with none. */
static size_t
crate_size(struct span text)
{
    struct span inner;

    if (!take_bracket(text, &inner) ||
        !begins(behind(text, inner.size + 2), "::"))
        return 0;
    for (size_t i = 0; i < inner.size; i++)
        if (!is_hash_digit(inner.data[i]))
            return 0;
    return inner.size + 2;
}

static bool
put_path(struct writer *w, struct span text, unsigned nesting)
{
    size_t first = w->size;
    struct span inner;

    while (text.size > 0) {
        char c = *text.data;

        if (c == '<') {
            if (!take_bracket(text, &inner) ||
                !put_angles(w, text, inner, first, nesting))
                return false;
            text = behind(text, inner.size + 2);
        } else if (c == '{') {
            if (!take_bracket(text, &inner))
                return false;
            put(w, text.data, inner.size + 2);
            text = behind(text, inner.size + 2);
        } else if (c == '[' && w->size > first && crate_size(text) > 0) {
            text = behind(text, crate_size(text));
            w->rust = true;
        } else if (begins(text, " [clone ")) {
            put(w, text.data, text.size);
            break;
        } else if (strchr("()>[] ,&*", c)) {
            return false;
        } else {
            put(w, text.data, 1);
            text = behind(text, 1);
        }
    }
    return w->size > first;
}

/* References, pointers and what says how a type is meant. */
static struct span
skip_qualifiers(struct span text)
{
    static const char *const words[] = {
        "&", "*const ", "*mut ", "mut ", "dyn ", "impl ", "unsafe ", "extern "};
    const size_t count = sizeof(words) / sizeof(words[0]);

    for (size_t i = 0; i < count;) {
        size_t size = begins(text, words[i]) ? strlen(words[i]) : 0;

        /* Up to a blank: a lifetime, an ABI, lifetimes. */
        if (begins(text, "'") || begins(text, "\"") || begins(text, "for<"))
            size = find(text, " ") < text.size ? find(text, " ") + 1 : 0;
        text = behind(text, size);
        i = size > 0 ? 0 : i + 1;
    }
    return text;
}

static bool
put_element(struct writer *w, struct span inner, unsigned nesting)
{
    inner.size = find(inner, ";");
    put(w, "[", 1);
    if (!put_type(w, inner, nesting))
        return false;
    put(w, "]", 1);
    return true;
}

static bool
put_type(struct writer *w, struct span text, unsigned nesting)
{
    static const char function[] = "fn", tuple[] = "tuple", unit[] = "unit";
    struct span inner;

    text = skip_qualifiers(text);
    if (text.size == 0 || nesting == NESTING_MAX)
        return false;
    if (begins(text, "fn(")) {
        put(w, function, strlen(function));
        return true;
    }
    if (*text.data == '(' || *text.data == '[') {
        if (!take_bracket(text, &inner))
            return false;
        if (*text.data == '[')
            return put_element(w, inner, nesting + 1);
        if (begins(inner, "dyn "))
            return put_type(w, inner, nesting + 1);
        if (inner.size == 0)
            put(w, unit, strlen(unit));
        else
            put(w, tuple, strlen(tuple));
        return true;
    }
    text.size = find(text, "+"); /* more that it implements */
    while (text.size > 0 && text.data[text.size - 1] == ' ')
        text.size--;
    return put_path(w, text, nesting + 1);
}

/* Less the "::h0123456789abcdef" at its end. */
static struct span
without_hash(struct span name)
{
    enum { DIGITS = 16, HASH = sizeof("::h") - 1 + DIGITS };
    struct span end;

    if (name.size <= HASH)
        return name;
    end = behind(name, name.size - HASH);
    if (!begins(end, "::h"))
        return name;
    for (size_t i = HASH - DIGITS; i < HASH; i++)
        if (!is_hash_digit(end.data[i]))
            return name;
    return (struct span){name.data, name.size - HASH};
}

bool
rust_name_shorten(struct span name, char *out, size_t *size)
{
    size_t hashed = name.size;
    bool whole = rust_name_is_global_allocator(name);
    struct writer w = {.out = out};

    name = without_hash(name);
    if (name.size == 0 ||
        (name.size == hashed && *name.data != '<' && !has(name, "::<") &&
         !has(name, "]::") && !has(name, " .> ")))
        return false;
    w.rust = whole || name.size < hashed || has(name, " .> ");
    if (whole || !put_path(&w, name, 0)) {
        if (!w.rust)
            return false;
        w.size = 0;
        put(&w, name.data, name.size);
    }
    *size = w.size;
    return w.rust;
}
