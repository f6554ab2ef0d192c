/*
 * cfi_rows.h - runs a function's call frame instructions (DWARF 5, 6.4.2), row
 * by row; each row becomes a rule of an unwind table.
 */
#ifndef HW_CFI_ROWS_H
#define HW_CFI_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cfi_section.h"
#include "unwind_table.h"

enum {
    CFI_STATES_MAX = 32 /* states that may be remembered at once */
};

/* Where a register's value in the caller is. */
struct cfi_saved {
    enum cfi_how {
        CFI_UNSET,
        CFI_UNDEFINED,
        CFI_SAME,
        CFI_AT_CFA,     /* saved at CFA + offset */
        CFI_REGISTER,   /* in register offset */
        CFI_EXPRESSION, /* saved at the address that an expression gives */
        CFI_OTHER       /* in a way that a table cannot express */
    } how;
    int64_t offset;
    struct span expression;
};

struct cfi_state {
    uint64_t cfa_register;
    int64_t cfa_offset;
    struct span cfa_expression; /* size 0: register and offset */
    bool cfa_set;
    struct cfi_saved return_address, frame_pointer;
};

struct cfi_rows {
    const struct cfi_common *common;
    struct reader r;
    uint64_t at, end; /* start of the next row; end of the function */
    uint64_t *budget;
    bool bad; /* an error: the rest has no rule */
    uint16_t machine;
    struct cfi_state state, initial;
    struct cfi_state stack[CFI_STATES_MAX];
    size_t depth;
};

/* machine: EM_X86_64 or EM_AARCH64. *budget: how many more instructions may be
 * run; it goes down. */
void cfi_rows_begin(struct cfi_rows *rows, uint16_t machine,
                    const struct cfi_common *common,
                    const struct cfi_function *function, uint64_t *budget);

/* The next row: the code [*start, *end) has the rule.  false: there is none. */
bool cfi_rows_next(struct cfi_rows *rows, uint64_t *start, uint64_t *end,
                   struct unwind_rule *rule);

/* ---- cfi_rule.c ---- */

/* The rule for a row; UNWIND_NONE: a table cannot express it. */
struct unwind_rule cfi_rule(const struct cfi_state *state, uint16_t machine,
                            bool signal);

/* DWARF's number of the machine's frame pointer. */
uint64_t cfi_frame_pointer_register(uint16_t machine);

#endif
