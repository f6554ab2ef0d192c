/* store_dir.c - see store_dir.h. */
#include "store_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "buffer.h"
#include "errors.h"
#include "files.h"
#include "memory.h"
#include "snapshot_file.h"

#define SNAPSHOT_ENDING ".snapshot"
#define PINNED_ENDING   ".pinned"
#define TMP_ENDING      ".tmp"

enum { FILE_NAME_MAX = SNAPSHOT_NAME_MAX + sizeof(SNAPSHOT_ENDING) };

static void
file_name(char *out, const char *name, bool pinned)
{
    snprintf(out, FILE_NAME_MAX, "%s%s", name,
             pinned ? PINNED_ENDING : SNAPSHOT_ENDING);
}

/* ---- the directory ---- */

static int
check(const char *path, const struct stat *st, struct error *err)
{
    if (st->st_uid != geteuid() && geteuid() != 0) {
        error_set(err, ER_UNKNOWN, "%s belongs to uid %u, not to uid %u", path,
                  (unsigned)st->st_uid, (unsigned)geteuid());
        return -1;
    }
    if (st->st_mode & (S_IRWXG | S_IRWXO)) {
        error_set(err, ER_UNKNOWN, "%s is open to others (chmod 700)", path);
        return -1;
    }
    return 0;
}

int
store_dir_open(struct store_dir *dir, const char *path, struct error *err)
{
    struct stat st;

    dir->fd = -1;
    dir->path = mem_strdup(path);
    if (!dir->path) {
        error_memory(err, "the store of snapshots");
        return -1;
    }
    if (mkdir(path, 0700) != 0 && errno != EEXIST) {
        error_sys(err, ER_UNKNOWN, "cannot make the directory %s", path);
        goto out;
    }
    dir->fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (dir->fd < 0 || fstat(dir->fd, &st) != 0) {
        error_sys(err, ER_UNKNOWN, "cannot open the directory %s", path);
        goto out;
    }
    if (check(path, &st, err) == 0)
        return 0;
out:
    store_dir_close(dir);
    return -1;
}

void
store_dir_close(struct store_dir *dir)
{
    fd_close(dir->fd);
    dir->fd = -1;
    mem_free(dir->path);
    dir->path = NULL;
}

uint64_t
store_dir_room(const struct store_dir *dir)
{
    struct statvfs st;

    if (fstatvfs(dir->fd, &st) != 0)
        return UINT64_MAX;
    return (uint64_t)st.f_bavail * st.f_frsize;
}

/* ---- looking through it ---- */

/* "NAME.ending": fills name. */
static bool
ends(const char *file, const char *ending, char *name)
{
    size_t size = strlen(file), tail = strlen(ending);

    if (size <= tail || strcmp(file + size - tail, ending) != 0 ||
        !snapshot_is_name(file, size - tail))
        return false;
    memcpy(name, file, size - tail);
    name[size - tail] = '\0';
    return true;
}

static const char *
look_at(int fd, struct store_file *file, char *head)
{
    struct stat st;
    ssize_t n;

    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
        return "it is not a regular file";
    if (st.st_uid != geteuid() && geteuid() != 0)
        return "it belongs to another user";
    n = pread(fd, head, SNAPSHOT_FILE_HEAD_MAX, 0);
    if (n < 0)
        return "it cannot be read";
    file->size = (uint64_t)st.st_size;
    file->written_ms =
        (int64_t)st.st_mtim.tv_sec * 1000 + st.st_mtim.tv_nsec / 1000000;
    file->head = head;
    file->head_size = (size_t)n;
    return NULL;
}

