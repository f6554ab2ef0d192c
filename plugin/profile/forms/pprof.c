/*
 * pprof.c - see forms.h.
 *
 * pprof's file is a protocol buffer in gzip.  Its encoder is a few lines here,
 * because only numbers and byte strings are needed; a library would be larger
 * than this file.  Readers find locations, functions and texts by number, so
 * these may follow the samples: one walk over the stacks writes the samples and
 * numbers the locations used, and the tables come after it.  Nothing is kept
 * per sample.
 *
 * The message is built in memory, at most PPROF_BYTES_MAX, and then compressed
 * into the caller's buffer.  Called on the thread that renders the view.
 */
#include "forms.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#include "arena.h"
#include "buffer.h"
#include "errors.h"
#include "hash.h"
#include "memory.h"
#include "profile.h"
#include "stack_names.h"
#include "texts.h"
#include "view_options.h"
#include "zlib_memory.h"

/* ---- protocol buffers, field by field:
 * https://protobuf.dev/programming-guides/encoding/ ---- */

enum { WIRE_VARINT = 0, WIRE_LENGTH = 2 };

/* Omits a field that is 0: its absence means 0. */
static void
protobuf_number(struct buffer *out, uint32_t field, uint64_t v)
{
    if (v == 0)
        return;
    buffer_leb(out, (uint64_t)field << 3 | WIRE_VARINT);
    buffer_leb(out, v);
}

/* Adds a string, an embedded message, or packed numbers. */
static void
protobuf_bytes(struct buffer *out, uint32_t field, const void *data,
               size_t size)
{
    buffer_leb(out, (uint64_t)field << 3 | WIRE_LENGTH);
    buffer_leb(out, size);
    buffer_add(out, data, size);
}

enum {
    PPROF_MEMORY_MAX = 1 << 30,
    PPROF_BYTES_MAX = 512 << 20, /* before compression */
    SAMPLE_TYPES = 8
};

/* Fields of profile.proto. */
enum {
    PROFILE_SAMPLE_TYPE = 1,
    PROFILE_SAMPLE = 2,
    PROFILE_MAPPING = 3,
    PROFILE_LOCATION = 4,
    PROFILE_FUNCTION = 5,
    PROFILE_STRING = 6,
    PROFILE_TIME_NANOS = 9,
    PROFILE_DURATION_NANOS = 10,
    PROFILE_PERIOD_TYPE = 11,
    PROFILE_PERIOD = 12,
    PROFILE_COMMENT = 13,
    PROFILE_DEFAULT_SAMPLE_TYPE = 14,
    VALUE_TYPE = 1,
    VALUE_UNIT = 2,
    SAMPLE_LOCATIONS = 1,
    SAMPLE_VALUES = 2,
    MAPPING_ID = 1,
    MAPPING_START = 2,
    MAPPING_LIMIT = 3,
    MAPPING_OFFSET = 4,
    MAPPING_FILE = 5,
    MAPPING_BUILD_ID = 6,
    MAPPING_HAS_FUNCTIONS = 7,
    MAPPING_HAS_FILES = 8,
    MAPPING_HAS_LINES = 9,
    MAPPING_HAS_INLINED = 10,
    LOCATION_ID = 1,
    LOCATION_MAPPING = 2,
    LOCATION_ADDRESS = 3,
    LOCATION_LINE = 4,
    LINE_FUNCTION = 1,
    LINE_LINE = 2,
    FUNCTION_ID = 1,
    FUNCTION_NAME = 2,
    FUNCTION_SYSTEM_NAME = 3,
    FUNCTION_FILE = 4
};

/* In the order of a sample's values.  Each row is a measure of one kind of
 * profile. */
static const struct {
    enum profile_kind kind;
    enum measure measure;
    const char *type, *unit;
} sample_types[SAMPLE_TYPES] = {
    {PROFILE_HEAP, MEASURE_ALLOC_OBJECTS, "alloc_objects", "count"},
    {PROFILE_HEAP, MEASURE_ALLOC_SPACE, "alloc_space", "bytes"},
    {PROFILE_HEAP, MEASURE_INUSE_OBJECTS, "inuse_objects", "count"},
    {PROFILE_HEAP, MEASURE_INUSE_SPACE, "inuse_space", "bytes"},
    {PROFILE_CPU, MEASURE_SAMPLES, "samples", "count"},
    {PROFILE_CPU, MEASURE_TIME, "cpu", "nanoseconds"},
    {PROFILE_WALL, MEASURE_SAMPLES, "samples", "count"},
    {PROFILE_WALL, MEASURE_TIME, "wall", "nanoseconds"},
};

