/*
 * test_dwarf.c - from addresses to chains, with .debug_info made by hand.
 *
 * A case gives abbreviations and entries; the unit's header, and sections that
 * forms point into, are put around them.
 */
#include "dwarf.h"

#include <elf.h>
#include <malloc.h>
#include <string.h>

#include "buffer.h"
#include "dwarf_reader.h"
#include "dwarf_budget.h"
#include "dwarf_sections.h"
#include "errors.h"
#include "failing_memory.h"
#include "names.h"
#include "section_file.h"
#include "suite.h"
#include "unit_code.h"

enum { MAX = 1 << 20 };

static struct section_file file;
static struct buffer abbrev, info;
static size_t unit_start;

static void
setup(void)
{
    section_file_init(&file);
    buffer_init(&abbrev, MAX);
    buffer_init(&info, MAX);
}

static void
teardown(void)
{
    buffer_fini(&abbrev);
    buffer_fini(&info);
    section_file_fini(&file);
}

/* ---- putting units together ---- */

static void
uleb(struct buffer *b, uint64_t v)
{
    for (; v >= 0x80; v >>= 7)
        buffer_u8(b, (uint8_t)(v | 0x80));
    buffer_u8(b, (uint8_t)v);
}

/* Ends with a zero name; an implicit constant follows its form. */
static void
abbreviation(unsigned code, unsigned tag, bool children,
             const uint16_t *attributes)
{
    uleb(&abbrev, code);
    uleb(&abbrev, tag);
    buffer_u8(&abbrev, children);
    for (; attributes[0] != 0; attributes += 2) {
        uleb(&abbrev, attributes[0]);
        uleb(&abbrev, attributes[1]);
        if (attributes[1] == DW_FORM_implicit_const) {
            uleb(&abbrev, attributes[2]);
            attributes++;
        }
    }
    buffer_u16(&abbrev, 0);
}

static void
begin_unit(unsigned version, bool wide)
{
    unit_start = info.size;
    if (wide)
        buffer_u32(&info, UINT32_MAX);
    buffer_u32(&info, 0); /* set when it ends */
    if (wide)
        buffer_u32(&info, 0);
    buffer_u16(&info, (uint16_t)version);
    if (version >= 5) {
        buffer_u8(&info, DW_UT_compile);
        buffer_u8(&info, 8);
    }
    buffer_u32(&info, 0); /* abbreviations */
    if (wide)
        buffer_u32(&info, 0);
    if (version < 5)
        buffer_u8(&info, 8);
}

static void
end_unit(void)
{
    size_t at =
        unit_start +
        (memcmp(info.data + unit_start, "\377\377\377\377", 4) == 0 ? 4 : 0);
    size_t head = at == unit_start ? 4 : 12;
    uint32_t length = (uint32_t)(info.size - unit_start - head);

    memcpy(info.data + at, &length, sizeof(length));
}

static struct dwarf *
open_file(void)
{
    static const struct dwarf_options options = {0, 1, false};
    struct error err;
    struct dwarf *dwarf;

    buffer_u8(&abbrev, 0);
    section_file_add(&file, ".debug_abbrev", abbrev.data, abbrev.size);
    section_file_add(&file, ".debug_info", info.data, info.size);
    dwarf = dwarf_new(&file.elf, &options, &err);
    ck_assert_msg(dwarf != NULL, "%s", err.text);
    return dwarf;
}

/* "inner<outer", "why N" or "" for an address. */
static void
check_chain(struct dwarf *dwarf, uint64_t address, const char *want)
{
    struct code_chain chain;
    struct buffer text;
    enum dwarf_why why;

    buffer_init(&text, MAX);
    buffer_text(&text, "");
    ck_assert_int_eq(dwarf_resolve(dwarf, &address, 1, NULL), 0);
    why = dwarf_chain_at(dwarf, 0, &chain);
    if (why != DWARF_KNOWN)
        buffer_format(&text, "why %d", why);
    for (uint32_t i = 0; i < chain.count; i++) {
        const struct code_frame *f = &chain.frames[i];

        if (i > 0)
            buffer_char(&text, '<');
        buffer_add(&text, f->name.data, f->name.size);
        if (f->linkage)
            buffer_char(&text, '!');
        if (f->line > 0)
            buffer_format(&text, ":%u", f->line);
    }
    ck_assert_str_eq(text.data, want);
    buffer_fini(&text);
}

/* The root says where its code is: 0x1000, 0x1000 bytes. */
static void
root(unsigned code)
{
    static const uint16_t attributes[] = {DW_AT_low_pc, DW_FORM_addr,
                                          DW_AT_high_pc, DW_FORM_data4, 0};

    abbreviation(code, DW_TAG_compile_unit, true, attributes);
}

