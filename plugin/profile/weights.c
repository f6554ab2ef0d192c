/* weights.c - see weights.h. */
#include "weights.h"

#include <string.h>

#include "errors.h"
#include "memory.h"
#include "profile.h"
#include "texts.h"
#include "view_options.h"

/* While stacks are weighed. */
struct weighing {
    struct weights *weights;
    const struct view_options *options;
    size_t *seen;      /* per text: 1 + the stack that it was last met in */
    uint32_t nameless; /* the text "", what no name was left of */
};

static void
add_stack(struct weighing *w, const struct profile_stack *stack, size_t mark,
          size_t count)
{
    const uint32_t *frames = w->weights->frames;
    double value = profile_value(stack, w->options->measure);
    double variance =
        w->options->measure == MEASURE_INUSE_SPACE ? stack->variance : 0;
    bool leaf = true;

    for (size_t k = 0; k < count; k++) {
        uint32_t number = frames[k];
        struct weight *weight = &w->weights->list[number];

        /* Recursion counts once. */
        if (w->seen[number] == mark || number == w->nameless)
            continue;
        w->seen[number] = mark;
        weight->cumulative += value;
        weight->cumulative_variance += variance;
        if (leaf) {
            weight->flat += value;
            weight->flat_variance += variance;
            w->weights->focus += value;
        }
        leaf = false;
    }
}

static int
weigh(struct weighing *w, const struct profile *profile, struct error *err)
{
    struct weights *weights = w->weights;
    struct texts *texts = weights->names.texts;
    size_t count;

    for (w->nameless = 0; w->nameless < weights->count; w->nameless++)
        if (*texts_get(texts, w->nameless) == '\0')
            break;
    for (size_t i = 0; i < profile->stack_count; i++) {
        if (view_cancelled(w->options, i, err))
            return -1;
        if (stack_names_list(&weights->names, &profile->stacks[i],
                             weights->frames, &count) != 0) {
            error_memory(err, "the functions' names");
            return -1;
        }
        add_stack(w, &profile->stacks[i], i + 1, count);
    }
    for (uint32_t i = 0; i < weights->count; i++)
        if (w->seen[i])
            weights->list[i].name = texts_get(texts, i);
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
    if (stack_names_init(&weights->names, profile, options, arena, err) != 0)
        return -1;
    weights->count = weights->names.texts_max;
    weights->list = mem_zalloc(weights->count, sizeof(*weights->list));
    weights->frames =
        mem_zalloc(weights->names.longest, sizeof(*weights->frames));
    w.seen = mem_zalloc(weights->count, sizeof(*w.seen));
    if (weights->list && weights->frames && w.seen)
        rc = weigh(&w, profile, err);
    else
        error_memory(err, "the functions' weights");
    mem_free(w.seen);
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
