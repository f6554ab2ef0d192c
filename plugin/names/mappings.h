/*
 * mappings.h - which file lies where in a process: /proc/<pid>/maps.
 */
#ifndef HW_MAPPINGS_H
#define HW_MAPPINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;
struct error;

/* The kernel's limit is 65530, and 262144 where a database's manual raises it
 * (vm.max_map_count). */
enum { MAPPINGS_MAX = 262144 };

struct mapping {
    uint64_t start, end;    /* addresses, end exclusive */
    uint64_t offset;        /* of start, in the file */
    uint64_t device, inode; /* device as makedev() gives it; inode 0: no file */
    bool executable;
    bool deleted;     /* the path ended in " (deleted)" */
    const char *path; /* "" when anonymous; without " (deleted)" */
};

struct mappings {
    const struct mapping *list; /* ascending, disjoint */
    size_t count;
};

/* Parses maps text into arena.  Malformed lines are skipped and counted, for
 * they come last in a cut-off profile; -1 only without memory or past
 * MAPPINGS_MAX. */
int mappings_parse(struct arena *arena, const char *text, size_t size,
                   struct mappings *out, size_t *skipped, struct error *err);

/* The mapping that holds address, or NULL. */
const struct mapping *mappings_find(const struct mappings *maps,
                                    uint64_t address);

#endif
