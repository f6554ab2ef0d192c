/*
 * index_dir.h - the directory of symbol indexes that we made.
 *
 *     <build-id in hex>.hwindex   a whole index
 *     <build-id in hex>...tmp     one that is being written
 *
 * A file appears under its name whole and synced, or not at all.  Nothing is
 * followed out of the directory, and nothing overwritten or removed that is
 * not a regular file.  Others may write there, too, nodes or heapwire-prof.
 * What is in the files is not looked at.  Not thread-safe, but for
 * index_dir_open_file.
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

/* As store_dir has them: */
#define index_dir_open  store_dir_open
#define index_dir_close store_dir_close

struct index_file {
    struct build_id id;
    uint64_t bytes;
    int64_t made_ms, used_ms; /* wall clock */
};

/* Calls found for each index and odd for each file that is something else, and
 * removes what nobody writes any more. */
struct index_dir_scan {
    void (*found)(void *arg, const struct index_file *file);
    void (*odd)(void *arg, const char *file, const char *why);
    void *arg;
};
int index_dir_scan(struct store_dir *dir, const struct index_dir_scan *scan,
                   struct error *err);

/* Notes in the file that it is used now.  -1 with *err: the caller goes without
 * it; "" when there is none. */
int index_dir_open_file(const struct store_dir *dir, const struct build_id *id,
                        struct error *err);

/* One file on its way. */
struct index_writer {
    struct store_dir *dir;
    struct build_id id;
    int fd;
    char tmp[INDEX_TMP_MAX];   /* its name meanwhile */
    uint64_t bytes, max, look; /* where the disk's room is looked at next */
};

/* Of at most max bytes. */
int index_writer_open(struct index_writer *w, struct store_dir *dir,
                      const struct build_id *id, uint64_t max,
                      struct error *err);
/* helper_index.write: arg is the writer. */
int index_writer_write(void *arg, const void *data, size_t size,
                       struct error *err);
/* Puts it in its place, where an older one may lie. */
int index_writer_commit(struct index_writer *w, struct error *err);
void
index_writer_close(struct index_writer *w); /* gives up what is not there */

/* Nobody removed it by hand. */
bool index_dir_has(const struct store_dir *dir, const struct build_id *id);

int index_dir_remove(struct store_dir *dir, const struct build_id *id,
                     struct error *err);

/* Directory and files to another user, who alone may use them then. */
int index_dir_give(struct store_dir *dir, uid_t uid, gid_t gid,
                   struct error *err);

#endif
