/*
 * snapshot_file.c - see snapshot_file.h.
 *
 * A head and a body; all numbers little-endian, "n" MySQL's length-encoded
 * integer, "text" n and so many bytes without a NUL, "f8" the bits of a
 * double.
 *
 * Head, at most SNAPSHOT_FILE_HEAD_MAX bytes (snapshot_head.c):
 *     8    "HWSNAP\r\n"
 *     u4   version: 2, or 3 where a location has wrappers, or 4 where other
 *          jemallocs are known, whose list has a field more, or 5 where the
 *          body has threads, whose list is that of 4, or 6 where it is not of
 *          the heap, whose list has two fields more, 7 where the body has
 *          waste, or 8 where its threads are jemalloc's, whose lists are that
 *          of 6; another one is not read, except 1, whose list has fewer fields
 *     u4   bytes of the head
 *     u8   bytes of the body, packed
 *     u8   bytes of the body, unpacked
 *     u4   CRC-32 of the packed body
 *     ...  what a list shows: the fields of struct store_entry
 *     u4   CRC-32 of the head up to here
 *
 * Body, packed by zlib's deflate (snapshot_body.c):
 *     n    texts, then each: text; below, "t" is n, the number of a text
 *     u1   1 live, 2 accumulated, 4 has threads, 8 weighted, 16 has
 *          waste, 32 its threads are jemalloc's
 *     u8   taken, u8 active since: milliseconds since 1970
 *     f8   objects ever, f8 bytes ever
 *     t    program, t note, t memory line
 *     n    locations, each:
 *              n address less the one before, u1 1 in the allocator, 2 has a
 *              symbol, 4 has wrappers, [n frames of wrappers], t module, n
 *              offset in it, [t symbol, n its start],
 *              n frames, each: t function, t file, n line
 *     n    stacks, each:
 *              n depth, so many n: numbers of locations, leaf first,
 *              n objects, n bytes sampled in use, n objects, n bytes ever,
 *              f8 objects, f8 bytes estimated in use, f8 objects, f8 bytes
 *              ever, f8 variance
 *     n    modules, each: u8 start, u8 end, u8 offset, t path, t build-id
 *     Where it has threads (snapshot_parts.c):
 *     n    milliseconds that the sums "ever" counted; 0: not known
 *     n    threads, each: n tid (0: not known), text name, [n number: of
 *          jemalloc's]
 *     n    parts, ascending, each: n stack less the one before, n thread, u1
 *          class of age, n samples, f8 objects, f8 bytes estimated in use
 *     Where it has waste (snapshot_waste.c), what that is counted from:
 *     u1   1 has sizes, 2 arenas are left out of the sums
 *     n    mean bytes between two samples
 *     u8   when it was counted: milliseconds since 1970
 *     n    bytes allocated, n active, n resident, n dirty, n muzzy, n retained,
 *          n in threads' caches, n of large extents' padding
 *     n    size classes, ascending, each: n bytes, n regions of a slab, n bytes
 *          of a slab (0: extents), n slabs, n regions or extents in use
 *     [n   sizes, ascending, each: n stack less the one before, u1 number of
 *          the size class, f8 objects, f8 bytes, f8 variance of objects]
 */
#include "snapshot_file.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "buffer.h"
#include "clean_text.h"
#include "clock.h"
#include "errors.h"
#include "heap_dump.h"
#include "memory.h"
#include "memory_budget.h"
#include "names.h"
#include "objects.h"
#include "profile.h"
#include "reader.h"
#include "reconciliation.h"
#include "snapshot.h"
#include "snapshot_body.h"
#include "snapshot_head.h"
#include "zlib_memory.h"

enum {
    DEFLATE_RATIO_MAX = 1032 /* zlib's largest expansion of one byte
                                (zlib.net/zlib_tech.html) */
};

static int
pack_snapshot_body(const struct buffer *body, struct buffer *out,
                   struct error *err)
{
    z_stream stream = {.zalloc = zlib_alloc, .zfree = zlib_free};
    size_t bound;
    char *place;
    int rc = -1;

