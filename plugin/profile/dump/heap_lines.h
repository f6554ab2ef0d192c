/*
 * heap_lines.h - the lines of a text that is in memory, or read in pieces.
 *
 * Of a text in pieces, memory holds the current line and at most one earlier
 * line that the reader keeps.
 */
#ifndef HW_HEAP_LINES_H
#define HW_HEAP_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "buffer.h"
#include "reader.h"

struct error;

/* The source of pieces: reads up to room bytes to `to`; 0 at the end, -1 with
 * *err. */
struct heap_source {
    ssize_t (*read)(void *arg, char *to, size_t room, struct error *err);
    void *arg;
};

struct heap_lines {
    const char *pos, *end;            /* available and not taken yet */
    const struct heap_source *source; /* NULL: no more pieces */
    struct buffer window;             /* the source's pieces */
    struct span kept; /* a line taken earlier: it moves with the window */
};

/* Reads either text, or source, which is borrowed. */
void heap_lines_init(struct heap_lines *lines, struct span text,
                     const struct heap_source *source);
void heap_lines_fini(struct heap_lines *lines);

/* 1: the next whole line, without its '\n', valid until the next call; 0: none,
 * and the bytes left at pos are a cut line; -1 with *err. */
int heap_lines_next(struct heap_lines *lines, struct span *line,
                    struct error *err);

/* All whole lines that are left.  -1 with *err. */
int heap_lines_rest(struct heap_lines *lines, struct span *rest,
                    struct error *err);

/* Whether the text ends within a line. */
bool heap_lines_cut(const struct heap_lines *lines);

#endif
