/*
 * waste_means.c - what each stack of a dump has in use of each size class, if
 * only the mean size is known: see waste.h.
 *
 * Stacks whose mean is the size of a class are of that class, which most are: a
 * stack is one line of code.  What they leave of the regions in use is spread
 * over the others.  Thousands of stacks would make that slow, so they are
 * joined in groups of about the same mean, eight to each doubling, and a stack
 * gets the shares of its group.
 *
 * The result is an estimate, so each part carries a bound on how wrong it may
 * be.  Called by waste.c.
 */
#include "waste_work.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "memory.h"
#include "profile.h"
#include "waste_spread.h"

enum {
    GROUPS_TO_DOUBLING = 8, /* means in neighboring groups are 9 % apart */
    GROUPS_MAX = 512,
    NONE = UINT32_MAX
};

/* An estimate of fewer than LEAST_OBJECTS makes no part, nor one that is both
 * below LEAST_SHARE of the stack and below LEAST_BYTES of waste.  Such regions
 * stay without a stack. */
#define LEAST_OBJECTS 0.5
#define LEAST_SHARE   0.05
#define LEAST_BYTES   1024

/* What one sample of a class adds to the sums in a dump. */
struct seen_class {
    double objects, bytes;
};

struct means {
    struct waste_work *work;
    const struct waste_heap *heap;
    struct seen_class seen[WASTE_CLASSES_MAX];
    /* regions in use that no stack of one class has */
    double left[WASTE_CLASSES_MAX];
    /* the most objects that stacks may have of the class */
    double most[WASTE_CLASSES_MAX];
    double nobodys;           /* regions in use beyond all objects */
    double smallest, largest; /* the smallest and largest class in use */
    struct spread_group *groups;
    uint32_t group_count;
    uint32_t group_of[GROUPS_MAX]; /* by index_group(): index in groups */
    size_t needed;                 /* parts, counted before there is room */
};

/* jemalloc 5.3 corrects for the chance of sampling in what it writes.  For each
 * sample of a class it adds the objects, rounded to eighths, and the bytes that
 * the sample stands for, and scales the sums so that jeprof's own correction
 * gives them back.  So each sample of one class adds the same numbers, which
 * are computed here.  Older jemallocs write the samples as they are. */
static void
see_class(struct means *m, uint32_t number)
{
    double rate = (double)m->work->profile->rate, size = m->work->sizes[number];
    double chance = -expm1(-size / rate);
    double objects = round(8 / chance) / 8, bytes = round(size / chance);
    double mean = bytes / objects;

    m->seen[number].objects = objects * -expm1(-mean / rate);
    m->seen[number].bytes = m->seen[number].objects * mean;
}

/* Whether that many samples, each of these objects and bytes, make up the
 * stack's two sums.  The sums are rounded, and were counted in doubles. */
static bool
is_sum_of(const struct profile_stack *stack, double samples, double objects,
          double bytes)
{
    objects = samples * objects;
    bytes = samples * bytes;
    return fabs(objects - (double)stack->in_use.objects) <=
               .501 + objects * 1e-9 &&
           fabs(bytes - (double)stack->in_use.bytes) <= .501 + bytes * 1e-9;
}

static bool
is_all_of(const struct means *m, const struct profile_stack *stack,
          uint32_t number)
{
    const struct seen_class *seen = &m->seen[number];
    double samples = (double)stack->in_use.objects;

    if (is_sum_of(stack, samples, 1, m->work->sizes[number]))
        return true;
    samples = floor(samples / seen->objects);
    return is_sum_of(stack, samples, seen->objects, seen->bytes) ||
           is_sum_of(stack, samples + 1, seen->objects, seen->bytes);
}

static double
mean_object_bytes(const struct profile_stack *stack)
{
    return stack->objects > 0 ? stack->bytes / stack->objects : 0;
}

/* The class of all objects of the stack; NONE: they are of several.  Rounding
 * may put the mean beside its class, so its neighbors are tried too. */
static uint32_t
find_only_class(const struct means *m, const struct profile_stack *stack)
{
    uint32_t number =
        waste_class_find(m->heap, (uint64_t)mean_object_bytes(stack));

    if (number > 0)
        number--;
    for (uint32_t i = number; i < m->heap->class_count && i < number + 3; i++)
        if (is_all_of(m, stack, i))
            return i;
    return NONE;
}

static double
one_class_objects(const struct means *m, const struct profile_stack *stack,
                  uint32_t number)
{
    return stack->bytes / m->work->sizes[number];
}

static uint32_t
index_group(const struct profile_stack *stack)
{
    double index = log2(mean_object_bytes(stack)) * GROUPS_TO_DOUBLING;

    return index < 0            ? 0
           : index < GROUPS_MAX ? (uint32_t)index
                                : GROUPS_MAX - 1;
}

/* Whether the mean of the stack's objects lies within the listed classes. */
static bool
has_listed_classes(const struct means *m, const struct profile_stack *stack)
{
    const struct waste_class *last =
        &m->heap->classes[m->heap->class_count - 1];
    double mean = mean_object_bytes(stack);

    return stack->in_use.objects > 0 && mean >= 1 && mean <= (double)last->size;
}

/* Takes the stacks of one class first: the others cannot have these objects.
 * Joins the others in groups. */
