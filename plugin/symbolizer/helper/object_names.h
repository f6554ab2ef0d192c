/*
 * object_names.h - names the addresses of one object: the helper's work.
 *
 * A matching symbol index answers first; our DWARF reader answers the addresses
 * that it leaves out; libbfd those in units that the reader does not know.  The
 * symbols' sizes show whether libbfd has a name or only the nearest one; an
 * address without a name gets its function's start from .eh_frame.  Nothing is
 * read before it is needed.
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
    int fd;       /* borrowed, open until the end */
    int index_fd; /* borrowed, too; -1: no index */
    const char *path;
    bool symbols_only;   /* do not read DWARF */
    bool no_lines;       /* files and lines of DWARF are not needed */
    size_t reader_bytes; /* bytes of DWARF that may be kept; 0: the default */
};

struct object_names *object_names_new(const struct object_request *request,
                                      struct error *err);
void object_names_free(struct object_names *object); /* NULL is fine */

struct object_answer {
    /* The symbol at the address, readable, and its start; without a symbol "",
     * and the start of the function. */
    const char *symbol;
    uint64_t start;
    const struct frame *frames; /* valid until the next answer */
    /* The numbers of those texts; 0: none. */
    uint32_t symbol_number;
    const struct addr2line_numbers *numbers;
    uint32_t frame_count;
};

/* Takes the answers; not 0 ends them. */
struct object_taker {
    /* A text of the index that later answers may use; sets its number. */
    int (*text)(void *arg, struct span text, enum symbol_index_use use,
                uint32_t *number);
    int (*answer)(void *arg, const struct object_answer *answer);
    void *arg;
};

/* Names the code at ascending file offsets, one answer each.  -1 without
 * memory, or if taker ends it. */
int object_names_ask(struct object_names *object, const uint64_t *offsets,
                     uint32_t count, const struct object_taker *taker);

/* Writes in one line what was wrong, except with the index; "" if nothing
 * was. */
void object_names_complaint(const struct object_names *object, char *out,
                            size_t size);

/* Why the index is unusable, or that it is damaged; NULL: neither. */
const char *object_names_refused(const struct object_names *object);

/* Makes the object's index from its DWARF and symbols; without DWARF, if sink
 * allows, from its symbols.  -1 with *err. */
int object_names_index(struct object_names *object,
                       const struct index_sink *sink, struct error *err);

#endif
