/* debug_file.c - see debug_file.h. */
#include "debug_file.h"

#include <fcntl.h>
#include <stdlib.h>

#include "bfd_names.h"
#include "errors.h"
#include "files.h"

void
debug_file_init(struct debug_file *file)
{
    *file = (struct debug_file){.fd = -1};
}

void
debug_file_fini(struct debug_file *file)
{
    elf_fini(&file->elf);
    fd_close(file->fd);
    free(file->path);
}

const struct elf_file *
debug_file_find(struct debug_file *file, int fd, const char *path)
{
    struct error err;

    if (!file->sought) {
        file->sought = true;
        file->path = bfd_debug_file(fd, path);
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