/* What passes between two samples, by kind of profile. */
static const struct {
    const char *type, *unit;
} period_types[] = {[PROFILE_HEAP] = {"space", "bytes"},
                    [PROFILE_CPU] = {"cpu", "nanoseconds"},
                    [PROFILE_WALL] = {"wall", "nanoseconds"}};

struct function_key {
    uint32_t name, system_name, file;
};

struct writer {
    const struct profile *profile;
    struct view_options options;
    struct error *err;
    struct arena *arena;
    struct stack_names names;
    struct stack_frame *frames;
    struct texts *strings; /* number 0 is "" */

    /* Locations of the file: a location of the profile from one frame on,
     * because the allocator may end among its frames.  Their ids are 1 + the
     * index, without a gap: Parca takes no others. */
    struct stack_frame *locations;
    uint32_t *location_ids; /* by the frame's number among those of all; or 0 */
    uint32_t location_count;

    struct function_key *functions; /* their ids are 1 + the index */
    struct hash_index function_index;
    uint32_t function_count;

    struct buffer out, message, inner, scratch;
};

/* Adds a text to the file's table, or finds it; *number is its number there. */
static int
add_string(struct writer *w, const char *text, uint32_t *number)
{
    buffer_clear(&w->scratch);
    shown_name(text, PPROF_NAME_MAX, &w->scratch);
    return w->scratch.failed
               ? -1
               : texts_add(w->strings, w->scratch.data ? w->scratch.data : "",
                           w->scratch.size, number);
}

static int
add_value_type(struct writer *w, uint32_t field, const char *type,
               const char *unit)
{
    uint32_t type_text, unit_text;

    if (add_string(w, type, &type_text) != 0 ||
        add_string(w, unit, &unit_text) != 0)
        return -1;
    buffer_clear(&w->message);
    protobuf_number(&w->message, VALUE_TYPE, type_text);
    protobuf_number(&w->message, VALUE_UNIT, unit_text);
    protobuf_bytes(&w->out, field, w->message.data, w->message.size);
    return 0;
}

static bool
has_type(const struct writer *w, size_t i)
{
    bool ever = sample_types[i].measure == MEASURE_ALLOC_OBJECTS ||
                sample_types[i].measure == MEASURE_ALLOC_SPACE;

    return sample_types[i].kind == w->profile->kind &&
           (w->profile->accumulated || !ever);
}

static int
add_pprof_head(struct writer *w)
{
    const struct profile *profile = w->profile;
    int64_t nanoseconds;
    uint32_t text;

    for (size_t i = 0; i < SAMPLE_TYPES; i++) {
        if (!has_type(w, i))
            continue;
        if (add_value_type(w, PROFILE_SAMPLE_TYPE, sample_types[i].type,
                           sample_types[i].unit) != 0)
            return -1;
        if (sample_types[i].measure != w->options.measure)
            continue;
        if (add_string(w, sample_types[i].type, &text) != 0)
            return -1;
        protobuf_number(&w->out, PROFILE_DEFAULT_SAMPLE_TYPE, text);
    }
    if (add_value_type(w, PROFILE_PERIOD_TYPE, period_types[profile->kind].type,
                       period_types[profile->kind].unit) != 0)
        return -1;
    protobuf_number(&w->out, PROFILE_PERIOD, profile->rate);
    /* The beginning of the profile, in nanoseconds; they fit until the year
     * 2262. */
    if (profile->origin.live &&
        !__builtin_mul_overflow(profile->origin.taken_ms -
                                    (int64_t)profile->duration_ms,
                                1000000, &nanoseconds))
        protobuf_number(&w->out, PROFILE_TIME_NANOS, (uint64_t)nanoseconds);
    protobuf_number(&w->out, PROFILE_DURATION_NANOS,
                    profile->duration_ms * 1000000);
    return 0;
}

