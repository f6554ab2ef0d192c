/* test_dwarf_sections.c - sections by blocks, packed or not, under a ceiling.
 */
#include "dwarf_sections.h"

#include <elf.h>
#include <string.h>

#include <zlib.h>
#include <zstd.h>

#include "buffer.h"
#include "dwarf_budget.h"
#include "errors.h"
#include "failing_memory.h"
#include "hash.h"
#include "section_file.h"
#include "suite.h"

enum { SIZE = 200000, ROOM = 1 << 20, HEAD = 24, STREAM = HEAD + SIZE + 1000 };

static struct section_file file;
static uint8_t plain[SIZE], packed[STREAM];

static void
setup(void)
{
    section_file_init(&file);
    /* No NUL but at the end, and not easily packed away. */
    for (size_t i = 0; i < SIZE; i++)
        plain[i] = (uint8_t)(1 + (i * 2654435761U >> 13) % 255);
    plain[SIZE - 1] = 0;
}

static void
teardown(void)
{
    section_file_fini(&file);
}

static struct dwarf_sections *
open_with(size_t room)
{
    struct dwarf_sections *s = dwarf_sections_new(&file.elf, room, NULL);

    ck_assert_ptr_nonnull(s);
    return s;
}

/* Packs plain behind a header of type and claim; the size of both. */
static size_t
pack(uint32_t type, uint64_t claim)
{
    uLongf size = STREAM - HEAD;

    memset(packed, 0, HEAD);
    memcpy(packed, &type, sizeof(type));
    memcpy(packed + 8, &claim, sizeof(claim));
    if (type == 2)
        return HEAD + ZSTD_compress(packed + HEAD, size, plain, SIZE, 1);
    ck_assert_int_eq(compress(packed + HEAD, &size, plain, SIZE), Z_OK);
    return HEAD + size;
}

START_TEST(a_section_is_read_where_it_is_touched)
{
    struct dwarf_sections *s;
    struct span text;

    section_file_add(&file, ".debug_str", plain, SIZE);
    s = open_with(ROOM);
    ck_assert_uint_eq(dwarf_section_size(s, DWARF_STR), SIZE);
    ck_assert_uint_eq(dwarf_section_size(s, DWARF_LINE), 0);
    ck_assert_mem_eq(dwarf_section_bytes(s, DWARF_STR, 65530, 20, NULL),
                     plain + 65530, 20);
    ck_assert_uint_le(dwarf_budget_peak(dwarf_sections_budget(s)), 2 << 16);
    ck_assert(dwarf_section_text(s, DWARF_STR, SIZE - 70000, &text));
    ck_assert_uint_eq(text.size, 70000 - 1);
    ck_assert_mem_eq(text.data, plain + SIZE - 70000, text.size);
    dwarf_sections_free(s);
}
END_TEST

START_TEST(few_short_texts_do_not_take_their_pages)
{
    struct dwarf_sections *s;
    struct span text;

    for (size_t i = 0; i < SIZE; i += 100)
        plain[i] = 0;
    section_file_add(&file, ".debug_str", plain, SIZE);
    s = open_with(ROOM);
    for (size_t i = 0; i < 420; i++) {
        size_t at = i * 1900 % SIZE + 30;

        ck_assert(dwarf_section_text(s, DWARF_STR, at, &text));
        ck_assert_uint_eq(text.size, 70);
        ck_assert_mem_eq(text.data, plain + at, 70);
        if (i < SIZE / 512) /* from then on they are many */
            ck_assert_uint_lt(dwarf_budget_peak(dwarf_sections_budget(s)),
                              70000);
    }
    ck_assert_uint_gt(dwarf_budget_peak(dwarf_sections_budget(s)), 100000);
    dwarf_sections_free(s);
}
END_TEST

START_TEST(without_room_for_copies_a_short_text_takes_its_page)
{
    struct dwarf_sections *s;
    struct span text;

    for (size_t i = 0; i < SIZE; i += 100)
        plain[i] = 0;
    section_file_add(&file, ".debug_str", plain, SIZE);
    s = open_with(8192);
    ck_assert(dwarf_section_text(s, DWARF_STR, 30, &text));
    ck_assert_uint_eq(text.size, 70);
    ck_assert_mem_eq(text.data, plain + 30, text.size);
    ck_assert_uint_eq(dwarf_budget_refusals(dwarf_sections_budget(s)), 0);
    dwarf_sections_free(s);
}
END_TEST

