/* test_line_table.c - line programs put together by hand. */
#include <string.h>

#include "buffer.h"
#include "dwarf_budget.h"
#include "dwarf_sections.h"
#include "errors.h"
#include "failing_memory.h"
#include "line_table.h"
#include "section_file.h"
#include "suite.h"

enum { MEMORY = 1 << 20, BYTES_MAX = 200, ROWS_MAX = 12, TEXTS = 1 << 17 };

/* ---- a little assembler ---- */

#define ADDRESS(a)                                                             \
    0, 9, 2, (a)&0xff, (a) >> 8 & 0xff, (a) >> 16 & 0xff, 0, 0, 0, 0, 0
#define ADDRESS_ONES(last)                                                     \
    0, 9, 2, (last), 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff
#define END                 0, 1, 1
#define COPY                1
#define ADVANCE_PC(n)       2, (n)
#define ADVANCE_LINE(n)     3, (n)&0x7f
#define FILE_IS(n)          4, (n)
#define CONST_ADD_PC        8
#define FIXED_ADVANCE_PC(n) 9, (n)&0xff, (n) >> 8
/* A special opcode, where the first one is 13: a row. */
#define ROW(address, line) (13 + 5 + (line) + 14 * (address))

struct options {
    unsigned version; /* 0: 4 */
    bool dwarf64;
    unsigned min_length, max_ops; /* 0: 1 */
    unsigned opcode_base;         /* 0: 13 */
    bool no_range;
};

static void
offset(struct buffer *b, const struct options *o, uint64_t value)
{
    if (o->dwarf64)
        buffer_u64(b, value);
    else
        buffer_u32(b, (uint32_t)value);
}

static const char v4_tables[] = "inc\0"
                                "/sys\0"
                                "\0"
                                "a.c\0\0\0\0"
                                "b.h\0\1\0\0"
                                "c.h\0\2\0\0"
                                "/d.h\0\1\0\0"
                                "e.h\0\7\0\0"; /* and a NUL */

/* One directory and the files a.c and b.h, names in the table itself. */
static const char v5_tables[] = "\1\1\x08\2/dir\0inc\0"
                                "\2\1\x08\2\x0b\2a.c\0\0b.h\0\1";

static void
unit_start(struct buffer *b, const struct options *o, const char *tables,
           size_t tables_size)
{
    static const char lengths[] = "\0\1\1\1\1\0\0\0\1\0\0\1\2\1";
    unsigned opcode_base = o->opcode_base ? o->opcode_base : 13;
    unsigned version = o->version ? o->version : 4;
    size_t fixed = 5 + (version >= 4) + opcode_base - 1;

    buffer_init(b, 1 << 16);
    if (o->dwarf64)
        buffer_u32(b, UINT32_MAX);
    offset(b, o, 0); /* patched by unit_end */
    buffer_u16(b, (uint16_t)version);
    if (version == 5) {
        buffer_u8(b, 8);
        buffer_u8(b, 0);
    }
    offset(b, o, fixed + tables_size);
    buffer_u8(b, (uint8_t)(o->min_length ? o->min_length : 1));
    if (version >= 4)
        buffer_u8(b, (uint8_t)(o->max_ops ? o->max_ops : 1));
    buffer_u8(b, 1);
    buffer_u8(b, (uint8_t)-5);
    buffer_u8(b, o->no_range ? 0 : 14);
    buffer_u8(b, (uint8_t)opcode_base);
    buffer_add(b, lengths, opcode_base - 1);
    buffer_add(b, tables, tables_size);
}

static void
unit_end(struct buffer *b, const struct options *o)
{
    size_t head = o->dwarf64 ? 12 : 4;
    uint64_t size = b->size - head;

    ck_assert(!b->failed);
    for (unsigned i = 0; i < (o->dwarf64 ? 8 : 4); i++)
        b->data[head - (o->dwarf64 ? 8 : 4) + i] = (char)(size >> i * 8);
}

static void
assemble(struct buffer *b, const struct options *o, const uint8_t *program,
         size_t size)
{
    if (o->version == 5)
        unit_start(b, o, v5_tables, sizeof(v5_tables) - 1);
    else
        unit_start(b, o, v4_tables, sizeof(v4_tables));
    buffer_add(b, program, size);
    unit_end(b, o);
}

/* ---- reading one ---- */

