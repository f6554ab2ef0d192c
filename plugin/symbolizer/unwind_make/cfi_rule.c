/*
 * cfi_rule.c - see cfi_rows.h: a row of call frame information as a rule of a
 * table.
 *
 * Call frame information may compute a place by any expression.  A rule has
 * fixed fields instead, so that a walk needs no interpreter: it can express
 * what compilers, the linker's PLT and OpenSSL's assembly write, which is all
 * but a handful of rows in practice; others have no rule, and a walk ends there
 * or guesses.
 */
#include <elf.h>
#include <string.h>

#include "cfi_rows.h"
#include "dwarf_reader.h"

enum {
    DW_OP_deref = 0x06,
    DW_OP_mul = 0x1e,
    DW_OP_plus = 0x22,
    DW_OP_plus_uconst = 0x23,
    DW_OP_lit0 = 0x30,
    DW_OP_breg0 = 0x70,
    DW_OP_bregx = 0x92,
    COUNT_32 = 32, /* literals, and registers, that opcodes have */
    X86_FP = 6,
    AARCH64_FP = 29,
    AARCH64_LR = 30,
    REGISTERS_MAX = 64
};

uint64_t
cfi_frame_pointer_register(uint16_t machine)
{
    return machine == EM_AARCH64 ? AARCH64_FP : X86_FP;
}

/* Register + offset [+ index * 8] [dereferenced, + more]. */
struct address {
    uint64_t base;
    int64_t offset, more;
    bool deref;
    uint8_t index; /* register + 1; 0: none */
};

static bool
add_without_overflow(int64_t *to, int64_t n)
{
    return !__builtin_add_overflow(*to, n, to);
}

/* + index * 8, as OpenSSL's assembly writes it: it saves the stack pointer
 * behind a number of words. */
static bool
parse_index(struct reader *r, uint8_t op, struct address *out)
{
    static const uint8_t times_8[] = {DW_OP_lit0 + 8, DW_OP_mul, DW_OP_plus};
    bool fits = !out->deref && !out->index && reader_sleb(r) == 0;

    for (size_t i = 0; i < sizeof(times_8); i++)
        fits &= reader_u8(r) == times_8[i];
    out->index = (uint8_t)(op - DW_OP_breg0 + 1);
    return fits;
}

/* Whether the expression is of the form that struct address has. */
static bool
parse_cfi_address(struct span expression, struct address *out)
{
    struct reader r = reader_of(expression.data, expression.size);
    uint8_t op = reader_u8(&r);

    *out = (struct address){.base = 0};
    if (op >= DW_OP_breg0 && op < DW_OP_breg0 + COUNT_32)
        out->base = op - DW_OP_breg0;
    else if (op == DW_OP_bregx)
        out->base = reader_uleb(&r);
    else
        return false;
    out->offset = reader_sleb(&r);
    while (r.pos < r.end && !r.failed) {
        int64_t *sum = out->deref ? &out->more : &out->offset;

        op = reader_u8(&r);
        if (op == DW_OP_deref && !out->deref)
            out->deref = true;
        else if (op == DW_OP_plus_uconst) {
            if (!add_without_overflow(sum, (int64_t)reader_uleb(&r)))
                return false;
        } else if (op >= DW_OP_breg0 && op < DW_OP_breg0 + COUNT_32) {
            if (!parse_index(&r, op, out))
                return false;
        } else if (op >= DW_OP_lit0 && op < DW_OP_lit0 + COUNT_32) {
            if (!add_without_overflow(sum, op - DW_OP_lit0) ||
                reader_u8(&r) != DW_OP_plus)
                return false;
        } else {
            return false;
        }
    }
    return !r.failed;
}

/* Whether it is the expression that linkers give the entries of .plt: rsp + 8 +
 * ((rip & 15) >= n) << 3, as the entry pushes a word at its n-th byte. */
