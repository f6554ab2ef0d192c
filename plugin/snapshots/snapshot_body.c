/*
 * snapshot_body.c - see snapshot_body.h.
 *
 * Every text is written once and referred to by number, addresses are
 * differences, and numbers are length-encoded, so a profile of 10,000 stacks
 * has about a megabyte before deflate.  Texts come first in the file but are
 * known last, so the rest is encoded into a buffer of its own.
 *
 * A file may be forged, with correct checksums: every number is checked against
 * what it counts or indexes before use, and a count must fit into the bytes
 * that are left before memory is taken for it.  The decoded profile is charged
 * to the decode budget.  Linear in the file's size.
 */
#include "snapshot_body.h"

#include <string.h>

#include "allocator.h"
#include "arena.h"
#include "buffer.h"
#include "clean_text.h"
#include "errors.h"
#include "heap_dump.h"
#include "live_parts.h"
#include "memory.h"
#include "memory_budget.h"
#include "profile.h"
#include "reader.h"
#include "snapshot_parts.h"
#include "snapshot_waste.h"
#include "texts.h"

enum {
    PROFILE_BYTES_MAX = 1 << 30, /* decoded; as that of a new profile */
    /* The fewest bytes that one of each takes: bounds what a count may
     * promise. */
    TEXT_BYTES = 1,
    LOCATION_BYTES = 8,
    FRAME_BYTES = 3,
    STACK_BYTES = 45,
    MODULE_BYTES = 26
};

enum {
    LIVE = 1,
    ACCUMULATED = 2,
    PARTS = 4,
    WEIGHTED = 8,
    WASTE = 16,
    NUMBERED = 32
};                                                         /* of the profile */
enum { IN_ALLOCATOR = 1, HAS_SYMBOL = 2, IS_WRAPPED = 4 }; /* of a location */

/* Times reach until the year 9999, and may be as far before 1970. */
static const int64_t time_max_ms = 253402300799999;

/* ---- encoding ---- */

struct encoder {
    struct buffer *out;
    struct texts *texts;
    struct arena *arena;
    const char *wrappers, *known; /* lists; NULL: none */
    struct buffer scratch;
    bool has_wrapped;
    bool failed; /* no memory for texts */
};

static void
put_body_text(struct encoder *e, const char *text)
{
    uint32_t number = 0;

    if (texts_add_lasting(e->texts, text, &number) != 0)
        e->failed = true;
    buffer_lenenc(e->out, number);
}

static void
put_location(struct encoder *e, const struct location *location)
{
    uint16_t known = wrappers_count(e->known, location, &e->scratch);
    uint16_t wrapped = wrappers_count(e->wrappers, location, &e->scratch);

    if (wrapped < known)
        wrapped = known;
    e->has_wrapped = e->has_wrapped || wrapped > 0;
    buffer_u8(e->out, (uint8_t)((location->in_allocator ? IN_ALLOCATOR : 0) |
                                (location->symbol ? HAS_SYMBOL : 0) |
                                (wrapped > 0 ? IS_WRAPPED : 0)));
    if (wrapped > 0)
        buffer_lenenc(e->out, wrapped);
    put_body_text(e, location->module);
    buffer_lenenc(e->out, location->module_offset);
    if (location->symbol) {
        put_body_text(e, location->symbol);
        buffer_lenenc(e->out, location->symbol_start);
    }
    buffer_lenenc(e->out, location->frame_count);
    for (uint32_t i = 0; i < location->frame_count; i++) {
        put_body_text(e, location->frames[i].function);
        put_body_text(e, location->frames[i].file);
        buffer_lenenc(e->out, location->frames[i].line);
    }
}

static void
put_locations(struct encoder *e, const struct profile *profile)
{
    uint64_t last = 0;

    buffer_lenenc(e->out, profile->location_count);
    for (size_t i = 0; i < profile->location_count; i++) {
        buffer_lenenc(e->out, profile->locations[i].address - last);
        last = profile->locations[i].address;
        put_location(e, &profile->locations[i]);
    }
}

