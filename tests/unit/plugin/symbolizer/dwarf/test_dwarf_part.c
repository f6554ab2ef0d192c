/*
 * test_dwarf_part.c - of packed .debug_info only what addresses need is
 * unpacked, and the answers are those of the whole.
 */
#include "dwarf.h"

#include <elf.h>
#include <string.h>

#include <zlib.h>

#include "buffer.h"
#include "dwarf_reader.h"
#include "failing_memory.h"
#include "section_file.h"
#include "suite.h"

enum {
    MAX = 1 << 22,
    UNITS = 16,
    FILLING = 50000,
    START = 0x1000,
    SIZE = 0x100
};

static struct section_file file;
static struct buffer info, aranges, packed;

/* Compile unit, function, function that refers to its name, filling. */
static const uint8_t abbreviations[] = {1,
                                        DW_TAG_compile_unit,
                                        1,
                                        DW_AT_low_pc,
                                        DW_FORM_addr,
                                        DW_AT_high_pc,
                                        DW_FORM_data4,
                                        0,
                                        0,
                                        2,
                                        DW_TAG_subprogram,
                                        0,
                                        DW_AT_name,
                                        DW_FORM_string,
                                        DW_AT_low_pc,
                                        DW_FORM_addr,
                                        DW_AT_high_pc,
                                        DW_FORM_data4,
                                        0,
                                        0,
                                        3,
                                        DW_TAG_subprogram,
                                        0,
                                        DW_AT_abstract_origin,
                                        DW_FORM_ref_addr,
                                        DW_AT_low_pc,
                                        DW_FORM_addr,
                                        DW_AT_high_pc,
                                        DW_FORM_data4,
                                        0,
                                        0,
                                        4,
                                        DW_TAG_subprogram,
                                        0,
                                        DW_AT_name,
                                        DW_FORM_block4,
                                        0,
                                        0,
                                        0};

static uint64_t
start_of(unsigned unit)
{
    return START + (uint64_t)unit * SIZE;
}

/* What packs badly. */
static void
put_filling(void)
{
    buffer_u8(&info, 4);
    buffer_u32(&info, FILLING);
    for (unsigned i = 0; i < FILLING; i++)
        buffer_u8(&info, (uint8_t)((info.size + i) * 2654435761U >> 13));
}

/* Its function "a", "b", ...; refers != 0: named by the entry there. */
static size_t
put_unit(unsigned unit, uint32_t refers)
{
    size_t start = info.size, entry;
    uint32_t length;

    buffer_u32(&info, 0);
    buffer_u16(&info, 4);
    buffer_u32(&info, 0);
    buffer_u8(&info, 8);
    buffer_u8(&info, 1);
    buffer_u64(&info, start_of(unit));
    buffer_u32(&info, SIZE);
    entry = info.size;
    buffer_u8(&info, refers ? 3 : 2);
    if (refers) {
        buffer_u32(&info, refers);
    } else {
        buffer_u8(&info, (uint8_t)('a' + unit));
        buffer_u8(&info, 0);
    }
    buffer_u64(&info, start_of(unit));
    buffer_u32(&info, SIZE);
    put_filling();
    buffer_u8(&info, 0);
    length = (uint32_t)(info.size - start - 4);
    memcpy(info.data + start, &length, sizeof(length));
    return entry;
}

static void
put_aranges(unsigned unit, uint32_t offset)
{
    buffer_u32(&aranges, 4 + 8 + 32);
    buffer_u16(&aranges, 2);
    buffer_u32(&aranges, offset);
    buffer_u16(&aranges, 8);
    buffer_u32(&aranges, 0);
    buffer_u64(&aranges, start_of(unit));
    buffer_u64(&aranges, SIZE);
    buffer_u64(&aranges, 0);
    buffer_u64(&aranges, 0);
}

/* The second unit's function is named by the last one's entry, the third is
 * not in .debug_aranges. */
static void
setup(void)
{
    uint32_t offsets[UNITS];
    size_t last = 0, second = 0;
    uint32_t to;

    section_file_init(&file);
    buffer_init(&info, MAX);
    buffer_init(&aranges, MAX);
    buffer_init(&packed, MAX);
    for (unsigned i = 0; i < UNITS; i++) {
        offsets[i] = (uint32_t)info.size;
        last = put_unit(i, i == 1);
        second = i == 1 ? last : second;
    }
    to = (uint32_t)last;
    memcpy(info.data + second + 1, &to, sizeof(to));
    for (unsigned i = 0; i < UNITS; i++)
        if (i != 2)
            put_aranges(i, offsets[i]);
    ck_assert(!info.failed && !aranges.failed);
}

static void
teardown(void)
{
    buffer_fini(&info);
    buffer_fini(&aranges);
    buffer_fini(&packed);
    section_file_fini(&file);
}

