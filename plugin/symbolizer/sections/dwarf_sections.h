/*
 * dwarf_sections.h - the bytes of one file's DWARF sections, read when needed.
 *
 * pread only: a file that is cut or replaced while we read gives an error,
 * never a signal.  A section is an area of its full size whose blocks (64 KiB,
 * or 4 KiB where reads are scattered) are read when they are first touched, so
 * that pointers into it last as long as the sections and only what was touched
 * costs memory.  Compressed sections (ELF "Section Compression": zlib, zstd;
 * and .zdebug_*) are inflated whole, or as far as they are asked for. Any
 * thread.
 */
#ifndef HW_DWARF_SECTIONS_H
#define HW_DWARF_SECTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reader.h"

struct buffer;
struct dwarf_room;
struct dwarf_sections;
struct elf_file;
struct error;

enum { DWARF_TEXT_MAX = 1 << 20 }; /* bytes of one text */

enum dwarf_section {
    DWARF_ABBREV,
    DWARF_ADDR,
    DWARF_ARANGES,
    DWARF_INFO,
    DWARF_LINE,
    DWARF_LINE_STR,
    DWARF_RANGES,
    DWARF_RNGLISTS,
    DWARF_STR,
    DWARF_STR_OFFSETS,
    DWARF_SECTION_COUNT
};

/*
 * Of a file with loaded sections, which has to outlive them, as its descriptor.
 * memory_max is for all that is read and inflated, here and by those who ask
 * for room, see dwarf_room.h.
 */
struct dwarf_sections *dwarf_sections_new(const struct elf_file *elf,
                                          size_t memory_max, struct error *err);
void dwarf_sections_free(struct dwarf_sections *sections); /* NULL is fine */

const struct elf_file *
dwarf_sections_file(const struct dwarf_sections *sections);

/* What the sections and their users count together. */
struct dwarf_room *dwarf_sections_room(struct dwarf_sections *sections);

/* As a reader sees it, inflated; 0: not there. */
uint64_t dwarf_section_size(const struct dwarf_sections *sections,
                            enum dwarf_section which);

/* Is it a zlib section that is not inflated as yet? */
bool dwarf_section_packed(const struct dwarf_sections *sections,
                          enum dwarf_section which);

/* From now on that one is inflated from its start, as far as it is asked for.
 * Before other threads ask for it. */
void dwarf_section_stream(struct dwarf_sections *sections,
                          enum dwarf_section which);

/* Borrowed bytes; NULL with *err when they are not there, cannot be read or
 * there is no room (then, and only then, its code is ER_OUT_OF_MEMORY). */
const uint8_t *dwarf_section_bytes(struct dwarf_sections *sections,
                                   enum dwarf_section which, uint64_t offset,
                                   uint64_t size, struct error *err);

/* The text at offset, up to its NUL; false: there is none that can be read. */
bool dwarf_section_text(struct dwarf_sections *sections,
                        enum dwarf_section which, uint64_t offset,
                        struct span *text);

/* Reads a run into out, past the blocks: for a unit that is read once. */
int dwarf_section_copy(struct dwarf_sections *sections,
                       enum dwarf_section which, uint64_t offset, uint64_t size,
                       struct buffer *out, struct error *err);

/* The same into size bytes of the caller's. */
int dwarf_section_read(struct dwarf_sections *sections,
                       enum dwarf_section which, uint64_t offset, uint64_t size,
                       void *place, struct error *err);

#endif
