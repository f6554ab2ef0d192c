/*
 * cfi_rows.c - see cfi_rows.h.
 *
 * An interpreter for call frame instructions, which keeps only the rows' CFA
 * and where the return address and the frame pointer are saved: a walk needs no
 * other register.  An error ends the function's rows, and its rest has no rule,
 * rather than a wrong one.  A file may describe the same code by as many
 * instructions as it likes, so a budget limits how many are run for an object.
 * Pure.
 */
#include "cfi_rows.h"

#include <string.h>

#include "dwarf_reader.h"

enum {
    DW_CFA_advance_loc = 0x40, /* these three are in the two highest bits */
    DW_CFA_offset = 0x80,
    DW_CFA_restore = 0xc0,
    DW_CFA_nop = 0x00,
    DW_CFA_set_loc,
    DW_CFA_advance_loc1,
    DW_CFA_advance_loc2,
    DW_CFA_advance_loc4,
    DW_CFA_offset_extended,
    DW_CFA_restore_extended,
    DW_CFA_undefined,
    DW_CFA_same_value,
    DW_CFA_register,
    DW_CFA_remember_state,
    DW_CFA_restore_state,
    DW_CFA_def_cfa,
    DW_CFA_def_cfa_register,
    DW_CFA_def_cfa_offset,
    DW_CFA_def_cfa_expression,
    DW_CFA_expression,
    DW_CFA_offset_extended_sf,
    DW_CFA_def_cfa_sf,
    DW_CFA_def_cfa_offset_sf,
    DW_CFA_val_offset,
    DW_CFA_val_offset_sf,
    DW_CFA_val_expression,
    DW_CFA_AARCH64_negate_ra_state_with_pc = 0x2c,
    DW_CFA_AARCH64_negate_ra_state = 0x2d,
    DW_CFA_GNU_args_size = 0x2e,
    DW_CFA_GNU_negative_offset_extended = 0x2f,
    LOW_BITS = 0x3f
};

/* NULL: a register that a walk does not need. */
static struct cfi_saved *
saved_of(struct cfi_rows *rows, struct cfi_state *state, uint64_t number)
{
    if (number == rows->common->return_column)
        return &state->return_address;
    return number == cfi_frame_pointer_register(rows->machine)
               ? &state->frame_pointer
               : NULL;
}

static void
set_saved(struct cfi_rows *rows, uint64_t number, enum cfi_how how,
          int64_t offset)
{
    struct cfi_saved *saved = saved_of(rows, &rows->state, number);

    if (saved)
        *saved = (struct cfi_saved){.how = how, .offset = offset};
}

/* DW_CFA_restore: back to the rule that the CIE gave. */
static void
restore_saved_register(struct cfi_rows *rows, uint64_t number)
{
    struct cfi_saved *saved = saved_of(rows, &rows->state, number);

    if (saved)
        *saved = *saved_of(rows, &rows->initial, number);
}

/* Multiplies unsigned, which may wrap around: the file chooses both factors. */
static int64_t
scaled_cfi_offset(const struct cfi_rows *rows, uint64_t factor)
{
    return (int64_t)(factor * (uint64_t)rows->common->data_align);
}

static struct span
take_expression(struct reader *r)
{
    uint64_t size = reader_uleb(r);

    return reader_bytes(r, size);
}

static void
set_state_cfa(struct cfi_rows *rows, uint64_t number, int64_t offset)
{
    rows->state.cfa_register = number;
    rows->state.cfa_offset = offset;
    rows->state.cfa_expression = (struct span){"", 0};
    rows->state.cfa_set = true;
}

/* Compilers nest these once or twice, far below CFI_STATES_MAX. */
static void
remember_cfi_state(struct cfi_rows *rows)
{
    if (rows->depth == CFI_STATES_MAX)
        rows->r.failed = true;
    else
        rows->stack[rows->depth++] = rows->state;
}

