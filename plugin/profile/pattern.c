/* pattern.c - see pattern.h.  Interpreted: compiled matches have no limits
 * that hold as well. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "pattern.h"

#include <pcre2.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "errors.h"
#include "memory.h"

enum {
    HEAP_KB = 16384,
    DEPTH_MAX = 20000,
    STARTS = 64 /* tried at once */
};

struct pattern {
    const char *what;
    pcre2_general_context *memory;
    pcre2_code *code;
    pcre2_match_context *limits;
    pcre2_match_data *match;
    uint64_t started_ms; /* 0: nothing was matched yet */
};

static void *
take_memory(size_t size, void *unused)
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

static int
compile(struct pattern *pattern, const char *text, struct error *err)
{
    pcre2_compile_context *context =
        pcre2_compile_context_create(pattern->memory);
    uint32_t options = PCRE2_UTF | PCRE2_MATCH_INVALID_UTF |
                       PCRE2_NEVER_BACKSLASH_C | PCRE2_USE_OFFSET_LIMIT;
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
    pcre2_set_match_limit(pattern->limits, PATTERN_STEPS_MAX);
    pcre2_set_depth_limit(pattern->limits, DEPTH_MAX);
    pcre2_set_heap_limit(pattern->limits, HEAP_KB);
    return 0;
}

struct pattern *
pattern_new(const char *what, const char *text, struct error *err)
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
        pattern->memory =
            pcre2_general_context_create(take_memory, give_memory, NULL);
    }
    if (!pattern || !pattern->memory) {
        error_memory(err, "a regular expression");
        pattern_free(pattern);
        return NULL;
    }
    if (compile(pattern, text, err) != 0) {
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

static int
too_long(const struct pattern *pattern, struct error *err)
{
    error_set(err, ER_REGEX,
              "%s: the regular expression takes too long; make it simpler, "
              "without repetitions within repetitions",
              pattern->what);
    return -1;
}

static int
check_clock(struct pattern *pattern, struct error *err)
{
    uint64_t now = clock_ms();

    if (pattern->started_ms == 0)
        pattern->started_ms = now;
    return now - pattern->started_ms > PATTERN_MS_MAX ? too_long(pattern, err)
                                                      : 0;
}

/* Where the next starts begin: between characters. */
static size_t
next_starts(const char *text, size_t size, size_t from)
{
    size_t next = from + STARTS;

    if (next >= size)
        return size + 1; /* behind all of text, it may match nothing */
    for (int i = 0; i < 3 && ((unsigned char)text[next] & 0xc0) == 0x80; i++)
        next++;
    return next;
}

/* PCRE2 counts steps from each place anew where a match may start, and not
 * all: so it gets few places at once. */
int
pattern_match(struct pattern *pattern, const char *text, struct error *err)
{
    size_t size = strnlen(text, PATTERN_TEXT_MAX), next;
    int rc = PCRE2_ERROR_NOMATCH;

    for (size_t from = 0; from <= size && rc == PCRE2_ERROR_NOMATCH;
         from = next) {
        if (check_clock(pattern, err) != 0)
            return -1;
        next = next_starts(text, size, from);
        pcre2_set_offset_limit(pattern->limits, next - 1);
        rc = pcre2_match(pattern->code, (PCRE2_SPTR)text, size, from, 0,
                         pattern->match, pattern->limits);
    }
    if (rc >= 0)
        return 1;
    if (rc == PCRE2_ERROR_NOMATCH)
        return 0;
    if (rc == PCRE2_ERROR_NOMEMORY) {
        error_memory(err, "a regular expression");
        return -1;
    }
    return too_long(pattern, err);
}