static int
add_pprof_comment(struct writer *w, const char *comment)
{
    uint32_t text;

    if (*comment == '\0')
        return 0;
    if (add_string(w, comment, &text) != 0)
        return -1;
    protobuf_number(&w->out, PROFILE_COMMENT, text);
    return 0;
}

/* Clamped to int64. */
static int64_t
round_to_int64(double value)
{
    return value >= 9e18    ? INT64_MAX
           : value <= -9e18 ? INT64_MIN
                            : (int64_t)llround(value);
}

static int
add_pprof_sample(struct writer *w, const struct profile_stack *stack)
{
    uint32_t last = UINT32_MAX;
    bool any = false;
    size_t count;

    if (stack_names_get(&w->names, stack, w->frames, &count) != 0)
        return -1;
    if (w->names.hidden)
        return 0;
    buffer_clear(&w->message);
    buffer_clear(&w->inner);
    for (size_t i = 0; i < SAMPLE_TYPES; i++) {
        int64_t value;

        if (!has_type(w, i))
            continue;
        value = round_to_int64(profile_value(stack, sample_types[i].measure));
        any |= value != 0;
        buffer_leb(&w->inner, (uint64_t)value);
    }
    if (!any)
        return 0;
    protobuf_bytes(&w->message, SAMPLE_VALUES, w->inner.data, w->inner.size);
    buffer_clear(&w->inner);
    for (size_t i = 0; i < count; i++) {
        uint32_t location = w->frames[i].location, *id;

        if (i > 0 && w->frames[i].frame > 0 && location == last)
            continue; /* the same location as the frame before */
        last = location;
        id = &w->location_ids[w->names.symbols.first[location] +
                              w->frames[i].frame];
        if (*id == 0) {
            w->locations[w->location_count++] = w->frames[i];
            *id = w->location_count;
        }
        buffer_leb(&w->inner, *id);
    }
    if (w->inner.size)
        protobuf_bytes(&w->message, SAMPLE_LOCATIONS, w->inner.data,
                       w->inner.size);
    protobuf_bytes(&w->out, PROFILE_SAMPLE, w->message.data, w->message.size);
    return 0;
}

static int
add_samples(struct writer *w)
{
    const struct profile *profile = w->profile;

    for (size_t i = 0; i < profile->stack_count; i++) {
        if (view_cancelled(&w->options, i, w->err))
            return -1;
        if (add_pprof_sample(w, &profile->stacks[i]) != 0)
            return -1;
    }
    return 0;
}

/* Says that symbols are resolved, so that readers do not look for the files. */
static int
add_pprof_mapping(struct writer *w, size_t id,
                  const struct profile_module *module)
{
    uint32_t path, build_id;

    if (add_string(w, module->path, &path) != 0 ||
        add_string(w, module->build_id, &build_id) != 0)
        return -1;
    buffer_clear(&w->message);
    protobuf_number(&w->message, MAPPING_ID, id);
    protobuf_number(&w->message, MAPPING_START, module->start);
    protobuf_number(&w->message, MAPPING_LIMIT, module->end);
    protobuf_number(&w->message, MAPPING_OFFSET, module->offset);
    protobuf_number(&w->message, MAPPING_FILE, path);
    protobuf_number(&w->message, MAPPING_BUILD_ID, build_id);
    protobuf_number(&w->message, MAPPING_HAS_FUNCTIONS, 1);
    protobuf_number(&w->message, MAPPING_HAS_FILES, 1);
    protobuf_number(&w->message, MAPPING_HAS_LINES, 1);
    protobuf_number(&w->message, MAPPING_HAS_INLINED, 1);
    protobuf_bytes(&w->out, PROFILE_MAPPING, w->message.data, w->message.size);
    return 0;
}

/* Without any mapping, pprof would invent one and try to read its file. */
static int
add_mappings(struct writer *w)
{
    const struct profile *profile = w->profile;
    struct profile_module all = {
        .end = UINT64_MAX, .path = profile->program, .build_id = ""};

    if (profile->module_count == 0)
        return add_pprof_mapping(w, 1, &all);
    for (size_t i = 0; i < profile->module_count; i++)
        if (add_pprof_mapping(w, i + 1, &profile->modules[i]) != 0)
            return -1;
    return 0;
}

static size_t
mapping_of(const struct profile *profile, uint64_t address)
{
    const struct profile_module *module;

    if (profile->module_count == 0)
        return 1;
    module = profile_module_find(profile, address);
    return module ? (size_t)(module - profile->modules) + 1 : 0;
}

