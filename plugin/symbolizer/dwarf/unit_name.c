/*
 * unit_name.c - see unit_name.h.
 *
 * An inlined call has no name itself: it refers to an abstract function, which
 * may refer to a declaration, in this unit or another.  Each hop reads an entry
 * somewhere else, so a hash table of 4,096 slots remembers the names of entries
 * that were referred to: a hot inline function is looked up once.  entry_pass()
 * is the innermost loop of all name look-ups: it skips an entry by one table
 * row, without decoding its attributes.  Memory and memo belong to one thread.
 */
#include "unit_name.h"

#include <string.h>

#include "abbrev_table.h"
#include "dwarf_reader.h"
#include "dwarf_sections.h"
#include "dwarf_units.h"
#include "memory.h"
#include "unit_code.h"

enum { ENTRY_FIRST = 256, ENTRY_MAX = 1 << 18 };

int
name_reader_init(struct name_reader *n, struct dwarf_units *units,
                 struct abbrev_cache *abbrevs)
{
    n->units = units;
    n->abbrevs = abbrevs;
    buffer_init(&n->bytes, ENTRY_MAX);
    n->memo = mem_alloc(NAME_MEMO * sizeof(*n->memo));
    for (size_t i = 0; n->memo && i < NAME_MEMO; i++)
        n->memo[i].entry = UINT64_MAX;
    return n->memo ? 0 : -1;
}

void
name_reader_fini(struct name_reader *n)
{
    buffer_fini(&n->bytes);
    mem_free(n->memo);
}

bool
entry_names_take(struct entry_names *names, uint16_t attr,
                 const struct form_value *value)
{
    switch (attr) {
    case DW_AT_name:
        names->name = *value;
        return true;
    case DW_AT_linkage_name:
    case DW_AT_MIPS_linkage_name:
        names->linkage = *value;
        return true;
    case DW_AT_abstract_origin:
        names->origin = *value;
        return true;
    case DW_AT_specification:
        names->specification = *value;
        return true;
    default:
        return false;
    }
}

/* Whether the unit's language (DW_LANG_*) needs no mangling, as binutils
 * counts: then DW_AT_name is the linkage name. */
static bool
plain_names(const struct dwarf_unit *unit)
{
    static const uint16_t plain[] = {
        0x01,   /* C89 */
        0x02,   /* C */
        0x03,   /* Ada83 */
        0x05,   /* Cobol74 */
        0x06,   /* Cobol85 */
        0x07,   /* Fortran77 */
        0x09,   /* Pascal83 */
        0x0c,   /* C99 */
        0x0f,   /* PLI */
        0x12,   /* UPC */
        0x1d,   /* C11 */
        0x8001, /* Mips_Assembler */
    };

    for (size_t i = 0; i < sizeof(plain) / sizeof(*plain); i++)
        if (unit->language == plain[i])
            return true;
    return false;
}

/* false: unknown abbreviation, or the bytes end within the entry. */
static bool
read_entry_names(struct name_reader *n, const struct dwarf_unit *unit,
                 const uint8_t *bytes, uint64_t offset, uint64_t size,
                 struct entry_names *out)
{
    const struct abbrev_table *table = abbrev_cache_get(
        n->abbrevs, dwarf_units_sections(n->units), unit, NULL);
    struct reader r = reader_of(bytes, size);
    const struct abbrev *a;
    struct form_value value;

    memset(out, 0, sizeof(*out));
    out->bytes = bytes;
    out->offset = offset;
    a = table ? abbrev_find(table, reader_uleb(&r)) : NULL;
    if (!a)
        return false;
    for (uint32_t i = 0; i < a->count && !r.failed; i++) {
        const struct abbrev_attr *attr = &table->attrs[a->first + i];

        form_read(&r, unit, attr->form, attr->implicit, &value);
        (void)entry_names_take(out, attr->name, &value);
    }
    return !r.failed;
}

/* Reads the entry at an offset.  Where it ends is found only by reading, so
 * it is read in larger and larger pieces, if the caller's window does not
 * have it. */
static bool
find_entry(struct name_reader *n, const struct dwarf_unit *unit, uint64_t entry,
           struct entry_names *out)
{
    uint64_t end = unit->offset + unit->size, size = ENTRY_FIRST;