    /* Fast: snapshots are taken while memory is short, and on the database's
     * machine. */
    if (deflateInit(&stream, Z_BEST_SPEED) != Z_OK) {
        error_memory(err, "packing a snapshot");
        return -1;
    }
    bound = deflateBound(&stream, body->size);
    place = buffer_reserve(out, bound);
    if (!place) {
        error_memory(err, "a snapshot's file");
        goto out;
    }
    stream.next_in = (Bytef *)body->data;
    stream.avail_in = (uInt)body->size;
    stream.next_out = (Bytef *)place;
    stream.avail_out = (uInt)bound;
    if (deflate(&stream, Z_FINISH) != Z_STREAM_END) {
        error_set(err, ER_UNKNOWN, "the snapshot could not be packed");
        goto out;
    }
    buffer_claim(out, bound - stream.avail_out);
    rc = 0;
out:
    deflateEnd(&stream);
    return rc;
}

int
snapshot_encode(const struct snapshot *snapshot, struct buffer *out,
                struct error *err)
{
    return snapshot_export(snapshot, NULL, out, err);
}

int
snapshot_export(const struct snapshot *snapshot, const char *wrappers,
                struct buffer *out, struct error *err)
{
    struct snapshot_body place = {0};
    struct buffer body, packed, head;
    int rc = -1;

    buffer_init(&body, SNAPSHOT_BODY_MAX);
    buffer_init(&packed, SNAPSHOT_FILE_MAX - SNAPSHOT_FILE_HEAD_MAX);
    buffer_init(&head, SNAPSHOT_FILE_HEAD_MAX);
    if (snapshot->profile->difference) {
        error_set(err, ER_UNKNOWN, "a difference is no snapshot to keep");
        goto out;
    }
    if (snapshot_body_encode(snapshot->profile, wrappers, &place.wrapped, &body,
                             err) != 0 ||
        pack_snapshot_body(&body, &packed, err) != 0)
        goto out;
    place.packed = packed.size;
    place.size = body.size;
    place.checksum =
        (uint32_t)crc32(0, (const Bytef *)packed.data, (uInt)packed.size);
    snapshot_head_encode(snapshot, &place, &head);
    if (!head.failed) {
        buffer_add(out, head.data, head.size);
        buffer_add(out, packed.data, packed.size);
    }
    if (head.failed || out->failed) {
        error_memory(err, "a snapshot's file");
        goto out;
    }
    rc = 0;
out:
    buffer_fini(&body);
    buffer_fini(&packed);
    buffer_fini(&head);
    return rc;
}

static int
unpack_snapshot_body(const void *bytes, const struct snapshot_body *body,
                     char *out, struct error *err)
{
    z_stream stream = {.zalloc = zlib_alloc, .zfree = zlib_free};
    int rc;

    stream.next_in = (Bytef *)bytes;
    stream.avail_in = (uInt)body->packed;
    if (inflateInit(&stream) != Z_OK) {
        error_memory(err, "a snapshot");
        return -1;
    }
    stream.next_out = (Bytef *)out;
    stream.avail_out = (uInt)body->size;
    rc = inflate(&stream, Z_FINISH);
    inflateEnd(&stream);
    if (rc == Z_MEM_ERROR) {
        error_memory(err, "a snapshot");
        return -1;
    }
    /* All input used, all output filled: neither more nor less than the head
     * says. */
    if (rc != Z_STREAM_END || stream.avail_in || stream.avail_out) {
        error_set(err, ER_UNKNOWN, "its body is not what its head says");
        return -1;
    }
    return 0;
}

/* Unpacks the body.  The caller frees the bytes, and gives their size back to
 * the decode budget.  NULL with *err.  Checks come before memory is taken:
 * length, checksum, and whether deflate can expand so far. */
static char *
check_body(const void *bytes, size_t size, const struct snapshot_head *head,
           struct error *err)
{
    const struct snapshot_body *body = &head->body;
    const char *packed = (const char *)bytes + head->size;
    char *unpacked;

    if (size != head->size + body->packed) {
        error_set(err, ER_UNKNOWN, "it is %s",
                  size < head->size + body->packed ? "cut off"
                                                   : "longer than it says");
        return NULL;
    }
    if (body->checksum != crc32(0, (const Bytef *)packed, (uInt)body->packed)) {
        error_set(err, ER_UNKNOWN, "its body is damaged");
        return NULL;
    }
    if (body->size > SNAPSHOT_BODY_MAX ||
        body->size > (body->packed + 1) * DEFLATE_RATIO_MAX) {
        error_set(err, ER_UNKNOWN, "its body is not what its head says");
        return NULL;
    }
    if (!decode_budget_take(body->size)) {
        decode_budget_explain(err);
        return NULL;
    }
    unpacked = mem_alloc(body->size + 1); /* +1: never 0 bytes */
    if (!unpacked)
        error_memory(err, "a snapshot");
    else if (unpack_snapshot_body(packed, body, unpacked, err) == 0)
        return unpacked;
    mem_free(unpacked);
    decode_budget_give(body->size);
    return NULL;
}

