/*
 * snapshot_head.c - see snapshot_head.h.
 *
 * A list of snapshots reads heads alone: 16 KB at most for each file, without
 * unpacking.  One table of fields drives both directions, so that encoder and
 * decoder cannot disagree.  A file is written in the oldest version that can
 * hold it, so that older nodes of a cluster, and an older heapwired after a
 * downgrade, still read what they understand.
 */
#include "snapshot_head.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>

#include "buffer.h"
#include "errors.h"
#include "live_parts.h"
#include "profile.h"
#include "reader.h"
#include "snapshot_file.h"

static const char magic[8] = SNAPSHOT_FILE_MAGIC; /* less its NUL */
enum {
    VERSION = 2,
    VERSION_WRAPPED = 3,   /* used if a location has wrappers */
    VERSION_ELSEWHERE = 4, /* used if memory.elsewhere is known */
    VERSION_PARTS = 5,     /* used if the body has threads and ages */
    VERSION_KIND = 6,      /* used for a profile that is not of the heap */
    VERSION_WASTE = 7,     /* used if the body has waste */
    VERSION_NUMBERED = 8,  /* used if the body has jemalloc's threads */
    VERSION_LAST = VERSION_NUMBERED,
    FRAME = sizeof(magic) + 4 + 4, /* magic, version, size */
    CHECKSUM = 4                   /* at the end */
};

void
snapshot_describe(const struct snapshot *snapshot, struct store_entry *out)
{
    const struct profile *profile = snapshot->profile;

    memset(out, 0, sizeof(*out));
    memcpy(out->name, snapshot->name, sizeof(out->name));
    out->taken_ms = snapshot->taken_ms;
    out->node_id = snapshot->node_id;
    out->cause = snapshot->cause;
    memcpy(out->reason, snapshot->reason, sizeof(out->reason));
    out->hello = snapshot->hello;
    out->memory = snapshot->memory;
    out->kind = profile->kind;
    out->duration_ms = profile->duration_ms;
    out->rate = profile->rate;
    out->samples = profile->samples;
    out->stacks = profile->stack_count;
    out->bytes = profile->bytes;
    out->objects = profile->objects;
    out->truncated = profile->truncated;
    snprintf(out->note, sizeof(out->note), "%s", profile->note);
}

/* The fields of an entry in the file's order: the same for both ways. */
enum kind { TEXT, U32, U64, REAL, BOOL, FIGURE };

#define FIELD(kind, member)                                                    \
    {                                                                          \
        kind, offsetof(struct store_entry, member),                            \
            sizeof(((struct store_entry *)NULL)->member)                       \
    }

static const struct field {
    enum kind kind;
    size_t offset, size;
} fields[] = {
    FIELD(TEXT, name),
    FIELD(U64, taken_ms),
    FIELD(U32, node_id),
    FIELD(U32, cause),
    FIELD(TEXT, reason),
    FIELD(U32, hello.pid),
    FIELD(U32, hello.uid),
    FIELD(U64, hello.start_ticks),
    FIELD(TEXT, hello.boot_id),
    FIELD(TEXT, hello.exe),
    FIELD(U32, hello.allocator),
    FIELD(TEXT, hello.mallctl),
    FIELD(U64, hello.mallctl_address),
    FIELD(TEXT, hello.version),
    FIELD(TEXT, hello.malloc_conf_name),
    FIELD(U32, hello.secure),
    FIELD(U32, hello.config_prof),
    FIELD(U32, hello.opt_prof),
    FIELD(U32, hello.active),
    FIELD(U32, hello.lg_sample),
    FIELD(U32, hello.changes),
    FIELD(U32, hello.resets),
    FIELD(U64, hello.active_since_ms),
    FIELD(U64, hello.active_until_ms),
    FIELD(U64, hello.started_ms),
    FIELD(FIGURE, memory.allocated),
    FIELD(FIGURE, memory.active),
    FIELD(FIGURE, memory.metadata),
    FIELD(FIGURE, memory.resident),
    FIELD(FIGURE, memory.mapped),
    FIELD(FIGURE, memory.retained),
    FIELD(FIGURE, memory.rss),
    FIELD(FIGURE, memory.rss_file),
    FIELD(FIGURE, memory.cgroup_current),
    FIELD(FIGURE, memory.cgroup_limit),
    FIELD(U64, rate),
    FIELD(U64, samples),
    FIELD(U64, stacks),
    FIELD(REAL, bytes),
    FIELD(REAL, objects),
    FIELD(BOOL, truncated),
    FIELD(TEXT, note),
    /* Not in version 1. */
    FIELD(U64, memory.allocator_ms),
    FIELD(U64, memory.rss_ms),
    /* Not before version 4. */
    FIELD(FIGURE, memory.elsewhere),
    /* Not before version 6. */
    FIELD(U32, kind),
    FIELD(U64, duration_ms),
};
/* If one of these fails, a member was added: add it to the table, behind all
 * others, with a version of its own. */
