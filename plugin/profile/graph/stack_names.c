/*
 * stack_names.c - see stack_names.h.
 *
 * Naming frames (symbols.c) takes longer than drawing most forms, and dump
 * after dump of one process has the same addresses.  So the result is kept with
 * the struct names that these profiles share, and is used again if the
 * addresses are the same; it is limited in size, and made anew otherwise.  A
 * stack then only copies numbers: stack_names_list() is a loop over two arrays
 * in the usual case, without focus and without Runs.
 *
 * A struct stack_names belongs to one thread; kept symbols are shared by all
 * threads and never change.
 */
#include "stack_names.h"

#include <stdio.h>
#include <string.h>

#include "arena.h"
#include "errors.h"
#include "memory.h"
#include "names.h"
#include "profile.h"
#include "texts.h"
#include "view_options.h"

enum { SYMBOLS_KEPT_BYTES_MAX = 16 << 20 /* per table of names */ };

enum { MAKING_BYTES_MAX = 1 << 30 };

/* The symbols (symbols.h), kept with the names that they are made from.  Only
 * for the granularity of functions and without the allocator's frames, the
 * usual options.  Read by any thread; nothing is added to them. */
struct symbols_kept {
    struct names_made made; /* first */
    struct arena *arena;
    struct texts *texts;
    struct symbols symbols;
    uint64_t *addresses; /* of the locations */
    size_t count;
    const char *wrappers; /* by which the allocator's frames were chosen */
};

static void
symbols_kept_free(struct names_made *made)
{
    struct symbols_kept *kept = (struct symbols_kept *)made;

    texts_free(kept->texts);
    arena_free(kept->arena);
    mem_free(kept);
}

static struct symbols_kept *
make_kept_symbols(const struct profile *profile,
                  const struct view_options *options)
{
    struct symbols_kept *kept = mem_zalloc(1, sizeof(*kept));
    const char *wrappers = options->wrappers ? options->wrappers : "";

    if (!kept)
        return NULL;
    kept->arena = arena_new(MAKING_BYTES_MAX);
    if (kept->arena) {
        kept->texts = texts_new(kept->arena);
        kept->addresses = arena_alloc(
            kept->arena, profile->location_count * sizeof(*kept->addresses));
        kept->wrappers = arena_strndup(kept->arena, wrappers, strlen(wrappers));
    }
    if (!kept->texts || !kept->addresses || !kept->wrappers ||
        symbols_make(profile, options, kept->arena, kept->texts,
                     &kept->symbols) != 0) {
        symbols_kept_free(&kept->made);
        return NULL;
    }
    for (size_t i = 0; i < profile->location_count; i++)
        kept->addresses[i] = profile->locations[i].address;
    kept->count = profile->location_count;
    kept->made.free = symbols_kept_free;
    kept->made.bytes =
        sizeof(*kept) + arena_used(kept->arena) + texts_memory(kept->texts);
    return kept;
}

static bool
has_profile_addresses(const struct symbols_kept *kept,
                      const struct profile *profile)
{
    if (kept->count != profile->location_count)
        return false;
    for (size_t i = 0; i < kept->count; i++)
        if (kept->addresses[i] != profile->locations[i].address)
            return false;
    return true;
}

/* Sets *kept to the profile's kept symbols, making them if there are none; NULL
 * if this profile or these options cannot have any.  *own: the caller frees
 * them; otherwise they last as long as profile.  Symbols with a Run are not
 * shared, because its names are added later, stack by stack.  -1 without
 * memory. */
static int
symbols_kept_get(const struct profile *profile,
                 const struct view_options *options, struct symbols_kept **kept,
                 bool *own)
{
    unsigned kind = options->jeprof_names;
    struct symbols_kept *found;

    *kept = NULL;
    *own = false;
    if (!profile->names || options->granularity != GRANULARITY_FUNCTIONS ||
        options->allocator_frames)
        return 0;
    found = (struct symbols_kept *)names_made(profile->names, kind);
    if (found && !has_profile_addresses(found, profile))
        return 0;
    if (!found) {
        found = make_kept_symbols(profile, options);
        if (!found)
            return -1;
        *own = found->made.bytes > SYMBOLS_KEPT_BYTES_MAX ||
               !names_keep_made(profile->names, kind, &found->made);
    }
    if (!found->symbols.has_runs) {
        *kept = found;
    } else if (*own) {
        symbols_kept_free(&found->made);
        *own = false;
    }
    return 0;
}

