/*
 * diff.c - see diff.h.
 *
 * A program that runs again has other addresses, and a library that was updated
 * moves code, so stacks of two profiles cannot be compared by address.  A key
 * (bytes) says what makes locations or stacks equal, and sets of texts number
 * the keys: equal numbers, equal things.  Then a stack is a list of numbers,
 * and the difference is a signed sum per distinct stack.  Frames of one module
 * are compared by their offset, which needs no names; only in modules that were
 * built anew do names count.
 *
 * The second half is the variance, without which every difference would look
 * like growth: what was sampled in both profiles cancels.  Called on the thread
 * of the statement or view; time and memory go with the frames of both.
 */
#include "diff.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "reader.h"
#include "buffer.h"
#include "errors.h"
#include "mappings.h"
#include "memory.h"
#include "profile.h"
#include "texts.h"

enum { DIFF_MEMORY_MAX = 1 << 30, KEY_MAX = 64 << 20, CANCEL_EVERY = 256 };

/* One of the two profiles. */
struct side {
    const struct profile *profile;
    double sign;
    /* by module: the other side has only another build of it */
    bool *moved;
    /* by location: its key's number, later its index in out */
    uint32_t *classes;
};

/* The locations of one key. */
struct class
{
    /* now's, if now has one; else the base's */
    const struct location *location;
    uint32_t number;
};

/* The samples of a stack in one of the profiles. */
struct seen {
    double objects, bytes, ever;
    double variance; /* of the bytes in use, if all of them were new */
};

struct differ {
    const atomic_bool *cancelled; /* or NULL */
    bool stopped;
    struct side now, base;
    struct profile *out;
    struct profile_stack *stacks;
    struct seen *seen[2]; /* by stack: now, and in the base */
    struct arena *scratch;
    struct texts *keys, *stack_keys;
    struct buffer key;
};

static void
add_diff_key_text(struct differ *d, const char *text)
{
    buffer_add(&d->key, text, strlen(text) + 1);
}

static int
number_key(struct differ *d, struct texts *texts, uint32_t *number)
{
    if (d->key.failed)
        return -1;
    return texts_add(texts, d->key.data ? d->key.data : "", d->key.size,
                     number);
}

/* ---- modules that were built anew ---- */

static int
number_module(struct differ *d, struct texts *texts,
              const struct profile_module *module, bool with_build,
              uint32_t *number)
{
    buffer_clear(&d->key);
    add_diff_key_text(d, base_name(module->path));
    if (with_build)
        add_diff_key_text(d, module->build_id);
    return number_key(d, texts, number);
}

/* Fills side->moved: a module has moved if the other side has it, but not this
 * build.  Modules without a build-id never move: nothing is known. */
static int
find_moved(struct differ *d, struct side *side, const struct profile *other)
{
    const struct profile *profile = side->profile;
    struct texts *builds = texts_new(d->scratch);
    struct texts *names = texts_new(d->scratch);
    uint32_t build_count, name_count, build, name;
    int rc = -1;

    side->moved = mem_zalloc(profile->module_count, sizeof(*side->moved));
    if (!builds || !names || !side->moved)
        goto out;
    for (size_t i = 0; i < other->module_count; i++)
        if (*other->modules[i].build_id &&
            (number_module(d, builds, &other->modules[i], true, &build) != 0 ||
             number_module(d, names, &other->modules[i], false, &name) != 0))
            goto out;
    /* A key that the other side does not have gets a number from here on. */
    build_count = texts_count(builds);
    name_count = texts_count(names);
    for (size_t i = 0; i < profile->module_count; i++) {
        const struct profile_module *module = &profile->modules[i];

        if (number_module(d, builds, module, true, &build) != 0 ||
            number_module(d, names, module, false, &name) != 0)
            goto out;
        side->moved[i] =
            *module->build_id && name < name_count && build >= build_count;
    }
    rc = 0;
out:
    texts_free(builds);
    texts_free(names);
    return rc;
}

static bool
is_moved(const struct side *side, uint64_t address)
{
    const struct profile *profile = side->profile;
    const struct profile_module *module = profile_module_find(profile, address);

    return module && side->moved[module - profile->modules];
}

/* ---- locations ---- */

/* Whether to stop; looks only now and then, as i counts up. */
static bool
is_diff_cancelled(struct differ *d, size_t i)
{
    if (i % CANCEL_EVERY == 0 && d->cancelled && atomic_load(d->cancelled))
        d->stopped = true;
    return d->stopped;
}

