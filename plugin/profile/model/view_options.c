/*
 * view_options.c - see view_options.h.
 *
 * What jeprof takes as flags, all forms take as one struct; and what all forms
 * print alike is here too: numbers with their units, and names made safe for a
 * terminal, a page or a picture.  A measure has two notations.  figure_value()
 * is jeprof's, for reports that programs read; figure_text() is for people,
 * with the unit that fits.  Each measure is a row of struct counted, so that no
 * form knows units.
 *
 * Names come from the program that is observed, and may hold escape sequences
 * or characters that reverse the text around them; shown_name() leaves none.
 * Pure; called on any thread.
 */
#include "view_options.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "buffer.h"
#include "clean_text.h"
#include "errors.h"
#include "names.h"

enum { CANCEL_EVERY = 1024 }; /* a power of two */

const struct view_options view_defaults = {.nodecount = 80,
                                           .nodefraction = .005,
                                           .edgefraction = .001,
                                           .maxdegree = 8};

const char *const measure_words[] = {
    "inuse_space", "inuse_objects", "alloc_space", "alloc_objects",
    "time",        "samples",       "waste"};
const char *const granularity_words[] = {"functions", "lines", "files",
                                         "addresses"};

static bool
find_option_word(const char *const *words, size_t count, const char *word,
                 unsigned *out)
{
    for (unsigned i = 0; i < count; i++) {
        if (strcmp(words[i], word) == 0) {
            *out = i;
            return true;
        }
    }
    return false;
}

bool
measure_parse(const char *word, enum measure *out)
{
    unsigned i;

    if (!find_option_word(measure_words, MEASURE_COUNT, word, &i))
        return false;
    *out = (enum measure)i;
    return true;
}

bool
granularity_parse(const char *word, enum granularity *out)
{
    unsigned i;

    if (!find_option_word(granularity_words, GRANULARITY_COUNT, word, &i))
        return false;
    *out = (enum granularity)i;
    return true;
}

bool
measure_is_amount(enum measure measure)
{
    return measure == MEASURE_INUSE_SPACE || measure == MEASURE_ALLOC_SPACE ||
           measure == MEASURE_TIME || measure == MEASURE_WASTE;
}

bool
measure_has_variance(enum measure measure)
{
    return measure == MEASURE_INUSE_SPACE || measure == MEASURE_TIME;
}

bool
view_cancelled(const struct view_options *options, size_t i, struct error *err)
{
    /* Relaxed order is enough, as nothing but the flag itself is read. */
    if (i % CANCEL_EVERY != 0 || !options->cancelled ||
        !atomic_load_explicit(options->cancelled, memory_order_relaxed))
        return false;
    error_set(err, ER_QUERY_INTERRUPTED, "Query execution was interrupted");
    return true;
}

void
granularity_address(struct buffer *out, uint64_t address)
{
    char digits[16];

    for (size_t i = sizeof(digits); i-- > 0; address >>= 4)
        digits[i] = "0123456789abcdef"[address & 0xf];
    buffer_add(out, digits, sizeof(digits));
}

void
granularity_source_line(struct buffer *out, const struct frame *frame)
{
    if (*frame->file == '\0') {
        buffer_text(out, "??:0");
        return;
    }
    buffer_text(out, frame->file);
    buffer_format(out, ":%" PRIu32, frame->line);
}

void
granularity_name(struct buffer *out, enum granularity granularity,
                 const char *function, const struct frame *frame,
                 uint64_t address)
{
    bool file_known = *frame->file != '\0';

    if (frame_is_label(frame)) {
        buffer_text(out, function);
        return;
    }
    if (granularity == GRANULARITY_FILES && file_known)
        buffer_text(out, frame->file);
    if (granularity == GRANULARITY_ADDRESSES ||
        (granularity == GRANULARITY_FILES && !file_known))
        granularity_address(out, address);
    if (granularity == GRANULARITY_FILES)
        return;
    if (granularity == GRANULARITY_ADDRESSES)
        buffer_char(out, ' ');
    buffer_text(out, function);
    if (granularity == GRANULARITY_FUNCTIONS)
        return;
    buffer_char(out, ' ');
    granularity_source_line(out, frame);
}

/* How a measure is counted and written: bytes and nanoseconds as amounts with
 * units; objects and samples one by one, without. */
