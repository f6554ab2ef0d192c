/*
 * fuzz_locate.c - any bytes as a program with a jemalloc.
 *
 * What says that it is one, and for which machine, is set right first: else
 * nothing would ever get behind it.
 */
#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "errors.h"
#include "files.h"
#include "fuzz_target.h"
#include "locate.h"

enum { SIZE_LIMIT = 1 << 16 };

static void
check(const struct locate *file)
{
    if (file->count > LOCATE_JEMALLOCS_MAX ||
        (file->count == 0 && (file->marks & LOCATE_JEMALLOC)) ||
        strlen(file->version) >= sizeof(file->version))
        abort();
    for (size_t i = 0; i < file->count; i++) {
        const struct locate_jemalloc *j = &file->jemallocs[i];

        if (strlen(j->prefix) >= LOCATE_PREFIX_MAX ||
            strlen(j->variable) >= LOCATE_VARIABLE_MAX ||
            strlen(j->identity) >= LOCATE_IDENTITY_MAX ||
            (j->how == LOCATE_NOWHERE && j->mallctl != 0))
            abort();
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint8_t ident[] = {0x7f, 'E',        'L',
                                    'F',  ELFCLASS64, ELFDATA2LSB};
    static uint8_t bytes[SIZE_LIMIT];
    static int fd = -1;
    struct locate file;
    struct error err;

    if (fd < 0)
        fd = memfd_create("fuzz", MFD_CLOEXEC);
    if (fd < 0 || size > SIZE_LIMIT || size < sizeof(Elf64_Ehdr))
        return 0;
    memcpy(bytes, data, size);
    memcpy(bytes, ident, sizeof(ident));
    bytes[18] = bytes[18] & 1 ? EM_AARCH64 : EM_X86_64;
    bytes[19] = 0;
    bytes[54] = sizeof(Elf64_Phdr);
    bytes[55] = 0;
    if (ftruncate(fd, 0) != 0 || lseek(fd, 0, SEEK_SET) != 0 ||
        fd_write_all(fd, (const char *)bytes, size) != 0)
        abort();
    if (locate_read(&file, fd, NULL, &err) != 0)
        return 0;
    check(&file);
    if (locate_give(&file, fd, "fuzz", "je_mallctl", 0, &err) == 0)
        check(&file);
    return 0;
}
