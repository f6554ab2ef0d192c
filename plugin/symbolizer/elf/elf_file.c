/*
 * elf_file.c - see elf_file.h.
 *
 * libbfd and libelf would read these facts, too, but libbfd may only be linked
 * into the helper (GPL), and either trusts the file more than heapwired can:
 * objects of a database may be replaced, cut or hostile while they are read.
 * So the few headers that are needed are parsed here, with every size and sum
 * checked once (parse_segment, parse_section).  Any thread; a struct elf_file
 * belongs to its caller.
 */
#include "elf_file.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "buffer.h"
#include "errors.h"
#include "memory.h"
#include "reader.h"

/* sizes of the 64-bit structures; section names are read up to NAMES_MAX */
enum { EHDR_SIZE = 64, PHDR_SIZE = 56, SHDR_SIZE = 64, NAMES_MAX = 1 << 20 };

int
elf_read_at(const struct elf_file *elf, uint64_t offset, uint64_t size,
            void *place)
{
    ssize_t n;

    /* against the size at the opening: a cut file ends in a short read */
    if (offset > elf->size || size > elf->size - offset)
        return -1;
    for (uint64_t done = 0; done < size; done += (uint64_t)n) {
        n = pread(elf->fd, (char *)place + done, size - done,
                  (off_t)(offset + done));
        if (n < 0 && errno == EINTR)
            n = 0;
        else if (n <= 0)
            return -1;
    }
    return 0;
}

int
elf_read(const struct elf_file *elf, uint64_t offset, uint64_t size,
         struct buffer *out)
{
    char *place;

    if (offset > elf->size || size > elf->size - offset)
        return -1;
    place = buffer_reserve(out, size);
    if (!place || elf_read_at(elf, offset, size, place) != 0)
        return -1;
    buffer_claim(out, size);
    return 0;
}

static void
parse_segment(struct reader *r, struct elf_segment *s)
{
    s->type = reader_u32(r);
    s->flags = reader_u32(r);
    s->offset = reader_u64(r);
    s->address = reader_u64(r);
    reader_u64(r); /* physical address */
    s->file_size = reader_u64(r);
    s->memory_size = reader_u64(r);
    s->align = reader_u64(r);
    /* Later code adds any two of these without checks. */
    if (s->offset > INT64_MAX || s->file_size > INT64_MAX ||
        s->address > INT64_MAX || s->memory_size > INT64_MAX)
        s->type = PT_NULL;
}

static int
load_segments(struct elf_file *elf, uint64_t offset, size_t count)
{
    struct buffer bytes;
    struct reader r;
    int rc = -1;

    buffer_init(&bytes, (size_t)ELF_SEGMENTS_MAX * PHDR_SIZE);
    /* without segments no address can be translated */
    if (count == 0 || count > ELF_SEGMENTS_MAX ||
        elf_read(elf, offset, count * PHDR_SIZE, &bytes) != 0)
        goto out;
    elf->segments = mem_zalloc(count, sizeof(*elf->segments));
    if (!elf->segments)
        goto out;
    r = reader_of(bytes.data, bytes.size);
    for (size_t i = 0; i < count; i++)
        parse_segment(&r, &elf->segments[i]);
    elf->segment_count = count;
    rc = 0;
out:
    buffer_fini(&bytes);
    return rc;
}

static int
load_headers(struct elf_file *elf)
{
    static const char magic[] = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB};
    struct buffer bytes;
    struct span ident;
    struct reader r;
    uint64_t segments;
    uint16_t segment_size, segment_count, section_size;
    int rc = -1;

    buffer_init(&bytes, EHDR_SIZE);
    if (elf_read(elf, 0, EHDR_SIZE, &bytes) != 0)
        goto out;
    r = reader_of(bytes.data, bytes.size);
    ident = reader_bytes(&r, EI_NIDENT);
    elf->type = reader_u16(&r);
    elf->machine = reader_u16(&r);
    reader_bytes(&r, 4 + 8); /* version, entry */
    segments = reader_u64(&r);
    elf->section_offset = reader_u64(&r);
    reader_bytes(&r, 4 + 2); /* flags, header size */
    segment_size = reader_u16(&r);
    segment_count = reader_u16(&r);
    section_size = reader_u16(&r);
    elf->section_count = reader_u16(&r);
    elf->section_names = reader_u16(&r);
    if (r.failed || memcmp(ident.data, magic, sizeof(magic)) != 0 ||
        segment_size != PHDR_SIZE)
        goto out;
    /* unreadable sections are as good as none: stripped files lack them */
    if (section_size != SHDR_SIZE)
        elf->section_count = 0;
    rc = load_segments(elf, segments, segment_count);