START_TEST(what_is_outside_is_refused)
{
    struct dwarf_sections *s;
    struct span text;
    struct error err;
    struct buffer out;

    section_file_add(&file, ".debug_str", "abc", 3);
    s = open_with(ROOM);
    buffer_init(&out, ROOM);
    ck_assert_ptr_null(dwarf_section_bytes(s, DWARF_STR, 2, 2, &err));
    ck_assert_uint_eq(err.code, ER_UNKNOWN);
    ck_assert_ptr_null(dwarf_section_bytes(s, DWARF_STR, UINT64_MAX, 2, &err));
    ck_assert_ptr_null(dwarf_section_bytes(s, DWARF_STR, 2, UINT64_MAX, &err));
    ck_assert_ptr_null(dwarf_section_bytes(s, DWARF_LINE, 0, 0, &err));
    ck_assert_int_eq(dwarf_section_copy(s, DWARF_STR, 2, 2, &out, &err), -1);
    ck_assert(!dwarf_section_text(s, DWARF_STR, 0, &text)); /* no NUL */
    ck_assert(!dwarf_section_text(s, DWARF_STR, 3, &text));
    buffer_fini(&out);
    dwarf_sections_free(s);
}
END_TEST

START_TEST(a_file_that_is_cut_gives_an_error)
{
    struct dwarf_sections *s;
    struct error err;

    section_file_add(&file, ".debug_info", plain, SIZE);
    s = open_with(ROOM);
    ck_assert_int_eq(ftruncate(file.elf.fd, 100), 0);
    ck_assert_ptr_null(dwarf_section_bytes(s, DWARF_INFO, 5000, 10, &err));
    ck_assert_uint_eq(err.code, ER_UNKNOWN);
    ck_assert_ptr_nonnull(strstr(err.text, "cut or replaced"));
    dwarf_sections_free(s);
}
END_TEST

START_TEST(past_the_ceiling_there_is_no_room)
{
    struct dwarf_sections *s;
    struct error err;

    section_file_add(&file, ".debug_line", plain, SIZE);
    s = open_with(100000);
    ck_assert_ptr_nonnull(dwarf_section_bytes(s, DWARF_LINE, 0, 10, &err));
    ck_assert_ptr_null(dwarf_section_bytes(s, DWARF_LINE, 70000, 10, &err));
    ck_assert_uint_eq(err.code, ER_OUT_OF_MEMORY);
    ck_assert(!dwarf_budget_take(dwarf_sections_budget(s), 50000));
    ck_assert(dwarf_budget_take(dwarf_sections_budget(s), 30000));
    ck_assert(!dwarf_budget_take(dwarf_sections_budget(s), SIZE_MAX));
    dwarf_budget_give(dwarf_sections_budget(s), 30000);
    dwarf_sections_free(s);
}
END_TEST

static const struct {
    const char *what;
    uint32_t type;
    int64_t claim; /* more than there is */
    size_t cut;    /* bytes missing */
    size_t room;
    uint16_t code; /* 0: it is inflated */
} packings[] = {
    {"zlib", 1, 0, 0, ROOM, 0},
    {"zstd", 2, 0, 0, 2 * ROOM, 0},
    {"zlib that claims too little", 1, -1, 0, ROOM, ER_UNKNOWN},
    {"zstd that claims too little", 2, -1, 0, 2 * ROOM, ER_UNKNOWN},
    {"zlib that claims too much", 1, 1, 0, ROOM, ER_UNKNOWN},
    {"zstd that claims too much", 2, 1, 0, 2 * ROOM, ER_UNKNOWN},
    {"zlib that is cut", 1, 0, 10, ROOM, ER_UNKNOWN},
    {"zstd that is cut", 2, 0, 10, 2 * ROOM, ER_UNKNOWN},
    {"zlib past the ceiling", 1, 0, 0, SIZE - 1, ER_OUT_OF_MEMORY},
    {"zstd past the ceiling", 2, 0, 0, SIZE + 1000, ER_OUT_OF_MEMORY},
    {"a bomb's claim", 1, INT64_C(1) << 40, 0, ROOM, ER_OUT_OF_MEMORY},
    {"an unknown kind", 3, 0, 0, ROOM, ER_UNKNOWN},
};

START_TEST(packed_sections_are_what_they_claim_or_refused)
{
    struct dwarf_sections *s;
    struct error err = {0};
    const uint8_t *bytes;
    size_t size =
        pack(packings[_i].type, (uint64_t)(SIZE + packings[_i].claim));

    section_file_add(&file, ".debug_info", packed, size - packings[_i].cut);
    file.sections[0].flags = SHF_COMPRESSED;
    s = open_with(packings[_i].room);
    for (int again = 0; again < 2; again++) {
        bytes = dwarf_section_bytes(s, DWARF_INFO, 100, 1000, &err);
        ck_assert_msg((bytes != NULL) == (packings[_i].code == 0), "%s",
                      packings[_i].what);
        ck_assert_uint_eq(err.code, packings[_i].code);
        if (bytes)
            ck_assert_mem_eq(bytes, plain + 100, 1000);
    }
    dwarf_sections_free(s);
}
END_TEST

