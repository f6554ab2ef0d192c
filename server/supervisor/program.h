/*
 * program.h - the database's command: where it is, what it is.
 */
#ifndef HW_PROGRAM_H
#define HW_PROGRAM_H

#include <stdbool.h>

struct error;

/* As the shell finds name: by PATH unless it has a slash.  NULL with *err and
 * *exit_status 126 or 127; else to be freed with mem_free. */
char *program_find(const char *name, int *exit_status, struct error *err);

enum program_kind {
    PROGRAM_SCRIPT,    /* #! */
    PROGRAM_STATIC,    /* nothing can be preloaded */
    PROGRAM_ALLOCATOR, /* brings jemalloc, or another malloc, itself */
    PROGRAM_PLAIN,
    PROGRAM_UNKNOWN /* not a 64-bit little-endian ELF file */
};

/* Reads only headers and the names of its dynamic symbols and libraries. */
enum program_kind program_kind(const char *path);

/* Whether the first PROGRAM_SEARCH_MAX bytes of the file have text in them. */
bool program_mentions(const char *path, const char *text);

enum { PROGRAM_SEARCH_MAX = 256 << 20 };

/* Set-uid, set-gid or with file capabilities that the caller lacks: the loader
 * then ignores LD_PRELOAD and jemalloc MALLOC_CONF. */
bool program_secure(const char *path);

#endif
