/* waste_work.c - what both ways to count waste use: see waste.h and
 * waste_work.h. */
#include "waste_work.h"

#include "arena.h"
#include "profile.h"

double
waste_free_bytes(const struct waste_class *of)
{
    double regions = (double)of->slabs * (double)of->regions;

    if (of->slab_size == 0 || regions <= (double)of->in_use)
        return 0;
    return (regions - (double)of->in_use) * (double)of->size;
}

double
waste_end_bytes(const struct waste_class *of)
{
    double used = (double)of->regions * (double)of->size;

    if (of->slab_size == 0 || used >= (double)of->slab_size)
        return 0;
    return (double)of->slabs * ((double)of->slab_size - used);
}

uint32_t
waste_class_find(const struct waste_heap *heap, uint64_t size)
{
    uint32_t low = 0, high = heap->class_count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (heap->classes[middle].size < size)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

int
waste_work_reserve(struct waste_work *work, size_t parts)
{
    work->waste->parts =
        arena_alloc(work->profile->arena, parts * sizeof(*work->waste->parts));
    work->capacity = work->waste->parts ? parts : 0;
    return work->waste->parts ? 0 : -1;
}

void
waste_work_add(struct waste_work *work, const struct waste_part *part)
{
    struct waste_part *list = (struct waste_part *)work->waste->parts;

    if (work->waste->count < work->capacity)
        list[work->waste->count++] = *part;
}
