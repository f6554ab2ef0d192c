/*
 * line_program.c - see line_program.h.
 *
 * A line program is a byte code that makes a matrix of address, file and line;
 * a large object has millions of rows, and running them is most of the time
 * that names with lines take.  So it runs once, the few frequent opcodes in
 * registers (run_opcodes), and appends rows to one array, with an end row
 * behind each sequence; a row that equals the one before it is dropped.
 * Sequences in order, as nearly all are, only need to be moved together.  One
 * whose addresses go backwards is run again with every row kept, and sorted.
 * Results are those of binutils where a program contradicts itself.
 */
#include "line_program.h"

#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>

#include "dwarf_reader.h"
#include "dwarf_budget.h"
#include "dwarf_sections.h"
#include "errors.h"
#include "line_sequences.h"
#include "memory.h"

enum { /* DW_LNS_*, DWARF 5 "Standard Opcodes" */
       EXTENDED = 0,
       COPY = 1,
       ADVANCE_PC = 2,
       ADVANCE_LINE = 3,
       SET_FILE = 4,
       SET_COLUMN = 5,
       NEGATE_STMT = 6,
       SET_BASIC_BLOCK = 7,
       CONST_ADD_PC = 8,
       FIXED_ADVANCE_PC = 9,
       SET_PROLOGUE_END = 10,
       SET_EPILOGUE_BEGIN = 11,
       SET_ISA = 12
};

enum { END_SEQUENCE = 1, SET_ADDRESS = 2, DEFINE_FILE = 3 }; /* DW_LNE_* */

/* Stands for a file number that is too large. */
static const uint32_t NO_FILE = UINT32_MAX - 1;

struct special {
    uint64_t address;
    uint32_t line;
};

struct machine {
    struct line_table *table;
    struct line_header *header;
    struct special special[256]; /* what each special opcode adds, if
                                  * instructions are not VLIW */
    struct line_sequence *sequences;
    size_t sequence_count, sequence_capacity;
    size_t first; /* first row of this sequence */
    bool no_memory;

    uint64_t address, operation;
    uint32_t file, line;
    uint64_t highest;  /* highest address of this sequence so far */
    size_t at_highest; /* its row, when all rows are kept */
    bool backwards;    /* this sequence's addresses went backwards */
    bool all;          /* it runs again, and all its rows are kept */
    bool dead;         /* the linker has discarded this code */
};

/* ---- rows ---- */

/* Over the ceiling or the budget the table just ends here; only failing malloc
 * is an error. */
static bool
grow_line_rows(struct machine *m, size_t capacity)
{
    struct line_table *table = m->table;
    size_t more = capacity - table->capacity;
    struct line_row *rows;

    if (capacity > LINE_ROWS_MAX ||
        !dwarf_budget_take(dwarf_sections_budget(m->header->sections),
                           more * sizeof(*rows)))
        return false;
    rows = mem_realloc(table->rows, capacity * sizeof(*rows));
    if (!rows) {
        dwarf_budget_give(dwarf_sections_budget(m->header->sections),
                          more * sizeof(*rows));
        m->no_memory = true;
        return false;
    }
    table->rows = rows;
    table->capacity = capacity;
    return true;
}

static bool
append_line_row(struct machine *m, uint64_t address, uint32_t file,
                uint32_t line)
{
    struct line_table *table = m->table;

    if (table->count == table->capacity &&
        !grow_line_rows(m, table->capacity + table->capacity / 2 + 64))
        return false;
    table->rows[table->count++] = (struct line_row){address, file, line};
    return true;
}

/* Adds a row of a sequence that goes backwards somewhere: only a row at the
 * highest address replaces one. */
static bool
emit_any(struct machine *m)
{
    struct line_table *table = m->table;

    if (m->address < m->highest) {
        m->backwards = true;
        return m->all && append_line_row(m, m->address, m->file, m->line);
    }
    if (m->address == m->highest) {
        table->rows[m->at_highest] =
            (struct line_row){m->address, m->file, m->line};
        return true;
    }
    m->highest = m->address;
    m->at_highest = table->count;
    return append_line_row(m, m->address, m->file, m->line);
}

/* Adds a row of a sequence that goes forward: the last row of an address
 * wins. */
