/* unit_aranges.c - see unit_aranges.h. */
#include "unit_aranges.h"

#include <string.h>

#include "dwarf_reader.h"
#include "dwarf_sections.h"
#include "memory.h"
#include "search.h"

enum {
    ARANGES_VERSION = 2,
    REACH_MAX = 1 << 22 /* addresses found in ranges, some many times */
};

/* Reads one set: the bytes behind its length, at offset start of the section.
 */
static int
read_set(struct reader *set, unsigned offset_size, unsigned head,
         int (*put)(void *arg, uint64_t unit_offset, uint64_t start,
                    uint64_t end),
         void *arg)
{
    unsigned version = (unsigned)dwarf_number(set, 2);
    uint64_t unit = dwarf_number(set, offset_size);
    unsigned address_size = (unsigned)dwarf_number(set, 1);
    unsigned segment_size = (unsigned)dwarf_number(set, 1);
    unsigned used = head + 2 + offset_size + 2;
    uint64_t start, size;
    int rc = 0;

    if (set->failed || version != ARANGES_VERSION || segment_size != 0 ||
        (address_size != 4 && address_size != 8))
        return 0;
    /* Tuples are aligned to their size, from the start of the set. */
    if (used % (2 * address_size) != 0)
        dwarf_skip(set, 2 * address_size - used % (2 * address_size));
    /* Discarded functions leave zeros in the middle, so the set's length ends
     * it. */
    while (rc == 0 && reader_left(set) > 0) {
        start = dwarf_number(set, address_size);
        size = dwarf_number(set, address_size);
        if (!set->failed && start != 0 && size != 0 &&
            size <= UINT64_MAX - start)
            rc = put(arg, unit, start, start + size);
    }
    return rc;
}

int
unit_aranges_read(struct dwarf_sections *sections,
                  int (*put)(void *arg, uint64_t unit_offset, uint64_t start,
                             uint64_t end),
                  void *arg)
{
    uint64_t size = dwarf_section_size(sections, DWARF_ARANGES);
    const uint8_t *bytes = NULL;
    struct reader r, set;
    int rc = 0;

    if (size > 0)
        bytes = dwarf_section_bytes(sections, DWARF_ARANGES, 0, size, NULL);
    if (!bytes)
        return 0;
    r = reader_of(bytes, size);
    while (rc == 0 && reader_left(&r) > 0) {
        uint64_t length = dwarf_number(&r, 4);
        unsigned offset_size = 4, head = 4;

        if (length == UINT32_MAX) {
            length = dwarf_number(&r, 8);
            offset_size = 8;
            head = 12;
        }
        if (!dwarf_need(&r, length))
            break;
        set = reader_of(r.pos, length);
        dwarf_skip(&r, length);
        rc = read_set(&set, offset_size, head, put, arg);
    }
    return rc;
}

struct reaching {
    const uint64_t *addresses;
    size_t count;
    uint64_t *units; /* by address: its first unit so far; UINT64_MAX: none */
    size_t found;
};

static int
reach_unit(void *arg, uint64_t unit_offset, uint64_t start, uint64_t end)
{
    struct reaching *r = arg;
    size_t i = search_above(r->addresses, r->count, sizeof(*r->addresses), 0,
                            start - 1); /* which is not 0 */

    for (; i < r->count && r->addresses[i] < end; i++, r->found++)
        if (unit_offset < r->units[i])
            r->units[i] = unit_offset;
    return r->found > REACH_MAX ? -1 : 0;
}

uint64_t
unit_aranges_reach(struct dwarf_sections *sections, const uint64_t *addresses,
                   size_t count)
{
    struct reaching r = {addresses, count, mem_alloc(count * sizeof(*r.units)),
                         0};
    uint64_t reach = UINT64_MAX;

    if (!r.units || count == 0)
        goto out;
    memset(r.units, 0xff, count * sizeof(*r.units));
    if (unit_aranges_read(sections, reach_unit, &r) != 0)
        goto out;
    reach = 0;
    for (size_t i = 0; i < count; i++)
        if (r.units[i] > reach)
            reach = r.units[i];
out:
    mem_free(r.units);
    return reach;
}