static struct section_file file;
static struct dwarf_sections *sections;

static const struct line_origin origin = {.directory = {"/dir", 4},
                                          .str_offsets_base = 8};

static void
open_sections(const void *line, size_t size, size_t memory)
{
    static const char texts[] = "?\0inc/deep\0from.c\0other.h";
    static const char offsets[] = "\0\0\0\0\0\0\0\0\x0b\0\0\0\x12\0\0\0";
    struct error err;

    section_file_init(&file);
    section_file_add(&file, ".debug_line", line, size);
    section_file_add(&file, ".debug_line_str", texts, sizeof(texts));
    section_file_add(&file, ".debug_str", texts, sizeof(texts));
    section_file_add(&file, ".debug_str_offsets", offsets, sizeof(offsets));
    sections = dwarf_sections_new(&file.elf, memory, &err);
    ck_assert_ptr_nonnull(sections);
}

static bool texts_read; /* the sections keep some room for those */

/* All other room has to be there again. */
static void
close_sections(size_t memory)
{
    ck_assert(dwarf_budget_take(dwarf_sections_budget(sections),
                                memory - (texts_read ? TEXTS : 0)));
    texts_read = false;
    dwarf_sections_free(sections);
    section_file_fini(&file);
}

static void
check_order(const struct line_table *table)
{
    size_t count;
    const struct line_row *rows = line_table_rows(table, &count);
    bool ordered = true;

    /* One assertion: each costs a message to Check's runner. */
    for (size_t i = 1; i < count; i++)
        ordered = ordered && rows[i].address > rows[i - 1].address &&
                  (rows[i].file != rows[i - 1].file ||
                   rows[i].line != rows[i - 1].line);
    ck_assert(ordered);
    ck_assert(count == 0 || rows[count - 1].file == LINE_END);
}

/* ---- rows ---- */

