/*
 * dwarf_sections.h - the bytes of one file's DWARF sections, read when needed.
 *
 * Uses pread only: a file that is cut or replaced meanwhile gives an error,
 * never a signal.  A section is an area of its full size.  Its blocks (64 KiB,
 * or 4 KiB where reads are scattered) are read when first touched, so pointers
 * into it last as long as the sections, and untouched blocks cost no memory.
 * Compressed sections (ELF "Section Compression": zlib, zstd; and .zdebug_*)
 * are inflated whole, or as far as needed.  Callable from any thread.
 */
#ifndef HW_DWARF_SECTIONS_H
#define HW_DWARF_SECTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reader.h"

struct buffer;
struct dwarf_budget;
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
    DWARF_FRAME,
    DWARF_SECTION_COUNT
};

/*
 * elf has loaded sections; it and its descriptor must outlive this.  memory_max
 * limits all that is read and inflated here, and what users take from the
 * budget (dwarf_budget.h).
 */
struct dwarf_sections *dwarf_sections_new(const struct elf_file *elf,
                                          size_t memory_max, struct error *err);
void dwarf_sections_free(struct dwarf_sections *sections); /* NULL is fine */

/* The budget that the sections and their users share. */
struct dwarf_budget *dwarf_sections_budget(struct dwarf_sections *sections);

/* As a reader sees it, inflated; 0: no such section. */
uint64_t dwarf_section_size(const struct dwarf_sections *sections,
                            enum dwarf_section which);

/* Whether it is a zlib section not inflated yet. */
bool dwarf_section_packed(const struct dwarf_sections *sections,
                          enum dwarf_section which);

/* Makes the section inflate from its start as far as needed.  To be called
 * before other threads read it. */
void dwarf_section_stream(struct dwarf_sections *sections,
                          enum dwarf_section which);

/* Borrowed bytes; NULL with *err: missing, unreadable, or no room (only then
 * the code is ER_OUT_OF_MEMORY). */
const uint8_t *dwarf_section_bytes(struct dwarf_sections *sections,
                                   enum dwarf_section which, uint64_t offset,
                                   uint64_t size, struct error *err);

/* The text at offset, up to its NUL; false: it cannot be read. */
bool dwarf_section_text(struct dwarf_sections *sections,
                        enum dwarf_section which, uint64_t offset,
                        struct span *text);

/* Reads a run into out, without keeping blocks: for a unit that is read once.
 */
int dwarf_section_copy(struct dwarf_sections *sections,
                       enum dwarf_section which, uint64_t offset, uint64_t size,
                       struct buffer *out, struct error *err);

/* The same into place, which has size bytes. */
int dwarf_section_read(struct dwarf_sections *sections,
                       enum dwarf_section which, uint64_t offset, uint64_t size,
                       void *place, struct error *err);

#endif