static uint32_t
find_or_add_function(struct writer *w, const struct function_key *key)
{
    uint32_t hash =
        (uint32_t)hash_mix(hash_mix(hash_seed(w), key->name),
                           (uint64_t)key->system_name << 32 | key->file);
    struct hash_slot *slot = hash_index_first(&w->function_index, hash);

    while (slot->entry &&
           memcmp(&w->functions[slot->entry - 1], key, sizeof(*key)) != 0)
        slot = hash_index_next(&w->function_index, slot);
    if (slot->entry == 0) {
        w->functions[w->function_count++] = *key;
        *slot = (struct hash_slot){w->function_count, hash};
    }
    return slot->entry;
}

/* The name that the graph shows, without "(inline)", which pprof adds
 * itself. */
static int
add_function_name(struct writer *w, uint32_t frame, bool inlined,
                  const char *full, uint32_t *number)
{
    static const char suffix[] = " (inline)";
    const char *name = texts_get(w->names.texts, w->names.symbols.names[frame]);
    size_t size = strlen(name), end = sizeof(suffix) - 1;

    if (inlined && size > end && strcmp(name + size - end, suffix) == 0)
        size -= end;
    buffer_clear(&w->inner);
    buffer_add(&w->inner, name, size);
    if (w->inner.failed)
        return -1;
    return add_string(w, size ? w->inner.data : full, number);
}

static int
add_pprof_line(struct writer *w, const struct location *location,
               uint32_t frame, uint32_t number)
{
    const struct frame *from = &location->frames[frame];
    struct function_key key;

    if (add_function_name(w, number, frame + 1 < location->frame_count,
                          from->function, &key.name) != 0 ||
        add_string(w, from->function, &key.system_name) != 0 ||
        add_string(w, from->file, &key.file) != 0)
        return -1;
    buffer_clear(&w->inner);
    protobuf_number(&w->inner, LINE_FUNCTION, find_or_add_function(w, &key));
    protobuf_number(&w->inner, LINE_LINE, from->line);
    protobuf_bytes(&w->message, LOCATION_LINE, w->inner.data, w->inner.size);
    return 0;
}

static int
add_pprof_location(struct writer *w, uint32_t i)
{
    const struct stack_frame *from = &w->locations[i];
    const struct location *location = &w->profile->locations[from->location];
    uint32_t first = w->names.symbols.first[from->location];

    buffer_clear(&w->message);
    protobuf_number(&w->message, LOCATION_ID, (uint64_t)i + 1);
    protobuf_number(&w->message, LOCATION_MAPPING,
                    mapping_of(w->profile, location->address));
    protobuf_number(&w->message, LOCATION_ADDRESS, location->address);
    for (uint32_t k = from->frame; k < location->frame_count; k++)
        if (add_pprof_line(w, location, k, first + k) != 0)
            return -1;
    protobuf_bytes(&w->out, PROFILE_LOCATION, w->message.data, w->message.size);
    return 0;
}

static int
add_pprof_locations(struct writer *w)
{
    for (uint32_t i = 0; i < w->location_count; i++)
        if (add_pprof_location(w, i) != 0)
            return -1;
    return 0;
}

static void
add_functions(struct writer *w)
{
    for (uint32_t i = 0; i < w->function_count; i++) {
        const struct function_key *key = &w->functions[i];

        buffer_clear(&w->message);
        protobuf_number(&w->message, FUNCTION_ID, (uint64_t)i + 1);
        protobuf_number(&w->message, FUNCTION_NAME, key->name);
        protobuf_number(&w->message, FUNCTION_SYSTEM_NAME, key->system_name);
        protobuf_number(&w->message, FUNCTION_FILE, key->file);
        protobuf_bytes(&w->out, PROFILE_FUNCTION, w->message.data,
                       w->message.size);
    }
}

static void
add_strings(struct writer *w)
{
    for (uint32_t i = 0; i < texts_count(w->strings); i++) {
        const char *text = texts_get(w->strings, i);

        protobuf_bytes(&w->out, PROFILE_STRING, text, strlen(text));
    }
}