enum { UNITS_MAX = 5 };

static const struct counted {
    /* one: the singular, for what is counted one by one */
    const char *what, *one;
    /* In jeprof's reports: the unit, its size, and how many digits; NULL: whole
     * numbers. */
    const char *unit;
    double report;
    int digits;
    /* For people: the units, each step times the one before. */
    double step;
    const char *units[UNITS_MAX]; /* up to NULL */
} bytes_counted = {"bytes", NULL, "MB", 1048576, 1, 1024, {"B", "KB", "MB"}},
  times_counted = {"time", NULL, "s", 1e9, 3, 1000, {"ns", "us", "ms", "s"}},
  objects_counted = {"objects", "object", NULL, 1, 0, 0, {NULL}},
  samples_counted = {"samples", "sample", NULL, 1, 0, 0, {NULL}};

static const struct counted *
counted_of(enum measure measure)
{
    static const struct counted *const all[] = {
        [MEASURE_INUSE_SPACE] = &bytes_counted,
        [MEASURE_ALLOC_SPACE] = &bytes_counted,
        [MEASURE_INUSE_OBJECTS] = &objects_counted,
        [MEASURE_ALLOC_OBJECTS] = &objects_counted,
        [MEASURE_TIME] = &times_counted,
        [MEASURE_SAMPLES] = &samples_counted,
        [MEASURE_WASTE] = &bytes_counted,
    };

    return all[measure];
}

const char *
figure_value(double value, const struct view_options *options,
             char out[FIGURE_TEXT])
{
    const struct counted *of = counted_of(options->measure);

    if (of->unit && !options->show_bytes) {
        snprintf(out, FIGURE_TEXT, "%.*f", of->digits, value / of->report);
        return out;
    }
    value = trunc(value);
    /* Never "-0". */
    snprintf(out, FIGURE_TEXT, "%.0f", value == 0 ? 0 : value);
    return out;
}

const char *
figure_percent(double value, double total, char out[FIGURE_TEXT])
{
    if (total != 0)
        snprintf(out, FIGURE_TEXT, "%.1f%%", value * 100.0 / total);
    else
        snprintf(out, FIGURE_TEXT, "%s",
                 value == 0  ? "nan"
                 : value > 0 ? "+inf"
                             : "-inf");
    return out;
}

const char *
figure_unit(const struct view_options *options)
{
    const struct counted *of = counted_of(options->measure);

    if (!of->unit)
        return of->what;
    return options->show_bytes ? of->units[0] : of->unit;
}

const char *
figure_what(enum measure measure)
{
    return counted_of(measure)->what;
}

const char *
figure_where(enum measure measure, enum profile_kind kind)
{
    if (kind != PROFILE_HEAP)
        return kind == PROFILE_CPU ? "on the processor" : "of the clock";
    if (measure == MEASURE_WASTE)
        return "not in use";
    return measure == MEASURE_ALLOC_SPACE || measure == MEASURE_ALLOC_OBJECTS
               ? "allocated"
               : "in use";
}

void
figure_text(double value, const struct view_options *options, bool is_signed,
            char out[FIGURE_TEXT])
{
    const struct counted *of = counted_of(options->measure);
    const char *sign = value < 0 ? "-" : is_signed && value > 0 ? "+" : "";
    double size = fabs(value);
    size_t unit = 0;

    if (!of->unit) {
        snprintf(out, FIGURE_TEXT, "%s%.0f %s", sign, size,
                 round(size) == 1 ? of->one : of->what);
    } else if (options->show_bytes || size < of->step) {
        snprintf(out, FIGURE_TEXT, "%s%.0f %s", sign, size, of->units[0]);
    } else {
        /* Less 0.05, because 1023.96 KB would be written as 1024.0. */
        for (size /= of->step, unit = 1;
             of->units[unit + 1] && size >= of->step - 0.05; unit++)
            size /= of->step;
        snprintf(out, FIGURE_TEXT, "%s%.1f %s", sign, size, of->units[unit]);
    }
}

static const char ellipsis[] = "\xe2\x80\xa6";

static bool
is_utf8_continuation(char c)
{
    return ((unsigned char)c & 0xc0) == 0x80;
}

