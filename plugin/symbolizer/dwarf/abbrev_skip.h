/* abbrev_skip.h - skips one entry by its steps: the innermost loop of all. */
#ifndef HW_ABBREV_SKIP_H
#define HW_ABBREV_SKIP_H

#include "abbrev_table.h"
#include "dwarf_codes.h"
#include "dwarf_forms.h"
#include "dwarf_reader.h"

/* Skips all attributes of one entry; fails r for unknown forms. */
__attribute__((always_inline)) static inline void
abbrev_skip(struct reader *r, const struct dwarf_unit *unit,
            const uint32_t *step)
{
    uint64_t size;

    for (;; step++) {
        uint32_t count = *step >> STEP_BITS;

        switch (*step & ((1U << STEP_BITS) - 1)) {
        case STEP_END:
            return;
        case STEP_BYTES:
            dwarf_skip(r, count);
            break;
        case STEP_LEBS:
            dwarf_skip_lebs(r, count);
            break;
        case STEP_TEXT:
            dwarf_skip_text(r);
            break;
        case STEP_BLOCK1:
            dwarf_skip(r, dwarf_number(r, 1));
            break;
        case STEP_BLOCK2:
            dwarf_skip(r, dwarf_number(r, 2));
            break;
        case STEP_BLOCK4:
            dwarf_skip(r, dwarf_number(r, 4));
            break;
        case STEP_BLOCK:
            size = dwarf_need(r, 1) ? *r->pos : 0;
            if (size < 0x80)
                r->pos += !r->failed;
            else
                size = reader_uleb(r);
            dwarf_skip(r, size);
            break;
        case STEP_INDIRECT: {
            /* A copy, so that r itself may stay in registers. */
            struct reader copy = *r;

            form_skip(&copy, unit, DW_FORM_indirect);
            *r = copy;
            break;
        }
        default:
            r->failed = true;
            return;
        }
    }
}

#endif
