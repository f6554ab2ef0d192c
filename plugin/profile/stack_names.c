/* stack_names.c - see stack_names.h. */
#include "stack_names.h"

#include <stdio.h>
#include <string.h>

#include "errors.h"
#include "memory.h"
#include "profile.h"
#include "texts.h"
#include "view_options.h"

/*
 * jeprof's: callbacks meet in one Run that calls everything and makes the
 * graph unreadable; one Run per function called keeps them apart.
 */
static int
run_name(struct stack_names *names, size_t callee, uint32_t *name)
{
    char text[32];
    int size;

    if (names->run_names[callee] == 0) {
        size = snprintf(text, sizeof(text), "Run#%u", ++names->run_count);
        if (texts_add(names->texts, text, (size_t)size, name) != 0)
            return -1;
        names->run_names[callee] = *name + 1;
    }
    *name = names->run_names[callee] - 1;
    return 0;
}

int
stack_names_get(struct stack_names *names, const struct profile_stack *stack,
                struct stack_frame *out, size_t *count)
{
    const struct symbols *symbols = &names->symbols;
    struct allocator_cut cut = allocator_cut(symbols->parts, stack->locations,
                                             stack->depth, names->reach);
    size_t callee = names->profile->location_count; /* none */

    *count = 0;
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
            if (symbols->runs[number] &&
                run_name(names, callee, &to->name) != 0)
                return -1;
        }
        callee = at;
    }
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
    bool jeprof_rule = (options ? options : &view_defaults)->allocator_frames;

    memset(names, 0, sizeof(*names));
    if (options && !has_measure(profile, options->measure)) {
        error_set(err, ER_WRONG_ARGUMENTS,
                  "the profile does not count what was ever allocated: that "
                  "needs prof_accum:true in MALLOC_CONF of the process");
        return -1;
    }
    names->profile = profile;
    names->reach = jeprof_rule ? UINT32_MAX : ALLOCATOR_REACH;
    names->texts = texts_new(arena);
    names->run_names =
        mem_zalloc(profile->location_count + 1, sizeof(*names->run_names));
    if (!names->texts || !names->run_names ||
        symbols_make(profile, jeprof_rule, arena, names->texts,
                     &names->symbols) != 0) {
        error_memory(err, "the functions' names");
        return -1;
    }
    /* Every location may yet add a Run#, and so may none. */
    names->texts_max =
        texts_count(names->texts) + (uint32_t)profile->location_count + 1;
    names->longest = longest_stack(profile, names->symbols.first);
    return 0;
}

void
stack_names_fini(struct stack_names *names)
{
    texts_free(names->texts);
    mem_free(names->run_names);
    memset(names, 0, sizeof(*names));
}