static int
write_pprof_message(struct writer *w)
{
    const struct profile *profile = w->profile;
    size_t frames;
    uint32_t empty;

    w->strings = texts_new(w->arena);
    if (!w->strings || add_string(w, "", &empty) != 0 ||
        stack_names_init(&w->names, profile, &w->options, w->arena, w->err) !=
            0)
        return -1;
    frames = w->names.symbols.first[profile->location_count];
    w->frames = mem_zalloc(w->names.longest, sizeof(*w->frames));
    w->locations = arena_alloc(w->arena, frames * sizeof(*w->locations));
    w->location_ids = arena_alloc(w->arena, frames * sizeof(*w->location_ids));
    w->functions = arena_alloc(w->arena, frames * sizeof(*w->functions));
    if (!w->frames || !w->locations || !w->location_ids || !w->functions ||
        hash_index_reserve(&w->function_index, frames) != 0)
        return -1;
    if (add_pprof_head(w) != 0 || add_pprof_comment(w, profile->memory) != 0 ||
        add_pprof_comment(w, profile->note) != 0 ||
        add_pprof_comment(w, profile->truncated ? "The profile was cut off"
                                                : "") != 0 ||
        add_samples(w) != 0 || add_mappings(w) != 0 ||
        add_pprof_locations(w) != 0)
        return -1;
    add_functions(w);
    add_strings(w);
    return w->out.failed || w->message.failed || w->inner.failed ? -1 : 0;
}

enum { GZIP_LEVEL = 6, GZIP_WINDOW = 15 + 16 /* with gzip's frame */ };

/* Appends; out fails past its ceiling or without memory. */
static void
gzip_add(struct buffer *out, const void *data, size_t size)
{
    static const size_t piece = 1 << 16;
    z_stream stream = {.zalloc = zlib_alloc, .zfree = zlib_free};
    const unsigned char *at = data;
    int rc = Z_OK;

    if (deflateInit2(&stream, GZIP_LEVEL, Z_DEFLATED, GZIP_WINDOW, 8,
                     Z_DEFAULT_STRATEGY) != Z_OK) {
        out->failed = true;
        return;
    }
    while (rc != Z_STREAM_END) {
        uInt before;

        if (stream.avail_in == 0 && size > 0) {
            stream.next_in = (z_const Bytef *)at;
            stream.avail_in = size > UINT_MAX ? UINT_MAX : (uInt)size;
            at += stream.avail_in;
            size -= stream.avail_in;
        }
        stream.next_out = (Bytef *)buffer_reserve(out, piece);
        if (!stream.next_out)
            break;
        stream.avail_out = before = (uInt)piece;
        rc = deflate(&stream, size > 0 ? Z_NO_FLUSH : Z_FINISH);
        buffer_claim(out, before - stream.avail_out);
    }
    deflateEnd(&stream);
}

int
pprof_write(const struct profile *profile, const struct view_options *options,
            struct buffer *out, struct error *err)
{
    struct error why = {0};
    struct writer w = {.profile = profile, .err = &why};
    int rc = -1;

    w.options = profile_view(profile, options);
    w.options.granularity =
        GRANULARITY_FUNCTIONS; /* pprof has its own granularities */
    buffer_init(&w.out, PPROF_BYTES_MAX);
    buffer_init(&w.message, PPROF_BYTES_MAX);
    buffer_init(&w.inner, PPROF_BYTES_MAX);
    buffer_init(&w.scratch, (size_t)2 * PPROF_NAME_MAX);
    w.arena = arena_new(PPROF_MEMORY_MAX);
    if (w.arena) {
        rc = write_pprof_message(&w);
        stack_names_fini(&w.names);
    }
    if (rc == 0) {
        gzip_add(out, w.out.data, w.out.size);
        rc = out->failed ? -1 : 0;
    }
    mem_free(w.frames);
    hash_index_fini(&w.function_index);
    texts_free(w.strings);
    arena_free(w.arena);
    buffer_fini(&w.out);
    buffer_fini(&w.message);
    buffer_fini(&w.inner);
    buffer_fini(&w.scratch);
    if (rc != 0 && why.code)
        error_set(err, why.code, "%s", why.text);
    else if (rc != 0)
        error_set(err, ER_OUT_OF_MEMORY,
                  "the pprof file is larger than %zu bytes or memory ran out",
                  out->max);
    return rc;
}
