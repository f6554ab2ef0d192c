/*
 * filter.c - see filter.h.
 *
 * The pattern is a user's, the names are a program's, and a regular expression
 * with nested repetitions can take years: matching needs limits on time, steps
 * and memory.  Patterns are interpreted rather than compiled by PCRE2's JIT,
 * because compiled ones would not obey all limits.  The clock covers what steps
 * cannot: PCRE2 counts them anew for each place where a match may start.
 *
 * Each distinct name is matched once, and the result is marked at every frame;
 * a stack is then judged by or-ing its frames' marks.  Called on the thread
 * that renders the view, or that carries out a statement with a pattern.
 */
#include "filter.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <string.h>

#include "buffer.h"
#include "clock.h"
#include "errors.h"
#include "memory.h"
#include "profile.h"
#include "symbols.h"
#include "texts.h"
#include "view_options.h"

enum {
    HEAP_KB = 16384,
    DEPTH_MAX = 20000,
    STEPS_PER_CHECK = 64 /* items of the pattern between looks at the clock */
};

struct pattern {
    const char *what;
    pcre2_general_context *memory;
    pcre2_code *code;
    pcre2_match_context *limits;
    pcre2_match_data *match;
    const atomic_bool *cancelled; /* or NULL */
    uint64_t started_ms;          /* 0: nothing was matched yet */
    unsigned steps;
};

static void *
allocate_pattern_memory(size_t size, void *unused)
{
    (void)unused;
    return mem_alloc(size);
}

static void
give_memory(void *block, void *unused)
{
    (void)unused;
    mem_free(block);
}

static void
fail_compile(const struct pattern *pattern, int code, size_t offset,
             struct error *err)
{
    unsigned char reason[120];

    if (code == PCRE2_ERROR_HEAP_FAILED) {
        error_memory(err, "a regular expression");
        return;
    }
    pcre2_get_error_message(code, reason, sizeof(reason));
    error_set(err, ER_REGEX, "%s: bad regular expression at offset %zu: %s",
              pattern->what, offset, (const char *)reason);
}

static bool
check_pattern_late(struct pattern *pattern)
{
    uint64_t now = clock_ms();

    /* The time begins with the first match: it is one for all texts. */
    if (pattern->started_ms == 0)
        pattern->started_ms = now;
    return now - pattern->started_ms > PATTERN_MS_MAX;
}

static bool
is_pattern_cancelled(const struct pattern *pattern)
{
    return pattern->cancelled && atomic_load(pattern->cancelled);
}

/* Called by PCRE2 at each item of the pattern (PCRE2_AUTO_CALLOUT).  Anything
 * but 0 ends the match with that error. */
static int
on_pattern_callout(pcre2_callout_block *at, void *arg)
{
    struct pattern *pattern = arg;

    (void)at;
    if (is_pattern_cancelled(pattern) ||
        (++pattern->steps % STEPS_PER_CHECK == 0 &&
         check_pattern_late(pattern)))
        return PCRE2_ERROR_CALLOUT;
    return 0;
}

static int
compile_pattern(struct pattern *pattern, const char *text, struct error *err)
{
    pcre2_compile_context *context =
        pcre2_compile_context_create(pattern->memory);
    uint32_t options = PCRE2_UTF | PCRE2_MATCH_INVALID_UTF |
                       PCRE2_NEVER_BACKSLASH_C | PCRE2_AUTO_CALLOUT;
    size_t offset;
    int failure;

    if (!context) {
        error_memory(err, "a regular expression");
        return -1;
    }
    pattern->code = pcre2_compile((PCRE2_SPTR)text, strlen(text), options,
                                  &failure, &offset, context);
    pcre2_compile_context_free(context);
    if (!pattern->code) {
        fail_compile(pattern, failure, offset, err);
        return -1;
    }
    pattern->limits = pcre2_match_context_create(pattern->memory);
    pattern->match = pcre2_match_data_create(1, pattern->memory);
    if (!pattern->limits || !pattern->match) {
        error_memory(err, "a regular expression");
        return -1;
    }
    pcre2_set_callout(pattern->limits, on_pattern_callout, pattern);
    pcre2_set_match_limit(pattern->limits, PATTERN_STEPS_MAX);
    pcre2_set_depth_limit(pattern->limits, DEPTH_MAX);
    pcre2_set_heap_limit(pattern->limits, HEAP_KB);
    return 0;
}

struct pattern *
pattern_new(const char *what, const char *text, const atomic_bool *cancelled,
            struct error *err)
{
    struct pattern *pattern;

    if (strnlen(text, PATTERN_SIZE_MAX + 1) > PATTERN_SIZE_MAX) {
        error_set(err, ER_REGEX,
                  "%s: the regular expression is longer than %d bytes", what,
                  (int)PATTERN_SIZE_MAX);
        return NULL;
    }
    pattern = mem_zalloc(1, sizeof(*pattern));
    if (pattern) {
        pattern->what = what;
        pattern->cancelled = cancelled;
        pattern->memory = pcre2_general_context_create(allocate_pattern_memory,
                                                       give_memory, NULL);
    }
    if (!pattern || !pattern->memory) {
        error_memory(err, "a regular expression");
        pattern_free(pattern);
        return NULL;
    }
    if (compile_pattern(pattern, text, err) != 0) {
        pattern_free(pattern);
        return NULL;
    }
    return pattern;
}

