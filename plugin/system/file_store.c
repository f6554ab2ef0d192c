/*
 * file_store.c - see file_store.h.
 *
 * Snapshots, indexes, unwind tables and debug files each lie in such a
 * directory.  heapwired may run as root in a directory that it gave to the
 * database's user, so every name in it may be a trap: a symbolic or hard link
 * to somebody else's file, a FIFO that would block open(), a directory swapped
 * meanwhile.  Hence each access is relative to the descriptor of the directory,
 * with O_NOFOLLOW and O_NONBLOCK, and checks the opened file, not its name.  A
 * file is written under a temporary name, synced, renamed, and the directory is
 * synced: after a crash it is whole or absent.  Owners call this from one
 * thread at a time.
 */
#include "file_store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "errors.h"
#include "files.h"
#include "memory.h"
#include "own_file.h"

/* ---- the directory ---- */

static bool
is_own_store_file(const struct stat *st)
{
    return st->st_uid == geteuid() || geteuid() == 0;
}

static int
check_store_directory(const char *path, const struct stat *st,
                      struct error *err)
{
    if (!is_own_store_file(st)) {
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

/* Opens or makes name below the descriptor at; path is its name in errors.  -1
 * with *err; store->fd may be open then. */
static int
open_below(struct file_store *store, int at, const char *name, const char *path,
           struct error *err)
{
    struct stat st;

    if (mkdirat(at, name, 0700) != 0 && errno != EEXIST) {
        error_sys(err, ER_UNKNOWN, "cannot make the directory %s", path);
        return -1;
    }
    store->fd =
        openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (store->fd < 0 || fstat(store->fd, &st) != 0) {
        error_sys(err, ER_UNKNOWN, "cannot open the directory %s", path);
        return -1;
    }
    store->owner = st.st_uid;
    return check_store_directory(path, &st, err);
}

int
file_store_open(struct file_store *store, const char *path,
                const struct file_kind *kind, struct error *err)
{
    *store = (struct file_store){-1, mem_strdup(path), kind, 0};
    if (!store->path) {
        error_memory(err, "the path of a directory");
        return -1;
    }
    if (open_below(store, AT_FDCWD, path, path, err) == 0)
        return 0;
    file_store_close(store);
    return -1;
}

void
file_store_close(struct file_store *store)
{
    fd_close(store->fd);
    store->fd = -1;
    mem_free(store->path);
    store->path = NULL;
}

/* Opens the parent of a directory that was deleted, to make it again.  It must
 * belong to us or to the store's owner: in a directory that somebody else has
 * put there, nothing is made.  -1 with *err. */
static int
open_parent(const struct file_store *store, size_t size, struct error *err)
{
    char path[PATH_MAX];
    struct stat st;
    int fd;

    snprintf(path, sizeof(path), "%.*s", (int)size, store->path);
    fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) != 0) {
        error_sys(err, ER_UNKNOWN, "cannot open the directory %s", path);
    } else if (st.st_uid != geteuid() && st.st_uid != store->owner) {
        error_set(err, ER_UNKNOWN, "%s belongs to uid %u", path,
                  (unsigned)st.st_uid);
    } else {
        return fd;
    }
    fd_close(fd);
    return -1;
}

/* Other threads may be using the descriptor (file_store_read), so its number
 * must stay: dup3 replaces the directory behind it in one step. */
int
file_store_renew(struct file_store *store, struct error *err)
{
    const char *name = strrchr(store->path, '/');
    struct file_store again = {-1, NULL, store->kind, 0};
    struct stat st;
    int parent, rc = -1;

    /* st_nlink is 0 once the directory is deleted */
    if (!name || fstat(store->fd, &st) != 0 || st.st_nlink > 0)
        return 0;
    parent = open_parent(store, (size_t)(name - store->path), err);
    if (parent < 0)
        return -1;
    if (open_below(&again, parent, name + 1, store->path, err) != 0)
        goto out;
    if (dup3(again.fd, store->fd, O_CLOEXEC) >= 0) {
        store->owner = again.owner;
        rc = 1;
    } else {
        error_sys(err, ER_UNKNOWN, "cannot use the directory %s", store->path);
    }
out:
    fd_close(parent);
    file_store_close(&again);
    return rc;
}

