/* index_dir.c - see index_dir.h. */
#include "index_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "errors.h"
#include "files.h"

#define INDEX_ENDING ".hwindex"

enum {
    FILE_NAME_MAX = BUILD_ID_TEXT + sizeof(INDEX_ENDING),
    LOOK_BYTES = 1 << 20, /* between checks of the disk's room */
    ROOM_SHARE = 10       /* at least this part of the disk stays free */
};

/* ---- names ---- */

/* Parses "HEX.hwindex" into id. */
static bool
is_index(const char *file, struct build_id *id)
{
    static const size_t tail = sizeof(INDEX_ENDING) - 1;
    size_t size = strlen(file);

    return size > tail && strcmp(file + size - tail, INDEX_ENDING) == 0 &&
           build_id_parse(file, size - tail, id);
}

/* "HEX....tmp": one being written, by any process. */
static bool
is_tmp(const char *file)
{
    static const size_t tail = sizeof(TMP_FILE_ENDING) - 1;
    size_t size = strlen(file);
    struct build_id id;

    return size > tail && strcmp(file + size - tail, TMP_FILE_ENDING) == 0 &&
           build_id_parse(file, strcspn(file, "."), &id);
}

static void
file_name(char out[FILE_NAME_MAX], const struct build_id *id)
{
    char text[BUILD_ID_TEXT];

    build_id_text(id, text);
    snprintf(out, FILE_NAME_MAX, "%s" INDEX_ENDING, text);
}

/* ---- looking through it ---- */

static int64_t
wall_ms(struct timespec at)
{
    return (int64_t)at.tv_sec * 1000 + at.tv_nsec / 1000000;
}

/* NULL: an index file, by its kind and owner. */
static const char *
what_is_odd(const struct stat *st)
{
    if (S_ISLNK(st->st_mode))
        return "it is a symbolic link";
    if (!S_ISREG(st->st_mode))
        return "it is not a regular file";
    if (st->st_uid != geteuid() && geteuid() != 0)
        return "it belongs to another user";
    return NULL;
}

