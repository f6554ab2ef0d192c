/*
 * program.c - see program.h.
 *
 * ELF numbers are from elf(5); every byte of the file goes through the reader.
 */
#include "program.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "errors.h"
#include "files.h"
#include "memory.h"
#include "reader.h"

enum {
    EXIT_NOT_FOUND = 127, /* the shell's */
    EXIT_NOT_RUNNABLE = 126,
    SEGMENTS_MAX = 128,
    DYNAMIC_MAX = 64 * 1024,
    NAMES_MAX = 64 * 1024 * 1024
};

static bool
runnable(const char *path)
{
    struct stat st;

    if (stat(path, &st) != 0)
        return false;
    if (!S_ISREG(st.st_mode)) {
        errno = EACCES;
        return false;
    }
    return access(path, X_OK) == 0;
}

char *
program_find(const char *name, int *exit_status, struct error *err)
{
    const char *path = getenv("PATH"); /* NOLINT(concurrency-mt-unsafe) */
    char full[PATH_MAX], *found;
    int reason = ENOENT;

    if (strchr(name, '/'))
        path = "";
    else if (!path)
        path = "/usr/local/bin:/usr/bin:/bin";
    for (;;) {
        size_t size = strcspn(path, ":");

        if (snprintf(full, sizeof(full), "%.*s%s%s", (int)size, path,
                     size > 0 ? "/" : "", name) < (int)sizeof(full) &&
            runnable(full)) {
            found = mem_strdup(full);
            if (!found)
                error_memory(err, name);
            return found;
        }
        if (errno != ENOENT && errno != ENOTDIR)
            reason = errno;
        if (!path[size])
            break;
        path += size + 1;
    }
    errno = reason;
    error_sys(err, ER_UNKNOWN, "cannot run %s", name);
    *exit_status = reason == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_RUNNABLE;
    return NULL;
}

/* Exactly size bytes at offset; a reader that has failed when they are not
 * there. */
static struct reader
read_at(int fd, uint64_t offset, void *out, size_t size)
{
    struct reader r = reader_of(out, size);
    ssize_t n = -1;

    if (offset <= INT64_MAX)
        n = pread(fd, out, size, (off_t)offset);
    r.failed = n != (ssize_t)size;
    return r;
}

struct segment {
    uint32_t type;
    uint64_t offset, address, size;
};

struct segments {
    struct segment list[SEGMENTS_MAX];
    size_t count;
};

static int
read_segments(int fd, struct segments *out)
{
    uint8_t header[sizeof(Elf64_Ehdr)], bytes[sizeof(Elf64_Phdr)];
    struct reader r = read_at(fd, 0, header, sizeof(header));
    uint64_t table;
    uint16_t size, count;

    if (r.failed || memcmp(header, ELFMAG, SELFMAG) != 0 ||
        header[EI_CLASS] != ELFCLASS64 || header[EI_DATA] != ELFDATA2LSB)
        return -1;
    reader_bytes(&r, offsetof(Elf64_Ehdr, e_phoff));
    table = reader_u64(&r);
    reader_bytes(&r, offsetof(Elf64_Ehdr, e_phentsize) -
                         offsetof(Elf64_Ehdr, e_shoff));
    size = reader_u16(&r);
    count = reader_u16(&r);
    if (r.failed || size < sizeof(bytes) || count > SEGMENTS_MAX ||
        table > INT64_MAX)
        return -1;
    for (out->count = 0; out->count < count; out->count++) {
        struct segment *s = &out->list[out->count];

        r = read_at(fd, table + (uint64_t)size * out->count, bytes,
                    sizeof(bytes));
        s->type = reader_u32(&r);
        reader_u32(&r); /* flags */
        s->offset = reader_u64(&r);
        s->address = reader_u64(&r);
        reader_u64(&r); /* physical address */
        s->size = reader_u64(&r);
        if (r.failed)
            return -1;
    }
    return 0;
}

static const struct segment *
find_segment(const struct segments *segments, uint32_t type)
{
    for (size_t i = 0; i < segments->count; i++) {
        if (segments->list[i].type == type)
            return &segments->list[i];
    }
    return NULL;
}

