/*
 * rust_name.c - see rust_name.h.
 *
 * Rust's names come demangled, in two dialects (legacy and v0), among C and C++
 * names, and nothing says which language a name is of.  Only text that C++
 * never has identifies a name as Rust's: "<type>::", "::<types>", hashes, and "
 * .> ", which an arrow becomes in the legacy mangling.  All other names of Rust
 * are shortened right as C++'s.
 *
 * A recursive descent over the text, with a ceiling on nesting; every output is
 * shorter than its input or a fixed word, so the caller's buffer of twice the
 * size suffices.
 */
#include "rust_name.h"

#include <string.h>

#include "ascii.h"

enum { NESTING_MAX = 32 };

struct writer {
    char *out;
    size_t size;
    bool rust; /* something was found that C++ does not have */
};

static bool
is_hash_digit(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'f');
}

static struct span
skip_rust_prefix(struct span text, size_t size)
{
    return (struct span){text.data + size, text.size - size};
}

static bool
rust_text_contains(struct span text, const char *word)
{
    return memmem(text.data, text.size, word, strlen(word)) != NULL;
}

bool
rust_name_is_global_allocator(struct span name)
{
    /* quick test: nearly no name has it */
    return rust_text_contains(name, "GlobalAlloc") &&
           (rust_text_contains(name,
                               " as core::alloc::global::GlobalAlloc>::") ||
            rust_text_contains(name, " as core::alloc::GlobalAlloc>::") ||
            rust_text_contains(name,
                               "<impl core::alloc::global::GlobalAlloc for ") ||
            rust_text_contains(name, "<impl core::alloc::GlobalAlloc for "));
}

/* Whether the '>' at i ends an arrow, "->" or " .>", and so closes nothing. */
static bool
ends_arrow(struct span text, size_t i)
{
    return i > 0 &&
           (text.data[i - 1] == '-' ||
            (i > 1 && text.data[i - 1] == '.' && text.data[i - 2] == ' '));
}

/* The change of nesting at i: 1 for an opening bracket, -1 for a closing
 * one. */
static int
bracket_depth_change(struct span text, size_t i)
{
    char c = text.data[i];

    if (c == '<' || c == '(' || c == '[' || c == '{')
        return 1;
    return c == ')' || c == ']' || c == '}' ||
                   (c == '>' && !ends_arrow(text, i))
               ? -1
               : 0;
}

/* Sets *inner to what the bracket holds that text begins with; false if it does
 * not close. */
static bool
take_bracket(struct span text, struct span *inner)
{
    int depth = 0;

    for (size_t i = 0; i < text.size; i++) {
        depth += bracket_depth_change(text, i);
        if (depth == 0) {
            *inner = (struct span){text.data + 1, i - 1};
            return true;
        }
    }
    return false;
}

/* The position of word outside all brackets, or text.size. */
static size_t
find_word_outside_brackets(struct span text, const char *word)
{
    int depth = 0;

    for (size_t i = 0; i < text.size; i++) {
        if (depth == 0 && span_starts_with(skip_rust_prefix(text, i), word))
            return i;
        depth += bracket_depth_change(text, i);
    }
    return text.size;
}

/* Names in angle brackets of C++ and Java: "<lambda(int)>", "<init>". */
static bool
is_non_rust_bracket(struct span inner)
{
    return span_starts_with(inner, "lambda") ||
           span_starts_with(inner, "unnamed") ||
           span_starts_with(inner, "anonymous") ||
           span_starts_with(inner, "init>") ||
           span_starts_with(inner, "clinit>");
}

static void
append_rust_text(struct writer *w, const char *text, size_t size)
{
    memmove(w->out + w->size, text, size);
    w->size += size;
}

static bool put_type(struct writer *w, struct span text, unsigned nesting);

/* Writes the type of "type as trait". */
static bool
put_self(struct writer *w, struct span inner, unsigned nesting)
{
    inner.size = find_word_outside_brackets(inner, " as ");
    return put_type(w, inner, nesting);
}

/* Writes the type of "trait for type", or of "type". */
static bool
put_implemented(struct writer *w, struct span inner, unsigned nesting)
{
    size_t of = find_word_outside_brackets(inner, " for ");

    if (of < inner.size)
        inner = skip_rust_prefix(inner, of + strlen(" for "));
    return put_type(w, inner, nesting);
}

static bool
ends_colons(const struct writer *w, size_t first)
{
    return w->size >= first + 2 && memcmp(w->out + w->size - 2, "::", 2) == 0;
}

/* Handles the angle bracket that text begins with, in a path whose output began
 * at first.  False: it is not Rust's. */