out:
    buffer_fini(&bytes);
    return rc;
}

static const struct elf_segment *
segment_of_type(const struct elf_file *elf, uint32_t type, size_t *next)
{
    for (; *next < elf->segment_count; (*next)++)
        if (elf->segments[*next].type == type)
            return &elf->segments[(*next)++];
    return NULL;
}

/* Reads the notes of a PT_NOTE: three words each, then name and contents,
 * padded to 4 bytes, or to 8 where the segment says so (.note.gnu.property). */
static bool
find_build_id(struct elf_file *elf, struct reader *r, uint64_t align)
{
    uint64_t pad = align == 8 ? 7 : 3;

    while (reader_left(r) > 0) {
        uint64_t name_size = reader_u32(r), size = reader_u32(r);
        uint32_t type = reader_u32(r);
        struct span name = reader_bytes(r, (name_size + pad) & ~pad);
        struct span data = reader_bytes(r, size);

        if (r->failed)
            return false;
        if (type == NT_GNU_BUILD_ID && name_size == 4 &&
            memcmp(name.data, "GNU", 4) == 0 && size > 0 &&
            size <= ELF_BUILD_ID_MAX) {
            memcpy(elf->build_id, data.data, size);
            elf->build_id_size = size;
            return true;
        }
        reader_bytes(r, ((size + pad) & ~pad) - size);
    }
    return false;
}

static void
load_build_id(struct elf_file *elf)
{
    const struct elf_segment *s;
    struct buffer bytes;
    struct reader r;
    bool found = false;
    size_t next = 0;

    while (!found && (s = segment_of_type(elf, PT_NOTE, &next))) {
        buffer_init(&bytes, ELF_NOTES_MAX);
        if (elf_read(elf, s->offset, s->file_size, &bytes) == 0) {
            r = reader_of(bytes.data, bytes.size);
            found = find_build_id(elf, &r, s->align);
        }
        buffer_fini(&bytes);
    }
}

int
elf_dynamic(const struct elf_file *elf, struct buffer *out)
{
    size_t next = 0;
    const struct elf_segment *s = segment_of_type(elf, PT_DYNAMIC, &next);

    return s ? elf_read(elf, s->offset, s->file_size, out) : -1;
}

/* false at DT_NULL, and at the end of a table without it. */
bool
elf_dynamic_next(struct reader *r, uint64_t *tag, uint64_t *value)
{
    *tag = reader_u64(r);
    *value = reader_u64(r);
    return !r->failed && *tag != DT_NULL;
}

/* A DT_SONAME distinguishes a library from a program that is
 * position-independent: the ELF type is ET_DYN for both. */
static void
load_dynamic(struct elf_file *elf)
{
    struct buffer bytes;
    struct reader r;
    uint64_t tag, value;

    buffer_init(&bytes, ELF_DYNAMIC_MAX);
    if (elf_dynamic(elf, &bytes) == 0) {
        r = reader_of(bytes.data, bytes.size);
        while (elf_dynamic_next(&r, &tag, &value))
            elf->has_soname = elf->has_soname || tag == DT_SONAME;
    }
    buffer_fini(&bytes);
}

/* Missing notes or dynamic entries are no error: the object then has no
 * build-id, or no name. */
int
elf_init(struct elf_file *elf, int fd, const char *path, struct error *err)
{
    struct stat st;

    memset(elf, 0, sizeof(*elf));
    elf->fd = fd;
    if (fstat(fd, &st) != 0) {
        error_sys(err, ER_UNKNOWN, "cannot look at %s", path);
        return -1;
    }
    if (!S_ISREG(st.st_mode)) {
        error_set(err, ER_UNKNOWN, "%s is not a regular file", path);
        return -1;
    }
    elf->size = (uint64_t)st.st_size;
    if (load_headers(elf) != 0) {
        error_set(err, ER_UNKNOWN,
                  "%s is not a readable 64-bit little-endian ELF file", path);
        elf_fini(elf);
        return -1;
    }
    load_build_id(elf);
    load_dynamic(elf);
    return 0;
}

void
elf_fini(struct elf_file *elf)
{
    mem_free(elf->segments);
    mem_free(elf->sections);
    elf->segments = NULL;
    elf->sections = NULL;
    elf->segment_count = elf->section_count = 0;
}

/* Returns the index of the name.  Nonsense becomes SHT_NULL, which nobody looks
 * for. */