void
pattern_free(struct pattern *pattern)
{
    if (!pattern)
        return;
    pcre2_match_data_free(pattern->match);
    pcre2_match_context_free(pattern->limits);
    pcre2_code_free(pattern->code);
    pcre2_general_context_free(pattern->memory);
    mem_free(pattern);
}

static void
too_long(const struct pattern *pattern, struct error *err)
{
    error_set(err, ER_REGEX,
              "%s: the regular expression takes too long; make it simpler, "
              "without repetitions within repetitions",
              pattern->what);
}

int
pattern_match(struct pattern *pattern, const char *text, struct error *err)
{
    size_t size = strnlen(text, PATTERN_TEXT_MAX);
    int rc = PCRE2_ERROR_CALLOUT;

    if (!check_pattern_late(pattern))
        rc = pcre2_match(pattern->code, (PCRE2_SPTR)text, size, 0, 0,
                         pattern->match, pattern->limits);
    if (rc >= 0)
        return 1;
    if (rc == PCRE2_ERROR_NOMATCH)
        return 0;
    if (rc == PCRE2_ERROR_NOMEMORY)
        error_memory(err, "a regular expression");
    else if (is_pattern_cancelled(pattern))
        error_set(err, ER_QUERY_INTERRUPTED, "Query execution was interrupted");
    else
        too_long(pattern, err);
    return -1;
}

enum { SOURCE_LINE_MAX = 1 << 20 };

/* One pattern, which is matched with all frames. */
struct matcher {
    const struct profile *profile;
    const struct symbols *symbols;
    const struct texts *texts;
    const struct view_options *options;
    struct pattern *pattern;
    uint8_t *names; /* by text: 1 + whether it matches; 0: not matched yet */
    struct buffer scratch;
    struct error *err;
};

static int
match_name(struct matcher *m, uint32_t name)
{
    int rc;

    if (m->names[name] == 0) {
        rc = pattern_match(m->pattern, texts_get(m->texts, name), m->err);
        if (rc < 0)
            return -1;
        m->names[name] = (uint8_t)(1 + rc);
    }
    return m->names[name] - 1;
}

static int
match_scratch(struct matcher *m)
{
    if (m->scratch.failed) {
        error_memory(m->err, "a file's name");
        return -1;
    }
    return pattern_match(m->pattern, m->scratch.data, m->err);
}

static int
match_frame(struct matcher *m, const struct frame *frame, uint32_t name)
{
    int rc = match_name(m, name);

    if (rc != 0)
        return rc;
    buffer_clear(&m->scratch);
    granularity_source_line(&m->scratch, frame);
    return match_scratch(m);
}

static int
match_location(struct matcher *m, size_t i, uint8_t mark, uint8_t *marks)
{
    const struct location *location = &m->profile->locations[i];
    int address, rc;

    buffer_clear(&m->scratch);
    granularity_address(&m->scratch, location->address);
    /* An address that matches selects all frames of its location. */
    address = match_scratch(m);
    if (address < 0)
        return -1;
    for (uint32_t k = 0; k < location->frame_count; k++) {
        uint32_t number = m->symbols->first[i] + k;

        rc = address ? 1
                     : match_frame(m, &location->frames[k],
                                   m->symbols->short_names[number]);
        if (rc < 0)
            return -1;
        if (rc > 0)
            marks[number] |= mark;
    }
    return 0;
}

static int
match_all_locations(struct matcher *m, const char *what, const char *text,
                    uint8_t mark, uint8_t *marks)
{
    int rc = -1;

    if (!text || *text == '\0')
        return 0;
    m->pattern = pattern_new(what, text, m->options->cancelled, m->err);
    if (!m->pattern)
        return -1;
    buffer_init(&m->scratch, SOURCE_LINE_MAX);
    m->names = mem_zalloc(texts_count(m->texts), sizeof(*m->names));
    if (!m->names) {
        error_memory(m->err, "the focus");
        goto out;
    }
    for (size_t i = 0; i < m->profile->location_count; i++)
        if (view_cancelled(m->options, i, m->err) ||
            match_location(m, i, mark, marks) != 0)
            goto out;
    rc = 0;
out:
    mem_free(m->names);
    buffer_fini(&m->scratch);
    pattern_free(m->pattern);
    return rc;
}

static bool
is_pattern(const char *text)
{
    return text && *text;
}

int
filter_init(struct filter *filter, const struct profile *profile,
            const struct symbols *symbols, const struct texts *texts,
            const struct view_options *options, struct error *err)
{
    struct matcher m = {profile, symbols, texts, options, .err = err};

    memset(filter, 0, sizeof(*filter));
    if (!is_pattern(options->focus) && !is_pattern(options->ignore))
        return 0;
    filter->focused = is_pattern(options->focus);
    filter->marks = mem_zalloc(symbols->first[profile->location_count],
                               sizeof(*filter->marks));
    if (!filter->marks) {
        error_memory(err, "the focus");
        return -1;
    }
    if (match_all_locations(&m, "focus", options->focus, FILTER_FOCUS,
                            filter->marks) != 0)
        return -1;
    return match_all_locations(&m, "ignore", options->ignore, FILTER_IGNORE,
                               filter->marks);
}

void
filter_fini(struct filter *filter)
{
    mem_free(filter->marks);
    memset(filter, 0, sizeof(*filter));
}

bool
filter_shows(const struct filter *filter, unsigned marks)
{
    if (filter->focused && !(marks & FILTER_FOCUS))
        return false;
    return !(marks & FILTER_IGNORE);
}
