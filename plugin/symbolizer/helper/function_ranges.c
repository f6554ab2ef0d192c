/*
 * function_ranges.c - see function_ranges.h.
 *
 * Without a symbol, an address can still be named by its function's start,
 * which is the same for all addresses of the function: profiles of stripped
 * programs stay readable and comparable.  The linker's search table answers
 * that by a binary search in the file's own bytes, without a list; where there
 * is none, all entries of .eh_frame are listed once and sorted.
 */
#include "function_ranges.h"

#include <elf.h>
#include <stdlib.h>

#include "buffer.h"
#include "cfi_section.h"
#include "elf_file.h"
#include "errors.h"
#include "memory.h"
#include "search.h"

enum {
    PE_DATAREL_SDATA4 = 0x3b, /* DW_EH_PE_* */
    PE_OMIT = 0xff,
    HDR_ENTRY = 8 /* an entry of the search table: two datarel sdata4 */
};

static const uint64_t frame_bytes_max = (uint64_t)1 << 30;

struct range {
    uint64_t start, end;
};

struct image {
    struct buffer bytes;
    struct cfi_section section; /* describes these bytes */
};

struct function_ranges {
    struct image frame;  /* .eh_frame, and what follows it in its segment */
    struct image header; /* .eh_frame_hdr, if it has a search table */
    uint64_t first;      /* offset of the table in header */
    uint64_t count;      /* number of its entries */
    struct range *list;  /* without a search table: all functions, ascending */
    size_t list_count;
};

/* Loads at most max bytes from address on; no bytes are no error. */
static int
load_image(struct image *image, const struct elf_file *elf, uint64_t address,
           uint64_t max)
{
    uint64_t offset, left;

    image->section.address = address;
    if (!elf_offset_of(elf, address, &offset, &left))
        return 0;
    if (elf_read(elf, offset, left < max ? left : max, &image->bytes) != 0)
        return image->bytes.failed ? -1 : 0;
    image->section.bytes = (const uint8_t *)image->bytes.data;
    image->section.size = image->bytes.size;
    return 0;
}

static const struct elf_segment *
header_segment(const struct elf_file *elf)
{
    for (size_t i = 0; i < elf->segment_count; i++)
        if (elf->segments[i].type == PT_GNU_EH_FRAME)
            return &elf->segments[i];
    return NULL;
}

/* Reads .eh_frame_hdr: version, three encodings, the address of .eh_frame,
 * count, table.  Tables in other encodings than the usual are not used. */
static int
load_header(struct function_ranges *table, const struct elf_file *elf,
            uint64_t *frame)
{
    const struct elf_segment *s = header_segment(elf);
    const struct cfi_section *header = &table->header.section;
    uint8_t frame_encoding, count_encoding, table_encoding;
    struct reader r;

    if (!s)
        return 0;
    if (load_image(&table->header, elf, s->address, s->file_size) != 0)
        return -1;
    r = reader_of(header->bytes, header->size);
    /* another version: walk .eh_frame */
    if (reader_u8(&r) != 1)
        return 0;
    frame_encoding = reader_u8(&r);
    count_encoding = reader_u8(&r);
    table_encoding = reader_u8(&r);
    *frame = cfi_take_pointer(&r, header, frame_encoding);
    if (r.failed) {
        *frame = 0;
        return 0;
    }
    if (count_encoding == PE_OMIT || table_encoding != PE_DATAREL_SDATA4)
        return 0;
    table->count = cfi_take_pointer(&r, header, count_encoding);
    table->first = (uint64_t)(r.pos - header->bytes);
    /* a count that the segment cannot hold */
    if (r.failed || table->count > reader_left(&r) / HDR_ENTRY)
        table->count = 0;
    return 0;
}

static int
compare_ranges(const void *a, const void *b)
{
    const struct range *x = a, *y = b;

    return x->start < y->start ? -1 : x->start > y->start;
}

/* Without a search table.  Entries of discarded functions have address 0; no
 * question asks for that. */