static void
put_root(unsigned code)
{
    uleb(&info, code);
    buffer_u64(&info, 0x1000);
    buffer_u32(&info, 0x1000);
}

static const uint16_t function_attributes[] = {DW_AT_name,
                                               DW_FORM_string,
                                               DW_AT_low_pc,
                                               DW_FORM_addr,
                                               DW_AT_high_pc,
                                               DW_FORM_data4,
                                               0};

static void
put_function(unsigned code, const char *name, uint64_t start, uint32_t size)
{
    uleb(&info, code);
    buffer_add(&info, name, strlen(name) + 1);
    buffer_u64(&info, start);
    buffer_u32(&info, size);
}

/* ---- chains ---- */

/* The same program in each version: outer calls inlined, which has a sibling.
 * All sizes and both offset sizes. */
START_TEST(inlined_frames_come_innermost_first)
{
    static const uint16_t inlined[] = {DW_AT_abstract_origin,
                                       DW_FORM_ref4,
                                       DW_AT_low_pc,
                                       DW_FORM_addr,
                                       DW_AT_high_pc,
                                       DW_FORM_data4,
                                       DW_AT_call_line,
                                       DW_FORM_indirect,
                                       DW_AT_sibling,
                                       DW_FORM_ref4,
                                       0};
    static const uint16_t abstract[] = {DW_AT_linkage_name, DW_FORM_string, 0};
    unsigned version = _i < 4 ? 2 + (unsigned)_i : _i == 4 ? 4 : 5;
    size_t origin, sibling;
    struct dwarf *dwarf;
    uint32_t at;

    root(1);
    abbreviation(2, DW_TAG_subprogram, true, function_attributes);
    abbreviation(3, DW_TAG_inlined_subroutine, true, inlined);
    abbreviation(4, DW_TAG_subprogram, false, abstract);
    begin_unit(version, _i >= 4);
    put_root(1);
    origin = info.size - unit_start;
    uleb(&info, 4);
    buffer_add(&info, "_Zin", 5);
    put_function(2, "outer", 0x1100, 0x100);
    for (int i = 0; i < 2; i++) {
        uleb(&info, 3);
        buffer_u32(&info, (uint32_t)origin);
        buffer_u64(&info, 0x1110 + 0x20 * (unsigned)i);
        buffer_u32(&info, 0x10);
        uleb(&info, DW_FORM_udata);
        uleb(&info, 300 + (unsigned)i);
        sibling = info.size;
        buffer_u32(&info, 0);
        buffer_u8(&info, 0); /* no children, after all */
        at = (uint32_t)(info.size - unit_start);
        memcpy(info.data + sibling, &at, sizeof(at));
    }
    buffer_u8(&info, 0);
    put_function(2, "next", 0x1200, 0x10);
    buffer_u16(&info, 0);
    end_unit();
    dwarf = open_file();
    check_chain(dwarf, 0x1100, "outer");
    check_chain(dwarf, 0x1110, "_Zin!<outer:300");
    check_chain(dwarf, 0x111f, "_Zin!<outer:300");
    check_chain(dwarf, 0x1120, "outer");
    check_chain(dwarf, 0x1130, "_Zin!<outer:301");
    check_chain(dwarf, 0x1200, "next");
    check_chain(dwarf, 0x1210, "");
    check_chain(dwarf, 0x5000, "");
    dwarf_free(dwarf);
}
END_TEST