/* Whether a character changes the direction of text or ends its line: U+200E,
 * U+200F, U+2028 to U+202E, U+2066 to U+2069. */
static bool
is_bidi_control(const char *s, const char *end)
{
    const unsigned char *c = (const unsigned char *)s;

    if (end - s < 3 || c[0] != 0xe2)
        return false;
    return (c[1] == 0x80 &&
            (c[2] == 0x8e || c[2] == 0x8f || (c[2] >= 0xa8 && c[2] <= 0xae))) ||
           (c[1] == 0x81 && c[2] >= 0xa6 && c[2] <= 0xa9);
}

void
shown_name(const char *name, size_t max, struct buffer *out)
{
    size_t size = strnlen(name, max + 1), kept = size;
    char *to;

    if (size > max) {
        kept = max > sizeof(ellipsis) ? max - (sizeof(ellipsis) - 1) : 0;
        for (int i = 0; i < 3 && kept > 0 && is_utf8_continuation(name[kept]);
             i++)
            kept--;
    }
    to = buffer_reserve(out, kept + 1);
    if (!to)
        return;
    clean_text((struct span){name, kept}, to);
    for (char *s = to; s < to + kept; s++)
        if (is_bidi_control(s, to + kept))
            memset(s, '?', 3);
    buffer_claim(out, kept);
    if (kept < size)
        buffer_text(out, ellipsis);
}

/* Decodes the character at s, in well-formed UTF-8. */
static uint32_t
decode_utf8_character(const char *s, size_t left, size_t *size)
{
    const unsigned char *c = (const unsigned char *)s;
    uint32_t code;

    *size = c[0] < 0xc0 ? 1 : c[0] < 0xe0 ? 2 : c[0] < 0xf0 ? 3 : 4;
    if (*size > left)
        *size = left;
    code = *size == 1 ? c[0] : c[0] & (0x7fU >> *size);
    for (size_t i = 1; i < *size; i++)
        code = code << 6 | (c[i] & 0x3f);
    return code;
}

static bool
is_wide(uint32_t code)
{
    static const struct {
        uint32_t first, last;
    } wide[] = {{0x1100, 0x115f},   {0x2e80, 0xa4cf},   {0xac00, 0xd7a3},
                {0xf900, 0xfaff},   {0xfe30, 0xfe6f},   {0xff00, 0xff60},
                {0x1f300, 0x1faff}, {0x20000, 0x3ffff}, {0xffe0, 0xffe6}};

    for (size_t i = 0; i < sizeof(wide) / sizeof(wide[0]); i++)
        if (code >= wide[i].first && code <= wide[i].last)
            return true;
    return false;
}

size_t
shown_fit(const char *text, size_t size, size_t columns)
{
    size_t at = 0, bytes, used = 0;

    while (at < size) {
        used += is_wide(decode_utf8_character(text + at, size - at, &bytes))
                    ? 2
                    : 1;
        if (used > columns)
            break;
        at += bytes;
    }
    return at;
}

size_t
shown_columns(const char *text, size_t size)
{
    size_t columns = 0, bytes;

    for (size_t at = 0; at < size; at += bytes)
        columns += is_wide(decode_utf8_character(text + at, size - at, &bytes))
                       ? 2
                       : 1;
    return columns;
}

size_t
shown_line(const char *text, size_t size, size_t columns)
{
    size_t fits = shown_fit(text, size, columns);
    const char *blank = NULL;

    if (fits < size)
        blank = memrchr(text, ' ', fits);
    return blank && blank > text ? (size_t)(blank - text) + 1 : fits;
}

void
shown_middle(const char *text, size_t size, size_t columns, struct buffer *out)
{
    size_t all = shown_columns(text, size), rest, tail;

    if (all <= columns) {
        buffer_add(out, text, size);
        return;
    }
    rest = columns - 1 - columns / 2; /* behind the "…" */
    tail = shown_fit(text, size, all - rest);
    /* A wide character may have kept one column too many behind the cut. */
    if (shown_columns(text + tail, size - tail) > rest)
        tail = shown_fit(text, size, all - rest + 1);
    buffer_add(out, text, shown_fit(text, size, columns / 2));
    buffer_text(out, ellipsis);
    buffer_add(out, text + tail, size - tail);
}
