/* debug_beside.c - see debug_beside.h. */
#include "debug_beside.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "elf_file.h"
#include "errors.h"

#define DEBUG_FILES "/usr/lib/debug"

/* Perhaps, where the path is too long to be looked at. */
static bool
is_there(const char *directory, const char *below, const char *name)
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof(path), "%s%s%s", directory, below, name);

    return n < 0 || (size_t)n >= sizeof(path) || access(path, F_OK) == 0;
}

static bool
has_file_by_id(const struct elf_file *elf)
{
    char text[ELF_BUILD_ID_TEXT], name[ELF_BUILD_ID_TEXT + sizeof("/.debug")];

    if (elf->build_id_size == 0)
        return false;
    elf_build_id_text(elf, text);
    snprintf(name, sizeof(name), "%.2s/%s.debug", text, text + 2);
    return is_there(DEBUG_FILES, "/.build-id/", name);
}

/* In the places where libbfd looks for one of that name. */
static bool
is_beside(const char *path, const char *name)
{
    char directory[PATH_MAX], *real = realpath(path, NULL);
    size_t size = strlen(path);
    bool there = true;
    char *slash;

    if (real && size < sizeof(directory)) {
        memcpy(directory, path, size + 1);
        slash = strrchr(directory, '/');
        directory[slash ? slash - directory + 1 : 0] = '\0';
        strrchr(real, '/')[1] = '\0';
        there = is_there(directory, "", name) ||
                is_there(directory, ".debug/", name) ||
                is_there(DEBUG_FILES, real, name);
    }
    free(real);
    return there;
}

static bool
has_file_by_link(const struct elf_file *elf, const char *path)
{
    const struct elf_section *link = elf_section(elf, ".gnu_debuglink");
    char name[NAME_MAX + 1] = "";

    if (!link)
        return false;
    return link->size >= sizeof(name) ||
           elf_read_at(elf, link->offset, link->size, name) != 0 ||
           is_beside(path, name);
}

bool
debug_beside(struct elf_file *elf, const char *path)
{
    struct error unsaid;

    return elf_load_sections(elf, &unsaid) != 0 || elf_has_dwarf(elf) ||
           has_file_by_id(elf) || has_file_by_link(elf, path);
}
