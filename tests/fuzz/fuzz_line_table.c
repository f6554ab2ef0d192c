/*
 * fuzz_line_table.c - any bytes as a line program.
 *
 * Two bytes say how many of the others are .debug_line; what is left are the
 * sections with texts and their offsets.
 */
#include <stdlib.h>
#include <string.h>

#include "dwarf_sections.h"
#include "errors.h"
#include "fuzz_target.h"
#include "line_table.h"
#include "section_file.h"

enum { MEMORY = 1 << 20 };

static void
check(const struct line_table *table)
{
    char path[LINE_PATH_MAX];
    size_t count;
    const struct line_row *rows = line_table_rows(table, &count);

    for (size_t i = 0; i < count; i++) {
        if (i > 0 && rows[i].address <= rows[i - 1].address)
            abort();
        if (i > 0 && rows[i].file == rows[i - 1].file &&
            rows[i].line == rows[i - 1].line)
            abort();
        if (line_table_find(table, rows[i].address) !=
            (rows[i].file == LINE_END ? NULL : &rows[i]))
            abort();
        if (i < 64)
            (void)line_table_file(table, rows[i].file, path);
    }
    if (count > 0 && rows[count - 1].file != LINE_END)
        abort();
    for (uint32_t i = 0; i < line_table_file_count(table) && i < 256; i++)
        if (line_table_file(table, i, path) != strlen(path))
            abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct section_file file;
    struct line_origin origin = {.directory = {"/dir", 4},
                                 .str_offsets_base = 8};
    struct dwarf_sections *sections;
    struct line_table *table;
    struct error err;
    size_t line;

    if (size < 2)
        return 0;
    if (!file.elf.sections)
        section_file_init(&file);
    section_file_clear(&file);
    line = data[0] | (size_t)data[1] << 8;
    data += 2;
    size -= 2;
    if (line > size)
        line = size;
    section_file_add(&file, ".debug_line", data, line);
    section_file_add(&file, ".debug_line_str", data + line, size - line);
    section_file_add(&file, ".debug_str", data + line, size - line);
    section_file_add(&file, ".debug_str_offsets", data + line, size - line);
    sections = dwarf_sections_new(&file.elf, MEMORY, &err);
    if (!sections)
        return 0;
    table = line_table_new(sections, &origin, &err);
    if (table)
        check(table);
    line_table_free(table);
    dwarf_sections_free(sections);
    return 0;
}
