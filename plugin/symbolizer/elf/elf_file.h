/*
 * elf_file.h - the facts of an ELF file that client and helper need.
 *
 * For 64-bit little-endian files, read with pread through the bounded reader.
 * Nothing is mapped, because the file may be cut meanwhile.  Wrong numbers give
 * fewer facts, never a wrong access.
 */
#ifndef HW_ELF_FILE_H
#define HW_ELF_FILE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buffer;
struct error;
struct reader;

enum {
    ELF_SEGMENTS_MAX = 256,
    ELF_SECTIONS_MAX = 65535,
    ELF_NOTES_MAX = 1 << 16,   /* bytes read of one PT_NOTE at most */
    ELF_DYNAMIC_MAX = 1 << 16, /* bytes of PT_DYNAMIC at most */
    ELF_BUILD_ID_MAX = 64,
    ELF_BUILD_ID_TEXT = 2 * ELF_BUILD_ID_MAX + 1
};

struct elf_segment {
    uint32_t type, flags; /* PT_*, PF_* */
    uint64_t offset, address, file_size, memory_size, align;
};

struct elf_section {
    char name[24]; /* truncated; enough for the names we look for */
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

/* Reads headers and build-id, and whether there is a DT_SONAME.  Borrows fd;
 * path is only for errors.  -1 with *err: elf may still be given to
 * elf_fini. */
int elf_init(struct elf_file *elf, int fd, const char *path, struct error *err);
void elf_fini(struct elf_file *elf); /* a zeroed struct is fine */

/* The build-id in lower-case hexadecimal digits; "" without one. */
void elf_build_id_text(const struct elf_file *elf, char out[ELF_BUILD_ID_TEXT]);

/* Appends PT_DYNAMIC to out, whose ceiling is ELF_DYNAMIC_MAX; -1: there is
 * none.  elf_dynamic_next reads its entries up to DT_NULL. */
int elf_dynamic(const struct elf_file *elf, struct buffer *out);
bool elf_dynamic_next(struct reader *r, uint64_t *tag, uint64_t *value);

/* Loads the section headers, which few callers need; a file without them is no
 * error. */
int elf_load_sections(struct elf_file *elf, struct error *err);
const struct elf_section *elf_section(const struct elf_file *elf,
                                      const char *name); /* or NULL */
bool elf_has_dwarf(const struct elf_file *elf);          /* needs the sections,
                                                          * too */
/* The section with code or data at address, or NULL. */
const struct elf_section *elf_section_at(const struct elf_file *elf,
                                         uint64_t address);

/* The virtual address of a byte of the file; false: no segment loads it. */
bool elf_address_of(const struct elf_file *elf, uint64_t offset,
                    uint64_t *address);
/* The reverse; *left: how many bytes of the file the segment has from there
 * on. */
bool elf_offset_of(const struct elf_file *elf, uint64_t address,
                   uint64_t *offset, uint64_t *left);

/* Whether the file's bytes for address are loaded as code. */
bool elf_is_code(const struct elf_file *elf, uint64_t address);

/* Appends size bytes at offset of the file to out, or fails. */
int elf_read(const struct elf_file *elf, uint64_t offset, uint64_t size,
             struct buffer *out);
/* Reads to place, which has size bytes.  Callable from any thread. */
int elf_read_at(const struct elf_file *elf, uint64_t offset, uint64_t size,
                void *place);

/* The split debug file of an object. */

/* Finds it by build-id or debuglink, where libbfd looks; does not read the
 * file.  The sections must be loaded.  out is "" if there may be one, but its
 * path cannot be checked. */
bool debug_split_find(const struct elf_file *elf, const char *path,
                      char out[PATH_MAX]);

/* Sets the directory of fetched debug files, "<build-id>.debug" each, which are
 * looked for last.  Borrowed; call it once, before any thread starts.  NULL:
 * none. */
void debug_fetched_set(const char *dir);
const char *debug_fetched_dir(void);
/* Whether elf's debug file is there; out is then its path. */
bool debug_fetched_find(const struct elf_file *elf, char out[PATH_MAX]);

/* Whether debug information may exist, in the file or beside it, that an index
 * with symbols only must not hide.  Loads the sections. */
bool debug_info_may_exist(struct elf_file *elf, const char *path);

#endif
