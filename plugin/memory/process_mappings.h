/*
 * process_mappings.h - what a process has mapped, and how much of it is in
 * memory: from /proc/<pid>/smaps.
 *
 * The kernel walks all page tables of the process for it and locks the
 * process's memory map: for milliseconds per GB its own mmap and munmap wait.
 * So read it for a statement, not every second.
 */
#ifndef HW_PROCESS_MAPPINGS_H
#define HW_PROCESS_MAPPINGS_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

struct error;

enum {
    MAPPINGS_MAX = 1024,     /* names; what has another is of the last */
    MAPPING_NAME_MAX = 1023, /* bytes; a longer one is cut */
};

/* Mappings of one name and kind together. */
struct process_mapping {
    char name[MAPPING_NAME_MAX + 1]; /* a path, or the kernel's word; "" */
    /* "file", "shared memory", "heap", "stack", "anonymous", "kernel" */
    const char *kind;
    uint64_t count, size, rss, swap; /* bytes */
};

/* Into list, which has room for MAPPINGS_MAX: how many, those with the most in
 * memory first.  0 with *err: it may not be read, or the process is gone; or
 * *cancelled (NULL: never) became true. */
size_t process_mappings_read(pid_t pid, const atomic_bool *cancelled,
                             struct process_mapping *list, struct error *err);

/* Likewise, of such a file. */
size_t process_mappings_parse(FILE *smaps, const atomic_bool *cancelled,
                              struct process_mapping *list);

#endif