/* Joins head and body: the head has all that a list of snapshots shows, and the
 * body only what views need. */
static void
take_entry(struct snapshot *snapshot, const struct store_entry *entry)
{
    memcpy(snapshot->name, entry->name, sizeof(snapshot->name));
    snapshot->taken_ms = entry->taken_ms;
    snapshot->node_id = entry->node_id;
    snapshot->cause = entry->cause;
    memcpy(snapshot->reason, entry->reason, sizeof(snapshot->reason));
    snapshot->hello = entry->hello;
    snapshot->memory = entry->memory;
    snapshot->profile->kind = entry->kind;
    snapshot->profile->duration_ms = entry->duration_ms;
    snapshot->profile->rate = entry->rate;
    snapshot->profile->samples = entry->samples;
    snapshot->profile->bytes = entry->bytes;
    snapshot->profile->objects = entry->objects;
    snapshot->profile->truncated = entry->truncated;
}

/* Cleans a text of a foreign file, which may hold what a terminal would
 * obey. */
static void
clean_field_text(char *text, size_t size)
{
    char dirty[AGENT_PATH_MAX];
    struct span span = {dirty, strnlen(text, size - 1)};

    memcpy(dirty, text, span.size);
    clean_text(span, text);
}

static struct snapshot *
decode_snapshot_file(const void *bytes, size_t size, bool foreign,
                     struct error *err)
{
    struct snapshot *snapshot = NULL;
    struct snapshot_head head;
    char *body;

    if (snapshot_head_decode(bytes, size, &head, err) != 0)
        return NULL;
    decode_budget_begin();
    body = check_body(bytes, size, &head, err);
    if (!body)
        return NULL;
    snapshot = snapshot_new();
    if (!snapshot) {
        error_memory(err, "a snapshot");
        goto out;
    }
    snapshot->profile =
        snapshot_body_decode(body, head.body.size, foreign, err);
    if (!snapshot->profile) {
        decode_budget_explain(err);
        snapshot_unref(snapshot);
        snapshot = NULL;
        goto out;
    }
    if (head.entry.stacks != snapshot->profile->stack_count) {
        error_set(err, ER_UNKNOWN, "its body is not what its head says");
        snapshot_unref(snapshot);
        snapshot = NULL;
        goto out;
    }
    take_entry(snapshot, &head.entry);
    unseen_fill(snapshot);
out:
    mem_free(body);
    decode_budget_give(head.body.size);
    return snapshot;
}

struct snapshot *
snapshot_decode(const void *bytes, size_t size, struct error *err)
{
    return decode_snapshot_file(bytes, size, false, err);
}

struct snapshot *
snapshot_decode_foreign(const void *bytes, size_t size, struct error *err)
{
    struct snapshot *snapshot = decode_snapshot_file(bytes, size, true, err);
    struct agent_hello *hello;

    if (!snapshot)
        return NULL;
    hello = &snapshot->hello;
    clean_field_text(snapshot->reason, sizeof(snapshot->reason));
    clean_field_text(hello->boot_id, sizeof(hello->boot_id));
    clean_field_text(hello->exe, sizeof(hello->exe));
    clean_field_text(hello->mallctl, sizeof(hello->mallctl));
    clean_field_text(hello->version, sizeof(hello->version));
    clean_field_text(hello->malloc_conf_name, sizeof(hello->malloc_conf_name));
    return snapshot;
}

int
snapshot_decode_head(const void *bytes, size_t size, struct store_entry *out,
                     struct error *err)
{
    struct snapshot_head head;

    if (snapshot_head_decode(bytes, size, &head, err) != 0)
        return -1;
    *out = head.entry;
    return 0;
}

/*
 * Import of raw jemalloc profiles.
 *
 * Their modules are not looked up on this machine: its files may differ, so
 * names would be wrong.
 */

enum {
    NAMES_BYTES_MAX = 256 << 20,
    MODULE_SHOWN = 255 /* bytes of a module's name */
};