static const struct row_case {
    const char *what;
    struct options options;
    uint8_t program[BYTES_MAX];
    size_t size;
    struct line_row rows[ROWS_MAX]; /* address 0: no more */
} row_cases[] = {
#define PROGRAM(...) {__VA_ARGS__}, sizeof((uint8_t[]){__VA_ARGS__})
    {"nothing", {0}, PROGRAM(END), {{0}}},
    {"special opcodes",
     {0},
     PROGRAM(ADDRESS(0x1000), ROW(0, 1), ROW(4, 2), ROW(1, -5), ADVANCE_PC(3),
             END),
     {{0x1000, 1, 2}, {0x1004, 1, 4}, {0x1005, 1, -1}, {0x1008, LINE_END, 0}}},
    {"the last row of an address",
     {0},
     PROGRAM(ADDRESS(0x1000), ROW(0, 1), ROW(0, 3), ROW(4, 1), ROW(0, 1),
             ADVANCE_PC(4), END),
     {{0x1000, 1, 5}, {0x1004, 1, 7}, {0x1008, LINE_END, 0}}},
    {"equal neighbours",
     {0},
     PROGRAM(ADDRESS(0x1000), COPY, ROW(4, 0), ROW(4, 0), ROW(4, 2),
             ADVANCE_PC(4), END),
     {{0x1000, 1, 1}, {0x100c, 1, 3}, {0x1010, LINE_END, 0}}},
    {"a row replaced by what was there before",
     {0},
     PROGRAM(ADDRESS(0x1000), COPY, ROW(4, 2), ROW(0, -2), ROW(4, 1),
             ADVANCE_PC(4), END),
     {{0x1000, 1, 1}, {0x1008, 1, 2}, {0x100c, LINE_END, 0}}},
    {"a row replaced after an equal one",
     {0},
     PROGRAM(ADDRESS(0x1000), COPY, ROW(4, 0), ROW(0, 2), ADVANCE_PC(4), END),
     {{0x1000, 1, 1}, {0x1004, 1, 3}, {0x1008, LINE_END, 0}}},
    {"opcodes that advance, in words of four",
     {.min_length = 4},
     PROGRAM(ADDRESS(0x1000), COPY, CONST_ADD_PC, ROW(0, 1), ROW(1, 1),
             FIXED_ADVANCE_PC(0x101), ROW(0, 1), ADVANCE_PC(0x7f), END),
     {{0x1000, 1, 1},
      {0x1000 + 17 * 4, 1, 2},
      {0x1000 + 18 * 4, 1, 3},
      {0x1149, 1, 4},
      {0x1149 + 0x7f * 4, LINE_END, 0}}},
    {"several operations in a word",
     {.max_ops = 3, .min_length = 16},
     PROGRAM(ADDRESS(0x1000), COPY, ROW(1, 1), ROW(1, 1), ROW(1, 1),
             ADVANCE_PC(4), ROW(0, 1), CONST_ADD_PC, END),
     {{0x1000, 1, 3},
      {0x1010, 1, 4},
      {0x1020, 1, 5},
      {0x1020 + 6 * 16, LINE_END, 0}}},
    {"files and lines",
     {0},
     PROGRAM(ADDRESS(0x1000), FILE_IS(2), ADVANCE_LINE(60), COPY, FILE_IS(3),
             ADVANCE_LINE(-30), ROW(1, 0), ADVANCE_PC(1), END),
     {{0x1000, 2, 61}, {0x1001, 3, 31}, {0x1002, LINE_END, 0}}},
    {"a file number past all",
     {0},
     PROGRAM(ADDRESS(0x1000), 4, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, COPY,
             ADVANCE_PC(1), END),
     {{0x1000, UINT32_MAX - 1, 1}, {0x1001, LINE_END, 0}}},
    {"opcodes without a row",
     {0},
     PROGRAM(ADDRESS(0x1000), 5, 3, 6, 7, 10, 11, 12, 0x81, 1, COPY,
             ADVANCE_PC(1), END),
     {{0x1000, 1, 1}, {0x1001, LINE_END, 0}}},
    {"unknown opcodes",
     {.opcode_base = 15},
     PROGRAM(ADDRESS(0x1000), 13, 0x81, 1, 1, 14, 1, 0, 5, 0x80, 1, 2, 3, 4, 0,
             0, 0, 2, 4, 9, COPY, ADVANCE_PC(1), END),
     {{0x1000, 1, 1}, {0x1001, LINE_END, 0}}},
    {"fewer standard opcodes",
     {.opcode_base = 10},
     PROGRAM(ADDRESS(0x1000), ROW(0, 1) - 3, ADVANCE_PC(1), END),
     {{0x1000, 1, 2}, {0x1001, LINE_END, 0}}},
    {"an address of four bytes",
     {0},
     PROGRAM(0, 5, 2, 0, 0x10, 0, 0x80, COPY, ADVANCE_PC(1), END),
     {{0x80001000, 1, 1}, {0x80001001, LINE_END, 0}}},

    {"sequences that touch",
     {0},
     PROGRAM(ADDRESS(0x1000), COPY, ADVANCE_PC(8), END, ADDRESS(0x1008),
             ROW(0, 1), ADVANCE_PC(8), END, ADDRESS(0x1010), ROW(0, 1),
             ROW(4, 2), ADVANCE_PC(4), END),
     {{0x1000, 1, 1}, {0x1008, 1, 2}, {0x1014, 1, 4}, {0x1018, LINE_END, 0}}},
    {"sequences out of order",
     {0},
     PROGRAM(ADDRESS(0x2000), COPY, ADVANCE_PC(8), END, ADDRESS(0x1000),
             ROW(0, 1), ADVANCE_PC(8), END),
     {{0x1000, 1, 2},
      {0x1008, LINE_END, 0},
      {0x2000, 1, 1},
      {0x2008, LINE_END, 0}}},
    {"a sequence inside another",
     {0},
     PROGRAM(ADDRESS(0x1004), COPY, ADVANCE_PC(8), END, ADDRESS(0x1000),
             ROW(0, 1), ADVANCE_PC(16), END),
     {{0x1000, 1, 2}, {0x1010, LINE_END, 0}}},
    {"sequences that overlap",
     {0},
     PROGRAM(ADDRESS(0x1000), COPY, ADVANCE_PC(8), END, ADDRESS(0x1004),
             ROW(0, 1), ROW(2, 1), ROW(6, 1), ADVANCE_PC(16), END),
     {{0x1000, 1, 1}, {0x1008, 1, 3}, {0x100c, 1, 4}, {0x101c, LINE_END, 0}}},
    {"the same sequence twice: the later one",
     {0},
     PROGRAM(ADDRESS(0x1000), COPY, ADVANCE_PC(8), END, ADDRESS(0x1000),
             ROW(0, 1), ADVANCE_PC(8), END),
     {{0x1000, 1, 2}, {0x1008, LINE_END, 0}}},

    {"code that the linker left out",
     {0},
     PROGRAM(ADDRESS(0), COPY, ROW(4, 1), ADVANCE_PC(4), END,
             ADDRESS_ONES(0xff), COPY, ADVANCE_PC(4), END, ADDRESS_ONES(0xfe),
             COPY, ADVANCE_PC(4), END, ADDRESS(0x1000), ROW(0, 4),
             ADVANCE_PC(8), END, 0, 5, 2, 0xff, 0xff, 0xff, 0xff, COPY,
             ADVANCE_PC(8), END),
     {{0x1000, 1, 5}, {0x1008, LINE_END, 0}}},
    {"addresses that go backwards",
     {0},
     PROGRAM(ADDRESS(0x1010), COPY, ADDRESS(0x1000), ROW(0, 1), ROW(4, 1),
             ADDRESS(0x1020), ROW(0, 1), ADVANCE_PC(8), END),
     {{0x1000, 1, 2},
      {0x1004, 1, 3},
      {0x1010, 1, 1},
      {0x1020, 1, 4},
      {0x1028, LINE_END, 0}}},
    {"backwards to addresses that had a row: the first one stays",
     {0},
     PROGRAM(ADDRESS(0x1000), COPY, ROW(4, 1), ROW(4, 1), ADDRESS(0x1004),
             ROW(0, 1), ADDRESS(0x1008), ROW(0, 1), ADVANCE_PC(8), END),
     {{0x1000, 1, 1}, {0x1004, 1, 2}, {0x1008, 1, 5}, {0x1010, LINE_END, 0}}},
    {"rows behind the end",
     {0},
     PROGRAM(ADDRESS(0x1000), COPY, ROW(8, 1), ADDRESS(0x1004), END),
     {{0x1000, 1, 1}, {0x1004, LINE_END, 0}}},
    {"no end: the last row is one",
     {0},
     PROGRAM(ADDRESS(0x1000), COPY, ROW(8, 1), ROW(8, 1)),
     {{0x1000, 1, 1}, {0x1008, 1, 2}, {0x1010, LINE_END, 0}}},
    {"an error keeps what came before",
     {.no_range = true},
     PROGRAM(ADDRESS(0x1000), COPY, ADVANCE_PC(8), END, ADDRESS(0x2000), COPY,
             ADVANCE_PC(8), COPY, ROW(0, 1), ADVANCE_PC(8), END),
     {{0x1000, 1, 1},
      {0x1008, LINE_END, 0},
      {0x2000, 1, 1},
      {0x2008, LINE_END, 0}}},
};

