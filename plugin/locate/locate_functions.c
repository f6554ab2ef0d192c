/*
 * locate_functions.c - where functions begin and end in a stripped file.
 *
 * Whatever guesses addresses in code (the scan for mallctl, jemalloc's inner
 * functions) must tell a function's start from the middle of one.  Symbols may
 * be stripped, but .eh_frame_hdr may not: C++ exceptions need it at run time.
 * Its table is sorted, so a question is a binary search: by pread of eight
 * bytes a step where few are asked (the agent), in a copy of the table where
 * many are.  A table in another encoding than the one that all linkers write
 * counts as none; wrong numbers give wrong answers, but no read past the file.
 */
#include "locate_functions.h"

#include <elf.h>
#include <string.h>

#include "elf_file.h"
#include "locate.h"
#include "memory.h"
#include "reader.h"

enum {
    HEADER = 4 + 8 + 4, /* version, encodings; the longest address; count */
    ENTRY = 8,          /* of the table: the function, and its FDE */
    LOADED_MAX = 1 << 20,
    FDE_BEGIN = 16, /* size, CIE, the function's address and size */
    PE_UDATA4 = 0x03,
    PE_SORTED = 0x3b, /* datarel, sdata4: what all linkers write */
    PE_FORM = 0x07
};

static uint64_t
take_signed(struct reader *r)
{
    return (uint64_t)(int64_t)(int32_t)reader_u32(r);
}

static bool
parse_eh_frame_hdr(const struct elf_file *elf, const struct elf_segment *s,
                   struct locate_functions *out)
{
    /* The size of an encoded address by the low bits of its encoding
     * (DW_EH_PE_*, LSB core): absptr, udata2, udata4, udata8; 0: of no fixed
     * size. */
    static const uint8_t sizes[PE_FORM + 1] = {8, 0, 2, 4, 8};
    uint8_t bytes[HEADER] = {0}, version, form, count_form, table_form, size;
    struct reader r = reader_of(bytes, sizeof(bytes));

    if (s->file_size < sizeof(bytes) ||
        elf_read_at(elf, s->offset, sizeof(bytes), bytes) != 0)
        return false;
    version = reader_u8(&r);
    form = reader_u8(&r);
    count_form = reader_u8(&r);
    table_form = reader_u8(&r);
    size = sizes[form & PE_FORM];
    if (version != 1 || size == 0 || count_form != PE_UDATA4 ||
        table_form != PE_SORTED)
        return false;
    reader_bytes(&r, size);
    *out = (struct locate_functions){elf, s->address, s->offset + 8 + size,
                                     reader_u32(&r), NULL};
    return out->count > 0 && out->count <= (s->file_size - 8 - size) / ENTRY;
}

bool
locate_functions_init(struct locate_functions *functions,
                      const struct elf_file *elf)
{
    memset(functions, 0, sizeof(*functions));
    for (size_t i = 0; i < elf->segment_count; i++) {
        if (elf->segments[i].type == PT_GNU_EH_FRAME)
            return parse_eh_frame_hdr(elf, &elf->segments[i], functions);
    }
    return false;
}

bool
locate_functions_load(struct locate_functions *functions)
{
    size_t size = functions->count * ENTRY;
    uint8_t *room;

    if (functions->count > LOADED_MAX)
        return false;
    room = mem_alloc(size);
    if (!room ||
        elf_read_at(functions->elf, functions->offset, size, room) != 0) {
        mem_free(room);
        return false;
    }
    functions->loaded = room;
    return true;
}

void
locate_functions_fini(struct locate_functions *functions)
{
    mem_free(functions->loaded);
    memset(functions, 0, sizeof(*functions));
}

/* The start of entry i's function; *fde: the virtual address of its FDE. */
static uint64_t
read_eh_frame_hdr_entry(const struct locate_functions *functions, uint64_t i,
                        uint64_t *fde)
{
    uint8_t bytes[ENTRY] = {0};
    struct reader r = reader_of(bytes, sizeof(bytes));
    uint64_t start;

    if (functions->loaded)
        r = reader_of(functions->loaded + i * ENTRY, ENTRY);
    else
        elf_read_at(functions->elf, functions->offset + i * ENTRY, ENTRY,
                    bytes);
    start = functions->base + take_signed(&r);
    *fde = functions->base + take_signed(&r);
    return start;
}

/* How many functions start at or before address. */
static uint64_t
count_before(const struct locate_functions *functions, uint64_t address)
{
    uint64_t low = 0, high = functions->count, fde;

    while (low < high) {
        uint64_t middle = low + (high - low) / 2;

        if (read_eh_frame_hdr_entry(functions, middle, &fde) <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool
locate_functions_start(const struct locate_functions *functions,
                       uint64_t address)
{
    uint64_t before = count_before(functions, address), fde;

    return before > 0 &&
           read_eh_frame_hdr_entry(functions, before - 1, &fde) == address;
}

/* An address of 0 would wrap: it has no function before it. */
bool
locate_functions_next(const struct locate_functions *functions,
                      uint64_t address, uint64_t *start)
{
    uint64_t before = address > 0 ? count_before(functions, address - 1) : 0;
    uint64_t fde;

    if (before == functions->count)
        return false;
    *start = read_eh_frame_hdr_entry(functions, before, &fde);
    return *start >= address;
}

/* The size of the function that an FDE describes, if its addresses are relative
 * and of four bytes, as all compilers write them; 0 for others.  The table has
 * only starts: without the size, code between functions would count for the
 * function before it. */
static uint64_t
fde_code_size(const struct locate_functions *functions, uint64_t start,
              uint64_t fde)
{
    uint8_t bytes[FDE_BEGIN] = {0};
    struct reader r = reader_of(bytes, sizeof(bytes));
    uint64_t offset, left, begins;

    if (!elf_offset_of(functions->elf, fde, &offset, &left) ||
        left < sizeof(bytes) ||
        elf_read_at(functions->elf, offset, sizeof(bytes), bytes) != 0)
        return 0;
    reader_bytes(&r, 8);
    begins = fde + 8 + take_signed(&r);
    return begins == start ? reader_u32(&r) : 0;
}

bool
locate_functions_around(const struct locate_functions *functions,
                        uint64_t address, uint64_t *start, uint64_t *end)
{
    uint64_t before = count_before(functions, address), fde, size;

    if (before == 0)
        return false;
    *start = read_eh_frame_hdr_entry(functions, before - 1, &fde);
    size = fde_code_size(functions, *start, fde);
    *end = *start + size;
    return address - *start < size;
}

enum locate_start
locate_starts(const struct elf_file *elf, uint64_t address)
{
    struct locate_functions functions;

    if (!locate_functions_init(&functions, elf))
        return LOCATE_START_UNKNOWN;
    return locate_functions_start(&functions, address) ? LOCATE_START_HERE
                                                       : LOCATE_START_ELSEWHERE;
}
