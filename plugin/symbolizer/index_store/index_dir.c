/* index_dir.c - see index_dir.h. */
#include "index_dir.h"

#include <stdio.h>
#include <sys/stat.h>

#include "errors.h"

enum {
    LOOK_BYTES = 1 << 20, /* between checks of the disk's room */
    ROOM_SHARE = 10       /* at least this part of the disk stays free */
};

static bool
is_id(const char *text, size_t size)
{
    struct build_id id;

    return build_id_parse(text, size, &id);
}

static const char *const endings[] = {".hwindex", NULL};
const struct file_kind index_dir_kind = {"an index", endings, is_id};

static void
name_of(const struct build_id *id, char file[FILE_STORE_NAME])
{
    char text[BUILD_ID_TEXT];

    build_id_text(id, text);
    snprintf(file, FILE_STORE_NAME, "%s%s", text, endings[0]);
}

int
index_dir_use(const struct file_store *dir, const struct build_id *id,
              struct stat *st, struct error *err)
{
    static const struct timespec now[] = {{0, UTIME_NOW}, {0, UTIME_OMIT}};
    char file[FILE_STORE_NAME];
    int fd;

    name_of(id, file);
    fd = file_store_read(dir, file, st, err);
    if (fd >= 0)
        (void)futimens(fd, now); /* failure only brings its removal forward */
    return fd;
}

bool
index_dir_has(const struct file_store *dir, const struct build_id *id)
{
    char file[FILE_STORE_NAME];

    name_of(id, file);
    return file_store_has(dir, file);
}

int
index_dir_remove(const struct file_store *dir, const struct build_id *id,
                 struct error *err)
{
    char file[FILE_STORE_NAME];

    name_of(id, file);
    return file_store_remove(dir, file, err);
}

/* Snapshots and logs may lie on the same disk. */
static int
check_room(const struct file_store *dir, struct error *err)
{
    uint64_t left, all;

    if (!file_store_room(dir, &left, &all) || left > all / ROOM_SHARE)
        return 0;
    error_set(err, ER_DISK_FULL,
              "the disk of %s has less than a %dth of its room left", dir->path,
              ROOM_SHARE);
    return -1;
}

int
index_writer_open(struct index_writer *w, const struct file_store *dir,
                  const struct build_id *id, uint64_t max, struct error *err)
{
    char file[FILE_STORE_NAME];

    *w = (struct index_writer){.file.fd = -1, .max = max, .look = LOOK_BYTES};
    name_of(id, file);
    if (check_room(dir, err) != 0)
        return -1;
    return file_writer_open(&w->file, dir, file, err);
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
    if (file_writer_write(&w->file, data, size, err) != 0)
        return -1;
    w->bytes += size;
    if (w->bytes < w->look)
        return 0;
    w->look = w->bytes + LOOK_BYTES;
    return check_room(w->file.store, err);
}
