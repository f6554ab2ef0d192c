/*
 * names.h - what code addresses are called: the symboliser's answer.
 *
 * Built once, then immutable and shared by reference.  Texts live in its own
 * arena; equal texts are stored once, so pointers of one table compare.
 */
#ifndef HW_NAMES_H
#define HW_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "reader.h"

enum { NAMES_INLINE_MAX = 64 }; /* frames of one address */

struct frame {
    const char *function; /* demangled, or "module+0x<start>"; never "" */
    const char *file;     /* "" when unknown */
    uint32_t line;        /* 0 when unknown */
};

/* A frame that is no code but a thread, say, has its name for a file, too: so
 * it is shown as it is, whatever is asked for. */
static inline bool
frame_is_label(const struct frame *frame)
{
    return *frame->file && strcmp(frame->function, frame->file) == 0;
}

struct location {
    uint64_t address;
    const struct frame *frames; /* innermost (most inlined) first */
    uint32_t frame_count;       /* at least 1 */
    bool in_allocator; /* jemalloc's: in its shared object, or found to be by
                          locate_inner.h */
    /* The ELF symbol that holds the address, demangled as nm does, with its
     * value: distinguishes functions of one name.  NULL: unknown. */
    const char *symbol;
    uint64_t symbol_start;
    /* The file mapped there, without its directories, and the address within
     * the file, independent of its mapping.  "": unknown. */
    const char *module;
    uint64_t module_offset;
    /* Of another node's: how many of the frames, innermost first, it counts
     * among the allocator's (allocator.h). */
    uint16_t wrapped;
};

struct arena_meter;
struct names;
struct texts;

/* limit_bytes bounds all texts and tables.  NULL: out of memory. */
struct names *names_new(size_t limit_bytes);
/* meter counts the memory that names take from now on. */
void names_count_memory(struct names *names, const struct arena_meter *meter);
void names_free(struct names *names); /* a reference; NULL is fine */
struct names *names_ref(struct names *names);
size_t names_memory(const struct names *names); /* bytes held */

/* Adds an address, copying the texts.  The first answer for an address stays.
 * -1 without memory or past the limit. */
int names_add(struct names *names, uint64_t address, const struct frame *frames,
              uint32_t frame_count, bool in_allocator);

/* Adds another table's location with its symbol.  That table must keep its
 * texts until names_clear_addresses, so each is read only once. */
int names_add_known(struct names *names, uint64_t address,
                    const struct location *known, bool in_allocator);
void names_clear_addresses(struct names *names);

/* Adds the ELF symbol to an address that was added before; the first stays.
 * -1 when it was not, without memory or past the limit. */
int names_set_symbol(struct names *names, uint64_t address, const char *symbol,
                     uint64_t start);

/* Likewise the module. */
int names_set_module(struct names *names, uint64_t address, const char *module,
                     uint64_t offset);

/* A copy of text, one of equal ones, for as long as names; NULL without memory
 * or past the limit. */
const char *names_text(struct names *names, struct span text);

/* The text table, for callers that work with indices. */
struct texts *names_texts(struct names *names);

/* Makes room for about so many more addresses. */
void names_expect(struct names *names, size_t count);

/* Prefetches the slot of an address about to be added. */
void names_prefetch(const struct names *names, uint64_t address);

/* As names_add and the others at once, with texts from names_text or "", which
 * are not looked up again. */
int names_add_own(struct names *names, const struct location *location);

const struct location *names_find(const struct names *names, uint64_t address);
size_t names_count(const struct names *names);

/*
 * Keeps one value of each kind derived from the names.  The first one stays;
 * false if another was kept before.  Any thread.
 */
enum { NAMES_MADE_KINDS = 2 };
struct names_made {
    size_t bytes; /* of memory, counted with the names' */
    void (*free)(struct names_made *made);
};
bool names_keep_made(struct names *names, unsigned kind,
                     struct names_made *made);
struct names_made *names_made(const struct names *names,
                              unsigned kind); /* NULL: none */

/* One line that says what could not be named and why; "" when all is well. */
void names_set_note(struct names *names, const char *note);
const char *names_note(const struct names *names);

#endif
