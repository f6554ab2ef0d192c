/*
 * unwind_dir.h - the directory of the unwind tables that we made.
 *
 *     <build-id in hex>.hwunwind   a whole table
 *
 * Their content is checked by whoever reads it (unwind_table.h).  Not
 * thread-safe.
 */
#ifndef HW_UNWIND_DIR_H
#define HW_UNWIND_DIR_H

#include <stdint.h>

#include "file_store.h"

struct buffer;
struct build_id;
struct error;

int unwind_dir_open(struct file_store *dir, const char *path,
                    struct error *err);
/* Appends a table's bytes to out; -1: there is none that can be read. */
int unwind_dir_read(const struct file_store *dir, const struct build_id *id,
                    struct buffer *out);
/* Keeps a table, and removes the least recently used ones beyond so many
 * bytes. */
int unwind_dir_write(struct file_store *dir, const struct build_id *id,
                     const struct buffer *table, uint64_t bytes_max,
                     struct error *err);

#endif
