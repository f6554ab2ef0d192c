/*
 * function_name.c - see function_name.h.
 *
 * jeprof deletes innermost brackets until none is left, which is quadratic.
 * Cutting the output back to the opening bracket whenever one closes gives the
 * same in one pass: what the brackets held has lost its own by then.  If every
 * bracket has a partner, it is enough to leave out what the outermost ones
 * hold, which copies nothing inside them.
 *
 * Each of up to some 100,000 names of a profile passes through here, so
 * brackets are looked for 16 bytes at a time.  Pure; any thread.
 */
#include "function_name.h"

#include <stdbool.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "buffer.h"
#include "ascii.h"
#include "rust_name.h"

enum {
    NESTING_MAX = 1024, /* a deeper bracket is kept as text */
    BLOCK = 16          /* bytes that are looked at together */
};

/* A kind of brackets.  '(' and ')' differ in one bit, and so do '<' and '>':
 * setting it makes both the same character, so one comparison finds either. */
struct brackets {
    char open, close;
    bool and_const; /* " const" behind them is deleted, too */
};

static const struct brackets parentheses = {'(', ')', true};
static const struct brackets angles = {'<', '>', false};

#ifdef __SSE2__

/* Bit i is set if byte i of the block is a bracket of the kind. */
static inline unsigned
block_bracket_mask(const char *block, char bit, char both)
{
    __m128i bytes;

    memcpy(&bytes, block, sizeof(bytes));
    bytes = _mm_or_si128(bytes, _mm_set1_epi8(bit));
    return (unsigned)_mm_movemask_epi8(
        _mm_cmpeq_epi8(bytes, _mm_set1_epi8(both)));
}

#else

static inline unsigned
block_bracket_mask(const char *block, char bit, char both)
{
    unsigned found = 0;

    for (unsigned i = 0; i < BLOCK; i++)
        found |= (unsigned)((block[i] | bit) == both) << i;
    return found;
}

#endif

/* The position behind brackets that close at i, and behind a " const". */
static size_t
position_after_brackets(const char *text, size_t size, size_t i,
                        const struct brackets *b)
{
    size_t at = i + 1;

    if (!b->and_const)
        return at;
    while (at < size && is_blank(text[at]))
        at++;
    return size - at >= 5 && memcmp(text + at, "const", 5) == 0 ? at + 5
                                                                : i + 1;
}

/* The general case: a bracket without a partner is kept, as in "operator<". */
static size_t
delete_any(const char *text, size_t size, const struct brackets *b, char *out)
{
    size_t opened[NESTING_MAX], depth = 0, kept = 0;

    for (size_t i = 0; i < size;) {
        if (text[i] == b->close && depth > 0) {
            kept = opened[--depth];
            i = position_after_brackets(text, size, i, b);
            continue;
        }
        if (text[i] == b->open && depth < NESTING_MAX)
            opened[depth++] = kept;
        out[kept++] = text[i++];
    }
    return kept;
}

/*
 * Copies text to out without balanced pairs of brackets and what they hold.
 * The fast case is that every bracket has a partner; else delete_any() begins
 * anew.  text must be readable for a whole block beyond size.
 */
static size_t
delete_pairs(const char *text, size_t size, const struct brackets *b, char *out)
{
    const char bit = (char)(b->open ^ b->close);
    const char both = (char)(b->open | b->close);
    size_t depth = 0, kept = 0, from = 0, at;

    for (size_t i = 0; i < size; i += BLOCK) {
        unsigned found = block_bracket_mask(text + i, bit, both);

        for (; found; found &= found - 1) {
            at = i + (size_t)__builtin_ctz(found);
            if (at >= size)
                break;
            if (text[at] == b->open) {
                if (depth++ == 0) {
                    memcpy(out + kept, text + from, at - from);
                    kept += at - from;
                    from = at;
                }
                if (depth > NESTING_MAX)
                    return delete_any(text, size, b, out);
            } else if (depth > 0 && --depth == 0) {
                from = position_after_brackets(text, size, at, b);
            }
        }
    }
    if (depth > 0)
        return delete_any(text, size, b, out);
    memcpy(out + kept, text + from, size - from);
    return kept + size - from;
}

/* Bytes of the return type: up to the last blank that "word::" follows. */
static size_t
type_size(const char *text, size_t size)
{
    size_t word;

    for (size_t i = size; i-- > 0;) {
        if (!is_blank(text[i]))
            continue;
        for (word = i + 1; word < size && is_word_character(text[word]);)
            word++;
        if (word > i + 1 && size - word >= 2 && text[word] == ':' &&
            text[word + 1] == ':')
            return i + 1;
    }
    return 0;
}

