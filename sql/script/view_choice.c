/*
 * view_choice.c - the options of a view, by their names: one table for a
 * script's .by("...") and for SQL's text.
 *
 * A row has the kind of a value and where it is stored, so that a new option
 * is one row here.  Patterns are compiled once to check them, and again by the
 * view that uses them.
 */
#include "view_choice.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "errors.h"
#include "filter.h"

enum { WORD_MAX = 32 /* bytes of a word or a number */ };

enum kind {
    KIND_FLAG,
    KIND_COUNT,
    KIND_SECONDS,
    KIND_FRACTION,
    KIND_PATTERN,
    KIND_MEASURE,
    KIND_GRANULARITY
};

static const struct word {
    const char *name;
    enum kind kind;
    size_t at; /* offset in struct view_choice */
} words[] = {
#define WORD(name, kind)                                                       \
    {                                                                          \
#name, kind, offsetof(struct view_choice, options.name)                \
    }
    {"by", KIND_MEASURE, offsetof(struct view_choice, options.measure)},
    WORD(granularity, KIND_GRANULARITY),
    WORD(focus, KIND_PATTERN),
    WORD(ignore, KIND_PATTERN),
    WORD(nodecount, KIND_COUNT),
    WORD(nodefraction, KIND_FRACTION),
    WORD(edgefraction, KIND_FRACTION),
    WORD(maxdegree, KIND_COUNT),
    WORD(show_bytes, KIND_FLAG),
    WORD(allocator_frames, KIND_FLAG),
    WORD(by_growth, KIND_FLAG),
    WORD(by_thread, KIND_FLAG),
    WORD(by_pool, KIND_FLAG),
    {"force", KIND_FLAG, offsetof(struct view_choice, force)},
    {"seconds", KIND_SECONDS, offsetof(struct view_choice, seconds)},
#undef WORD
};

static const struct word *
find_choice_word(struct span name)
{
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (span_is(name, words[i].name))
            return &words[i];
    return NULL;
}

/* ---- values ---- */

int
choice_count(const char *word, double given, double least, double most,
             uint32_t *out, struct error *err)
{
    if (given >= least && given <= most && given == floor(given)) {
        *out = (uint32_t)given;
        return 0;
    }
    error_set(err, ER_WRONG_ARGUMENTS,
              "%s takes a whole number from %.0f to %.0f", word, least, most);
    return -1;
}

static int
set_fraction(const struct word *word, double given, double *out,
             struct error *err)
{
    if (given >= 0 && given <= 1) {
        *out = given;
        return 0;
    }
    error_set(err, ER_WRONG_ARGUMENTS, "%s takes a number from 0 to 1",
              word->name);
    return -1;
}

static int
set_pattern(const struct word *word, struct span given, struct arena *arena,
            const char **out, struct error *err)
{
    struct pattern *pattern;

    /* regcomp() would end the pattern at a NUL. */
    if (given.size == 0 || memchr(given.data, '\0', given.size)) {
        error_set(err, ER_WRONG_ARGUMENTS, "%s takes a regular expression",
                  word->name);
        return -1;
    }
    *out = arena_strndup(arena, given.data, given.size);
    if (!*out) {
        error_memory(err, "a pattern");
        return -1;
    }
    /* Compiled only to find its faults now, at the option that has them. */
    pattern = pattern_new(word->name, *out, NULL, err);
    pattern_free(pattern);
    return pattern ? 0 : -1;
}

/* Copies a word and ends it with a NUL; gives "" if it is too long or contains
 * one, which no option accepts. */
static const char *
copy_word(struct span given, char room[WORD_MAX])
{
    if (given.size >= WORD_MAX || memchr(given.data, '\0', given.size))
        return "";
    memcpy(room, given.data, given.size);
    room[given.size] = '\0';
    return room;
}

static int
fail_word(const struct word *word, struct span given, const char *allowed,
          struct error *err)
{
    error_set(err, ER_WRONG_ARGUMENTS, "%s takes one of %s, not '%.*s'",
              word->name, allowed, span_shown(given), given.data);
    return -1;
}

static int
set_choice_field(const struct word *word, void *field,
                 const struct choice_value *value, struct arena *arena,
                 struct error *err)
{
    char room[WORD_MAX];