bool
file_store_free_space(const struct file_store *store, uint64_t *left,
                      uint64_t *all)
{
    struct statvfs st;

    if (fstatvfs(store->fd, &st) != 0)
        return false;
    *left = (uint64_t)st.f_bavail * st.f_frsize;
    *all = (uint64_t)st.f_blocks * st.f_frsize;
    return true;
}

/* ---- looking through it ---- */

static int64_t
wall_ms(struct timespec at)
{
    return (int64_t)at.tv_sec * 1000 + at.tv_nsec / 1000000;
}

int64_t
file_made_ms(const struct stat *st)
{
    return wall_ms(st->st_mtim);
}

/* Opens a regular file of ours.  -1: *why is the reason, or NULL for errno. */
static int
open_store_file(const struct file_store *store, const char *name,
                struct stat *st, const char **why)
{
    int fd = openat(store->fd, name,
                    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

    *why = NULL;
    if (fd < 0 && errno == ELOOP)
        *why = "it is a symbolic link";
    if (fd < 0 || fstat(fd, st) != 0)
        goto fail;
    if (!S_ISREG(st->st_mode))
        *why = "it is not a regular file";
    else if (!is_own_store_file(st))
        *why = "it belongs to another user";
    else
        return fd;
fail:
    fd_close(fd);
    return -1;
}

/* Whether the name is of the store's kind; fills stem and ending. */
static bool
parse_store_file_name(const struct file_store *store, struct file_found *file)
{
    size_t size = strlen(file->name);

    for (size_t i = 0; store->kind->endings[i]; i++) {
        size_t tail = strlen(store->kind->endings[i]);

        file->ending = store->kind->endings[i];
        file->stem = size > tail ? size - tail : 0;
        if (size > tail && strcmp(file->name + file->stem, file->ending) == 0 &&
            store->kind->is_stem(file->name, file->stem))
            return true;
    }
    return false;
}

/* Whether the name is that of a file that some process is writing, or was
 * killed while writing. */
static bool
is_tmp(const struct file_store *store, const char *name)
{
    static const size_t tail = sizeof(TMP_FILE_ENDING) - 1;
    size_t size = strlen(name);

    return size > tail && strcmp(name + size - tail, TMP_FILE_ENDING) == 0 &&
           store->kind->is_stem(name, strcspn(name, "."));
}

static void
report_unusable(const struct file_scan *scan, const char *name, const char *why)
{
    if (scan->unusable)
        scan->unusable(scan->arg, name, why);
}

/* Each name is one of three: a leftover of a killed writer, which is removed; a
 * file of the kind; or somebody else's, which is reported and left alone. */
static void
scan_file(const struct file_store *store, const struct file_scan *scan,
          const char *name)
{
    struct file_found file = {.name = name, .fd = -1};
    char why_foreign[128];
    const char *why;
    struct stat st;

    if (is_tmp(store, name)) {
        if (tmp_file_clean(store->fd, name) != 0)
            report_unusable(scan, name, "it cannot be removed");
        return;
    }
    if (!parse_store_file_name(store, &file)) {
        snprintf(why_foreign, sizeof(why_foreign), "it is not the name of %s",
                 store->kind->what);
        report_unusable(scan, name, why_foreign);
        return;
    }
    file.fd = open_store_file(store, name, &st, &why);
    if (file.fd < 0) {
        report_unusable(scan, name, why ? why : "it cannot be opened");
        return;
    }
    file.bytes = (uint64_t)st.st_size;
    file.made_ms = wall_ms(st.st_mtim);
    file.used_ms = wall_ms(st.st_atim);
    scan->found(scan->arg, &file);
    fd_close(file.fd);
}

int
file_store_scan(const struct file_store *store, const struct file_scan *scan,
                struct error *err)
{
    /* a descriptor of its own: closedir() closes it, and it has its own
     * position */
    int fd = openat(store->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *list = fd >= 0 ? fdopendir(fd) : NULL;
    const struct dirent *entry;

    if (!list) {
        error_sys(err, ER_UNKNOWN, "cannot look through %s", store->path);
        fd_close(fd);
        return -1;
    }
    while ((entry = readdir(list)) != NULL) /* NOLINT: our own stream */
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            scan_file(store, scan, entry->d_name);
    closedir(list);
    return 0;
}

/* ---- files ---- */

int
file_store_read(const struct file_store *store, const char *name,
                struct stat *st, struct error *err)
{
    const char *why;
    int fd = open_store_file(store, name, st, &why);

