/*
 * view_options.h - what to show of a profile, and how much: jeprof's options.
 *
 * All forms work alike: they append to out and fail with *err without memory,
 * past out's ceiling or when cancelled.
 */
#ifndef HW_VIEW_OPTIONS_H
#define HW_VIEW_OPTIONS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buffer;
struct error;
struct frame;

enum measure {
    MEASURE_INUSE_SPACE, /* bytes */
    MEASURE_INUSE_OBJECTS,
    MEASURE_ALLOC_SPACE, /* since profiling began; needs prof_accum */
    MEASURE_ALLOC_OBJECTS
};

enum granularity {
    GRANULARITY_FUNCTIONS,
    GRANULARITY_LINES,
    GRANULARITY_FILES,
    GRANULARITY_ADDRESSES
};

struct view_options {
    enum measure measure;
    enum granularity granularity;
    uint32_t nodecount;    /* at most so many nodes */
    double nodefraction;   /* drop nodes of at most this part of the total */
    double edgefraction;   /* drop edges of at most this part of the total */
    uint32_t maxdegree;    /* at most so many edges into, and out of, a node */
    bool allocator_frames; /* keep the allocator's frames, as jeprof does: see
                              allocator.h */
    const char *wrappers;  /* frames left out too: allocator.h; NULL */
    bool jeprof_names;     /* functions without template arguments: dot, text */
    bool show_bytes;       /* whole bytes in place of megabytes */
    bool by_growth;        /* in a difference: the most grown comes first */
    /* Regular expressions (PCRE2): some frame of a stack must match focus, none
     * may match ignore; NULL: any. */
    const char *focus, *ignore;
    const atomic_bool *cancelled; /* or NULL */
};

/* jeprof's: in use bytes by function, 80, .005, .001, 8 */
extern const struct view_options view_defaults;

/* jeprof's words: "inuse_space", ...; "functions", ... */
enum { MEASURE_COUNT = 4, GRANULARITY_COUNT = 4 };
extern const char *const measure_words[MEASURE_COUNT];
extern const char *const granularity_words[GRANULARITY_COUNT];

/* By jeprof's words.  False: unknown. */
bool measure_parse(const char *word, enum measure *out);
bool granularity_parse(const char *word, enum granularity *out);

/* Whether it counts bytes. */
bool measure_is_space(enum measure measure);

/* Whether to stop; checks now and then, as i counts up.  Fills *err. */
bool view_cancelled(const struct view_options *options, size_t i,
                    struct error *err);

/* ---- a frame's name at the options' granularity: jeprof's --functions,
 * --lines, --files and --addresses ---- */

/* Sixteen hexadecimal digits, as jeprof writes an address. */
void granularity_address(struct buffer *out, uint64_t address);

/* "file.c:12"; "??:0" if the file is not known. */
void granularity_place(struct buffer *out, const struct frame *frame);

/* Appends the name of a frame at address; function is its function's name:
 *     main,  main file.c:12,  file.c,  0000000000401136 main file.c:12
 * At the granularity of files, a frame without a file is named by its address.
 */
void granularity_name(struct buffer *out, enum granularity granularity,
                      const char *function, const struct frame *frame,
                      uint64_t address);

#endif
