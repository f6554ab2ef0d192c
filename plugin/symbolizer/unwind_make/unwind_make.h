/*
 * unwind_make.h - makes an object's unwind table (unwind_table.h) from its call
 * frame information: .eh_frame, and .debug_frame for code that it leaves out.
 *
 * The file may be anything: it gives a table, whose rules may be nonsense.
 */
#ifndef HW_UNWIND_MAKE_H
#define HW_UNWIND_MAKE_H

#include <stdint.h>

struct buffer;
struct elf_file;
struct error;

enum {
    UNWIND_FUNCTIONS_MAX = 1 << 24,
    UNWIND_TRAMPOLINES_MAX = 64,
    UNWIND_TABLE_BYTES_MAX = 1 << 30
};

/* elf must have loaded its sections.  Appends the table to out; -1 with *err:
 * there is no call frame information, or no memory. */
int unwind_make(const struct elf_file *elf, struct buffer *out,
                struct error *err);

#endif