static void
put_stack(struct buffer *out, const struct profile_stack *stack)
{
    buffer_lenenc(out, stack->depth);
    for (uint32_t i = 0; i < stack->depth; i++)
        buffer_lenenc(out, stack->locations[i]);
    buffer_lenenc(out, stack->in_use.objects);
    buffer_lenenc(out, stack->in_use.bytes);
    buffer_lenenc(out, stack->ever.objects);
    buffer_lenenc(out, stack->ever.bytes);
    buffer_double(out, stack->objects);
    buffer_double(out, stack->bytes);
    buffer_double(out, stack->objects_ever);
    buffer_double(out, stack->bytes_ever);
    buffer_double(out, stack->variance);
}

static void
put_modules(struct encoder *e, const struct profile *profile)
{
    buffer_lenenc(e->out, profile->module_count);
    for (size_t i = 0; i < profile->module_count; i++) {
        const struct profile_module *module = &profile->modules[i];

        buffer_u64(e->out, module->start);
        buffer_u64(e->out, module->end);
        buffer_u64(e->out, module->offset);
        put_body_text(e, module->path);
        put_body_text(e, module->build_id);
    }
}

static void
put_profile(struct encoder *e, const struct profile *profile)
{
    buffer_u8(e->out,
              (uint8_t)((profile->origin.live ? LIVE : 0) |
                        (profile->accumulated ? ACCUMULATED : 0) |
                        (profile->parts ? PARTS : 0) |
                        (live_parts_numbered(profile->parts) ? NUMBERED : 0) |
                        (profile->weighted ? WEIGHTED : 0) |
                        (profile->waste ? WASTE : 0)));
    buffer_u64(e->out, (uint64_t)profile->origin.taken_ms);
    buffer_u64(e->out, (uint64_t)profile->origin.active_since_ms);
    buffer_double(e->out, profile->objects_ever);
    buffer_double(e->out, profile->bytes_ever);
    put_body_text(e, profile->program);
    put_body_text(e, profile->note);
    put_body_text(e, profile->memory);
    put_locations(e, profile);
    buffer_lenenc(e->out, profile->stack_count);
    for (size_t i = 0; i < profile->stack_count; i++)
        put_stack(e->out, &profile->stacks[i]);
    put_modules(e, profile);
    if (profile->parts)
        snapshot_parts_encode(profile, e->out);
    if (profile->waste)
        snapshot_waste_encode(profile, e->out);
}

/* Texts are known only after all else was encoded. */
static void
put_body_texts(struct encoder *e, struct buffer *out)
{
    buffer_lenenc(out, texts_count(e->texts));
    for (uint32_t i = 0; i < texts_count(e->texts); i++)
        buffer_lenenc_bytes(out, texts_get(e->texts, i),
                            strlen(texts_get(e->texts, i)));
}

int
snapshot_body_encode(const struct profile *profile, const char *wrappers,
                     bool *wrapped, struct buffer *out, struct error *err)
{
    struct encoder e = {.arena = arena_new(SNAPSHOT_BODY_MAX),
                        .wrappers = wrappers};
    struct buffer rest;
    int rc = -1;

    if (wrappers)
        e.known = known_wrappers(profile->program, wrappers);
    buffer_init(&rest, SNAPSHOT_BODY_MAX);
    buffer_init(&e.scratch, SNAPSHOT_BODY_MAX);
    e.out = &rest;
    e.texts = e.arena ? texts_new(e.arena) : NULL;
    if (!e.texts) {
        error_memory(err, "a snapshot's file");
        goto out;
    }
    put_profile(&e, profile);
    put_body_texts(&e, out);
    buffer_add(out, rest.data ? rest.data : "", rest.size);
    *wrapped = e.has_wrapped;
    if (e.failed || e.scratch.failed || rest.failed || out->failed) {
        error_set(err, ER_OUT_OF_MEMORY,
                  "the snapshot takes more than %d MB, or memory ran out",
                  SNAPSHOT_BODY_MAX >> 20);
        goto out;
    }
    rc = 0;
out:
    texts_free(e.texts);
    arena_free(e.arena);
    buffer_fini(&rest);
    buffer_fini(&e.scratch);
    return rc;
}

/* ---- decoding ---- */

struct decoder {
    struct reader r; /* also set to failed where numbers make no sense */
    struct arena *arena;
    const char **texts;
    size_t text_count;
    bool foreign, no_memory;
};

static void *
allocate_decoded_array(struct decoder *d, size_t count, size_t size)
{
    /* count is below 2^28: no overflow */
    void *place = arena_alloc(d->arena, count * size);

    if (!place)
        d->no_memory = d->r.failed = true;
    return place;
}

