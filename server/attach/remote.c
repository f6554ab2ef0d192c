/*
 * remote.c - see remote.h.
 *
 * /proc/PID/mem is read, and nothing of the target's code is run: exported
 * functions are found as the loader finds them, by the GNU hash table in
 * memory.  Everything read is the target's to choose, so counts have ceilings
 * and addresses are only passed to pread, which fails where nothing is mapped.
 */
#include "remote.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "arena.h"
#include "buffer.h"
#include "errors.h"
#include "files.h"
#include "memory.h"

enum {
    SEGMENTS_MAX = 128,
    DYNAMIC_MAX = 512,
    CHAIN_MAX = 4096, /* symbols of one bucket */
    NAME_MAX_BYTES = 64
};

int
remote_read(const struct remote *r, uint64_t at, void *out, size_t size)
{
    /* off_t is signed; the kernel's half of the addresses is of no use anyway.
     */
    ssize_t n = at <= INT64_MAX ? pread(r->memory, out, size, (off_t)at) : -1;

    if (n >= 0 && (size_t)n != size)
        errno = EIO;
    return n == (ssize_t)size ? 0 : -1;
}

int
remote_write(const struct remote *r, uint64_t at, const void *data, size_t size)
{
    ssize_t n = at <= INT64_MAX ? pwrite(r->memory, data, size, (off_t)at) : -1;

    if (n >= 0 && (size_t)n != size)
        errno = EIO;
    return n == (ssize_t)size ? 0 : -1;
}

/* ---- mappings ---- */

static void
clear_remote_mappings(struct remote *r)
{
    arena_free(r->arena);
    r->arena = NULL;
    r->maps = (struct mappings){NULL, 0};
}

int
remote_read_mappings(struct remote *r, struct error *err)
{
    struct buffer text;
    char path[32];
    int rc = -1;

    clear_remote_mappings(r);
    buffer_init(&text, REMOTE_MAPS_MAX);
    snprintf(path, sizeof(path), "/proc/%d/maps", (int)r->pid);
    r->arena = arena_new(REMOTE_MAPS_MAX);
    if (!r->arena)
        error_memory(err, "the mappings");
    else if (file_read_all(path, &text, err) == 0)
        rc =
            mappings_parse(r->arena, text.data, text.size, &r->maps, NULL, err);
    buffer_fini(&text);
    return rc;
}

int
remote_open(struct remote *r, pid_t pid, struct error *err)
{
    char path[32];

    memset(r, 0, sizeof(*r));
    r->pid = pid;
    snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
    r->memory = open(path, O_RDWR | O_CLOEXEC);
    if (r->memory < 0) {
        error_sys(err, ER_UNKNOWN, "cannot open %s", path);
        return -1;
    }
    return remote_read_mappings(r, err);
}

void
remote_close(struct remote *r)
{
    fd_close(r->memory);
    r->memory = -1;
    clear_remote_mappings(r);
}

const struct mapping *
remote_find(const struct remote *r, uint64_t address)
{
    return mappings_find(&r->maps, address);
}

const char *
mapping_name(const struct mapping *m)
{
    const char *slash = m->path[0] == '/' ? strrchr(m->path, '/') : NULL;

    return slash ? slash + 1 : "";
}

const struct mapping *
remote_object(const struct remote *r, const char *name)
{
    for (size_t i = 0; i < r->maps.count; i++) {
        const struct mapping *m = &r->maps.list[i];

        if (m->offset == 0 && strncmp(mapping_name(m), name, strlen(name)) == 0)
            return m;
    }
    return NULL;
}

/* ---- what an object exports ---- */

struct exports {
    uint64_t symbols, names, hash; /* addresses */
};

/* The loader has usually turned offsets in this table into addresses. */
static uint64_t
absolute_table_address(uint64_t base, uint64_t value)
{
    return value < base ? base + value : value;
}

static int
read_dynamic(const struct remote *r, uint64_t base, uint64_t at,
             struct exports *out)
{
    Elf64_Dyn entry;

    memset(out, 0, sizeof(*out));
    for (int i = 0; i < DYNAMIC_MAX; i++, at += sizeof(entry)) {
        if (remote_read(r, at, &entry, sizeof(entry)) != 0)
            return -1;
        if (entry.d_tag == DT_NULL)
            break;
        if (entry.d_tag == DT_SYMTAB)
            out->symbols = absolute_table_address(base, entry.d_un.d_ptr);
        else if (entry.d_tag == DT_STRTAB)
            out->names = absolute_table_address(base, entry.d_un.d_ptr);
        else if (entry.d_tag == DT_GNU_HASH)
            out->hash = absolute_table_address(base, entry.d_un.d_ptr);
    }
    return out->symbols && out->names && out->hash ? 0 : -1;
}

