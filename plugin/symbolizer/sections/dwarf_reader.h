/*
 * dwarf_reader.h - DWARF's numbers through the bounded reader: LEB128, those
 * whose size the file gives, and skipping values.
 *
 * Inline, for a unit has millions of them.
 */
#ifndef HW_DWARF_READER_H
#define HW_DWARF_READER_H

#include <string.h>

#include "reader.h"

/* The numbers of DWARF 5 (and GNU's before it) that we use. */

enum dw_unit_type {
    DW_UT_compile = 1,
    DW_UT_type,
    DW_UT_partial,
    DW_UT_skeleton,
    DW_UT_split_compile,
    DW_UT_split_type
};

enum dw_tag {
    DW_TAG_array_type = 0x01,
    DW_TAG_entry_point = 0x03,
    DW_TAG_compile_unit = 0x11,
    DW_TAG_subroutine_type = 0x15,
    DW_TAG_inlined_subroutine = 0x1d,
    DW_TAG_subprogram = 0x2e,
    DW_TAG_partial_unit = 0x3c,
    DW_TAG_type_unit = 0x41,
    DW_TAG_call_site = 0x48,
    DW_TAG_skeleton_unit = 0x4a,
    DW_TAG_GNU_call_site = 0x4109
};

enum dw_at {
    DW_AT_sibling = 0x01,
    DW_AT_name = 0x03,
    DW_AT_stmt_list = 0x10,
    DW_AT_low_pc = 0x11,
    DW_AT_high_pc = 0x12,
    DW_AT_language = 0x13,
    DW_AT_comp_dir = 0x1b,
    DW_AT_abstract_origin = 0x31,
    DW_AT_specification = 0x47,
    DW_AT_ranges = 0x55,
    DW_AT_call_file = 0x58,
    DW_AT_call_line = 0x59,
    DW_AT_linkage_name = 0x6e,
    DW_AT_str_offsets_base = 0x72,
    DW_AT_addr_base = 0x73,
    DW_AT_rnglists_base = 0x74,
    DW_AT_dwo_name = 0x76,
    DW_AT_MIPS_linkage_name = 0x2007,
    DW_AT_GNU_dwo_name = 0x2130,
    DW_AT_GNU_addr_base = 0x2133
};

enum dw_form {
    DW_FORM_addr = 0x01,
    DW_FORM_block2 = 0x03,
    DW_FORM_block4,
    DW_FORM_data2,
    DW_FORM_data4,
    DW_FORM_data8,
    DW_FORM_string,
    DW_FORM_block,
    DW_FORM_block1,
    DW_FORM_data1,
    DW_FORM_flag,
    DW_FORM_sdata,
    DW_FORM_strp,
    DW_FORM_udata,
    DW_FORM_ref_addr,
    DW_FORM_ref1,
    DW_FORM_ref2,
    DW_FORM_ref4,
    DW_FORM_ref8,
    DW_FORM_ref_udata,
    DW_FORM_indirect,
    DW_FORM_sec_offset,
    DW_FORM_exprloc,
    DW_FORM_flag_present,
    DW_FORM_strx,
    DW_FORM_addrx,
    DW_FORM_ref_sup4,
    DW_FORM_strp_sup,
    DW_FORM_data16,
    DW_FORM_line_strp,
    DW_FORM_ref_sig8,
    DW_FORM_implicit_const,
    DW_FORM_loclistx,
    DW_FORM_rnglistx,
    DW_FORM_ref_sup8,
    DW_FORM_strx1,
    DW_FORM_strx2,
    DW_FORM_strx3,
    DW_FORM_strx4,
    DW_FORM_addrx1,
    DW_FORM_addrx2,
    DW_FORM_addrx3,
    DW_FORM_addrx4,
    DW_FORM_GNU_addr_index = 0x1f01,
    DW_FORM_GNU_str_index = 0x1f02,
    DW_FORM_GNU_ref_alt = 0x1f20,
    DW_FORM_GNU_strp_alt = 0x1f21
};

enum dw_rle {
    DW_RLE_end_of_list,
    DW_RLE_base_addressx,
    DW_RLE_startx_endx,
    DW_RLE_startx_length,
    DW_RLE_offset_pair,
    DW_RLE_base_address,
    DW_RLE_start_end,
    DW_RLE_start_length
};

/* LEB128 (DWARF 5, 7.6).  Bits past the 64th are dropped; nearly all numbers
 * have one byte. */
static inline uint64_t
reader_uleb(struct reader *r)
{
    uint64_t value = 0;

    if (__builtin_expect(r->pos < r->end && *r->pos < 0x80, 1))
        return *r->pos++;
    for (unsigned shift = 0; r->pos < r->end; shift += shift < 64 ? 7 : 0) {
        uint8_t byte = *r->pos++;

        if (shift < 64)
            value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return value;
    }
    r->failed = true;
    return 0;
}

static inline int64_t
reader_sleb(struct reader *r)
{
    uint64_t value = 0;

    for (unsigned shift = 0; r->pos < r->end;) {
        uint8_t byte = *r->pos++;

        if (shift < 64) {
            value |= (uint64_t)(byte & 0x7f) << shift;
            shift += 7;
        }
        if (!(byte & 0x80)) {
            if (shift < 64 && (byte & 0x40))
                value |= UINT64_MAX << shift;
            return (int64_t)value;
        }
    }
    r->failed = true;
    return 0;
}

static inline bool
dwarf_need(struct reader *r, uint64_t size)
{
    if (__builtin_expect(r->failed || size > (uint64_t)(r->end - r->pos), 0))
        r->failed = true;
    return !r->failed;
}

static inline void
dwarf_skip(struct reader *r, uint64_t size)
{
    if (dwarf_need(r, size))
        r->pos += size;
}

/* A little-endian number of 0 to 8 bytes. */
static inline uint64_t
dwarf_number(struct reader *r, unsigned size)
{
    uint64_t v = 0;

    if (dwarf_need(r, size)) {
        for (unsigned i = 0; i < size; i++)
            v |= (uint64_t)r->pos[i] << (8 * i);
        r->pos += size;
    }
    return v;
}

static inline void
dwarf_skip_lebs(struct reader *r, uint32_t count)
{
    while (count > 0 && dwarf_need(r, 1))
        count -= *r->pos++ < 0x80;
}

static inline void
dwarf_skip_text(struct reader *r)
{
    const void *nul = r->failed || r->pos == r->end
                          ? NULL
                          : memchr(r->pos, 0, (size_t)(r->end - r->pos));

    if (nul)
        r->pos = (const uint8_t *)nul + 1;
    else
        r->failed = true;
}

#endif