static void
restore_cfi_state(struct cfi_rows *rows)
{
    if (rows->depth == 0)
        rows->r.failed = true;
    else
        rows->state = rows->stack[--rows->depth];
}

/* Runs an instruction that says how far the row reaches; false: it is another
 * one. */
static bool
run_advance(struct cfi_rows *rows, uint8_t op, uint64_t *to)
{
    uint64_t factor;

    switch (op) {
    case DW_CFA_set_loc: /* no compiler writes it; it would need the function's
                          * encoding */
        rows->r.failed = true;
        return true;
    case DW_CFA_advance_loc1:
        factor = reader_u8(&rows->r);
        break;
    case DW_CFA_advance_loc2:
        factor = reader_u16(&rows->r);
        break;
    case DW_CFA_advance_loc4:
        factor = reader_u32(&rows->r);
        break;
    default:
        if ((op & ~LOW_BITS) != DW_CFA_advance_loc)
            return false;
        factor = op & LOW_BITS;
    }
    if (__builtin_mul_overflow(factor, rows->common->code_align, &factor) ||
        __builtin_add_overflow(*to, factor, to))
        rows->r.failed = true;
    return true;
}

/* Runs an instruction that changes the CFA; false: it is another one. */
static bool
run_cfa(struct cfi_rows *rows, uint8_t op)
{
    struct reader *r = &rows->r;
    uint64_t number;

    switch (op) {
    case DW_CFA_def_cfa:
        number = reader_uleb(r);
        set_state_cfa(rows, number, (int64_t)reader_uleb(r));
        return true;
    case DW_CFA_def_cfa_sf:
        number = reader_uleb(r);
        set_state_cfa(rows, number,
                      scaled_cfi_offset(rows, (uint64_t)reader_sleb(r)));
        return true;
    case DW_CFA_def_cfa_register:
        set_state_cfa(rows, reader_uleb(r), rows->state.cfa_offset);
        return true;
    case DW_CFA_def_cfa_offset:
        set_state_cfa(rows, rows->state.cfa_register, (int64_t)reader_uleb(r));
        return true;
    case DW_CFA_def_cfa_offset_sf:
        set_state_cfa(rows, rows->state.cfa_register,
                      scaled_cfi_offset(rows, (uint64_t)reader_sleb(r)));
        return true;
    case DW_CFA_def_cfa_expression:
        rows->state.cfa_expression = take_expression(r);
        rows->state.cfa_set = rows->state.cfa_expression.size > 0;
        return true;
    default:
        return false;
    }
}

/* A value that an expression gives (val_expression) is not saved anywhere: no
 * rule can express it. */
static void
run_expression(struct cfi_rows *rows, bool is_value)
{
    uint64_t number = reader_uleb(&rows->r);
    struct span expression = take_expression(&rows->r);
    struct cfi_saved *saved = saved_of(rows, &rows->state, number);

    if (saved)
        *saved =
            (struct cfi_saved){.how = is_value ? CFI_OTHER : CFI_EXPRESSION,
                               .expression = expression};
}

