/*
 * forms.h - a profile in its forms; flamegraph.h and calls.h have two more.
 *
 * Each appends its form to out; options NULL: view_defaults.  -1 with *err: no
 * memory, past out's ceiling, cancelled, or options that the profile cannot
 * serve.  Whatever the functions' names are, the form is valid and safe to
 * open.
 */
#ifndef HW_FORMS_H
#define HW_FORMS_H

struct buffer;
struct error;
struct profile;
struct view_options;

/* A DOT graph, as "jeprof --dot" writes it, one line per node and edge.  A
 * profile without samples gives one without nodes whose legend says so. */
enum { DOT_NAME_MAX = 1024 }; /* longer names end in "..." */
int dot_write(const struct profile *profile, const struct view_options *options,
              struct buffer *out, struct error *err);

/*
 * Lines of text, as "jeprof --text" writes them:
 *
 *     Total: 114.7 MB
 *         80.1  69.8%  69.8%     80.1  69.8% grow
 *          ...
 *
 * The columns: what a function allocated itself (the largest first), its part
 * of the total, the sum of the parts so far; what it and all it called
 * allocated, and its part; the name.  text has all functions with whole names;
 * top the first options->nodecount, and cuts names in the middle ("…") to a
 * terminal's width.  Remarks about the profile (memory, cut off, without names,
 * why it is empty) come first; a whole profile from a file has none.
 *
 * With options->by_growth, functions that grew equally are ordered by what they
 * and all they called grew.  In a difference of bytes in use, two more columns
 * mark figures that may be chance (headline.h) with a '~': perhaps only the
 * sampled objects differ.
 */
enum {
    TEXT_NAME_MAX = 1024, /* longer names end in "..." */
    TEXT_COLUMNS = 100    /* of the remarks, and of top's lines */
};
int text_write(const struct profile *profile,
               const struct view_options *options, struct buffer *out,
               struct error *err);
int text_write_top(const struct profile *profile,
                   const struct view_options *options, struct buffer *out,
                   struct error *err);

/*
 * A call tree to read in a terminal:
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
enum {
    TREE_COLUMNS = 160,    /* of a line; names are cut to it */
    TREE_BRANCHES_MAX = 24 /* nested; deeper ones are one line */
};
int tree_write(const struct profile *profile,
               const struct view_options *options, struct buffer *out,
               struct error *err);

/*
 * Collapsed stacks, the form of "jeprof --collapsed" that flamegraph.pl,
 * inferno and speedscope read:
 *
 *     main;run(int);std::string::reserve(unsigned long)[inline] 4096
 *
 * The root comes first, the value last: whole bytes or objects, or of a profile
 * of time samples (by time: nanoseconds), truncated as jeprof does.  Unlike
 * jeprof's, stacks of equal names are one line, and the heaviest line comes
 * first.  In names, ';' becomes ':', control characters and broken UTF-8 become
 * '?'.
 */
int collapsed_write(const struct profile *profile,
                    const struct view_options *options, struct buffer *out,
                    struct error *err);

/*
 * Gzipped profile.proto, for "go tool pprof" and others:
 * https://github.com/google/pprof/blob/main/proto/profile.proto
 *
 * Sample types: inuse_objects/count, inuse_space/bytes and, if they were
 * counted, alloc_objects and alloc_space; of a profile of time samples/count
 * and cpu/nanoseconds or wall/nanoseconds.  Values are rounded estimates; in a
 * difference they are signed.  A function's name is the call graph's, which
 * readers show unchanged; its system name is the symbol.
 */
enum { PPROF_NAME_MAX = 16384 }; /* longer names are cut */
int pprof_write(const struct profile *profile,
                const struct view_options *options, struct buffer *out,
                struct error *err);

/* jemalloc's text (heap_dump.h), which jeprof reads: the samples of all threads
 * as one, and the mappings with code.  A difference has no samples of its own,
 * so it gives an error, and so does a profile of time.  The only option it
 * obeys is cancelled. */
int raw_write(const struct profile *profile, const struct view_options *options,
              struct buffer *out, struct error *err);
/* The names of that text's addresses, for which jeprof asks a server: a line
 * each, "0x<address> <name>"; with "--" between the names where code is
 * inlined, the caller's first. */
int raw_write_symbols(const struct profile *profile,
                      const struct view_options *options, struct buffer *out,
                      struct error *err);

#endif
