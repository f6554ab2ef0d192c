/*
 * granularity.h - what a frame is called at the granularity that was asked
 * for: jeprof's --functions, --lines, --files and --addresses.
 */
#ifndef HW_GRANULARITY_H
#define HW_GRANULARITY_H

#include <stdint.h>

#include "view_options.h"

struct buffer;
struct frame;

/* Sixteen hexadecimal digits, as jeprof writes an address. */
void granularity_address(struct buffer *out, uint64_t address);

/* "file.c:12"; "??:0" where the file is not known. */
void granularity_place(struct buffer *out, const struct frame *frame);

/* Appends the name of a frame at address whose function is called so:
 *     main,  main file.c:12,  file.c,  0000000000401136 main file.c:12
 * A frame without a file is called by its address among files. */
void granularity_name(struct buffer *out, enum granularity granularity,
                      const char *function, const struct frame *frame,
                      uint64_t address);

#endif