static uint32_t
parse_section(struct reader *r, struct elf_section *s)
{
    uint32_t name = reader_u32(r);

    s->type = reader_u32(r);
    s->flags = reader_u64(r);
    s->address = reader_u64(r);
    s->offset = reader_u64(r);
    s->size = reader_u64(r);
    s->link = reader_u32(r);
    reader_bytes(r, 4 + 8 + 8); /* info, alignment, entry size */
    if (s->offset > INT64_MAX || s->size > INT64_MAX || s->address > INT64_MAX)
        s->type = SHT_NULL;
    return name;
}

/* Fills the names, once all sections are known: the section of the names is one
 * of them.  Longer names than ours stay empty. */
static void
name_sections(struct elf_file *elf, const uint32_t *at)
{
    const struct elf_section *s = &elf->sections[elf->section_names];
    struct buffer bytes;
    struct reader r;
    struct span name;

    buffer_init(&bytes, NAMES_MAX);
    if (elf_read(elf, s->offset, s->size, &bytes) == 0) {
        for (size_t i = 0; i < elf->section_count; i++) {
            r = reader_of(bytes.data, bytes.size);
            reader_bytes(&r, at[i]);
            /* a bad index gives "", and the section stays without a name */
            name = reader_text(&r);
            if (name.size < sizeof(elf->sections[i].name))
                memcpy(elf->sections[i].name, name.data, name.size);
        }
    }
    buffer_fini(&bytes);
}

int
elf_load_sections(struct elf_file *elf, struct error *err)
{
    struct buffer bytes;
    struct reader r;
    uint32_t *names = NULL;
    size_t count = elf->section_count;
    int rc = 0;

    buffer_init(&bytes, (size_t)ELF_SECTIONS_MAX * SHDR_SIZE);
    elf->section_count = 0;
    /* Sections loaded twice, missing ones and unreadable ones are all no
     * error. */
    if (elf->sections || count == 0 ||
        elf_read(elf, elf->section_offset, count * SHDR_SIZE, &bytes) != 0)
        goto out;
    elf->sections = mem_zalloc(count, sizeof(*elf->sections));
    names = mem_zalloc(count, sizeof(*names));
    if (!elf->sections || !names) {
        error_memory(err, "section headers");
        rc = -1;
        goto out;
    }
    r = reader_of(bytes.data, bytes.size);
    for (size_t i = 0; i < count; i++)
        names[i] = parse_section(&r, &elf->sections[i]);
    elf->section_count = (uint32_t)count;
    if (elf->section_names < count)
        name_sections(elf, names);
out:
    mem_free(names);
    buffer_fini(&bytes);
    return rc;
}

const struct elf_section *
elf_section(const struct elf_file *elf, const char *name)
{
    for (size_t i = 0; i < elf->section_count; i++)
        if (strcmp(elf->sections[i].name, name) == 0)
            return &elf->sections[i];
    return NULL;
}

void
elf_build_id_text(const struct elf_file *elf, char out[ELF_BUILD_ID_TEXT])
{
    out[0] = '\0';
    for (size_t i = 0; i < elf->build_id_size; i++)
        snprintf(out + 2 * i, 3, "%02x", elf->build_id[i]);
}

bool
elf_has_dwarf(const struct elf_file *elf)
{
    return elf_section(elf, ".debug_info") || elf_section(elf, ".zdebug_info");
}

const struct elf_section *
elf_section_at(const struct elf_file *elf, uint64_t address)
{
    for (size_t i = 0; i < elf->section_count; i++) {
        const struct elf_section *s = &elf->sections[i];

        /* .tbss occupies no addresses, though it says so */
        if ((s->flags & SHF_ALLOC) && !(s->flags & SHF_TLS) &&
            address >= s->address && address - s->address < s->size)
            return s;
    }
    return NULL;
}

/* Code first: the page where two segments meet is loaded twice, once as
 * data. */
bool
elf_address_of(const struct elf_file *elf, uint64_t offset, uint64_t *address)
{
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < elf->segment_count; i++) {
            const struct elf_segment *s = &elf->segments[i];

            if (s->type == PT_LOAD && (pass || (s->flags & PF_X)) &&
                offset >= s->offset && offset - s->offset < s->file_size) {
                *address = s->address + (offset - s->offset);
                return true;
            }
        }
    return false;
}

