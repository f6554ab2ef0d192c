/*
 * unwind_dir.h - the directory of the unwind tables that we made
 * (index_dir_unwind_kind).
 *
 * Their content is checked by whoever reads it (unwind_table.h).  Not
 * thread-safe, except unwind_dir_read.
 */
#ifndef HW_UNWIND_DIR_H
#define HW_UNWIND_DIR_H

#include <stdint.h>

struct buffer;
struct build_id;
struct error;
struct file_store;

/* Appends a table's bytes to out; -1: there is none that can be read. */
int unwind_dir_read(const struct file_store *dir, const struct build_id *id,
                    struct buffer *out);
/* Writes a table, and removes the least recently used ones beyond this many
 * bytes. */
int unwind_dir_write(struct file_store *dir, const struct build_id *id,
                     const struct buffer *table, uint64_t bytes_max,
                     struct error *err);

#endif
