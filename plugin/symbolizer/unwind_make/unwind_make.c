/*
 * unwind_make.c - see unwind_make.h.
 *
 * A walk looks up code by its offset in the file, so all functions are listed
 * first and sorted by that; then each one's rows are added in this order.
 * Where two overlap, the first one counts, and code that no function covers has
 * no rule.  The trampoline that a signal handler returns to is found by its
 * instructions as well, since musl and Go do not describe it.  Runs in the
 * helper (it parses hostile bytes): n log n, 40 bytes a function, about as long
 * as reading the file.
 */
#include "unwind_make.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "buffer.h"
#include "cfi_rows.h"
#include "cfi_section.h"
#include "dwarf_sections.h"
#include "elf_file.h"
#include "errors.h"
#include "memory.h"
#include "table_writer.h"

enum {
    EH_FRAME,
    DEBUG_FRAME,
    SECTIONS,
    SCAN_BYTES = 1 << 20,
    TRAMPOLINE_MAX = 9, /* bytes */
    PATTERNS_BEFORE = 2
};

static const size_t section_bytes_max = (size_t)1 << 30;    /* uncompressed */
static const uint64_t instructions_max = (uint64_t)1 << 30; /* of one file */

struct described {
    uint64_t offset, end; /* offsets in the file */
    uint64_t address;
    uint64_t at; /* offset of its entry in the section */
    int section;
};

struct table_maker {
    const struct elf_file *elf;
    struct dwarf_sections *dwarf;
    struct buffer eh_frame;
    struct cfi_section sections[SECTIONS];
    struct described *list;
    size_t count, capacity;
    struct trampoline {
        uint64_t offset, end;
    } trampolines[UNWIND_TRAMPOLINES_MAX];
    size_t trampoline_count, trampoline_next;
    struct table_writer writer;
    uint64_t budget; /* instructions that may still be run */
};

/* ---- the sections ---- */

/* Finds .eh_frame without section headers: .eh_frame_hdr, which has a segment
 * of its own, points to it.  Where it ends is unknown, so it is read up to its
 * segment's end; a length of 0 ends it earlier. */
static bool
find_eh_frame_by_header(const struct elf_file *elf, struct elf_section *out)
{
    uint8_t head[12];
    struct cfi_section header = {.bytes = head, .size = sizeof(head)};
    struct reader r;
    uint64_t offset, left;
    uint8_t encoding;

    for (size_t i = 0; i < elf->segment_count; i++) {
        const struct elf_segment *s = &elf->segments[i];

        if (s->type != PT_GNU_EH_FRAME ||
            !elf_offset_of(elf, s->address, &offset, &left) ||
            elf_read_at(elf, offset, sizeof(head), head) != 0)
            continue;
        header.address = s->address;
        r = reader_of(head, sizeof(head));
        if (reader_u8(&r) != 1)
            continue;
        encoding = reader_u8(&r);
        reader_u16(&r);
        out->address = cfi_take_pointer(&r, &header, encoding);
        if (r.failed ||
            !elf_offset_of(elf, out->address, &out->offset, &out->size))
            continue;
        return true;
    }
    return false;
}

static int
load_eh_frame(struct table_maker *m)
{
    const struct elf_section *found = elf_section(m->elf, ".eh_frame");
    struct elf_section section;

    if (found && found->type != SHT_NOBITS)
        section = *found;
    else if (!find_eh_frame_by_header(m->elf, &section))
        return 0;
    if (section.size > section_bytes_max ||
        elf_read(m->elf, section.offset, section.size, &m->eh_frame) != 0)
        return m->eh_frame.failed ? -1 : 0;
    m->sections[EH_FRAME] =
        (struct cfi_section){.bytes = (const uint8_t *)m->eh_frame.data,
                             .size = m->eh_frame.size,
                             .address = section.address};
    return 0;
}

/* Through dwarf_sections, since it may be compressed.  A damaged section is
 * passed over: .eh_frame has most code. */
static int
load_debug_frame(struct table_maker *m)
{
    struct error err = {0};
    const uint8_t *bytes;
    uint64_t size;

    m->dwarf = dwarf_sections_new(m->elf, section_bytes_max, &err);
    if (!m->dwarf)
        return -1;
    size = dwarf_section_size(m->dwarf, DWARF_FRAME);
    if (size == 0)
        return 0;
    bytes = dwarf_section_bytes(m->dwarf, DWARF_FRAME, 0, size, &err);
    if (bytes)
        m->sections[DEBUG_FRAME] =
            (struct cfi_section){.bytes = bytes, .size = size, .debug = true};
    return bytes || err.code != ER_OUT_OF_MEMORY ? 0 : -1;
}

/* ---- the functions that they describe ---- */

