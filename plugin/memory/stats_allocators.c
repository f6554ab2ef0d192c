/*
 * stats_allocators.c - see stats_allocators.h.
 *
 * One line for each jemalloc, fields "key=value" between tabs; untrusted, as
 * the agent's other texts.  Unknown keys are passed over.
 */
#include "stats_allocators.h"

#include <string.h>

#include "arena.h"
#include "buffer.h"
#include "errors.h"
#include "reader.h"
#include "stats.h"

enum { VALUE_MAX_BYTES = 1024, SHOWN = 80 };

enum kind { WORD, TRUTH, BYTES };

static const struct allocator_field {
    const char *name;
    enum kind kind;
    size_t offset;
} allocator_fields[] = {
    {"object", WORD, offsetof(struct stats_allocator, object)},
    {"mallctl", WORD, offsetof(struct stats_allocator, mallctl)},
    {"version", WORD, offsetof(struct stats_allocator, version)},
    {"variable", WORD, offsetof(struct stats_allocator, variable)},
    {"found", WORD, offsetof(struct stats_allocator, found)},
    {"note", WORD, offsetof(struct stats_allocator, note)},
    {"chosen", TRUTH, offsetof(struct stats_allocator, chosen)},
    {"callable", TRUTH, offsetof(struct stats_allocator, callable)},
    {"config_prof", TRUTH, offsetof(struct stats_allocator, config_prof)},
    {"opt_prof", TRUTH, offsetof(struct stats_allocator, opt_prof)},
    {"active", TRUTH, offsetof(struct stats_allocator, active)},
    {"malloc", TRUTH, offsetof(struct stats_allocator, serves_malloc)},
    {"new", TRUTH, offsetof(struct stats_allocator, serves_new)},
    {"allocated", BYTES, offsetof(struct stats_allocator, allocated)},
    {"resident", BYTES, offsetof(struct stats_allocator, resident)},
};

static int
refuse_allocator_text(struct span line, const char *why, struct error *err)
{
    error_set(err, ER_UNKNOWN,
              "the agent's list of allocators has %s in '%.*s'", why,
              (int)(line.size < SHOWN ? line.size : SHOWN), line.data);
    return -1;
}

static bool
parse_bytes(struct span text, uint64_t *out)
{
    *out = 0;
    for (size_t i = 0; i < text.size; i++) {
        unsigned digit = (unsigned char)text.data[i] - '0';

        if (digit > 9 || *out > ((uint64_t)INT64_MAX - digit) / 10)
            return false;
        *out = *out * 10 + digit;
    }
    return text.size > 0;
}

static int
put_allocator_field(struct stats *stats, struct stats_allocator *a,
                    struct span name, struct span value, struct error *err)
{
    for (size_t i = 0;
         i < sizeof(allocator_fields) / sizeof(allocator_fields[0]); i++) {
        void *at = (char *)a + allocator_fields[i].offset;

        if (!span_is(name, allocator_fields[i].name))
            continue;
        if (allocator_fields[i].kind == TRUTH) {
            if (!span_is(value, "0") && !span_is(value, "1"))
                return refuse_allocator_text(value, "no truth", err);
            *(bool *)at = value.data[0] == '1';
        } else if (allocator_fields[i].kind == BYTES) {
            a->counted = parse_bytes(value, at);
            if (!a->counted)
                return refuse_allocator_text(value, "no number", err);
        } else {
            if (value.size > VALUE_MAX_BYTES)
                return refuse_allocator_text(value, "a text that is too long",
                                             err);
            *(const char **)at =
                arena_strndup(stats->arena, value.data, value.size);
            if (!*(const char **)at) {
                error_memory(err, "the node's allocators");
                return -1;
            }
        }
        return 0;
    }
    return 0; /* an unknown key, of a newer agent */
}

static bool
is_allocator_text(struct span line)
{
    for (size_t i = 0; i < line.size; i++)
        if ((unsigned char)line.data[i] < ' ' && line.data[i] != '\t')
            return false;
    return true;
}

static int
parse_allocator_line(struct stats *stats, struct stats_allocator *a,
                     struct span line, struct error *err)
{
    const char *end = line.data + line.size;