START_TEST(every_kind_of_range_list_entry_is_read)
{
    /* Of what each entry gives, one address inside and the one behind. */
    static const uint64_t inside[] = {0x1010, 0x2000, 0x3000, 0x4000,
                                      0x5008, 0x6000, 0x7010};
    static const uint16_t unit[] = {DW_AT_low_pc,
                                    DW_FORM_addrx,
                                    DW_AT_ranges,
                                    DW_FORM_sec_offset,
                                    DW_AT_addr_base,
                                    DW_FORM_sec_offset,
                                    0};
    static const uint16_t function[] = {DW_AT_name, DW_FORM_string,
                                        DW_AT_ranges, DW_FORM_rnglistx, 0};
    struct buffer lists, addresses;
    struct dwarf *dwarf;
    size_t list;

    buffer_init(&lists, MAX);
    buffer_init(&addresses, MAX);
    buffer_u64(&addresses, 0); /* the header */
    buffer_u64(&addresses, 0x1000);
    buffer_u64(&addresses, 0x2000);
    buffer_u64(&addresses, 0x2004);
    buffer_u64(&addresses, 0x7000);
    for (int i = 0; i < 3; i++) /* 12 bytes of header */
        buffer_u32(&lists, 0);
    buffer_u32(&lists, 4); /* the one offset: behind itself */
    list = lists.size;
    buffer_add(&lists, "\4\x10\x14", 3); /* offset_pair: 0x1010 */
    buffer_add(&lists, "\2\1\2", 3);     /* startx_endx: 0x2000 */
    buffer_u8(&lists, DW_RLE_start_end); /* 0x3000 */
    buffer_u64(&lists, 0x3000);
    buffer_u64(&lists, 0x3004);
    buffer_u8(&lists, DW_RLE_start_length); /* 0x4000 */
    buffer_u64(&lists, 0x4000);
    uleb(&lists, 4);
    buffer_u8(&lists, DW_RLE_base_address); /* 0x5008 */
    buffer_u64(&lists, 0x5000);
    buffer_add(&lists, "\4\x08\x0c", 3);
    buffer_u8(&lists, DW_RLE_start_length); /* 0x6000 */
    buffer_u64(&lists, 0x6000);
    uleb(&lists, 4);
    buffer_add(&lists, "\1\3\4\x10\x14", 5); /* base_addressx: 0x7010 */
    buffer_add(&lists, "\4\x20\x20", 3);     /* nothing */
    buffer_add(&lists, "\3\1\0", 3);         /* startx_length: nothing */
    buffer_u8(&lists, DW_RLE_end_of_list);
    section_file_add(&file, ".debug_rnglists", lists.data, lists.size);
    section_file_add(&file, ".debug_addr", addresses.data, addresses.size);
    abbreviation(1, DW_TAG_compile_unit, true, unit);
    abbreviation(2, DW_TAG_subprogram, false, function);
    begin_unit(5, false);
    uleb(&info, 1);
    uleb(&info, 0);
    buffer_u32(&info, (uint32_t)list);
    buffer_u32(&info, 8);
    uleb(&info, 2);
    buffer_add(&info, "f", 2);
    uleb(&info, 0);
    buffer_u8(&info, 0);
    end_unit();
    dwarf = open_file();
    for (size_t i = 0; i < sizeof(inside) / sizeof(*inside); i++) {
        check_chain(dwarf, inside[i] - 1, "");
        check_chain(dwarf, inside[i], "f");
        check_chain(dwarf, inside[i] + 3, "f");
        check_chain(dwarf, inside[i] + 4, "");
    }
    dwarf_free(dwarf);
    buffer_fini(&lists);
    buffer_fini(&addresses);
}
END_TEST

START_TEST(old_range_lists_may_choose_another_base)
{
    static const uint16_t unit[] = {DW_AT_low_pc, DW_FORM_addr, DW_AT_ranges,
                                    DW_FORM_sec_offset, 0};
    static const uint64_t pairs[] = {0x10, 0x14, UINT64_MAX, 0x8000,
                                     0x20, 0x24, 0,          0};
    struct dwarf *dwarf;

    section_file_add(&file, ".debug_ranges", pairs, sizeof(pairs));
    abbreviation(1, DW_TAG_compile_unit, true, unit);
    abbreviation(2, DW_TAG_subprogram, false, function_attributes);
    begin_unit(4, false);
    uleb(&info, 1);
    buffer_u64(&info, 0x1000);
    buffer_u32(&info, 0);
    put_function(2, "f", 0x1000, UINT32_MAX);
    buffer_u8(&info, 0);
    end_unit();
    dwarf = open_file();
    check_chain(dwarf, 0x1010, "f");
    check_chain(dwarf, 0x8023, "f");
    check_chain(dwarf, 0x1020, "");
    check_chain(dwarf, 0x8024, "");
    dwarf_free(dwarf);
}
END_TEST

/* The first unit's code is gone, but for what it says; all else is the second's
 * or no one's. */
