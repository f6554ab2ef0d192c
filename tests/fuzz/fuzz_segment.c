/*
 * fuzz_segment.c - a recorder's segment that somebody has scribbled on.
 *
 * Each twelve bytes of the input go into a good one: four say where, eight
 * what. Whatever the copy then gives is in bounds.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "errors.h"
#include "fuzz_target.h"
#include "segment_layout.h"
#include "segment_make.h"
#include "segment_read.h"

enum { WHERE = 4, WHAT = 8, STACKS = 16, FRAMES = 64, KEYS = 32 };

static const struct segment_capacity capacity = {.modules = 4,
                                                 .stacks = STACKS,
                                                 .frames = FRAMES,
                                                 .samples = KEYS,
                                                 .threads = 4};

static void
demand(bool holds)
{
    if (!holds)
        abort();
}

static void
put(int fd, const void *what, size_t size, uint64_t at)
{
    demand(pwrite(fd, what, size, (off_t)at) == (ssize_t)size);
}

/* Some stacks, and a sample of each. */
static void
fill(int fd, const struct segment_header *header)
{
    const struct segment_part *parts = header->parts;
    struct segment_module module = {.start = 4096, .end = 8192};

    put(fd, &module, sizeof(module), parts[SEGMENT_MODULES].offset);
    for (uint32_t i = 1; i < STACKS; i++) {
        struct segment_stack stack = {
            .hash = i, .first_frame = i, .depth = i, .allocated_bytes = 100};
        struct segment_sample sample = {
            .key = i << 4, .size = i, .mean = 512, .stack = i};

        put(fd, &stack, sizeof(stack),
            parts[SEGMENT_STACKS].offset + i * sizeof(stack));
        put(fd, &sample.key, sizeof(sample.key),
            parts[SEGMENT_KEYS].offset + i * sizeof(sample.key));
        put(fd, &sample, sizeof(sample),
            parts[SEGMENT_SAMPLES].offset + i * sizeof(sample));
    }
}

static void
visit_stacks(const struct segment_copy *copy)
{
    for (uint32_t i = 0; i < segment_copy_count(copy, SEGMENT_STACKS); i++) {
        struct segment_stack_seen seen;
        struct segment_module module;
        uint64_t pc;
        uint32_t n = 0, in;

        if (!segment_copy_stack(copy, i, &seen))
            continue;
        demand(seen.live_bytes >= 0 && seen.live_objects >= 0);
        for (; segment_copy_frame(copy, i, n, &pc, &in); n++)
            demand(in == UINT32_MAX || segment_copy_module(copy, in, &module));
        demand(n == seen.depth && n <= SEGMENT_DEPTH_MAX);
    }
}

static void
visit_samples(const struct segment_copy *copy)
{
    for (uint32_t i = 0; i < segment_copy_count(copy, SEGMENT_SAMPLES); i++) {
        struct segment_stack_seen seen;
        struct segment_sample sample;
        struct segment_thread thread;
        double weight;

        if (!segment_copy_sample(copy, i, &sample, &weight))
            continue;
        demand(weight >= 1 && segment_copy_stack(copy, sample.stack, &seen));
        segment_copy_thread(copy, sample.thread, &thread);
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct segment_header header;
    struct segment_copy *copy;
    struct error err;
    int fd;

    demand(segment_plan(&capacity, &header));
    fd = segment_make(&header);
    demand(fd >= 0);
    fill(fd, &header);
    for (; size >= WHERE + WHAT; data += WHERE + WHAT, size -= WHERE + WHAT) {
        uint32_t at;

        memcpy(&at, data, sizeof(at));
        put(fd, data + WHERE, WHAT, at % (header.segment_bytes - WHAT));
    }
    copy = segment_read(fd, &err);
    if (copy) {
        visit_stacks(copy);
        visit_samples(copy);
    }
    segment_copy_free(copy);
    close(fd);
    return 0;
}
