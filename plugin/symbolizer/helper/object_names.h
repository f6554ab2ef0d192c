/*
 * object_names.h - names the addresses of one object: the helper's work.
 *
 * libbfd says what addr2line would; the symbols' sizes decide whether that is
 * a name or only the nearest one; what stays unnamed gets its function's start
 * from the unwind table.
 */
#ifndef HW_OBJECT_NAMES_H
#define HW_OBJECT_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "names.h"

struct error;
struct object_names;

/* fd stays the caller's.  symbols_only leaves all DWARF alone. */
struct object_names *object_names_new(int fd, const char *path,
                                      bool symbols_only, struct error *err);
void object_names_free(struct object_names *object); /* NULL is fine */

struct object_answer {
    /* The symbol that holds the address, readable, and where it starts; ""
     * without one: where a function without any name starts. */
    const char *symbol;
    uint64_t start;
    const struct frame *frames; /* valid until the next question */
    uint32_t frame_count;
};

/* Names the code at a file offset; to be asked in ascending order.  -1 without
 * memory. */
int object_names_ask(struct object_names *object, uint64_t offset,
                     struct object_answer *answer);

#endif