enum { ROW_CASES = sizeof(row_cases) / sizeof(*row_cases) };

static const unsigned versions[] = {2, 3, 4, 5};

static void
check_rows(const struct row_case *c, const struct options *options)
{
    struct buffer b;
    struct error err;
    struct line_table *table;
    const struct line_row *rows;
    size_t count, expected = 0;

    assemble(&b, options, c->program, c->size);
    open_sections(b.data, b.size, MEMORY);
    table = line_table_new(sections, &origin, &err);
    ck_assert_msg(table, "%s: %s", c->what, err.text);
    rows = line_table_rows(table, &count);
    check_order(table);
    while (expected < ROWS_MAX && c->rows[expected].address != 0)
        expected++;
    ck_assert_msg(count == expected, "%s: %zu rows", c->what, count);
    for (size_t i = 0; i < count; i++)
        ck_assert_msg(rows[i].address == c->rows[i].address &&
                          rows[i].file == c->rows[i].file &&
                          rows[i].line == c->rows[i].line,
                      "%s: row %zu is 0x%llx %u:%u", c->what, i,
                      (unsigned long long)rows[i].address, rows[i].file,
                      rows[i].line);
    line_table_free(table);
    close_sections(MEMORY);
    buffer_fini(&b);
}

START_TEST(programs_give_their_rows_in_every_version)
{
    const struct row_case *c = &row_cases[_i];

    for (size_t i = 0; i < sizeof(versions) / sizeof(*versions); i++) {
        for (int dwarf64 = 0; dwarf64 < 2; dwarf64++) {
            struct options options = c->options;

            options.version = versions[i];
            options.dwarf64 = dwarf64;
            if (options.max_ops && options.version < 4)
                continue;
            check_rows(c, &options);
        }
    }
}
END_TEST

