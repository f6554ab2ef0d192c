/*
 * profile.c - see profile.h.
 *
 * Like jeprof, it estimates a repeated stack's entries first and adds then: the
 * other order gives other numbers, and people compare.  A dump's lists of
 * addresses are taken over, not copied, for they are most of its memory; equal
 * stacks are found by a hash, which jemalloc's sorted dumps do not need.  Made
 * on the thread that dumps, or that reads a snapshot.
 */
#include "profile.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "arena.h"
#include "errors.h"
#include "hash.h"
#include "heap_dump.h"
#include "live_parts.h"
#include "memory.h"
#include "search.h"
#include "texts.h"

enum {
    PROFILE_MEMORY_MAX = 1 << 30,
    ESTIMATE_PARTS = 1024 /* see estimate_amount() */
};

double
profile_scale(uint64_t count, uint64_t bytes, uint64_t rate)
{
    double ratio, chance;

    if (count == 0 || bytes == 0)
        return 1;
    ratio = (double)bytes / (double)count / (double)rate;
    chance = 1 - exp(-ratio);
    return 1 /
           (chance > 0 ? chance : ratio); /* 1 - exp() of a tiny ratio is 0 */
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

const char *
profile_kind_name(enum profile_kind kind)
{
    static const char *const names[] = {"the heap", "the processor",
                                        "the clock"};

    return names[kind];
}

const char *
profile_kind_keyword(enum profile_kind kind)
{
    static const char *const words[] = {"heap", "cpu", "wall"};

    return words[kind];
}

struct view_options
profile_view(const struct profile *profile, const struct view_options *options)
{
    struct view_options out = options ? *options : view_defaults;

    if (profile->kind != PROFILE_HEAP && out.measure == MEASURE_INUSE_SPACE)
        out.measure = MEASURE_TIME;
    if (profile->kind != PROFILE_HEAP && out.measure == MEASURE_INUSE_OBJECTS)
        out.measure = MEASURE_SAMPLES;
    return out;
}

double
profile_value(const struct profile_stack *stack, enum measure measure)
{
    const double values[] = {
        [MEASURE_INUSE_SPACE] = stack->bytes,
        [MEASURE_INUSE_OBJECTS] = stack->objects,
        [MEASURE_ALLOC_SPACE] = stack->bytes_ever,
        [MEASURE_ALLOC_OBJECTS] = stack->objects_ever,
        [MEASURE_TIME] = stack->bytes,
        [MEASURE_SAMPLES] = stack->objects,
        [MEASURE_WASTE] = stack->waste,
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
        [MEASURE_TIME] = profile->bytes,
        [MEASURE_SAMPLES] = profile->objects,
        [MEASURE_WASTE] = profile->waste_bytes,
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
        profile->waste_bytes += stack->waste;
    }
}

static const char *
intern_profile_text(struct texts *texts, const char *text)
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
        frames[i].function =
            intern_profile_text(texts, from->frames[i].function);
        frames[i].file = intern_profile_text(texts, from->frames[i].file);
        frames[i].line = from->frames[i].line;
        if (!frames[i].function || !frames[i].file)
            return -1;
    }
    *to = *from;
    to->frames = frames;
    to->module = intern_profile_text(texts, from->module);
    if (from->symbol)
        to->symbol = intern_profile_text(texts, from->symbol);
    return !to->module || (from->symbol && !to->symbol) ? -1 : 0;
}

/* ---- stacks ---- */

/* The stacks of a dump being taken over. */
struct taking {
    struct profile *profile;
    struct profile_stack *list;
    struct live_parts *parts; /* NULL: the dump has none */
    struct live_sizes *sizes; /* NULL: the dump is not sized */
    size_t share;             /* index of the dump's next share */
    struct hash_index index;  /* of list; not used if all are distinct */
};

