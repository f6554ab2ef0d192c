/*
 * index_files.c - see index_files.h.
 *
 * An index gives functions their names, so whoever can write one could make
 * heapwired print anything: the path is opened without following links, and the
 * file's owner and mode are checked (index_distrust_reason).  Contents are
 * checked by the reader, against the build-id.  Writing goes to a temporary
 * file first, so that a reader never sees half an index and a failure leaves
 * the old one.
 */
#include "index_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "reader.h"
#include "clean_text.h"
#include "elf_file.h"
#include "errors.h"
#include "files.h"
#include "helper.h"
#include "mappings.h"
#include "own_file.h"

enum { PATH_BYTES = 4096, MODE = 0644 };

static const uint64_t index_bytes_max = (uint64_t)2 << 30;

/* Keeps the first reason: the directory's index would have been preferred. */
static void
report_skipped_index(const char *path, const char *reason, struct error *why)
{
    if (!why || why->text[0])
        return;
    error_set(why, ER_UNKNOWN, "its symbol index %s is skipped: %s",
              base_name(path), reason);
}

/* Opens a regular file; refuses devices and symbolic links, and does not wait
 * for a pipe's writer (ENXIO).  A missing file is no reason to tell. */
static int
open_regular_index(const char *path, struct error *why)
{
    int fd =
        open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    const char *reason = NULL;
    char said[128];
    struct stat st;

    /* the usual case: there is no index */
    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
        return -1;
    if (fd < 0 && errno == ELOOP)
        reason = "it is a symbolic link";
    else if (fd < 0 && errno != ENXIO)
        reason = strerror_r(errno, said, sizeof(said));
    else if (fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
        reason = "it is not a regular file";
    if (!reason)
        return fd;
    report_skipped_index(path, reason, why);
    fd_close(fd);
    return -1;
}

/* Why an index beside an object is not to be trusted; NULL: it is.  Programs
 * under test lie in directories that anybody may write to (/tmp), and an index
 * can give functions any names. */
static const char *
index_distrust_reason(const struct elf_file *elf, int fd)
{
    struct stat object, index;

    if (fstat(elf->fd, &object) != 0 || fstat(fd, &index) != 0)
        return "it cannot be examined";
    if (index.st_mode & S_IWOTH)
        return "it is world-writable (chmod o-w)";
    if (index.st_uid == 0 || index.st_uid == geteuid() ||
        index.st_uid == object.st_uid)
        return NULL;
    return "it belongs neither to the owner of the object nor to this user "
           "(chown)";
}

int
index_file_path(const struct elf_file *elf, const char *directory, char *path,
                size_t size)
{
    char id[ELF_BUILD_ID_TEXT];
    int n;

    elf_build_id_text(elf, id);
    n = snprintf(path, size, "%s/%s" INDEX_FILE_SUFFIX, directory, id);
    return id[0] && n >= 0 && (size_t)n < size ? 0 : -1;
}

/* false: the path is too long. */
static bool
format_shipped_index_path(const char *path, char place[PATH_BYTES])
{
    int size = snprintf(place, PATH_BYTES, "%s" INDEX_FILE_SUFFIX, path);

    return size > 0 && size < PATH_BYTES;
}

int
index_file_open(const struct elf_file *elf, const char *directory,
                const char *path, struct error *why)
{
    char place[PATH_BYTES];
    const char *reason;
    int fd = -1;

    if (why)
        why->text[0] = '\0';
    if (elf->build_id_size == 0) /* without a build-id an index cannot be
                                  * matched to its object */
        return -1;
    if (directory && index_file_path(elf, directory, place, sizeof(place)) == 0)
        fd = open_regular_index(place, why);
    if (fd >= 0 || !path)
        return fd;
    if (format_shipped_index_path(path, place))
        fd = open_regular_index(place, why);
    reason = fd >= 0 ? index_distrust_reason(elf, fd) : NULL;
    if (!reason)
        return fd;
    report_skipped_index(place, reason, why);
    fd_close(fd);
    return -1;
}

bool
index_file_is_shipped(const char *path)
{
    char place[PATH_BYTES];

    return format_shipped_index_path(path, place) && access(place, F_OK) == 0;
}

struct output {
    int fd;
    const char *path;
    uint64_t size;
    char *remark;
};

/* helper_index.write */
static int
write_index_output(void *arg, const void *data, size_t size, struct error *err)
{
    struct output *out = arg;

    if (size > index_bytes_max - out->size) {
        error_set(err, ER_UNKNOWN, "the symbol index is larger than %llu MB",
                  (unsigned long long)(index_bytes_max >> 20));
        return -1;
    }
    if (fd_write_all(out->fd, data, size) != 0) {
        error_sys(err, ER_UNKNOWN, "cannot write %s", out->path);
        return -1;
    }
    out->size += size;
    return 0;
}

/* helper_index.symbols_only */
static void
on_index_remark(void *arg, struct span why)
{
    struct output *out = arg;

    /* the helper's text is bounded, but the helper is not trusted */
    if (why.size < INDEX_REMARK_MAX)
        clean_text(why, out->remark);
}

/* Whole only if the helper has said so without a complaint: it may die in the
 * middle, and what was written by then looks like an index. */
static int
fill_index_output(struct helper *helper, const struct elf_file *elf,
                  const char *path, struct output *out, uint32_t deadline_ms,
                  struct error *err)
{
    struct helper_index index = {.object_fd = elf->fd,
                                 .path = path,
                                 .deadline_ms = deadline_ms,
                                 .write = write_index_output,
                                 .symbols_only =
                                     out->remark ? on_index_remark : NULL,
                                 .arg = out};
    struct error why = {0};

    switch (helper_make_index(helper, &index, &why)) {
    case HELPER_DONE:
        if (!why.text[0] && out->size > 0)
            return 0;
        error_set(err, ER_UNKNOWN, "%s",
                  why.text[0] ? why.text : "the symbol index is empty");
        return -1;
    case HELPER_CANCELLED:
        error_set(err, ER_UNKNOWN, "cancelled");
        return -1;
    default:
        *err = why;
        return -1;
    }
}

/* Refuses to replace anything but a regular file. */
static int
check_target(const char *target, struct error *err)
{
    struct stat st;

    if (lstat(target, &st) != 0 || S_ISREG(st.st_mode))
        return 0;
    error_set(err, ER_UNKNOWN, "%s is in the way: it is not a regular file",
              target);
    return -1;
}

int
index_file_make(struct helper *helper, const struct elf_file *elf,
                const char *path, const char *target, uint32_t deadline_ms,
                char remark[INDEX_REMARK_MAX], struct error *err)
{
    char name[PATH_BYTES];
    struct output out = {.fd = -1, .path = target, .remark = remark};
    int rc = -1;

    if (remark)
        remark[0] = '\0';
    if (elf->build_id_size == 0) {
        error_set(err, ER_UNKNOWN,
                  "%s has no build-id, which identifies its index: "
                  "link it with -Wl,--build-id",
                  path);
        return -1;
    }
    if (check_target(target, err) != 0)
        return -1;
    /* A unique temporary name: two processes may be making the same index. */
    out.fd = tmp_file_make(AT_FDCWD, target, MODE, name, sizeof(name));
    if (out.fd < 0) {
        error_sys(err, ER_UNKNOWN, "cannot write %s", target);
        return -1;
    }
    if (fill_index_output(helper, elf, path, &out, deadline_ms, err) != 0)
        goto out;
    /* synced first: after a crash the name must not lead to an empty file */
    if (fsync(out.fd) != 0 || rename(name, target) != 0) {
        error_sys(err, ER_UNKNOWN, "cannot write %s", target);
        goto out;
    }
    rc = 0;
out:
    if (rc != 0)
        (void)unlink(name);
    fd_close(out.fd);
    return rc;
}
