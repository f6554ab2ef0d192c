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

/* True, with out "", if the path is too long to be checked. */
static bool
is_there(const char *directory, const char *below, const char *name,
         char out[PATH_MAX])
{
    int n = snprintf(out, PATH_MAX, "%s%s%s", directory, below, name);

    if (n >= 0 && n < PATH_MAX)
        return access(out, F_OK) == 0;
    out[0] = '\0';
    return true;
}

static bool
find_by_id(const struct elf_file *elf, char out[PATH_MAX])
{
    char text[ELF_BUILD_ID_TEXT], name[ELF_BUILD_ID_TEXT + sizeof("/.debug")];

    if (elf->build_id_size == 0)
        return false;
    elf_build_id_text(elf, text);
    snprintf(name, sizeof(name), "%.2s/%s.debug", text, text + 2);
    return is_there(DEBUG_FILES, "/.build-id/", name, out);
}

/* Tries the places where libbfd looks for a file of that name. */
static bool
find_beside(const char *path, const char *name, char out[PATH_MAX])
{
    char directory[PATH_MAX], *real = realpath(path, NULL);
    size_t size = strlen(path);
    bool there = true;
    char *slash;

    out[0] = '\0';
    if (real && size < sizeof(directory)) {
        memcpy(directory, path, size + 1);
        slash = strrchr(directory, '/');
        directory[slash ? slash - directory + 1 : 0] = '\0';
        strrchr(real, '/')[1] = '\0';
        there = is_there(directory, "", name, out) ||
                is_there(directory, ".debug/", name, out) ||
                is_there(DEBUG_FILES, real, name, out);
    }
    free(real);
    return there;
}

static bool
find_by_link(const struct elf_file *elf, const char *path, char out[PATH_MAX])
{
    const struct elf_section *link = elf_section(elf, ".gnu_debuglink");
    char name[NAME_MAX + 1] = "";

    out[0] = '\0';
    if (!link)
        return false;
    return link->size >= sizeof(name) ||
           elf_read_at(elf, link->offset, link->size, name) != 0 ||
           find_beside(path, name, out);
}

bool
debug_beside_find(const struct elf_file *elf, const char *path,
                  char out[PATH_MAX])
{
    return find_by_id(elf, out) || find_by_link(elf, path, out);
}

bool
debug_beside(struct elf_file *elf, const char *path)
{
    char unused[PATH_MAX];
    struct error unsaid;

    return elf_load_sections(elf, &unsaid) != 0 || elf_has_dwarf(elf) ||
           debug_beside_find(elf, path, unused);
}
