/* unit_name.c - see unit_name.h. */
#include "unit_name.h"

#include <string.h>

#include "dwarf_codes.h"
#include "dwarf_reader.h"
#include "dwarf_sections.h"
#include "dwarf_units.h"
#include "memory.h"

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

/* Languages whose names need no mangling, as binutils counts them. */
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

static bool
read_entry(struct name_reader *n, const struct dwarf_unit *unit,
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

/* Only reading finds an entry's end: in larger and larger pieces. */
static bool
find_entry(struct name_reader *n, const struct dwarf_unit *unit, uint64_t entry,
           struct entry_names *out)
{
    uint64_t end = unit->offset + unit->size, size = ENTRY_FIRST;

    if (entry < unit->entries || entry >= end)
        return false;
    if (entry >= n->near_offset && entry - n->near_offset < n->near_size) {
        uint64_t skip = entry - n->near_offset, left = n->near_size - skip;

        if (read_entry(n, unit, n->near + skip, entry,
                       left < end - entry ? left : end - entry, out))
            return true;
    }
    for (;; size *= 4) {
        size = size < end - entry ? size : end - entry;
        buffer_clear(&n->bytes);
        if (dwarf_section_copy(dwarf_units_sections(n->units), DWARF_INFO,
                               entry, size, &n->bytes, NULL) != 0)
            return false;
        if (read_entry(n, unit, (const uint8_t *)n->bytes.data, entry, size,
                       out))
            return true;
        if (size == end - entry || size >= ENTRY_MAX / 4)
            return false;
    }
}

/* Sets *entry to the next entry of the chain, and returns its unit; NULL: none.
 */
static const struct dwarf_unit *
next_entry(struct name_reader *n, const struct dwarf_unit *unit,
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
    return &n->memo[(entry * 0x9e3779b97f4a7c15U) >> 52];
}

/* Takes what one entry adds; true: the name is found. */
static bool
take_name(struct name_reader *n, const struct dwarf_unit *unit,
          const struct entry_names *here, struct span *text, bool *linkage)
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
    for (int hop = 0; hop < NAME_CHAIN_MAX; hop++) {
        if (take_name(n, unit, &here, text, linkage))
            break;
        unit = next_entry(n, unit, &here, &entry);
        if (!unit)
            break;
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
