/*
 * section_file.h - a file of named sections, as dwarf_sections_new wants it,
 * without the rest of ELF.  For unit tests and fuzz targets.
 */
#ifndef HW_SECTION_FILE_H
#define HW_SECTION_FILE_H

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "elf_file.h"

enum { SECTION_FILE_MAX = 16 };

struct section_file {
    struct elf_file elf;
    struct elf_section sections[SECTION_FILE_MAX];
};

static inline void
section_file_init(struct section_file *file)
{
    *file = (struct section_file){0};
    file->elf.fd = memfd_create("sections", MFD_CLOEXEC);
    file->elf.sections = file->sections;
    if (file->elf.fd < 0)
        abort();
}

static inline void
section_file_fini(struct section_file *file)
{
    close(file->elf.fd);
}

/* May be called again for the next ones after section_file_clear. */
static inline void
section_file_add(struct section_file *file, const char *name, const void *data,
                 size_t size)
{
    struct elf_file *elf = &file->elf;
    struct elf_section *s = &file->sections[elf->section_count];

    if (elf->section_count == SECTION_FILE_MAX ||
        pwrite(elf->fd, data, size, (off_t)elf->size) != (ssize_t)size)
        abort();
    *s = (struct elf_section){.type = 1, .offset = elf->size, .size = size};
    snprintf(s->name, sizeof(s->name), "%s", name);
    elf->size += size;
    elf->section_count++;
}

static inline void
section_file_clear(struct section_file *file)
{
    file->elf.size = file->elf.section_count = 0;
}

#endif
