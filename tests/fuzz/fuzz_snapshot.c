/*
 * fuzz_snapshot.c - any bytes as a snapshot that is imported.
 *
 * The first byte says what they are: a file, whose checksums are made right
 * first, as a forger would; a raw profile is such a file, too; or the
 * body of one, not packed.  What is imported can be exported, and that is
 * imported as the same.
 */
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "buffer.h"
#include "errors.h"
#include "fuzz_target.h"
#include "live_parts.h"
#include "memory_budget.h"
#include "profile.h"
#include "reader.h"
#include "snapshot.h"
#include "snapshot_body.h"
#include "snapshot_file.h"
#include "store.h"
#include "waste.h"

enum { AS_FILE, AS_BODY, AS_FOREIGN_BODY, KINDS };
enum { ROOM = 64 << 20, RATE = 524288 };

/* Of a file's head: see snapshot_file.c. */
enum { LENGTH_AT = 12, BODY_CHECKSUM_AT = 32, HEAD_MIN = 40, CHECKSUM = 4 };

/* ---- checksums ---- */

static void
put_checksum(uint8_t *at, const uint8_t *bytes, size_t size)
{
    uint32_t sum = (uint32_t)crc32(0, bytes, (uInt)size);

    for (int i = 0; i < CHECKSUM; i++)
        at[i] = (uint8_t)(sum >> 8 * i);
}

static void
make_right(uint8_t *bytes, size_t size)
{
    struct reader r = reader_of(bytes, size);
    uint32_t length;

    reader_bytes(&r, LENGTH_AT);
    length = reader_u32(&r);
    if (r.failed || length < HEAD_MIN || length > size)
        return;
    put_checksum(bytes + BODY_CHECKSUM_AT, bytes + length, size - length);
    put_checksum(bytes + length - CHECKSUM, bytes, length - CHECKSUM);
}

/* ---- there and back ---- */

static void
check_parts(const struct profile *p)
{
    const struct live_parts *parts = p->parts;

    for (size_t i = 0; parts && i < parts->count; i++) {
        const struct live_part *part = &parts->list[i];

        if (part->stack >= p->stack_count ||
            part->thread >= parts->threads.count ||
            part->age >= HEAP_AGE_CLASSES ||
            (i > 0 && part->stack < part[-1].stack))
            abort();
    }
}

static void
check_waste(const struct profile *p)
{
    const struct waste *waste = p->waste;

    for (size_t i = 0; waste && i < waste->count; i++) {
        const struct waste_part *part = &waste->parts[i];

        if (part->stack >= p->stack_count ||
            part->number >= waste->heap.class_count || !(part->objects >= 0) ||
            (i > 0 && part->stack < part[-1].stack))
            abort();
    }
}

static void
check_profile(const struct profile *p)
{
    for (size_t i = 0; i < p->location_count; i++)
        if ((i > 0 && p->locations[i].address <= p->locations[i - 1].address) ||
            p->locations[i].frame_count == 0 ||
            p->locations[i].wrapped > p->locations[i].frame_count)
            abort();
    for (size_t i = 0; i < p->stack_count; i++)
        for (uint32_t k = 0; k < p->stacks[i].depth; k++)
            if (p->stacks[i].locations[k] >= p->location_count)
                abort();
    for (size_t i = 0; i < p->module_count; i++)
        if (p->modules[i].start > p->modules[i].end)
            abort();
    check_parts(p);
    check_waste(p);
}

/* NULL: its bytes would take more than there is room for. */
static struct snapshot *
import(struct span bytes)
{
    struct error err = {.code = 0};
    struct snapshot *snapshot = snapshot_import(bytes.data, bytes.size, &err);

    if (!snapshot && err.code != ER_OUT_OF_RESOURCES)
        abort();
    return snapshot;
}

static void export(const struct snapshot *snapshot, struct buffer *out)
{
    struct store_entry entry;
    struct error err;

    buffer_init(out, SNAPSHOT_FILE_MAX);
    if (snapshot_export(snapshot, NULL, out, &err) != 0 ||
        snapshot_decode_head(out->data, out->size, &entry, &err) != 0 ||
        entry.stacks != snapshot->profile->stack_count ||
        entry.size != out->size)
        abort();
}

/* What a body that is not foreign has of bad texts is gone after the first
 * time. */
static void
check_round(const struct snapshot *snapshot)
{
    struct snapshot *first, *second;
    struct buffer before, after;

    export(snapshot, &before);
    first = import((struct span){before.data, before.size});
    buffer_fini(&before);
    if (!first)
        return;
    check_profile(first->profile);
    export(first, &before);
    second = import((struct span){before.data, before.size});
    if (second) {
        export(second, &after);
        if (before.size != after.size ||
            memcmp(before.data, after.data, after.size) != 0)
            abort();
        buffer_fini(&after);
    }
    buffer_fini(&before);
    snapshot_unref(first);
    snapshot_unref(second);
}

/* ---- the kinds ---- */

static struct snapshot *
take_body(const uint8_t *bytes, size_t size, bool foreign)
{
    struct error err;
    struct profile *profile = snapshot_body_decode(bytes, size, foreign, &err);
    struct snapshot *snapshot = profile ? snapshot_new() : NULL;

    if (!snapshot) {
        profile_free(profile);
        return NULL;
    }
    profile->rate = RATE;
    profile_add_up(profile);
    snapshot->profile = profile;
    snapshot->taken_ms = 1;
    return snapshot;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct snapshot *snapshot;
    struct error err;
    uint8_t *bytes;

    if (size == 0)
        return 0;
    decode_budget_set(ROOM);
    size--;
    bytes = malloc(size + !size); /* exact, for the sanitizers */
    if (!bytes)
        return 0;
    memcpy(bytes, data + 1, size);
    if (data[0] % KINDS == AS_FILE) {
        make_right(bytes, size);
        snapshot = snapshot_import(bytes, size, &err);
    } else {
        snapshot = take_body(bytes, size, data[0] % KINDS == AS_FOREIGN_BODY);
    }
    free(bytes);
    if (snapshot) {
        check_profile(snapshot->profile);
        check_round(snapshot);
    }
    snapshot_unref(snapshot);
    if (decode_budget_used() != 0)
        abort();
    return 0;
}
