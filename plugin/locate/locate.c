/*
 * locate.c - the steps of locating, in order; see locate.h.
 *
 * heapwire-run must know before the start which jemalloc a program brings,
 * whether it can profile, and where its mallctl is: most servers are stripped,
 * and link jemalloc statically under a prefix of their own, so dlsym finds
 * nothing.  The file alone is read; nothing of it is run.  First its texts
 * (locate_texts.c, one pass over all loaded segments); only if they show a
 * jemalloc, its symbols and, without those, its code (locate_pick.c).  The
 * agent runs the same code on libraries that are loaded late (jemalloc_late.c).
 * It takes one block of LOCATE_MEMORY bytes, which the agent maps.
 */
#include "locate.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "buffer.h"
#include "errors.h"
#include "locate_work.h"
#include "memory.h"
#include "reader.h"

_Static_assert(sizeof(struct locate_work) <= LOCATE_MEMORY, "as promised");

const char *
locate_how_text(enum locate_how how)
{
    static const char *const texts[] = {
        [LOCATE_NOWHERE] = "nowhere", [LOCATE_EXPORTED] = "exported",
        [LOCATE_SYMTAB] = "symtab",   [LOCATE_DEBUG] = "debug",
        [LOCATE_SCAN] = "scan",       [LOCATE_GIVEN] = "given",
    };

    return texts[how];
}

const char *
locate_advice(const char *prefix, bool in_library)
{
    if (!*prefix && in_library)
        return "preload a jemalloc that can (heapwire-run --jemalloc PATH)";
    if (strcmp(prefix, "_rjem_") == 0)
        return "the program calls it by a name of its own, so a preloaded "
               "jemalloc does not replace it: build it with the feature "
               "profiling of tikv-jemallocator";
    if (in_library || (*prefix && strcmp(prefix, "je_") != 0))
        return "the program calls it by a name of its own, so a preloaded "
               "jemalloc does not replace it: build it with a jemalloc that "
               "was configured with --enable-prof";
    return "the program calls it directly, so a preloaded jemalloc does not "
           "replace it: build it with a jemalloc that was configured with "
           "--enable-prof (Redis, Valkey, KeyDB: make "
           "JEMALLOC_CONFIGURE_OPTS=--enable-prof), or with libc's malloc "
           "(make MALLOC=libc), for which heapwire-run preloads one";
}

/* A static PIE is of type ET_DYN and has no interpreter, as a library has none:
 * DF_1_PIE tells them apart. */
static bool
is_pie(const struct elf_file *elf)
{
    struct buffer bytes;
    struct reader r;
    uint64_t tag, value;
    bool pie = false;

    buffer_init(&bytes, ELF_DYNAMIC_MAX);
    if (elf_dynamic(elf, &bytes) == 0) {
        r = reader_of(bytes.data, bytes.size);
        while (elf_dynamic_next(&r, &tag, &value))
            pie = pie || (tag == DT_FLAGS_1 && (value & DF_1_PIE));
    }
    buffer_fini(&bytes);
    return pie;
}

/* Whether the program's loader is musl's. */
static bool
is_musl(const struct elf_file *elf, const struct elf_segment *interpreter)
{
    char path[256] = "";
    uint64_t size = interpreter->file_size;

    if (size >= sizeof(path))
        size = sizeof(path) - 1;
    return elf_read_at(elf, interpreter->offset, size, path) == 0 &&
           strstr(path, "/ld-musl-") != NULL;
}

static enum locate_kind
classify_elf_file(const struct elf_file *elf)
{
    if (elf->type != ET_EXEC && elf->type != ET_DYN)
        return LOCATE_OTHER;
    for (size_t i = 0; i < elf->segment_count; i++) {
        if (elf->segments[i].type == PT_INTERP)
            return is_musl(elf, &elf->segments[i]) ? LOCATE_MUSL
                                                   : LOCATE_DYNAMIC;
    }
    if (elf->type == ET_EXEC)
        return LOCATE_STATIC;
    return is_pie(elf) ? LOCATE_STATIC_PIE : LOCATE_LIBRARY;
}

static bool
is_script(int fd)
{
    char magic[2];

    return pread(fd, magic, sizeof(magic), 0) == sizeof(magic) &&
           memcmp(magic, "#!", sizeof(magic)) == 0;
}

struct locate_work *
locate_work_new(struct elf_file *elf, struct error *err)
{
    struct locate_work *work = mem_alloc(sizeof(*work));

    if (work) {
        work->elf = elf;
        work->bytes_left = LOCATE_BYTES_MAX;
    } else {
        error_memory(err, "looking for jemalloc in a file");
    }
    return work;
}

void
locate_identify(struct locate *out, const struct elf_file *elf)
{
    for (size_t i = 0; i < out->count; i++) {
        struct locate_jemalloc *j = &out->jemallocs[i];
        uint8_t code[LOCATE_CODE_BYTES];
        uint64_t offset, left;

        snprintf(j->identity, sizeof(j->identity), "%s",
                 out->build_id[0] ? out->build_id : "-");
        /* Without a build-id the first bytes of mallctl's own code identify the
         * build: the agent compares them in memory before it calls there. */
        if (out->build_id[0] || j->how == LOCATE_NOWHERE ||
            !elf_offset_of(elf, j->mallctl, &offset, &left) ||
            left < sizeof(code) ||
            elf_read_at(elf, offset, sizeof(code), code) != 0)
            continue;
        for (size_t k = 0; k < sizeof(code); k++)
            snprintf(j->identity + 1 + 2 * k, 3, "%02x", code[k]);
    }
}

int
locate_read(struct locate *out, int fd, const char *path, struct error *err)
{
    struct locate_work *work;
    struct elf_file elf;
    struct error ignored;

    memset(out, 0, sizeof(*out));
    if (is_script(fd)) {
        out->kind = LOCATE_SCRIPT;
        return 0;
    }
    /* not an ELF file that we can read: LOCATE_OTHER, no error */
    if (elf_init(&elf, fd, "", &ignored) != 0)
        return 0;
    work = locate_work_new(&elf, err);
    if (work) {
        out->kind = classify_elf_file(&elf);
        elf_build_id_text(&elf, out->build_id);
        locate_texts(work);
        out->marks = work->marks;
        if (out->marks & LOCATE_JEMALLOC) {
            memcpy(out->version, work->version, sizeof(out->version));
            locate_pick(out, work, path);
            locate_identify(out, &elf);
        }
    }
    elf_fini(&elf);
    mem_free(work);
    return work ? 0 : -1;
}