static int
number_location(struct differ *d, const struct side *side,
                const struct location *location, uint32_t *number)
{
    buffer_clear(&d->key);
    if (*location->module && !is_moved(side, location->address)) {
        /* A word first, so that a place never equals a list of names. */
        add_diff_key_text(d, "place");
        add_diff_key_text(d, location->module);
        buffer_u64(&d->key, location->module_offset);
    } else {
        add_diff_key_text(d, "names");
        for (uint32_t i = 0; i < location->frame_count; i++) {
            add_diff_key_text(d, location->frames[i].function);
            add_diff_key_text(d, location->frames[i].file);
        }
    }
    return number_key(d, d->keys, number);
}

static int
classify_locations(struct differ *d, struct side *side, struct class *classes)
{
    size_t count = side->profile->location_count;

    side->classes = mem_zalloc(count, sizeof(*side->classes));
    if (!side->classes)
        return -1;
    for (size_t i = 0; i < count; i++) {
        const struct location *location = &side->profile->locations[i];
        uint32_t number;

        if (is_diff_cancelled(d, i) ||
            number_location(d, side, location, &number) != 0)
            return -1;
        side->classes[i] = number;
        if (!classes[number].location)
            classes[number] = (struct class){location, number};
    }
    return 0;
}

static int
compare_classes(const void *a, const void *b)
{
    const struct class *x = a, *y = b;

    if (x->location->address != y->location->address)
        return x->location->address < y->location->address ? -1 : 1;
    return x->number < y->number ? -1 : 1;
}

static void
renumber_classes(struct side *side, const uint32_t *index)
{
    for (size_t i = 0; i < side->profile->location_count; i++)
        side->classes[i] = index[side->classes[i]];
}

/* Makes out's locations: one for each class, ascending by address. */
static int
merge_locations(struct differ *d)
{
    size_t room =
        d->now.profile->location_count + d->base.profile->location_count;
    struct texts *texts = texts_new(d->out->arena);
    struct class *classes = mem_zalloc(room, sizeof(*classes));
    uint32_t *index = mem_zalloc(room, sizeof(*index)), count;
    struct location *list;
    int rc = -1;

    if (!texts || !classes || !index ||
        classify_locations(d, &d->now, classes) != 0 ||
        classify_locations(d, &d->base, classes) != 0)
        goto out;
    count = texts_count(d->keys);
    list = arena_alloc(d->out->arena, count * sizeof(*list));
    if (!list)
        goto out;
    if (count > 0)
        qsort(classes, count, sizeof(*classes), compare_classes);
    for (uint32_t i = 0; i < count; i++) {
        index[classes[i].number] = i;
        if (is_diff_cancelled(d, i) ||
            location_copy(d->out->arena, texts, classes[i].location,
                          &list[i]) != 0)
            goto out;
    }
    renumber_classes(&d->now, index);
    renumber_classes(&d->base, index);
    d->out->locations = list;
    d->out->location_count = count;
    rc = 0;
out:
    texts_free(texts);
    mem_free(classes);
    mem_free(index);
    return rc;
}

/* ---- stacks ---- */

static void
add_signed_counts(struct profile_stack *to, const struct profile_stack *from,
                  double sign)
{
    to->objects += sign * from->objects;
    to->bytes += sign * from->bytes;
    to->objects_ever += sign * from->objects_ever;
    to->bytes_ever += sign * from->bytes_ever;
    to->waste += sign * from->waste;
}

/* The variance of a stack's sampled objects, from their chance to be sampled
 * and the bytes that each stands for. */
static double
in_use_variance(const struct profile_stack *stack, uint64_t rate)
{
    uint64_t objects = stack->in_use.objects, bytes = stack->in_use.bytes;
    double scale = profile_scale(objects, bytes, rate), each, miss;

    if (objects == 0)
        return 0;
    each = (double)bytes * scale / (double)objects;
    miss = exp(-(double)bytes / (double)objects / (double)rate);
    if (miss > 0 && miss < 0.5)
        miss =
            fmax(miss, (1 - 2 * miss) / (2 * log((1 - miss) / miss)) * scale);
    return fmax(stack->variance, (double)objects * each * each * miss);
}

static void
add_seen(struct seen *to, const struct profile_stack *from,
         enum profile_kind kind, uint64_t rate)
{
    to->objects += (double)from->in_use.objects;
    to->bytes += (double)from->in_use.bytes;
    to->ever += (double)from->ever.objects;
    to->variance +=
        kind == PROFILE_HEAP ? in_use_variance(from, rate) : from->variance;
}

