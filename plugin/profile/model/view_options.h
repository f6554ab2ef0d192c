/*
 * view_options.h - what of a profile to show, and how much: jeprof's options.
 *
 * Every renderer has the same form: it appends to out and fails with *err,
 * without memory, past out's ceiling or when cancelled.
 */
#ifndef HW_VIEW_OPTIONS_H
#define HW_VIEW_OPTIONS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;

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
    bool allocator_frames; /* keep them, as jeprof does: see allocator.h */
    const char *wrappers;  /* whose frames go, too: see wrappers.h; NULL */
    bool jeprof_names;     /* functions without template arguments: dot, text */
    bool show_bytes;       /* whole bytes in place of megabytes */
    bool by_growth;        /* of a difference: what grew most comes first */
    /* Regular expressions (PCRE2) that some frame of a stack must match, and
     * that none may; NULL: any. */
    const char *focus, *ignore;
    const atomic_bool *cancelled; /* or NULL */
    /* Another core may help: in a process that does nothing else. */
    bool may_thread;
};

/* in use bytes by function, 80, .005, .001, 8: jeprof's */
extern const struct view_options view_defaults;

/* jeprof's words: "inuse_space", ...; "functions", ... */
enum { MEASURE_COUNT = 4, GRANULARITY_COUNT = 4 };
extern const char *const measure_words[MEASURE_COUNT];
extern const char *const granularity_words[GRANULARITY_COUNT];

/* By them.  false: unknown. */
bool measure_parse(const char *word, enum measure *out);
bool granularity_parse(const char *word, enum granularity *out);

/* Whether it counts bytes. */
bool measure_is_space(enum measure measure);

/* Whether to stop, looked at now and then as i counts up; fills *err. */
bool view_cancelled(const struct view_options *options, size_t i,
                    struct error *err);

#endif
