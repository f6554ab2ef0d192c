/*
 * snapshot_import.c - snapshots from elsewhere.
 *
 * A raw profile's modules are not looked up here: this machine's files may
 * differ, so names would be wrong.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "clean_text.h"
#include "clock.h"
#include "decode_room.h"
#include "errors.h"
#include "heap_dump.h"
#include "memory.h"
#include "objects.h"
#include "names.h"
#include "profile.h"
#include "reader.h"
#include "snapshot.h"
#include "snapshot_file.h"

enum {
    NAMES_BYTES_MAX = 256 << 20,
    MODULE_SHOWN = 255 /* bytes of a module's name */
};

static const char note[] = "imported from a raw profile: addresses have no "
                           "names";

static bool
begins(const void *bytes, size_t size, const char *with)
{
    return size >= strlen(with) && memcmp(bytes, with, strlen(with)) == 0;
}

/* "libc.so.6+0x1234", the offset as it is in the file; 0x<address> is what an
 * address is called that is not added. */
static int
name_address(struct names *names, const struct mapping *mapping,
             uint64_t address)
{
    const char *path = mapping_basename(mapping->path);
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
name_addresses(const struct heap_dump *dump, struct error *err)
{
    struct names *names = names_new(NAMES_BYTES_MAX);
    int rc = names ? 0 : -1;

    if (names)
        names_count_memory(names, &decode_room_meter);
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
find_program(const struct heap_dump *dump, char *out, size_t size)
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
        heap_dump_parse_counted(bytes, size, &decode_room_meter, err);
    struct names *names = dump ? name_addresses(dump, err) : NULL;
    struct snapshot *snapshot = NULL;

    if (!names)
        goto out;
    snapshot = snapshot_new();
    if (!snapshot) {
        error_memory(err, "a snapshot");
        goto out;
    }
    find_program(dump, snapshot->hello.exe, sizeof(snapshot->hello.exe));
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

    decode_room_begin();
    if (begins(bytes, size, "heap_v2/"))
        snapshot = import_raw(bytes, size, &why);
    else if (begins(bytes, size, SNAPSHOT_FILE_MAGIC))
        snapshot = snapshot_decode_foreign(bytes, size, &why);
    else {
        error_set(err, ER_WRONG_ARGUMENTS,
                  "neither a snapshot of heapwire nor a heap profile of "
                  "jemalloc (heap_v2) can be imported from these %zu bytes",
                  size);
        return NULL;
    }
    if (!snapshot) {
        decode_room_explain(&why);
        error_set(err, why.code, "the snapshot cannot be imported: %s",
                  why.text);
        return NULL;
    }
    snapshot->name[0] = '\0';
    snapshot->cause = SNAPSHOT_IMPORTED;
    return snapshot;
}