START_TEST(what_the_linker_left_out_has_no_addresses)
{
    static const uint16_t unit[] = {DW_AT_low_pc, DW_FORM_addr, DW_AT_ranges,
                                    DW_FORM_sec_offset, 0};
    static const uint64_t pairs[] = {0,      0x2000, 1, 0x2000,
                                     0x7000, 0x7100, 0, 0};
    struct unit_code code = {0};
    struct dwarf_units *units;
    struct dwarf *dwarf;

    section_file_add(&file, ".debug_ranges", pairs, sizeof(pairs));
    root(1);
    abbreviation(2, DW_TAG_subprogram, true, function_attributes);
    abbreviation(3, DW_TAG_compile_unit, true, unit);
    abbreviation(4, DW_TAG_inlined_subroutine, false, function_attributes);
    begin_unit(4, false);
    uleb(&info, _i == 0 ? 1 : 3);
    buffer_u64(&info, 0);
    buffer_u32(&info, _i == 0 ? 0x8000 : 0);
    put_function(2, "gone", 0, 0x2000);
    put_function(4, "inside", 0x1000, 0x100);
    buffer_u8(&info, 0);
    put_function(2, "left", 0x7000, 0x100);
    buffer_u16(&info, 0);
    end_unit();
    begin_unit(4, false);
    put_root(1);
    put_function(2, "f", 0x1000, 0x1000);
    buffer_u16(&info, 0);
    end_unit();
    dwarf = open_file();
    check_chain(dwarf, 0x1000, "f");
    check_chain(dwarf, 0x10ff, "f");
    check_chain(dwarf, 0x800, "");
    check_chain(dwarf, 0x7000, _i == 0 ? "" : "left");
    units = dwarf_get_units(dwarf);
    ck_assert_int_eq(
        unit_code_read(units, dwarf_units_get(units, 0), NULL, 0, &code, NULL),
        0);
    ck_assert_uint_eq(code.range_count, 1);
    ck_assert_uint_eq(code.ranges[0].start, 0x7000);
    unit_code_fini(&code);
    dwarf_free(dwarf);
}
END_TEST

/* Two entries of two units refer to each other, with names on the way. */
static void
put_referring(unsigned version, const char *name, uint32_t to, uint64_t start)
{
    begin_unit(version, false);
    uleb(&info, 1);
    buffer_u64(&info, start);
    buffer_u32(&info, 0x100);
    uleb(&info, name ? 3 : 2);
    if (name)
        buffer_add(&info, name, strlen(name) + 1);
    buffer_u32(&info, to);
    buffer_u64(&info, start);
    buffer_u32(&info, 0x100);
    buffer_u8(&info, 0);
    end_unit();
}

START_TEST(names_are_found_in_other_units_and_circles_end)
{
    static const uint16_t nameless[] = {DW_AT_abstract_origin,
                                        DW_FORM_ref_addr,
                                        DW_AT_low_pc,
                                        DW_FORM_addr,
                                        DW_AT_high_pc,
                                        DW_FORM_data4,
                                        0};
    static const uint16_t named[] = {
        DW_AT_name,       DW_FORM_string, DW_AT_specification,
        DW_FORM_ref_addr, DW_AT_low_pc,   DW_FORM_addr,
        DW_AT_high_pc,    DW_FORM_data4,  0};
    enum { UNIT = 42, ENTRY = 24 }; /* bytes of a nameless one; its entry */
    struct dwarf *dwarf;

    root(1);
    abbreviation(2, DW_TAG_subprogram, false, nameless);
    abbreviation(3, DW_TAG_subprogram, false, named);
    put_referring(4, NULL, UNIT + ENTRY, 0x1000);
    ck_assert_uint_eq(info.size, UNIT);
    put_referring(4, "second", ENTRY, 0x2000);                   /* and back */
    put_referring(4, NULL, (uint32_t)info.size + ENTRY, 0x3000); /* to itself */
    put_referring(4, NULL, UINT32_MAX, 0x4000);
    put_referring(4, NULL, 3, 0x5000); /* into a header */
    dwarf = open_file();
    check_chain(dwarf, 0x1000, "second");
    check_chain(dwarf, 0x2000, "second");
    check_chain(dwarf, 0x3000, "");
    check_chain(dwarf, 0x4000, "");
    check_chain(dwarf, 0x5000, "");
    dwarf_free(dwarf);
}
END_TEST

/* Entries that are wrong in one way; the first unit is fine before them. */
enum wrong { CODE, FORM, DEPTH, CUT, ALTERNATIVE, VERSION, SPLIT, BACKWARDS };

static const struct {
    const char *what;
    enum wrong wrong;
    const char *want;
} faults[] = {
    {"an entry without abbreviation", CODE, "why 4"},
    {"a form that does not exist", FORM, "why 4"},
    {"entries that nest without end", DEPTH, "why 4"},
    {"a block that runs past the unit", CUT, "why 4"},
    {"a reference into another file", ALTERNATIVE, "why 2"},
    {"a version to come", VERSION, ""},
    {"code that is in another file", SPLIT, "why 1"},
    {"a sibling before the entry itself", BACKWARDS, "f"},
};

