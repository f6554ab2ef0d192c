/*
 * test_dwarf_threads.c - many units, read by several threads at once: that
 * they share sections and units rightly is for the tsan preset to say.
 */
#include "dwarf.h"

#include <stdio.h>
#include <string.h>

#include "buffer.h"
#include "dwarf_codes.h"
#include "errors.h"
#include "section_file.h"
#include "suite.h"

enum {
    MAX = 16 << 20,
    UNITS = 24,
    FILLERS = 2000,
    FILLER = 40, /* bytes of a block */
    NAME = 16,   /* bytes of .debug_str for each unit */
    CODE = 0x1000
};

static struct section_file file;

static void
put_abbreviation(struct buffer *b, unsigned code, unsigned tag, bool children,
                 const uint8_t *attributes)
{
    buffer_u8(b, (uint8_t)code);
    buffer_u8(b, (uint8_t)tag);
    buffer_u8(b, children);
    for (; attributes[0]; attributes += 2)
        buffer_add(b, attributes, 2);
    buffer_u16(b, 0);
}

static void
add_abbreviations(void)
{
    static const uint8_t place[] = {DW_AT_low_pc, DW_FORM_addr, DW_AT_high_pc,
                                    DW_FORM_data4, 0};
    static const uint8_t function[] = {DW_AT_name,
                                       DW_FORM_strp,
                                       DW_AT_low_pc,
                                       DW_FORM_addr,
                                       DW_AT_high_pc,
                                       DW_FORM_data4,
                                       0};
    static const uint8_t filler[] = {0x02, DW_FORM_exprloc, 0};
    struct buffer b;

    buffer_init(&b, MAX);
    put_abbreviation(&b, 1, DW_TAG_compile_unit, true, place);
    put_abbreviation(&b, 2, DW_TAG_subprogram, false, function);
    put_abbreviation(&b, 3, 0x34, false, filler);
    buffer_u8(&b, 0);
    section_file_add(&file, ".debug_abbrev", b.data, b.size);
    buffer_fini(&b);
}

static void
put_place(struct buffer *b, uint64_t low, uint32_t size)
{
    buffer_u64(b, low);
    buffer_u32(b, size);
}

static void
put_unit(struct buffer *b, uint32_t i)
{
    static const char nothing[FILLER];
    size_t start = b->size;
    uint32_t length;

    buffer_u32(b, 0); /* set when it ends */
    buffer_u16(b, 4);
    buffer_u32(b, 0);
    buffer_u8(b, 8);
    buffer_u8(b, 1);
    put_place(b, CODE * (i + 1), CODE);
    for (int n = 0; n < FILLERS; n++) {
        buffer_u8(b, 3);
        buffer_u8(b, FILLER);
        buffer_add(b, nothing, FILLER);
    }
    buffer_u8(b, 2);
    buffer_u32(b, NAME * i);
    put_place(b, CODE * (i + 1), CODE / 2);
    buffer_u8(b, 0);
    length = (uint32_t)(b->size - start - 4);
    memcpy(b->data + start, &length, sizeof(length));
}

static void
add_units(void)
{
    char name[NAME] = "";
    struct buffer info, names;

    buffer_init(&info, MAX);
    buffer_init(&names, MAX);
    for (uint32_t i = 0; i < UNITS; i++) {
        put_unit(&info, i);
        snprintf(name, sizeof(name), "function%u", i);
        buffer_add(&names, name, sizeof(name));
    }
    section_file_add(&file, ".debug_info", info.data, info.size);
    section_file_add(&file, ".debug_str", names.data, names.size);
    buffer_fini(&info);
    buffer_fini(&names);
}

START_TEST(threads_say_what_one_says)
{
    const struct dwarf_options options = {0, (unsigned)_i, false};
    uint64_t addresses[UNITS * 2];
    struct dwarf *dwarf;
    struct error err;

    section_file_init(&file);
    add_abbreviations();
    add_units();
    for (uint32_t i = 0; i < UNITS * 2; i++)
        addresses[i] = CODE + i * (CODE / 2);
    dwarf = dwarf_new(&file.elf, &options, &err);
    ck_assert_msg(dwarf != NULL, "%s", err.text);
    ck_assert_int_eq(dwarf_resolve(dwarf, addresses, UNITS * 2, &err), 0);
    for (uint32_t i = 0; i < UNITS * 2; i++) {
        struct code_chain chain;
        char name[NAME];

        snprintf(name, sizeof(name), "function%u", i / 2);
        ck_assert_int_eq(dwarf_chain_at(dwarf, i, &chain), DWARF_KNOWN);
        ck_assert_uint_eq(chain.count, i % 2 == 0);
        if (chain.count)
            ck_assert(span_is(chain.frames[0].name, name));
    }
    ck_assert_uint_eq(dwarf_figures_of(dwarf).touched, UNITS);
    /* So much that there is work for both. */
    ck_assert_uint_gt(dwarf_figures_of(dwarf).info_bytes, 1 << 20);
    dwarf_free(dwarf);
    section_file_fini(&file);
}
END_TEST

int
main(void)
{
    Suite *s = suite_create("dwarf_threads");
    TCase *tc = tcase_create("dwarf_threads");

    tcase_add_loop_test(tc, threads_say_what_one_says, 1, 4);
    suite_add_tcase(s, tc);
    return suite_run(s);
}