_Static_assert(sizeof(struct agent_hello) == 1344, "a field is missing");
_Static_assert(sizeof(struct snapshot_memory) ==
                   11 * sizeof(struct stats_figure) + 2 * sizeof(int64_t),
               "a field is missing");
enum {
    FIELDS_6 = sizeof(fields) / sizeof(fields[0]),
    FIELDS_4 = FIELDS_6 - 2,
    FIELDS_2 = FIELDS_4 - 1,
    FIELDS_1 = FIELDS_2 - 2
};

static size_t
field_count(uint32_t version)
{
    return version == 1                  ? FIELDS_1
           : version < VERSION_ELSEWHERE ? FIELDS_2
           : version < VERSION_KIND      ? FIELDS_4
                                         : FIELDS_6;
}

static void
encode_field(struct buffer *out, const struct field *field, const char *from)
{
    struct stats_figure figure;
    uint32_t u32;
    uint64_t u64;
    bool yes;

    switch (field->kind) {
    case TEXT:
        buffer_lenenc_bytes(out, from, strnlen(from, field->size - 1));
        break;
    case U32:
        memcpy(&u32, from, sizeof(u32));
        buffer_u32(out, u32);
        break;
    case U64:
    case REAL: /* its bits */
        memcpy(&u64, from, sizeof(u64));
        buffer_u64(out, u64);
        break;
    case BOOL:
        memcpy(&yes, from, sizeof(yes));
        buffer_u8(out, yes);
        break;
    case FIGURE:
        memcpy(&figure, from, sizeof(figure));
        buffer_u8(out, figure.known);
        buffer_u64(out, figure.value);
        break;
    }
}

static void
decode_text(struct reader *r, char *to, size_t size)
{
    struct span text = reader_lenenc_bytes(r);

    if (text.size >= size || memchr(text.data, 0, text.size))
        r->failed = true;
    else
        memcpy(to, text.data, text.size);
}

static bool
decode_bool(struct reader *r)
{
    uint8_t byte = reader_u8(r);

    r->failed |= byte > 1;
    return byte == 1;
}

static void
decode_field(struct reader *r, const struct field *field, char *to)
{
    struct stats_figure figure = {0};
    uint32_t u32;
    uint64_t u64;
    double real;
    bool yes;

    switch (field->kind) {
    case TEXT:
        decode_text(r, to, field->size);
        break;
    case U32:
        u32 = reader_u32(r);
        memcpy(to, &u32, sizeof(u32));
        break;
    case U64:
        u64 = reader_u64(r);
        memcpy(to, &u64, sizeof(u64));
        break;
    case REAL:
        u64 = reader_u64(r);
        memcpy(&real, &u64, sizeof(real));
        r->failed |= !isfinite(real) || real < 0;
        memcpy(to, &real, sizeof(real));
        break;
    case BOOL:
        yes = decode_bool(r);
        memcpy(to, &yes, sizeof(yes));
        break;
    case FIGURE:
        figure.known = decode_bool(r);
        figure.value = reader_u64(r);
        memcpy(to, &figure, sizeof(figure));
        break;
    }
}

