/*
 * object_sources.h - what the names of one object come from but for its index:
 * symbols, unwind table, DWARF, libbfd.  What is not needed is not opened.
 */
#ifndef HW_OBJECT_SOURCES_H
#define HW_OBJECT_SOURCES_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bfd_names.h"
#include "debug_file.h"
#include "dwarf.h"
#include "elf_file.h"

struct error;
struct object_request;
struct object_symbols;
struct unwind_table;

enum { OBJECT_TROUBLE_MAX = 200 };

/* What was opened is there once its function was asked for it. */
struct object_sources {
    char *path;
    struct elf_file elf; /* with sections */
    struct debug_file debug;
    struct object_symbols *symbols;
    struct dwarf *dwarf;
    struct bfd_names *bfd;
    struct unwind_table *unwind;
    size_t reader_bytes;
    pthread_t thread; /* symbols is its alone, while they are coming */
    bool symbols_coming;
    bool symbols_only, no_lines; /* wanted */
    bool dwarf_sought, bfd_sought;
    bool no_room;                     /* for any of its DWARF */
    char trouble[OBJECT_TROUBLE_MAX]; /* libbfd's with the file; "" */
};

/* -1 with *err; fini it nevertheless. */
int object_sources_init(struct object_sources *from,
                        const struct object_request *request,
                        struct error *err);
void object_sources_fini(struct object_sources *from);

/* NULL without memory. */
const struct object_symbols *
object_sources_symbols(struct object_sources *from);

/* Opens from->dwarf, for an index all of it, and has the symbols read
 * meanwhile.  Without any, *err says why if there should be some. */
void object_sources_dwarf(struct object_sources *from, bool all,
                          struct error *err);

/* NULL: there is no DWARF, or libbfd has trouble with the file. */
struct bfd_names *object_sources_bfd(struct object_sources *from);

/* Where a function without a symbol starts, without reading any; address
 * itself when nobody knows.  -1 without memory. */
int object_sources_start(struct object_sources *from, uint64_t address,
                         uint64_t *start);

#endif
