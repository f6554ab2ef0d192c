/*
 * snapshot_parts.c - see snapshot_parts.h.
 *
 * A part is written as its step from the one before: mostly 20 bytes, of which
 * its two estimates are 16.
 */
#include "snapshot_parts.h"

#include <string.h>

#include "arena.h"
#include "buffer.h"
#include "clean_text.h"
#include "live_parts.h"
#include "profile.h"
#include "reader.h"

enum {
    PARTS_MAX = 1 << 22,
    /* The fewest bytes that one of each takes: bounds what a count may
     * promise. */
    THREAD_BYTES = 2,
    PART_BYTES = 20
};

/* Estimates are finite and small enough to be added up. */
static const double real_max = 1e300;

/* ---- encoding ---- */

void
snapshot_parts_encode(const struct profile *profile, struct buffer *out)
{
    const struct live_parts *parts = profile->parts;
    uint32_t stack = 0;

    buffer_lenenc(out, profile->counted_ms);
    buffer_lenenc(out, parts->threads.count);
    for (size_t i = 0; i < parts->threads.count; i++) {
        const struct heap_thread *thread = &parts->threads.list[i];

        buffer_lenenc(out, thread->tid);
        buffer_lenenc_bytes(out, thread->name, strlen(thread->name));
        if (parts->threads.numbered)
            buffer_lenenc(out, thread->number);
    }
    buffer_lenenc(out, parts->count);
    for (size_t i = 0; i < parts->count; i++) {
        const struct live_part *part = &parts->list[i];

        buffer_lenenc(out, part->stack - stack);
        buffer_lenenc(out, part->thread);
        buffer_u8(out, (uint8_t)part->age);
        buffer_lenenc(out, part->samples);
        buffer_double(out, part->objects);
        buffer_double(out, part->bytes);
        stack = part->stack;
    }
}

/* ---- decoding ---- */

size_t
snapshot_read_count(struct reader *r, size_t least, size_t max)
{
    uint64_t count = reader_lenenc(r);

    r->failed |= count > max || count > reader_left(r) / least;
    return r->failed ? 0 : (size_t)count;
}

/* Reads a number below the limit: an index. */
static uint32_t
read_below(struct reader *r, uint64_t limit)
{
    uint64_t number = reader_lenenc(r);

    r->failed |= number >= limit;
    return r->failed ? 0 : (uint32_t)number;
}

double
snapshot_read_real(struct reader *r)
{
    uint64_t bits = reader_u64(r);
    double amount;

    memcpy(&amount, &bits, sizeof(amount));
    r->failed |= !(amount >= 0 && amount <= real_max);
    return amount;
}

static int
read_heap_threads(struct reader *r, bool foreign, bool numbered,
                  struct arena *arena, struct heap_threads *to)
{
    size_t count = snapshot_read_count(r, THREAD_BYTES, HEAP_THREADS_MAX);
    struct heap_thread *list = arena_alloc(arena, count * sizeof(*list));

    if (!list)
        return -1;
    for (size_t i = 0; i < count && !r->failed; i++) {
        uint32_t tid = read_below(r, (uint64_t)UINT32_MAX + 1);
        struct span text = reader_lenenc_bytes(r);
        char *name;

        r->failed |= text.size > HEAP_THREAD_NAME_MAX ||
                     memchr(text.data, 0, text.size) != NULL;
        if (r->failed)
            break;
        name = arena_strndup(arena, text.data, text.size);
        if (!name)
            return -1;
        if (foreign)
            clean_text(text, name);
        list[i] =
            (struct heap_thread){tid, name, numbered ? reader_lenenc(r) : 0};
    }
    *to = (struct heap_threads){list, count, numbered};
    return 0;
}

/* Parts ascend by stack, thread and age, each triple once: code that merges
 * profiles relies on it. */
static bool
is_part_after(const struct live_part *part, const struct live_part *last)
{
    if (part->stack != last->stack || part->thread != last->thread)
        return part->stack > last->stack ||
               (part->stack == last->stack && part->thread > last->thread);
    return part->age > last->age;
}

static void
read_live_part(struct reader *r, const struct profile *profile, size_t threads,
               uint32_t stack, struct live_part *part)
{
    part->stack = stack + read_below(r, profile->stack_count - stack);
    part->thread = read_below(r, threads);
    part->age = reader_u8(r);
    r->failed |= part->age >= HEAP_AGE_CLASSES;
    part->samples = reader_lenenc(r);
    part->objects = snapshot_read_real(r);
    part->bytes = snapshot_read_real(r);
}

int
snapshot_parts_decode(struct reader *r, bool foreign, bool numbered,
                      struct profile *profile)
{
    struct live_parts *parts = arena_alloc(profile->arena, sizeof(*parts));
    struct live_part *list;

    if (!parts)
        return -1;
    profile->counted_ms = reader_lenenc(r);
    if (read_heap_threads(r, foreign, numbered, profile->arena,
                          &parts->threads) != 0)
        return -1;
    parts->count = snapshot_read_count(r, PART_BYTES, PARTS_MAX);
    list = arena_alloc(profile->arena, parts->count * sizeof(*list));
    if (!list)
        return -1;
    for (size_t i = 0; i < parts->count && !r->failed; i++) {
        read_live_part(r, profile, parts->threads.count,
                       i ? list[i - 1].stack : 0, &list[i]);
        r->failed |= i > 0 && !is_part_after(&list[i], &list[i - 1]);
    }
    parts->list = list;
    profile->parts = parts;
    return 0;
}