static void
sort_stacks(struct means *m)
{
    double objects[GROUPS_MAX] = {0}, bytes[GROUPS_MAX] = {0}, all = 0;
    double variance[WASTE_CLASSES_MAX] = {0}, regions = 0;

    for (size_t i = 0; i < m->work->profile->stack_count; i++) {
        const struct profile_stack *stack = &m->work->stacks[i];
        uint32_t number, group;

        if (!has_listed_classes(m, stack))
            continue;
        number = find_only_class(m, stack);
        all += stack->objects;
        if (number != NONE) {
            m->left[number] -= one_class_objects(m, stack, number);
            m->most[number] += one_class_objects(m, stack, number);
            variance[number] += stack->variance / m->work->sizes[number] /
                                m->work->sizes[number];
            continue;
        }
        group = index_group(stack);
        objects[group] += stack->objects;
        bytes[group] += stack->bytes;
    }
    for (uint32_t i = 0; i < m->heap->class_count; i++) {
        regions += (double)m->heap->classes[i].in_use;
        /* Less one standard error: what is left by chance is not spread. */
        m->left[i] = fmax(0, m->left[i] - sqrt(variance[i]));
    }
    m->nobodys = fmax(0, regions - all);
    for (uint32_t i = 0; i < GROUPS_MAX; i++) {
        if (objects[i] == 0)
            continue;
        m->group_of[i] = m->group_count;
        m->groups[m->group_count].objects = objects[i];
        m->groups[m->group_count++].mean = bytes[i] / objects[i];
    }
}

static double
most_of(const struct means *m, const struct profile_stack *stack,
        uint32_t number)
{
    double most = stack->objects * spread_most(mean_object_bytes(stack),
                                               m->work->sizes[number],
                                               m->smallest, m->largest);

    return fmin(most, (double)m->heap->classes[number].in_use);
}

/* How far the true number of objects may be from the estimate, up or down.  It
 * is at most what the mean allows, and at least the regions that no other stack
 * can have. */
static double
bound_of(const struct means *m, const struct profile_stack *stack,
         uint32_t number, double objects)
{
    double most = most_of(m, stack, number);
    double least = (double)m->heap->classes[number].in_use -
                   (m->most[number] - most) - m->nobodys;

    return fmax(most - objects, objects - fmax(0, fmin(least, objects)));
}

/* Counts a part, and adds it if there is room: the first pass only counts. */
static void
add_waste_part(struct means *m, const struct waste_part *part)
{
    m->needed++;
    waste_work_add(m->work, part);
}

static void
add_spread(struct means *m, uint32_t i, const struct spread_group *group)
{
    const struct profile_stack *stack = &m->work->stacks[i];
    double of_bytes = mean_object_bytes(stack);

    for (uint32_t number = 0; number < m->heap->class_count; number++) {
        double objects = stack->objects * group->shares[number];

        if (objects < LEAST_OBJECTS ||
            (group->shares[number] < LEAST_SHARE &&
             objects * m->work->waste->each[number] < LEAST_BYTES))
            continue;
        m->work->have[number] += objects;
        add_waste_part(m, &(struct waste_part){
                              .stack = i,
                              .number = number,
                              .method = WASTE_SPREAD,
                              .objects = objects,
                              .variance = stack->variance / of_bytes /
                                          of_bytes * group->shares[number] *
                                          group->shares[number],
                              .bound = bound_of(m, stack, number, objects)});
    }
}

static void
add_stack_waste_parts(struct means *m)
{
    for (uint32_t i = 0; i < m->work->profile->stack_count; i++) {
        const struct profile_stack *stack = &m->work->stacks[i];
        uint32_t number;
        double size;

        if (!has_listed_classes(m, stack))
            continue;
        number = find_only_class(m, stack);
        if (number == NONE) {
            add_spread(m, i, &m->groups[m->group_of[index_group(stack)]]);
            continue;
        }
        size = m->work->sizes[number];
        m->work->have[number] += one_class_objects(m, stack, number);
        add_waste_part(m, &(struct waste_part){
                              .stack = i,
                              .number = number,
                              .method = WASTE_ONE_CLASS,
                              .objects = one_class_objects(m, stack, number),
                              .variance = stack->variance / size / size});
    }
}

static void
count_most(struct means *m)
{
    for (size_t i = 0; i < m->work->profile->stack_count; i++) {
        const struct profile_stack *stack = &m->work->stacks[i];

        if (!has_listed_classes(m, stack) || find_only_class(m, stack) != NONE)
            continue;
        for (uint32_t k = 0; k < m->heap->class_count; k++)
            m->most[k] += most_of(m, stack, k);
    }
}

static void
read_size_classes(struct means *m)
{
    m->smallest = INFINITY;
    for (uint32_t i = 0; i < m->heap->class_count; i++) {
        see_class(m, i);
        m->left[i] = (double)m->heap->classes[i].in_use;
        if (m->heap->classes[i].in_use == 0)
            continue;
        m->smallest = fmin(m->smallest, m->work->sizes[i]);
        m->largest = m->work->sizes[i];
    }
}

int
waste_means(struct waste_work *work)
{
    struct means m = {.work = work, .heap = &work->waste->heap};
    double weights[WASTE_CLASSES_MAX];
    double *shares =
        mem_zalloc(GROUPS_MAX, m.heap->class_count * sizeof(*shares));
    int rc = -1;

    m.groups = mem_zalloc(GROUPS_MAX, sizeof(*m.groups));
    if (!m.groups || !shares)
        goto out;
    read_size_classes(&m);
    sort_stacks(&m);
    for (uint32_t i = 0; i < m.group_count; i++)
        m.groups[i].shares = &shares[(size_t)i * m.heap->class_count];
    waste_spread(work->sizes, m.left, m.heap->class_count, m.groups,
                 m.group_count, weights);
    count_most(&m);
    add_stack_waste_parts(&m); /* the first pass counts */
    if (waste_work_reserve(work, m.needed) != 0)
        goto out;
    memset(work->have, 0, sizeof(work->have));
    add_stack_waste_parts(&m);
    rc = 0;
out:
    mem_free(m.groups);
    mem_free(shares);
    return rc;
}