void
function_name_shorten(struct span name, struct buffer *out)
{
    size_t size = name.size, type;
    char *text = buffer_reserve(out, 2 * (size + BLOCK)), *first;

    if (!text)
        return;
    if (rust_name_shorten(name, text, &size)) {
        buffer_claim(out, size);
        return;
    }
    first = text + size + BLOCK;
    memcpy(text, name.data, size);
    memset(text + size, 0, BLOCK);
    /* Parentheses first: arguments may hold "operator<" or "->", whose angle
     * brackets have no partner. */
    size = delete_pairs(text, size, &parentheses, first);
    memset(first + size, 0, BLOCK);
    size = delete_pairs(first, size, &angles, text);
    type = type_size(text, size);
    memmove(text, text + type, size - type);
    buffer_claim(out, size - type);
}

/* ---- with template arguments ---- */

static bool
function_text_starts_with(const char *text, const char *end, const char *word)
{
    return span_starts_with((struct span){text, (size_t)(end - text)}, word);
}

/* The position behind "operator" and its sign, which may look like brackets;
 * text itself if it is no operator. */
static const char *
behind_operator(const char *text, const char *end)
{
    static const char word[] = "operator";
    const char *at = text + sizeof(word) - 1;

    if (!function_text_starts_with(text, end, word) ||
        (at < end && is_word_character(*at)))
        return text;
    if (function_text_starts_with(at, end, "()"))
        return at + 2;
    while (at < end && strchr("<>=-", *at) && *at)
        at++;
    return at;
}

/* The position behind the qualifiers that may follow a function's arguments. */
static const char *
behind_qualifiers(const char *text, const char *end)
{
    static const char *const words[] = {" const", " volatile", " &&", " &",
                                        " noexcept"};
    const size_t count = sizeof(words) / sizeof(words[0]);

    for (size_t i = 0; i < count;) {
        if (function_text_starts_with(text, end, words[i])) {
            text += strlen(words[i]);
            i = 0;
        } else {
            i++;
        }
    }
    return text;
}

/* Where the name, its arguments and what follows these begin. */
struct plain_parts {
    const char *first, *arguments, *behind;
};

static bool
opens_bracket(const char *at)
{
    return *at == '(' || *at == '<' || *at == '{';
}

/* The > of an arrow closes nothing. */
static bool
closes_bracket(const char *text, const char *at)
{
    return *at == ')' || *at == '}' ||
           (*at == '>' && (at == text || at[-1] != '-'));
}

/* Behind the operator's name that begins at at; at itself if none does. */
static const char *
skip_operator_name(const char *text, const char *at, const char *end)
{
    return *at == 'o' && (at == text || !is_word_character(at[-1]))
               ? behind_operator(at, end)
               : at;
}

/* The arguments are the first outer parentheses that only qualifiers and a
 * compiler's note in brackets follow; those that a "::" follows are an
 * enclosing function's, as in "f(int)::{lambda()#1}".  The name begins behind
 * the last outer blank before them.  False: there are none, or brackets do not
 * match. */
static bool
find_plain_name_parts(const char *text, const char *end,
                      struct plain_parts *parts)
{
    bool operator_seen = false;
    size_t depth = 0;

    parts->first = text;
    parts->arguments = NULL;
    for (const char *at = text, *next; at < end; at = next) {
        next = skip_operator_name(text, at, end);
        if (next > at) {
            operator_seen = operator_seen || depth == 0;
            continue;
        }
        next = at + 1;
        if (opens_bracket(at)) {
            if (depth++ == 0)
                parts->arguments = *at == '(' ? at : NULL;
        } else if (closes_bracket(text, at)) {
            if (depth-- == 0)
                return false;
            if (depth > 0 || !parts->arguments)
                continue;
            next = parts->behind = behind_qualifiers(next, end);
            /* " [clone .cold]" and the like end a name, too. */
            if (next == end || function_text_starts_with(next, end, " ["))
                return true;
        } else if (*at == ' ' && depth == 0 && !operator_seen) {
            parts->first = next;
        }
    }
    return false;
}

void
function_name_plain(struct span name, struct buffer *out)
{
    const char *end = name.data + name.size;
    struct plain_parts parts;

    if (!find_plain_name_parts(name.data, end, &parts) ||
        parts.first >= parts.arguments) {
        buffer_add(out, name.data, name.size);
        return;
    }
    buffer_add(out, parts.first, (size_t)(parts.arguments - parts.first));
    buffer_add(out, parts.behind, (size_t)(end - parts.behind));
}
