/*
 * locate.h - the jemalloc that an ELF file brings, read from the file alone.
 *
 * Texts survive stripping: they show a jemalloc, its abilities, and the name of
 * its variable, thus the prefix of its functions.  Symbols give the address of
 * its mallctl; without them the code does: mallctl is what most code calls
 * after it has loaded the address of one of mallctl's names.
 *
 * Read with pread, in pieces; wrong numbers give fewer facts.  No threads, no
 * state; beside the headers one block of LOCATE_MEMORY bytes at most, given
 * back before the return.  Any thread.
 */
#ifndef HW_LOCATE_H
#define HW_LOCATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf_file.h"

struct error;

enum {
    LOCATE_MEMORY = 1 << 20,
    LOCATE_JEMALLOCS_MAX = 4, /* in one file */
    LOCATE_PREFIX_MAX = 48,
    LOCATE_VARIABLE_MAX = LOCATE_PREFIX_MAX + 16,
    LOCATE_VERSION_MAX = 80,
    LOCATE_CODE_BYTES = 32,
    LOCATE_CANDIDATES_MAX = 3,
    LOCATE_IDENTITY_MAX = ELF_BUILD_ID_TEXT + 2
};

/* Limits; content beyond them is ignored. */
#define LOCATE_BYTES_MAX   ((uint64_t)8 << 30) /* of loaded segments */
#define LOCATE_SYMBOLS_MAX ((uint64_t)16 << 20)
#define LOCATE_NAMES_MAX   ((uint64_t)2 << 30) /* bytes of symbols' names */

enum locate_kind {
    LOCATE_OTHER,      /* no 64-bit little-endian ELF file, or not readable */
    LOCATE_SCRIPT,     /* #! */
    LOCATE_STATIC,     /* nothing can be preloaded */
    LOCATE_STATIC_PIE, /* likewise */
    LOCATE_DYNAMIC,
    LOCATE_LIBRARY,
    LOCATE_MUSL /* dynamic, of a libc that loads none of our libraries */
};

/* Facts that texts of the file show. */
enum locate_mark {
    LOCATE_JEMALLOC = 1, /* it brings its own */
    LOCATE_PROFILES = 2, /* built with prof */
    LOCATE_COUNTS = 4,   /* knows the option prof_stats */
    LOCATE_TCMALLOC = 8, /* another malloc */
    LOCATE_SETS_PROF = 16 /* a compiled-in malloc_conf says so, these too: */,
    LOCATE_SETS_ACTIVE = 32,
    LOCATE_SETS_THREADS = 64, /* prof_thread_active_init */
    LOCATE_SETS_SAMPLE = 128, /* lg_prof_sample */
    LOCATE_SETS_STATS = 256,  /* prof_stats */
    LOCATE_LIBC_START = 512,  /* libc starts its main */
    LOCATE_NAMES = 1024,      /* knows the option prof_sys_thread_name */
    LOCATE_SETS_NAMES = 2048  /* a compiled-in malloc_conf sets it */
};

enum locate_how {
    LOCATE_NOWHERE,
    LOCATE_EXPORTED, /* a dynamic symbol */
    LOCATE_SYMTAB,
    LOCATE_DEBUG, /* a symbol of the split debug file */
    LOCATE_SCAN,  /* of the code */
    LOCATE_GIVEN  /* by the user */
};

struct locate_jemalloc {
    char prefix[LOCATE_PREFIX_MAX];     /* mallctl is <prefix>mallctl */
    char variable[LOCATE_VARIABLE_MAX]; /* <PREFIX>MALLOC_CONF; "": unknown */
    enum locate_how how;
    uint64_t mallctl; /* virtual address in an executable PT_LOAD; or 0 */
    /* The file's build-id; where it has none, "-" and its code there. */
    char identity[LOCATE_IDENTITY_MAX];
};

struct locate_candidate {
    uint64_t address;
    uint32_t votes, names; /* votes: 0: there is none */
};

struct locate {
    enum locate_kind kind;
    unsigned marks;                   /* enum locate_mark */
    char version[LOCATE_VERSION_MAX]; /* jemalloc's; "": unknown */
    char build_id[ELF_BUILD_ID_TEXT];
    struct locate_jemalloc jemallocs[LOCATE_JEMALLOCS_MAX];
    size_t count; /* at least one where it brings its own */
    /* Of the scan of the code, if there was one: how many calls were preceded
     * by a load of a name of mallctl's, and the functions that most of them
     * call. */
    uint32_t votes;
    struct locate_candidate candidates[LOCATE_CANDIDATES_MAX];
};

/* path: to find its debug file; NULL: do not look.  -1 with *err when the file
 * cannot be read at all or memory lacks; another file is LOCATE_OTHER. */
int locate_read(struct locate *out, int fd, const char *path,
                struct error *err);

/* Whether the dynamic symbols have a function malloc: a program's own malloc is
 * called before that of any library. */
bool locate_exports_malloc(int fd);

/* Sets the user's place of mallctl: an address, or, if not NULL, a symbol.
 * Changes the jemalloc of that prefix, or the first.  -1 with *err if that is
 * no function with mallctl's arguments. */
int locate_give(struct locate *file, int fd, const char *path,
                const char *symbol, uint64_t address, struct error *err);

/* Whether .eh_frame_hdr says that a function starts at a virtual address, as it
 * does for all that can be unwound; UNKNOWN: the file has none, or none that is
 * understood. */
enum locate_start {
    LOCATE_START_UNKNOWN,
    LOCATE_START_HERE,
    LOCATE_START_ELSEWHERE
};
enum locate_start locate_starts(const struct elf_file *elf, uint64_t address);

/* What a user can do where a jemalloc was built without prof.  prefix: that of
 * its mallctl; in_library: it lies in a library, not in the program. */
const char *locate_advice(const char *prefix, bool in_library);

/* "exported", "symtab", ... */
const char *locate_how_text(enum locate_how how);

#endif
