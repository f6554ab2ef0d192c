/*
 * cfi_section.c - see cfi_section.h.
 *
 * One reader for two formats that differ in a few fields: .eh_frame has
 * relative pointers with an encoding, a CIE's id is 0, and a function's pointer
 * to its CIE counts back from itself; .debug_frame has absolute addresses, an
 * id of all ones, and an offset.  CIEs are few and mostly repeat, so the last
 * one is kept instead of a table of all.  The section comes from any file: a
 * bad entry is passed over by its length, a bad length ends the reading.  Pure.
 */
#include "cfi_section.h"

#include "dwarf_reader.h"

/* Pointer encodings: the format in the low half, the base in the high one (LSB
 * core, tables 8-1 and 8-2). */
enum {
    PE_ABSOLUTE = 0x00,
    PE_ULEB = 0x01,
    PE_UDATA2 = 0x02,
    PE_UDATA4 = 0x03,
    PE_UDATA8 = 0x04,
    PE_SLEB = 0x09,
    PE_SDATA2 = 0x0a,
    PE_SDATA4 = 0x0b,
    PE_SDATA8 = 0x0c,
    PE_FORM = 0x0f,
    PE_PCREL = 0x10,
    PE_DATAREL = 0x30,
    PE_RELATIVE = 0x70,
    AUGMENTATION_MAX = 16,
    ADDRESS_BYTES = 8
};

static struct reader
reader_at(const struct cfi_section *section, uint64_t at)
{
    struct reader r = reader_of(section->bytes, section->size);

    dwarf_skip(&r, at);
    return r;
}

static uint64_t
cfi_section_position(const struct cfi_section *section, const struct reader *r)
{
    return (uint64_t)(r->pos - section->bytes);
}

/* Additions wrap around, as the unwinder's do.  The indirect bit is ignored:
 * only personality routines, which are skipped, have it. */
uint64_t
cfi_take_pointer(struct reader *r, const struct cfi_section *section,
                 uint8_t encoding)
{
    uint64_t here = section->address + cfi_section_position(section, r), v = 0;

    switch (encoding & PE_FORM) {
    case PE_ABSOLUTE:
    case PE_UDATA8:
    case PE_SDATA8:
        v = reader_u64(r);
        break;
    case PE_ULEB:
        v = reader_uleb(r);
        break;
    case PE_SLEB:
        v = (uint64_t)reader_sleb(r);
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
        return section->address + v;
    default:
        r->failed = true;
        return 0;
    }
}

/* Reads an entry's length and ends r there; false: the section ends (a length
 * of 0 terminates .eh_frame). */
static bool
take_length(struct reader *r, bool *wide)
{
    uint64_t size = reader_u32(r);

    *wide = size == 0xffffffff;
    if (*wide)
        size = reader_u64(r);
    if (r->failed || size < 4 || size > reader_left(r))
        return false;
    r->end = r->pos + size;
    return true;
}

/* Reads the augmentation: each letter behind the 'z' describes one of the data
 * bytes that follow, and an unknown one makes all later ones unreadable. */
static void
take_augmentation(struct reader *r, const struct cfi_section *section,
                  struct span letters, struct cfi_common *out)
{
    struct reader data;
    uint8_t encoding;

    if (letters.size == 0)
        return;
    if (letters.data[0] != 'z' || letters.size > AUGMENTATION_MAX) {
        r->failed = true;
        return;
    }
    out->sized = true;
    data = *r;
    {
        uint64_t size = reader_uleb(r);

        data.pos = r->pos;
        dwarf_skip(r, size);
        data.end = r->pos;
    }
    for (size_t i = 1; i < letters.size && !r->failed; i++) {
        switch (letters.data[i]) {
        case 'R':
            out->encoding = reader_u8(&data);
            break;
        case 'P': /* the personality routine: skipped without its base, which
                   * may be unknown */
            encoding = reader_u8(&data) & PE_FORM;
            cfi_take_pointer(&data, section, encoding);
            break;
        case 'L':
            reader_u8(&data);
            break;
        case 'S':
            out->signal = true;
            break;
        case 'B': /* AArch64: signed return addresses, and tagging */
        case 'G':
            break;
        default:
            r->failed = true;
        }
        r->failed |= data.failed;
    }
}

/* Reads the CIE at an offset; false: it cannot be used. */
static bool
read_common_entry(const struct cfi_section *section, uint64_t at,
                  struct cfi_common *out)
{
    struct reader r = reader_at(section, at);
    struct span letters;
    uint8_t version;
    bool wide;
    uint64_t id;

    *out = (struct cfi_common){.encoding = PE_ABSOLUTE};
    if (!take_length(&r, &wide))
        return false;
    id = wide && section->debug ? reader_u64(&r) : reader_u32(&r);
    if (section->debug ? id != (wide ? UINT64_MAX : UINT32_MAX) : id != 0)
        return false;
    version = reader_u8(&r);
    letters = reader_text(&r);
    if (version != 1 && version != 3 && version != 4)
        return false;
    if (version == 4 && (reader_u8(&r) != ADDRESS_BYTES || reader_u8(&r) != 0))
        return false; /* no machine of ours has segments */
    out->code_align = reader_uleb(&r);
    out->data_align = reader_sleb(&r);
    out->return_column = version == 1 ? reader_u8(&r) : reader_uleb(&r);
    take_augmentation(&r, section, letters, out);
    out->instructions = r;
    return !r.failed;
}

/* Finds a function's CIE; here is where its pointer to it lies. */
static bool
find_common(const struct cfi_section *section, uint64_t here, uint64_t pointer,
            struct cfi_last *last)
{
    uint64_t at = section->debug ? pointer : here - pointer;

    if (last->valid && last->at == at)
        return true;
    last->at = at;
    last->valid =
        at < section->size && read_common_entry(section, at, &last->common);
    return last->valid;
}

bool
cfi_section_next(const struct cfi_section *section, uint64_t *at,
                 struct cfi_last *last, struct cfi_function *out,
                 bool *is_function)
{
    uint64_t here, pointer, size;
    struct reader r;
    bool wide;

    *is_function = false;
    out->at = *at;
    if (*at >= section->size) /* also if the section is missing */
        return false;
    r = reader_at(section, *at);
    if (!take_length(&r, &wide))
        return false;
    *at = (uint64_t)(r.end - section->bytes);
    here = cfi_section_position(section, &r);
    pointer = wide && section->debug ? reader_u64(&r) : reader_u32(&r);
    if (pointer == (!section->debug ? 0
                    : wide          ? UINT64_MAX
                                    : UINT32_MAX) ||
        !find_common(section, here, pointer, last))
        return true;
    out->common = last->at;
    out->start = cfi_take_pointer(&r, section, last->common.encoding);
    /* The length has the pointer's format, but no base. */
    size = cfi_take_pointer(&r, section, last->common.encoding & PE_FORM);
    out->end = out->start + size;
    if (last->common.sized) {
        uint64_t skipped = reader_uleb(&r);

        dwarf_skip(&r, skipped);
    }
    out->instructions = r;
    *is_function = !r.failed && out->end > out->start;
    return true;
}
