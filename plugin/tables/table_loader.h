/*
 * table_loader.h - the unwind tables of the database's process, for the agent
 * in it, whose samples cost a fifth by them.
 *
 * They are loaded, and made where need is, on a thread of the least priority
 * that ends with that: it may take seconds.  All functions are of one thread.
 */
#ifndef HW_TABLE_LOADER_H
#define HW_TABLE_LOADER_H

#include <stdbool.h>
#include <stdint.h>

struct code_map;
struct error;
struct table_loader;
struct unwind_tables_options;

/* The options' texts are copied.  memfd: one may be made here (CONFINED_MEMFD);
 * else nothing is ever given.  NULL with *err. */
struct table_loader *
table_loader_new(const struct unwind_tables_options *options, bool memfd,
                 struct error *err);
void table_loader_free(struct table_loader *loader); /* NULL is fine */

/* Whom they are for. */
struct table_loader_agent {
    /* A sealed file with the table of the object that has this address, and in
     * the end 0 and -1.  -1: no more of them, and all again the next time. */
    int (*give)(void *arg, uint64_t address, int fd);
    /* code_map_open, of a process that is closed to us. */
    int (*take_code)(void *arg, struct code_map *map, struct error *err);
    void *arg;
};

/* Call it every few seconds while the process is profiled: gives what has been
 * loaded since the last call and was not given yet, and sees to what is new
 * once a minute.  started: when the process was; another begins anew. */
void table_loader_update(struct table_loader *loader, int32_t pid,
                         uint64_t started,
                         const struct table_loader_agent *agent);

#endif