    if (entry < unit->entries || entry >= end)
        return false;
    if (entry >= n->near_offset && entry - n->near_offset < n->near_size) {
        uint64_t skip = entry - n->near_offset, left = n->near_size - skip;

        if (read_entry_names(n, unit, n->near + skip, entry,
                             left < end - entry ? left : end - entry, out))
            return true;
    }
    for (;; size *= 4) {
        size = size < end - entry ? size : end - entry;
        buffer_clear(&n->bytes);
        if (dwarf_section_copy(dwarf_units_sections(n->units), DWARF_INFO,
                               entry, size, &n->bytes, NULL) != 0)
            return false;
        if (read_entry_names(n, unit, (const uint8_t *)n->bytes.data, entry,
                             size, out))
            return true;
        if (size == end - entry || size >= ENTRY_MAX / 4)
            return false;
    }
}

/* Sets *entry to the entry that this one refers to, and returns its unit; NULL:
 * it refers to none. */
static const struct dwarf_unit *
follow_name_reference(struct name_reader *n, const struct dwarf_unit *unit,
                      const struct entry_names *here, uint64_t *entry)
{
    size_t i;

    if (!form_reference(unit, &here->origin, entry) &&
        !form_reference(unit, &here->specification, entry))
        return NULL;
    if (*entry >= unit->offset && *entry - unit->offset < unit->size)
        return unit;
    i = dwarf_units_holding(n->units, *entry);
    if (i != SIZE_MAX)
        return dwarf_units_get(n->units, i);
    dwarf_units_missed(n->units, *entry);
    return NULL;
}

static struct name_memo *
memo_of(struct name_reader *n, uint64_t entry)
{
    /* the upper 12 bits: NAME_MEMO slots */
    return &n->memo[(entry * 0x9e3779b97f4a7c15U) >> 52];
}

/* Takes what one entry of the chain adds.  true: a linkage name, so the search
 * ends; a plain name is kept until one is found. */
static bool
take_entry_name(struct name_reader *n, const struct dwarf_unit *unit,
                const struct entry_names *here, struct span *text,
                bool *linkage)
{
    struct dwarf_sections *sections = dwarf_units_sections(n->units);

    if (here->linkage.form != 0 && form_text(sections, unit, &here->linkage,
                                             here->bytes, here->offset, text)) {
        *linkage = true;
        return true;
    }
    if (text->size == 0 && here->name.form != 0 &&
        form_text(sections, unit, &here->name, here->bytes, here->offset, text))
        *linkage = plain_names(unit);
    return false;
}

void
unit_name(struct name_reader *n, const struct dwarf_unit *unit,
          const struct entry_names *own, struct span *text, bool *linkage)
{
    struct entry_names here = *own;
    struct name_memo *memo = NULL;
    uint64_t entry = 0, first = 0;

    text->data = "";
    text->size = 0;
    *linkage = false;
    /* a chain may be a ring in a damaged file */
    for (int hop = 0; hop < NAME_CHAIN_MAX; hop++) {
        if (take_entry_name(n, unit, &here, text, linkage))
            break;
        unit = follow_name_reference(n, unit, &here, &entry);
        if (!unit)
            break;
        /* Only a name that comes wholly from the first reference can be shared
         * by all entries that refer to it. */
        if (hop == 0 && text->size == 0) {
            memo = memo_of(n, entry);
            first = entry;
            if (memo->entry == entry) {
                *text = memo->text;
                *linkage = memo->linkage;
                return;
            }
        }
        if (!find_entry(n, unit, entry, &here))
            break;
    }
    if (memo)
        *memo = (struct name_memo){first, *text, *linkage};
}

void
unit_name_at(struct name_reader *n, const struct dwarf_unit *unit,
             uint64_t entry, struct span *text, bool *linkage)
{
    struct entry_names own;

    text->data = "";
    text->size = 0;
    *linkage = false;
    if (find_entry(n, unit, entry, &own))
        unit_name(n, unit, &own, text, linkage);
}

/* Attributes have the abbreviation's order, so each is read or skipped as it
 * comes. */
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

/* The place of the sibling of the entry whose values are at values; NULL:
 * unknown, or outside the window. */
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

/* Moves behind the values of an entry that has a few blocks among values of
 * fixed size; NULL: they do not end in the window, or a block is long. */
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
    /* Sparse codes are rare: their entries go the slow way. */
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
        /* LEB128 of at most two bytes: a table with more codes is rare */
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
