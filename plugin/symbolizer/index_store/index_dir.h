/*
 * index_dir.h - the directories of files that belong to objects, by build-id.
 *
 *     <build-id in hex>.hwindex    a whole symbol index
 *     <build-id in hex>.hwunwind   a whole unwind table, in another directory
 *     <build-id in hex>.debug      a fetched debug file, in a third
 *
 * Other nodes, or heapwire-prof, may write there, too.  The files' content is
 * not read here.  Not thread-safe, except index_dir_use.
 */
#ifndef HW_INDEX_DIR_H
#define HW_INDEX_DIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "file_store.h"

struct elf_file;

/* The build-id of an object, as a value and as text. */

enum {
    BUILD_ID_MIN = 8, /* bytes; shorter ones do not identify a build */
    BUILD_ID_MAX = 64,
    BUILD_ID_TEXT = BUILD_ID_MAX * 2 + 1
};

struct build_id {
    uint8_t bytes[BUILD_ID_MAX];
    size_t size; /* 0: none, or too short */
};

struct build_id build_id_of(const struct elf_file *elf);
bool build_id_equal(const struct build_id *a, const struct build_id *b);
void build_id_text(const struct build_id *id, char out[BUILD_ID_TEXT]);

/* Parses the text that build_id_text writes.  false: it is invalid. */
bool build_id_parse(const char *text, size_t size, struct build_id *out);

/* The kinds of files that the three directories hold. */
extern const struct file_kind index_dir_kind, index_dir_unwind_kind,
    debug_dir_kind;

/* Opens a file and marks it as used now.  -1 with *err: it cannot be used. */
int index_dir_use(const struct file_store *dir, const struct build_id *id,
                  struct stat *st, struct error *err);
/* Whether the file is still there. */
bool index_dir_has(const struct file_store *dir, const struct build_id *id);
int index_dir_remove(const struct file_store *dir, const struct build_id *id,
                     struct error *err);

/* A file being written. */
struct index_writer {
    struct file_writer file;
    uint64_t bytes, max,
        next_check; /* bytes at which the disk's free space is checked */
};

/* For a file of at most max bytes. */
int index_writer_open(struct index_writer *w, const struct file_store *dir,
                      const struct build_id *id, uint64_t max,
                      struct error *err);
/* helper_index.write: arg is the writer. */
int index_writer_write(void *arg, const void *data, size_t size,
                       struct error *err);

#endif
