/*
 * unwind_store.h - the unwind tables that are there, in memory and in a
 * directory: one store for all that walk.
 *
 * Any thread.  Its locks are the last in the order of locks, but for the one of
 * memory_budget.h, in which the tables in memory count.
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
    uint64_t bytes;  /* at most on disk, and in memory up to 256 MB; 0: that */
};

/* An unusable directory is no error: there is none then, and why says so.  NULL
 * only without memory. */
struct unwind_store *
unwind_store_new(const struct unwind_store_options *options, struct error *why);
/* All objects have been let go.  NULL is fine. */
void unwind_store_free(struct unwind_store *store);
/* The files' owner becomes another user, as whom the process continues. */
int unwind_store_give(struct unwind_store *store, uint32_t uid, uint32_t gid,
                      struct error *err);

/* Of all tables in memory. */
uint64_t unwind_store_bytes(struct unwind_store *store);
uint64_t unwind_store_bytes_max(const struct unwind_store *store);

/* What is known of a file, by its build-id or else its state.  It and its table
 * stay until unref.  NULL without room. */
struct unwind_object *unwind_store_ref(struct unwind_store *store,
                                       const struct elf_file *elf);
void unwind_store_unref(struct unwind_store *store,
                        struct unwind_object *object);

/* NULL: it has no table, and why; is_due: this is the time to try: */
const struct unwind_table *unwind_store_table(struct unwind_store *store,
                                              struct unwind_object *object,
                                              bool *is_due,
                                              char why[ERROR_TEXT_MAX]);
/* From the directory; false: there is none. */
bool unwind_store_read(struct unwind_store *store, struct unwind_object *object,
                       const struct elf_file *elf);
/* Takes a table's bytes, which may be anything, into memory and to the
 * directory; -1 with *err: not into memory. */
int unwind_store_put(struct unwind_store *store, struct unwind_object *object,
                     const struct elf_file *elf, struct buffer *bytes,
                     struct error *err);
/* It is not to be had now; to be tried again from then on (clock_ms). */
void unwind_store_fail(struct unwind_store *store, struct unwind_object *object,
                       const struct error *err, uint64_t retry_ms);

#endif