static struct profile_stack *
append_profile_stack(struct taking *t, const struct heap_stack *from)
{
    struct profile_stack *place = &t->list[t->profile->stack_count++];

    place->locations = from->addresses;
    place->depth = from->depth;
    return place;
}

/* The stack in t->list with equal addresses, or a new one at its end. */
static struct profile_stack *
find_or_add_profile_stack(struct taking *t, const struct heap_stack *from)
{
    size_t size = from->depth * sizeof(*from->addresses);
    uint32_t hash =
        (uint32_t)hash_bytes(hash_seed(t), (const char *)from->addresses, size);
    struct hash_slot *slot = hash_index_first(&t->index, hash);
    struct profile_stack *place;

    for (; slot->entry; slot = hash_index_next(&t->index, slot)) {
        place = &t->list[slot->entry - 1];
        if (place->depth == from->depth &&
            memcmp(place->locations, from->addresses, size) == 0)
            return place;
    }
    place = append_profile_stack(t, from);
    *slot = (struct hash_slot){(uint32_t)t->profile->stack_count, hash};
    return place;
}

static void
add_sampled_counts(struct profile_sampled *to, uint64_t objects, uint64_t bytes)
{
    profile_add_saturated(&to->objects, objects);
    profile_add_saturated(&to->bytes, bytes);
}

/*
 * Each of the n sampled objects had the chance p = 1/scale, and stands for w =
 * scale * its bytes.  Such a sum has the variance n * w * w * (1 - p),
 * estimated from the sample itself.
 */
static double
estimate_variance(uint64_t objects, uint64_t bytes, double scale)
{
    double each;

    if (objects == 0)
        return 0;
    each = (double)bytes * scale / (double)objects;
    return (double)objects * each * each * (1 - 1 / scale);
}

/* An estimate, rounded to 1/1024.  Sums of these are exact up to 8 TB in any
 * order, so equal values compare equal, and an unchanged one differs by 0. */
static double
estimate_amount(uint64_t sampled, double scale)
{
    return rint((double)sampled * scale * ESTIMATE_PARTS) / ESTIMATE_PARTS;
}

void
profile_add_estimate(struct heap_estimate *to, uint64_t objects, uint64_t bytes,
                     double scale)
{
    to->objects += estimate_amount(objects, scale);
    to->bytes += estimate_amount(bytes, scale);
    to->variance += estimate_variance(objects, bytes, scale);
}

/* A sample of time stands for itself.  Their number is chance (Poisson), so
 * the variance is the sum of the samples' squares, taken as equal.  By the
 * clock, a thread that sleeps is one long sample, whose time is known but
 * for one tick. */
static struct heap_estimate
time_of(const struct heap_stack *from, const struct heap_dump *dump)
{
    double samples = (double)from->objects, time = (double)from->bytes;
    double each = samples > 0 ? time / samples : 0;

    if (dump->kind == PROFILE_WALL && each > (double)dump->rate)
        each = (double)dump->rate;
    return (struct heap_estimate){samples, time, samples * each * each};
}

static struct heap_estimate
estimate_of(const struct heap_stack *from, const struct heap_dump *dump)
{
    struct heap_estimate e = {0};

    if (dump->kind != PROFILE_HEAP)
        return time_of(from, dump);
    if (dump->weighted)
        return from->estimate;
    profile_add_estimate(&e, from->objects, from->bytes,
                         profile_scale(from->objects, from->bytes, dump->rate));
    return e;
}

static void
add_stack_counts(struct profile_stack *to, const struct heap_stack *from,
                 const struct heap_estimate *in_use,
                 const struct heap_dump *dump)
{
    double ever = dump->weighted ? 1
                                 : profile_scale(from->objects_ever,
                                                 from->bytes_ever, dump->rate);

    to->objects += in_use->objects;
    to->bytes += in_use->bytes;
    to->variance += in_use->variance;
    to->objects_ever += estimate_amount(from->objects_ever, ever);
    to->bytes_ever += estimate_amount(from->bytes_ever, ever);
    add_sampled_counts(&to->in_use, from->objects, from->bytes);
    add_sampled_counts(&to->ever, from->objects_ever, from->bytes_ever);
}