static void
run_other(struct cfi_rows *rows, uint8_t op)
{
    struct reader *r = &rows->r;
    uint64_t number;

    switch (op) {
    case DW_CFA_nop:
    case DW_CFA_AARCH64_negate_ra_state: /* unwind_walk.c masks signatures */
    case DW_CFA_AARCH64_negate_ra_state_with_pc:
        break;
    case DW_CFA_GNU_args_size:
        reader_uleb(r);
        break;
    case DW_CFA_remember_state:
    case DW_CFA_restore_state:
        if (op == DW_CFA_restore_state)
            restore_cfi_state(rows);
        else
            remember_cfi_state(rows);
        break;
    case DW_CFA_offset_extended:
        number = reader_uleb(r);
        set_saved(rows, number, CFI_AT_CFA,
                  scaled_cfi_offset(rows, reader_uleb(r)));
        break;
    case DW_CFA_offset_extended_sf:
        number = reader_uleb(r);
        set_saved(rows, number, CFI_AT_CFA,
                  scaled_cfi_offset(rows, (uint64_t)reader_sleb(r)));
        break;
    case DW_CFA_GNU_negative_offset_extended:
        number = reader_uleb(r);
        set_saved(rows, number, CFI_AT_CFA,
                  scaled_cfi_offset(rows, -reader_uleb(r)));
        break;
    case DW_CFA_restore_extended:
        restore_saved_register(rows, reader_uleb(r));
        break;
    case DW_CFA_undefined:
        set_saved(rows, reader_uleb(r), CFI_UNDEFINED, 0);
        break;
    case DW_CFA_same_value:
        set_saved(rows, reader_uleb(r), CFI_SAME, 0);
        break;
    case DW_CFA_register:
        number = reader_uleb(r);
        set_saved(rows, number, CFI_REGISTER, (int64_t)reader_uleb(r));
        break;
    case DW_CFA_val_offset:
    case DW_CFA_val_offset_sf:
        number = reader_uleb(r);
        reader_uleb(r);
        set_saved(rows, number, CFI_OTHER, 0);
        break;
    case DW_CFA_expression:
    case DW_CFA_val_expression:
        run_expression(rows, op == DW_CFA_val_expression);
        break;
    default:
        r->failed = true;
    }
}

/* Runs instructions until the location moves on, or there are no more. */
static void
run_cfi_instructions(struct cfi_rows *rows, uint64_t *to)
{
    uint64_t from = *to;

    while (*to == from && rows->r.pos < rows->r.end && !rows->r.failed) {
        uint8_t op = reader_u8(&rows->r);

        if (*rows->budget == 0) {
            rows->r.failed = true;
            return;
        }
        --*rows->budget;
        if ((op & ~LOW_BITS) == DW_CFA_offset)
            set_saved(rows, op & LOW_BITS, CFI_AT_CFA,
                      scaled_cfi_offset(rows, reader_uleb(&rows->r)));
        else if ((op & ~LOW_BITS) == DW_CFA_restore)
            restore_saved_register(rows, op & LOW_BITS);
        else if (!run_advance(rows, op, to) && !run_cfa(rows, op))
            run_other(rows, op);
    }
}

/* The CIE's instructions come first: they are the same for all its functions,
 * and give the first row. */
void
cfi_rows_begin(struct cfi_rows *rows, uint16_t machine,
               const struct cfi_common *common,
               const struct cfi_function *function, uint64_t *budget)
{
    uint64_t to = 0;

    rows->common = common;
    rows->machine = machine;
    rows->budget = budget;
    rows->depth = 0;
    rows->at = function->start;
    rows->end = function->end;
    rows->state = rows->initial = (struct cfi_state){.cfa_set = false};
    rows->r = common->instructions;
    run_cfi_instructions(rows, &to);
    /* a CIE has no locations to move on to */
    rows->bad = rows->r.failed || to != 0;
    /* DW_CFA_restore goes back to the state after the CIE's instructions */
    rows->initial = rows->state;
    rows->r = function->instructions;
}

bool
cfi_rows_next(struct cfi_rows *rows, uint64_t *start, uint64_t *end,
              struct unwind_rule *rule)
{
    uint64_t to = rows->at;

    if (rows->at >= rows->end)
        return false;
    if (!rows->bad)
        run_cfi_instructions(rows, &to);
    rows->bad |= rows->r.failed;
    *start = rows->at;
    /* the last row reaches up to the function's end */
    *end = rows->bad || to == rows->at || to > rows->end ? rows->end : to;
    *rule = rows->bad
                ? (struct unwind_rule){.cfa = UNWIND_NONE}
                : cfi_rule(&rows->state, rows->machine, rows->common->signal);
    rows->at = *end;
    return true;
}
