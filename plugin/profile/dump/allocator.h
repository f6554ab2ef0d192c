/*
 * allocator.h - where in a stack the allocator ends and its caller begins.
 *
 * Sampled stacks begin inside jemalloc.  Two rules leave that out:
 *
 * ours      Cuts from the leaf up to the rootmost allocator frame that is at
 *           most ALLOCATOR_REACH locations away from the leaf; locations at the
 *           leaf in jemalloc's own shared object do not count.  An allocator
 *           frame is a function by which programs allocate (malloc, operator
 *           new, Rust's alloc::alloc, ..., also with jemalloc's prefixes), one
 *           that has such a symbol besides its own name, or anything in that
 *           object.  Wrappers between two of them are cut too, so memory is not
 *           charged to a program's own operator new.  A frame farther away
 *           allocates for itself, whatever its callers' names are.
 * jeprof's  Cuts up to the rootmost function of jeprof's list, however far away
 *           it is; without such a name it cuts nothing.
 */
#ifndef HW_ALLOCATOR_H
#define HW_ALLOCATOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reader.h"

struct buffer;
struct error;
struct location;
struct texts;

enum { ALLOCATOR_REACH = 16 };

/* Names are short or plain ones: see function_name.h. */
bool allocator_is_entry(const char *name);
/* symbol is an ELF symbol as nm -C prints it. */
bool allocator_is_symbol(const char *symbol);
bool allocator_is_skipped_by_jeprof(const char *name);

/* What the rules know about a location.  Small: every stack reads it. */
struct allocator_part {
    /* how many of its frames are the allocator's, counted from the innermost */
    uint16_t frames;
    bool all_frames; /* whether all of them are */
    /* it lies in jemalloc's own shared object, whatever its name is */
    bool in_object;
};

/* Where a stack begins after the cut. */
struct allocator_cut {
    /* index in the stack; 0 if nothing is cut, the depth if nothing is left */
    uint32_t location;
    uint32_t frame; /* index of the first frame to show in that location */
};

/* parts has one entry per location of the profile; stack has depth indices into
 * it.  reach is ALLOCATOR_REACH, or UINT32_MAX for jeprof's rule. */
struct allocator_cut allocator_cut(const struct allocator_part *parts,
                                   const uint32_t *stack, uint32_t depth,
                                   uint32_t reach);

/*
 * Wrappers: a program's own allocation functions (zmalloc_usable, my_malloc),
 * which the user or known_wrappers() counts as the allocator's.
 *
 * A list is one text: "my_malloc,db::Pool::*".  Names are whole, as the form
 * text shows them (function_name.h); a '*' at the end stands for any ending.
 */
enum {
    WRAPPERS_MAX = 32,         /* names */
    WRAPPERS_TEXT_BYTES = 1024 /* of a list, with the NUL */
};

/* Adds the names of value, separated by commas, to list, which has room for
 * WRAPPERS_TEXT_BYTES.  On -1 *err says what is allowed, and list is
 * unchanged. */
int wrappers_add(char *list, const char *value, struct error *err);

/* Whether list (NULL: empty) has name, a short or plain one.  Writes to
 * scratch. */
bool wrappers_have(const char *list, struct span name, struct buffer *scratch);

/* How many frames of location, counted from the innermost, are the allocator's
 * by list, or by the list of the node that named it (location->wrapped,
 * names.h). */
uint16_t wrappers_count(const char *list, const struct location *location,
                        struct buffer *scratch);

/* What counts as the allocator's. */
struct allocator_rule {
    /* jeprof's rule; else ours, with these lists */
    bool jeprofs;
    const char *wrappers, *known; /* the user's, and our own; NULL: empty */
};

/* Fills parts, one per location.  The frames of location i have the short names
 * short_names[first[i]] and so on, numbers in texts.  -1 without memory. */
int allocator_parts(const struct allocator_rule *rule,
                    const struct location *locations, size_t count,
                    const struct texts *texts, const uint32_t *first,
                    const uint32_t *short_names, struct allocator_part *parts);

/* The wrappers of a well-known database, which count without being named by a
 * user.  program is a path.  "": the program is not known, or list, the user's
 * (NULL: empty), begins with "none". */
const char *known_wrappers(const char *program, const char *list);

#endif
