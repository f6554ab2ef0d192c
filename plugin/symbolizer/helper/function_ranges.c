/* function_ranges.c - see function_ranges.h. */
#include "function_ranges.h"

#include <elf.h>
#include <stdlib.h>

#include "buffer.h"
#include "elf_file.h"
#include "errors.h"
#include "memory.h"
#include "reader.h"
#include "search.h"

/* Pointer encodings: the size in the low half, the base in the high one (LSB
 * core, tables 8-1 and 8-2). */
enum {
    PE_ABSOLUTE = 0x00,
    PE_UDATA2 = 0x02,
    PE_UDATA4 = 0x03,
    PE_UDATA8 = 0x04,
    PE_SDATA2 = 0x0a,
    PE_SDATA4 = 0x0b,
    PE_SDATA8 = 0x0c,
    PE_FORM = 0x0f,
    PE_PCREL = 0x10,
    PE_DATAREL = 0x30,
    PE_RELATIVE = 0x70,
    PE_OMIT = 0xff,
    HDR_ENTRY = 8, /* of the search table: datarel sdata4, twice */
    AUGMENTATION_MAX = 16
};

static const uint64_t frame_bytes_max = (uint64_t)1 << 30;

struct range {
    uint64_t start, end;
};

struct image {
    struct buffer bytes;
    uint64_t address;
};

struct function_ranges {
    struct image frame;  /* .eh_frame, or the bytes behind it in its segment */
    struct image header; /* .eh_frame_hdr, if it has a search table */
    uint64_t first;      /* where in header the table starts */
    uint64_t count;      /* its entries */
    struct range *list;  /* without a search table: all functions, ascending */
    size_t list_count;
};

static struct reader
reader_at(const struct image *image, uint64_t address)
{
    struct reader r = reader_of(image->bytes.data, image->bytes.size);

    /* An address below the image wraps around, and so is past its end too. */
    reader_bytes(&r, address - image->address);
    return r;
}

static uint64_t
position(const struct image *image, const struct reader *r)
{
    return image->address +
           (uint64_t)(r->pos - (const uint8_t *)image->bytes.data);
}

static uint64_t
take_pointer(struct reader *r, const struct image *image, uint8_t encoding)
{
    uint64_t here = position(image, r), v = 0;

    switch (encoding & PE_FORM) {
    case PE_ABSOLUTE:
    case PE_UDATA8:
    case PE_SDATA8:
        v = reader_u64(r);
        break;
    case PE_UDATA2:
        v = reader_u16(r);
        break;
    case PE_SDATA2:
        v = (uint64_t)(int64_t)(int16_t)reader_u16(r);
        break;
    case PE_UDATA4:
        v = reader_u32(r);
        break;
    case PE_SDATA4:
        v = (uint64_t)(int64_t)(int32_t)reader_u32(r);
        break;
    default:
        r->failed = true;
    }
    switch (encoding & PE_RELATIVE) {
    case PE_ABSOLUTE:
        return v;
    case PE_PCREL:
        return here + v;
    case PE_DATAREL:
        return image->address + v;
    default:
        r->failed = true;
        return 0;
    }
}

static void
skip_leb128(struct reader *r)
{
    while (reader_u8(r) & 0x80)
        continue;
}

/* The augmentation "zR...": its letters describe its bytes. */
static bool
take_augmentation(struct reader *r, const struct image *image,
                  struct span letters, uint8_t *encoding)
{
    uint8_t skipped;

    if (letters.size == 0)
        return true;
    if (letters.data[0] != 'z' || letters.size > AUGMENTATION_MAX)
        return false;
    skip_leb128(r); /* size of the augmentation data */
    for (size_t i = 1; i < letters.size; i++) {
        switch (letters.data[i]) {
        case 'R':
            *encoding = reader_u8(r);
            return true;
        case 'P':
            skipped = reader_u8(r);
            take_pointer(r, image, skipped & 0x7f);
            break;
        case 'L':
            reader_u8(r);
            break;
        case 'S': /* signal frame */
        case 'B': /* AArch64 pointer authentication, and tagging */
        case 'G':
            break;
        default:
            return false;
        }
    }
    return true;
}