static void
add_stack_part(struct taking *t, const struct profile_stack *to,
               const struct heap_stack *from,
               const struct heap_estimate *in_use)
{
    struct live_part part = {.stack = (uint32_t)(to - t->list),
                             .thread = from->thread,
                             .age = from->age,
                             .samples = from->objects,
                             .objects = in_use->objects,
                             .bytes = in_use->bytes};

    live_parts_add(t->parts, &part);
}

/* What a dump's line by thread stands for. */
static struct heap_estimate
estimate_share(const struct heap_share *share, uint64_t rate)
{
    double scale = profile_scale(share->objects, share->bytes, rate);

    return (struct heap_estimate){.objects = (double)share->objects * scale,
                                  .bytes = (double)share->bytes * scale};
}

/* Adds a thread's part of a stack, and takes it from the rest. */
static void
add_thread_share(struct taking *t, struct live_part *rest,
                 const struct heap_share *share, double objects, double bytes)
{
    struct live_part part = *rest;

    part.thread = share->thread;
    if (share->objects < part.samples)
        part.samples = share->objects;
    part.objects = fmin(estimate_amount(1, objects), rest->objects);
    part.bytes = fmin(estimate_amount(1, bytes), rest->bytes);
    rest->samples -= part.samples;
    rest->objects -= part.objects;
    rest->bytes -= part.bytes;
    live_parts_add(t->parts, &part);
}

/* Divides the dump's next stack by its lines by thread.  A thread's objects may
 * be of other sizes than the stack's, so each line has a scale of its own; and
 * jemalloc 5.3 corrects each line for the chance of sampling, and rounds it, so
 * that the lines' counts do not quite add up to the stack's.  So the stack is
 * divided in proportion to what the lines stand for, and the last one gets the
 * rest.  All is the unknown thread's (the first) if there are no lines, if they
 * exceed the stack by more than rounding, or if the list of shares ends too
 * soon. */
static void
add_thread_shares(struct taking *t, const struct heap_dump *dump,
                  uint32_t stack, const struct profile_stack *to,
                  const struct heap_stack *from,
                  const struct heap_estimate *in_use)
{
    struct live_part rest = {.stack = (uint32_t)(to - t->list),
                             .samples = from->objects,
                             .objects = in_use->objects,
                             .bytes = in_use->bytes};
    struct heap_estimate one, sum = {0};
    size_t first = t->share, count;
    uint64_t samples = 0;

    for (;
         t->share < dump->share_count && dump->shares[t->share].stack == stack;
         t->share++) {
        one = estimate_share(&dump->shares[t->share], dump->rate);
        sum.objects += one.objects;
        sum.bytes += one.bytes;
        profile_add_saturated(&samples, dump->shares[t->share].objects);
    }
    count = t->share - first;
    if (from->objects == 0)
        return;
    if ((samples > count && samples - count > from->objects) ||
        (samples < from->objects && t->share == dump->share_count &&
         (dump->truncated || t->share == HEAP_DUMP_SHARES_MAX)))
        count = 0;
    for (size_t i = first; i + 1 < first + count; i++) {
        one = estimate_share(&dump->shares[i], dump->rate);
        add_thread_share(t, &rest, &dump->shares[i],
                         in_use->objects * (one.objects / sum.objects),
                         sum.bytes > 0 ? in_use->bytes * (one.bytes / sum.bytes)
                                       : 0);
    }
    if (count > 0)
        add_thread_share(t, &rest, &dump->shares[first + count - 1],
                         rest.objects, rest.bytes);
    else
        live_parts_add(t->parts, &rest);
}

