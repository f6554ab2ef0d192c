/*
 * line_table.c - see line_table.h: reads header and program, then gives back
 * what a look-up does not need: a helper keeps the tables of many units within
 * one budget.
 */
#include "line_table.h"

#include "dwarf_budget.h"
#include "dwarf_sections.h"
#include "errors.h"
#include "line_program.h"
#include "memory.h"
#include "search.h"

static void
shrink_line_rows(struct line_table *table)
{
    struct line_row *rows;

    /* rows grow by half, so a third of them may be unused */
    if (table->count == table->capacity || table->count == 0)
        return;
    rows = mem_realloc(table->rows, table->count * sizeof(*rows));
    if (!rows)
        return;
    dwarf_budget_give(dwarf_sections_budget(table->header.sections),
                      (table->capacity - table->count) * sizeof(*rows));
    table->rows = rows;
    table->capacity = table->count;
}

struct line_table *
line_table_new(struct dwarf_sections *sections,
               const struct line_origin *origin, struct error *err)
{
    struct line_table *table = mem_zalloc(1, sizeof(*table));

    if (!table) {
        error_memory(err, "a line table");
        return NULL;
    }
    if (line_header_read(&table->header, sections, origin, err) != 0 ||
        line_program_run(table, err) != 0) {
        line_table_free(table);
        return NULL;
    }
    line_header_settle(&table->header);
    shrink_line_rows(table);
    return table;
}

void
line_table_free(struct line_table *table)
{
    if (!table)
        return;
    if (table->header.sections)
        dwarf_budget_give(dwarf_sections_budget(table->header.sections),
                          table->capacity * sizeof(*table->rows));
    line_header_fini(&table->header);
    mem_free(table->rows);
    mem_free(table);
}

const struct line_row *
line_table_find(const struct line_table *table, uint64_t address)
{
    size_t low = SEARCH_ABOVE(table->rows, table->count, address, address);

    if (low == 0 || table->rows[low - 1].file == LINE_END)
        return NULL;
    return &table->rows[low - 1];
}

const struct line_row *
line_table_rows(const struct line_table *table, size_t *count)
{
    *count = table->count;
    return table->rows;
}

size_t
line_table_file(const struct line_table *table, uint32_t file,
                char path[LINE_PATH_MAX])
{
    return line_header_path(&table->header, file, path);
}

/* Before DWARF 5 files count from 1, and 0 is none. */
size_t
line_table_file_count(const struct line_table *table)
{
    return table->header.files.count + (table->header.version < 5);
}
