/*
 * object_sources.h - the sources of one object's names besides its index:
 * symbols, function ranges, DWARF, libbfd.  Each is opened when it is needed.
 */
#ifndef HW_OBJECT_SOURCES_H
#define HW_OBJECT_SOURCES_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bfd_names.h"
#include "dwarf.h"
#include "elf_file.h"

struct error;
struct object_request;
struct object_symbols;
struct function_ranges;

enum { OBJECT_TROUBLE_MAX = 200 };

/* The split debug file, and which of the two files has the symbols and which
 * the DWARF.  One thread's until the file has been looked for; an unreadable
 * one counts as none. */
struct debug_file {
    const struct elf_file *object;
    const char *object_path;
    bool sought;
    int fd;     /* -1: none */
    char *path; /* allocated by malloc, as libbfd does */
    struct elf_file elf;
};

/* The file with the DWARF, the object or its debug file, and its path; NULL:
 * none. */
const struct elf_file *debug_file_dwarf(struct debug_file *file,
                                        const char **path);
/* The debug file, if the object itself has dynamic symbols only; NULL: it has
 * others, or there is no debug file. */
const struct elf_file *debug_file_symbols(struct debug_file *file);

/* A source is set once its function has been called. */
struct object_sources {
    char *path;
    struct elf_file elf; /* with sections */
    struct debug_file debug;
    struct object_symbols *symbols;
    struct dwarf *dwarf;
    struct bfd_names *bfd;
    struct function_ranges *ranges;
    size_t reader_bytes;
    pthread_t thread; /* owns symbols while it runs */
    bool symbols_coming;
    bool symbols_only, no_lines; /* options */
    bool dwarf_sought, bfd_sought;
    bool over_budget;                 /* there was no memory for any of its
                                       * DWARF */
    char trouble[OBJECT_TROUBLE_MAX]; /* why libbfd cannot read the file; "" */
};

/* -1 with *err; object_sources_fini is still needed. */
int object_sources_init(struct object_sources *from,
                        const struct object_request *request,
                        struct error *err);
void object_sources_fini(struct object_sources *from);

/* NULL without memory. */
const struct object_symbols *
object_sources_symbols(struct object_sources *from);

/* Opens from->dwarf (all of it, for an index) and reads the symbols meanwhile.
 * *err says why there is none although there should be. */
void object_sources_dwarf(struct object_sources *from, bool all,
                          struct error *err);

/* NULL: no DWARF, or libbfd cannot read the file. */
struct bfd_names *object_sources_bfd(struct object_sources *from);

/* The start of a function without a symbol, found without reading symbols;
 * address itself if unknown.  -1 without memory. */
int object_sources_start(struct object_sources *from, uint64_t address,
                         uint64_t *start);

#endif
