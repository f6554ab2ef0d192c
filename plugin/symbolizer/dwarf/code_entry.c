/* code_entry.c - see code_entry.h. */
#include "code_entry.h"

#include <string.h>

#include "abbrev_table.h"
#include "dwarf_codes.h"
#include "dwarf_reader.h"
#include "dwarf_units.h"
#include "unit_code.h"

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

/* ---- entries without code ---- */

/* Moves to the sibling of the entry whose values are at values; NULL: cannot.
 */
static inline const uint8_t *
sibling_of(const struct entry_pass *p, const struct abbrev_pass *a,
           const uint8_t *values, const uint8_t *end)
{
    struct reader at = {values, end, false};
    uint64_t sibling;

    if (a->sibling == ABBREV_NOWHERE)
        return NULL;
    dwarf_skip(&at, a->sibling);
    sibling = dwarf_number(&at, 4) + p->unit->offset - p->offset;
    /* Only forward, or looping entries would never end. */
    if (at.failed || sibling > (uint64_t)(end - p->bytes) ||
        sibling < (uint64_t)(at.pos - p->bytes))
        return NULL;
    return p->bytes + sibling;
}

/* Moves behind the values of an entry with only a few blocks among values of
 * fixed size; NULL: they do not end here, or a block is long. */
static inline const uint8_t *
pass_blocks(const struct abbrev_pass *a, const uint8_t *at, const uint8_t *end)
{
    size_t size = a->bytes[0];

    for (unsigned i = 0; i < a->blocks; i++) {
        if ((size_t)(end - at) <= size || at[size] >= 0x80)
            return NULL;
        at += size + 1;
        size = at[-1] + (size_t)a->bytes[i + 1];
    }
    return (size_t)(end - at) < size ? NULL : at + size;
}

static inline const uint8_t *
pass_attrs(const struct entry_pass *p, uint64_t code, const uint8_t *values,
           const uint8_t *end)
{
    const struct abbrev *a = &p->table->list[code - 1];
    struct reader r = {values, end, false};

    abbrev_skip(&r, p->unit, abbrev_attrs(p->table, a), a->count);
    return r.failed ? NULL : r.pos;
}

uint64_t
entry_pass(const struct entry_pass *p, struct reader *r, uint64_t depth)
{
    /* Sparse codes are rare: each goes the slow way. */
    const uint64_t count = p->table->dense ? p->table->count : 0;
    const struct abbrev_pass *passes = p->table->passes, *a;
    const uint8_t *pos = r->pos, *end = r->end, *next, *values;
    uint32_t *scopes = p->scopes, scope = scopes[depth];
    uint64_t code;

    while (end - pos >= PASS_MARGIN || (p->last && pos < end)) {
        values = pos + 1;
        code = *pos;
        if (code == 0) {
            if (depth <= 1)
                break;
            scope = scopes[--depth];
            pos = values;
            continue;
        }
        if (code >= 0x80) {
            if (values == end || *values >= 0x80)
                break;
            code = (code & 0x7f) | (uint64_t)*values++ << 7;
        }
        if (code - 1 >= count)
            break;
        a = &passes[code - 1];
        if (a->flags & (PASS_CODE | PASS_INLINED | PASS_SHUT)) {
            if ((a->flags & PASS_CODE) ||
                ((a->flags & PASS_INLINED) && scope != SCOPE_IDLE))
                break;
            next = sibling_of(p, a, values, end);
            if (next) {
                pos = next;
                continue;
            }
        }
        next = a->flags & PASS_SLOW ? NULL : pass_blocks(a, values, end);
        if (!next)
            next = pass_attrs(p, code, values, end);
        if (!next)
            break;
        if (a->flags & PASS_CHILDREN) {
            if (depth + 1 == CODE_DEPTH_MAX)
                break;
            scopes[++depth] = scope;
        }
        pos = next;
    }
    r->pos = pos;
    return depth;
}