static void
scan_file(struct store_dir *dir, const struct store_dir_scan *scan,
          const char *entry, char *head)
{
    struct store_file file = {0};
    const char *odd;
    int fd;

    if (ends(entry, TMP_ENDING, file.name)) {
        if (file_remove_at(dir->fd, entry) != 0)
            scan->odd(scan->arg, entry, "it cannot be removed");
        return;
    }
    file.pinned = ends(entry, PINNED_ENDING, file.name);
    if (!file.pinned && !ends(entry, SNAPSHOT_ENDING, file.name)) {
        scan->odd(scan->arg, entry, "it is not the name of a snapshot's file");
        return;
    }
    fd = openat(dir->fd, entry, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    odd = fd >= 0          ? look_at(fd, &file, head)
          : errno == ELOOP ? "it is a symbolic link"
                           : "it cannot be opened";
    fd_close(fd);
    if (odd)
        scan->odd(scan->arg, entry, odd);
    else
        scan->found(scan->arg, &file);
}

int
store_dir_scan(struct store_dir *dir, const struct store_dir_scan *scan,
               struct error *err)
{
    char *head = mem_alloc(SNAPSHOT_FILE_HEAD_MAX);
    int fd = openat(dir->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *list = fd >= 0 ? fdopendir(fd) : NULL;
    const struct dirent *entry;
    int rc = -1;

    if (!head) {
        error_memory(err, "the list of snapshots");
        goto out;
    }
    if (!list) {
        error_sys(err, ER_UNKNOWN, "cannot look through %s", dir->path);
        goto out;
    }
    while ((entry = readdir(list)) != NULL) /* NOLINT: our own stream */
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            scan_file(dir, scan, entry->d_name, head);
    rc = 0;
out:
    if (list)
        closedir(list);
    else
        fd_close(fd);
    mem_free(head);
    return rc;
}

/* ---- files ---- */

/* Never onto another file.  Not every file system knows renameat2's flag. */
static int
rename_new(int dir, const char *from, const char *to)
{
    if (renameat2(dir, from, dir, to, RENAME_NOREPLACE) == 0)
        return 0;
    if ((errno != EINVAL && errno != ENOSYS) ||
        linkat(dir, from, dir, to, 0) != 0)
        return -1;
    unlinkat(dir, from, 0); /* else the next start removes it, or the link */
    return 0;
}

/* What a write that failed left, for it could not be removed then, goes. */
static int
open_new(const struct store_dir *dir, const char *file)
{
    int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    int fd = openat(dir->fd, file, flags, 0600);

    if (fd < 0 && errno == EEXIST && file_remove_at(dir->fd, file) == 0)
        fd = openat(dir->fd, file, flags, 0600);
    return fd;
}

int
store_dir_write(struct store_dir *dir, const char *name,
                const struct buffer *bytes, int64_t *written_ms, bool *full,
                struct error *err)
{
    char tmp[FILE_NAME_MAX], file[FILE_NAME_MAX];
    struct stat st;
    int fd;

    file_name(file, name, false);
    snprintf(tmp, sizeof(tmp), "%s" TMP_ENDING, name);
    *full = false;
    fd = open_new(dir, tmp);
    if (fd < 0 || fd_write_all(fd, bytes->data, bytes->size) != 0 ||
        fsync(fd) != 0 || fstat(fd, &st) != 0)
        goto fail;
    fd_close(fd);
    fd = -1;
    if (rename_new(dir->fd, tmp, file) != 0)
        goto fail;
    if (fsync(dir->fd) != 0) {
        error_sys(err, ER_UNKNOWN, "cannot write %s/%s", dir->path, file);
        unlinkat(dir->fd, file, 0);
        return -1;
    }
    *written_ms =
        (int64_t)st.st_mtim.tv_sec * 1000 + st.st_mtim.tv_nsec / 1000000;
    return 0;
fail:
    *full = errno == ENOSPC;
    error_sys(err, *full || errno == EDQUOT ? ER_DISK_FULL : ER_UNKNOWN,
              "cannot write %s/%s", dir->path, file);
    fd_close(fd);
    file_remove_at(dir->fd, tmp);
    return -1;
}

int
store_dir_read(struct store_dir *dir, const char *name, bool pinned,
               struct buffer *out, struct error *err)
{
    char file[FILE_NAME_MAX];
    struct stat st;
    int fd, rc = -1;

    file_name(file, name, pinned);
    fd = openat(dir->fd, file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) != 0) {
        error_sys(err, ER_UNKNOWN, "cannot read %s/%s", dir->path, file);
        goto out;
    }
    if (!S_ISREG(st.st_mode)) {
        error_set(err, ER_UNKNOWN, "%s/%s is not a regular file", dir->path,
                  file);
        goto out;
    }
    rc = fd_read_all(fd, out, "the snapshot's file", err);
out:
    fd_close(fd);
    return rc;
}

int
store_dir_remove(struct store_dir *dir, const char *name, bool pinned,
                 struct error *err)
{
    char file[FILE_NAME_MAX];

    file_name(file, name, pinned);
    if ((unlinkat(dir->fd, file, 0) == 0 || errno == ENOENT) &&
        fsync(dir->fd) == 0)
        return 0;
    error_sys(err, ER_UNKNOWN, "cannot remove %s/%s", dir->path, file);
    return -1;
}

int
store_dir_pin(struct store_dir *dir, const char *name, bool pinned,
              struct error *err)
{
    char from[FILE_NAME_MAX], to[FILE_NAME_MAX];

    file_name(from, name, !pinned);
    file_name(to, name, pinned);
    if (rename_new(dir->fd, from, to) == 0) {
        if (fsync(dir->fd) == 0)
            return 0;
        error_sys(err, ER_UNKNOWN, "cannot rename %s/%s to %s", dir->path, from,
                  to);
        rename_new(dir->fd, to, from); /* where the store looks for it */
        return -1;
    }
    error_sys(err, ER_UNKNOWN, "cannot rename %s/%s to %s", dir->path, from,
              to);
    return -1;
}

/* ---- another owner ---- */

int
store_dir_give(struct store_dir *dir, uid_t uid, gid_t gid, struct error *err)
{
    if (fchown(dir->fd, uid, gid) == 0)
        return 0;
    error_sys(err, ER_UNKNOWN, "cannot give %s to uid %u", dir->path,
              (unsigned)uid);
    return -1;
}

/* Only a file of its own, not a hard link to another user's. */
int
store_dir_give_file(struct store_dir *dir, const char *name, bool pinned,
                    uid_t uid, gid_t gid, struct error *err)
{
    char file[FILE_NAME_MAX];
    struct stat st;
    int fd, rc = -1;

    file_name(file, name, pinned);
    fd = openat(dir->fd, file, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
        st.st_nlink == 1)
        rc = fchownat(fd, "", uid, gid, AT_EMPTY_PATH);
    else if (fd >= 0)
        errno = EPERM;
    if (rc != 0)
        error_sys(err, ER_UNKNOWN, "cannot give %s/%s to uid %u", dir->path,
                  file, (unsigned)uid);
    fd_close(fd);
    return rc;
}