/* Where the file holds what is loaded at address. */
static int
file_offset(const struct segments *segments, uint64_t address, uint64_t *offset)
{
    for (size_t i = 0; i < segments->count; i++) {
        const struct segment *s = &segments->list[i];

        if (s->type == PT_LOAD && address >= s->address &&
            address - s->address < s->size) {
            *offset = s->offset + (address - s->address);
            return 0;
        }
    }
    return -1;
}

/* DT_STRTAB and DT_STRSZ: the names of dynamic symbols and libraries. */
static int
find_names(int fd, const struct segments *segments, uint64_t *offset,
           size_t *size)
{
    const struct segment *dynamic = find_segment(segments, PT_DYNAMIC);
    uint64_t address = 0, bytes = 0, tag, value;
    uint8_t entry[sizeof(Elf64_Dyn)];

    if (!dynamic)
        return -1;
    for (uint64_t at = 0; at < dynamic->size && at < DYNAMIC_MAX;
         at += sizeof(entry)) {
        struct reader r =
            read_at(fd, dynamic->offset + at, entry, sizeof(entry));

        tag = reader_u64(&r);
        value = reader_u64(&r);
        if (r.failed || tag == DT_NULL)
            break;
        if (tag == DT_STRTAB)
            address = value;
        else if (tag == DT_STRSZ)
            bytes = value;
    }
    if (bytes == 0 || bytes > NAMES_MAX)
        return -1;
    *size = (size_t)bytes;
    return file_offset(segments, address, offset);
}

/* A malloc of its own: whole names, or how the names of libraries begin. */
static bool
is_allocator(struct span name)
{
    static const char *const symbols[] = {"mallctl", "je_mallctl",
                                          "_rjem_mallctl", "_rjem_je_mallctl"};
    static const char *const libraries[] = {"libjemalloc.so", "libtcmalloc",
                                            "libmimalloc"};

    for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
        if (span_is(name, symbols[i]))
            return true;
    }
    for (size_t i = 0; i < sizeof(libraries) / sizeof(libraries[0]); i++) {
        size_t size = strlen(libraries[i]);

        if (name.size >= size && memcmp(name.data, libraries[i], size) == 0)
            return true;
    }
    return false;
}

static bool
brings_allocator(int fd, const struct segments *segments)
{
    uint64_t offset;
    size_t size;
    bool found = false;
    struct reader r;
    char *names;

    if (find_names(fd, segments, &offset, &size) != 0)
        return false;
    names = mem_alloc(size);
    if (!names)
        return false;
    r = read_at(fd, offset, names, size);
    while (!found && !r.failed && reader_left(&r) > 0)
        found = is_allocator(reader_text(&r));
    mem_free(names);
    return found;
}

enum program_kind
program_kind(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    enum program_kind kind = PROGRAM_UNKNOWN;
    struct segments segments;
    char magic[2];

    if (fd < 0)
        return PROGRAM_UNKNOWN;
    if (pread(fd, magic, sizeof(magic), 0) == sizeof(magic) &&
        memcmp(magic, "#!", sizeof(magic)) == 0)
        kind = PROGRAM_SCRIPT;
    else if (read_segments(fd, &segments) != 0)
        kind = PROGRAM_UNKNOWN;
    else if (!find_segment(&segments, PT_INTERP))
        kind = PROGRAM_STATIC;
    else if (brings_allocator(fd, &segments))
        kind = PROGRAM_ALLOCATOR;
    else
        kind = PROGRAM_PLAIN;
    fd_close(fd);
    return kind;
}

bool
program_mentions(const char *path, const char *text)
{
    enum { PIECE = 1 << 18 };
    const size_t overlap = strlen(text);
    char *piece = mem_alloc(PIECE);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    bool found = false;
    off_t at = 0;
    ssize_t n;

    while (piece && fd >= 0 && !found && at < PROGRAM_SEARCH_MAX) {
        n = pread(fd, piece, PIECE, at);
        if (n <= (ssize_t)overlap)
            break;
        found = memmem(piece, (size_t)n, text, overlap) != NULL;
        at += n - (ssize_t)overlap;
    }
    fd_close(fd);
    mem_free(piece);
    return found;
}

bool
program_secure(const char *path)
{
    struct stat st;

    if (stat(path, &st) != 0)
        return false;
    if (((st.st_mode & S_ISUID) && st.st_uid != geteuid()) ||
        ((st.st_mode & S_ISGID) && st.st_gid != getegid()))
        return true;
    return getuid() != 0 && getxattr(path, "security.capability", NULL, 0) > 0;
}