    *a = (struct stats_allocator){"", "", "", "", "", "", .counted = false};
    if (!is_allocator_text(line))
        return refuse_allocator_text(line, "control bytes", err);
    /* <=: an empty field behind the last tab is an error, too. */
    for (const char *at = line.data; at <= end;) {
        const char *tab = memchr(at, '\t', (size_t)(end - at));
        const char *stop = tab ? tab : end;
        const char *equals = memchr(at, '=', (size_t)(stop - at));
        struct span name, value;

        if (!equals)
            return refuse_allocator_text(line, "no key and value", err);
        name = (struct span){at, (size_t)(equals - at)};
        value = (struct span){equals + 1, (size_t)(stop - equals - 1)};
        if (put_allocator_field(stats, a, name, value, err) != 0)
            return -1;
        at = stop + 1;
    }
    return 0;
}

int
stats_allocators_parse(struct stats *stats, const char *text, size_t size,
                       struct error *err)
{
    struct stats_allocator *list =
        arena_alloc(stats->arena, STATS_ALLOCATORS_MAX * sizeof(*list));
    struct reader r = reader_of(text, size);
    struct span line;
    size_t count = 0;

    if (!list) {
        error_memory(err, "the node's allocators");
        return -1;
    }
    if (size > 0 && text[size - 1] != '\n') {
        error_set(err, ER_UNKNOWN, "the agent's list of allocators is cut off");
        return -1;
    }
    while (reader_line(&r, &line)) {
        if (count == STATS_ALLOCATORS_MAX)
            return refuse_allocator_text(line, "too many", err);
        if (parse_allocator_line(stats, &list[count], line, err) != 0)
            return -1;
        count++;
    }
    stats->allocators = list;
    stats->allocator_count = count;
    return 0;
}

enum { NAMED_MAX = 3, NAME_SHOWN = 64 }; /* jemallocs; bytes of a name */

static bool
is_other(const struct stats_allocator *a)
{
    return a->callable && !a->chosen;
}

static struct stats_figure
sum_others(const struct stats *stats, bool resident)
{
    struct stats_figure sum = {0};

    for (size_t i = 0; i < stats->allocator_count; i++) {
        const struct stats_allocator *a = &stats->allocators[i];

        if (!is_other(a) || !a->counted)
            continue;
        sum.known = true;
        sum.value += resident ? a->resident : a->allocated;
    }
    return sum;
}

struct stats_figure
elsewhere_allocated(const struct stats *stats)
{
    return sum_others(stats, false);
}

struct stats_figure
elsewhere_resident(const struct stats *stats)
{
    return sum_others(stats, true);
}

bool
elsewhere_uncounted(const struct stats *stats)
{
    for (size_t i = 0; i < stats->allocator_count; i++)
        if (!stats->allocators[i].chosen && !stats->allocators[i].counted)
            return true;
    return false;
}

static bool
is_worth_it(const struct stats *stats, const struct stats_allocator *a)
{
    double all = 0;

    for (size_t i = 0; i < stats->allocator_count; i++)
        all += (double)stats->allocators[i].allocated;
    return a->allocated >= ELSEWHERE_WORTH_BYTES &&
           (double)a->allocated * ELSEWHERE_WORTH_PART >= all;
}

static void
write_unprofiled_allocator(const struct stats_allocator *a, struct buffer *out)
{
    const char *slash = strrchr(a->object, '/');
    const char *name = slash ? slash + 1 : a->object;

    if (a->counted)
        buffer_format(out, "%.1f MB are in %.*s's jemalloc",
                      (double)a->allocated / (1 << 20), NAME_SHOWN, name);
    else
        buffer_format(out,
                      "an unknown part is in %.*s's jemalloc, built without "
                      "statistics",
                      NAME_SHOWN, name);
    if (a->config_prof)
        buffer_format(out,
                      ", which is not profiled: --allocator %.*s chooses it",
                      NAME_SHOWN, name);
    else
        buffer_text(out, ", which cannot be profiled");
}

void
elsewhere_write(const struct stats *stats, struct buffer *out)
{
    unsigned named = 0;

    for (size_t i = 0; i < stats->allocator_count && named < NAMED_MAX; i++) {
        const struct stats_allocator *a = &stats->allocators[i];

        if (!is_other(a) || (a->counted && !is_worth_it(stats, a)))
            continue;
        if (named++ > 0)
            buffer_text(out, "; ");
        write_unprofiled_allocator(a, out);
    }
}
