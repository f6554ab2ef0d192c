/*
 * unwind_tables.h - the unwind tables of everything that a process has mapped,
 * for unwind_walk().
 *
 * A table comes from the store, or is made now by the helper
 * (heapwire-symbolizer), and then kept there.  One thread at a time; it is the
 * helper's parent, and must outlive a load.
 *
 *     tables = unwind_tables_new(&options, err);       once
 *     ...
 *     unwind_tables_load(tables, &request, &loaded, err)   per profile
 *     source = unwind_tables_source(tables);
 *     depth = unwind_walk(&source, &sample->stack, &sample->registers, pcs,
 *                         room, &why);                  per sample
 */
#ifndef HW_UNWIND_TABLES_H
#define HW_UNWIND_TABLES_H

#include <stdatomic.h>
#include <stdint.h>

#include "errors.h"
#include "unwind_walk.h"

struct mapping;
struct mappings;
struct unwind_store;
struct unwind_tables;

struct unwind_tables_options {
    const char *program;        /* path of heapwire-symbolizer; copied */
    struct unwind_store *store; /* shared with others; borrowed */
    uint32_t deadline_ms;       /* for the helper, in one load; 0: 20 s */
};

/* NULL with *err without memory. */
struct unwind_tables *
unwind_tables_new(const struct unwind_tables_options *options,
                  struct error *err);
void unwind_tables_free(struct unwind_tables *tables); /* NULL is fine */

struct unwind_request {
    const struct mappings *maps; /* of the process; inode 0: no file */
    /* Opens the mapped file; load closes it; -1: cannot. */
    int (*open_object)(void *arg, const struct mapping *mapping);
    void *arg;
    int cancel_fd;                /* readable: stop; -1: never */
    const atomic_bool *cancelled; /* true: stop; NULL: never */
};

enum { UNWIND_MISSING_MAX = 16 };

/* A file without a table. */
struct unwind_missing {
    const char *path; /* the request's */
    char why[160];
};

/* The result of a load. */
struct unwind_loaded {
    uint32_t objects;       /* executable files that are mapped */
    uint32_t made, missing; /* tables made now; tables that are missing */
    uint64_t bytes;         /* of all tables in memory */
    struct unwind_missing without[UNWIND_MISSING_MAX]; /* the first missing
                                                        * ones */
};

/* Loads or makes all tables.  Code without one is walked by frame pointers.  -1
 * with *err only when cancelled. */
int unwind_tables_load(struct unwind_tables *tables,
                       const struct unwind_request *request,
                       struct unwind_loaded *loaded, struct error *err);

/* Valid until the next load; its cache is for one thread. */
struct unwind_source unwind_tables_source(struct unwind_tables *tables);

#endif
