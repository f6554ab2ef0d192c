/* weights.c - see weights.h. */
#include "weights.h"

#include <stdalign.h>
#include <string.h>

#include "errors.h"
#include "memory.h"
#include "profile.h"
#include "stack_halves.h"
#include "texts.h"
#include "view_options.h"

/* The sums of a name: cumulative, and where it was last seen.  Kept together,
 * for each frame adds to both. */
struct sum {
    double value, variance; /* cumulative */
    uint32_t seen;          /* 1 + the stack of its last occurrence */
};

/* The sums of a name as the innermost of stacks. */
struct flat {
    double value, variance;
};

/* Read-only while stacks are weighed. */
struct weighing {
    struct weights *weights;
    const struct profile *profile;
    const struct view_options *options;
    uint32_t nameless; /* the text "": not weighed */
    bool located;      /* stacks show the names of their locations */
};

/* The sums of one half of the stacks. */
struct half {
    alignas(STACK_HALVES_APART) const struct weighing *w;
    struct sum *sums;   /* per text */
    struct flat *flats; /* likewise */
    double focus;
};

/* What one stack adds.  Of a repeated name only the first counts: recursion
 * counts once. */
struct share {
    double value, variance;
    uint32_t mark;
    bool leaf; /* the next name is the innermost */
};

static int
half_init(struct half *half)
{
    enum {
        SUMS_APART = STACK_HALVES_APART / sizeof(struct sum) + 1,
        FLATS_APART = STACK_HALVES_APART / sizeof(struct flat)
    };
    uint32_t count = half->w->weights->count;

    half->sums = mem_zalloc(count + SUMS_APART, sizeof(*half->sums));
    half->flats = mem_zalloc(count + FLATS_APART, sizeof(*half->flats));
    return half->sums && half->flats ? 0 : -1;
}

static void
half_fini(struct half *half)
{
    mem_free(half->sums);
    mem_free(half->flats);
}

static void
add_leaf(struct half *half, uint32_t name, struct share *share)
{
    share->leaf = false;
    half->flats[name].value += share->value;
    half->flats[name].variance += share->variance;
    half->focus += share->value;
}

static inline void
add_names(struct half *half, const uint32_t *names, size_t count,
          struct share *share)
{
    for (size_t k = 0; k < count; k++) {
        struct sum *sum = &half->sums[names[k]];

        if (sum->seen == share->mark)
            continue;
        sum->seen = share->mark;
        sum->value += share->value;
        sum->variance += share->variance;
        if (share->leaf)
            add_leaf(half, names[k], share);
    }
}

/* For names that come per location. */
static void
add_located(struct half *half, const struct profile_stack *stack,
            struct share *share)
{
    const struct stack_names *names = &half->w->weights->names;
    struct allocator_cut cut = stack_names_cut(names, stack);
    uint32_t skipped = cut.frame;

    for (uint32_t i = cut.location; i < stack->depth; i++, skipped = 0) {
        struct shown_frames shown = names->shown[stack->locations[i]];

        if (skipped < shown.count)
            add_names(half, names->symbols.names + shown.first + skipped,
                      shown.count - skipped, share);
    }
}

static int
add_stack(struct half *half, const struct profile_stack *stack, uint32_t mark)
{
    const struct weighing *w = half->w;
    struct weights *weights = w->weights;
    struct share share = {.value = profile_value(stack, w->options->measure),
                          .mark = mark,
                          .leaf = true};
    size_t count;

    if (w->options->measure == MEASURE_INUSE_SPACE)
        share.variance = stack->variance;
    if (w->nameless < weights->count)
        half->sums[w->nameless].seen = mark;
    if (w->located) {
        add_located(half, stack, &share);
        return 0;
    }
    if (stack_names_list(&weights->names, stack, weights->frames, &count) != 0)
        return -1;
    add_names(half, weights->frames, count, &share);
    return 0;
}

/* stack_walk */
static int
add_stacks(void *arg, size_t first, size_t end, struct error *err)
{
    struct half *half = arg;

    for (size_t i = first; i < end; i++) {
        if (view_cancelled(half->w->options, i, err))
            return -1;
        if (add_stack(half, &half->w->profile->stacks[i], (uint32_t)i + 1) !=
            0) {
            error_memory(err, "the functions' names");
            return -1;
        }
    }
    return 0;
}

/* Adds half to the weights and frees it. */
static void
take_half(struct half *half)
{
    struct weights *weights = half->w->weights;

    for (uint32_t i = 0; i < weights->count; i++) {
        struct weight *weight = &weights->list[i];
        struct sum *sum = &half->sums[i];
        struct flat *flat = &half->flats[i];

        if (sum->seen && i != half->w->nameless)
            weight->name = texts_get(weights->names.texts, i);
        weight->flat += flat->value;
        weight->flat_variance += flat->variance;
        weight->cumulative += sum->value;
        weight->cumulative_variance += sum->variance;
        *sum = (struct sum){0};
        *flat = (struct flat){0};
    }
    weights->focus += half->focus;
    half->focus = 0;
}

/*
 * Variances are not whole numbers, so their sum depends on its order: each half
 * is always added up by itself first, even by one thread.
 */
static int
weigh_halves(struct half *first, struct half *second, struct error *err)
{
    const struct profile *profile = first->w->profile;
    size_t middle = stack_halves_middle(profile);

    if (second) {
        if (stack_halves_walk(profile, true, add_stacks, first, second, err) !=
            0)
            return -1;
        take_half(first);
        take_half(second);
        return 0;
    }
    if (add_stacks(first, 0, middle, err) != 0)
        return -1;
    take_half(first);
    if (add_stacks(first, middle, profile->stack_count, err) != 0)
        return -1;
    take_half(first);
    return 0;
}

static int
weigh(const struct weighing *w, struct error *err)
{
    struct half first = {.w = w}, second = {.w = w};
    bool both = w->located && stack_halves_wanted(w->profile, w->options);
    int rc = -1;

    if (half_init(&first) == 0 && (!both || half_init(&second) == 0))
        rc = weigh_halves(&first, both ? &second : NULL, err);
    else
        error_memory(err, "the functions' weights");
    half_fini(&first);
    half_fini(&second);
    return rc;
}

int
weights_init(struct weights *weights, const struct profile *profile,
             const struct view_options *options, struct arena *arena,
             struct error *err)
{
    struct weighing w = {
        .weights = weights, .profile = profile, .options = options};
    struct stack_names *names = &weights->names;

    memset(weights, 0, sizeof(*weights));
    if (stack_names_share(names, profile, options, arena, err) != 0)
        return -1;
    weights->count = names->texts_max;
    weights->list = mem_zalloc(weights->count, sizeof(*weights->list));
    weights->frames = mem_zalloc(names->longest, sizeof(*weights->frames));
    if (!weights->list || !weights->frames) {
        error_memory(err, "the functions' weights");
        return -1;
    }
    w.located = stack_names_are_located(names);
    while (w.nameless < weights->count &&
           *texts_get(names->texts, w.nameless) != '\0')
        w.nameless++;
    return weigh(&w, err);
}

void
weights_fini(struct weights *weights)
{
    stack_names_fini(&weights->names);
    mem_free(weights->list);
    mem_free(weights->frames);
    memset(weights, 0, sizeof(*weights));
}
