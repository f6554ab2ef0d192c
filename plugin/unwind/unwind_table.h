/*
 * unwind_table.h - one object's compact unwind table: for each address of its
 * code, how to find the caller's frame.
 *
 * Made of .eh_frame by unwind_make.h; position-independent bytes, which may lie
 * in a mapped file.  Code is known by its offset in the object's file: the
 * mapping that holds an address gives it.  Uses libc's memory functions alone,
 * takes no memory and no lock: callable anywhere, also in a signal handler.
 *
 * The bytes, little-endian:
 *     header, UNWIND_HEADER bytes:
 *         8    "HWUNWIND"
 *         u4   version
 *         u2   machine (EM_*)
 *         u2   bytes of the build-id (0: none), then 64 for it, the rest zero
 *         u4   pages, u4 rows, u4 rules, u4 zero
 *         u8   checksum of the header up to here and of all that follows it
 *     pages + 1 x u4   first row of each 64 KiB of the file; last: rows
 *     rules x 24       struct unwind_rule
 *     rows x u4        u2 offset in its page, u2 rule: valid up to the next row
 */
#ifndef HW_UNWIND_TABLE_H
#define HW_UNWIND_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    UNWIND_VERSION = 1,
    UNWIND_HEADER = 104,
    UNWIND_BUILD_ID_MAX = 64,
    UNWIND_PAGE_BITS = 16,
    UNWIND_PAGES_MAX = 1 << 16, /* 4 GiB of file */
    UNWIND_RULES_MAX = 1 << 16,
    UNWIND_ROWS_MAX = 1 << 28,
    UNWIND_RULE_BYTES = 24
};

/* CFA: the stack pointer of the caller, once it is returned to. */
enum unwind_cfa {
    UNWIND_NONE,     /* unknown */
    UNWIND_REGISTER, /* register + offset */
    UNWIND_DEREF,    /* what lies at register + offset + index * 8, + more */
    UNWIND_PLT,      /* register + offset, + 8 from byte more of 16 on */
    UNWIND_SIGNAL,   /* the kernel's frame of a signal holds all registers */
    UNWIND_OUTERMOST /* there is no caller */
};

/* Where the caller's value of a register is. */
enum unwind_where {
    UNWIND_SAME,   /* in the register itself */
    UNWIND_AT_CFA, /* saved at CFA + offset */
    UNWIND_AT,     /* saved at base + offset */
    UNWIND_IN,     /* in register base */
    UNWIND_LOST    /* no rule can say */
};

struct unwind_location {
    uint8_t where, base;
};

/* Registers are DWARF's (thread_state.h). */
struct unwind_rule {
    uint8_t cfa, base; /* enum unwind_cfa, its register */
    struct unwind_location return_address, frame_pointer;
    uint8_t index;    /* a register + 1; 0: none */
    uint8_t reserved; /* 0 */
    int32_t offset, more;
    int32_t return_offset, frame_offset;
};

/* Borrows the bytes. */
struct unwind_table {
    const uint8_t *pages, *rules, *rows;
    uint32_t page_count, rule_count, row_count;
};

/*
 * False: these are not the bytes of a whole table of this version, for this
 * machine and this build-id (size 0: the object has none).  Whatever the bytes
 * are, and even if they change later, a look-up reads nothing outside of them.
 */
bool unwind_table_open(struct unwind_table *table, const void *bytes,
                       size_t size, const void *build_id, size_t build_id_size);

/* The rule of the code at a file offset; cfa is UNWIND_NONE where there is
 * none. */
struct unwind_rule unwind_table_find(const struct unwind_table *table,
                                     uint64_t offset);

/* That rule's number; it may be rule_count or more: there is no rule. */
uint32_t unwind_table_number(const struct unwind_table *table, uint64_t offset);

/* The checksum of more bytes, continued from sum; the first piece starts with
 * 0. */
uint64_t unwind_table_sum(uint64_t sum, const void *bytes, size_t size);

#endif
