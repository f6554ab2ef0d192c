/*
 * index_dir.c - see index_dir.h: build-ids as names of files, and what all
 * three kinds of files need: marking a file as used (its access time decides
 * which one is removed first), and a limit of size and of the disk's free space
 * while one is written.
 */
#include "index_dir.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "ascii.h"
#include "elf_file.h"
#include "errors.h"

_Static_assert((int)BUILD_ID_MAX >= (int)ELF_BUILD_ID_MAX, "each fits");

/* Short ids (--build-id=0x12) are chosen by hand and say nothing about the
 * contents, so such an object gets no files. */
struct build_id
build_id_of(const struct elf_file *elf)
{
    struct build_id id = {.size = 0};

    if (elf->build_id_size < BUILD_ID_MIN ||
        elf->build_id_size > sizeof(id.bytes))
        return id;
    id.size = elf->build_id_size;
    memcpy(id.bytes, elf->build_id, id.size);
    return id;
}

bool
build_id_equal(const struct build_id *a, const struct build_id *b)
{
    return a->size == b->size && memcmp(a->bytes, b->bytes, a->size) == 0;
}

void
build_id_text(const struct build_id *id, char out[BUILD_ID_TEXT])
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < id->size; i++) {
        out[2 * i] = digits[id->bytes[i] >> 4];
        out[2 * i + 1] = digits[id->bytes[i] & 15];
    }
    out[2 * id->size] = '\0';
}

bool
build_id_parse(const char *text, size_t size, struct build_id *out)
{
    struct build_id id = {.size = size / 2};

    if (size % 2 || id.size < BUILD_ID_MIN || id.size > sizeof(id.bytes))
        return false;
    /* Lower case only: a second spelling would be a second file of one build.
     */
    for (size_t i = 0; i < id.size; i++) {
        int high = lower_hex_digit(text[2 * i]),
            low = lower_hex_digit(text[2 * i + 1]);

        if (high < 0 || low < 0)
            return false;
        id.bytes[i] = (uint8_t)(high << 4 | low);
    }
    *out = id;
    return true;
}

enum {
    CHECK_BYTES = 1 << 20, /* bytes between two checks of the disk's free
                            * space */
    FREE_SPACE_PART = 10   /* at least this part of the disk stays free */
};

static bool
is_id(const char *text, size_t size)
{
    struct build_id id;

    return build_id_parse(text, size, &id);
}

static const char *const index_endings[] = {".hwindex", NULL};
static const char *const unwind_endings[] = {".hwunwind", NULL};
const struct file_kind index_dir_kind = {"an index", index_endings, is_id};
const struct file_kind index_dir_unwind_kind = {"an unwind table",
                                                unwind_endings, is_id};
static const char *const debug_endings[] = {".debug", NULL};
const struct file_kind debug_dir_kind = {"a debug file", debug_endings, is_id};

static void
build_id_file_name(const struct file_store *dir, const struct build_id *id,
                   char file[FILE_STORE_NAME])
{
    char text[BUILD_ID_TEXT];

    build_id_text(id, text);
    snprintf(file, FILE_STORE_NAME, "%s%s", text, dir->kind->endings[0]);
}

int
index_dir_use(const struct file_store *dir, const struct build_id *id,
              struct stat *st, struct error *err)
{
    static const struct timespec now[] = {{0, UTIME_NOW}, {0, UTIME_OMIT}};
    char file[FILE_STORE_NAME];
    int fd;

    build_id_file_name(dir, id, file);
    fd = file_store_read(dir, file, st, err);
    if (fd >= 0)
        (void)futimens(fd, now); /* if this fails, the file is removed
                                  * earlier */
    return fd;
}

bool
index_dir_has(const struct file_store *dir, const struct build_id *id)
{
    char file[FILE_STORE_NAME];

    build_id_file_name(dir, id, file);
    return file_store_has(dir, file);
}

int
index_dir_remove(const struct file_store *dir, const struct build_id *id,
                 struct error *err)
{
    char file[FILE_STORE_NAME];

    build_id_file_name(dir, id, file);
    return file_store_remove(dir, file, err);
}

/* Refuses to fill the disk: snapshots and logs may lie on it, too. */
static int
check_index_disk_space(const struct file_store *dir, struct error *err)
{
    uint64_t left, all;

    if (!file_store_free_space(dir, &left, &all) ||
        left > all / FREE_SPACE_PART)
        return 0;
    error_set(err, ER_DISK_FULL,
              "the disk of %s has less than a %dth of its room left", dir->path,
              FREE_SPACE_PART);
    return -1;
}

int
index_writer_open(struct index_writer *w, const struct file_store *dir,
                  const struct build_id *id, uint64_t max, struct error *err)
{
    char file[FILE_STORE_NAME];

    *w = (struct index_writer){
        .file.fd = -1, .max = max, .next_check = CHECK_BYTES};
    build_id_file_name(dir, id, file);
    if (check_index_disk_space(dir, err) != 0)
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
    if (w->bytes < w->next_check)
        return 0;
    w->next_check = w->bytes + CHECK_BYTES;
    return check_index_disk_space(w->file.store, err);
}
