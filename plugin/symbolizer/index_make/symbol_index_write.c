/*
 * symbol_index_write.c - see symbol_index.h: makes an index from an object's
 * DWARF and symbols.
 *
 * Units give functions and lines (index_units.c); then all code is walked in
 * runs of one outermost function, and each run gets its symbols.  An index
 * outlives the machine's state: it may be shipped to hosts without debug
 * information.  So one that lacks anything because memory ran out is not
 * written at all, though a unit that our reader does not know may be left out.
 * In the helper.
 */
#include <elf.h>

#include "address_map.h"
#include "dwarf.h"
#include "dwarf_budget.h"
#include "dwarf_sections.h"
#include "elf_file.h"
#include "errors.h"
#include "index_builder.h"
#include "index_units.h"
#include "memory.h"
#include "symbol_index.h"

struct writing {
    const struct symbol_index_source *source;
    struct index_builder *builder;
    struct index_units units;
};

/* Adds the symbols of a run of code with one outermost function. */
static void
add_code_symbols(void *arg, uint64_t start, uint64_t end, uint32_t root)
{
    struct writing *w = arg;
    struct span outermost = {"", 0};
    uint64_t next;

    if (root != INDEX_NONE)
        outermost = index_units_raw_name(&w->units, root);
    for (; start < end; start = next) {
        struct index_symbol symbol = {0, end, {"", 0}};

        w->source->symbol(w->source->arg, start, outermost, &symbol);
        next = symbol.end > start && symbol.end < end ? symbol.end : end;
        if (symbol.name.size > 0)
            index_builder_symbol(w->builder, start, next, symbol.start,
                                 index_builder_name(w->builder, symbol.name));
        else if (symbol.start > 0 && !w->source->dwarf)
            index_builder_function(w->builder, start, next, symbol.start);
    }
}

/* Marks code between start and end that no unit has as left out: it may belong
 * to a unit that was. */
static void
leave_gaps_out(struct writing *w, uint64_t start, uint64_t end)
{
    size_t count;
    const struct address_range *map = dwarf_units_map(w->units.units, &count);

    for (size_t i = 0; i < count && map[i].start < end; i++) {
        if (map[i].end <= start)
            continue;
        index_builder_left_out(w->builder, start, map[i].start);
        start = map[i].end;
    }
    index_builder_left_out(w->builder, start, end);
}

static int
for_each_code(struct writing *w,
              int (*function)(struct writing *w, uint64_t start, uint64_t end,
                              struct error *err),
              struct error *err)
{
    const struct elf_file *elf = w->source->elf;

    for (uint32_t i = 0; i < elf->section_count; i++) {
        const struct elf_section *s = &elf->sections[i];

        if ((s->flags & SHF_ALLOC) && (s->flags & SHF_EXECINSTR) &&
            s->size <= UINT64_MAX - s->address &&
            function(w, s->address, s->address + s->size, err) != 0)
            return -1;
    }
    return 0;
}

static int
leave_out_code(struct writing *w, uint64_t start, uint64_t end,
               struct error *err)
{
    (void)err;
    leave_gaps_out(w, start, end);
    return 0;
}

static int
name_code(struct writing *w, uint64_t start, uint64_t end, struct error *err)
{
    return index_builder_roots(w->builder, start, end, add_code_symbols, w,
                               err);
}

/* Refuses an index with parts that are missing for lack of memory: on hosts
 * without DWARF they would be missing for ever. */
static int
check_memory(size_t refusals, struct error *err)
{
    if (refusals == 0)
        return 0;
    error_set(err, ER_OUT_OF_MEMORY,
              "the symbol index needs more memory than it may have");
    return -1;
}

/* Names the code of all loaded segments, not sections: a symbol may extend
 * beyond its section. */
static int
name_segments(struct writing *w, struct error *err)
{
    const struct elf_file *elf = w->source->elf;

    for (size_t i = 0; i < elf->segment_count; i++) {
        const struct elf_segment *s = &elf->segments[i];

        if (s->type == PT_LOAD && s->file_size <= UINT64_MAX - s->address &&
            name_code(w, s->address, s->address + s->file_size, err) != 0)
            return -1;
    }
    return 0;
}

/* Without DWARF there is no budget; RLIMIT_AS limits the helper, and failed
 * allocations are counted. */
static int
write_symbols(const struct symbol_index_source *source, struct error *err)
{
    struct dwarf_budget no_ceiling = {.max = SIZE_MAX};
    struct writing w = {source, index_builder_new(&no_ceiling), {0}};
    size_t failures = mem_failures();
    int rc = -1;

    if (!w.builder) {
        error_memory(err, "a symbol index");
        return -1;
    }
    index_builder_symbols_only(w.builder);
    if (name_segments(&w, err) == 0 &&
        check_memory(mem_failures() - failures, err) == 0)
        rc = index_builder_finish(w.builder, source->elf->build_id,
                                  source->elf->build_id_size, source->write,
                                  source->arg, err);
    index_builder_free(w.builder);
    return rc;
}

/* Units first: symbols are chosen by the outermost function of each run of
 * code, which is known once all ranges are. */
static int
write_dwarf_index(const struct symbol_index_source *source, struct error *err)
{
    struct dwarf_sections *sections = dwarf_get_sections(source->dwarf);
    struct dwarf_budget *budget = dwarf_sections_budget(sections);
    size_t refusals = dwarf_budget_refusals(budget) + mem_failures();
    struct writing w = {source, index_builder_new(budget), {0}};
    int rc = -1;

    if (!w.builder) {
        error_memory(err, "a symbol index");
        return -1;
    }
    if (index_units_init(&w.units, source, w.builder, budget, err) != 0 ||
        index_units_read(&w.units, err) != 0)
        goto out;
    if (w.units.unplaced && for_each_code(&w, leave_out_code, err) != 0)
        goto out;
    if (for_each_code(&w, name_code, err) != 0 ||
        check_memory(dwarf_budget_refusals(budget) + mem_failures() - refusals,
                     err) != 0)
        goto out;
    rc = index_builder_finish(w.builder, source->elf->build_id,
                              source->elf->build_id_size, source->write,
                              source->arg, err);
out:
    index_units_fini(&w.units);
    index_builder_free(w.builder);
    return rc;
}

int
symbol_index_write(const struct symbol_index_source *source, struct error *err)
{
    return source->dwarf ? write_dwarf_index(source, err)
                         : write_symbols(source, err);
}