static bool
put_angles(struct writer *w, struct span text, struct span inner, size_t first,
           unsigned nesting)
{
    struct span rest = skip_rust_prefix(text, inner.size + 2);
    bool ends = rest.size == 0 || *rest.data == ' ' || *rest.data == '.';

    if (w->size > first && !ends_colons(w, first))
        return true; /* arguments of a type or, in the older mangling, of a
                        function */
    if (is_non_rust_bracket((struct span){inner.data, inner.size + 1}) ||
        (!ends && !span_starts_with(rest, "::")) || (ends && w->size == first))
        return false;
    w->rust = true;
    if (w->size == first)
        return put_self(w, inner, nesting);
    if (span_starts_with(inner, "impl ")) {
        w->size = first; /* what precedes it is the module of the impl block */
        return put_implemented(w, skip_rust_prefix(inner, strlen("impl ")),
                               nesting);
    }
    w->size -= 2; /* the "::" of a turbofish, "call::<T>" */
    return w->size > first;
}

/* Bytes of the hash "[0123456789abcdef]" that distinguishes crates of one name
 * (v0), if "::" follows it; else 0. */
static size_t
crate_size(struct span text)
{
    struct span inner;

    if (!take_bracket(text, &inner) ||
        !span_starts_with(skip_rust_prefix(text, inner.size + 2), "::"))
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
            text = skip_rust_prefix(text, inner.size + 2);
        } else if (c == '{') {
            if (!take_bracket(text, &inner))
                return false;
            append_rust_text(w, text.data, inner.size + 2);
            text = skip_rust_prefix(text, inner.size + 2);
        } else if (c == '[' && w->size > first && crate_size(text) > 0) {
            text = skip_rust_prefix(text, crate_size(text));
            w->rust = true;
        } else if (span_starts_with(text, " [clone ")) {
            append_rust_text(w, text.data, text.size);
            break;
        } else if (strchr("()>[] ,&*", c)) {
            return false;
        } else {
            append_rust_text(w, text.data, 1);
            text = skip_rust_prefix(text, 1);
        }
    }
    return w->size > first;
}

/* Skips references, pointers and other qualifiers of a type. */
static struct span
skip_qualifiers(struct span text)
{
    static const char *const words[] = {
        "&", "*const ", "*mut ", "mut ", "dyn ", "impl ", "unsafe ", "extern "};
    const size_t count = sizeof(words) / sizeof(words[0]);

    for (size_t i = 0; i < count;) {
        size_t size = span_starts_with(text, words[i]) ? strlen(words[i]) : 0;

        /* A lifetime ('a), an ABI ("C") or for<'a>: up to the next blank. */
        if (span_starts_with(text, "'") || span_starts_with(text, "\"") ||
            span_starts_with(text, "for<"))
            size = find_word_outside_brackets(text, " ") < text.size
                       ? find_word_outside_brackets(text, " ") + 1
                       : 0;
        text = skip_rust_prefix(text, size);
        i = size > 0 ? 0 : i + 1;
    }
    return text;
}

static bool
put_element(struct writer *w, struct span inner, unsigned nesting)
{
    inner.size = find_word_outside_brackets(inner, ";");
    append_rust_text(w, "[", 1);
    if (!put_type(w, inner, nesting))
        return false;
    append_rust_text(w, "]", 1);
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
    if (span_starts_with(text, "fn(")) {
        append_rust_text(w, function, strlen(function));
        return true;
    }
    if (*text.data == '(' || *text.data == '[') {
        if (!take_bracket(text, &inner))
            return false;
        if (*text.data == '[')
            return put_element(w, inner, nesting + 1);
        if (span_starts_with(inner, "dyn "))
            return put_type(w, inner, nesting + 1);
        if (inner.size == 0)
            append_rust_text(w, unit, strlen(unit));
        else
            append_rust_text(w, tuple, strlen(tuple));
        return true;
    }
    text.size =
        /* further bounds: "dyn A + Send" */
        find_word_outside_brackets(text, "+");
    while (text.size > 0 && text.data[text.size - 1] == ' ')
        text.size--;
    return put_path(w, text, nesting + 1);
}

/* The name without the "::h0123456789abcdef" that legacy names end with. */
static struct span
without_hash(struct span name)
{
    enum { DIGITS = 16, HASH = sizeof("::h") - 1 + DIGITS };
    struct span end;

    if (name.size <= HASH)
        return name;
    end = skip_rust_prefix(name, name.size - HASH);
    if (!span_starts_with(end, "::h"))
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
        (name.size == hashed && *name.data != '<' &&
         !rust_text_contains(name, "::<") && !rust_text_contains(name, "]::") &&
         !rust_text_contains(name, " .> ")))
        return false;
    w.rust = whole || name.size < hashed || rust_text_contains(name, " .> ");
    /* Known to be Rust's, but not understood: it stays whole. */
    if (whole || !put_path(&w, name, 0)) {
        if (!w.rust)
            return false;
        w.size = 0;
        append_rust_text(&w, name.data, name.size);
    }
    *size = w.size;
    return w.rust;
}