/* The pointer encoding of the functions that use the CIE at address. */
static bool
cie_encoding(const struct image *image, uint64_t address, uint8_t *encoding)
{
    struct reader r = reader_at(image, address);
    struct span letters;
    uint8_t version;

    *encoding = PE_ABSOLUTE;
    if (reader_u32(&r) == 0xffffffff)
        reader_u64(&r);
    if (reader_u32(&r) != 0) /* zero marks a CIE */
        return false;
    version = reader_u8(&r);
    letters = reader_text(&r);
    skip_leb128(&r); /* code alignment */
    skip_leb128(&r); /* data alignment */
    if (version == 1)
        reader_u8(&r); /* return address register */
    else
        skip_leb128(&r);
    return take_augmentation(&r, image, letters, encoding) && !r.failed;
}

enum entry { ENTRY_NONE, ENTRY_OTHER, ENTRY_FUNCTION };

/* Reads the CIE or FDE at address; *next is the next one's start. */
static enum entry
read_entry(const struct image *image, uint64_t address, struct range *out,
           uint64_t *next)
{
    struct reader r = reader_at(image, address);
    uint64_t size = reader_u32(&r), here, pointer;
    uint8_t encoding;

    if (size == 0xffffffff)
        size = reader_u64(&r);
    if (r.failed || size < 4 || size > reader_left(&r))
        return ENTRY_NONE;
    here = position(image, &r);
    *next = here + size;
    pointer = reader_u32(&r);
    if (pointer == 0 || !cie_encoding(image, here - pointer, &encoding))
        return ENTRY_OTHER;
    out->start = take_pointer(&r, image, encoding);
    /* The length has the pointer's form, but no base. */
    out->end = out->start + take_pointer(&r, image, encoding & PE_FORM);
    return r.failed || out->end <= out->start ? ENTRY_OTHER : ENTRY_FUNCTION;
}

/* Loads at most max bytes from address on; none is no error. */
static int
load_image(struct image *image, const struct elf_file *elf, uint64_t address,
           uint64_t max)
{
    uint64_t offset, left;

    image->address = address;
    if (!elf_offset_of(elf, address, &offset, &left))
        return 0;
    if (elf_read(elf, offset, left < max ? left : max, &image->bytes) != 0)
        return image->bytes.failed ? -1 : 0;
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

/* Version, three encodings, the address of .eh_frame, count, table. */
static int
load_header(struct function_ranges *table, const struct elf_file *elf,
            uint64_t *frame)
{
    const struct elf_segment *s = header_segment(elf);
    uint8_t frame_encoding, count_encoding, table_encoding;
    struct reader r;

    if (!s)
        return 0;
    if (load_image(&table->header, elf, s->address, s->file_size) != 0)
        return -1;
    r = reader_at(&table->header, s->address);
    if (reader_u8(&r) != 1)
        return 0;
    frame_encoding = reader_u8(&r);
    count_encoding = reader_u8(&r);
    table_encoding = reader_u8(&r);
    *frame = take_pointer(&r, &table->header, frame_encoding);
    if (r.failed) {
        *frame = 0;
        return 0;
    }
    if (count_encoding == PE_OMIT || table_encoding != (PE_DATAREL | PE_SDATA4))
        return 0;
    table->count = take_pointer(&r, &table->header, count_encoding);
    table->first = position(&table->header, &r);
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

static int
scan(struct function_ranges *table)
{
    uint64_t at = table->frame.address;
    struct range *grown, one;
    size_t capacity = 0;
    enum entry entry;

    while ((entry = read_entry(&table->frame, at, &one, &at)) != ENTRY_NONE) {
        if (entry != ENTRY_FUNCTION)
            continue;
        if (table->list_count == capacity) {
            capacity = capacity ? capacity * 2 : 1024;
            grown = mem_realloc(table->list, capacity * sizeof(*grown));
            if (!grown)
                return -1;
            table->list = grown;
        }
        table->list[table->list_count++] = one;
    }
    if (table->list_count)
        qsort(table->list, table->list_count, sizeof(*table->list),
              compare_ranges);
    return 0;
}

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
    if (table->count == 0 && scan(table) != 0)
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

static uint64_t
header_pointer(const struct function_ranges *table, uint64_t entry,
               bool function)
{
    struct reader r = reader_at(
        &table->header, table->first + entry * HDR_ENTRY + (function ? 0 : 4));

    return take_pointer(&r, &table->header, PE_DATAREL | PE_SDATA4);
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
find_by_header(const struct function_ranges *table, uint64_t address,
               struct range *out)
{
    uint64_t i = upper_by_header(table, address), next;

    return i > 0 &&
           read_entry(&table->frame, header_pointer(table, i - 1, false), out,
                      &next) == ENTRY_FUNCTION;
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

    if (table->count ? !find_by_header(table, address, &found)
                     : !find_by_list(table, address, &found))
        return false;
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