    if (fd < 0 && why)
        error_set(err, ER_UNKNOWN, "%s/%s is unusable: %s", store->path, name,
                  why);
    else if (fd < 0)
        error_sys(err, ER_UNKNOWN, "cannot read %s/%s", store->path, name);
    return fd;
}

bool
file_store_has(const struct file_store *store, const char *name)
{
    return faccessat(store->fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0 ||
           errno != ENOENT;
}

int
file_store_remove(const struct file_store *store, const char *name,
                  struct error *err)
{
    if (file_remove_at(store->fd, name) == 0 && fsync(store->fd) == 0)
        return 0;
    error_sys(err, ER_UNKNOWN, "cannot remove %s/%s", store->path, name);
    return -1;
}

/* Renames without replacing.  Where the file system does not know the flag, a
 * second hard link does the same: link() fails if the name exists. */
static int
rename_new(int dir, const char *from, const char *to)
{
    if (renameat2(dir, from, dir, to, RENAME_NOREPLACE) == 0)
        return 0;
    if ((errno != EINVAL && errno != ENOSYS) ||
        linkat(dir, from, dir, to, 0) != 0)
        return -1;
    unlinkat(dir, from, 0); /* if this fails, the next scan removes the
                             * temporary name */
    return 0;
}

int
file_store_rename(const struct file_store *store, const char *from,
                  const char *to, struct error *err)
{
    bool renamed = rename_new(store->fd, from, to) == 0;

    if (renamed && fsync(store->fd) == 0)
        return 0;
    error_sys(err, ER_UNKNOWN, "cannot rename %s/%s to %s", store->path, from,
              to);
    if (renamed)
        rename_new(store->fd, to, from); /* back: in memory the owner still has
                                          * the old name */
    return -1;
}

/* ---- another owner ---- */

struct gift {
    const struct file_store *store;
    uid_t uid;
    gid_t gid;
    struct error *err;
    int rc;
};

/* Only a file with one name that the directory's owner owns.  A hard link to
 * another user's file, or a file of others that the owner moved there, would
 * give away what is not ours. */
static void
give_file(void *arg, const struct file_found *file)
{
    struct gift *gift = arg;
    struct stat st;
    int rc = fstat(file->fd, &st);

    if (gift->rc != 0 || (rc == 0 && st.st_uid != gift->store->owner))
        return;
    if (rc == 0 && st.st_nlink != 1) {
        errno = EPERM;
        rc = -1;
    }
    if (rc == 0)
        rc = fchown(file->fd, gift->uid, gift->gid);
    if (rc != 0)
        error_sys(gift->err, ER_UNKNOWN, "cannot give %s/%s to uid %u",
                  gift->store->path, file->name, (unsigned)gift->uid);
    gift->rc = rc;
}

int
file_store_give(const struct file_store *store, uid_t uid, gid_t gid,
                struct error *err)
{
    struct gift gift = {store, uid, gid, err, 0};
    struct file_scan scan = {give_file, NULL, &gift};

    if (file_store_scan(store, &scan, err) != 0 || gift.rc != 0)
        return -1;
    /* The directory comes last: its new owner may move any file into it. */
    if (fchown(store->fd, uid, gid) == 0)
        return 0;
    error_sys(err, ER_UNKNOWN, "cannot give %s to uid %u", store->path,
              (unsigned)uid);
    return -1;
}

/* ---- writing ---- */

static int
fail_store_write(const struct file_writer *w, struct error *err)
{
    error_sys(err,
              errno == ENOSPC || errno == EDQUOT ? ER_DISK_FULL : ER_UNKNOWN,
              "cannot write %s/%s", w->store->path, w->name);
    return -1;
}

int
file_writer_open(struct file_writer *w, const struct file_store *store,
                 const char *name, struct error *err)
{
    char stem[FILE_STORE_NAME];

    w->store = store;
    snprintf(w->name, sizeof(w->name), "%s", name);
    snprintf(stem, sizeof(stem), "%.*s", (int)strcspn(name, "."), name);
    w->fd = tmp_file_make(store->fd, stem, 0600, w->tmp, sizeof(w->tmp));
    return w->fd >= 0 ? 0 : fail_store_write(w, err);
}

int
file_writer_write(struct file_writer *w, const void *data, size_t size,
                  struct error *err)
{
    return fd_write_all(w->fd, data, size) == 0 ? 0 : fail_store_write(w, err);
}

/* Replaces an older regular file, and nothing else: a link or directory of that
 * name is an error that people should see. */
static int
replace_old(const struct file_writer *w, struct error *err)
{
    int dir = w->store->fd;
    struct stat st;

    if (fstatat(dir, w->name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
        !S_ISREG(st.st_mode)) {
        error_set(err, ER_UNKNOWN, "%s/%s is in the way: it is %s",
                  w->store->path, w->name,
                  S_ISLNK(st.st_mode) ? "a symbolic link"
                                      : "not a regular file");
        return -1;
    }
    return renameat(dir, w->tmp, dir, w->name) == 0 ? 0
                                                    : fail_store_write(w, err);
}

int
file_writer_commit(struct file_writer *w, bool replace, int64_t *made_ms,
                   struct error *err)
{
    struct stat st;

    if (fsync(w->fd) != 0 || fstat(w->fd, &st) != 0)
        return fail_store_write(w, err);
    if (replace && replace_old(w, err) != 0)
        return -1;
    if (!replace && rename_new(w->store->fd, w->tmp, w->name) != 0)
        return fail_store_write(w, err);
    fd_close(w->fd);
    w->fd = -1;
    /* without this the name may be lost in a crash, though the contents are
     * safe */
    if (fsync(w->store->fd) != 0) {
        (void)fail_store_write(w, err);
        (void)file_remove_at(w->store->fd, w->name); /* its name may not survive
                                                      * a crash: no file is
                                                      * better */
        return -1;
    }
    *made_ms = wall_ms(st.st_mtim);
    return 0;
}

void
file_writer_close(struct file_writer *w)
{
    if (w->fd < 0)
        return;
    /* If this fails, the next scan removes it. */
    (void)file_remove_at(w->store->fd, w->tmp);
    fd_close(w->fd);
    w->fd = -1;
}

/* ---- which files go ---- */

/* The next file to remove; NULL: none may be removed. */
static struct eviction_candidate *
find_file_to_remove(struct eviction_candidate *candidates, size_t count)
{
    struct eviction_candidate *found = NULL;

    for (struct eviction_candidate *c = candidates; c < candidates + count; c++)
        if (c->priority > FILE_GOES &&
            (!found || c->priority < found->priority ||
             (c->priority == found->priority && c->since < found->since)))
            found = c;
    return found;
}

bool
file_store_evict(struct eviction_candidate *candidates, size_t count,
                 size_t max_files, uint64_t max_bytes)
{
    struct eviction_candidate *next;
    uint64_t bytes = 0;
    size_t files = 0;

    for (size_t i = 0; i < count; i++)
        if (candidates[i].priority != FILE_GOES) {
            bytes += candidates[i].bytes;
            files++;
        }
    /* quadratic, for a thousand files at most */
    while (files > max_files || bytes > max_bytes) {
        next = find_file_to_remove(candidates, count);
        if (!next)
            return false;
        next->priority = FILE_GOES;
        bytes -= next->bytes;
        files--;
    }
    return true;
}
