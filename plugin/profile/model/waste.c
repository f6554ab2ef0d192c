/*
 * waste.c - see waste.h.
 *
 * What each stack has in use of a class comes from a recorder's samples (here)
 * or from a dump's means (waste_means.c); then both are treated alike.  All
 * regions of a class in use share its free ones equally, because jemalloc does
 * not say which slabs are nearly empty.  Called once per profile, before it is
 * shared: by the controller after a dump, and when a snapshot is read.
 */
#include "waste.h"

#include <math.h>
#include <string.h>

#include "arena.h"
#include "errors.h"
#include "live_parts.h"
#include "profile.h"
#include "size_class.h"
#include "waste_work.h"

enum { NONE = UINT32_MAX };

/* ---- by a recorder's samples ---- */

/* Makes a part of each size that a stack has.  A size above all listed classes
 * is a large extent, and is left out. */
static int
take_sampled_sizes(struct waste_work *work)
{
    const struct live_sizes *sizes = work->profile->sizes;
    const struct waste_heap *heap = &work->waste->heap;

    if (waste_work_reserve(work, sizes->count) != 0)
        return -1;
    for (size_t i = 0; i < sizes->count; i++) {
        const struct live_size *from = &sizes->list[i];
        uint32_t number =
            waste_class_find(heap, size_class_bytes(from->number));

        if (number == heap->class_count)
            continue;
        work->have[number] += from->objects;
        waste_work_add(work, &(struct waste_part){.stack = from->stack,
                                                  .number = number,
                                                  .method = WASTE_SAMPLES,
                                                  .objects = from->objects,
                                                  .variance = from->variance,
                                                  .asked = from->bytes});
    }
    return 0;
}

/* ---- both ---- */

/* Computes the free bytes for each region in use.  Regions that no stack has
 * keep slabs as well, so all regions in use count; by chance the stacks may
 * have more than there are. */
static void
count_each(struct waste_work *work)
{
    struct waste *waste = work->waste;

    for (uint32_t i = 0; i < waste->heap.class_count; i++) {
        double regions = (double)waste->heap.classes[i].in_use;
        double all = fmax(regions, work->have[i]);

        waste->each[i] =
            all > 0 ? waste_free_bytes(&waste->heap.classes[i]) / all : 0;
        waste->unseen[i] = all - work->have[i];
    }
}

/* Gives each stack its waste, and the class that most of its bytes are of.  A
 * part by WASTE_SPREAD was only assumed, and does not tell the class.  The
 * parts of a stack follow each other. */
static void
give_stacks(struct waste_work *work)
{
    const struct waste *waste = work->waste;
    uint32_t stack = NONE;
    double most = 0;

    for (size_t i = 0; i < waste->count; i++) {
        const struct waste_part *part = &waste->parts[i];
        uint64_t size = waste->heap.classes[part->number].size;
        struct profile_stack *to = &work->stacks[part->stack];
        double bytes = part->objects * (double)size;

        if (part->stack != stack)
            most = 0;
        stack = part->stack;
        to->waste += part->objects * waste->each[part->number];
        if (part->method == WASTE_SPREAD || bytes <= most)
            continue;
        most = bytes;
        to->size_class = size;
    }
    work->profile->waste_bytes = 0;
    for (size_t i = 0; i < work->profile->stack_count; i++)
        work->profile->waste_bytes += work->stacks[i].waste;
    work->profile->wasted = true;
}

int
waste_fill(struct profile *profile, const struct waste_heap *heap,
           struct error *err)
{
    struct waste_work work = {
        .profile = profile, .stacks = (struct profile_stack *)profile->stacks};

    if (heap->at_ms == 0 || heap->class_count == 0 ||
        profile->kind != PROFILE_HEAP)
        return 0;
    work.waste = arena_alloc(profile->arena, sizeof(*work.waste));
    if (!work.waste)
        goto fail;
    work.waste->heap = *heap;
    for (uint32_t i = 0; i < heap->class_count; i++)
        work.sizes[i] = (double)heap->classes[i].size;
    /* The stacks have nothing yet: this is for waste_means(), which leaves out
     * parts with too little waste. */
    count_each(&work);
    if ((profile->sizes ? take_sampled_sizes(&work) : waste_means(&work)) != 0)
        goto fail;
    count_each(&work);
    give_stacks(&work);
    profile->waste = work.waste;
    return 0;
fail:
    error_memory(err, "the waste of a profile");
    return -1;
}