static int
add_described(struct table_maker *m, const struct cfi_function *function,
              int section)
{
    uint64_t offset, left, size = function->end - function->start;
    struct described *grown;

    /* functions that the linker discarded have addresses outside the code */
    if (!elf_is_code(m->elf, function->start) ||
        !elf_offset_of(m->elf, function->start, &offset, &left))
        return 0;
    if (m->count == m->capacity) {
        m->capacity = m->capacity ? m->capacity * 2 : 1024;
        grown = m->capacity <= UNWIND_FUNCTIONS_MAX
                    ? mem_realloc(m->list, m->capacity * sizeof(*grown))
                    : NULL;
        if (!grown)
            return -1;
        m->list = grown;
    }
    m->list[m->count++] =
        (struct described){.offset = offset,
                           .end = offset + (size < left ? size : left),
                           .address = function->start,
                           .at = function->at,
                           .section = section};
    return 0;
}

static int
list_section(struct table_maker *m, int section)
{
    struct cfi_last last = {.valid = false};
    struct cfi_function function;
    uint64_t at = 0;
    bool is_function;

    while (cfi_section_next(&m->sections[section], &at, &last, &function,
                            &is_function))
        if (is_function && add_described(m, &function, section) != 0)
            return -1;
    return 0;
}

/* By offset. .eh_frame goes before .debug_frame: the program itself unwinds by
 * it. */
static int
compare_described(const void *a, const void *b)
{
    const struct described *x = a, *y = b;

    if (x->offset != y->offset)
        return x->offset < y->offset ? -1 : 1;
    if (x->section != y->section)
        return x->section - y->section;
    return x->at < y->at ? -1 : x->at > y->at;
}

/* ---- trampolines of signals ---- */

struct pattern {
    uint8_t bytes[TRAMPOLINE_MAX];
    size_t size;
};

/* rt_sigreturn: the call of the kernel, which is searched for as it is rare,
 * and the instruction before it that loads its number. */
static const struct pattern x86_call = {{0x0f, 0x05}, 2};
static const struct pattern x86_before[PATTERNS_BEFORE] = {
    {{0x48, 0xc7, 0xc0, 15, 0, 0, 0}, 7}, /* mov $15, %rax */
    {{0xb8, 15, 0, 0, 0}, 5}};            /* mov $15, %eax */
static const struct pattern aarch64_call = {{1, 0, 0, 0xd4}, 4};
static const struct pattern aarch64_before[PATTERNS_BEFORE] = {
    {{0x68, 0x11, 0x80, 0xd2}, 4},  /* mov x8, #139 */
    {{0x68, 0x11, 0x80, 0x52}, 4}}; /* mov w8, #139 */

/* A false find costs little: its rule serves only walks that come to this very
 * code. */
static void
scan_chunk(struct table_maker *m, const char *bytes, size_t size,
           uint64_t offset)
{
    bool arm = m->elf->machine == EM_AARCH64;
    const struct pattern *call = arm ? &aarch64_call : &x86_call;
    const struct pattern *before = arm ? aarch64_before : x86_before;
    const char *at = bytes;

    while (m->trampoline_count < UNWIND_TRAMPOLINES_MAX &&
           (at = memmem(at, size - (size_t)(at - bytes), call->bytes,
                        call->size))) {
        for (int i = 0; i < PATTERNS_BEFORE; i++) {
            size_t lead = before[i].size;
            uint64_t here = offset + (uint64_t)(at - bytes);

            if ((size_t)(at - bytes) < lead ||
                memcmp(at - lead, before[i].bytes, lead) != 0)
                continue;
            m->trampolines[m->trampoline_count++] =
                (struct trampoline){here - lead, here + call->size};
            break;
        }
        at += call->size;
    }
}

static void
scan_segment(struct table_maker *m, const struct elf_segment *s, char *chunk)
{
    for (uint64_t done = 0; done < s->file_size;
         done += SCAN_BYTES - TRAMPOLINE_MAX + 1) {
        uint64_t left = s->file_size - done;
        size_t size = left < SCAN_BYTES ? left : SCAN_BYTES;

        if (elf_read_at(m->elf, s->offset + done, size, chunk) != 0)
            return;
        scan_chunk(m, chunk, size, s->offset + done);
        if (left <= SCAN_BYTES)
            return;
    }
}

/* Whether the object needs others: then libc is one of them, and has the
 * trampoline, so this object's code need not be read. */
static bool
needs_others(const struct elf_file *elf)
{
    struct buffer bytes;
    struct reader r;
    uint64_t tag, value;
    bool needs = false;

    buffer_init(&bytes, ELF_DYNAMIC_MAX);
    if (elf_dynamic(elf, &bytes) == 0) {
        r = reader_of(bytes.data, bytes.size);
        while (elf_dynamic_next(&r, &tag, &value))
            needs |= tag == DT_NEEDED;
    }
    buffer_fini(&bytes);
    return needs;
}

static int
compare_trampolines(const void *a, const void *b)
{
    const struct trampoline *x = a, *y = b;

    return x->offset < y->offset ? -1 : x->offset > y->offset;
}

