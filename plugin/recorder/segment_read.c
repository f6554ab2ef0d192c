/*
 * segment_read.c - see segment_read.h.
 *
 * What refers to something is copied before it: as the writer publishes the
 * other way round, the thing is there.  A place of the samples that has been
 * used again between key and fields is known by the key among the fields.
 */
#include "segment_read.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "errors.h"
#include "estimator.h"
#include "memory.h"
#include "segment_layout.h"

struct segment_copy {
    struct segment_header header;
    uint64_t damaged; /* entries that cannot be */
    bool cut;         /* it could not be read to its end */
    uint8_t *bytes;   /* the whole segment, but for its holes */
};

/* The sums of live samples lie in the copy, where the segment has nothing. */
struct live_sums {
    double bytes, objects;
};
_Static_assert(sizeof(struct live_sums) ==
                   sizeof(((struct segment_stack *)0)->unused),
               "the copy takes no more memory than the segment");

static const enum segment_part_id order[] = {
    SEGMENT_KEYS,   SEGMENT_SAMPLES, SEGMENT_STACKS,
    SEGMENT_FRAMES, SEGMENT_MODULES, SEGMENT_THREADS,
};

static bool
read_range(int fd, uint8_t *to, uint64_t at, uint64_t end)
{
    while (at < end) {
        ssize_t n = pread(fd, to + at, end - at, (off_t)at);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        at += (uint64_t)n;
    }
    return true;
}

/* The copy is zero where the segment has a hole. */
static bool
read_part(int fd, uint8_t *to, const struct segment_part *part)
{
    uint64_t at = part->offset;
    const uint64_t end = at + (uint64_t)part->count * part->entry_bytes;

    while (at < end) {
        off_t data = lseek(fd, (off_t)at, SEEK_DATA), hole;

        if (data < 0)
            return errno == ENXIO || read_range(fd, to, at, end);
        if ((uint64_t)data >= end)
            return true;
        hole = lseek(fd, data, SEEK_HOLE);
        at = hole < data || (uint64_t)hole > end ? end : (uint64_t)hole;
        if (!read_range(fd, to, (uint64_t)data, at))
            return false;
    }
    return true;
}

static void *
entry_at(const struct segment_copy *copy, enum segment_part_id part,
         uint32_t index)
{
    const struct segment_part *p = &copy->header.parts[part];

    return index < p->count
               ? copy->bytes + p->offset + (uint64_t)index * p->entry_bytes
               : NULL;
}

static bool
get_entry(const struct segment_copy *copy, enum segment_part_id part,
          uint32_t index, void *entry)
{
    const void *at = entry_at(copy, part, index);

    if (at)
        memcpy(entry, at, copy->header.parts[part].entry_bytes);
    return at != NULL;
}

static bool
get_stack(const struct segment_copy *copy, uint32_t index,
          struct segment_stack *stack)
{
    return get_entry(copy, SEGMENT_STACKS, index, stack) &&
           (stack->hash != 0 || index == SEGMENT_STACK_LOST) &&
           !(stack->hash & SEGMENT_CLAIM);
}

/* Takes out what cannot be. */
static void
check_stacks(struct segment_copy *copy)
{
    const uint32_t frames = copy->header.parts[SEGMENT_FRAMES].count;

    for (uint32_t i = 0; i < copy->header.parts[SEGMENT_STACKS].count; i++) {
        struct segment_stack stack;
        bool there = get_stack(copy, i, &stack);

        memset(stack.unused, 0, sizeof(stack.unused));
        if (there &&
            (stack.depth > SEGMENT_DEPTH_MAX || stack.first_frame > frames ||
             stack.depth > frames - stack.first_frame)) {
            copy->damaged++;
            memset(&stack, 0, sizeof(stack));
        }
        memcpy(entry_at(copy, SEGMENT_STACKS, i), &stack, sizeof(stack));
    }
}

static void
add_live(struct segment_copy *copy, const struct segment_sample *sample)
{
    struct segment_stack stack;
    struct live_sums sums;
    double weight = 1 / estimator_chance(sample->size, sample->mean);

    if (!get_entry(copy, SEGMENT_STACKS, sample->stack, &stack))
        return;
    memcpy(&sums, stack.unused, sizeof(sums));
    sums.bytes += weight * (double)sample->size;
    sums.objects += weight;
    memcpy(stack.unused, &sums, sizeof(sums));
    memcpy(entry_at(copy, SEGMENT_STACKS, sample->stack), &stack,
           sizeof(stack));
}

static bool
can_be(const struct segment_copy *copy, const struct segment_sample *sample)
{
    struct segment_stack stack;

    return sample->size <= SEGMENT_MEAN_MAX &&
           sample->mean <= SEGMENT_MEAN_MAX &&
           get_stack(copy, sample->stack, &stack);
}

/* A claim is no damage, nor is a place that has been used again meanwhile. */
static void
check_samples(struct segment_copy *copy)
{
    for (uint32_t i = 0; i < copy->header.parts[SEGMENT_KEYS].count; i++) {
        struct segment_sample sample = {0};
        uint64_t key = 0;

        get_entry(copy, SEGMENT_KEYS, i, &key);
        if (key == 0)
            continue;
        get_entry(copy, SEGMENT_SAMPLES, i, &sample);
        if (key & SEGMENT_CLAIM)
            key = key & SEGMENT_HELD ? sample.key : 0;
        if (key != sample.key)
            key = 0;
        if (key != 0 && !can_be(copy, &sample)) {
            copy->damaged++;
            key = 0;
        }
        if (key != 0)
            add_live(copy, &sample);
        memcpy(entry_at(copy, SEGMENT_KEYS, i), &key, sizeof(key));
    }
}

