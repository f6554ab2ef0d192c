/*
 * functions.c - see functions.h.
 *
 * SQL asks for one function by its name, for all of them, or for the stacks of
 * one; so a snapshot's functions are added up once, with bytes and objects
 * together, and kept with the names of its frames.  graph.c weighs one measure
 * for one picture and forgets it.
 *
 * Time and memory go with the frames of all stacks.  Made on the thread of the
 * statement, or of the diagnosis; functions_stack() writes into the names'
 * scratch, so one thread at a time may use a list.
 */
#include "functions.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "arena.h"
#include "errors.h"
#include "headline.h"
#include "memory.h"
#include "profile.h"
#include "texts.h"

enum { FUNCTIONS_MEMORY_MAX = 1 << 30 };

struct builder {
    const struct profile *profile;
    const struct view_options *options;
    struct functions *functions;
    struct function *weights; /* by text */
    /* by text: 1 + the last stack that has it; recursion counts once */
    size_t *seen;
    struct stack_frame *frames;
};

size_t
functions_stack(struct functions *functions, size_t i, struct stack_frame *out)
{
    struct stack_names *names = &functions->names;
    size_t count, kept = 0;

    /* Cannot fail: functions_new has named this stack already, so that no text
     * is added. */
    if (stack_names_get(names, &names->profile->stacks[i], out, &count) != 0)
        return 0;
    for (size_t k = 0; k < count; k++)
        if (*texts_get(names->texts, out[k].name) != '\0')
            out[kept++] = out[k];
    return kept;
}

static void
weigh_stack_functions(struct builder *b, size_t i, size_t count)
{
    const struct profile_stack *stack = &b->profile->stacks[i];

    for (size_t k = 0; k < count; k++) {
        uint32_t name = b->frames[k].name;
        struct function *w = &b->weights[name];

        if (!w->name) {
            w->name = texts_get(b->functions->names.texts, name);
            w->module = b->profile->locations[b->frames[k].location].module;
        }
        /* The innermost frame allocated. */
        if (k == 0) {
            w->flat_bytes += stack->bytes;
            w->flat_objects += stack->objects;
            w->flat_variance += stack->variance;
            b->functions->bytes += stack->bytes;
            b->functions->objects += stack->objects;
        }
        if (b->seen[name] == i + 1)
            continue;
        b->seen[name] = i + 1;
        w->cumulative_bytes += stack->bytes;
        w->cumulative_objects += stack->objects;
        w->cumulative_variance += stack->variance;
    }
}

static int
weigh_all(struct builder *b)
{
    struct stack_names *names = &b->functions->names;
    size_t count;

    for (size_t i = 0; i < b->profile->stack_count; i++) {
        /* The call that may fail; functions_stack() repeats it without
         * failing. */
        if (stack_names_get(names, &b->profile->stacks[i], b->frames, &count) !=
            0)
            return -1;
        weigh_stack_functions(b, i,
                              functions_stack(b->functions, i, b->frames));
    }
    return 0;
}

static int
compare_weights(const void *a, const void *b)
{
    const struct function *x = a, *y = b;

    if (x->cumulative_bytes != y->cumulative_bytes)
        return x->cumulative_bytes < y->cumulative_bytes ? 1 : -1;
    return strcmp(x->name, y->name);
}

static int
compare_functions_by_name(const void *a, const void *b, void *arg)
{
    const struct function *list = arg;

    return strcasecmp(list[*(const uint32_t *)a].name,
                      list[*(const uint32_t *)b].name);
}

/* The standard errors for functions->errors.  Without memory nothing is
 * significant. */
static double
significance_of_functions(const struct function *list, uint32_t count)
{
    struct significance_change *changes = mem_zalloc(count, sizeof(*changes));
    double errors;

    for (uint32_t i = 0; changes && i < count; i++)
        changes[i] = (struct significance_change){list[i].cumulative_bytes,
                                                  list[i].cumulative_variance};
    errors = changes ? significance_errors(changes, count) : INFINITY;
    mem_free(changes);
    return errors;
}

static int
order_function_list(struct builder *b)
{
    struct functions *functions = b->functions;
    uint32_t texts = texts_count(functions->names.texts), count = 0;
    struct function *list;
    uint32_t *by_name;

    for (uint32_t i = 0; i < texts; i++)
        count += b->weights[i].name != NULL;
    list = arena_alloc(functions->arena, count * sizeof(*list));
    by_name = arena_alloc(functions->arena, count * sizeof(*by_name));
    if (!list || !by_name)
        return -1;
    for (uint32_t i = 0, at = 0; i < texts; i++)
        if (b->weights[i].name)
            list[at++] = b->weights[i];
    for (uint32_t i = 0; i < count; i++)
        by_name[i] = i;
    if (count > 0) {
        qsort(list, count, sizeof(*list), compare_weights);
        qsort_r(by_name, count, sizeof(*by_name), compare_functions_by_name,
                list);
    }
    if (b->profile->difference)
        functions->errors = significance_of_functions(list, count);
    functions->list = list;
    functions->by_name = by_name;
    functions->count = count;
    return 0;
}

static int
build_function_list(struct builder *b, struct error *err)
{
    struct stack_names *names = &b->functions->names;
    int rc = -1;

    b->functions->arena = arena_new(FUNCTIONS_MEMORY_MAX);
    if (!b->functions->arena || stack_names_init(names, b->profile, b->options,
                                                 b->functions->arena, err) != 0)
        return -1;
    b->weights = mem_zalloc(names->texts_max, sizeof(*b->weights));
    b->seen = mem_zalloc(names->texts_max, sizeof(*b->seen));
    b->frames = mem_zalloc(names->longest, sizeof(*b->frames));
    if (b->weights && b->seen && b->frames && weigh_all(b) == 0)
        rc = order_function_list(b);
    mem_free(b->weights);
    mem_free(b->seen);
    mem_free(b->frames);
    return rc;
}

struct functions *
functions_new(const struct profile *profile, const struct view_options *options,
              struct error *err)
{
    struct builder b = {.profile = profile, .options = options};

    b.functions = mem_zalloc(1, sizeof(*b.functions));
    if (b.functions && build_function_list(&b, err) == 0)
        return b.functions;
    error_memory(err, "the functions of a snapshot");
    functions_free(b.functions);
    return NULL;
}

void
functions_free(struct functions *functions)
{
    if (!functions)
        return;
    stack_names_fini(&functions->names);
    arena_free(functions->arena);
    mem_free(functions);
}

/* Compares by_name[i] with a name that is not NUL-terminated. */
static int
compare_to(const struct functions *functions, uint32_t i, const char *name,
           size_t size)
{
    const char *mine = functions->list[functions->by_name[i]].name;
    int difference = strncasecmp(mine, name, size);

    return difference ? difference : mine[size] != '\0';
}

/* The first index of by_name that compares with name as at least `least`: 0 for
 * the first equal one, 1 for the first one behind them. */
static uint32_t
find_name_bound(const struct functions *functions, const char *name,
                size_t size, int least)
{
    uint32_t low = 0, high = functions->count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (compare_to(functions, middle, name, size) < least)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void
functions_find(const struct functions *functions, const char *name, size_t size,
               uint32_t *first, uint32_t *end)
{
    *first = find_name_bound(functions, name, size, 0);
    *end = find_name_bound(functions, name, size, 1);
}
