/*
 * waste.h - what a heap's pages hold and nobody uses, by who keeps them.
 *
 * A slab is given back when its last region is freed, so whoever still holds
 * some of its regions keeps the rest of it.  jemalloc tells how many regions of
 * a size class its slabs have and how many are in use, but not where; so the
 * free ones are divided among the stacks by what each has in use of that class.
 *
 * How it is known what a stack has in use of each class:
 *
 * - WASTE_SAMPLES: a recorder's samples have exact sizes.
 * - WASTE_ONE_CLASS: jemalloc's dump has only the number and the bytes of a
 *   stack's objects.  If their mean is the size of a class, all are taken to be
 *   of that class.
 * - WASTE_SPREAD: the mean lies between classes.  Takes the most even spread
 *   over the classes that gives each such stack its mean, and all together the
 *   regions that are in use (waste_spread.h).
 */
#ifndef HW_WASTE_H
#define HW_WASTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct profile;

enum { WASTE_CLASSES_MAX = 128 };

enum waste_method { WASTE_SAMPLES, WASTE_ONE_CLASS, WASTE_SPREAD };

struct waste_class {
    uint64_t size; /* bytes of a region, or of a large extent */
    /* regions and bytes of a slab; 0: large extents */
    uint64_t regions, slab_size;
    uint64_t slabs;
    /* regions, including those in threads' caches; or extents */
    uint64_t in_use;
};

/* What jemalloc counts, in bytes. */
struct waste_heap {
    int64_t at_ms; /* wall clock; 0: nothing is known */
    uint64_t allocated, active, resident;
    uint64_t dirty, muzzy, retained, tcache;
    /* the part of active that large extents take beyond their sizes */
    uint64_t large_padding;
    /* dirty, muzzy and tcache lack those of some arenas */
    bool arenas_left_out;
    uint32_t class_count;
    struct waste_class classes[WASTE_CLASSES_MAX]; /* ascending by size */
};

/* What a stack has in use of a class. */
struct waste_part {
    uint32_t stack, number; /* number: of the class in the heap */
    enum waste_method method;
    double objects;
    double variance; /* of objects, by sampling */
    double bound;    /* objects that the method itself may be wrong by */
    double asked;    /* bytes asked for; 0: not known */
};

struct waste {
    struct waste_heap heap;
    double each[WASTE_CLASSES_MAX];   /* free bytes for each region in use */
    double unseen[WASTE_CLASSES_MAX]; /* regions in use that no stack has */
    const struct waste_part *parts;   /* by stack */
    size_t count;
};

/* Of a class's slabs: the bytes of free regions, and the bytes at their ends
 * that no region has. */
double waste_free_bytes(const struct waste_class *of);
double waste_end_bytes(const struct waste_class *of);
/* The number of the smallest class that holds size; class_count: none. */
uint32_t waste_class_find(const struct waste_heap *heap, uint64_t size);

/* Fills profile->waste, and the stacks' waste and size classes, if heap is
 * known and the profile is one of the heap.  -1 with *err: no memory. */
int waste_fill(struct profile *profile, const struct waste_heap *heap,
               struct error *err);

#endif