static inline bool
emit_line_row(struct machine *m)
{
    struct line_table *table = m->table;
    struct line_row now = {m->address, m->file, m->line}, *before;

    if (table->count == m->first) {
        m->highest = now.address;
        /* nothing lies at 0: discarded code does */
        m->dead |= now.address == 0;
        return append_line_row(m, now.address, now.file, now.line);
    }
    if (m->all || now.address < m->highest)
        return emit_any(m);
    before = &table->rows[table->count - 1];
    m->highest = now.address;
    if (line_row_same(before, &now))
        return true;
    if (before->address != now.address)
        return append_line_row(m, now.address, now.file, now.line);
    /* replacing the last row would make it equal to the one before */
    if (table->count - m->first > 1 && line_row_same(before - 1, &now))
        table->count--;
    else
        *before = now;
    return true;
}

struct ordered_row {
    struct line_row row;
    size_t order;
};

static int
compare_line_rows_by_address(const void *left, const void *right)
{
    const struct ordered_row *a = left, *b = right;

    if (a->row.address != b->row.address)
        return a->row.address < b->row.address ? -1 : 1;
    return a->order < b->order ? -1 : 1;
}

/* Sorts the rows of a sequence.  As in binutils the first row of an address
 * stays. */
static bool
sort_rows(struct machine *m)
{
    struct line_table *table = m->table;
    struct line_row *rows = table->rows + m->first;
    size_t count = table->count - m->first, kept = 0;
    size_t bytes = count * sizeof(struct ordered_row);
    struct ordered_row *list;

    if (!dwarf_budget_take(dwarf_sections_budget(m->header->sections), bytes))
        return false;
    list = mem_alloc(bytes);
    if (!list) {
        dwarf_budget_give(dwarf_sections_budget(m->header->sections), bytes);
        m->no_memory = true;
        return false;
    }
    for (size_t i = 0; i < count; i++)
        list[i] = (struct ordered_row){rows[i], i};
    qsort(list, count, sizeof(*list), compare_line_rows_by_address);
    for (size_t i = 0; i < count; i++) {
        if (i > 0 && list[i].row.address == list[i - 1].row.address)
            continue;
        if (kept == 0 || !line_row_same(&rows[kept - 1], &list[i].row))
            rows[kept++] = list[i].row;
    }
    table->count = m->first + kept;
    mem_free(list);
    dwarf_budget_give(dwarf_sections_budget(m->header->sections), bytes);
    return true;
}

static bool
keep_sequence(struct machine *m, uint64_t high)
{
    struct line_table *table = m->table;
    size_t capacity = m->sequence_capacity;
    struct line_sequence *list, *s;

    if (m->sequence_count == capacity) {
        capacity += capacity / 2 + 16;
        if (!dwarf_budget_take(dwarf_sections_budget(m->header->sections),
                               (capacity - m->sequence_capacity) *
                                   sizeof(*list)))
            return false;
        list = mem_realloc(m->sequences, capacity * sizeof(*list));
        if (!list) {
            dwarf_budget_give(dwarf_sections_budget(m->header->sections),
                              (capacity - m->sequence_capacity) *
                                  sizeof(*list));
            m->no_memory = true;
            return false;
        }
        m->sequences = list;
        m->sequence_capacity = capacity;
    }
    s = &m->sequences[m->sequence_count];
    *s = (struct line_sequence){table->rows[m->first].address, high, m->first,
                                table->count - m->first, m->sequence_count};
    if (!append_line_row(m, high, LINE_END, 0)) {
        /* Without room for an end row, the last row becomes it. */
        if (s->count == 1)
            return false;
        s->count--;
        s->high = table->rows[table->count - 1].address;
        table->rows[table->count - 1] = (struct line_row){s->high, LINE_END, 0};
    }
    m->sequence_count++;
    return true;
}

/* Ends the sequence at high: rows from there on cover nothing. */
static bool
end_sequence(struct machine *m, uint64_t high)
{
    struct line_table *table = m->table;

    if (m->dead)
        table->count = m->first;
    if (m->all && table->count > m->first && !sort_rows(m)) {
        table->count = m->first;
        return false;
    }
    while (table->count > m->first &&
           table->rows[table->count - 1].address >= high)
        table->count--;
    if (table->count > m->first && !keep_sequence(m, high)) {
        table->count = m->first;
        return false;
    }
    m->first = table->count;
    return true;
}

