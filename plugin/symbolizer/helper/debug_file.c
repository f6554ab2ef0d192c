/* debug_file.c - see debug_file.h. */
#include "debug_file.h"

#include <fcntl.h>
#include <stdlib.h>

#include "bfd_names.h"
#include "errors.h"
#include "files.h"
#include "object_symbols.h"

void
debug_file_init(struct debug_file *file, const struct elf_file *object,
                const char *path)
{
    *file =
        (struct debug_file){.object = object, .object_path = path, .fd = -1};
}

void
debug_file_fini(struct debug_file *file)
{
    elf_fini(&file->elf);
    fd_close(file->fd);
    free(file->path);
}

/* NULL: none. */
static const struct elf_file *
find(struct debug_file *file)
{
    struct error err;

    if (!file->sought) {
        file->sought = true;
        file->path = bfd_debug_file(file->object->fd, file->object_path);
        if (file->path)
            file->fd = open(file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        if (file->fd >= 0 &&
            (elf_init(&file->elf, file->fd, file->path, &err) != 0 ||
             elf_load_sections(&file->elf, &err) != 0)) {
            fd_close(file->fd);
            file->fd = -1;
        }
    }
    return file->fd >= 0 ? &file->elf : NULL;
}

const struct elf_file *
debug_file_dwarf(struct debug_file *file, const char **path)
{
    const struct elf_file *elf = file->object;

    *path = file->object_path;
    if (elf_has_dwarf(elf))
        return elf;
    elf = find(file);
    *path = file->path;
    return elf && elf_has_dwarf(elf) ? elf : NULL;
}

const struct elf_file *
debug_file_symbols(struct debug_file *file)
{
    return object_has_symbols(file->object) ? NULL : find(file);
}
