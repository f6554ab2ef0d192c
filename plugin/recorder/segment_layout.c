/* segment_layout.c - see segment_layout.h. */
#include "segment_layout.h"

#include <fcntl.h>
#include <string.h>

/* segment_file.c copies parts by whole pages. */
enum { PART_ALIGN = 4096 };

static const uint32_t entry_bytes[SEGMENT_PARTS] = {
    [SEGMENT_MODULES] = sizeof(struct segment_module),
    [SEGMENT_STACKS] = sizeof(struct segment_stack),
    [SEGMENT_FRAMES] = sizeof(uint64_t),
    [SEGMENT_KEYS] = sizeof(uint64_t),
    [SEGMENT_SAMPLES] = sizeof(struct segment_sample),
    [SEGMENT_THREADS] = sizeof(struct segment_thread),
};

struct segment_capacity
segment_capacity_default(void)
{
    return (struct segment_capacity){
        .modules = 512,
        .stacks = 1 << 15,
        .frames = 1 << 20,
        .samples = 1 << 16,
        .threads = 1 << 13,
    };
}

bool
segment_plan(const struct segment_capacity *capacity,
             struct segment_header *header)
{
    const uint32_t counts[SEGMENT_PARTS] = {
        [SEGMENT_MODULES] = capacity->modules,
        [SEGMENT_STACKS] = capacity->stacks,
        [SEGMENT_FRAMES] = capacity->frames,
        [SEGMENT_KEYS] = capacity->samples,
        [SEGMENT_SAMPLES] = capacity->samples,
        [SEGMENT_THREADS] = capacity->threads,
    };
    uint64_t at = SEGMENT_HEADER_BYTES;

    memset(header, 0, sizeof(*header));
    header->magic = SEGMENT_MAGIC;
    header->version = SEGMENT_VERSION;
    header->header_bytes = SEGMENT_HEADER_BYTES;
    for (int i = 0; i < SEGMENT_PARTS; i++) {
        uint64_t bytes = (uint64_t)counts[i] * entry_bytes[i];

        header->parts[i] = (struct segment_part){at, counts[i], entry_bytes[i]};
        at += (bytes + PART_ALIGN - 1) / PART_ALIGN * PART_ALIGN;
    }
    header->segment_bytes = at;
    return segment_check(header, at) == NULL;
}

static const char *
check_part(const struct segment_header *header, int i, uint64_t *end)
{
    const struct segment_part *part = &header->parts[i];

    if (part->entry_bytes != entry_bytes[i])
        return "a part's entries have another size";
    if (part->count == 0 || part->offset % 64 != 0)
        return "a part is empty, or its offset is not a multiple of 64";
    if (part->offset < *end || part->offset > header->segment_bytes ||
        part->count >
            (header->segment_bytes - part->offset) / part->entry_bytes)
        return "a part lies outside of the segment, or over another";
    *end = part->offset + (uint64_t)part->count * part->entry_bytes;
    return NULL;
}

const char *
segment_check(const struct segment_header *header, uint64_t size)
{
    const struct segment_part *parts = header->parts;
    uint64_t end = SEGMENT_HEADER_BYTES;

    if (header->magic != SEGMENT_MAGIC)
        return "it is no segment";
    if (header->version != SEGMENT_VERSION ||
        header->header_bytes != SEGMENT_HEADER_BYTES)
        return "it is of another version";
    if (header->segment_bytes != size || size > SEGMENT_BYTES_MAX)
        return "its size is not what it says";
    for (int i = 0; i < SEGMENT_PARTS; i++) {
        const char *fault = check_part(header, i, &end);

        if (fault)
            return fault;
    }
    if (parts[SEGMENT_KEYS].count != parts[SEGMENT_SAMPLES].count ||
        parts[SEGMENT_KEYS].count % SEGMENT_BUCKET != 0)
        return "keys and samples are not in pairs";
    if (parts[SEGMENT_MODULES].count >= UINT16_MAX)
        return "it has more modules than a frame can name";
    return NULL;
}

int
segment_seals(void)
{
    return F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
}
