/*
 * call_rows.h - a call tree as a list of frames: what flame graphs are drawn
 * from, and the table heap_flame_graph.
 *
 * In the order of a walk that comes to callers first, the root first.  What is
 * too much or too deep is left out, and one row has the sum of what a frame
 * called besides.
 */
#ifndef HW_CALL_ROWS_H
#define HW_CALL_ROWS_H

#include <stdint.h>

struct buffer;
struct call_tree;
struct error;
struct view_options;

enum { CALL_ROWS_FRAMES_MAX = 100000, CALL_ROWS_NAME_MAX = 400 };

/* A frame, or (left_out is not 0) the sum of what it called besides. */
struct call_row {
    uint32_t node, left_out;
    double total, changed;
};

struct call_rows {
    const struct call_tree *tree; /* borrowed */
    struct call_row *list;
    uint32_t count;
};

/* Takes the tree ordered as its siblings shall be; options to cancel it.  -1
 * with *err, and nothing to free. */
int call_rows_make(struct call_rows *out, const struct call_tree *tree,
                   const struct view_options *options, struct error *err);
void call_rows_fini(struct call_rows *rows); /* zeroed is fine */

uint32_t call_row_depth(const struct call_rows *rows, uint32_t i);
/* Without what it called. */
double call_row_self(const struct call_rows *rows, uint32_t i);
/* Appends its name, clean (shown_name()): "all" for the root, or "(3 smaller
 * callees)". */
void call_row_name(const struct call_rows *rows, uint32_t i,
                   struct buffer *out);

#endif
