/*
 * elf_file.h - the few facts of an ELF file that both sides need.
 *
 * 64-bit little-endian files, read with pread through the bounded reader:
 * nothing is mapped, for the file may be cut while we look at it.  Wrong
 * numbers give fewer facts, never a wrong access.
 */
#ifndef HW_ELF_FILE_H
#define HW_ELF_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buffer;
struct error;
struct reader;

enum {
    ELF_SEGMENTS_MAX = 256,
    ELF_SECTIONS_MAX = 65535,
    ELF_NOTES_MAX = 1 << 16,   /* bytes of one PT_NOTE that we read */
    ELF_DYNAMIC_MAX = 1 << 16, /* and of PT_DYNAMIC */
    ELF_BUILD_ID_MAX = 64,
    ELF_BUILD_ID_TEXT = 2 * ELF_BUILD_ID_MAX + 1
};

struct elf_segment {
    uint32_t type, flags; /* PT_*, PF_* */
    uint64_t offset, address, file_size, memory_size, align;
};

struct elf_section {
    char name[24]; /* cut; enough for the names we look for */
    uint32_t type, link;
    uint64_t flags, address, offset, size;
};

struct elf_file {
    int fd; /* borrowed */
    uint64_t size;
    uint16_t type, machine; /* ET_*, EM_* */
    struct elf_segment *segments;
    size_t segment_count;
    uint64_t section_offset; /* of the section headers */
    uint32_t section_count, section_names;
    struct elf_section *sections; /* after elf_load_sections */
    size_t build_id_size;         /* 0: none */
    uint8_t build_id[ELF_BUILD_ID_MAX];
    bool has_soname;
};

/* Reads headers, build-id and whether there is a DT_SONAME. */
int elf_init(struct elf_file *elf, int fd, const char *path, struct error *err);
void elf_fini(struct elf_file *elf); /* a zeroed struct is fine */

/* The build-id in small hexadecimal digits; "" without one. */
void elf_build_id_text(const struct elf_file *elf, char out[ELF_BUILD_ID_TEXT]);

/* Appends PT_DYNAMIC to out, whose ceiling is ELF_DYNAMIC_MAX; -1: there is
 * none.  next gives what it has, up to DT_NULL. */
int elf_dynamic(const struct elf_file *elf, struct buffer *out);
bool elf_dynamic_next(struct reader *r, uint64_t *tag, uint64_t *value);

/* Section headers are needed by few only; none is no error. */
int elf_load_sections(struct elf_file *elf, struct error *err);
const struct elf_section *elf_section(const struct elf_file *elf,
                                      const char *name); /* or NULL */
bool elf_has_dwarf(const struct elf_file *elf);          /* likewise */
/* The section with code or data at address, or NULL. */
const struct elf_section *elf_section_at(const struct elf_file *elf,
                                         uint64_t address);

/* The virtual address of a byte of the file; false if no segment loads it. */
bool elf_address_of(const struct elf_file *elf, uint64_t offset,
                    uint64_t *address);
/* And back; *left is what the segment's file part holds from there on. */
bool elf_offset_of(const struct elf_file *elf, uint64_t address,
                   uint64_t *offset, uint64_t *left);

/* Whether what is in the file at address is loaded as code. */
bool elf_is_code(const struct elf_file *elf, uint64_t address);

/* Appends size bytes at offset of the file to out, or fails. */
int elf_read(const struct elf_file *elf, uint64_t offset, uint64_t size,
             struct buffer *out);
/* The same into size bytes of the caller's.  Any thread. */
int elf_read_at(const struct elf_file *elf, uint64_t offset, uint64_t size,
                void *place);

#endif
