/*
 * granularity.h - a frame's name at the options' granularity: jeprof's
 * --functions, --lines, --files and --addresses.
 */
#ifndef HW_GRANULARITY_H
#define HW_GRANULARITY_H

#include <stdint.h>

#include "view_options.h"

struct buffer;
struct frame;

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