bool
elf_offset_of(const struct elf_file *elf, uint64_t address, uint64_t *offset,
              uint64_t *left)
{
    for (size_t i = 0; i < elf->segment_count; i++) {
        const struct elf_segment *s = &elf->segments[i];

        if (s->type == PT_LOAD && address >= s->address &&
            address - s->address < s->file_size) {
            *offset = s->offset + (address - s->address);
            *left = s->file_size - (address - s->address);
            return true;
        }
    }
    return false;
}

/* By segments, which stripped files have, too. */
bool
elf_is_code(const struct elf_file *elf, uint64_t address)
{
    for (size_t i = 0; i < elf->segment_count; i++) {
        const struct elf_segment *s = &elf->segments[i];

        if (s->type == PT_LOAD && (s->flags & PF_X) && address >= s->address &&
            address - s->address < s->file_size)
            return true;
    }
    return false;
}

#define DEBUG_FILES "/usr/lib/debug"

/* Whether the file exists; true, with out "", if the path is too long to be
 * checked: who asks must not conclude that there is none. */
static bool
is_there(const char *directory, const char *below, const char *name,
         char out[PATH_MAX])
{
    int n = snprintf(out, PATH_MAX, "%s%s%s", directory, below, name);

    if (n >= 0 && n < PATH_MAX)
        return access(out, F_OK) == 0;
    out[0] = '\0';
    return true;
}

/* Only whether it exists: the helper reads it, and checks that it fits. */
static bool
find_by_id(const struct elf_file *elf, char out[PATH_MAX])
{
    char text[ELF_BUILD_ID_TEXT], name[ELF_BUILD_ID_TEXT + sizeof("/.debug")];

    if (elf->build_id_size == 0)
        return false;
    elf_build_id_text(elf, text);
    /* /usr/lib/debug/.build-id/ab/cdef....debug */
    snprintf(name, sizeof(name), "%.2s/%s.debug", text, text + 2);
    return is_there(DEBUG_FILES, "/.build-id/", name, out);
}

/* Tries the places where libbfd looks for a file of that name: beside the
 * object, in .debug/ there, and below /usr/lib/debug by its real path. */
static bool
find_debug_link_file(const char *path, const char *name, char out[PATH_MAX])
{
    char directory[PATH_MAX], *real = realpath(path, NULL);
    size_t size = strlen(path);
    bool there = true;
    char *slash;

    out[0] = '\0';
    if (real && size < sizeof(directory)) {
        memcpy(directory, path, size + 1);
        slash = strrchr(directory, '/');
        directory[slash ? slash - directory + 1 : 0] = '\0';
        strrchr(real, '/')[1] = '\0';
        there = is_there(directory, "", name, out) ||
                is_there(directory, ".debug/", name, out) ||
                is_there(DEBUG_FILES, real, name, out);
    }
    free(real);
    return there;
}

static bool
find_by_link(const struct elf_file *elf, const char *path, char out[PATH_MAX])
{
    const struct elf_section *link = elf_section(elf, ".gnu_debuglink");
    char name[NAME_MAX + 1] = "";

    out[0] = '\0';
    if (!link)
        return false;
    /* the section is the name, a NUL, and a CRC that libbfd checks */
    return link->size >= sizeof(name) ||
           elf_read_at(elf, link->offset, link->size, name) != 0 ||
           find_debug_link_file(path, name, out);
}

/* One for the process: the helper gets it as an argument, heapwired has it
 * below its state directory. */
static const char *fetched_dir;

void
debug_fetched_set(const char *dir)
{
    fetched_dir = dir;
}

const char *
debug_fetched_dir(void)
{
    return fetched_dir;
}

bool
debug_fetched_find(const struct elf_file *elf, char out[PATH_MAX])
{
    char text[ELF_BUILD_ID_TEXT], name[ELF_BUILD_ID_TEXT + sizeof("/.debug")];

    if (!fetched_dir || elf->build_id_size == 0)
        return false;
    elf_build_id_text(elf, text);
    snprintf(name, sizeof(name), "/%s.debug", text);
    return is_there(fetched_dir, "", name, out) && *out;
}

/* In the order of libbfd, so that client and helper agree on the file; fetched
 * ones come last, as the machine's own are preferred. */
bool
debug_split_find(const struct elf_file *elf, const char *path,
                 char out[PATH_MAX])
{
    return find_by_id(elf, out) || find_by_link(elf, path, out) ||
           debug_fetched_find(elf, out);
}

bool
debug_info_may_exist(struct elf_file *elf, const char *path)
{
    char unused[PATH_MAX];
    struct error ignored;

    return elf_load_sections(elf, &ignored) != 0 || elf_has_dwarf(elf) ||
           debug_split_find(elf, path, unused);
}
