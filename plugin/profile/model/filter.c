/* filter.c - see filter.h. */
#include "filter.h"

#include <string.h>

#include "buffer.h"
#include "errors.h"
#include "view_options.h"
#include "memory.h"
#include "pattern.h"
#include "profile.h"
#include "symbols.h"
#include "texts.h"

enum { PLACE_MAX = 1 << 20 };

/* One pattern, to be matched with everything. */
struct matcher {
    const struct profile *profile;
    const struct symbols *symbols;
    const struct texts *texts;
    const struct view_options *options;
    struct pattern *pattern;
    uint8_t *names; /* per text: 1 + whether it matches, once known */
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
    granularity_place(&m->scratch, frame);
    return match_scratch(m);
}

static int
match_location(struct matcher *m, size_t i, uint8_t mark, uint8_t *marks)
{
    const struct location *location = &m->profile->locations[i];
    int address, rc;

    buffer_clear(&m->scratch);
    granularity_address(&m->scratch, location->address);
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
match_all(struct matcher *m, const char *what, const char *text, uint8_t mark,
          uint8_t *marks)
{
    int rc = -1;

    if (!text || *text == '\0')
        return 0;
    m->pattern = pattern_new(what, text, m->options->cancelled, m->err);
    if (!m->pattern)
        return -1;
    buffer_init(&m->scratch, PLACE_MAX);
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
    if (match_all(&m, "focus", options->focus, FILTER_FOCUS, filter->marks) !=
        0)
        return -1;
    return match_all(&m, "ignore", options->ignore, FILTER_IGNORE,
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
