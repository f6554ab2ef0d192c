/* files.c - see files.h. */
#include "files.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "buffer.h"
#include "errors.h"

enum { READ_CHUNK = 65536 };

void
fd_close(int fd)
{
    int saved = errno;

    if (fd >= 0)
        close(fd);
    errno = saved;
}

/* Reserves room for the file's present size and one byte more, to find its end
 * in the same read. */
static void
expect_size(int fd, struct buffer *out)
{
    struct stat st;

    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
        (uint64_t)st.st_size < out->max - out->size)
        (void)buffer_reserve(out, (size_t)st.st_size + 1);
}

/* Reads at most up to out's ceiling.  At the ceiling one byte is probed: a file
 * that ends exactly there still fits. */
static ssize_t
read_file_chunk(int fd, struct buffer *out, off_t at)
{
    size_t room = out->max - out->size;
    size_t ready = out->capacity > out->size + 1 + READ_CHUNK
                       ? out->capacity - out->size - 1
                       : READ_CHUNK;
    size_t chunk = room < ready ? room : ready;
    char probe, *place;
    ssize_t n;

    if (chunk == 0) {
        n = pread(fd, &probe, 1, at);
        if (n > 0)
            out->failed = true;
        return n;
    }
    place = buffer_reserve(out, chunk);
    if (!place)
        return -1;
    n = pread(fd, place, chunk, at);
    /* pread keeps shared file positions alone; a pipe has none */
    if (n < 0 && errno == ESPIPE)
        n = read(fd, place, chunk);
    if (n > 0)
        buffer_claim(out, (size_t)n);
    return n;
}

int
fd_read_all(int fd, struct buffer *out, const char *what, struct error *err)
{
    off_t at = 0;
    ssize_t n;

    expect_size(fd, out);
    for (;;) {
        n = read_file_chunk(fd, out, at);
        if (out->failed) {
            error_set(err, ER_OUT_OF_MEMORY,
                      "%s is larger than the ceiling of %zu bytes, or memory "
                      "ran out",
                      what, out->max);
            return -1;
        }
        if (n == 0)
            return 0;
        if (n < 0 && errno != EINTR) {
            error_sys(err, ER_UNKNOWN, "cannot read %s", what);
            return -1;
        }
        if (n > 0)
            at += n;
    }
}

int
fd_write_all(int fd, const char *data, size_t size)
{
    while (size > 0) {
        ssize_t n = write(fd, data, size);

        if (n < 0 && errno != EINTR)
            return -1;
        if (n > 0) {
            data += n;
            size -= (size_t)n;
        }
    }
    return 0;
}

/* The bytes come from another process, so reading the mapping must not be able
 * to fail: sealed against shrinking and writing, no holes (their pages would be
 * allocated at the first read: SIGBUS when memory is short), and tmpfs with its
 * usual pages, since huge pages may run out. */
bool
fd_map_sealed(int fd, size_t max, void **out, size_t *size)
{
    const int wanted = F_SEAL_SHRINK | F_SEAL_WRITE;
    int seals = fd >= 0 ? fcntl(fd, F_GET_SEALS) : -1;
    struct statfs filesystem;
    struct stat st;
    void *place;

    if (seals < 0 || (seals & wanted) != wanted || fstat(fd, &st) != 0 ||
        st.st_size <= 0 || (uint64_t)st.st_size > max ||
        st.st_blocks * 512 < st.st_size || fstatfs(fd, &filesystem) != 0 ||
        filesystem.f_type != TMPFS_MAGIC)
        return false;
    place = mmap(NULL, (size_t)st.st_size, PROT_READ,
                 MAP_PRIVATE | MAP_POPULATE, fd, 0);
    if (place == MAP_FAILED)
        return false;
    *out = place;
    *size = (size_t)st.st_size;
    return true;
}

int
file_open_regular(const char *path)
{
    struct stat st;
    int fd;

    /* stat first: opening a device may already have effects */
    if (stat(path, &st) != 0)
        return -1;
    if (!S_ISREG(st.st_mode)) {
        errno = EINVAL;
        return -1;
    }
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    /* another file may have taken the path meanwhile */
    if (fd >= 0 && (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))) {
        close(fd);
        errno = EINVAL;
        return -1;
    }
    return fd;
}

int
file_read_all(const char *path, struct buffer *out, struct error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    int rc;

    if (fd < 0) {
        error_sys(err, ER_UNKNOWN, "cannot open %s", path);
        return -1;
    }
    rc = fd_read_all(fd, out, path, err);
    fd_close(fd);
    return rc;
}

int
file_remove_at(int dir, const char *name)
{
    struct stat st;

    if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return errno == ENOENT ? 0 : -1;
    if (!S_ISREG(st.st_mode)) {
        errno = EEXIST;
        return -1;
    }
    return unlinkat(dir, name, 0);
}