static int
add_side_stacks(struct differ *d, const struct side *side)
{
    for (size_t i = 0; i < side->profile->stack_count; i++) {
        const struct profile_stack *from = &side->profile->stacks[i];
        size_t size = from->depth * sizeof(*from->locations);
        struct profile_stack *to;
        uint32_t number, *copy;

        if (is_diff_cancelled(d, i))
            return -1;
        buffer_clear(&d->key);
        for (uint32_t k = 0; k < from->depth; k++)
            buffer_u32(&d->key, side->classes[from->locations[k]]);
        if (number_key(d, d->stack_keys, &number) != 0)
            return -1;
        to = &d->stacks[number];
        /* Numbers are given in order, so a new key has the next one. */
        if (number == d->out->stack_count) {
            copy = arena_alloc(d->out->arena, size);
            if (!copy)
                return -1;
            for (uint32_t k = 0; k < from->depth; k++)
                copy[k] = side->classes[from->locations[k]];
            to->locations = copy;
            to->depth = from->depth;
            d->out->stack_count++;
        }
        add_signed_counts(to, from, side->sign);
        add_seen(&d->seen[side->sign < 0][number], from, side->profile->kind,
                 side->profile->rate);
    }
    return 0;
}

/*
 * Objects alive on both sides were sampled in both or in neither: they are no
 * noise.  The variance is that of the objects that came and went.  Their number
 *
 * - follows from the samples ever taken, if the dumps count them: at most their
 *   growth came, and that less the growth in use went; one more may have come
 *   or gone without being sampled;
 * - else is not known: if anything changed, all of it may have been exchanged;
 *   if nothing changed, nothing was.  That misses a stack of which as much came
 *   as went, which is a fifth of the variance of stacks with two samples, and
 *   less of larger ones: the others get that much in addition.
 *
 * No sample of time is in both: there the variances are added.
 */
static double
exchange_factor(double samples)
{
    return 1 + 0.45 / sqrt(samples);
}

static bool
counts_came(const struct differ *d)
{
    if (!d->now.profile->accumulated || !d->base.profile->accumulated)
        return false;
    for (size_t i = 0; i < d->out->stack_count; i++) {
        const struct seen *now = &d->seen[0][i], *base = &d->seen[1][i];
        double came = now->ever - base->ever;

        /* The counts are another process's, or from before a reset.  Both are
         * rounded, hence the 1. */
        if (came < -1 || came < now->objects - base->objects - 1)
            return false;
    }
    return true;
}

static double
changed_share(const struct seen *now, const struct seen *base, bool counted)
{
    double sum = now->objects + base->objects;
    double grown = now->objects - base->objects;
    /* What came and what went, at most: with c new samples, c came and c -
     * grown went. */
    double most = fmax(2 * (now->ever - base->ever) - grown, fabs(grown));

    if (counted)
        return most > 0 ? fmin((most + 1) / sum, exchange_factor(sum)) : 0;
    return grown == 0 && now->bytes == base->bytes ? 0 : exchange_factor(sum);
}

static void
set_variances(struct differ *d)
{
    bool time = d->out->kind != PROFILE_HEAP, counted = counts_came(d);

    for (size_t i = 0; i < d->out->stack_count; i++) {
        const struct seen *now = &d->seen[0][i], *base = &d->seen[1][i];

        if (now->objects + base->objects > 0)
            d->stacks[i].variance =
                (now->variance + base->variance) *
                (time ? 1 : changed_share(now, base, counted));
    }
}

static int
merge_stacks(struct differ *d)
{
    size_t room = d->now.profile->stack_count + d->base.profile->stack_count;

    d->stacks = arena_alloc(d->out->arena, room * sizeof(*d->stacks));
    d->seen[0] = arena_alloc(d->scratch, room * sizeof(*d->seen[0]));
    d->seen[1] = arena_alloc(d->scratch, room * sizeof(*d->seen[1]));
    if (!d->stacks || !d->seen[0] || !d->seen[1] ||
        add_side_stacks(d, &d->now) != 0 || add_side_stacks(d, &d->base) != 0)
        return -1;
    set_variances(d);
    d->out->stacks = d->stacks;
    profile_add_up(d->out);
    return 0;
}

/* ---- all else ---- */

static int
copy_modules(struct profile *out, const struct profile *now)
{
    struct profile_module *list =
        arena_alloc(out->arena, now->module_count * sizeof(*list));

    if (!list)
        return -1;
    for (size_t i = 0; i < now->module_count; i++) {
        const struct profile_module *from = &now->modules[i];

        list[i] = *from;
        list[i].path =
            arena_strndup(out->arena, from->path, strlen(from->path));
        list[i].build_id =
            arena_strndup(out->arena, from->build_id, strlen(from->build_id));
        if (!list[i].path || !list[i].build_id)
            return -1;
    }
    out->modules = list;
    out->module_count = now->module_count;
    return 0;
}

/* Whether the profile counts what was ever allocated, or has nothing to count
 * yet. */
static bool
counts_ever(const struct profile *profile)
{
    return profile->accumulated || profile->stack_count == 0;
}

/* The memory text of the difference: now's, without the part that is about
 * chance in now alone.  A profile of time begins with how long both lasted. */