static const char note[] = "imported from a raw profile: addresses have no "
                           "names";

static bool
bytes_begin_with(const void *bytes, size_t size, const char *with)
{
    return size >= strlen(with) && memcmp(bytes, with, strlen(with)) == 0;
}

/* Names an address "libc.so.6+0x1234", with the offset in the file.  An address
 * outside of all files is not added, and is then shown as 0x<address>. */
static int
name_address(struct names *names, const struct mapping *mapping,
             uint64_t address)
{
    const char *path = base_name(mapping->path);
    struct span base = {path, strnlen(path, MODULE_SHOWN)};
    uint64_t offset = address - mapping->start + mapping->offset;
    char module[MODULE_SHOWN + 1], name[MODULE_SHOWN + 20];
    struct frame frame = {name, "", 0};

    clean_text(base, module);
    snprintf(name, sizeof(name), "%s+0x%" PRIx64, module, offset);
    if (names_add(names, address, &frame, 1,
                  strncmp(module, "libjemalloc", 11) == 0) != 0)
        return -1;
    return names_set_module(names, address, module, offset);
}

static struct names *
name_dump_addresses(const struct heap_dump *dump, struct error *err)
{
    struct names *names = names_new(NAMES_BYTES_MAX);
    int rc = names ? 0 : -1;

    if (names)
        names_count_memory(names, &decode_budget_meter);
    for (size_t i = 0; i < dump->address_count && rc == 0; i++) {
        const struct mapping *mapping =
            mappings_find(&dump->maps, dump->addresses[i]);

        if (mapping && *mapping->path)
            rc = name_address(names, mapping, dump->addresses[i]);
    }
    if (rc == 0) {
        names_set_note(names, note);
        return names;
    }
    error_memory(err, "the names of a profile");
    names_free(names);
    return NULL;
}

/* The kernel maps a program before its libraries. */
static void
find_dump_program(const struct heap_dump *dump, char *out, size_t size)
{
    out[0] = '\0';
    for (size_t i = 0; i < dump->maps.count; i++) {
        const struct mapping *mapping = &dump->maps.list[i];
        struct span path = {mapping->path, strnlen(mapping->path, size - 1)};

        if (!mapping->executable || *mapping->path != '/')
            continue;
        clean_text(path, out);
        return;
    }
}

static struct snapshot *
import_raw(const void *bytes, size_t size, struct error *err)
{
    struct heap_dump *dump =
        heap_dump_parse_counted(bytes, size, &decode_budget_meter, err);
    struct names *names = dump ? name_dump_addresses(dump, err) : NULL;
    struct snapshot *snapshot = NULL;

    if (!names)
        goto out;
    snapshot = snapshot_new();
    if (!snapshot) {
        error_memory(err, "a snapshot");
        goto out;
    }
    find_dump_program(dump, snapshot->hello.exe, sizeof(snapshot->hello.exe));
    /* A dump's text has no time of its own. */
    snapshot->taken_ms = clock_wall_ms();
    snapshot->profile =
        profile_new(dump, names, snapshot->hello.exe, NULL, err);
    if (!snapshot->profile ||
        modules_fill(snapshot->profile, &dump->maps, NULL, err) != 0) {
        snapshot_unref(snapshot);
        snapshot = NULL;
    }
out:
    names_free(names);
    heap_dump_free(dump);
    return snapshot;
}

struct snapshot *
snapshot_import(const void *bytes, size_t size, struct error *err)
{
    struct snapshot *snapshot;
    struct error why;

    decode_budget_begin();
    if (bytes_begin_with(bytes, size, "heap_v2/"))
        snapshot = import_raw(bytes, size, &why);
    else if (bytes_begin_with(bytes, size, SNAPSHOT_FILE_MAGIC))
        snapshot = snapshot_decode_foreign(bytes, size, &why);
    else {
        error_set(err, ER_WRONG_ARGUMENTS,
                  "neither a snapshot of heapwire nor a heap profile of "
                  "jemalloc (heap_v2) can be imported from these %zu bytes",
                  size);
        return NULL;
    }
    if (!snapshot) {
        decode_budget_explain(&why);
        error_set(err, why.code, "the snapshot cannot be imported: %s",
                  why.text);
        return NULL;
    }
    snapshot->name[0] = '\0';
    snapshot->cause = SNAPSHOT_IMPORTED;
    return snapshot;
}