START_TEST(a_program_that_is_cut_anywhere_gives_less)
{
    const struct row_case *c = &row_cases[_i];
    struct options options = c->options;
    struct buffer b;
    struct error err;

    options.version = _i % 2 ? 4 : 5;
    assemble(&b, &options, c->program, c->size);
    for (size_t size = 1; size < b.size; size++) {
        struct line_table *table;

        open_sections(b.data, size, MEMORY);
        err.text[0] = '\0';
        table = line_table_new(sections, &origin, &err);
        if (table)
            check_order(table);
        else
            ck_assert_str_ne(err.text, "");
        line_table_free(table);
        close_sections(MEMORY);
    }
    buffer_fini(&b);
}
END_TEST

START_TEST(an_address_finds_the_row_that_holds_it)
{
    static const uint8_t program[] = {
        ADDRESS(0x1000), COPY,          ROW(4, 1),
        ADVANCE_PC(4),   END,           ADDRESS(0x2000),
        ROW(0, 8),       ADVANCE_PC(8), END};
    static const struct {
        uint64_t address;
        uint32_t line; /* 0: none */
    } cases[] = {{0, 0},      {0xfff, 0},  {0x1000, 1}, {0x1003, 1},
                 {0x1004, 2}, {0x1007, 2}, {0x1008, 0}, {0x1fff, 0},
                 {0x2000, 9}, {0x2007, 9}, {0x2008, 0}, {UINT64_MAX, 0}};
    struct options options = {0};
    struct buffer b;
    struct error err;
    struct line_table *table;

    assemble(&b, &options, program, sizeof(program));
    open_sections(b.data, b.size, MEMORY);
    table = line_table_new(sections, &origin, &err);
    ck_assert_ptr_nonnull(table);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        const struct line_row *row = line_table_find(table, cases[i].address);

        ck_assert_uint_eq(row ? row->line : 0, cases[i].line);
    }
    line_table_free(table);
    close_sections(MEMORY);
    buffer_fini(&b);
}
END_TEST

/* ---- paths ---- */

static void
expect_path(const struct line_table *table, uint32_t number, const char *path)
{
    char text[LINE_PATH_MAX];
    size_t size = line_table_file(table, number, text);

    texts_read = true;
    ck_assert_str_eq(text, path);
    ck_assert_uint_eq(size, strlen(path));
}

static struct line_table *
open_tables(const struct options *options, const char *tables, size_t size,
            const struct line_origin *from)
{
    static const uint8_t program[] = {0, 8, 3, 'n', 'e', 'w', 0, 1, 0, 0};
    struct line_table *table;
    struct buffer b;
    struct error err;

    unit_start(&b, options, tables, size);
    buffer_add(&b, program, sizeof(program));
    unit_end(&b, options);
    open_sections(b.data, b.size, MEMORY);
    table = line_table_new(sections, from, &err);
    ck_assert_ptr_nonnull(table);
    buffer_fini(&b);
    return table;
}

START_TEST(before_version_5_files_start_with_1_and_directory_0_is_the_units)
{
    struct options options = {.version = versions[_i]};
    struct line_table *table =
        open_tables(&options, v4_tables, sizeof(v4_tables), &origin);

    ck_assert_uint_eq(line_table_file_count(table), 7);
    expect_path(table, 0, "");
    expect_path(table, 1, "/dir/a.c");
    expect_path(table, 2, "/dir/inc/b.h");
    expect_path(table, 3, "/sys/c.h");
    expect_path(table, 4, "/d.h");
    expect_path(table, 5, "/dir/e.h"); /* there is no directory 7 */
    expect_path(table, 6, "/dir/inc/new");
    expect_path(table, 7, "");
    expect_path(table, UINT32_MAX, "");
    line_table_free(table);
    close_sections(MEMORY);
}
END_TEST

START_TEST(without_a_directory_paths_stay_relative)
{
    struct options options = {.version = versions[_i]};
    struct line_origin nowhere = {.directory = {"", 0}};
    struct line_table *table =
        open_tables(&options, v4_tables, sizeof(v4_tables), &nowhere);

    expect_path(table, 1, "a.c");
    expect_path(table, 2, "inc/b.h");
    expect_path(table, 3, "/sys/c.h");
    line_table_free(table);
    close_sections(MEMORY);
}
END_TEST

