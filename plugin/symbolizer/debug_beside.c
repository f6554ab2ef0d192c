/* debug_beside.c - see debug_beside.h. */
#include "debug_beside.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "elf_file.h"
#include "errors.h"
#include "symbolizer_wire.h"

#define DEBUG_DIRECTORY "/usr/lib/debug"
#define DEBUG_FILES     DEBUG_DIRECTORY "/.build-id/"

/* Whether there is a file of that name where libbfd looks for one that a
 * debuglink names. */
static bool
is_beside(const char *object_path, const char *name)
{
    static const struct {
        const char *before, *behind; /* the object's directory */
    } places[] = {{"", ""}, {"", "/.debug"}, {DEBUG_DIRECTORY, ""}};
    const char *slash = strrchr(object_path, '/');
    char path[2 * WIRE_PATH_MAX];

    for (size_t i = 0; slash && i < sizeof(places) / sizeof(places[0]); i++) {
        snprintf(path, sizeof(path), "%s%.*s%s/%s", places[i].before,
                 (int)(slash - object_path), object_path, places[i].behind,
                 name);
        if (access(path, F_OK) == 0)
            return true;
    }
    return false;
}

static bool
has_debuglink_file(const struct elf_file *elf, const char *object_path)
{
    const struct elf_section *link = elf_section(elf, ".gnu_debuglink");
    char name[NAME_MAX + 1] = "";

    if (!link)
        return false;
    return elf_read_at(elf, link->offset,
                       link->size < NAME_MAX ? link->size : NAME_MAX,
                       name) != 0 ||
           is_beside(object_path, name);
}

static bool
has_build_id_file(const struct elf_file *elf)
{
    char path[sizeof(DEBUG_FILES) + 2 * ELF_BUILD_ID_MAX + sizeof("/.debug")];
    size_t n = sizeof(DEBUG_FILES) - 1;

    memcpy(path, DEBUG_FILES, sizeof(DEBUG_FILES));
    for (size_t i = 0; i < elf->build_id_size; i++)
        n += (size_t)snprintf(path + n, sizeof(path) - n, "%02x%s",
                              elf->build_id[i], i == 0 ? "/" : "");
    snprintf(path + n, sizeof(path) - n, ".debug");
    return access(path, F_OK) == 0;
}

bool
debug_beside(struct elf_file *elf, const char *path)
{
    struct error unsaid;

    return elf_load_sections(elf, &unsaid) != 0 || elf_has_dwarf(elf) ||
           has_build_id_file(elf) || has_debuglink_file(elf, path);
}
