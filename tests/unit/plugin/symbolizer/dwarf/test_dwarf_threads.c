/*
 * test_dwarf_threads.c - many units, read by several threads at once: that
 * they share sections and units rightly is for the tsan preset to say.
 */
#include "dwarf.h"

#include <elf.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include <zlib.h>

#include "buffer.h"
#include "dwarf_reader.h"
#include "dwarf_sections.h"
#include "errors.h"
#include "section_file.h"
#include "suite.h"

enum {
    MAX = 16 << 20,
    UNITS = 24,
    FILLERS = 2000,
    FILLER = 40, /* bytes of a block */
    NAME = 16,   /* bytes of .debug_str for each unit */
    CODE = 0x1000,
    STREAMED = 1 << 20, /* bytes of a packed section */
    STRIDE = 1 << 10
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
    /* So much that there is work for both. */
    ck_assert_uint_gt(dwarf_section_size(dwarf_get_sections(dwarf), DWARF_INFO),
                      1 << 20);
    dwarf_free(dwarf);
    section_file_fini(&file);
}
END_TEST

/* Of a packed section that grows while others read what is there. */
static void *
read_stream(void *arg)
{
    struct dwarf_sections *sections = arg;
    const uint8_t *bytes;

    for (uint64_t at = 0; at < STREAMED; at += STRIDE) {
        bytes = dwarf_section_bytes(sections, DWARF_INFO, at, STRIDE, NULL);
        if (!bytes || bytes[0] != (uint8_t)(at / STRIDE))
            return NULL;
    }
    return arg;
}

START_TEST(threads_read_a_section_that_grows)
{
    enum { THREADS = 3 };
    static uint8_t plain[STREAMED];
    struct dwarf_sections *sections;
    pthread_t threads[THREADS];
    struct buffer packed;
    uLongf size = compressBound(STREAMED);
    char *place;
    void *read;

    for (size_t i = 0; i < STREAMED; i++)
        plain[i] = (uint8_t)(i / STRIDE);
    buffer_init(&packed, MAX);
    buffer_u64(&packed, ELFCOMPRESS_ZLIB);
    buffer_u64(&packed, STREAMED);
    buffer_u64(&packed, 1);
    place = buffer_reserve(&packed, size);
    ck_assert_ptr_nonnull(place);
    ck_assert_int_eq(compress((Bytef *)place, &size, plain, STREAMED), Z_OK);
    buffer_claim(&packed, size);
    section_file_init(&file);
    section_file_add(&file, ".debug_info", packed.data, packed.size);
    file.sections[0].flags = SHF_COMPRESSED;
    sections = dwarf_sections_new(&file.elf, MAX, NULL);
    ck_assert_ptr_nonnull(sections);
    dwarf_section_stream(sections, DWARF_INFO);
    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(
            pthread_create(&threads[i], NULL, read_stream, sections), 0);
    for (int i = 0; i < THREADS; i++) {
        ck_assert_int_eq(pthread_join(threads[i], &read), 0);
        ck_assert_ptr_eq(read, sections);
    }
    dwarf_sections_free(sections);
    section_file_fini(&file);
    buffer_fini(&packed);
}
END_TEST

int
main(void)
{
    Suite *s = suite_create("dwarf_threads");
    TCase *tc = tcase_create("dwarf_threads");

    tcase_add_loop_test(tc, threads_say_what_one_says, 1, 4);
    tcase_add_test(tc, threads_read_a_section_that_grows);
    suite_add_tcase(s, tc);
    return suite_run(s);
}