static int
scan_function_ranges(struct function_ranges *table)
{
    struct cfi_last last = {.valid = false};
    struct cfi_function function;
    struct range *grown;
    size_t capacity = 0;
    uint64_t at = 0;
    bool is_function;

    while (cfi_section_next(&table->frame.section, &at, &last, &function,
                            &is_function)) {
        if (!is_function)
            continue;
        if (table->list_count == capacity) {
            capacity = capacity ? capacity * 2 : 1024;
            grown = mem_realloc(table->list, capacity * sizeof(*grown));
            if (!grown)
                return -1;
            table->list = grown;
        }
        table->list[table->list_count++] =
            (struct range){function.start, function.end};
    }
    if (table->list_count)
        qsort(table->list, table->list_count, sizeof(*table->list),
              compare_ranges);
    return 0;
}

/* The header is a segment and survives stripping, the section header may not:
 * hence that order. */
struct function_ranges *
function_ranges_new(const struct elf_file *elf, struct error *err)
{
    struct function_ranges *table = mem_zalloc(1, sizeof(*table));
    const struct elf_section *section = elf_section(elf, ".eh_frame");
    uint64_t frame = 0;

    if (!table)
        goto fail;
    buffer_init(&table->frame.bytes, frame_bytes_max);
    buffer_init(&table->header.bytes, frame_bytes_max);
    if (load_header(table, elf, &frame) != 0)
        goto fail;
    if (frame == 0 && section)
        frame = section->address;
    if (frame && load_image(&table->frame, elf, frame, frame_bytes_max) != 0)
        goto fail;
    if (table->count == 0 && scan_function_ranges(table) != 0)
        goto fail;
    return table;
fail:
    error_memory(err, "the ranges of functions");
    function_ranges_free(table);
    return NULL;
}

void
function_ranges_free(struct function_ranges *table)
{
    if (!table)
        return;
    buffer_fini(&table->frame.bytes);
    buffer_fini(&table->header.bytes);
    mem_free(table->list);
    mem_free(table);
}

/* An address of the search table: the function's start, or its entry in
 * .eh_frame. */
static uint64_t
header_pointer(const struct function_ranges *table, uint64_t entry,
               bool function)
{
    const struct cfi_section *header = &table->header.section;
    struct reader r = reader_of(header->bytes, header->size);

    reader_bytes(&r, table->first + entry * HDR_ENTRY + (function ? 0 : 4));
    return cfi_take_pointer(&r, header, PE_DATAREL_SDATA4);
}

/* One past the last function that starts at or before address. */
static uint64_t
upper_by_header(const struct function_ranges *table, uint64_t address)
{
    uint64_t low = 0, high = table->count;

    while (low < high) {
        uint64_t middle = low + (high - low) / 2;

        if (header_pointer(table, middle, true) <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static size_t
upper_by_list(const struct function_ranges *table, uint64_t address)
{
    return SEARCH_ABOVE(table->list, table->list_count, start, address);
}

static bool
find_range_by_header(const struct function_ranges *table, uint64_t address,
                     struct range *out)
{
    const struct cfi_section *frame = &table->frame.section;
    uint64_t i = upper_by_header(table, address), at;
    struct cfi_last last = {.valid = false};
    struct cfi_function function;
    bool is_function;

    if (i == 0)
        return false;
    /* An address below the section wraps around, and so lies past its end. */
    at = header_pointer(table, i - 1, false) - frame->address;
    if (!cfi_section_next(frame, &at, &last, &function, &is_function) ||
        !is_function)
        return false;
    *out = (struct range){function.start, function.end};
    return true;
}

static bool
find_by_list(const struct function_ranges *table, uint64_t address,
             struct range *out)
{
    size_t i = upper_by_list(table, address);

    if (i > 0)
        *out = table->list[i - 1];
    return i > 0;
}

bool
function_ranges_find(const struct function_ranges *table, uint64_t address,
                     uint64_t *start, uint64_t *end)
{
    struct range found;

    if (table->count ? !find_range_by_header(table, address, &found)
                     : !find_by_list(table, address, &found))
        return false;
    /* between functions */
    if (address < found.start || address >= found.end)
        return false;
    *start = found.start;
    *end = found.end;
    return true;
}

uint64_t
function_ranges_next(const struct function_ranges *table, uint64_t address)
{
    uint64_t i = table->count ? upper_by_header(table, address)
                              : upper_by_list(table, address);

    if (table->count)
        return i < table->count ? header_pointer(table, i, true) : UINT64_MAX;
    return i < table->list_count ? table->list[i].start : UINT64_MAX;
}
