/* bfd_names.c - see bfd_names.h. */
#include "bfd_names.h"

#define PACKAGE "heapwire" /* bfd.h requires it */

#include <bfd.h>
#include <libiberty/demangle.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "errors.h"
#include "files.h"
#include "memory.h"

/* Where distributions put split debug files. */
#define DEBUG_DIRECTORY "/usr/lib/debug"

struct bfd_names {
    bfd *object;
    asymbol **symbols; /* NULL: none */
};

struct section_search {
    uint64_t address;
    asection *found;
};

/* A file description of our own, so that reading moves no other file offset; if
 * the file cannot be opened again, the one passed. */
static int
reopen(int fd)
{
    char name[sizeof("/proc/self/fd/") + 11];
    int own;

    snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
    own = open(name, O_RDONLY | O_CLOEXEC);
    return own >= 0 ? own : fcntl(fd, F_DUPFD_CLOEXEC, 0);
}

/* As addr2line: .symtab, or .dynsym if that is empty. */
static asymbol **
read_symbols(bfd *object)
{
    asymbol **symbols = NULL;
    long size, count = 0;

    if ((bfd_get_file_flags(object) & HAS_SYMS) == 0)
        return NULL;
    size = bfd_get_symtab_upper_bound(object);
    if (size > 0) {
        symbols = mem_alloc((size_t)size);
        count = symbols ? bfd_canonicalize_symtab(object, symbols) : 0;
    }
    if (count > 0)
        return symbols;
    mem_free(symbols);
    size = bfd_get_dynamic_symtab_upper_bound(object);
    if (size <= 0)
        return NULL;
    symbols = mem_alloc((size_t)size);
    if (symbols && bfd_canonicalize_dynamic_symtab(object, symbols) > 0)
        return symbols;
    mem_free(symbols);
    return NULL;
}

static bfd *
open_object(int fd, const char *path)
{
    bfd *object;
    int own;

    bfd_init();
    own = reopen(fd);
    if (own < 0)
        return NULL;
    object = bfd_fdopenr(path, NULL, own); /* takes own, even on failure */
    if (!object)
        return NULL;
    object->flags |= BFD_DECOMPRESS;
    if (bfd_check_format(object, bfd_object))
        return object;
    bfd_close(object);
    return NULL;
}

char *
bfd_debug_file(int fd, const char *path)
{
    bfd *object = open_object(fd, path);
    char *found;

    if (!object)
        return NULL;
    found = bfd_follow_build_id_debuglink(object, DEBUG_DIRECTORY);
    if (!found)
        found = bfd_follow_gnu_debuglink(object, DEBUG_DIRECTORY);
    bfd_close(object);
    return found;
}

struct bfd_names *
bfd_names_new(int fd, const char *path, struct error *err)
{
    struct bfd_names *names = mem_zalloc(1, sizeof(*names));

    if (!names) {
        error_memory(err, "libbfd");
        return NULL;
    }
    names->object = open_object(fd, path);
    if (!names->object) {
        error_set(err, ER_UNKNOWN, "libbfd cannot read %s: %s", path,
                  bfd_errmsg(bfd_get_error()));
        bfd_names_free(names);
        return NULL;
    }
    names->symbols = read_symbols(names->object);
    return names;
}

void
bfd_names_free(struct bfd_names *names)
{
    if (!names)
        return;
    if (names->object)
        bfd_close(names->object);
    mem_free(names->symbols);
    mem_free(names);
}

static void
consider_section(bfd *object, asection *section, void *arg)
{
    struct section_search *search = arg;

    (void)object;
    if (!search->found && (bfd_section_flags(section) & SEC_ALLOC) &&
        search->address >= bfd_section_vma(section) &&
        search->address - bfd_section_vma(section) < bfd_section_size(section))
        search->found = section;
}

int
bfd_names_ask(struct bfd_names *names, uint64_t address,
              struct bfd_chain *chain)
{
    struct section_search search = {address, NULL};
    const char *file, *function;
    unsigned line;
    bool more;

    chain->count = 0;
    bfd_map_over_sections(names->object, consider_section, &search);
    if (!search.found)
        return 0;
    bfd_set_error(bfd_error_no_error);
    more = bfd_find_nearest_line(names->object, search.found, names->symbols,
                                 address - bfd_section_vma(search.found), &file,
                                 &function, &line);
    while (more && chain->count < NAMES_INLINE_MAX) {
        chain->frames[chain->count].function = function;
        chain->frames[chain->count].file = file ? file : "";
        chain->frames[chain->count].line = line;
        chain->count++;
        more = bfd_find_inliner_info(names->object, &file, &function, &line);
    }
    return bfd_get_error() == bfd_error_no_memory ? -1 : 0;
}

char *
bfd_names_readable(const char *symbol)
{
    size_t size = strcspn(symbol, "@");
    char *plain = strndup(symbol, size ? size : strlen(symbol)), *readable;

    if (!plain)
        return NULL;
    readable = bfd_demangle(NULL, plain, DMGL_PARAMS | DMGL_ANSI);
    if (!readable)
        return plain;
    free(plain);
    return readable;
}
