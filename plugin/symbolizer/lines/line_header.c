/*
 * line_header.c - see line_header.h.
 *
 * The tables of directories and files have hundreds of entries for each unit,
 * and a request prints a few of them; so an entry is kept as 16 bytes that say
 * where its text is, and a path is put together only when it is asked for.  The
 * unit is read into memory of its own, charged to the budget, and shrunk to its
 * texts once the opcodes have run.  DWARF 5 describes the columns of its tables
 * itself, so every form must be readable there.  Threads of dwarf.c, each with
 * its own unit.
 */
#include "line_header.h"

#include <string.h>

#include "buffer.h"
#include "dwarf_reader.h"
#include "dwarf_budget.h"
#include "dwarf_sections.h"
#include "errors.h"
#include "memory.h"

enum { GUESS = 4096 }; /* first read of a unit: most fit into it */

enum line_where { NOWHERE, IN_UNIT, IN_LINE_STR, IN_STR };

enum { /* DW_LNCT_*, DWARF 5 "Standard Content Descriptions" */
       CONTENT_PATH = 1,
       CONTENT_DIRECTORY = 2
};

static uint64_t
read_offset(const struct line_header *h, struct reader *r)
{
    return h->offset_size == 8 ? reader_u64(r) : reader_u32(r);
}

/* false: too many names, or no memory: the header is refused then, as later
 * numbers would be wrong. */
static bool
add_line_name(struct line_header *h, struct line_names *names,
              struct line_name name)
{
    /* a small program can claim any number of files */
    if (names->count >= LINE_FILES_MAX ||
        !dwarf_budget_grow(dwarf_sections_budget(h->sections), &names->list,
                           &names->capacity, names->count + 1,
                           sizeof(*names->list)))
        return false;
    names->list[names->count++] = name;
    return true;
}

static uint64_t
line_unit_offset(const struct line_header *h, const struct reader *r)
{
    return (uint64_t)((const char *)r->pos - h->unit);
}

/* Where the text of an index in .debug_str_offsets is. */
static struct line_name
indirect_line_name(const struct line_header *h, uint64_t index)
{
    struct line_name name = {0};
    const uint8_t *bytes;
    struct error unused;
    struct reader r;

    /* so that the sum below cannot overflow */
    if (index > UINT32_MAX || h->str_offsets_base > UINT64_MAX / 2)
        return name;
    bytes = dwarf_section_bytes(h->sections, DWARF_STR_OFFSETS,
                                h->str_offsets_base + index * h->offset_size,
                                h->offset_size, &unused);
    if (bytes) {
        r = reader_of(bytes, h->offset_size);
        name.offset = read_offset(h, &r);
        name.where = IN_STR;
    }
    return name;
}

/* Reads a value of any form: as a name, or as a number.  false: an unknown
 * form, whose length is unknown as well. */
static bool
read_form(const struct line_header *h, struct reader *r, uint64_t form,
          struct line_name *name, uint64_t *number)
{
    *name = (struct line_name){0};
    *number = 0;
    switch (form) {
    case DW_FORM_string:
        name->offset = line_unit_offset(h, r);
        name->where = IN_UNIT;
        reader_text(r);
        break;
    case DW_FORM_line_strp:
        name->offset = read_offset(h, r);
        name->where = IN_LINE_STR;
        break;
    case DW_FORM_strp:
        name->offset = read_offset(h, r);
        name->where = IN_STR;
        break;
    case DW_FORM_strx:
        *name = indirect_line_name(h, reader_uleb(r));
        break;
    case DW_FORM_strx1:
        *name = indirect_line_name(h, reader_u8(r));
        break;
    case DW_FORM_strx2:
        *name = indirect_line_name(h, reader_u16(r));
        break;
    case DW_FORM_strx3:
        *name = indirect_line_name(h, reader_u24(r));
        break;
    case DW_FORM_strx4:
        *name = indirect_line_name(h, reader_u32(r));
        break;
    case DW_FORM_strp_sup: /* in another file */
    case DW_FORM_sec_offset:
        (void)read_offset(h, r);
        break;
    case DW_FORM_data1:
        *number = reader_u8(r);
        break;
    case DW_FORM_data2:
        *number = reader_u16(r);
        break;
    case DW_FORM_data4:
        *number = reader_u32(r);
        break;
    case DW_FORM_data8:
        *number = reader_u64(r);
        break;
    case DW_FORM_udata:
        *number = reader_uleb(r);
        break;
    case DW_FORM_sdata:
        (void)reader_sleb(r);
        break;
    case DW_FORM_data16: /* an MD5 */
        reader_bytes(r, 16);
        break;
    case DW_FORM_block1:
        reader_bytes(r, reader_u8(r));
        break;
    case DW_FORM_block2:
        reader_bytes(r, reader_u16(r));
        break;
    case DW_FORM_block4:
        reader_bytes(r, reader_u32(r));
        break;
    case DW_FORM_block:
        reader_bytes(r, reader_uleb(r));
        break;
    default:
        return false;
    }
    return !r->failed;
}