static void
put_fault(enum wrong wrong)
{
    static const uint16_t block[] = {DW_AT_name, DW_FORM_block4, 0};
    static const uint16_t unknown[] = {DW_AT_name, 0x77, 0};
    static const uint16_t other[] = {DW_AT_name, DW_FORM_GNU_strp_alt, 0};
    static const uint16_t none[] = {0};
    static const uint16_t sibling[] = {DW_AT_low_pc,
                                       DW_FORM_addr,
                                       DW_AT_high_pc,
                                       DW_FORM_data4,
                                       DW_AT_sibling,
                                       DW_FORM_ref4,
                                       0};

    switch (wrong) {
    case CODE:
        uleb(&info, 99);
        break;
    case FORM:
        abbreviation(3, 5, false, unknown);
        uleb(&info, 3);
        break;
    case DEPTH:
        abbreviation(3, 5, true, none);
        for (int i = 0; i < CODE_DEPTH_MAX; i++)
            uleb(&info, 3);
        break;
    case CUT:
        abbreviation(3, 5, false, block);
        uleb(&info, 3);
        buffer_u32(&info, 0x7fffffff);
        break;
    case ALTERNATIVE:
        abbreviation(3, 5, false, other);
        break;
    case BACKWARDS:
        abbreviation(3, DW_TAG_inlined_subroutine, true, sibling);
        uleb(&info, 3);
        buffer_u64(&info, 0x1f00);
        buffer_u32(&info, 1);
        buffer_u32(&info, 20);
        buffer_u8(&info, 0);
        break;
    default:
        break;
    }
}

START_TEST(what_makes_no_sense_is_said_and_costs_its_unit_only)
{
    static const uint16_t split[] = {DW_AT_low_pc,
                                     DW_FORM_addr,
                                     DW_AT_high_pc,
                                     DW_FORM_data4,
                                     DW_AT_GNU_dwo_name,
                                     DW_FORM_string,
                                     0};
    enum wrong wrong = faults[_i].wrong;
    struct dwarf *dwarf;

    root(1);
    abbreviation(2, DW_TAG_subprogram, false, function_attributes);
    if (wrong == SPLIT)
        abbreviation(4, DW_TAG_compile_unit, true, split);
    begin_unit(wrong == VERSION ? 6 : 4, false);
    put_root(wrong == SPLIT ? 4 : 1);
    if (wrong == SPLIT)
        buffer_add(&info, "a.dwo", 6);
    put_function(2, "f", 0x1000, 0x800);
    put_fault(wrong);
    buffer_u8(&info, 0);
    end_unit();
    if (wrong != ALTERNATIVE) {
        begin_unit(4, false);
        uleb(&info, 1);
        buffer_u64(&info, 0x9000);
        buffer_u32(&info, 0x100);
        put_function(2, "other", 0x9000, 0x100);
        buffer_u8(&info, 0);
        end_unit();
    }
    dwarf = open_file();
    check_chain(dwarf, 0x1000, faults[_i].want);
    if (wrong != ALTERNATIVE)
        check_chain(dwarf, 0x9000, "other");
    dwarf_free(dwarf);
}
END_TEST

START_TEST(of_several_functions_at_an_address_the_smallest_has_it)
{
    struct dwarf *dwarf;

    root(1);
    abbreviation(2, DW_TAG_subprogram, false, function_attributes);
    begin_unit(4, false);
    put_root(1);
    put_function(2, "wide", 0x1000, 0x100);
    put_function(2, "small", 0x1010, 0x10);
    put_function(2, "same", 0x1010, 0x10);
    put_function(2, "across", 0x10f0, 0x80);
    buffer_u8(&info, 0);
    end_unit();
    begin_unit(4, false); /* claims the first one's code */
    put_root(1);
    put_function(2, "late", 0x1000, 0x1000);
    buffer_u8(&info, 0);
    end_unit();
    dwarf = open_file();
    check_chain(dwarf, 0x100f, "wide");
    check_chain(dwarf, 0x1010, "same");
    check_chain(dwarf, 0x1020, "wide");
    check_chain(dwarf, 0x10f5, "across");
    check_chain(dwarf, 0x1800, "");
    dwarf_free(dwarf);
}
END_TEST

/* Few values or many, short blocks or long, codes of one byte or two: the
 * function behind them is found. */