static bool
parse_plt(struct span expression, struct unwind_rule *rule)
{
    static const uint8_t head[] = {0x77, 8, 0x80, 0, 0x3f, 0x1a},
                         tail[] = {0x2a, 0x33, 0x24, 0x22};
    enum { NUMBER = sizeof(head), TAIL };
    uint8_t number;

    if (expression.size != sizeof(head) + 1 + sizeof(tail) ||
        memcmp(expression.data, head, sizeof(head)) != 0 ||
        memcmp(expression.data + TAIL, tail, sizeof(tail)) != 0)
        return false;
    number = (uint8_t)expression.data[NUMBER];
    if (number < DW_OP_lit0 || number >= DW_OP_lit0 + COUNT_32)
        return false;
    rule->cfa = UNWIND_PLT;
    /* rsp */
    rule->base = 7;
    rule->offset = 8;
    rule->more = number - DW_OP_lit0;
    return true;
}

static bool
narrow_to_int32(int64_t wide, int32_t *out)
{
    *out = (int32_t)wide;
    return *out == wide;
}

static bool
set_rule_cfa(const struct cfi_state *state, struct unwind_rule *rule)
{
    struct address address = {.base = state->cfa_register,
                              .offset = state->cfa_offset};

    if (!state->cfa_set)
        return false;
    if (state->cfa_expression.size > 0) {
        if (parse_plt(state->cfa_expression, rule))
            return true;
        if (!parse_cfi_address(state->cfa_expression, &address))
            return false;
    }
    rule->cfa = address.deref ? UNWIND_DEREF : UNWIND_REGISTER;
    rule->base = (uint8_t)address.base;
    rule->index = address.index;
    return address.base < REGISTERS_MAX && (address.deref || !address.index) &&
           narrow_to_int32(address.offset, &rule->offset) &&
           narrow_to_int32(address.more, &rule->more);
}

static bool
set_expression(struct span expression, struct unwind_location *place,
               int32_t *offset)
{
    struct reader r = reader_of(expression.data, expression.size);
    struct address address = {.base = 0};

    if (reader_u8(&r) == DW_OP_plus_uconst) { /* such an expression starts with
                                               * the CFA on its stack */
        uint64_t n = reader_uleb(&r);

        place->where = UNWIND_AT_CFA;
        return reader_done(&r) && narrow_to_int32((int64_t)n, offset);
    }
    if (!parse_cfi_address(expression, &address) || address.deref ||
        address.index || address.base >= REGISTERS_MAX)
        return false;
    place->where = UNWIND_AT;
    place->base = (uint8_t)address.base;
    return narrow_to_int32(address.offset, offset);
}

/* Where a register is saved; false: a rule cannot express it. */
static bool
set_register_location(const struct cfi_saved *saved,
                      struct unwind_location *place, int32_t *offset)
{
    switch (saved->how) {
    case CFI_AT_CFA:
        place->where = UNWIND_AT_CFA;
        return narrow_to_int32(saved->offset, offset);
    case CFI_REGISTER:
        place->where = UNWIND_IN;
        place->base = (uint8_t)saved->offset;
        return saved->offset >= 0 && saved->offset < REGISTERS_MAX;
    case CFI_EXPRESSION:
        return set_expression(saved->expression, place, offset);
    case CFI_OTHER:
        return false;
    default:
        place->where = UNWIND_SAME;
        return true;
    }
}

struct unwind_rule
cfi_rule(const struct cfi_state *state, uint16_t machine, bool signal)
{
    static const struct unwind_rule none = {.cfa = UNWIND_NONE},
                                    outermost = {.cfa = UNWIND_OUTERMOST},
                                    kernel = {.cfa = UNWIND_SIGNAL};
    struct unwind_rule rule = none;
    enum cfi_how how = state->return_address.how;

    if (signal)
        return kernel;
    if (how == CFI_UNDEFINED)
        return outermost;
    if (!set_rule_cfa(state, &rule))
        return none;
    /* the return address is where the call left it: in the link register */
    if (how == CFI_UNSET || how == CFI_SAME) {
        if (machine != EM_AARCH64)
            return none;
        rule.return_address = (struct unwind_location){UNWIND_IN, AARCH64_LR};
    } else if (!set_register_location(&state->return_address,
                                      &rule.return_address,
                                      &rule.return_offset)) {
        return none;
    }
    if (!set_register_location(&state->frame_pointer, &rule.frame_pointer,
                               &rule.frame_offset)) {
        /* the walk goes on without it, as far as later rules need only sp */
        rule.frame_pointer = (struct unwind_location){UNWIND_LOST, 0};
        rule.frame_offset = 0;
    }
    return rule;
}
