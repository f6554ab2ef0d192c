/*
 * unwind_dir.c - see unwind_dir.h.  A table of a few MB is written whole from
 * memory; access times decide which one is removed, as with indexes
 * (index_dir.c).
 */
#include "unwind_dir.h"

#include <stdio.h>
#include <sys/stat.h>

#include "buffer.h"
#include "errors.h"
#include "files.h"
#include "index_dir.h"
#include "memory.h"

enum { FILES_MAX = 1024 };

int
unwind_dir_read(const struct file_store *dir, const struct build_id *id,
                struct buffer *out)
{
    struct error ignored;
    struct stat st;
    int fd = index_dir_use(dir, id, &st, &ignored);
    int rc = fd < 0 ? -1 : fd_read_all(fd, out, "an unwind table", &ignored);

    fd_close(fd);
    return rc;
}

/* ---- eviction ---- */

struct unwind_candidates {
    struct eviction_candidate candidates[FILES_MAX];
    char names[FILES_MAX][FILE_STORE_NAME];
    size_t count;
};

static void
on_unwind_file_found(void *arg, const struct file_found *file)
{
    struct unwind_candidates *list = arg;

    /* more than that were made by others: they stay until there are fewer */
    if (list->count == FILES_MAX)
        return;
    list->candidates[list->count] = (struct eviction_candidate){
        .priority = 1, .since = file->used_ms, .bytes = file->bytes};
    snprintf(list->names[list->count++], FILE_STORE_NAME, "%s", file->name);
}

static void
on_unwind_file_skipped(void *arg, const char *name, const char *why)
{
    (void)arg, (void)name, (void)why;
}

static int
evict_unwind_files(struct file_store *dir, uint64_t bytes_max,
                   struct error *err)
{
    struct unwind_candidates *list = mem_zalloc(1, sizeof(*list));
    const struct file_scan scan = {on_unwind_file_found, on_unwind_file_skipped,
                                   list};
    int rc;

    if (!list) {
        error_memory(err, "the list of unwind tables");
        return -1;
    }
    rc = file_store_scan(dir, &scan, err);
    if (rc == 0) {
        (void)file_store_evict(list->candidates, list->count, FILES_MAX - 1,
                               bytes_max);
        for (size_t i = 0; i < list->count; i++)
            if (list->candidates[i].priority == FILE_GOES &&
                file_store_remove(dir, list->names[i], err) != 0)
                rc = -1;
    }
    mem_free(list);
    return rc;
}

int
unwind_dir_write(struct file_store *dir, const struct build_id *id,
                 const struct buffer *table, uint64_t bytes_max,
                 struct error *err)
{
    struct index_writer writer;
    int64_t made_ms;
    int rc = -1;

    if (file_store_renew(dir, err) < 0)
        return -1;
    /* else everything would be removed for it, in vain */
    if (table->size > bytes_max) {
        error_set(err, ER_DISK_FULL, "%s has no room for it", dir->path);
        return -1;
    }
    if (evict_unwind_files(dir, bytes_max - table->size, err) != 0 ||
        index_writer_open(&writer, dir, id, bytes_max, err) != 0)
        return -1;
    if (index_writer_write(&writer, table->data, table->size, err) == 0)
        rc = file_writer_commit(&writer.file, true, &made_ms, err);
    file_writer_close(&writer.file);
    return rc;
}
