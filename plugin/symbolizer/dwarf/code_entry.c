/* code_entry.c - see code_entry.h. */
#include "code_entry.h"

#include <string.h>

#include "abbrev_table.h"
#include "dwarf_codes.h"

void
code_entry_read(struct reader *r, const struct dwarf_unit *unit,
                const struct abbrev_attr *attrs, uint32_t count,
                struct code_entry *e)
{
    memset(e, 0, sizeof(*e));
    for (uint32_t i = 0; i < count; i++) {
        struct form_value value, *to = NULL;

        switch (attrs[i].name) {
        case DW_AT_low_pc:
            to = &e->low_pc;
            break;
        case DW_AT_high_pc:
            to = &e->high_pc;
            break;
        case DW_AT_ranges:
            to = &e->ranges;
            break;
        case DW_AT_call_file:
            to = &e->call_file;
            break;
        case DW_AT_call_line:
            to = &e->call_line;
            break;
        case DW_AT_sibling:
            to = &e->sibling;
            break;
        case DW_AT_name:
        case DW_AT_linkage_name:
        case DW_AT_MIPS_linkage_name:
        case DW_AT_abstract_origin:
        case DW_AT_specification:
            form_read(r, unit, attrs[i].form, attrs[i].implicit, &value);
            (void)entry_names_take(&e->names, attrs[i].name, &value);
            continue;
        default:
            form_skip(r, unit, attrs[i].form);
            continue;
        }
        form_read(r, unit, attrs[i].form, attrs[i].implicit, to);
    }
}
