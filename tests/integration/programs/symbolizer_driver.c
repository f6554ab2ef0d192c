/*
 * symbolizer_driver.c - symbolizer_driver HELPER OBJECT [PATH] < addresses
 *
 * Asks hw_symbolizer for the hexadecimal virtual addresses on standard input,
 * as if OBJECT lay where its program headers say, and prints what
 * `addr2line -afiC` would.  PATH: what the mapping is called, if not OBJECT.
 * Notes, times and the helper's peak memory go to standard error; REPEAT=n
 * asks n times, after the first from the cache.
 */
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "elf_file.h"
#include "errors.h"
#include "mappings.h"
#include "names.h"
#include "symbolizer.h"

enum { ADDRESSES = 1 << 20, PAGE = 4096 };

static int
reopen(void *arg, const struct mapping *mapping)
{
    (void)mapping;
    return fcntl(*(int *)arg, F_DUPFD_CLOEXEC, 0);
}

static size_t
map_code(const struct elf_file *elf, const char *path, struct mapping *list)
{
    struct stat st;
    size_t count = 0;

    fstat(elf->fd, &st);
    for (size_t i = 0; i < elf->segment_count; i++) {
        const struct elf_segment *s = &elf->segments[i];
        struct mapping *m = &list[count];

        if (s->type != PT_LOAD || !(s->flags & PF_X))
            continue;
        m->start = s->address & ~(uint64_t)(PAGE - 1);
        m->end = (s->address + s->file_size + PAGE - 1) & ~(uint64_t)(PAGE - 1);
        m->offset = s->offset & ~(uint64_t)(PAGE - 1);
        m->device = st.st_dev;
        m->inode = st.st_ino;
        m->executable = true;
        m->path = path;
        count++;
    }
    return count;
}

static size_t
read_addresses(uint64_t *addresses)
{
    char line[64];
    size_t count = 0;

    while (count < ADDRESSES && fgets(line, sizeof(line), stdin))
        addresses[count++] = strtoull(line, NULL, 16);
    return count;
}

static void
print(const struct names *names, const uint64_t *addresses, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct location *l = names_find(names, addresses[i]);

        printf("0x%016llx\n", (unsigned long long)addresses[i]);
        for (uint32_t j = 0; l && j < l->frame_count; j++) {
            const struct frame *f = &l->frames[j];

            printf("%s\n%s:", f->function, f->file[0] ? f->file : "??");
            if (f->line)
                printf("%u\n", (unsigned)f->line);
            else
                puts("?");
        }
        if (l && l->in_allocator)
            puts("(allocator)");
    }
}

int
main(int argc, char **argv)
{
    static uint64_t addresses[ADDRESSES];
    static struct mapping list[ELF_SEGMENTS_MAX];
    const char *repeat = getenv("REPEAT");
    struct symbolizer_options options = {0};
    struct resolve_request request = {0};
    struct mappings maps = {list, 0};
    struct names *names = NULL;
    struct elf_file elf;
    struct error err;
    struct symbolizer *s;
    int fd = argc > 2 ? open(argv[2], O_RDONLY | O_CLOEXEC) : -1;

    if (fd < 0 || elf_init(&elf, fd, argv[2], &err) != 0)
        return 2;
    maps.count = map_code(&elf, argc > 3 ? argv[3] : argv[2], list);
    options.program = argv[1];
    request.maps = &maps;
    request.addresses = addresses;
    request.count = read_addresses(addresses);
    request.open_object = reopen;
    request.arg = &fd;
    s = symbolizer_new(&options, &err);
    for (int n = repeat ? atoi(repeat) : 1; s && n > 0; n--) {
        uint64_t start = clock_ms();
        struct rusage usage; /* the helper is the only child */

        names_free(names);
        if (symbolizer_resolve(s, &request, &names, &err) != 0)
            return 1;
        getrusage(RUSAGE_CHILDREN, &usage);
        fprintf(stderr, "%zu addresses in %llu ms, %ld MB%s%s\n", request.count,
                (unsigned long long)(clock_ms() - start), usage.ru_maxrss >> 10,
                names_note(names)[0] ? ": " : "", names_note(names));
    }
    print(names, addresses, request.count);
    names_free(names);
    symbolizer_free(s);
    elf_fini(&elf);
    return 0;
}
