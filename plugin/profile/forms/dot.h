/*
 * dot.h - a profile as a DOT graph, as "jeprof --dot" writes it.
 *
 * The output is valid DOT whatever the symbols' names are.
 */
#ifndef HW_DOT_H
#define HW_DOT_H

struct buffer;
struct error;
struct view_options;
struct profile;

enum { DOT_NAME_MAX = 1024 }; /* longer names end in "..." */

/* Appends the graph, one line per node and edge, to out.  options NULL:
 * view_defaults.  A profile without samples gives a graph without nodes whose
 * legend says so.  -1 with *err without memory or past out's ceiling. */
int dot_write(const struct profile *profile, const struct view_options *options,
              struct buffer *out, struct error *err);

#endif