static void
scan_file(struct store_dir *dir, const struct index_dir_scan *scan,
          const char *name)
{
    struct index_file file;
    const char *odd;
    struct stat st;

    if (is_tmp(name)) {
        if (tmp_file_clean(dir->fd, name) != 0)
            scan->odd(scan->arg, name, "it cannot be removed");
        return;
    }
    if (!is_index(name, &file.id)) {
        scan->odd(scan->arg, name, "it is not the name of an index");
        return;
    }
    if (fstatat(dir->fd, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
        odd = "it cannot be examined";
    else
        odd = what_is_odd(&st);
    if (odd) {
        scan->odd(scan->arg, name, odd);
        return;
    }
    file.bytes = (uint64_t)st.st_size;
    file.made_ms = wall_ms(st.st_mtim);
    file.used_ms = wall_ms(st.st_atim);
    scan->found(scan->arg, &file);
}

int
index_dir_scan(struct store_dir *dir, const struct index_dir_scan *scan,
               struct error *err)
{
    int fd = openat(dir->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *list = fd >= 0 ? fdopendir(fd) : NULL;
    const struct dirent *entry;

    if (!list) {
        error_sys(err, ER_UNKNOWN, "cannot look through %s", dir->path);
        fd_close(fd);
        return -1;
    }
    while ((entry = readdir(list)) != NULL) /* NOLINT: our own stream */
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            scan_file(dir, scan, entry->d_name);
    closedir(list);
    return 0;
}

/* ---- files ---- */

int
index_dir_open_file(const struct store_dir *dir, const struct build_id *id,
                    struct error *err)
{
    static const struct timespec now[] = {{0, UTIME_NOW}, {0, UTIME_OMIT}};
    char file[FILE_NAME_MAX];
    const char *odd = NULL;
    struct stat st;
    int fd;

    file_name(file, id);
    fd = openat(dir->fd, file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT)
        err->text[0] = '\0';
    else if (fd < 0 && errno == ELOOP)
        odd = "it is a symbolic link";
    else if (fd < 0 || fstat(fd, &st) != 0)
        error_sys(err, ER_UNKNOWN, "cannot open %s/%s", dir->path, file);
    else if (!(odd = what_is_odd(&st))) {
        (void)futimens(fd, now); /* marks it as used; failure only brings its
                                    removal forward */
        return fd;
    }
    if (odd)
        error_set(err, ER_UNKNOWN, "%s/%s is unusable: %s", dir->path, file,
                  odd);
    fd_close(fd);
    return -1;
}

bool
index_dir_has(const struct store_dir *dir, const struct build_id *id)
{
    char file[FILE_NAME_MAX];

    file_name(file, id);
    return faccessat(dir->fd, file, F_OK, AT_SYMLINK_NOFOLLOW) == 0 ||
           errno != ENOENT;
}

int
index_dir_remove(struct store_dir *dir, const struct build_id *id,
                 struct error *err)
{
    char file[FILE_NAME_MAX];

    file_name(file, id);
    if (file_remove_at(dir->fd, file) == 0)
        return 0;
    error_sys(err, ER_UNKNOWN, "cannot remove %s/%s", dir->path, file);
    return -1;
}

struct gift {
    struct store_dir *dir;
    uid_t uid;
    gid_t gid;
    struct error *err;
    int rc;
};

/* Only a file with a single link, so that no other file is given away. */
static void
give_file(void *arg, const struct index_file *found)
{
    struct gift *gift = arg;
    char file[FILE_NAME_MAX];
    struct stat st;
    int fd, rc = -1;

    if (gift->rc != 0)
        return;
    file_name(file, &found->id);
    fd = openat(gift->dir->fd, file, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
        st.st_nlink == 1)
        rc = fchownat(fd, "", gift->uid, gift->gid, AT_EMPTY_PATH);
    else if (fd >= 0)
        errno = EPERM;
    if (rc != 0)
        error_sys(gift->err, ER_UNKNOWN, "cannot give %s/%s to uid %u",
                  gift->dir->path, file, (unsigned)gift->uid);
    fd_close(fd);
    gift->rc = rc;
}

static void
leave_odd(void *arg, const char *file, const char *why)
{
    (void)arg;
    (void)file;
    (void)why;
}

int
index_dir_give(struct store_dir *dir, uid_t uid, gid_t gid, struct error *err)
{
    struct gift gift = {dir, uid, gid, err, 0};
    struct index_dir_scan scan = {give_file, leave_odd, &gift};

    if (store_dir_give(dir, uid, gid, err) != 0 ||
        index_dir_scan(dir, &scan, err) != 0)
        return -1;
    return gift.rc;
}

/* ---- writing ---- */

/* Snapshots and logs may lie on the same disk. */
static int
check_room(const struct index_writer *w, struct error *err)
{
    struct statvfs st;

    if (fstatvfs(w->dir->fd, &st) != 0 ||
        st.f_bavail > st.f_blocks / ROOM_SHARE)
        return 0;
    error_set(err, ER_DISK_FULL,
              "the disk of %s has less than a %dth of its room left",
              w->dir->path, ROOM_SHARE);
    return -1;
}

int
index_writer_open(struct index_writer *w, struct store_dir *dir,
                  const struct build_id *id, uint64_t max, struct error *err)
{
    char stem[BUILD_ID_TEXT];

    *w = (struct index_writer){
        .dir = dir, .id = *id, .fd = -1, .max = max, .look = LOOK_BYTES};
    if (check_room(w, err) != 0)
        return -1;
    build_id_text(id, stem);
    w->fd = tmp_file_make(dir->fd, stem, 0600, w->tmp, sizeof(w->tmp));
    if (w->fd >= 0)
        return 0;
    error_sys(err, ER_UNKNOWN, "cannot make a file in %s", dir->path);
    return -1;
}

static int
failed(const struct index_writer *w, struct error *err)
{
    bool full = errno == ENOSPC || errno == EDQUOT;

    error_sys(err, full ? ER_DISK_FULL : ER_UNKNOWN, "cannot write in %s",
              w->dir->path);
    return -1;
}

int
index_writer_write(void *arg, const void *data, size_t size, struct error *err)
{
    struct index_writer *w = arg;

    if (size > w->max - w->bytes) {
        error_set(err, ER_UNKNOWN, "it has more than %llu bytes",
                  (unsigned long long)w->max);
        return -1;
    }
    if (fd_write_all(w->fd, data, size) != 0)
        return failed(w, err);
    w->bytes += size;
    if (w->bytes < w->look)
        return 0;
    w->look = w->bytes + LOOK_BYTES;
    return check_room(w, err);
}

int
index_writer_commit(struct index_writer *w, struct error *err)
{
    char file[FILE_NAME_MAX];
    struct stat st;

    file_name(file, &w->id);
    if (fstatat(w->dir->fd, file, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
        !S_ISREG(st.st_mode)) {
        error_set(err, ER_UNKNOWN, "%s/%s is in the way: %s", w->dir->path,
                  file, what_is_odd(&st));
        return -1;
    }
    if (fsync(w->fd) != 0 ||
        renameat(w->dir->fd, w->tmp, w->dir->fd, file) != 0)
        return failed(w, err);
    fd_close(w->fd);
    w->fd = -1;
    if (fsync(w->dir->fd) == 0)
        return 0;
    (void)failed(w, err);
    (void)file_remove_at(w->dir->fd, file); /* it may be incomplete */
    return -1;
}

void
index_writer_close(struct index_writer *w)
{
    if (w->fd < 0)
        return;
    /* On failure the next start removes it. */
    (void)file_remove_at(w->dir->fd, w->tmp);
    fd_close(w->fd);
    w->fd = -1;
}
