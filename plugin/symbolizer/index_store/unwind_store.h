/*
 * unwind_store.h - the existing unwind tables, in memory and in a directory:
 * one store for everything that walks stacks.
 *
 * Any thread.  Its locks are the last in the order of locks, but for the one of
 * memory_budget.h, which counts the tables in memory.
 */
#ifndef HW_UNWIND_STORE_H
#define HW_UNWIND_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "errors.h"

struct buffer;
struct elf_file;
struct unwind_object;
struct unwind_store;
struct unwind_table;

struct unwind_store_options {
    const char *dir; /* made with mode 0700 if missing; NULL: none */
    uint64_t bytes;  /* at most on disk, and in memory up to 256 MB; 0: 256
                      * MB */
};

/* An unusable directory is no error: the store works without one, and why says
 * so.  NULL only without memory. */
struct unwind_store *
unwind_store_new(const struct unwind_store_options *options, struct error *why);
/* All objects must have been released.  NULL is fine. */
void unwind_store_free(struct unwind_store *store);
/* Gives the files to another user, as whom the process continues. */
int unwind_store_give(struct unwind_store *store, uint32_t uid, uint32_t gid,
                      struct error *err);

/* Bytes of all tables in memory, and their limit. */
uint64_t unwind_store_bytes(struct unwind_store *store);
uint64_t unwind_store_bytes_max(const struct unwind_store *store);

/* The entry of a file, found by its build-id or else by inode, time and size.
 * It and its table stay until unref.  NULL: no room. */
struct unwind_object *unwind_store_ref(struct unwind_store *store,
                                       const struct elf_file *elf);
void unwind_store_unref(struct unwind_store *store,
                        struct unwind_object *object);

/* The table; NULL: there is none, and why says the reason. *is_due: it is time
 * to try: */
const struct unwind_table *unwind_store_table(struct unwind_store *store,
                                              struct unwind_object *object,
                                              bool *is_due,
                                              char why[ERROR_TEXT_MAX]);
/* Reads the table from the directory; false: there is none. */
bool unwind_store_read(struct unwind_store *store, struct unwind_object *object,
                       const struct elf_file *elf);
/* Checks a table's bytes, which may be anything, and takes them into memory and
 * to the directory.  -1 with *err: not into memory. */
int unwind_store_put(struct unwind_store *store, struct unwind_object *object,
                     const struct elf_file *elf, struct buffer *bytes,
                     struct error *err);
/* Records that there is no table now, and from when on to try again
 * (clock_ms). */
void unwind_store_fail(struct unwind_store *store, struct unwind_object *object,
                       const struct error *err, uint64_t retry_ms);

#endif
