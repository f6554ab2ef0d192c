/* view_options.c - see view_options.h. */
#include "view_options.h"

#include <inttypes.h>
#include <string.h>

#include "buffer.h"
#include "errors.h"
#include "names.h"

enum { CANCEL_EVERY = 1024 }; /* a power of two */

const struct view_options view_defaults = {.nodecount = 80,
                                           .nodefraction = .005,
                                           .edgefraction = .001,
                                           .maxdegree = 8};

const char *const measure_words[] = {"inuse_space", "inuse_objects",
                                     "alloc_space", "alloc_objects"};
const char *const granularity_words[] = {"functions", "lines", "files",
                                         "addresses"};

static bool
find(const char *const *words, size_t count, const char *word, unsigned *out)
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

    if (!find(measure_words, MEASURE_COUNT, word, &i))
        return false;
    *out = (enum measure)i;
    return true;
}

bool
granularity_parse(const char *word, enum granularity *out)
{
    unsigned i;

    if (!find(granularity_words, GRANULARITY_COUNT, word, &i))
        return false;
    *out = (enum granularity)i;
    return true;
}

bool
measure_is_space(enum measure measure)
{
    return measure == MEASURE_INUSE_SPACE || measure == MEASURE_ALLOC_SPACE;
}

bool
view_cancelled(const struct view_options *options, size_t i, struct error *err)
{
    /* Only the flag itself matters, so relaxed order is enough. */
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
granularity_place(struct buffer *out, const struct frame *frame)
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
    granularity_place(out, frame);
}