START_TEST(entries_of_every_shape_are_passed_over)
{
    static const uint16_t blocks[] = {
        0x3a, DW_FORM_data1, 0x02, DW_FORM_exprloc, 0x3b, DW_FORM_data2,
        0x7e, DW_FORM_block, 0x39, DW_FORM_data4,   0};
    static const uint16_t many[] = {0x02, DW_FORM_exprloc, 0x7e, DW_FORM_block1,
                                    0x7f, DW_FORM_exprloc, 0x3a, DW_FORM_udata,
                                    0};
    static const uint16_t call[] = {DW_AT_low_pc, DW_FORM_addr, DW_AT_sibling,
                                    DW_FORM_ref4, 0};
    enum { WIDE = 40, LAST = 200, LONG = 0x90 };
    uint16_t wide[WIDE * 2 + 1] = {0};
    struct dwarf *dwarf;
    size_t sibling;
    uint32_t at;

    for (size_t i = 0; i < WIDE; i++) {
        wide[i * 2] = 0x3a;
        wide[i * 2 + 1] = DW_FORM_data16;
    }
    root(1);
    abbreviation(2, DW_TAG_subprogram, true, function_attributes);
    abbreviation(3, 0x34, false, blocks);
    abbreviation(4, 0x34, false, many);
    abbreviation(5, 0x34, true, wide);
    abbreviation(6, DW_TAG_call_site, true, call);
    for (unsigned code = 7; code <= LAST; code++)
        abbreviation(code, 0x34, false, blocks);
    begin_unit(5, false);
    put_root(1);
    put_function(2, "first", 0x1000, 0x10);
    buffer_u8(&info, 0);
    for (unsigned size = 0; size <= LONG; size += LONG)
        for (unsigned code = 3; code <= LAST; code += LAST - 3) {
            uleb(&info, code);
            buffer_u8(&info, 7);
            uleb(&info, size);
            buffer_add(&info, wide, size);
            buffer_u16(&info, 2);
            uleb(&info, LONG - size);
            buffer_add(&info, wide, LONG - size);
            buffer_u32(&info, 3);
        }
    uleb(&info, 4);
    buffer_u16(&info, 0x0001); /* a block of one byte */
    buffer_u8(&info, LONG);
    buffer_add(&info, wide, LONG);
    buffer_u8(&info, 0);
    uleb(&info, 500);
    uleb(&info, 5);
    for (size_t i = 0; i < WIDE; i++)
        buffer_add(&info, wide, 16);
    /* Forward, to itself, and to what is behind the unit: only one is so. */
    for (int i = 0; i < 3; i++) {
        at = (uint32_t)(info.size - unit_start);
        uleb(&info, 6);
        buffer_u64(&info, 0x1000);
        sibling = info.size;
        buffer_u32(&info, i == 2 ? UINT32_MAX : at);
        uleb(&info, i == 0 ? LAST + 1 : 6); /* jumped over when unknown */
        if (i > 0) {
            buffer_u64(&info, 0);
            buffer_u32(&info, 0);
            buffer_u8(&info, 0);
        }
        buffer_u8(&info, 0);
        at = (uint32_t)(info.size - unit_start);
        if (i == 0)
            memcpy(info.data + sibling, &at, sizeof(at));
    }
    buffer_u8(&info, 0);
    put_function(2, "behind", 0x1100, 0x10);
    buffer_u16(&info, 0);
    end_unit();
    dwarf = open_file();
    check_chain(dwarf, 0x1000, "first");
    check_chain(dwarf, 0x1100, "behind");
    dwarf_free(dwarf);
}
END_TEST

/* ---- what comes from outside may end anywhere ---- */

static void
put_program(void)
{
    static const uint16_t inlined[] = {DW_AT_abstract_origin, DW_FORM_ref_udata,
                                       DW_AT_ranges, DW_FORM_sec_offset, 0};
    static const uint16_t constant[] = {
        DW_AT_call_line, DW_FORM_implicit_const, 7,
        DW_AT_name,      DW_FORM_string,         0};
    static const uint64_t pairs[] = {0x10, 0x20, 0, 0};

    section_file_add(&file, ".debug_ranges", pairs, sizeof(pairs));
    root(1);
    abbreviation(2, DW_TAG_subprogram, true, function_attributes);
    abbreviation(3, DW_TAG_inlined_subroutine, true, inlined);
    abbreviation(7, 0x34, false, constant);
    begin_unit(4, false);
    put_root(1);
    put_function(2, "f", 0x1000, 0x800);
    uleb(&info, 3);
    uleb(&info, 24);
    buffer_u32(&info, 0);
    uleb(&info, 7);
    buffer_add(&info, "x", 2);
    buffer_u8(&info, 0);
    buffer_u16(&info, 0);
    end_unit();
}

/* How many of the last question's addresses have that answer. */
static size_t
count_why(const struct dwarf *dwarf, uint32_t count, enum dwarf_why why)
{
    struct code_chain chain;
    size_t found = 0;

    for (uint32_t i = 0; i < count; i++)
        found += dwarf_chain_at(dwarf, i, &chain) == why;
    return found;
}

START_TEST(a_file_that_ends_anywhere_is_no_harm)
{
    static const struct dwarf_options options = {0, 1, true};
    static const uint64_t addresses[] = {0x1000, 0x1010, 0x1700};
    struct elf_section *sections = file.sections;
    struct dwarf *dwarf;
    size_t sizes[3], known = 0;

    put_program();
    dwarf_free(open_file());
    for (int i = 0; i < 3; i++)
        sizes[i] = sections[i].size;
    for (int i = 0; i < 3; i++) {
        for (size_t size = 0; size <= sizes[i]; size++) {
            sections[i].size = size;
            dwarf = dwarf_new(&file.elf, &options, NULL);
            if (dwarf) {
                ck_assert_int_eq(dwarf_resolve(dwarf, addresses, 3, NULL), 0);
                known += count_why(dwarf, 3, DWARF_KNOWN);
            }
            dwarf_free(dwarf);
        }
        sections[i].size = sizes[i];
    }
    ck_assert_uint_ge(known, 3 * sizes[0]);
}
END_TEST

