/*
 * object_names.h - names the addresses of one object: the helper's work.
 *
 * Its symbol index answers, if there is one that fits; our DWARF reader the
 * addresses that it leaves out; libbfd those in units that the reader does not
 * know.  The symbols' sizes decide whether libbfd has a name or only the
 * nearest one; what stays unnamed gets its function's start from the unwind
 * table.  What is not needed is not read.
 */
#ifndef HW_OBJECT_NAMES_H
#define HW_OBJECT_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "names.h"
#include "reader.h"
#include "symbol_index.h"

struct addr2line_numbers;
struct error;
struct index_sink;
struct object_names;

struct object_request {
    int fd;       /* stays the caller's, and open */
    int index_fd; /* likewise; -1: no index */
    const char *path;
    bool symbols_only;   /* leaves all DWARF alone */
    bool no_lines;       /* DWARF need not say files and lines */
    size_t reader_bytes; /* what may be kept of DWARF; 0: the default */
};

struct object_names *object_names_new(const struct object_request *request,
                                      struct error *err);
void object_names_free(struct object_names *object); /* NULL is fine */

struct object_answer {
    /* The symbol that holds the address, readable, and where it starts; ""
     * without one: where a function without any name starts. */
    const char *symbol;
    uint64_t start;
    const struct frame *frames; /* valid until the next answer */
    /* Of those texts that were numbered; 0: this one was not. */
    uint32_t symbol_number;
    const struct addr2line_numbers *numbers;
    uint32_t frame_count;
};

/* Who takes the answers; not 0 ends them. */
struct object_taker {
    /* A text of the index, of which answers to come may be made, to be
     * numbered. */
    int (*text)(void *arg, struct span text, enum symbol_index_use use,
                uint32_t *number);
    int (*answer)(void *arg, const struct object_answer *answer);
    void *arg;
};

/* Names the code at ascending file offsets, one answer each.  -1 without memory
 * or when taker ends it. */
int object_names_ask(struct object_names *object, const uint64_t *offsets,
                     uint32_t count, const struct object_taker *taker);

/* What was not as it should be, but for the index, in one line; "" when all is
 * well. */
void object_names_complaint(const struct object_names *object, char *out,
                            size_t size);

/* Why the index is of no use, or damaged; NULL: neither. */
const char *object_names_refused(const struct object_names *object);

/* Makes the object's index of its DWARF and symbols, or, where there is no
 * DWARF and sink says so, of its symbols.  -1 with *err. */
int object_names_index(struct object_names *object,
                       const struct index_sink *sink, struct error *err);

#endif
