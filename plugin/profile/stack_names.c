/* stack_names.c - see stack_names.h. */
#include "stack_names.h"

#include <stdio.h>
#include <string.h>

#include "errors.h"
#include "granularity.h"
#include "memory.h"
#include "profile.h"
#include "texts.h"

enum { NAME_BYTES_MAX = 16 << 20 };

/*
 * jeprof's: callbacks meet in one Run that calls everything and makes the
 * graph unreadable; one Run per function called keeps them apart.
 */
static int
run_name(struct stack_names *names, size_t callee, struct stack_frame *frame)
{
    const struct location *location =
        &names->profile->locations[frame->location];
    char run[32];

    if (names->runs[callee] == 0)
        names->runs[callee] = ++names->run_count;
    snprintf(run, sizeof(run), "Run#%u", names->runs[callee]);
    buffer_clear(&names->scratch);
    granularity_name(&names->scratch, names->granularity, run,
                     &location->frames[frame->frame], location->address);
    if (names->scratch.failed)
        return -1;
    return texts_add(names->texts, names->scratch.data, names->scratch.size,
                     &frame->name);
}

/* Without a filter: what the marks of its frames are goes to *marks. */
static int
get_frames(struct stack_names *names, const struct profile_stack *stack,
           struct stack_frame *out, size_t *count, unsigned *marks)
{
    const struct symbols *symbols = &names->symbols;
    struct allocator_cut cut = allocator_cut(symbols->parts, stack->locations,
                                             stack->depth, names->reach);
    size_t callee = names->profile->location_count; /* none */

    *count = 0;
    *marks = 0;
    for (uint32_t i = cut.location; i < stack->depth; i++) {
        uint32_t at = stack->locations[i];
        uint32_t frame = i == cut.location ? cut.frame : 0;
        uint32_t frames = symbols->first[at + 1] - symbols->first[at];

        /* The kernel's half: no code of the process lies there. */
        if (names->profile->locations[at].address > INT64_MAX)
            frame = frames;
        for (; frame < frames; frame++) {
            uint32_t number = symbols->first[at] + frame;
            struct stack_frame *to = &out[(*count)++];

            *to = (struct stack_frame){symbols->names[number], at, frame};
            if (names->filter.marks)
                *marks |= names->filter.marks[number];
            if (symbols->runs[number] && run_name(names, callee, to) != 0)
                return -1;
        }
        callee = at;
    }
    return 0;
}

int
stack_names_get(struct stack_names *names, const struct profile_stack *stack,
                struct stack_frame *out, size_t *count)
{
    unsigned marks;

    if (get_frames(names, stack, out, count, &marks) != 0)
        return -1;
    names->hidden = names->filter.marks && !filter_shows(&names->filter, marks);
    if (names->hidden)
        *count = 0;
    return 0;
}

static size_t
longest_stack(const struct profile *profile, const uint32_t *first)
{
    size_t longest = 0;

    for (size_t i = 0; i < profile->stack_count; i++) {
        const struct profile_stack *stack = &profile->stacks[i];
        size_t frames = 0;

        for (uint32_t k = 0; k < stack->depth; k++)
            frames +=
                first[stack->locations[k] + 1] - first[stack->locations[k]];
        if (frames > longest)
            longest = frames;
    }
    return longest;
}

/* Makes the names of all Runs, so that no stack adds one later. */
static int
name_runs(struct stack_names *names)
{
    const struct profile *profile = names->profile;
    uint32_t frames = names->symbols.first[profile->location_count], i = 0;
    struct stack_frame *out;
    size_t count;
    int rc = 0;

    while (i < frames && !names->symbols.runs[i])
        i++;
    if (i == frames)
        return 0;
    out = mem_zalloc(names->longest, sizeof(*out));
    if (!out)
        return -1;
    for (size_t k = 0; k < profile->stack_count && rc == 0; k++)
        rc = stack_names_get(names, &profile->stacks[k], out, &count);
    mem_free(out);
    return rc;
}

static bool
has_measure(const struct profile *profile, enum measure measure)
{
    return measure == MEASURE_INUSE_SPACE || measure == MEASURE_INUSE_OBJECTS ||
           profile->accumulated || profile->stack_count == 0;
}

int
stack_names_init(struct stack_names *names, const struct profile *profile,
                 const struct view_options *options, struct arena *arena,
                 struct error *err)
{
    if (!options)
        options = &view_defaults;
    memset(names, 0, sizeof(*names));
    if (!has_measure(profile, options->measure)) {
        error_set(err, ER_UNKNOWN,
                  "the profile does not count what was ever allocated: that "
                  "needs prof_accum:true in MALLOC_CONF of the process");
        return -1;
    }
    names->profile = profile;
    names->granularity = options->granularity;
    names->reach = options->allocator_frames ? UINT32_MAX : ALLOCATOR_REACH;
    buffer_init(&names->scratch, NAME_BYTES_MAX);
    names->texts = texts_new(arena);
    names->runs = mem_zalloc(profile->location_count + 1, sizeof(*names->runs));
    if (!names->texts || !names->runs ||
        symbols_make(profile, options, arena, names->texts, &names->symbols) !=
            0) {
        error_memory(err, "the functions' names");
        return -1;
    }
    if (filter_init(&names->filter, profile, &names->symbols, names->texts,
                    options, err) != 0)
        return -1;
    names->longest = longest_stack(profile, names->symbols.first);
    if (name_runs(names) != 0) {
        error_memory(err, "the functions' names");
        return -1;
    }
    names->texts_max = texts_count(names->texts);
    return 0;
}

void
stack_names_fini(struct stack_names *names)
{
    filter_fini(&names->filter);
    texts_free(names->texts);
    mem_free(names->runs);
    buffer_fini(&names->scratch);
    memset(names, 0, sizeof(*names));
}