static int
read_header(int fd, struct segment_header *header, struct error *err)
{
    struct stat status;
    ssize_t n = pread(fd, header, sizeof(*header), 0);
    const char *fault;

    if (n < 0 || fstat(fd, &status) != 0) {
        error_sys(err, ER_UNKNOWN, "cannot read the recorder's segment");
        return -1;
    }
    fault = n == (ssize_t)sizeof(*header)
                ? segment_check(header, (uint64_t)status.st_size)
                : "it is too short";
    if (fault)
        error_set(err, ER_UNKNOWN, "cannot read the recorder's segment: %s",
                  fault);
    return fault ? -1 : 0;
}

struct segment_copy *
segment_read(int fd, struct error *err)
{
    struct segment_copy *copy = mem_zalloc(1, sizeof(*copy));
    struct segment_header now;

    if (!copy) {
        error_memory(err, "a copy of the recorder's segment");
        return NULL;
    }
    if (read_header(fd, &copy->header, err) != 0) {
        segment_copy_free(copy);
        return NULL;
    }
    copy->bytes = mem_alloc(copy->header.segment_bytes);
    if (!copy->bytes) {
        error_memory(err, "a copy of the recorder's segment");
        segment_copy_free(copy);
        return NULL;
    }
    for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++)
        copy->cut |= !read_part(fd, copy->bytes, &copy->header.parts[order[i]]);
    if (pread(fd, &now, sizeof(now), 0) == (ssize_t)sizeof(now)) {
        memcpy(now.parts, copy->header.parts, sizeof(now.parts));
        copy->header = now;
    }
    check_stacks(copy);
    check_samples(copy);
    return copy;
}

void
segment_copy_free(struct segment_copy *copy)
{
    if (!copy)
        return;
    mem_free(copy->bytes);
    mem_free(copy);
}

int
segment_copy_check(const struct segment_copy *copy, struct error *err)
{
    if (copy->damaged == 0 && !copy->cut)
        return 0;
    error_set(err, ER_UNKNOWN,
              "the recorder's segment is damaged: %llu of its entries were "
              "left out%s",
              (unsigned long long)copy->damaged,
              copy->cut ? ", and it could not be read to its end" : "");
    return -1;
}

const struct segment_header *
segment_copy_header(const struct segment_copy *copy)
{
    return &copy->header;
}

uint32_t
segment_copy_room(const struct segment_copy *copy, enum segment_part_id part)
{
    return copy->header.parts[part].count;
}

bool
segment_copy_stack(const struct segment_copy *copy, uint32_t stack,
                   struct segment_stack_seen *seen)
{
    struct segment_stack s;
    struct live_sums live;

    if (!get_stack(copy, stack, &s))
        return false;
    memcpy(&live, s.unused, sizeof(live));
    *seen = (struct segment_stack_seen){
        .depth = s.depth,
        .live_bytes = live.bytes,
        .live_objects = live.objects,
        .allocated_bytes = (double)s.allocated_bytes,
        .allocated_objects = (double)s.allocated_objects / SEGMENT_OBJECT,
        .freed_bytes = (double)s.freed_bytes,
        .freed_objects = (double)s.freed_objects / SEGMENT_OBJECT,
    };
    return true;
}

bool
segment_copy_module(const struct segment_copy *copy, uint32_t index,
                    struct segment_module *module)
{
    return get_entry(copy, SEGMENT_MODULES, index, module) &&
           module->start != 0 && module->start < module->end &&
           module->build_id_size <= SEGMENT_BUILD_ID_MAX;
}

bool
segment_copy_frame(const struct segment_copy *copy, uint32_t stack, uint32_t n,
                   uint64_t *pc, uint32_t *module)
{
    struct segment_stack s;
    struct segment_module m;
    uint64_t frame;

    if (!get_stack(copy, stack, &s) || n >= s.depth ||
        !get_entry(copy, SEGMENT_FRAMES, s.first_frame + n, &frame))
        return false;
    *pc = frame & SEGMENT_PC_MASK;
    *module = (uint32_t)(frame >> SEGMENT_PC_BITS) - 1;
    if (!segment_copy_module(copy, *module, &m))
        *module = UINT32_MAX;
    return true;
}

bool
segment_copy_sample(const struct segment_copy *copy, uint32_t place,
                    struct segment_sample *sample, double *weight)
{
    uint64_t key = 0;

    if (!get_entry(copy, SEGMENT_KEYS, place, &key) || key == 0)
        return false;
    get_entry(copy, SEGMENT_SAMPLES, place, sample);
    *weight = 1 / estimator_chance(sample->size, sample->mean);
    return true;
}

bool
segment_copy_thread(const struct segment_copy *copy, uint32_t index,
                    struct segment_thread *thread)
{
    return get_entry(copy, SEGMENT_THREADS, index, thread) &&
           thread->tid != 0 && thread->tid != UINT32_MAX;
}
