/*
 * index_dir.h - the directory of the symbol indexes that we made.
 *
 *     <build-id in hex>.hwindex   a whole index
 *     <build-id in hex>...tmp     one being written
 *
 * A file appears under its name whole and synced, or not at all.  The
 * directory's links are not followed, and only regular files are overwritten or
 * removed.  Other nodes, or heapwire-prof, may write there too.  The files'
 * content is not read.  Not thread-safe, except index_dir_open_file.
 */
#ifndef HW_INDEX_DIR_H
#define HW_INDEX_DIR_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "build_id.h"
#include "store_dir.h"
#include "tmp_file.h"

struct error;

enum { INDEX_TMP_MAX = BUILD_ID_TEXT + TMP_FILE_ROOM };

/* As in store_dir.h: */
#define index_dir_open  store_dir_open
#define index_dir_close store_dir_close

struct index_file {
    struct build_id id;
    uint64_t bytes;
    int64_t made_ms, used_ms; /* wall clock */
};

/* Calls found for each index and odd for each other file, and removes abandoned
 * temporary files. */
struct index_dir_scan {
    void (*found)(void *arg, const struct index_file *file);
    void (*odd)(void *arg, const char *file, const char *why);
    void *arg;
};
int index_dir_scan(struct store_dir *dir, const struct index_dir_scan *scan,
                   struct error *err);

/* Marks the file as used now.  -1 with *err: it cannot be used; err is "" if
 * there is none. */
int index_dir_open_file(const struct store_dir *dir, const struct build_id *id,
                        struct error *err);

/* A file being written. */
struct index_writer {
    struct store_dir *dir;
    struct build_id id;
    int fd;
    char tmp[INDEX_TMP_MAX];   /* its temporary name */
    uint64_t bytes, max, look; /* look: where the disk's room is checked next */
};

/* For a file of at most max bytes. */
int index_writer_open(struct index_writer *w, struct store_dir *dir,
                      const struct build_id *id, uint64_t max,
                      struct error *err);
/* helper_index.write: arg is the writer. */
int index_writer_write(void *arg, const void *data, size_t size,
                       struct error *err);
/* Moves it to its place, replacing an older one. */
int index_writer_commit(struct index_writer *w, struct error *err);
void
index_writer_close(struct index_writer *w); /* removes an uncommitted file */

/* Whether the file is still there. */
bool index_dir_has(const struct store_dir *dir, const struct build_id *id);

int index_dir_remove(struct store_dir *dir, const struct build_id *id,
                     struct error *err);

/* Gives directory and files to another user, to whom alone they are accessible
 * afterwards. */
int index_dir_give(struct store_dir *dir, uid_t uid, gid_t gid,
                   struct error *err);

#endif