/* cut: without the end of what was packed. */
static struct dwarf *
open_packed(bool cut)
{
    static const struct dwarf_options options = {.threads = 1,
                                                 .addresses_only = true};
    uLongf size = compressBound(info.size);
    char *place;
    struct dwarf *dwarf;

    buffer_u32(&packed, ELFCOMPRESS_ZLIB);
    buffer_u32(&packed, 0);
    buffer_u64(&packed, info.size);
    buffer_u64(&packed, 1);
    place = buffer_reserve(&packed, size);
    ck_assert_ptr_nonnull(place);
    ck_assert_int_eq(
        compress((Bytef *)place, &size, (const Bytef *)info.data, info.size),
        Z_OK);
    buffer_claim(&packed, size);
    section_file_add(&file, ".debug_abbrev", abbreviations,
                     sizeof(abbreviations));
    section_file_add(&file, ".debug_aranges", aranges.data, aranges.size);
    section_file_add(&file, ".debug_info", packed.data,
                     packed.size - (cut ? packed.size / 4 : 0));
    file.sections[2].flags = SHF_COMPRESSED;
    dwarf = dwarf_new(&file.elf, &options, NULL);
    ck_assert_ptr_nonnull(dwarf);
    return dwarf;
}

/* The name at the start of a unit; "?": nothing is said of it. */
static void
check_name(struct dwarf *dwarf, unsigned unit, const char *want)
{
    uint64_t address = start_of(unit);
    struct code_chain chain;
    char name[2] = "?";

    ck_assert_int_eq(dwarf_resolve(dwarf, &address, 1, NULL), 0);
    if (dwarf_chain_at(dwarf, 0, &chain) == DWARF_KNOWN) {
        ck_assert_uint_eq(chain.count, 1);
        ck_assert_uint_eq(chain.frames[0].name.size, 1);
        name[0] = chain.frames[0].name.data[0];
    }
    ck_assert_str_eq(name, want);
}

START_TEST(all_units_are_answered_whatever_is_asked_first)
{
    struct dwarf *dwarf = open_packed(false);
    char want[2] = "";

    for (unsigned i = 0; i < UNITS; i++) {
        unsigned unit = (i + (unsigned)_i) % UNITS;

        want[0] = (char)('a' + (unit == 1 ? UNITS - 1 : unit));
        check_name(dwarf, unit, want);
    }
    dwarf_free(dwarf);
}
END_TEST

/* So it was not asked for. */
START_TEST(what_lies_behind_may_be_missing)
{
    struct dwarf *dwarf = open_packed(true);
    struct code_chain chain;

    check_name(dwarf, 3, "d");
    check_name(dwarf, 0, "a");
    check_name(dwarf, UNITS - 1, "?");
    ck_assert_int_eq(dwarf_chain_at(dwarf, 0, &chain), DWARF_DAMAGED);
    dwarf_free(dwarf);
}
END_TEST

START_TEST(what_refers_to_what_is_missing_is_damaged)
{
    struct dwarf *dwarf = open_packed(true);

    check_name(dwarf, 1, "?");
    dwarf_free(dwarf);
}
END_TEST

/* Or the third unit would be left out. */
START_TEST(an_address_outside_of_aranges_needs_all)
{
    struct dwarf *dwarf = open_packed(true);

    check_name(dwarf, 2, "?");
    dwarf_free(dwarf);
}
END_TEST

START_TEST(any_allocation_may_fail)
{
    static const struct dwarf_options options = {.threads = 1,
                                                 .addresses_only = true};
    struct dwarf *dwarf;
    uint64_t address = start_of(3);
    bool done = false;
    int resolved = -1;

    dwarf_free(open_packed(false));
    for (unsigned nth = 1; !done; nth++) {
        allocations = 0;
        failing = nth;
        dwarf = dwarf_new(&file.elf, &options, NULL);
        if (dwarf)
            resolved = dwarf_resolve(dwarf, &address, 1, NULL);
        failing = 0;
        done = allocations < nth;
        if (done) {
            ck_assert_int_eq(resolved, 0);
            check_name(dwarf, 3, "d");
        }
        dwarf_free(dwarf);
        ck_assert_uint_lt(nth, 1000);
    }
}
END_TEST

int
main(void)
{
    Suite *s = suite_create("dwarf part");
    TCase *tc = tcase_create("part");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, all_units_are_answered_whatever_is_asked_first, 0,
                        UNITS);
    tcase_add_test(tc, what_lies_behind_may_be_missing);
    tcase_add_test(tc, what_refers_to_what_is_missing_is_damaged);
    tcase_add_test(tc, an_address_outside_of_aranges_needs_all);
    tcase_add_test(tc, any_allocation_may_fail);
    suite_add_tcase(s, tc);
    return suite_run(s);
}
