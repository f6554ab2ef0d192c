/* weights.c - see weights.h. */
#include "weights.h"

#include <string.h>

#include "errors.h"
#include "memory.h"
#include "profile.h"
#include "texts.h"
#include "view_options.h"

/* Of a name while stacks are weighed: what each frame adds to, together. */
struct sum {
    double value, variance; /* cumulative */
    uint32_t seen;          /* 1 + the stack that it was last met in */
};

/* While stacks are weighed. */
struct weighing {
    struct weights *weights;
    const struct view_options *options;
    struct sum *sums;  /* per text */
    uint32_t nameless; /* the text "", what no name was left of: not weighed */
    bool located;      /* stacks show what their locations show */
};

/* What one stack adds; of a name its first frame alone: recursion counts
 * once. */
struct share {
    double value, variance;
    uint32_t mark;
    bool leaf; /* the next name is the innermost */
};

static void
add_leaf(struct weighing *w, struct weight *weight, struct share *share)
{
    share->leaf = false;
    weight->flat += share->value;
    weight->flat_variance += share->variance;
    w->weights->focus += share->value;
}

static void
add_names(struct weighing *w, const uint32_t *names, size_t count,
          struct share *share)
{
    struct weight *list = w->weights->list;

    for (size_t k = 0; k < count; k++) {
        struct sum *sum = &w->sums[names[k]];

        if (sum->seen == share->mark)
            continue;
        sum->seen = share->mark;
        sum->value += share->value;
        sum->variance += share->variance;
        if (share->leaf)
            add_leaf(w, &list[names[k]], share);
    }
}

/* Where names are those of the locations. */
static void
add_located(struct weighing *w, const struct profile_stack *stack,
            struct share *share)
{
    const struct stack_names *names = &w->weights->names;
    struct allocator_cut cut = stack_names_cut(names, stack);
    uint32_t skipped = cut.frame;

    for (uint32_t i = cut.location; i < stack->depth; i++, skipped = 0) {
        struct shown_frames shown = names->shown[stack->locations[i]];

        if (skipped < shown.count)
            add_names(w, names->symbols.names + shown.first + skipped,
                      shown.count - skipped, share);
    }
}

static int
add_stack(struct weighing *w, const struct profile_stack *stack, uint32_t mark)
{
    struct weights *weights = w->weights;
    struct share share = {.value = profile_value(stack, w->options->measure),
                          .mark = mark,
                          .leaf = true};
    size_t count;

    if (w->options->measure == MEASURE_INUSE_SPACE)
        share.variance = stack->variance;
    if (w->nameless < weights->count)
        w->sums[w->nameless].seen = mark;
    if (w->located) {
        add_located(w, stack, &share);
        return 0;
    }
    if (stack_names_list(&weights->names, stack, weights->frames, &count) != 0)
        return -1;
    add_names(w, weights->frames, count, &share);
    return 0;
}

static int
weigh(struct weighing *w, const struct profile *profile, struct error *err)
{
    struct weights *weights = w->weights;
    struct texts *texts = weights->names.texts;

    w->located = stack_names_are_located(&weights->names);
    for (w->nameless = 0; w->nameless < weights->count; w->nameless++)
        if (*texts_get(texts, w->nameless) == '\0')
            break;
    for (size_t i = 0; i < profile->stack_count; i++) {
        if (view_cancelled(w->options, i, err))
            return -1;
        if (add_stack(w, &profile->stacks[i], (uint32_t)i + 1) != 0) {
            error_memory(err, "the functions' names");
            return -1;
        }
    }
    for (uint32_t i = 0; i < weights->count; i++) {
        const struct sum *sum = &w->sums[i];

        if (sum->seen && i != w->nameless)
            weights->list[i].name = texts_get(texts, i);
        weights->list[i].cumulative = sum->value;
        weights->list[i].cumulative_variance = sum->variance;
    }
    return 0;
}

int
weights_init(struct weights *weights, const struct profile *profile,
             const struct view_options *options, struct arena *arena,
             struct error *err)
{
    struct weighing w = {.weights = weights, .options = options};
    int rc = -1;

    memset(weights, 0, sizeof(*weights));
    if (stack_names_share(&weights->names, profile, options, arena, err) != 0)
        return -1;
    weights->count = weights->names.texts_max;
    weights->list = mem_zalloc(weights->count, sizeof(*weights->list));
    weights->frames =
        mem_zalloc(weights->names.longest, sizeof(*weights->frames));
    w.sums = mem_zalloc(weights->count, sizeof(*w.sums));
    if (weights->list && weights->frames && w.sums)
        rc = weigh(&w, profile, err);
    else
        error_memory(err, "the functions' weights");
    mem_free(w.sums);
    return rc;
}

void
weights_fini(struct weights *weights)
{
    stack_names_fini(&weights->names);
    mem_free(weights->list);
    mem_free(weights->frames);
    memset(weights, 0, sizeof(*weights));
}