/* Reads a table of DWARF 5: descriptions of its columns, then its rows. */
static bool
read_line_entries(struct line_header *h, struct reader *r,
                  struct line_names *names)
{
    uint64_t formats[255][2], count, number;
    unsigned columns = reader_u8(r);

    for (unsigned i = 0; i < columns; i++) {
        formats[i][0] = reader_uleb(r);
        formats[i][1] = reader_uleb(r);
    }
    count = reader_uleb(r);
    /* Every entry takes at least a byte, so a larger count is a lie. */
    if (r->failed || count > (columns ? reader_left(r) : 0))
        return false;
    for (uint64_t n = 0; n < count; n++) {
        struct line_name whole = {0}, part;

        for (unsigned i = 0; i < columns; i++) {
            if (!read_form(h, r, formats[i][1], &part, &number))
                return false;
            if (formats[i][0] == CONTENT_PATH) {
                whole.offset = part.offset;
                whole.where = part.where;
            } else if (formats[i][0] == CONTENT_DIRECTORY) {
                whole.directory = (uint32_t)number;
            }
        }
        if (!add_line_name(h, names, whole))
            return false;
    }
    return true;
}

/* Reads a text of the tables before DWARF 5; false: the empty text that ends
 * them. */
static bool
read_line_name(const struct line_header *h, struct reader *r,
               struct line_name *name)
{
    *name =
        (struct line_name){.offset = line_unit_offset(h, r), .where = IN_UNIT};
    return reader_text(r).size > 0 && !r->failed;
}

/* Before DWARF 5: a list of directories, then one of files, each ended by an
 * empty text. */
static bool
read_lists(struct line_header *h, struct reader *r)
{
    struct line_name name;

    while (read_line_name(h, r, &name))
        if (!add_line_name(h, &h->directories, name))
            return false;
    while (!r->failed && read_line_name(h, r, &name)) {
        name.directory = (uint32_t)reader_uleb(r);
        reader_uleb(r); /* time */
        reader_uleb(r); /* size */
        if (r->failed || !add_line_name(h, &h->files, name))
            return false;
    }
    return !r->failed;
}

bool
line_header_define(struct line_header *h, struct reader *r)
{
    struct line_name name;

    if (!read_line_name(h, r, &name))
        return false;
    name.directory = (uint32_t)reader_uleb(r);
    return !r->failed && add_line_name(h, &h->files, name);
}

/* Reads the unit's bytes: first a guess, which has its length in any case. */
static int
load_line_unit(struct line_header *h, uint64_t offset, struct error *err)
{
    uint64_t left = dwarf_section_size(h->sections, DWARF_LINE);
    uint64_t size = GUESS;
    struct buffer bytes = {0};
    struct reader r;
    int rc = -1;

    if (offset >= left || left - offset < 16) {
        error_set(err, ER_MALFORMED_PACKET,
                  "the line table at 0x%llx is outside of its section",
                  (unsigned long long)offset);
        return -1;
    }
    left -= offset;
    buffer_init(&bytes, SIZE_MAX / 2);
    if (left < size)
        size = left;
    if (dwarf_section_copy(h->sections, DWARF_LINE, offset, size, &bytes,
                           err) != 0)
        goto out;
    r = reader_of(bytes.data, bytes.size);
    size = reader_u32(&r);
    h->offset_size = 4;
    h->program = 4; /* read so far */
    if (size == UINT32_MAX) {
        size = reader_u64(&r);
        h->offset_size = 8;
        h->program = 12;
    }
    /* the length does not count itself; a unit that is cut off ends with its
     * section */
    size = size > left - h->program ? left : size + h->program;
    if (!dwarf_budget_take(dwarf_sections_budget(h->sections), size)) {
        error_set(err, ER_OUT_OF_MEMORY,
                  "no room for a line table of %llu bytes",
                  (unsigned long long)size);
        goto out;
    }
    h->charged += size;
    if (size > bytes.size &&
        dwarf_section_copy(h->sections, DWARF_LINE, offset + bytes.size,
                           size - bytes.size, &bytes, err) != 0)
        goto out;
    h->unit_size = size;
    h->unit = bytes.data;
    bytes = (struct buffer){0};
    rc = 0;
out:
    buffer_fini(&bytes);
    return rc;
}

static bool
parse_line_header(struct line_header *h)
{
    struct reader r = reader_of(h->unit, h->unit_size);
    uint64_t length;

    reader_bytes(&r, h->program);
    h->version = (uint8_t)reader_u16(&r);
    /* a new version may mean anything: libbfd is asked */
    if (h->version < 2 || h->version > 5)
        return false;
    if (h->version == 5) {
        reader_u8(&r); /* size of an address: DW_LNE_set_address has its own
                        * length */
        if (reader_u8(&r) != 0)
            return false; /* segments */
    }
    length = read_offset(h, &r);
    if (r.failed || length > reader_left(&r))
        return false;
    r.end = r.pos + length;
    h->program = (size_t)(r.end - (const uint8_t *)h->unit);
    h->min_length = reader_u8(&r);
    h->max_ops = h->version >= 4 ? reader_u8(&r) : 1;
    reader_u8(&r); /* default_is_stmt */
    h->line_base = reader_u8(&r);
    /* a signed byte */
    h->line_base -= h->line_base < 128 ? 0 : 256;
    h->line_range = reader_u8(&r);
    h->opcode_base = reader_u8(&r);
    if (r.failed || h->max_ops == 0 || h->opcode_base == 0)
        return false;
    /* operands of standard opcodes, so that unknown ones can be skipped */
    for (unsigned i = 1; i < h->opcode_base; i++)
        h->lengths[i] = reader_u8(&r);
    if (h->version < 5)
        return read_lists(h, &r);
    return read_line_entries(h, &r, &h->directories) &&
           read_line_entries(h, &r, &h->files);
}

