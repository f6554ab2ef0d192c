/*
 * table_loader.h - gives the agent the unwind tables of its process, by which a
 * sample costs a fifth.
 *
 * They are loaded, and made where there are none, on a thread of the least
 * priority that ends afterwards: it may take seconds.  All functions are of one
 * thread.
 */
#ifndef HW_TABLE_LOADER_H
#define HW_TABLE_LOADER_H

#include <stdbool.h>
#include <stdint.h>

struct code_map;
struct error;
struct table_loader;
struct unwind_tables_options;

/* The options' texts are copied.  memfd: this process may make one
 * (CONFINED_MEMFD); if not, nothing is ever given.  NULL with *err. */
struct table_loader *
table_loader_new(const struct unwind_tables_options *options, bool memfd,
                 struct error *err);
void table_loader_free(struct table_loader *loader); /* NULL is fine */

/* The agent that gets them. */
struct table_loader_agent {
    /* Takes a sealed file with the table of the object at this address; after
     * the last one, 0 and -1.  Returns -1 when the agent is gone: all are given
     * again the next time. */
    int (*give)(void *arg, uint64_t address, int fd);
    /* Opens the map, as code_map_open() does, of a process whose files in /proc
     * this user may not read. */
    int (*take_code)(void *arg, struct code_map *map, struct error *err);
    void *arg;
};

/* Call it every few seconds while the process is profiled: gives what was
 * loaded since the last call, and once a minute starts to load what is new.
 * started: the start of the process; a change of it or of pid begins anew. */
void table_loader_update(struct table_loader *loader, int32_t pid,
                         uint64_t started,
                         const struct table_loader_agent *agent);

#endif
