/* weights.c - see weights.h. */
#include "weights.h"

#include <string.h>

#include "errors.h"
#include "memory.h"
#include "profile.h"
#include "texts.h"
#include "view_options.h"

struct weighing {
    struct weights *weights;
    const struct profile *profile;
    const struct view_options *options;
    uint32_t nameless; /* the text "": not weighed */
};

/* Of a repeated name only the first counts: recursion counts once. */
static int
add_stack(const struct weighing *w, const struct profile_stack *stack,
          uint32_t mark)
{
    struct weights *weights = w->weights;
    double value = profile_value(stack, w->options->measure);
    double variance =
        w->options->measure == MEASURE_INUSE_SPACE ? stack->variance : 0;
    bool leaf = true; /* the next name is the innermost */
    size_t count;

    if (w->nameless < weights->count)
        weights->list[w->nameless].seen = mark;
    if (stack_names_list(&weights->names, stack, weights->frames, &count) != 0)
        return -1;
    for (size_t k = 0; k < count; k++) {
        struct weight *weight = &weights->list[weights->frames[k]];

        if (weight->seen == mark)
            continue;
        weight->seen = mark;
        weight->cumulative += value;
        weight->cumulative_variance += variance;
        if (leaf) {
            leaf = false;
            weight->flat += value;
            weight->flat_variance += variance;
            weights->focus += value;
        }
    }
    return 0;
}

static int
weigh(const struct weighing *w, struct error *err)
{
    struct weights *weights = w->weights;

    for (size_t i = 0; i < w->profile->stack_count; i++) {
        if (view_cancelled(w->options, i, err))
            return -1;
        if (add_stack(w, &w->profile->stacks[i], (uint32_t)i + 1) != 0) {
            error_memory(err, "the functions' names");
            return -1;
        }
    }
    for (uint32_t i = 0; i < weights->count; i++)
        if (weights->list[i].seen && i != w->nameless)
            weights->list[i].name = texts_get(weights->names.texts, i);
    return 0;
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
