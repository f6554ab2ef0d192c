/* weights.c - see weights.h. */
#include "weights.h"

#include <string.h>

#include "errors.h"
#include "memory.h"
#include "profile.h"
#include "texts.h"
#include "view_options.h"

static void
add_stack(struct weights *weights, const struct profile_stack *stack,
          const struct view_options *options, size_t *seen, size_t mark,
          size_t count)
{
    double value = profile_value(stack, options->measure);
    double variance =
        options->measure == MEASURE_INUSE_SPACE ? stack->variance : 0;
    bool leaf = true;

    for (size_t k = 0; k < count; k++) {
        uint32_t number = weights->frames[k].name;
        const char *name = texts_get(weights->names.texts, number);
        struct weight *w = &weights->list[number];

        /* Recursion counts once; "" is what no name was left of. */
        if (seen[number] == mark || *name == '\0')
            continue;
        seen[number] = mark;
        w->name = name;
        w->cumulative += value;
        w->cumulative_variance += variance;
        if (leaf) {
            w->flat += value;
            w->flat_variance += variance;
            weights->focus += value;
        }
        leaf = false;
    }
}

static int
weigh(struct weights *weights, const struct profile *profile,
      const struct view_options *options, size_t *seen, struct error *err)
{
    size_t count;

    for (size_t i = 0; i < profile->stack_count; i++) {
        if (view_cancelled(options, i, err))
            return -1;
        if (stack_names_get(&weights->names, &profile->stacks[i],
                            weights->frames, &count) != 0) {
            error_memory(err, "the functions' names");
            return -1;
        }
        add_stack(weights, &profile->stacks[i], options, seen, i + 1, count);
    }
    return 0;
}

int
weights_init(struct weights *weights, const struct profile *profile,
             const struct view_options *options, struct arena *arena,
             struct error *err)
{
    size_t *seen = NULL; /* per text: 1 + the stack that it was last met in */
    int rc = -1;

    memset(weights, 0, sizeof(*weights));
    if (stack_names_init(&weights->names, profile, options, arena, err) != 0)
        return -1;
    weights->count = weights->names.texts_max;
    weights->list = mem_zalloc(weights->count, sizeof(*weights->list));
    weights->frames =
        mem_zalloc(weights->names.longest, sizeof(*weights->frames));
    seen = mem_zalloc(weights->count, sizeof(*seen));
    if (weights->list && weights->frames && seen)
        rc = weigh(weights, profile, options, seen, err);
    else
        error_memory(err, "the functions' weights");
    mem_free(seen);
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