void
snapshot_head_encode(const struct snapshot *snapshot,
                     const struct snapshot_body *body, struct buffer *out)
{
    const struct profile *profile = snapshot->profile;
    uint32_t version = profile->kind != PROFILE_HEAP         ? VERSION_KIND
                       : live_parts_numbered(profile->parts) ? VERSION_NUMBERED
                       : profile->waste                      ? VERSION_WASTE
                       : profile->parts                      ? VERSION_PARTS
                       : snapshot->memory.elsewhere.known    ? VERSION_ELSEWHERE
                       : body->wrapped                       ? VERSION_WRAPPED
                                                             : VERSION;
    struct store_entry entry;
    struct buffer rest;

    snapshot_describe(snapshot, &entry);
    buffer_init(&rest, SNAPSHOT_FILE_HEAD_MAX - FRAME - CHECKSUM);
    buffer_u64(&rest, body->packed);
    buffer_u64(&rest, body->size);
    buffer_u32(&rest, body->checksum);
    for (size_t i = 0; i < field_count(version); i++)
        encode_field(&rest, &fields[i],
                     (const char *)&entry + fields[i].offset);
    buffer_add(out, magic, sizeof(magic));
    buffer_u32(out, version);
    buffer_u32(out, (uint32_t)(FRAME + rest.size + CHECKSUM));
    buffer_add(out, rest.data, rest.size);
    out->failed |= rest.failed;
    if (!out->failed)
        buffer_u32(
            out, (uint32_t)crc32(0, (const Bytef *)out->data, (uInt)out->size));
    buffer_fini(&rest);
}

static bool
is_valid_wall_time(int64_t ms)
{
    static const int64_t max_ms = 253402300799999; /* year 9999 */

    return ms >= 0 && ms <= max_ms;
}

/* Checks values: a forged file has correct checksums. */
static bool
makes_sense(const struct snapshot_head *head)
{
    const struct store_entry *e = &head->entry;

    return (*e->name == '\0' || snapshot_is_name(e->name, strlen(e->name))) &&
           e->cause <= SNAPSHOT_RING && e->kind <= PROFILE_WALL &&
           (e->rate > 0 || e->kind != PROFILE_HEAP) &&
           e->duration_ms <= UINT32_MAX && is_valid_wall_time(e->taken_ms) &&
           is_valid_wall_time(e->memory.allocator_ms) &&
           is_valid_wall_time(e->memory.rss_ms);
}

int
snapshot_head_decode(const void *bytes, size_t size, struct snapshot_head *out,
                     struct error *err)
{
    struct reader r = reader_of(bytes, size);
    struct span start = reader_bytes(&r, sizeof(magic));
    uint32_t version = reader_u32(&r), length = reader_u32(&r), checksum;

    if (start.size != sizeof(magic) ||
        memcmp(start.data, magic, sizeof(magic)) != 0) {
        error_set(err, ER_UNKNOWN, "it is not a snapshot of heapwire");
        return -1;
    }
    /* Before the checksum, which a later version may compute otherwise. */
    if ((version < 1 || version > VERSION_LAST) && !r.failed) {
        error_set(err, ER_UNKNOWN,
                  "its version is %u, and this heapwire knows 1 to %d", version,
                  VERSION_LAST);
        return -1;
    }
    if (r.failed || length > size || length > SNAPSHOT_FILE_HEAD_MAX ||
        length < FRAME + CHECKSUM) {
        error_set(err, ER_UNKNOWN, "its head is cut off");
        return -1;
    }
    r = reader_of((const char *)bytes + length - CHECKSUM, CHECKSUM);
    checksum = reader_u32(&r);
    if (checksum != crc32(0, (const Bytef *)bytes, (uInt)(length - CHECKSUM))) {
        error_set(err, ER_UNKNOWN, "its head is damaged");
        return -1;
    }
    memset(out, 0, sizeof(*out));
    r = reader_of((const char *)bytes + FRAME, length - FRAME - CHECKSUM);
    out->body.packed = reader_u64(&r);
    out->body.size = reader_u64(&r);
    out->body.checksum = reader_u32(&r);
    for (size_t i = 0; i < field_count(version); i++)
        decode_field(&r, &fields[i], (char *)&out->entry + fields[i].offset);
    out->size = length;
    if (!reader_done(&r) || !makes_sense(out) ||
        out->body.packed > SNAPSHOT_FILE_MAX - length) {
        error_set(err, ER_UNKNOWN, "its head makes no sense");
        return -1;
    }
    out->entry.size = length + out->body.packed;
    return 0;
}