/* ---- the program ---- */

static inline void
advance_line_address(struct machine *m, uint64_t operations)
{
    const struct line_header *h = m->header;

    if (h->max_ops > 1) {
        operations += m->operation;
        m->operation = operations % h->max_ops;
        operations /= h->max_ops;
    }
    m->address += operations * h->min_length;
}

static void
set_line_address(struct machine *m, struct reader *r)
{
    unsigned size = reader_left(r) < 8 ? (unsigned)reader_left(r) : 8;
    uint64_t all_ones = size < 8 ? ((uint64_t)1 << size * 8) - 1 : UINT64_MAX;

    m->address = 0;
    m->operation = 0;
    for (unsigned i = 0; i < size; i++)
        m->address |= (uint64_t)reader_u8(r) << i * 8;
    /* Linkers write 0, -1 or -2 as the address of discarded code. */
    if (m->table->count == m->first &&
        (m->address == 0 || m->address >= all_ones - 1))
        m->dead = true;
}

/* Runs an extended opcode.  false: the sequence ends, or with *failed
 * everything. */
static bool
run_extended_opcode(struct machine *m, struct reader *r, bool *failed)
{
    uint64_t size = reader_uleb(r);
    struct span bytes = reader_bytes(r, size);
    struct reader operand = reader_of(bytes.data, bytes.size);

    if (r->failed) {
        *failed = true;
        return false;
    }
    if (size == 0)
        return true;
    switch (reader_u8(&operand)) {
    case END_SEQUENCE:
        return false;
    case SET_ADDRESS:
        set_line_address(m, &operand);
        break;
    case DEFINE_FILE:
        *failed = !line_header_define(m->header, &operand);
        return !*failed;
    default: /* discriminators, and vendors' opcodes */
        break;
    }
    return true;
}

/* Runs any opcode; returns as run_extended_opcode() does. */
static bool
run_line_opcode(struct machine *m, struct reader *r, unsigned opcode,
                bool *failed)
{
    const struct line_header *h = m->header;
    uint64_t number;

    if (opcode >= h->opcode_base) {
        *failed = h->line_range == 0;
        if (*failed)
            return false;
        opcode -= h->opcode_base;
        advance_line_address(m, opcode / h->line_range);
        m->line += (uint32_t)h->line_base + opcode % h->line_range;
        *failed = !emit_line_row(m);
        return !*failed;
    }
    switch (opcode) {
    case EXTENDED:
        return run_extended_opcode(m, r, failed);
    case COPY:
        *failed = !emit_line_row(m);
        break;
    case ADVANCE_PC:
        advance_line_address(m, reader_uleb(r));
        break;
    case ADVANCE_LINE:
        m->line += (uint32_t)reader_sleb(r);
        break;
    case SET_FILE:
        number = reader_uleb(r);
        m->file = number < NO_FILE ? (uint32_t)number : NO_FILE;
        break;
    case SET_COLUMN:
    case SET_ISA:
        reader_uleb(r);
        break;
    case NEGATE_STMT:
    case SET_BASIC_BLOCK:
    case SET_PROLOGUE_END:
    case SET_EPILOGUE_BEGIN:
        break;
    case CONST_ADD_PC:
        *failed = h->line_range == 0;
        if (!*failed)
            advance_line_address(m, (255 - h->opcode_base) / h->line_range);
        break;
    case FIXED_ADVANCE_PC:
        m->address += reader_u16(r);
        m->operation = 0;
        break;
    /* a standard opcode of the future: the header says how many operands */
    default:
        for (unsigned i = 0; i < h->lengths[opcode]; i++)
            reader_uleb(r);
        break;
    }
    *failed |= r->failed;
    return !*failed;
}

/* Runs to the end of the sequence; false: the program has no end of it.  The
 * most frequent opcodes are handled here, in registers: the copy of the reader
 * lets the compiler keep r there. */
