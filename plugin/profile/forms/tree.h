/*
 * tree.h - a profile as a call tree to read in a terminal.
 *
 *     db: 34.7 MB in use
 *       34.5 MB  99.3%  main
 *       31.0 MB  89.2%  ├─ load
 *       31.0 MB  89.2%  │  std::vector::reserve
 *        3.2 MB   9.2%  ├─ serve
 *      300.2 KB   0.8%  └─ … 3 more
 *
 * Bytes and percent are cumulative.  Only branches are indented: a single
 * callee follows below its caller.  nodecount and nodefraction choose what is
 * shown.
 */
#ifndef HW_TREE_H
#define HW_TREE_H

struct buffer;
struct error;
struct profile;
struct view_options;

enum {
    TREE_COLUMNS = 160,    /* of a line; names are cut to it */
    TREE_BRANCHES_MAX = 24 /* nested; deeper ones are one line */
};

/* Appends the lines.  Fails as dot_write does. */
int tree_write(const struct profile *profile,
               const struct view_options *options, struct buffer *out,
               struct error *err);

#endif
