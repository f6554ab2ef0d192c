/* prof_index.c - see prof_index.h. */
#include "prof_index.h"

#include <elf.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>

#include "buffer.h"
#include "elf_file.h"
#include "errors.h"
#include "files.h"
#include "helper.h"
#include "index_files.h"
#include "prof_check.h"
#include "prof_flags.h"
#include "reader.h"

enum {
    PATH_BYTES = 4096,
    DEADLINE_MS = 60 * 60 * 1000,
    READER_MB = 4096, /* builders of packages have memory */
    COMPRESSED_HEAD = 24
};

static const uint64_t memory_bytes = (uint64_t)64 << 30; /* of addresses */

/* The first of these signals ends the making without leaving files behind; a
 * file-size limit (ulimit -f) becomes an error. */
static int
watch_signals(struct error *err)
{
    sigset_t set;
    int fd;

    sigemptyset(&set);
    sigaddset(&set, SIGHUP);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    (void)pthread_sigmask(SIG_BLOCK, &set, NULL);
    signal(SIGXFSZ, SIG_IGN);
    fd = signalfd(-1, &set, SFD_CLOEXEC);
    if (fd < 0)
        error_sys(err, ER_UNKNOWN, "cannot watch for signals");
    return fd;
}

/* A section's size without compression. */
static uint64_t
plain_size(const struct elf_file *elf, const struct elf_section *section)
{
    uint64_t size = section->size;
    struct buffer head;
    struct reader r;

    if (!(section->flags & SHF_COMPRESSED))
        return size;
    buffer_init(&head, COMPRESSED_HEAD);
    if (elf_read(elf, section->offset, COMPRESSED_HEAD, &head) == 0) {
        r = reader_of(head.data, head.size);
        reader_u64(&r); /* compression type */
        size = reader_u64(&r);
    }
    buffer_fini(&head);
    return size;
}

static uint64_t
debug_bytes(const struct elf_file *elf)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < elf->section_count; i++)
        if (strncmp(elf->sections[i].name, ".debug_", 7) == 0 ||
            strncmp(elf->sections[i].name, ".zdebug_", 8) == 0)
            sum += plain_size(elf, &elf->sections[i]);
    return sum;
}

/* A split debug file was found by the symboliser, so its size is unknown here.
 */
static int
print_size(const struct elf_file *elf, const char *target, struct error *err)
{
    uint64_t debug = debug_bytes(elf);
    struct stat st;

    if (stat(target, &st) != 0) {
        error_sys(err, ER_UNKNOWN, "cannot look at %s", target);
        return -1;
    }
    printf("%s: %.1f MB", target, (double)st.st_size / 1e6);
    if (debug > 0)
        printf(", %.1f %% of the %.1f MB of debug sections",
               100.0 * (double)st.st_size / (double)debug, (double)debug / 1e6);
    putchar('\n');
    return 0;
}

static int
make(const char *symbolizer, const struct elf_file *elf, const char *path,
     const char *target, char remark[INDEX_REMARK_MAX], struct error *err)
{
    struct helper_options options = {.program = symbolizer,
                                     .memory_bytes = memory_bytes,
                                     .cpu_ms = DEADLINE_MS,
                                     .reader_mb = READER_MB};
    struct helper *helper = NULL;
    int rc = -1;

    options.cancel_fd = watch_signals(err);
    if (options.cancel_fd >= 0)
        helper = helper_new(&options, err);
    if (helper)
        rc = index_file_make(helper, elf, path, target, DEADLINE_MS, remark,
                             err);
    helper_free(helper);
    fd_close(options.cancel_fd);
    return rc;
}

/* Without --output: where it is looked for. */
static int
choose_target(const struct prof_command *command, const struct elf_file *elf,
              const char *path, char target[PATH_BYTES], struct error *err)
{
    int size;

    if (command->symbols && elf->build_id_size > 0) {
        if (index_file_path(elf, command->symbols, target, PATH_BYTES) == 0)
            return 0;
    } else {
        size = command->output
                   ? snprintf(target, PATH_BYTES, "%s", command->output)
                   : snprintf(target, PATH_BYTES, "%s" INDEX_FILE_SUFFIX, path);
        if (size > 0 && size < PATH_BYTES)
            return 0;
    }
    error_set(err, ER_UNKNOWN, "the path of the index is too long");
    return -1;
}

int
prof_index_make(const char *symbolizer, const struct prof_command *command,
                struct error *err)
{
    const char *binary = command->arguments[0];
    struct error why = {0};
    struct elf_file elf = {0};
    char *path = realpath(binary, NULL);
    char target[PATH_BYTES], remark[INDEX_REMARK_MAX];
    int fd = -1, rc = -1;

    if (path)
        fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) {
        error_sys(err, ER_UNKNOWN, "cannot read %s", binary);
        goto out;
    }
    if (prof_check_binary(binary, NULL, err) != 0 ||
        elf_init(&elf, fd, binary, err) != 0 ||
        elf_load_sections(&elf, err) != 0 ||
        choose_target(command, &elf, path, target, err) != 0)
        goto out;
    if (make(symbolizer, &elf, path, target, remark, &why) != 0)
        error_set(err, ER_UNKNOWN, "no index of %s: %s", binary, why.text);
    else
        rc = print_size(&elf, target, err);
    if (rc == 0 && remark[0]) /* its debug file may be missing by mistake */
        fprintf(stderr, "heapwire-prof: the index of %s has symbols only: %s\n",
                binary, remark);
out:
    elf_fini(&elf);
    fd_close(fd);
    free(path);
    return rc;
}
