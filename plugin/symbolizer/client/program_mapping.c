/* program_mapping.c - see program_mapping.h. */
#include "program_mapping.h"

#include <elf.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "elf_file.h"
#include "mappings.h"

static bool
fits(const struct mapping *m, const struct elf_file *elf, uint64_t page)
{
    for (size_t i = 0; i < elf->segment_count; i++) {
        const struct elf_segment *s = &elf->segments[i];
        uint64_t first = s->offset & ~(page - 1);
        uint64_t end = (s->offset + s->file_size + page - 1) & ~(page - 1);

        if (s->type == PT_LOAD && (s->flags & PF_X) && m->offset == first &&
            m->end - m->start == end - first)
            return true;
    }
    return false;
}

static int
likeness(const struct mapping *m, const char *path)
{
    if (strcmp(m->path, path) == 0)
        return 2;
    return strcmp(mapping_basename(m->path), mapping_basename(path)) == 0;
}

const struct mapping *
program_mapping(const struct mappings *maps, const struct elf_file *elf,
                const char *path)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    const struct mapping *best = NULL;

    for (size_t i = 0; i < maps->count; i++) {
        const struct mapping *m = &maps->list[i];

        if (m->executable && m->inode && fits(m, elf, page) &&
            (!best || likeness(m, path) > likeness(best, path)))
            best = m;
    }
    return best;
}