/* What was inflated stays where it is. */
START_TEST(a_streamed_section_is_there_as_far_as_it_was_asked_for)
{
    struct dwarf_sections *s;
    struct error err = {0};
    const uint8_t *first, *second;
    size_t size = pack(1, SIZE);

    section_file_add(&file, ".debug_info", packed, size - (_i ? 10 : 0));
    file.sections[0].flags = SHF_COMPRESSED;
    s = open_with(ROOM);
    ck_assert(dwarf_section_packed(s, DWARF_INFO));
    dwarf_section_stream(s, DWARF_INFO);
    first = dwarf_section_bytes(s, DWARF_INFO, 100, 1000, &err);
    ck_assert_mem_eq(first, plain + 100, 1000);
    second = dwarf_section_bytes(s, DWARF_INFO, SIZE / 2, 10, &err);
    ck_assert_mem_eq(second, plain + SIZE / 2, 10);
    ck_assert(!dwarf_section_packed(s, DWARF_INFO));
    for (int again = 0; again < 2; again++) {
        second = dwarf_section_bytes(s, DWARF_INFO, 0, SIZE, &err);
        ck_assert((second != NULL) == (_i == 0));
        ck_assert_uint_eq(err.code, _i ? ER_UNKNOWN : 0);
    }
    ck_assert_mem_eq(first, plain + 100, 1000);
    if (_i == 0)
        ck_assert_mem_eq(second, plain, SIZE);
    dwarf_sections_free(s);
}
END_TEST

START_TEST(zdebug_and_streams_in_a_row_are_inflated)
{
    uint8_t both[2 * STREAM] = "ZLIB\0\0\0\0\0";
    struct dwarf_sections *s;
    size_t size = pack(1, SIZE) - HEAD;

    both[9] = 2 * SIZE >> 16 & 0xff;
    both[10] = 2 * SIZE >> 8 & 0xff;
    both[11] = 2 * SIZE & 0xff;
    memcpy(both + 12, packed + HEAD, size);
    memcpy(both + 12 + size, packed + HEAD, size);
    section_file_add(&file, ".zdebug_str", both, 12 + 2 * size);
    s = open_with(ROOM);
    if (_i)
        dwarf_section_stream(s, DWARF_STR);
    ck_assert_uint_eq(dwarf_section_size(s, DWARF_STR), 2 * SIZE);
    ck_assert_mem_eq(dwarf_section_bytes(s, DWARF_STR, SIZE, SIZE, NULL), plain,
                     SIZE);
    dwarf_sections_free(s);
}
END_TEST

/* Whoever compares the refusals learns that the reading is incomplete. */
START_TEST(a_list_without_memory_is_a_refusal)
{
    struct dwarf_budget budget = {.max = ROOM};
    struct hash_index index = {0};
    size_t capacity = 0;
    int *list = NULL;

    allocations = 0;
    failing = 1;
    ck_assert(!dwarf_budget_grow(&budget, &list, &capacity, 1, sizeof(*list)));
    allocations = 0;
    ck_assert(!dwarf_budget_grow_index(&budget, &index, 1));
    failing = 0;
    ck_assert_uint_eq(dwarf_budget_refusals(&budget), 2);
    ck_assert_uint_eq(atomic_load(&budget.used), 0);
}
END_TEST

int
main(void)
{
    Suite *s = suite_create("dwarf sections");
    TCase *tc = tcase_create("sections");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, a_section_is_read_where_it_is_touched);
    tcase_add_test(tc, few_short_texts_do_not_take_their_pages);
    tcase_add_test(tc, without_room_for_copies_a_short_text_takes_its_page);
    tcase_add_test(tc, what_is_outside_is_refused);
    tcase_add_test(tc, a_file_that_is_cut_gives_an_error);
    tcase_add_test(tc, past_the_ceiling_there_is_no_room);
    tcase_add_loop_test(tc, packed_sections_are_what_they_claim_or_refused, 0,
                        sizeof(packings) / sizeof(*packings));
    tcase_add_loop_test(
        tc, a_streamed_section_is_there_as_far_as_it_was_asked_for, 0, 2);
    tcase_add_loop_test(tc, zdebug_and_streams_in_a_row_are_inflated, 0, 2);
    tcase_add_test(tc, a_list_without_memory_is_a_refusal);
    suite_add_tcase(s, tc);
    return suite_run(s);
}