static const char *
memory_of(struct profile *out, const struct profile *now,
          const struct profile *base)
{
    bool kernel = strstr(now->memory, PROFILE_WITH_KERNEL) != NULL;
    bool base_kernel = strstr(base->memory, PROFILE_WITH_KERNEL) != NULL;
    const char *chance = strstr(now->memory, PROFILE_CHANCE);
    size_t size = chance ? (size_t)(chance - now->memory) : strlen(now->memory);
    char lengths[192] = "", *text;

    if (now->kind != PROFILE_HEAP)
        snprintf(lengths, sizeof(lengths),
                 "sampled for %.1f s, the base for "
                 "%.1f s: sums, not rates%s%s",
                 (double)now->duration_ms / 1e3,
                 (double)base->duration_ms / 1e3,
                 kernel == base_kernel ? ""
                 : kernel ? "; the base is without the kernel's functions"
                          : "; the base alone has the kernel's functions",
                 size ? "; " : "");
    text = arena_alloc(out->arena, strlen(lengths) + size + 1);
    if (text)
        snprintf(text, strlen(lengths) + size + 1, "%s%.*s", lengths, (int)size,
                 now->memory);
    return text;
}

/* Both notes, or one if they are equal. */
static const char *
note_of(struct profile *out, const char *now, const char *base)
{
    const char *between = *now && *base ? "; of the base: " : "";
    size_t size = strlen(now) + strlen(between) + strlen(base) + 1;
    char *text = arena_alloc(out->arena, size);

    if (text && strcmp(now, base) == 0)
        memcpy(text, now, strlen(now) + 1);
    else if (text)
        snprintf(text, size, "%s%s%s", now, between, base);
    return text;
}

static int
copy_head(struct profile *out, const struct profile *now,
          const struct profile *base)
{
    out->kind = now->kind;
    out->origin = now->origin;
    out->rate = now->rate;
    out->duration_ms = now->duration_ms;
    out->truncated = now->truncated || base->truncated;
    out->wasted = now->wasted && base->wasted;
    out->accumulated = counts_ever(now) && counts_ever(base) &&
                       (now->accumulated || base->accumulated);
    out->difference = true;
    out->roots = now->roots;
    if (__builtin_add_overflow(now->samples, base->samples, &out->samples))
        out->samples = UINT64_MAX;
    out->program =
        arena_strndup(out->arena, now->program, strlen(now->program));
    out->note = note_of(out, now->note, base->note);
    out->memory = memory_of(out, now, base);
    if (!out->program || !out->note || !out->memory)
        return -1;
    return copy_modules(out, now);
}

static int
make_difference(struct differ *d)
{
    const struct profile *now = d->now.profile, *base = d->base.profile;

    d->out = mem_zalloc(1, sizeof(*d->out));
    if (!d->out)
        return -1;
    d->out->arena = arena_new(DIFF_MEMORY_MAX);
    d->scratch = arena_new(DIFF_MEMORY_MAX);
    if (!d->out->arena || !d->scratch)
        return -1;
    d->keys = texts_new(d->scratch);
    d->stack_keys = texts_new(d->scratch);
    if (!d->keys || !d->stack_keys || copy_head(d->out, now, base) != 0 ||
        find_moved(d, &d->now, base) != 0 || find_moved(d, &d->base, now) != 0)
        return -1;
    return merge_locations(d) == 0 ? merge_stacks(d) : -1;
}

static void
side_fini(struct side *side)
{
    mem_free(side->moved);
    mem_free(side->classes);
}

struct profile *
diff_make_until(const struct profile *now, const struct profile *base,
                const atomic_bool *cancelled, struct error *err)
{
    struct differ d = {
        .cancelled = cancelled, .now = {now, 1}, .base = {base, -1}};
    int rc;

    if (now->kind != base->kind) {
        error_set(err, ER_WRONG_ARGUMENTS,
                  "a profile of %s cannot be compared with one of %s",
                  profile_kind_name(now->kind), profile_kind_name(base->kind));
        return NULL;
    }
    buffer_init(&d.key, KEY_MAX);
    rc = make_difference(&d);
    buffer_fini(&d.key);
    texts_free(d.keys);
    texts_free(d.stack_keys);
    arena_free(d.scratch);
    side_fini(&d.now);
    side_fini(&d.base);
    if (rc == 0)
        return d.out;
    if (d.stopped)
        error_set(err, ER_QUERY_INTERRUPTED, "Query execution was interrupted");
    else
        error_memory(err, "the difference of two profiles");
    profile_free(d.out);
    return NULL;
}

struct profile *
diff_make(const struct profile *now, const struct profile *base,
          struct error *err)
{
    return diff_make_until(now, base, NULL, err);
}