/* Each of many functions has the same list, of which no item is code. */
START_TEST(a_long_list_is_not_read_for_ever)
{
    enum { ITEMS = 1 << 20, FUNCTIONS = CODE_RANGES_MAX / ITEMS + 1 };
    static const uint16_t function[] = {DW_AT_ranges, DW_FORM_sec_offset, 0};
    static uint8_t list[3 * ITEMS + 1];
    struct dwarf *dwarf;

    for (size_t i = 0; i < ITEMS; i++)
        list[3 * i] = DW_RLE_offset_pair;
    section_file_add(&file, ".debug_rnglists", list, sizeof(list));
    root(1);
    abbreviation(2, DW_TAG_subprogram, false, function);
    begin_unit(5, false);
    put_root(1);
    for (int i = 0; i < FUNCTIONS; i++)
        buffer_add(&info, "\2\0\0\0", 5);
    buffer_u8(&info, 0);
    end_unit();
    dwarf = open_file();
    check_chain(dwarf, 0x1000, "why 4");
    dwarf_free(dwarf);
}
END_TEST

START_TEST(any_allocation_may_fail)
{
    static const struct dwarf_options options = {0, 1, true};
    static const uint64_t addresses[] = {0x1000, 0x1010, 0x1700};
    struct dwarf *dwarf;
    bool done = false;
    int resolved = -1;

    put_program();
    dwarf_free(open_file());
    for (unsigned nth = 1; !done; nth++) {
        allocations = 0;
        failing = nth;
        dwarf = dwarf_new(&file.elf, &options, NULL);
        if (dwarf)
            resolved = dwarf_resolve(dwarf, addresses, 3, NULL);
        failing = 0;
        done = allocations < nth;
        if (done) {
            ck_assert_int_eq(resolved, 0);
            check_chain(dwarf, 0x1010, "f<f");
        }
        dwarf_free(dwarf);
        ck_assert_uint_lt(nth, 1000);
    }
}
END_TEST

START_TEST(without_room_it_is_said_so)
{
    static const struct dwarf_options options = {8 << 10, 1, false};
    static const uint64_t addresses[] = {0x1000, 0x1010, 0x1700};
    struct dwarf *dwarf;
    struct error err = {0};

    put_program();
    dwarf_free(open_file());
    dwarf = dwarf_new(&file.elf, &options, &err);
    if (dwarf) {
        ck_assert_int_eq(dwarf_resolve(dwarf, addresses, 3, &err), 0);
        ck_assert_uint_eq(count_why(dwarf, 3, DWARF_OVER_BUDGET), 3);
        ck_assert_uint_le(
            dwarf_budget_peak(dwarf_sections_budget(dwarf_get_sections(dwarf))),
            8 << 10);
    } else {
        ck_assert_uint_eq(err.code, ER_OUT_OF_MEMORY);
    }
    dwarf_free(dwarf);
}
END_TEST

/* Names and lists are in other sections: with any ceiling either all is as
 * without one, or it is said that there was no room. */
START_TEST(a_text_without_room_is_left_out_whole)
{
    static const uint16_t function[] = {DW_AT_name, DW_FORM_strp, DW_AT_ranges,
                                        DW_FORM_sec_offset, 0};
    static const uint64_t pairs[] = {0, 0x100, 0, 0};
    static char texts[40000];
    static uint8_t lists[1 << 17];
    static const uint64_t address = 0x1000;
    unsigned known = 0, refused = 0;
    struct code_chain chain;
    struct dwarf *dwarf;

    memset(texts, 'n', sizeof(texts) - 1);
    memcpy(lists + 100000, pairs, sizeof(pairs));
    section_file_add(&file, ".debug_str", texts, sizeof(texts));
    section_file_add(&file, ".debug_ranges", lists, sizeof(lists));
    root(1);
    abbreviation(2, DW_TAG_subprogram, false, function);
    begin_unit(4, false);
    put_root(1);
    uleb(&info, 2);
    buffer_u32(&info, 0);
    buffer_u32(&info, 100000);
    buffer_u8(&info, 0);
    end_unit();
    dwarf_free(open_file());
    for (size_t room = 1 << 12; room < 1 << 18; room += 1 << 11) {
        struct dwarf_options options = {room, 1, true};

        dwarf = dwarf_new(&file.elf, &options, NULL);
        if (!dwarf)
            continue;
        ck_assert_int_eq(dwarf_resolve(dwarf, &address, 1, NULL), 0);
        if (dwarf_chain_at(dwarf, 0, &chain) == DWARF_KNOWN) {
            ck_assert_uint_eq(chain.count, 1);
            ck_assert_uint_eq(chain.frames[0].name.size, sizeof(texts) - 1);
            known++;
        } else {
            ck_assert_int_eq(dwarf_chain_at(dwarf, 0, &chain),
                             DWARF_OVER_BUDGET);
            refused++;
        }
        dwarf_free(dwarf);
    }
    ck_assert_uint_gt(known, 0);
    ck_assert_uint_gt(refused, 0);
}
END_TEST

