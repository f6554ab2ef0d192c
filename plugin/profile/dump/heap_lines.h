/*
 * heap_lines.h - the lines of a text that is whole, or read piece by piece.
 *
 * Of pieces only what is still needed stays in memory: the line at hand, and
 * one more that who reads them keeps.
 */
#ifndef HW_HEAP_LINES_H
#define HW_HEAP_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "buffer.h"
#include "reader.h"

struct error;

/* Where pieces come from: up to room bytes at to; 0 at the end, -1 with *err.
 */
struct heap_source {
    ssize_t (*read)(void *arg, char *to, size_t room, struct error *err);
    void *arg;
};

struct heap_lines {
    const char *pos, *end;            /* what is there and was not taken yet */
    const struct heap_source *source; /* NULL: there is no more */
    struct buffer window;             /* of the source's pieces */
    struct span kept; /* a line that was taken: it moves with the window */
};

/* Either text, or what source gives, which is borrowed. */
void heap_lines_init(struct heap_lines *lines, struct span text,
                     const struct heap_source *source);
void heap_lines_fini(struct heap_lines *lines);

/* 1: the next whole line, without its '\n', valid until the next one; 0: there
 * is none, and what is left at pos was cut off; -1 with *err. */
int heap_lines_next(struct heap_lines *lines, struct span *line,
                    struct error *err);

/* All that is left, of whole lines.  -1 with *err. */
int heap_lines_rest(struct heap_lines *lines, struct span *rest,
                    struct error *err);

/* Whether what was not taken ends within a line. */
bool heap_lines_cut(const struct heap_lines *lines);

#endif
