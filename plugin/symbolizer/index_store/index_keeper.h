/*
 * index_keeper.h - makes and keeps the symbol indexes of what this node runs.
 *
 * An object that was costly to name has its index made, by a helper of its own,
 * one at a time, when no processor has anything better to do.  Its thread alone
 * writes to the directory.  All functions are callable from any thread.  The
 * lock in here is the last of all.
 */
#ifndef HW_INDEX_KEEPER_H
#define HW_INDEX_KEEPER_H

#include <sys/types.h>

#include "index_list.h"

struct elf_file;
struct error;
struct index_keeper;
struct symbolizer_asked;

struct index_keeper_options {
    const char *dir;     /* made 0700 where missing */
    const char *program; /* path of heapwire-symbolizer */
    struct index_rules rules;
    uint32_t reader_mb; /* as symbolizer_options has it, but 0: the default
                           that makes of 256 */
    uint32_t quiet_ms;  /* nothing is asked for so long before one is made */
    void (*log)(const char *line); /* NULL: nowhere */
};
extern const struct index_keeper_options index_keeper_defaults;

/* NULL with *err. */
struct index_keeper *
index_keeper_start(const struct index_keeper_options *options,
                   struct error *err);
/* What is being made is given up.  NULL is fine. */
void index_keeper_stop(struct index_keeper *keeper);

/* struct symbolizer_indexes, arg the keeper. */
int index_keeper_open(void *arg, const struct elf_file *elf, struct error *why);
void index_keeper_asked(void *arg, const struct symbolizer_asked *asked);

/* At most max; how many. */
size_t index_keeper_list(struct index_keeper *keeper, struct index_entry *out,
                         size_t max);

/* The files become another user's, who goes on. */
int index_keeper_give(struct index_keeper *keeper, uid_t uid, gid_t gid,
                      struct error *err);

#endif