enum { NAME_BYTES_MAX = 16 << 20 };

/* Names a Run as jeprof does.  All callbacks go through one Run that calls
 * everything, which makes the graph unreadable; one Run per called function
 * keeps them apart. */
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

/* Where a stack begins: in a profile of the heap, behind the allocator. */
static struct allocator_cut
cut_of(const struct stack_names *names, const struct profile_stack *stack)
{
    if (names->profile->kind != PROFILE_HEAP)
        return (struct allocator_cut){0, 0};
    return allocator_cut(names->symbols.parts, stack->locations, stack->depth,
                         names->reach);
}

/* The frames of a stack, in focus or not.  *marks becomes their filter's
 * marks. */
static int
get_frames(struct stack_names *names, const struct profile_stack *stack,
           struct stack_frame *out, size_t *count, unsigned *marks)
{
    const struct symbols *symbols = &names->symbols;
    struct allocator_cut cut = cut_of(names, stack);
    size_t callee = names->profile->location_count; /* none */

    *count = 0;
    *marks = 0;
    for (uint32_t i = cut.location; i < stack->depth; i++) {
        uint32_t at = stack->locations[i];
        uint32_t frame = i == cut.location ? cut.frame : 0;

        for (; frame < names->shown[at].count; frame++) {
            uint32_t number = names->shown[at].first + frame;
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

int
stack_names_list(struct stack_names *names, const struct profile_stack *stack,
                 uint32_t *out, size_t *count)
{
    const uint32_t *all = names->symbols.names;
    struct allocator_cut cut;
    uint32_t skipped;
    size_t n = 0;

    if (names->symbols.has_runs || names->filter.marks) {
        if (stack_names_get(names, stack, names->frames, count) != 0)
            return -1;
        for (size_t i = 0; i < *count; i++)
            out[i] = names->frames[i].name;
        return 0;
    }
    /* Without Runs and filter, the names of a location are the same in every
     * stack. */
    cut = cut_of(names, stack);
    skipped = cut.frame;
    for (uint32_t i = cut.location; i < stack->depth; i++, skipped = 0) {
        struct shown_frames shown = names->shown[stack->locations[i]];

        for (uint32_t k = skipped; k < shown.count; k++)
            out[n++] = all[shown.first + k];
    }
    *count = n;
    return 0;
}

/* Decides which frames each location shows, and bounds the frames of a
 * stack. */
static int
show_frames(struct stack_names *names)
{
    const struct profile *profile = names->profile;
    const uint32_t *first = names->symbols.first;
    size_t most = 0, deepest = 0;

    names->shown = mem_zalloc(profile->location_count, sizeof(*names->shown));
    if (!names->shown)
        return -1;
    for (size_t i = 0; i < profile->location_count; i++) {
        uint32_t count = first[i + 1] - first[i];

        /* The kernel's half of the addresses, where the process has no code. */
        if (profile->locations[i].address > INT64_MAX)
            count = 0;
        names->shown[i] = (struct shown_frames){first[i], count};
        most = count > most ? count : most;
    }
    for (size_t i = 0; i < profile->stack_count; i++)
        if (profile->stacks[i].depth > deepest)
            deepest = profile->stacks[i].depth;
    names->longest = deepest * most;
    names->frames = mem_zalloc(names->longest, sizeof(*names->frames));
    return names->frames ? 0 : -1;
}

/* Makes the names of all Runs in advance, so that no stack adds one. */
static int
name_runs(struct stack_names *names)
{
    const struct profile *profile = names->profile;
    size_t count;
    int rc = 0;

    if (!names->symbols.has_runs)
        return 0;
    for (size_t k = 0; k < profile->stack_count && rc == 0; k++)
        rc = stack_names_get(names, &profile->stacks[k], names->frames, &count);
    return rc;
}

static int
check_measure(const struct profile *profile, enum measure measure,
              struct error *err)
{
    bool heap = profile->kind == PROFILE_HEAP;

    if (measure == MEASURE_INUSE_SPACE || measure == MEASURE_INUSE_OBJECTS)
        return 0;
    if (heap != (measure != MEASURE_TIME && measure != MEASURE_SAMPLES)) {
        error_set(err, ER_WRONG_ARGUMENTS, "%s, but not by %s",
                  heap ? "a profile of the heap can be shown by inuse_space, "
                         "inuse_objects, alloc_space, alloc_objects or waste"
                       : "a profile of time can be shown by time or samples",
                  measure_words[measure]);
        return -1;
    }
    if (measure == MEASURE_WASTE && !profile->wasted) {
        error_set(err, ER_UNKNOWN, "the profile has no figures of waste: %s",
                  profile->nodes > 0
                      ? "a node of the sum has none"
                      : "that needs jemalloc's counts by size class "
                        "(heapwire.malloc_bins) at the time of the snapshot");
        return -1;
    }
    if (!heap || measure == MEASURE_WASTE || profile->accumulated ||
        profile->stack_count == 0)
        return 0;
    error_set(err, ER_UNKNOWN,
              "the profile does not count what was ever allocated: %s",
              profile->weighted
                  ? "the recorder does so until its first reset"
                  : "that needs prof_accum:true in MALLOC_CONF of the "
                    "process");
    return -1;
}

/* Takes the kept symbols if share allows it and there are any; otherwise makes
 * symbols in arena. */
static int
take_symbols(struct stack_names *names, const struct view_options *options,
             struct arena *arena, bool share)
{
    if (share && symbols_kept_get(names->profile, options, &names->kept,
                                  &names->owns_kept) != 0)
        return -1;
    if (names->kept) {
        names->texts = names->kept->texts;
        names->symbols = names->kept->symbols;
        /* The allocator's frames may have been chosen by another list of
         * wrappers; names do not depend on it. */
        return strcmp(names->kept->wrappers,
                      options->wrappers ? options->wrappers : "") == 0
                   ? 0
                   : symbols_part(names->profile, options, arena, names->texts,
                                  &names->symbols);
    }
    names->texts = texts_new(arena);
    return names->texts ? symbols_make(names->profile, options, arena,
                                       names->texts, &names->symbols)
                        : -1;
}

static int
prepare_stack_names(struct stack_names *names, const struct profile *profile,
                    const struct view_options *options, struct arena *arena,
                    bool share, struct error *err)
{
    if (!options)
        options = &view_defaults;
    memset(names, 0, sizeof(*names));
    if (check_measure(profile, options->measure, err) != 0)
        return -1;
    names->profile = profile;
    names->granularity = options->granularity;
    names->reach = options->allocator_frames ? UINT32_MAX : ALLOCATOR_REACH;
    buffer_init(&names->scratch, NAME_BYTES_MAX);
    names->runs = mem_zalloc(profile->location_count + 1, sizeof(*names->runs));
    if (!names->runs || take_symbols(names, options, arena, share) != 0) {
        error_memory(err, "the functions' names");
        return -1;
    }
    if (filter_init(&names->filter, profile, &names->symbols, names->texts,
                    options, err) != 0)
        return -1;
    if (show_frames(names) != 0 || name_runs(names) != 0) {
        error_memory(err, "the functions' names");
        return -1;
    }
    names->texts_max = texts_count(names->texts);
    return 0;
}

int
stack_names_init(struct stack_names *names, const struct profile *profile,
                 const struct view_options *options, struct arena *arena,
                 struct error *err)
{
    return prepare_stack_names(names, profile, options, arena, false, err);
}

int
stack_names_share(struct stack_names *names, const struct profile *profile,
                  const struct view_options *options, struct arena *arena,
                  struct error *err)
{
    return prepare_stack_names(names, profile, options, arena, true, err);
}

void
stack_names_fini(struct stack_names *names)
{
    filter_fini(&names->filter);
    if (names->kept == NULL)
        texts_free(names->texts);
    if (names->kept && names->owns_kept)
        symbols_kept_free(&names->kept->made);
    mem_free(names->runs);
    mem_free(names->shown);
    mem_free(names->frames);
    buffer_fini(&names->scratch);
    memset(names, 0, sizeof(*names));
}