int
line_header_read(struct line_header *h, struct dwarf_sections *sections,
                 const struct line_origin *origin, struct error *err)
{
    h->sections = sections;
    h->comp_dir = origin->directory;
    h->str_offsets_base = origin->str_offsets_base;
    if (load_line_unit(h, origin->offset, err) != 0)
        return -1;
    if (!parse_line_header(h)) {
        error_set(err, ER_MALFORMED_PACKET,
                  "the line table at 0x%llx makes no sense",
                  (unsigned long long)origin->offset);
        return -1;
    }
    return 0;
}

void
line_header_fini(struct line_header *h)
{
    struct dwarf_budget *budget;

    if (!h->sections)
        return;
    budget = dwarf_sections_budget(h->sections);
    dwarf_budget_give(budget, h->charged);
    mem_free(h->unit);
    dwarf_budget_drop(budget, &h->directories.list, &h->directories.capacity,
                      sizeof(*h->directories.list));
    dwarf_budget_drop(budget, &h->files.list, &h->files.capacity,
                      sizeof(*h->files.list));
    *h = (struct line_header){0};
}

static void
extend_to_unit_texts(const struct line_header *h,
                     const struct line_names *names, size_t *end)
{
    for (size_t i = 0; i < names->count; i++) {
        size_t at = (size_t)names->list[i].offset;

        if (names->list[i].where == IN_UNIT && at >= *end)
            *end = at + strnlen(h->unit + at, h->unit_size - at);
    }
}

/* The opcodes have run: of the unit's bytes only texts are needed, which lie in
 * front of the opcodes. */
void
line_header_settle(struct line_header *h)
{
    size_t end = 0;
    char *unit;

    extend_to_unit_texts(h, &h->directories, &end);
    extend_to_unit_texts(h, &h->files, &end);
    unit = end ? mem_realloc(h->unit, end) : NULL;
    if (end && !unit)
        return; /* shrinking failed: it stays as it is */
    if (!end)
        mem_free(h->unit);
    dwarf_budget_give(dwarf_sections_budget(h->sections), h->unit_size - end);
    h->charged -= h->unit_size - end;
    h->unit = unit;
    h->unit_size = end;
}

/* "" where the text cannot be read: a path without a name is no path. */
static struct span
line_name_text(const struct line_header *h, const struct line_name *name)
{
    struct span text = {"", 0};

    if (name->where == IN_UNIT && name->offset < h->unit_size) {
        text.data = h->unit + name->offset;
        text.size = strnlen(text.data, h->unit_size - name->offset);
    } else if (name->where == IN_LINE_STR || name->where == IN_STR) {
        if (!dwarf_section_text(
                h->sections, name->where == IN_STR ? DWARF_STR : DWARF_LINE_STR,
                name->offset, &text))
            text = (struct span){"", 0};
    }
    return text;
}

static bool
is_absolute(struct span path)
{
    return path.size > 0 && path.data[0] == '/';
}

static size_t
append_path_part(char path[LINE_PATH_MAX], size_t size, struct span part)
{
    size_t fits = LINE_PATH_MAX - 1 - size;

    if (part.size < fits)
        fits = part.size;
    memcpy(path + size, part.data, fits);
    path[size + fits] = '\0';
    return size + fits;
}

/* Puts a path together as binutils does, which keeps ".", ".." and double
 * slashes.  Before DWARF 5 numbers begin with 1, and 0 is the unit's own
 * directory. */
size_t
line_header_path(const struct line_header *h, uint32_t file,
                 char path[LINE_PATH_MAX])
{
    static const struct span slash = {"/", 1};
    struct span name, directory = {"", 0};
    uint32_t index, first = h->version < 5;
    size_t size = 0;

    path[0] = '\0';
    /* hostile or discarded: no path */
    if (file < first || file - first >= h->files.count)
        return 0;
    name = line_name_text(h, &h->files.list[file - first]);
    if (name.size == 0)
        return 0;
    if (is_absolute(name))
        return append_path_part(path, 0, name);
    index = h->files.list[file - first].directory;
    if (index >= first && index - first < h->directories.count)
        directory = line_name_text(h, &h->directories.list[index - first]);
    if (!is_absolute(directory) && h->comp_dir.size > 0) {
        size = append_path_part(path, size, h->comp_dir);
        size = append_path_part(path, size, slash);
    }
    if (directory.size > 0) {
        size = append_path_part(path, size, directory);
        size = append_path_part(path, size, slash);
    }
    return append_path_part(path, size, name);
}