/* Reads a count of things of which each takes at least so many bytes. */
static size_t
get_count(struct decoder *d, size_t least, size_t max)
{
    uint64_t count = reader_lenenc(&d->r);

    if (count > max || count > reader_left(&d->r) / least) {
        d->r.failed = true;
        return 0;
    }
    return (size_t)count;
}

static const char *
copy_body_text(struct decoder *d, struct span text)
{
    char *copy = arena_strndup(d->arena, text.data, text.size);

    if (!copy)
        d->no_memory = d->r.failed = true;
    else if (d->foreign)
        clean_text(text, copy);
    return copy;
}

static void
get_texts(struct decoder *d)
{
    d->text_count = get_count(d, TEXT_BYTES, SNAPSHOT_BODY_MAX);
    d->texts = allocate_decoded_array(d, d->text_count, sizeof(*d->texts));
    for (size_t i = 0; i < d->text_count && !d->r.failed; i++) {
        struct span text = reader_lenenc_bytes(&d->r);

        if (memchr(text.data, 0, text.size))
            d->r.failed = true;
        d->texts[i] = copy_body_text(d, text);
    }
}

/* Never NULL, so that code before the check of the failure can use it. */
static const char *
get_text(struct decoder *d)
{
    uint64_t number = reader_lenenc(&d->r);

    if (d->r.failed || number >= d->text_count) {
        d->r.failed = true;
        return "";
    }
    return d->texts[number];
}

static uint32_t
get_u32(struct decoder *d)
{
    uint64_t number = reader_lenenc(&d->r);

    d->r.failed |= number > UINT32_MAX;
    return (uint32_t)number;
}

static int64_t
get_time(struct decoder *d)
{
    int64_t ms = (int64_t)reader_u64(&d->r);

    d->r.failed |= ms > time_max_ms || ms < -time_max_ms;
    return ms;
}

static void
get_location(struct decoder *d, struct location *location)
{
    uint8_t flags = reader_u8(&d->r);
    struct frame *frames;

    d->r.failed |= (flags & ~(IN_ALLOCATOR | HAS_SYMBOL | IS_WRAPPED)) != 0;
    location->in_allocator = flags & IN_ALLOCATOR;
    if (flags & IS_WRAPPED)
        location->wrapped =
            (uint16_t)get_count(d, FRAME_BYTES, NAMES_INLINE_MAX);
    location->module = get_text(d);
    location->module_offset = reader_lenenc(&d->r);
    if (flags & HAS_SYMBOL) {
        location->symbol = get_text(d);
        location->symbol_start = reader_lenenc(&d->r);
    }
    location->frame_count =
        (uint32_t)get_count(d, FRAME_BYTES, NAMES_INLINE_MAX);
    d->r.failed |=
        location->frame_count == 0 || location->wrapped > location->frame_count;
    frames = allocate_decoded_array(d, location->frame_count, sizeof(*frames));
    for (uint32_t i = 0; i < location->frame_count && !d->r.failed; i++) {
        frames[i].function = get_text(d);
        frames[i].file = get_text(d);
        frames[i].line = get_u32(d);
        d->r.failed |= *frames[i].function == '\0';
    }
    location->frames = frames;
}

/* Addresses must ascend: code that looks them up relies on it. */
static void
get_locations(struct decoder *d, struct profile *profile)
{
    size_t count = get_count(d, LOCATION_BYTES, HEAP_DUMP_ADDRESSES_MAX);
    struct location *list = allocate_decoded_array(d, count, sizeof(*list));
    uint64_t address = 0;

    for (size_t i = 0; i < count && !d->r.failed; i++) {
        uint64_t step = reader_lenenc(&d->r);

        if (__builtin_add_overflow(address, step, &address) ||
            (i > 0 && step == 0))
            d->r.failed = true;
        list[i].address = address;
        get_location(d, &list[i]);
    }
    profile->locations = list;
    profile->location_count = count;
}

