/*
 * calls.h - the tree of calls as JSON: for the page, the script of flame
 * graphs, and other programs.
 *
 *     {"title": "redis-server, …: 5.5 MB in use", "notes": ["…"],
 *      "measure": "in use", "unit": "bytes", "space": true,
 *      "difference": false,
 *      "names": ["all", "main", …], "modules": ["", "redis-server", …],
 *      "module": [0, 1, …],
 *      "depth": [0, 1, …], "name": [0, 1, …],
 *      "total": [5767168, …], "self": [0, …]}
 *
 * unit is bytes, objects, time (nanoseconds) or samples; space is true for
 * bytes.  The entries of names and module belong together.  So do those of
 * depth, name, total and self, one for each frame: in the order of a walk from
 * callers to callees, with the root, whose depth is 0, first.  A difference has
 * "changed" too, the sum of all sizes below without signs, and "noise": 1 for a
 * frame whose change may be chance.  What is too much or too deep is left out,
 * and one frame "(3 smaller callees)" has its sum.
 *
 * Names are clean (shown_name()), and <, > and & are escaped, so that the text
 * may stand within XML or HTML.
 */
#ifndef HW_CALLS_H
#define HW_CALLS_H

struct buffer;
struct call_tree;
struct error;
struct profile;
struct view_options;

/* Appends the JSON; as the functions of forms.h. */
int calls_write(const struct profile *profile,
                const struct view_options *options, struct buffer *out,
                struct error *err);

/* The same for tree, a tree of that profile, ordered by name. */
int calls_add(const struct profile *profile, const struct call_tree *tree,
              const struct view_options *options, struct buffer *out,
              struct error *err);

#endif