static bool
run_opcodes(struct machine *m, struct reader *from, bool *failed)
{
    const unsigned special = m->header->max_ops == 1 && m->header->line_range
                                 ? m->header->opcode_base
                                 : UINT_MAX;
    /* a header may give fewer standard opcodes, which turns these into special
     * ones */
    const bool usual = m->header->opcode_base > NEGATE_STMT;
    struct reader r = *from, copy;
    bool going = true;

    while (going && r.pos < r.end) {
        unsigned opcode = *r.pos++;

        if (opcode >= special) {
            m->address += m->special[opcode].address;
            m->line += m->special[opcode].line;
            going = emit_line_row(m);
            *failed = !going;
        } else if (usual && opcode == SET_COLUMN) {
            reader_uleb(&r);
        } else if (usual && opcode == ADVANCE_LINE) {
            m->line += (uint32_t)reader_sleb(&r);
        } else if (!usual || opcode != NEGATE_STMT) {
            copy = r;
            going = run_line_opcode(m, &copy, opcode, failed);
            r = copy;
        }
    }
    *failed |= r.failed;
    *from = r;
    return !going && !*failed;
}

static void
start_sequence(struct machine *m, bool all)
{
    m->address = m->operation = m->highest = 0;
    m->at_highest = m->first;
    m->file = m->line = 1;
    m->backwards = m->dead = false;
    m->all = all;
    m->table->count = m->first;
}

/* Runs one sequence; false: the program has ended, or failed. */
static bool
run_sequence(struct machine *m, struct reader *r)
{
    const struct reader start = *r;
    size_t files = m->header->files.count;
    bool failed = false, ended;

    start_sequence(m, false);
    ended = run_opcodes(m, r, &failed);
    if (m->backwards) {
        *r = start;
        /* files that DW_LNE_define_file added come again */
        m->header->files.count = files;
        failed = false;
        start_sequence(m, true);
        ended = run_opcodes(m, r, &failed);
    }
    /* A sequence without an end ends at its last row. */
    return end_sequence(m, ended ? m->address : m->highest) && ended;
}

static void
prepare_special_opcodes(struct machine *m)
{
    const struct line_header *h = m->header;

    uint64_t address = 0;
    uint32_t line = 0;

    for (unsigned op = h->opcode_base; h->line_range && op < 256; op++) {
        m->special[op].address = address;
        m->special[op].line = (uint32_t)h->line_base + line;
        if (++line == h->line_range) {
            line = 0;
            address += h->min_length;
        }
    }
}

/* Puts the sequences in order: in place if they are already, else in a new
 * array. */
static int
assemble_line_table(struct machine *m, struct error *err)
{
    struct line_table *table = m->table;
    struct dwarf_sections *sections = m->header->sections;
    struct line_row *out = table->rows;
    size_t capacity = table->capacity;

    /* sections in another order (LTO, hot and cold parts), or overlaps */
    if (!line_sequences_in_order(m->sequences, m->sequence_count)) {
        m->sequence_count =
            line_sequences_sort(m->sequences, m->sequence_count);
        capacity = line_sequences_rows(m->sequences, m->sequence_count);
        out = NULL;
        if (dwarf_budget_take(dwarf_sections_budget(sections),
                              capacity * sizeof(*out)))
            out = mem_alloc(capacity * sizeof(*out));
        else
            capacity = 0;
        if (!out) {
            dwarf_budget_give(dwarf_sections_budget(sections),
                              capacity * sizeof(*out));
            error_memory(err, "a line table");
            return -1;
        }
    }
    table->count =
        line_sequences_join(m->sequences, m->sequence_count, table->rows, out);
    if (out != table->rows) {
        mem_free(table->rows);
        dwarf_budget_give(dwarf_sections_budget(sections),
                          table->capacity * sizeof(*out));
    }
    table->rows = out;
    table->capacity = capacity;
    return 0;
}

int
line_program_run(struct line_table *table, struct error *err)
{
    struct line_header *h = &table->header;
    struct machine m = {table, h};
    struct reader r =
        reader_of(h->unit + h->program, h->unit_size - h->program);
    int rc = -1;

    prepare_special_opcodes(&m);
    /* A first guess: gcc's programs have about three bytes for each row. */
    if (reader_left(&r) >= 64)
        (void)grow_line_rows(&m, reader_left(&r) / 4 + 1);
    while (r.pos < r.end && run_sequence(&m, &r))
        ;
    if (m.no_memory)
        error_memory(err, "a line table");
    else
        rc = assemble_line_table(&m, err);
    mem_free(m.sequences);
    dwarf_budget_give(dwarf_sections_budget(h->sections),
                      m.sequence_capacity * sizeof(*m.sequences));
    return rc;
}