START_TEST(version_5_takes_texts_in_every_form)
{
    static const char tables[] = /* path line_strp */
        "\1\1\x1f\3\0\0\0\0\2\0\0\0\2\0\0\0"
        /* size block, path strp, MD5 data16, directory data2, path last */
        "\7\4\x09\1\x0e\5\x1e\2\x05\3\x0d\4\x06\x81\x40\x07\4"
        "\2ab"
        "\x0b\0\0\0"
        "0123456789abcdef"
        "\1\0\x7f"
        "dddd"
        "uuuuuuuu"
        "\0"
        "\x12\0\0\0"
        "0123456789abcdef"
        "\0\0\x7f"
        "dddd"
        "uuuuuuuu"
        "\0"
        "\xff\xff\0\0"
        "0123456789abcdef"
        "\0\0\x7f"
        "dddd"
        "uuuuuuuu"
        "\3abc"
        "\x0b\0\0\0"
        "0123456789abcdef"
        "\7\0\x7f"
        "dddd"
        "uuuuuuuu";
    struct options options = {.version = 5};
    struct line_table *table =
        open_tables(&options, tables, sizeof(tables) - 1, &origin);

    ck_assert_uint_eq(line_table_file_count(table), 5);
    expect_path(table, 0, "/dir/inc/deep/from.c");
    expect_path(table, 1, "/dir/?/other.h");
    expect_path(table, 2, ""); /* outside of .debug_str */
    expect_path(table, 3, "/dir/from.c");
    expect_path(table, 5, "");
    line_table_free(table);
    close_sections(MEMORY);
}
END_TEST

START_TEST(version_5_takes_texts_by_their_number)
{
    static const struct {
        const char *what;
        const char *tables;
        size_t size;
    } cases[] = {
#define TABLES(text) text, sizeof(text) - 1
        {"strx", TABLES("\0\0\1\1\x1a\2\0\1")},
        {"strx1", TABLES("\0\0\1\1\x25\2\0\1")},
        {"strx2", TABLES("\0\0\1\1\x26\2\0\0\1\0")},
        {"strx3", TABLES("\0\0\1\1\x27\2\0\0\0\1\0\0")},
        {"strx4", TABLES("\0\0\1\1\x28\2\0\0\0\0\1\0\0\0")},
    };
    struct options options = {.version = 5};
    struct line_table *table =
        open_tables(&options, cases[_i].tables, cases[_i].size, &origin);

    expect_path(table, 0, "/dir/from.c");
    expect_path(table, 1, "/dir/other.h");
    line_table_free(table);
    close_sections(MEMORY);
}
END_TEST

START_TEST(a_header_that_makes_no_sense_is_refused)
{
    static const struct {
        const char *what;
        size_t at;
        char value;
        unsigned version;
    } cases[] = {
        {"version 1", 4, 1, 4},
        {"version 6", 4, 6, 4},
        {"segments", 7, 4, 5},
        {"tables that end behind the unit", 7, 1, 4},
        {"no operations in a word", 11, 0, 4},
        {"no opcodes", 15, 0, 4},
        {"a form that is none", 45, 0x7e, 5},
        {"more files than bytes", 48, 0x7f, 5},
    };
    static const uint8_t program[] = {END};
    struct options options = {.version = cases[_i].version};
    struct buffer b;
    struct error err = {0};

    assemble(&b, &options, program, sizeof(program));
    b.data[cases[_i].at] = cases[_i].value;
    open_sections(b.data, b.size, MEMORY);
    ck_assert_msg(!line_table_new(sections, &origin, &err), "%s",
                  cases[_i].what);
    ck_assert_str_ne(err.text, "");
    close_sections(MEMORY);
    buffer_fini(&b);
}
END_TEST

START_TEST(a_table_outside_of_its_section_is_refused)
{
    static const uint64_t offsets[] = {100, 101, UINT64_MAX};
    struct line_origin outside = origin;
    char bytes[100] = {0};
    struct error err = {0};

    outside.offset = offsets[_i];
    open_sections(bytes, sizeof(bytes), MEMORY);
    ck_assert_ptr_null(line_table_new(sections, &outside, &err));
    ck_assert_str_ne(err.text, "");
    close_sections(MEMORY);
}
END_TEST

