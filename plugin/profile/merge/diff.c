/*
 * diff.c - see diff.h.
 *
 * A program that runs again has other addresses, and a library that was updated
 * moves code, so stacks of two profiles cannot be compared by address.  A key
 * (bytes) says what makes locations equal (keyed_stacks.h), and the difference
 * is a signed sum per distinct stack.  Frames of one module are compared by
 * their offset, which needs no names; only in modules that were built anew do
 * names count.
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
#include "errors.h"
#include "keyed_stacks.h"
#include "mappings.h"
#include "memory.h"
#include "profile.h"
#include "texts.h"

enum { DIFF_MEMORY_MAX = 1 << 30 };

/* One of the two profiles. */
struct side {
    const struct profile *profile;
    double sign;
    struct differ *differ;
    /* by module: the other side has only another build of it */
    bool *moved;
};

/* The samples of a stack in one of the profiles. */
struct seen {
    double objects, bytes, ever;
    double variance; /* of the bytes in use, if all of them were new */
};

struct differ {
    struct side now, base;
    struct profile *out;
    struct seen *seen[2]; /* by stack: now, and in the base */
    struct keyed_stacks keyed;
};

/* ---- modules that were built anew ---- */

static int
number_module(struct differ *d, struct texts *texts,
              const struct profile_module *module, bool with_build,
              uint32_t *number)
{
    buffer_clear(&d->keyed.key);
    keyed_stacks_key_text(&d->keyed, base_name(module->path));
    if (with_build)
        keyed_stacks_key_text(&d->keyed, module->build_id);
    return keyed_stacks_number(&d->keyed, texts, number);
}

/* Fills side->moved: a module has moved if the other side has it, but not this
 * build.  Modules without a build-id never move: nothing is known. */
static int
find_moved(struct differ *d, struct side *side, const struct profile *other)
{
    const struct profile *profile = side->profile;
    struct texts *builds = texts_new(d->keyed.scratch);
    struct texts *names = texts_new(d->keyed.scratch);
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

/* keyed_walk.locate */
static int
locate_on_side(void *arg, const struct location *location,
               struct keyed_location *place)
{
    const struct side *side = arg;
    struct keyed_stacks *keyed = &side->differ->keyed;

    place->has_address = true;
    if (*location->module && !is_moved(side, location->address)) {
        /* A word first, so that a place never equals a list of names. */
        keyed_stacks_key_text(keyed, "place");
        keyed_stacks_key_text(keyed, location->module);
        buffer_u64(&keyed->key, location->module_offset);
        return 0;
    }
    keyed_stacks_key_text(keyed, "names");
    for (uint32_t i = 0; i < location->frame_count; i++) {
        keyed_stacks_key_text(keyed, location->frames[i].function);
        keyed_stacks_key_text(keyed, location->frames[i].file);
    }
    return 0;
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

/* keyed_walk.add */
static void
add_side_stack(void *arg, struct profile_stack *to, uint32_t number,
               const struct profile_stack *from)
{
    const struct side *side = arg;

    add_signed_counts(to, from, side->sign);
    add_seen(&side->differ->seen[side->sign < 0][number], from,
             side->profile->kind, side->profile->rate);
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
    for (size_t i = 0; i < d->keyed.stack_count; i++) {
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

    for (size_t i = 0; i < d->keyed.stack_count; i++) {
        const struct seen *now = &d->seen[0][i], *base = &d->seen[1][i];

        if (now->objects + base->objects > 0)
            d->keyed.stacks[i].variance =
                (now->variance + base->variance) *
                (time ? 1 : changed_share(now, base, counted));
    }
}

static int
add_side(struct side *side)
{
    const struct keyed_walk walk = {.profile = side->profile,
                                    .locate = locate_on_side,
                                    .add = add_side_stack,
                                    .arg = side};

    return keyed_stacks_add(&side->differ->keyed, &walk);
}

static int
subtract_stacks(struct differ *d)
{
    size_t room = d->now.profile->stack_count + d->base.profile->stack_count;

    for (int i = 0; i < 2; i++) {
        d->seen[i] = arena_alloc(d->keyed.scratch, room * sizeof(*d->seen[i]));
        if (!d->seen[i])
            return -1;
    }
    if (add_side(&d->now) != 0 || add_side(&d->base) != 0)
        return -1;
    set_variances(d);
    return keyed_stacks_finish(&d->keyed, d->out);
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
                          : "; only the base has the kernel's functions",
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
    if (!d->out->arena ||
        keyed_stacks_init(&d->keyed, d->out->arena, DIFF_MEMORY_MAX) != 0 ||
        copy_head(d->out, now, base) != 0 ||
        find_moved(d, &d->now, base) != 0 || find_moved(d, &d->base, now) != 0)
        return -1;
    return subtract_stacks(d);
}

struct profile *
diff_make_until(const struct profile *now, const struct profile *base,
                const atomic_bool *cancelled, struct error *err)
{
    struct differ d = {.now = {now, 1, &d, NULL},
                       .base = {base, -1, &d, NULL},
                       .keyed.cancelled = cancelled};
    int rc;

    if (now->kind != base->kind) {
        error_set(err, ER_WRONG_ARGUMENTS,
                  "a profile of %s cannot be compared with one of %s",
                  profile_kind_name(now->kind), profile_kind_name(base->kind));
        return NULL;
    }
    rc = make_difference(&d);
    keyed_stacks_fini(&d.keyed);
    mem_free(d.now.moved);
    mem_free(d.base.moved);
    if (rc == 0)
        return d.out;
    if (d.keyed.stopped)
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
