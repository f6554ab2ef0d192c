/*
 * prof_check.c - see prof_check.h.
 *
 * A raw profile has addresses and paths, but no build-ids.  With another build
 * of the program every name would be wrong, and would look right; and people
 * pass BINARY and PROFILE in the wrong order.  So what can be known from the
 * files themselves (first bytes, sizes of code, inodes, times, build-ids) is
 * checked before names are shown: a contradiction between two profiles is an
 * error, a doubt about a binary a warning.  --index is here, too: it makes the
 * index with the helper (helper.h) and checks the same file first.
 */
#include "prof_check.h"

#include <elf.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "buffer.h"
#include "clean_text.h"
#include "elf_file.h"
#include "errors.h"
#include "files.h"
#include "helper.h"
#include "index_files.h"
#include "mappings.h"
#include "prof_flags.h"
#include "profile.h"
#include "reader.h"
#include "snapshot_file.h"
#include "symbolizer.h"

enum {
    SNAPSHOT_MAGIC_SIZE = sizeof(SNAPSHOT_FILE_MAGIC) - 1,
    REPLACED_MAX = 5, /* files that a warning names */
    PATH_BYTES = 4096
};

bool
prof_check_is_snapshot(const char *text, size_t size)
{
    return size >= SNAPSHOT_MAGIC_SIZE &&
           memcmp(text, SNAPSHOT_FILE_MAGIC, SNAPSHOT_MAGIC_SIZE) == 0;
}

/* ---- BINARY ---- */

static int
check_start(int fd, const char *binary, const char *path, struct error *err)
{
    char start[SNAPSHOT_MAGIC_SIZE];
    ssize_t n = pread(fd, start, sizeof(start), 0);
    size_t size = n > 0 ? (size_t)n : 0;
    bool snapshot = prof_check_is_snapshot(start, size);

    /* jemalloc's own profile begins with "heap_v2/" */
    if (!snapshot && (size < 6 || memcmp(start, "heap_v", 6) != 0))
        return 0;
    error_set(err, ER_WRONG_ARGUMENTS,
              "%s is a %s, not a program; to show what grew since, use "
              "--base=%s %s%s",
              binary, snapshot ? "snapshot" : "profile", binary,
              snapshot ? "" : "BINARY ", path);
    return -1;
}