    switch (word->kind) {
    case KIND_FLAG:
        *(bool *)field = value->flag;
        break;
    case KIND_COUNT:
        return choice_count(word->name, value->number, 1, CHOICE_COUNT_MAX,
                            field, err);
    case KIND_SECONDS:
        return choice_count(word->name, value->number, 1, CHOICE_SECONDS_MAX,
                            field, err);
    case KIND_FRACTION:
        return set_fraction(word, value->number, field, err);
    case KIND_PATTERN:
        return set_pattern(word, value->text, arena, field, err);
    case KIND_MEASURE:
        if (measure_parse(copy_word(value->text, room), field))
            break;
        return fail_word(
            word, value->text,
            "inuse_space, inuse_objects, alloc_space, alloc_objects, time, "
            "samples, waste",
            err);
    case KIND_GRANULARITY:
        if (granularity_parse(copy_word(value->text, room), field))
            break;
        return fail_word(word, value->text,
                         "functions, lines, files, addresses", err);
    }
    return 0;
}

static int
fail_unknown_choice(struct span word, struct error *err)
{
    error_set(err, ER_WRONG_ARGUMENTS,
              "'%.*s' is no option of a view; there are by, granularity, "
              "focus, ignore, nodecount, nodefraction, edgefraction, "
              "maxdegree, show_bytes, allocator_frames, by_growth, "
              "by_thread, by_pool, force and seconds",
              span_shown(word), word.data);
    return -1;
}

int
choice_set(struct view_choice *choice, struct span name,
           const struct choice_value *value, struct arena *arena,
           struct error *err)
{
    const struct word *word = find_choice_word(name);

    return word ? set_choice_field(word, (char *)choice + word->at, value,
                                   arena, err)
                : fail_unknown_choice(name, err);
}

/* ---- SQL's text ---- */

/* Takes the text up to c, and c itself, off the front; *found: c was there. */
static struct span
split_choice_text(struct span *text, char c, bool *found)
{
    const char *at = text->size > 0 ? memchr(text->data, c, text->size) : NULL;
    struct span part = *text;

    *found = at != NULL;
    if (at)
        part.size = (size_t)(at - text->data);
    text->data += part.size + (at != NULL);
    text->size -= part.size + (at != NULL);
    return span_trim(part);
}

static int
parse_flag(const struct word *word, struct span text, bool *out,
           struct error *err)
{
    bool yes = span_is_nocase(text, "true") || span_is(text, "1");

    *out = yes;
    if (yes || span_is_nocase(text, "false") || span_is(text, "0"))
        return 0;
    return fail_word(word, text, "true, false", err);
}

/* Reads a number; NaN, which every option refuses, if it is none. */
static double
parse_choice_number(struct span text)
{
    char room[WORD_MAX], *end;
    const char *number = copy_word(text, room);
    double out = strtod(number, &end);

    return *number && !*end ? out : NAN;
}

/* Reads one option: by=alloc_space, or force. */
static int
parse_one(struct view_choice *choice, struct span text, const char *whole,
          struct arena *arena, struct error *err)
{
    struct choice_value value = {.flag = true};
    const struct word *word;
    struct span name;
    bool has_value;

    name = split_choice_text(&text, '=', &has_value);
    word = find_choice_word(name);
    if (!word)
        return fail_unknown_choice(name, err);
    if (whole && strcmp(word->name, "force") != 0) {
        error_set(err, ER_WRONG_ARGUMENTS,
                  "%s shows all there is: it takes no option but force", whole);
        return -1;
    }
    value.text = span_trim(text);
    value.number = parse_choice_number(value.text);
    if (word->kind == KIND_FLAG && has_value &&
        parse_flag(word, value.text, &value.flag, err) != 0)
        return -1;
    return set_choice_field(word, (char *)choice + word->at, &value, arena,
                            err);
}

int
choice_parse(struct view_choice *choice, struct span text, const char *whole,
             struct arena *arena, struct error *err)
{
    bool more = true;

    if (text.size > CHOICE_TEXT_MAX) {
        error_set(err, ER_WRONG_ARGUMENTS,
                  "the options of a view have at most %d bytes",
                  CHOICE_TEXT_MAX);
        return -1;
    }
    while (more) {
        struct span one = split_choice_text(&text, ';', &more);

        if (one.size > 0 && parse_one(choice, one, whole, arena, err) != 0)
            return -1;
    }
    return 0;
}
