/* profile.c - see profile.h. */
#include "profile.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "arena.h"
#include "errors.h"
#include "heap_dump.h"
#include "memory.h"
#include "profile_stacks.h"
#include "search.h"
#include "texts.h"

enum { PROFILE_MEMORY_MAX = 1 << 30 };

double
profile_scale(uint64_t count, uint64_t bytes, uint64_t rate)
{
    double ratio, chance;

    if (count == 0 || bytes == 0)
        return 1;
    ratio = (double)bytes / (double)count / (double)rate;
    chance = 1 - exp(-ratio);
    return 1 / (chance > 0 ? chance : ratio); /* tiny ones round to 0 */
}

const struct profile_module *
profile_module_find(const struct profile *profile, uint64_t address)
{
    size_t low =
        SEARCH_ABOVE(profile->modules, profile->module_count, end, address);

    return low < profile->module_count && profile->modules[low].start <= address
               ? &profile->modules[low]
               : NULL;
}

double
profile_value(const struct profile_stack *stack, enum measure measure)
{
    const double values[] = {
        [MEASURE_INUSE_SPACE] = stack->bytes,
        [MEASURE_INUSE_OBJECTS] = stack->objects,
        [MEASURE_ALLOC_SPACE] = stack->bytes_ever,
        [MEASURE_ALLOC_OBJECTS] = stack->objects_ever,
    };

    return values[measure];
}

double
profile_total(const struct profile *profile, enum measure measure)
{
    const double totals[] = {
        [MEASURE_INUSE_SPACE] = profile->bytes,
        [MEASURE_INUSE_OBJECTS] = profile->objects,
        [MEASURE_ALLOC_SPACE] = profile->bytes_ever,
        [MEASURE_ALLOC_OBJECTS] = profile->objects_ever,
    };

    return totals[measure];
}

double
profile_margin(const struct profile *profile)
{
    double variance = 0;

    for (size_t i = 0; i < profile->stack_count; i++)
        variance += profile->stacks[i].variance;
    return PROFILE_95 * sqrt(variance);
}

void
profile_add_up(struct profile *profile)
{
    for (size_t i = 0; i < profile->stack_count; i++) {
        const struct profile_stack *stack = &profile->stacks[i];

        profile->objects += stack->objects;
        profile->bytes += stack->bytes;
        profile->objects_ever += stack->objects_ever;
        profile->bytes_ever += stack->bytes_ever;
    }
}

static const char *
keep_text(struct texts *texts, const char *text)
{
    uint32_t number;

    if (texts_add_lasting(texts, text, &number) != 0)
        return NULL;
    return texts_get(texts, number);
}

int
location_copy(struct arena *arena, struct texts *texts,
              const struct location *from, struct location *to)
{
    struct frame *frames =
        arena_alloc(arena, from->frame_count * sizeof(*frames));

    if (!frames)
        return -1;
    for (uint32_t i = 0; i < from->frame_count; i++) {
        frames[i].function = keep_text(texts, from->frames[i].function);
        frames[i].file = keep_text(texts, from->frames[i].file);
        frames[i].line = from->frames[i].line;
        if (!frames[i].function || !frames[i].file)
            return -1;
    }
    *to = *from;
    to->frames = frames;
    to->module = keep_text(texts, from->module);
    if (from->symbol)
        to->symbol = keep_text(texts, from->symbol);
    return !to->module || (from->symbol && !to->symbol) ? -1 : 0;
}

/* What names lack. */
static int
name_location(struct arena *arena, uint64_t address, struct location *to)
{
    char digits[2 + 16 + 1];
    int size = snprintf(digits, sizeof(digits), "0x%" PRIx64, address);
    struct frame *frame = arena_alloc(arena, sizeof(*frame));

    if (!frame)
        return -1;
    frame->function = arena_strndup(arena, digits, (size_t)size);
    frame->file = "";
    *to = (struct location){
        .address = address, .frames = frame, .frame_count = 1, .module = ""};
    return frame->function ? 0 : -1;
}

/* With what they point to in names. */
static int
list_locations(struct profile *profile, const struct heap_dump *dump,
               const struct names *names)
{
    struct location *list =
        arena_alloc(profile->arena, dump->address_count * sizeof(*list));

    if (!list)
        return -1;
    for (size_t i = 0; i < dump->address_count; i++) {
        uint64_t address = dump->addresses[i];
        const struct location *named = names_find(names, address);

        if (named)
            list[i] = *named;
        else if (name_location(profile->arena, address, &list[i]) != 0)
            return -1;
    }
    profile->locations = list;
    profile->location_count = dump->address_count;
    return 0;
}

struct profile *
profile_begin(struct heap_dump *dump)
{
    struct profile *profile = mem_zalloc(1, sizeof(*profile));

    if (profile)
        profile->arena = arena_new(PROFILE_MEMORY_MAX);
    if (profile && profile->arena)
        arena_count(profile->arena, arena_meter(dump->arena));
    if (profile && profile->arena && profile_stacks_take(profile, dump) == 0)
        return profile;
    profile_free(profile);
    return NULL;
}

struct profile *
profile_finish(struct profile *profile, const struct heap_dump *dump,
               struct names *names, const char *program,
               const struct profile_origin *origin, struct error *err)
{
    if (!profile)
        goto out;
    profile->names = names_ref(names);
    profile->rate = dump->rate;
    profile->truncated = dump->truncated;
    profile->memory = "";
    if (origin)
        profile->origin = *origin;
    profile->program = arena_strndup(profile->arena, program, strlen(program));
    profile->note = arena_strndup(profile->arena, names_note(names),
                                  strlen(names_note(names)));
    if (profile->program && profile->note &&
        list_locations(profile, dump, names) == 0)
        return profile;
out:
    error_memory(err, "the profile");
    profile_free(profile);
    return NULL;
}

struct profile *
profile_new(struct heap_dump *dump, struct names *names, const char *program,
            const struct profile_origin *origin, struct error *err)
{
    return profile_finish(profile_begin(dump), dump, names, program, origin,
                          err);
}

size_t
profile_bytes(const struct profile *profile)
{
    return arena_used(profile->arena) +
           (profile->names ? names_memory(profile->names) : 0);
}

void
profile_free(struct profile *profile)
{
    if (!profile)
        return;
    arena_free(profile->arena);
    names_free(profile->names);
    mem_free(profile);
}
