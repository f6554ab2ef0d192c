/*
 * segment_fixture.h - a segment that a test writes as a recorder does.
 */
#ifndef HW_SEGMENT_FIXTURE_H
#define HW_SEGMENT_FIXTURE_H

#include <check.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "errors.h"
#include "segment_layout.h"
#include "segment_make.h"
#include "segment_read.h"

struct segment_fixture {
    int fd;
    struct segment_header *header; /* mapped */
    uint32_t frames;
};

static void *
fixture_part(const struct segment_fixture *f, enum segment_part_id part)
{
    return (char *)f->header + f->header->parts[part].offset;
}

static void
fixture_init(struct segment_fixture *f)
{
    static const struct segment_capacity capacity = {
        .modules = 8, .stacks = 64, .frames = 256, .samples = 64, .threads = 4};
    struct segment_header header;

    ck_assert(segment_plan(&capacity, &header));
    header.settings.mean_bytes = 512 * 1024;
    f->frames = 0;
    f->fd = segment_make(&header);
    ck_assert_int_ge(f->fd, 0);
    f->header = mmap(NULL, header.segment_bytes, PROT_READ | PROT_WRITE,
                     MAP_SHARED, f->fd, 0);
    ck_assert_ptr_ne(f->header, MAP_FAILED);
}

static void
fixture_fini(struct segment_fixture *f)
{
    munmap(f->header, f->header->segment_bytes);
    close(f->fd);
}

static struct segment_copy *
fixture_copy(const struct segment_fixture *f)
{
    struct error err;
    struct segment_copy *copy = segment_read(f->fd, &err);

    ck_assert_ptr_nonnull(copy);
    return copy;
}

#endif