/* Or libbfd would be asked, which has no ceiling. */
START_TEST(entries_packed_past_the_ceiling_have_no_room)
{
    static const struct dwarf_options options = {1 << 20, 1, true};
    static const uint64_t packed[4] = {1 /* zlib */, 2 << 20, 1, 0};
    struct error err = {0};

    section_file_add(&file, ".debug_abbrev", "", 1);
    section_file_add(&file, ".debug_info", packed, sizeof(packed));
    file.sections[1].flags = SHF_COMPRESSED;
    ck_assert_ptr_null(dwarf_new(&file.elf, &options, &err));
    ck_assert_uint_eq(err.code, ER_OUT_OF_MEMORY);
}
END_TEST

/* Many addresses, each deep inside of others. */
START_TEST(answers_do_not_take_more_than_the_ceiling)
{
    enum { ROOM = 6 << 20, DEEP = 60, ADDRESSES = 20000, BESIDES = 4 << 20 };
    static const struct dwarf_options options = {ROOM, 1, true};
    static uint64_t addresses[ADDRESSES];
    size_t before = mallinfo2().uordblks, after;
    struct dwarf *dwarf;

    root(1);
    abbreviation(2, DW_TAG_inlined_subroutine, true, function_attributes);
    begin_unit(4, false);
    uleb(&info, 1);
    buffer_u64(&info, 0x1000);
    buffer_u32(&info, ADDRESSES);
    for (int i = 0; i < DEEP; i++)
        put_function(2, "f", 0x1000, ADDRESSES);
    for (int i = 0; i <= DEEP; i++)
        buffer_u8(&info, 0);
    end_unit();
    for (unsigned i = 0; i < ADDRESSES; i++)
        addresses[i] = 0x1000 + i;
    dwarf_free(open_file());
    dwarf = dwarf_new(&file.elf, &options, NULL);
    ck_assert_ptr_nonnull(dwarf);
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(dwarf_resolve(dwarf, addresses, ADDRESSES, NULL), 0);
        ck_assert_uint_eq(count_why(dwarf, ADDRESSES, DWARF_OVER_BUDGET),
                          ADDRESSES);
    }
    after = mallinfo2().uordblks; /* 0 of sanitizers */
    ck_assert_uint_le(after, before + ROOM + BESIDES);
    dwarf_free(dwarf);
}
END_TEST

int
main(void)
{
    Suite *s = suite_create("dwarf");
    TCase *tc = tcase_create("dwarf");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, inlined_frames_come_innermost_first, 0, 6);
    tcase_add_test(tc, every_kind_of_range_list_entry_is_read);
    tcase_add_test(tc, old_range_lists_may_choose_another_base);
    tcase_add_loop_test(tc, what_the_linker_left_out_has_no_addresses, 0, 2);
    tcase_add_test(tc, names_are_found_in_other_units_and_circles_end);
    tcase_add_loop_test(tc, what_makes_no_sense_is_said_and_costs_its_unit_only,
                        0, sizeof(faults) / sizeof(*faults));
    tcase_add_test(tc, of_several_functions_at_an_address_the_smallest_has_it);
    tcase_add_test(tc, entries_of_every_shape_are_passed_over);
    tcase_add_test(tc, a_file_that_ends_anywhere_is_no_harm);
    tcase_set_timeout(tc, 60); /* with sanitizers it takes a while, too */
    tcase_add_test(tc, a_long_list_is_not_read_for_ever);
    tcase_add_test(tc, any_allocation_may_fail);
    tcase_add_test(tc, without_room_it_is_said_so);
    tcase_add_test(tc, entries_packed_past_the_ceiling_have_no_room);
    tcase_add_test(tc, answers_do_not_take_more_than_the_ceiling);
    tcase_add_test(tc, a_text_without_room_is_left_out_whole);
    suite_add_tcase(s, tc);
    return suite_run(s);
}