START_TEST(a_path_too_long_is_cut)
{
    struct options options = {0};
    struct line_origin far = {0};
    struct line_table *table;
    static char directory[LINE_PATH_MAX + 100];
    char text[LINE_PATH_MAX];

    memset(directory, '/', sizeof(directory));
    far.directory = (struct span){directory, sizeof(directory)};
    table = open_tables(&options, v4_tables, sizeof(v4_tables), &far);
    ck_assert_uint_eq(line_table_file(table, 2, text), LINE_PATH_MAX - 1);
    ck_assert_uint_eq(strlen(text), LINE_PATH_MAX - 1);
    line_table_free(table);
    close_sections(MEMORY);
}
END_TEST

/* ---- ceilings ---- */

/* Many rows, backwards in the middle, in many sequences out of order. */
static void
make_large(struct buffer *b)
{
    static const uint8_t rows[] = {ROW(4, 1), ROW(4, 2)};
    static const uint8_t end[] = {ADVANCE_PC(1), END};
    struct options options = {.version = 5};

    unit_start(b, &options, v5_tables, sizeof(v5_tables) - 1);
    for (unsigned i = 0; i < 40; i++) {
        uint32_t address = (40 - i) * 0x1000;
        uint8_t set[] = {ADDRESS(address)}, back[] = {ADDRESS(address + 4)};

        buffer_add(b, set, sizeof(set));
        for (unsigned j = 0; j < 20; j++)
            buffer_add(b, rows, sizeof(rows));
        if (i % 8 == 1) {
            buffer_add(b, back, sizeof(back));
            buffer_add(b, rows, sizeof(rows));
            buffer_add(b, set, sizeof(set));
            buffer_add(b, "\x02\xf0\x01", 3);
        }
        buffer_add(b, end, sizeof(end));
    }
    unit_end(b, &options);
}

START_TEST(no_room_gives_less_or_an_error)
{
    struct buffer b;
    size_t most = 0;

    make_large(&b);
    for (size_t memory = 0; memory < 128 * 1024; memory += 600) {
        struct error err = {0};
        struct line_table *table;
        size_t count = 0;

        open_sections(b.data, b.size, memory);
        table = line_table_new(sections, &origin, &err);
        if (table) {
            check_order(table);
            (void)line_table_rows(table, &count);
        } else {
            ck_assert_str_ne(err.text, "");
        }
        if (count > most)
            most = count;
        line_table_free(table);
        close_sections(memory);
    }
    ck_assert_uint_gt(most, 40 * 40);
    buffer_fini(&b);
}
END_TEST

START_TEST(every_allocation_may_fail)
{
    struct buffer b;
    bool done = false;

    make_large(&b);
    for (unsigned n = 1; !done; n++) {
        struct error err = {0};
        struct line_table *table;

        open_sections(b.data, b.size, MEMORY);
        allocations = 0;
        failing = n;
        table = line_table_new(sections, &origin, &err);
        done = allocations < n;
        failing = 0;
        if (table)
            check_order(table);
        else
            ck_assert_str_ne(err.text, "");
        ck_assert(table || !done);
        line_table_free(table);
        close_sections(MEMORY);
    }
    buffer_fini(&b);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("line_table");
    TCase *tcase = tcase_create("all");

    tcase_add_loop_test(tcase, programs_give_their_rows_in_every_version, 0,
                        ROW_CASES);
    tcase_add_loop_test(tcase, a_program_that_is_cut_anywhere_gives_less, 0,
                        ROW_CASES);
    tcase_add_test(tcase, an_address_finds_the_row_that_holds_it);
    tcase_add_loop_test(
        tcase, before_version_5_files_start_with_1_and_directory_0_is_the_units,
        0, 3);
    tcase_add_loop_test(tcase, without_a_directory_paths_stay_relative, 0, 3);
    tcase_add_test(tcase, version_5_takes_texts_in_every_form);
    tcase_add_loop_test(tcase, version_5_takes_texts_by_their_number, 0, 5);
    tcase_add_loop_test(tcase, a_header_that_makes_no_sense_is_refused, 0, 8);
    tcase_add_loop_test(tcase, a_table_outside_of_its_section_is_refused, 0, 3);
    tcase_add_test(tcase, a_path_too_long_is_cut);
    tcase_add_test(tcase, no_room_gives_less_or_an_error);
    tcase_add_test(tcase, every_allocation_may_fail);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