/* *base: what to add to addresses in the file. */
static int
find_exports(const struct remote *r, uint64_t start, uint64_t *base,
             struct exports *out)
{
    uint64_t dynamic = 0, first = UINT64_MAX, at;
    Elf64_Ehdr header;
    Elf64_Phdr segment;

    if (remote_read(r, start, &header, sizeof(header)) != 0 ||
        memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
        header.e_phentsize != sizeof(segment) || header.e_phnum > SEGMENTS_MAX)
        return -1;
    at = start + header.e_phoff;
    for (int i = 0; i < header.e_phnum; i++, at += sizeof(segment)) {
        if (remote_read(r, at, &segment, sizeof(segment)) != 0)
            return -1;
        if (segment.p_type == PT_DYNAMIC)
            dynamic = segment.p_vaddr;
        else if (segment.p_type == PT_LOAD && segment.p_vaddr < first)
            first = segment.p_vaddr;
    }
    if (dynamic == 0 || first == UINT64_MAX)
        return -1;
    *base = start - first;
    return read_dynamic(r, *base, *base + dynamic, out);
}

static uint32_t
hash_gnu_symbol(const char *name)
{
    uint32_t hash = 5381;

    for (; *name; name++)
        hash = hash * 33 + (unsigned char)*name;
    return hash;
}

static bool
remote_name_equals(const struct remote *r, uint64_t at, const char *name)
{
    char text[NAME_MAX_BYTES];
    size_t size = strlen(name) + 1;

    return size <= sizeof(text) && remote_read(r, at, text, size) == 0 &&
           memcmp(text, name, size) == 0;
}

/* DT_GNU_HASH has a header of four words, the filter, the buckets, and a word
 * for each symbol: its hash, whose lowest bit is set in the last of a bucket.
 */
uint64_t
remote_symbol(const struct remote *r, const struct mapping *object,
              const char *name, uint64_t within)
{
    uint32_t header[4], index, word, hash = hash_gnu_symbol(name);
    struct exports exports;
    uint64_t base, buckets;

    if (find_exports(r, object->start, &base, &exports) != 0 ||
        remote_read(r, exports.hash, header, sizeof(header)) != 0 ||
        header[0] == 0)
        return 0;
    buckets = exports.hash + sizeof(header) + (uint64_t)header[2] * 8;
    if (remote_read(r, buckets + (uint64_t)(hash % header[0]) * 4, &index, 4) !=
            0 ||
        index < header[1])
        return 0;
    for (int i = 0; i < CHAIN_MAX; i++, index++) {
        uint64_t at = buckets + (uint64_t)header[0] * 4 +
                      (uint64_t)(index - header[1]) * 4;
        Elf64_Sym symbol;

        if (remote_read(r, at, &word, 4) != 0 ||
            remote_read(r, exports.symbols + (uint64_t)index * sizeof(symbol),
                        &symbol, sizeof(symbol)) != 0)
            break;
        at = base + symbol.st_value;
        if ((word | 1) == (hash | 1) && symbol.st_shndx != SHN_UNDEF &&
            ELF64_ST_TYPE(symbol.st_info) == STT_FUNC &&
            remote_name_equals(r, exports.names + symbol.st_name, name) &&
            (within == 0 || (within > at && within - at <= symbol.st_size)))
            return at;
        if (word & 1)
            break;
    }
    return 0;
}

uint64_t
remote_search(const struct remote *r, const struct mapping *object,
              const void *bytes, size_t size)
{
    /* All mappings of the object: code may be in several. */
    uint64_t found = 0;

    for (size_t i = 0; i < r->maps.count && found == 0; i++) {
        const struct mapping *m = &r->maps.list[i];
        size_t room = (size_t)(m->end - m->start);
        char *code, *at;

        if (!m->executable || m->inode != object->inode ||
            strcmp(m->path, object->path) != 0 || room > REMOTE_CODE_MAX)
            continue;
        code = mem_alloc(room);
        if (code && remote_read(r, m->start, code, room) == 0) {
            at = memmem(code, room, bytes, size);
            found = at ? m->start + (uint64_t)(at - code) : 0;
        }
        mem_free(code);
    }
    return found;
}
