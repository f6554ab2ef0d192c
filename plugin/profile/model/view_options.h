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

#include "profile_kind.h"

struct buffer;
struct error;
struct frame;

enum measure {
    MEASURE_INUSE_SPACE, /* bytes */
    MEASURE_INUSE_OBJECTS,
    MEASURE_ALLOC_SPACE, /* since profiling began; needs prof_accum */
    MEASURE_ALLOC_OBJECTS,
    /* Of profiles of time: */
    MEASURE_TIME, /* nanoseconds */
    MEASURE_SAMPLES,
    MEASURE_WASTE /* bytes of pages that nobody uses: waste.h */
};

enum granularity {
    GRANULARITY_FUNCTIONS,
    GRANULARITY_LINES,
    GRANULARITY_FILES,
    GRANULARITY_ADDRESSES
};

struct view_options {
    /* A profile of time takes inuse_space and inuse_objects, the words of all
     * its callers, for time and samples: profile_view. */
    enum measure measure;
    enum granularity granularity;
    uint32_t nodecount;  /* at most this many nodes */
    double nodefraction; /* drop nodes of at most this part of the total */
    double edgefraction; /* drop edges of at most this part of the total */
    /* at most this many edges into a node, and out of it */
    uint32_t maxdegree;
    bool allocator_frames; /* keep the allocator's frames, as jeprof does: see
                              allocator.h */
    /* functions left out too (allocator.h); NULL: none */
    const char *wrappers;
    bool jeprof_names; /* functions without template arguments: dot, text */
    bool show_bytes;   /* whole bytes in place of megabytes */
    bool by_growth;    /* in a difference: the most grown comes first */
    /* Roots all stacks at the thread that allocated, or at its pool: the pool
     * outermost, if at both (profile_root.h, which the caller calls). */
    bool by_thread, by_pool;
    /* Regular expressions (PCRE2): some frame of a stack must match focus, none
     * may match ignore; NULL: any. */
    const char *focus, *ignore;
    const atomic_bool *cancelled; /* or NULL */
};

/* jeprof's: in use bytes by function, 80, .005, .001, 8 */
extern const struct view_options view_defaults;

/* jeprof's words: "inuse_space", ...; "functions", ...; and "time", "samples",
 * "waste" */
enum { MEASURE_COUNT = 7, GRANULARITY_COUNT = 4 };
extern const char *const measure_words[MEASURE_COUNT];
extern const char *const granularity_words[GRANULARITY_COUNT];

/* Parse jeprof's words.  False: unknown. */
bool measure_parse(const char *word, enum measure *out);
bool granularity_parse(const char *word, enum granularity *out);

/* Whether it counts bytes or nanoseconds, not objects or samples. */
bool measure_is_amount(enum measure measure);
/* Whether profiles have its variance: bytes in use and time have one. */
bool measure_has_variance(enum measure measure);

/* Whether to stop: looks at the flag now and then, as i counts up.  If so, *err
 * is filled. */
bool view_cancelled(const struct view_options *options, size_t i,
                    struct error *err);

/* ---- a frame's name at the options' granularity: jeprof's --functions,
 * --lines, --files and --addresses ---- */

/* Sixteen hexadecimal digits, as jeprof writes an address. */
void granularity_address(struct buffer *out, uint64_t address);

/* "file.c:12"; "??:0" if the file is not known. */
void granularity_source_line(struct buffer *out, const struct frame *frame);

/* Appends the name of a frame at address; function is its function's name:
 *     main,  main file.c:12,  file.c,  0000000000401136 main file.c:12
 * At the granularity of files, a frame without a file is named by its address.
 */
void granularity_name(struct buffer *out, enum granularity granularity,
                      const char *function, const struct frame *frame,
                      uint64_t address);

/* Numbers as text: for reports in jeprof's form, and for people.  options: as
 * profile_view has them. */

enum { FIGURE_TEXT = 64 };

/* "114.7" megabytes, "12.340" seconds, or whole bytes, nanoseconds, objects or
 * samples; returns out. */
const char *figure_value(double value, const struct view_options *options,
                         char out[FIGURE_TEXT]);

/* "12.3%"; with a total of 0 "nan", "+inf" or "-inf", as jeprof's. */
const char *figure_percent(double value, double total, char out[FIGURE_TEXT]);

/* The unit of figure_value: "MB", "B", "s", "ns", "objects" or "samples". */
const char *figure_unit(const struct view_options *options);

/*
 * With its unit: "12.3 MB", "4.0 KB", "17 B", "3 objects", "340.0 ms"; whole
 * bytes or nanoseconds if options ask for them; is_signed: with the sign of a
 * difference.
 */
void figure_text(double value, const struct view_options *options,
                 bool is_signed, char out[FIGURE_TEXT]);

/* "bytes", "objects", "time" or "samples", and where they are: "in use",
 * "allocated", "on the processor" or "of the clock". */
const char *figure_what(enum measure measure);
const char *figure_where(enum measure measure, enum profile_kind kind);

/* Makes a function's name safe to show. */

/*
 * Appends name; control characters, broken UTF-8 and characters that change the
 * direction of writing become '?'.  A name longer than max bytes is cut between
 * characters and ends in "…".
 */
void shown_name(const char *name, size_t max, struct buffer *out);

/* The columns that text, from shown_name, takes in a terminal: two for East
 * Asian characters and emoji. */
size_t shown_columns(const char *text, size_t size);

/* The bytes of the longest prefix of text that takes at most columns. */
size_t shown_fit(const char *text, size_t size, size_t columns);

/* Appends text; if it takes more than columns (at least 3), with "…" in place
 * of its middle. */
void shown_middle(const char *text, size_t size, size_t columns,
                  struct buffer *out);

/* As shown_fit, but ends behind a blank if there is one: for lines of a longer
 * text. */
size_t shown_line(const char *text, size_t size, size_t columns);

#endif
