/*
 * mapping_line.h - a line of /proc/<pid>/maps, which also begins each mapping
 * in smaps; read in one place.
 *
 * The agent uses it, too: libc only, no heap.
 */
#ifndef HW_MAPPING_LINE_H
#define HW_MAPPING_LINE_H

#include <stdbool.h>
#include <stdint.h>

#include "reader.h"

/* A path has at most a page, four bytes for each newline in it. */
enum { MAPPING_LINE_MAX = 8192 };

struct mapping_line {
    uint64_t start, end;    /* addresses, end exclusive */
    uint64_t offset;        /* of start, in the file */
    uint64_t device, inode; /* device as makedev() gives it; inode 0: no file */
    char permissions[4];    /* "r-xp", without NUL */
    struct span path;       /* empty when anonymous; points into the line */
};

/* Parses a line without its '\n', which anybody may have written.  False: it is
 * none, is too long, or has a NUL. */
bool mapping_line_parse(struct span line, struct mapping_line *out);

#endif
