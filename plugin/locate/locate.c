/* locate.c - see locate.h. */
#include "locate.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
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

static enum locate_kind
kind_of(const struct elf_file *elf)
{
    if (elf->type != ET_EXEC && elf->type != ET_DYN)
        return LOCATE_OTHER;
    for (size_t i = 0; i < elf->segment_count; i++) {
        if (elf->segments[i].type == PT_INTERP)
            return LOCATE_DYNAMIC;
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

static struct locate_work *
work_new(struct elf_file *elf, struct error *err)
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

static void
identify(struct locate *out, const struct elf_file *elf)
{
    for (size_t i = 0; i < out->count; i++) {
        struct locate_jemalloc *j = &out->jemallocs[i];
        uint8_t code[LOCATE_CODE_BYTES];
        uint64_t offset, left;

        snprintf(j->identity, sizeof(j->identity), "%s",
                 out->build_id[0] ? out->build_id : "-");
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
    struct error unsaid;

    memset(out, 0, sizeof(*out));
    if (is_script(fd)) {
        out->kind = LOCATE_SCRIPT;
        return 0;
    }
    if (elf_init(&elf, fd, "", &unsaid) != 0)
        return 0;
    work = work_new(&elf, err);
    if (work) {
        out->kind = kind_of(&elf);
        elf_build_id_text(&elf, out->build_id);
        locate_texts(work);
        out->marks = work->marks;
        if (out->marks & LOCATE_JEMALLOC) {
            memcpy(out->version, work->version, sizeof(out->version));
            locate_pick(out, work, path);
            identify(out, &elf);
        }
    }
    elf_fini(&elf);
    mem_free(work);
    return work ? 0 : -1;
}

struct search {
    struct locate_work *work;
    const char *symbol;
    uint64_t address; /* 0: not found yet */
};

static bool
is_whole_name(void *arg, const char *before, uint64_t address)
{
    struct search *search = arg;

    if (before[0] == '\0')
        search->address = address;
    return search->address == 0;
}

static bool
search_source(void *arg, const struct symbol_source *source)
{
    struct search *search = arg;
    struct symbol_wish wish = {search->symbol, is_whole_name, search};

    source->find(source->elf, search->work, &wish);
    return search->address == 0;
}

/* The jemalloc to which a symbol's mallctl belongs: the only one, if there is
 * just one. */
static struct locate_jemalloc *
jemalloc_of(struct locate *file, const char *symbol)
{
    size_t size = symbol ? strlen(symbol) : 0, tail = strlen("mallctl");
    size_t prefix = size >= tail ? size - tail : 0;

    for (size_t i = 0; symbol && i < file->count; i++) {
        struct locate_jemalloc *j = &file->jemallocs[i];

        if (strlen(j->prefix) == prefix &&
            strncasecmp(j->prefix, symbol, prefix) == 0)
            return j;
    }
    if (file->count == 0)
        file->count = 1;
    return &file->jemallocs[0];
}

int
locate_give(struct locate *file, int fd, const char *path, const char *symbol,
            uint64_t address, struct error *err)
{
    struct search search = {.symbol = symbol, .address = address};
    struct locate_jemalloc *j;
    struct elf_file elf;
    int rc = -1;

    if (elf_init(&elf, fd, path, err) != 0)
        return -1;
    search.work = work_new(&elf, err);
    if (!search.work)
        goto out;
    if (symbol)
        locate_symbols(&elf, path, search_source, &search);
    if (symbol && search.address == 0) {
        error_set(err, ER_WRONG_VALUE, "%s has no function %s", path, symbol);
        goto out;
    }
    if (!elf_is_code(&elf, search.address)) {
        error_set(err, ER_WRONG_VALUE, "%s has no code at 0x%llx", path,
                  (unsigned long long)search.address);
        goto out;
    }
    j = jemalloc_of(file, symbol);
    j->mallctl = search.address;
    j->how = LOCATE_GIVEN;
    identify(file, &elf);
    rc = 0;
out:
    elf_fini(&elf);
    mem_free(search.work);
    return rc;
}