/* O_NONBLOCK: a pipe in place of the program must not wait for a writer. */
int
prof_check_binary(const char *binary, const char *path, struct error *err)
{
    int fd = open(binary, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    struct stat st;
    int rc = -1;

    if (fd < 0 || fstat(fd, &st) != 0)
        error_sys(err, ER_UNKNOWN, "cannot read %s", binary);
    else if (!S_ISREG(st.st_mode))
        error_set(err, ER_UNKNOWN, "%s is no program: it is %s", binary,
                  S_ISDIR(st.st_mode)    ? "a directory"
                  : S_ISFIFO(st.st_mode) ? "a pipe"
                                         : "not a regular file");
    else
        rc = path ? check_start(fd, binary, path, err) : 0;
    fd_close(fd);
    return rc;
}

/* ---- --base ---- */

/* The first module with a path: the program is mapped below its libraries.
 * NULL: unknown. */
static const struct profile_module *
program_of(const struct profile *profile)
{
    for (size_t i = 0; i < profile->module_count; i++)
        if (profile->modules[i].path[0] == '/')
            return &profile->modules[i];
    return NULL;
}

/* Raw profiles have no build-id, so name, place and size of the code have to
 * do: enough to notice another program or most other builds. */
int
prof_check_program(const struct profile *now, const char *now_path,
                   const struct profile *base, const char *base_path,
                   struct error *err)
{
    const struct profile_module *a = program_of(now), *b = program_of(base);

    if (!a || !b)
        return 0;
    if (strcmp(base_name(a->path), base_name(b->path)) != 0)
        error_set(err, ER_UNKNOWN,
                  "%s is a profile of %s, and %s of %s; add --force to compare "
                  "them anyway",
                  now_path, a->path, base_path, b->path);
    else if (a->offset != b->offset || a->end - a->start != b->end - b->start)
        error_set(err, ER_UNKNOWN,
                  "%s and %s are profiles of two builds of %s, with %llu and "
                  "%llu bytes of code; add --force to compare them "
                  "anyway",
                  now_path, base_path, a->path,
                  (unsigned long long)(a->end - a->start),
                  (unsigned long long)(b->end - b->start));
    else
        return 0;
    return -1;
}

/* ---- files that were replaced ---- */

/* The path comes from the profile and goes to a terminal: control bytes are
 * replaced. */
static void
print_profile_path(const char *path)
{
    char clean[PATH_BYTES];
    struct span text = {path, strnlen(path, sizeof(clean) - 1)};

    clean_text(text, clean);
    fputs(clean, stderr);
}

static void
close_elf(struct elf_file *elf)
{
    /* elf_fini does not close: it borrows the descriptor */
    int fd = elf->fd;

    elf_fini(elf);
    fd_close(fd);
    elf->fd = -1;
}

/* Opens an ELF file; false: it cannot be read.  Close it with close_elf in both
 * cases. */
static bool
open_elf(const char *path, struct elf_file *elf)
{
    struct error ignored;
    int fd = file_open_regular(path);

    if (fd < 0)
        return false;
    if (elf_init(elf, fd, path, &ignored) == 0)
        return true;
    close_elf(elf);
    return false;
}

/* Whether the file at the mapping's path is not the one that was mapped:
 * deleted, another inode, or changed after the profile was written.  Devices
 * are not compared: on some file systems (btrfs, overlay) mappings show another
 * one than stat.  A mapping without a device comes from a rewritten profile,
 * whose inode means nothing.  profile NULL: its time is unknown. */
static bool
is_mapped_file_replaced(const struct mapping *m, const struct stat *profile)
{
    struct stat st;

    if (!m->executable || m->inode == 0 || m->path[0] != '/' ||
        stat(m->path, &st) != 0)
        return false;
    return m->deleted || (m->device && m->inode != st.st_ino) ||
           (profile && st.st_mtim.tv_sec > profile->st_mtim.tv_sec);
}

static bool
is_same_file_by_stat(const char *a, const char *b)
{
    struct stat x, y;

    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev &&
           x.st_ino == y.st_ino;
}

/* Whether both have a build-id, and these differ. */
static bool
is_other_build(const struct elf_file *a, const char *path)
{
    struct elf_file b;
    bool other;

    if (!open_elf(path, &b))
        return false;
    other = a->build_id_size > 0 && b.build_id_size > 0 &&
            (a->build_id_size != b.build_id_size ||
             memcmp(a->build_id, b.build_id, a->build_id_size) != 0);
    close_elf(&b);
    return other;
}

static void
print_mismatched_files(const struct mappings *maps,
                       const struct mapping *program, const char *path,
                       const struct stat *profile)
{
    const char *last = "";
    size_t count = 0;

    for (size_t i = 0; i < maps->count; i++) {
        const struct mapping *m = &maps->list[i];

        if (strcmp(m->path, last) == 0 ||
            !is_mapped_file_replaced(m, profile) ||
            (program && strcmp(m->path, program->path) == 0))
            continue;
        /* a file has several mappings, one after another */
        last = m->path;
        if (count == 0)
            fprintf(stderr, "heapwire-prof: files of %s were replaced: ", path);
        if (count < REPLACED_MAX) {
            fputs(count == 0 ? "" : ", ", stderr);
            print_profile_path(m->path);
        }
        count++;
    }
    if (count > REPLACED_MAX)
        fprintf(stderr, " and %zu more", count - REPLACED_MAX);
    if (count > 0)
        fprintf(stderr, ": names are wrong if the build changed\n");
}

void
prof_check_replaced(const struct mappings *maps, const char *binary,
                    const char *path)
{
    const struct mapping *stands_for = NULL;
    struct elf_file elf = {.fd = -1};
    struct stat status;
    const struct stat *profile =
        stat(path, &status) == 0 && S_ISREG(status.st_mode) ? &status : NULL;

    if (open_elf(binary, &elf))
        stands_for = program_mapping(maps, &elf, binary);
    /* The usual case: BINARY is the mapped file, which is checked with the
     * others. */
    if (stands_for && is_same_file_by_stat(stands_for->path, binary))
        stands_for = NULL;
    print_mismatched_files(maps, stands_for, path, profile);
    if (stands_for && !is_mapped_file_replaced(stands_for, profile) &&
        is_other_build(&elf, stands_for->path)) {
        fprintf(stderr, "heapwire-prof: %s is another build than ", binary);
        print_profile_path(stands_for->path);
        fprintf(stderr, ", the file in %s: names are wrong\n", path);
    }
    close_elf(&elf);
}

enum {
    /* builders of packages have time and memory */
    DEADLINE_MS = 60 * 60 * 1000,
    READER_MB = 4096,
    COMPRESSED_HEAD = 24
};

static const uint64_t memory_bytes = (uint64_t)64 << 30; /* address space */

/* A signalfd as cancel descriptor: the first signal ends the work, and the
 * helper and temporary file are cleaned up.  A limit of file sizes (ulimit -f)
 * becomes an error instead of a signal. */
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
uncompressed_section_size(const struct elf_file *elf,
                          const struct elf_section *section)
{
    uint64_t size = section->size;
    struct buffer head;
    struct reader r;

    if (!(section->flags & SHF_COMPRESSED))
        return size;
    buffer_init(&head, COMPRESSED_HEAD);
    if (elf_read(elf, section->offset, COMPRESSED_HEAD, &head) == 0) {
        r = reader_of(head.data, head.size);
        reader_u64(&r); /* ch_type, ch_reserved */
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
            sum += uncompressed_section_size(elf, &elf->sections[i]);
    return sum;
}

/* Prints the index's size.  The debug sections are those of the program itself:
 * only the symboliser knows a split debug file, so then no share is shown. */
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

/* The helper's limits are an hour and 64 GB of addresses: a packager's machine
 * has no database beside it to protect. */
static int
make_index_with_helper(const char *symbolizer, const struct elf_file *elf,
                       const char *path, const char *target,
                       char remark[INDEX_REMARK_MAX], struct error *err)
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

/* Where to make the index: by --output, or where heapwire looks for one. */
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
    if (make_index_with_helper(symbolizer, &elf, path, target, remark, &why) !=
        0)
        error_set(err, ER_UNKNOWN, "no index of %s: %s", binary, why.text);
    else
        rc = print_size(&elf, target, err);
    if (rc == 0 && remark[0]) /* tell: its debug file may be missing by
                               * mistake */
        fprintf(stderr, "heapwire-prof: the index of %s has symbols only: %s\n",
                binary, remark);
out:
    elf_fini(&elf);
    fd_close(fd);
    free(path);
    return rc;
}
