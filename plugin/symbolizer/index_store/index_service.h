/*
 * index_service.h - makes and keeps the symbol indexes of this node's objects.
 *
 * It has an index made for each object that was costly to name: one at a time,
 * by a helper of its own that runs on idle processors only.  Only its thread
 * writes to the directory.  All functions are callable from any thread.  Its
 * lock is the last in the order of locks.
 */
#ifndef HW_INDEX_SERVICE_H
#define HW_INDEX_SERVICE_H

#include <sys/types.h>

#include "index_list.h"

struct elf_file;
struct error;
struct index_service;
struct symbolizer_asked;

struct index_service_options {
    const char *dir;     /* made with mode 0700 if missing */
    const char *program; /* path of heapwire-symbolizer */
    struct index_rules rules;
    uint32_t reader_mb; /* as in symbolizer_options; 0: a default that depends
                           on the object */
    uint32_t quiet_ms;  /* time without questions before an index is made */
    void (*log)(const char *line); /* NULL: no log */
};
extern const struct index_service_options index_service_defaults;

/* NULL with *err. */
struct index_service *
index_service_start(const struct index_service_options *options,
                    struct error *err);
/* The same by the defaults, but for these (bytes: of all indexes).  NULL: dir
 * is NULL, or no index can be made, which is logged: then naming takes longer,
 * with the same names. */
struct index_service *
index_service_try_start(const char *dir, const char *program, uint64_t bytes,
                        uint32_t reader_mb, void (*log)(const char *line));
/* Gives up the index that is being made: its helper is killed, and may end
 * later.  NULL is fine. */
void index_service_stop(struct index_service *service);

/* For struct symbolizer_indexes, with the service as arg. */
int index_service_open(void *arg, const struct elf_file *elf,
                       struct error *why);
void index_service_asked(void *arg, const struct symbolizer_asked *asked);

/* Copies at most max entries; returns how many. */
size_t index_service_list(struct index_service *service,
                          struct index_entry *out, size_t max);

/* Gives the files to another user, as whom the process continues. */
int index_service_give(struct index_service *service, uid_t uid, gid_t gid,
                       struct error *err);

#endif