static void
add_dump_stacks(struct taking *t, const struct heap_dump *dump)
{
    struct profile *profile = t->profile;
    struct profile_stack *to = NULL;
    uint32_t stack = 0;

    for (struct heap_piece *piece = dump->stacks.first; piece;
         piece = piece->next)
        for (size_t i = 0; i < piece->count; i++) {
            const struct heap_stack *from = &piece->stacks[i];
            struct heap_estimate in_use = estimate_of(from, dump);

            /* Entries of one stack follow each other, and share its
             * addresses. */
            if (!to || from->addresses != to->locations ||
                from->depth != to->depth)
                to = t->index.slots ? find_or_add_profile_stack(t, from)
                                    : append_profile_stack(t, from);
            add_stack_counts(to, from, &in_use, dump);
            if (t->parts && dump->threads.numbered)
                add_thread_shares(t, dump, stack++, to, from, &in_use);
            else if (t->parts && from->objects > 0)
                add_stack_part(t, to, from, &in_use);
            if (t->sizes)
                live_sizes_add(t->sizes, (uint32_t)(to - t->list), from);
            profile_add_saturated(&profile->samples, from->objects);
            profile->accumulated |= from->objects_ever > 0;
        }
}

static int
take_dump_stacks(struct profile *profile, struct heap_dump *dump)
{
    struct taking t = {.profile = profile};

    t.list = arena_alloc(profile->arena, dump->stack_count * sizeof(*t.list));
    if (!t.list)
        return -1;
    if (dump->threads.count > 0) {
        t.parts = live_parts_new(profile->arena, dump);
        if (!t.parts)
            return -1;
    }
    if (dump->sized) {
        t.sizes = live_sizes_new(profile->arena, dump);
        if (!t.sizes)
            return -1;
    }
    if (!dump->sorted &&
        (!arena_charge(profile->arena, hash_index_bytes(dump->stack_count)) ||
         hash_index_reserve(&t.index, dump->stack_count) != 0))
        return -1;
    add_dump_stacks(&t, dump);
    hash_index_fini(&t.index);
    if (t.parts)
        live_parts_finish(t.parts);
    profile->parts = t.parts;
    if (t.sizes)
        live_sizes_finish(t.sizes);
    profile->sizes = t.sizes;
    if (arena_adopt(profile->arena, dump->stacks.indices) != 0)
        return -1;
    /* frees the pieces before locations are made */
    heap_stacks_fini(&dump->stacks);
    profile->stacks = t.list;
    profile_add_up(profile);
    return 0;
}

/* ---- locations ---- */

/* Makes a location for an address without a name. */
static int
make_unnamed_location(struct arena *arena, uint64_t address,
                      struct location *to)
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

/* Lists the locations, which point into names. */
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
        else if (make_unnamed_location(profile->arena, address, &list[i]) != 0)
            return -1;
    }
    profile->locations = list;
    profile->location_count = dump->address_count;
    return 0;
}

/* ---- a profile ---- */

struct profile *
profile_new(struct heap_dump *dump, struct names *names, const char *program,
            const struct profile_origin *origin, struct error *err)
{
    struct profile *profile = mem_zalloc(1, sizeof(*profile));

    if (!profile)
        goto out;
    profile->arena = arena_new(PROFILE_MEMORY_MAX);
    if (!profile->arena)
        goto out;
    arena_set_meter(profile->arena, arena_meter(dump->arena));
    if (take_dump_stacks(profile, dump) != 0)
        goto out;
    profile->names = names_ref(names);
    profile->kind = dump->kind;
    profile->rate = dump->rate;
    profile->duration_ms = dump->duration_ms;
    profile->truncated = dump->truncated;
    profile->weighted = dump->weighted;
    profile->counted_ms = dump->counted_ms;
    profile->memory = "";
    profile->unseen.why = "";
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

double
profile_mean_depth(const struct profile *profile)
{
    double frames = 0, count = (double)profile->stack_count;

    for (size_t i = 0; i < profile->stack_count; i++)
        frames += profile->stacks[i].depth / count;
    return frames;
}