static int
find_trampolines(struct table_maker *m)
{
    char *chunk;

    if (needs_others(m->elf))
        return 0;
    chunk = mem_alloc_unset(SCAN_BYTES); /* read only where it was filled */
    if (!chunk)
        return -1;
    for (size_t i = 0; i < m->elf->segment_count; i++)
        if (m->elf->segments[i].type == PT_LOAD &&
            m->elf->segments[i].flags & PF_X)
            scan_segment(m, &m->elf->segments[i], chunk);
    mem_free(chunk);
    qsort(m->trampolines, m->trampoline_count, sizeof(m->trampolines[0]),
          compare_trampolines);
    /* A handler returns to the trampoline's first byte.  Walks look up the byte
     * before a return address, so the rule begins there; glibc's own
     * description does, too. */
    for (size_t i = 0; i < m->trampoline_count; i++)
        m->trampolines[i].offset -= m->trampolines[i].offset > 0;
    return 0;
}

/* ---- rows ---- */

/* Adds a rule for code from offset to end; code inside a trampoline gets that
 * rule, whatever else describes it. */
static int
put_rule_range(struct table_maker *m, uint64_t offset, uint64_t end,
               const struct unwind_rule *rule)
{
    static const struct unwind_rule kernel = {.cfa = UNWIND_SIGNAL};

    while (offset < end) {
        const struct trampoline *t = &m->trampolines[m->trampoline_next];
        bool any = m->trampoline_next < m->trampoline_count;
        bool inside = any && t->offset <= offset;
        /* up to where one rule holds */
        uint64_t stop = !any ? end : inside ? t->end : t->offset;

        if (stop <= offset) { /* this one has been passed */
            m->trampoline_next++;
            continue;
        }
        if (table_writer_add(&m->writer, offset, inside ? &kernel : rule) != 0)
            return -1;
        offset = stop < end ? stop : end;
    }
    return 0;
}

static int
put_function(struct table_maker *m, const struct described *d,
             struct cfi_last *last, uint64_t covered)
{
    const struct cfi_section *section = &m->sections[d->section];
    struct cfi_function function;
    struct cfi_rows rows;
    struct unwind_rule rule;
    uint64_t at = d->at, start, end;
    bool is_function;

    if (!cfi_section_next(section, &at, last, &function, &is_function) ||
        !is_function)
        return 0;
    cfi_rows_begin(&rows, m->elf->machine, &last->common, &function,
                   &m->budget);
    while (cfi_rows_next(&rows, &start, &end, &rule)) {
        start = d->offset + (start - d->address);
        end = d->offset + (end - d->address);
        if (end > d->end)
            end = d->end;
        /* what an earlier function covers is its own */
        if (start < covered)
            start = covered;
        if (start < end && put_rule_range(m, start, end, &rule) != 0)
            return -1;
    }
    return 0;
}

static int
put_rows(struct table_maker *m)
{
    static const struct unwind_rule none = {.cfa = UNWIND_NONE};
    struct cfi_last last[SECTIONS] = {{.valid = false}};
    uint64_t covered = 0, end;

    for (size_t i = 0; i < m->count; i++) {
        const struct described *d = &m->list[i];

        /* wholly inside an earlier function */
        if (d->end <= covered)
            continue;
        if (d->offset > covered &&
            put_rule_range(m, covered, d->offset, &none) != 0)
            return -1;
        if (put_function(m, d, &last[d->section], covered) != 0)
            return -1;
        covered = d->end;
    }
    end = m->trampoline_count ? m->trampolines[m->trampoline_count - 1].end : 0;
    if (end > covered && put_rule_range(m, covered, end, &none) != 0)
        return -1;
    return table_writer_add(&m->writer, end > covered ? end : covered, &none);
}

static int
make_all(struct table_maker *m, struct buffer *out, struct error *err)
{
    if (load_eh_frame(m) != 0 || load_debug_frame(m) != 0 ||
        list_section(m, EH_FRAME) != 0 || list_section(m, DEBUG_FRAME) != 0 ||
        find_trampolines(m) != 0)
        goto memory;
    if (m->count == 0 && m->trampoline_count == 0) {
        error_set(err, ER_UNKNOWN, "it has no call frame information");
        return -1;
    }
    if (m->count)
        qsort(m->list, m->count, sizeof(*m->list), compare_described);
    if (put_rows(m) == 0 &&
        table_writer_write(&m->writer, m->elf->machine, m->elf->build_id,
                           m->elf->build_id_size, out) == 0)
        return 0;
memory:
    error_memory(err, "the unwind table");
    return -1;
}

int
unwind_make(const struct elf_file *elf, struct buffer *out, struct error *err)
{
    struct table_maker *m;
    int rc = -1;

    if (elf->machine != EM_X86_64 && elf->machine != EM_AARCH64) {
        error_set(err, ER_UNKNOWN, "it is for another machine");
        return -1;
    }
    m = mem_zalloc(1, sizeof(*m));
    if (!m) {
        error_memory(err, "the unwind table");
        return -1;
    }
    m->elf = elf;
    m->budget = instructions_max;
    buffer_init(&m->eh_frame, section_bytes_max);
    if (table_writer_init(&m->writer) == 0)
        rc = make_all(m, out, err);
    else
        error_memory(err, "the unwind table");
    table_writer_fini(&m->writer);
    dwarf_sections_free(m->dwarf);
    buffer_fini(&m->eh_frame);
    mem_free(m->list);
    mem_free(m);
    return rc;
}