static void
get_stack(struct decoder *d, size_t location_count, struct profile_stack *stack)
{
    size_t depth = get_count(d, 1, HEAP_DUMP_DEPTH_MAX);
    uint32_t *locations = allocate_decoded_array(d, depth, sizeof(*locations));

    for (size_t i = 0; i < depth && !d->r.failed; i++) {
        locations[i] = get_u32(d);
        d->r.failed |= locations[i] >= location_count;
    }
    stack->locations = locations;
    stack->depth = (uint32_t)depth;
    stack->in_use.objects = reader_lenenc(&d->r);
    stack->in_use.bytes = reader_lenenc(&d->r);
    stack->ever.objects = reader_lenenc(&d->r);
    stack->ever.bytes = reader_lenenc(&d->r);
    stack->objects = snapshot_read_real(&d->r);
    stack->bytes = snapshot_read_real(&d->r);
    stack->objects_ever = snapshot_read_real(&d->r);
    stack->bytes_ever = snapshot_read_real(&d->r);
    stack->variance = snapshot_read_real(&d->r);
}

static void
get_stacks(struct decoder *d, struct profile *profile)
{
    size_t count = get_count(d, STACK_BYTES, HEAP_DUMP_STACKS_MAX);
    struct profile_stack *list =
        allocate_decoded_array(d, count, sizeof(*list));

    for (size_t i = 0; i < count && !d->r.failed; i++)
        get_stack(d, profile->location_count, &list[i]);
    profile->stacks = list;
    profile->stack_count = count;
}

static bool
is_hexadecimal(const char *text)
{
    return text[strspn(text, "0123456789abcdef")] == '\0';
}

static void
get_modules(struct decoder *d, struct profile *profile)
{
    size_t count = get_count(d, MODULE_BYTES, MAPPINGS_MAX);
    struct profile_module *list =
        allocate_decoded_array(d, count, sizeof(*list));
    uint64_t last = 0;

    for (size_t i = 0; i < count && !d->r.failed; i++) {
        list[i].start = reader_u64(&d->r);
        list[i].end = reader_u64(&d->r);
        list[i].offset = reader_u64(&d->r);
        list[i].path = get_text(d);
        list[i].build_id = get_text(d);
        d->r.failed |= list[i].start < last || list[i].end < list[i].start ||
                       !is_hexadecimal(list[i].build_id);
        last = list[i].end;
    }
    profile->modules = list;
    profile->module_count = count;
}

static void
get_profile(struct decoder *d, struct profile *profile)
{
    uint8_t flags;

    get_texts(d);
    flags = reader_u8(&d->r);
    d->r.failed |=
        (flags & ~(LIVE | ACCUMULATED | PARTS | WEIGHTED | WASTE | NUMBERED)) !=
            0 ||
        (flags & NUMBERED && !(flags & PARTS));
    profile->origin.live = flags & LIVE;
    profile->accumulated = flags & ACCUMULATED;
    profile->weighted = flags & WEIGHTED;
    profile->origin.taken_ms = get_time(d);
    profile->origin.active_since_ms = get_time(d);
    profile->objects_ever = snapshot_read_real(&d->r);
    profile->bytes_ever = snapshot_read_real(&d->r);
    profile->program = get_text(d);
    profile->note = get_text(d);
    profile->memory = get_text(d);
    get_locations(d, profile);
    get_stacks(d, profile);
    get_modules(d, profile);
    if (flags & PARTS && !d->r.failed &&
        snapshot_parts_decode(&d->r, d->foreign, flags & NUMBERED, profile) !=
            0)
        d->no_memory = d->r.failed = true;
    if (flags & WASTE && !d->r.failed &&
        snapshot_waste_decode(&d->r, profile) != 0)
        d->no_memory = d->r.failed = true;
}

struct profile *
snapshot_body_decode(const void *bytes, size_t size, bool foreign,
                     struct error *err)
{
    struct profile *profile = mem_zalloc(1, sizeof(*profile));
    struct decoder d = {.r = reader_of(bytes, size), .foreign = foreign};

    if (profile)
        profile->arena = d.arena = arena_new(PROFILE_BYTES_MAX);
    if (d.arena)
        arena_set_meter(d.arena, &decode_budget_meter);
    if (!d.arena) {
        error_memory(err, "a snapshot");
        profile_free(profile);
        return NULL;
    }
    get_profile(&d, profile);
    if (reader_done(&d.r))
        return profile;
    if (d.no_memory)
        error_memory(err, "a snapshot");
    else
        error_set(err, ER_UNKNOWN, "its body makes no sense");
    profile_free(profile);
    return NULL;
}
