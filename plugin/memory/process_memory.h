/*
 * process_memory.h - the kernel's figures of a process's memory and its limit.
 *
 * Reads small files of /proc and of the cgroup file systems; cheap for a
 * process of any size (nothing walks its page tables).
 */
#ifndef HW_PROCESS_MEMORY_H
#define HW_PROCESS_MEMORY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "stats.h"

struct error;

/* Fills rss, rss_file, rss_shared and cgroup_*; unreadable ones stay unknown.
 */
void process_memory_read(pid_t pid, struct stats *stats);

/* Milliseconds of CPU time that all its threads, ended ones, too, have used. */
struct stats_figure process_cpu_ms(pid_t pid);

/*
 * The directory that stands for a process's memory cgroup: from the texts of
 * its /proc/<pid>/cgroup and of our own /proc/self/mountinfo.  In front come
 * root_size bytes of the mount itself, at which the way up ends.  false: none
 * that can be seen from here.
 */
struct cgroup_place {
    char path[4096];
    size_t root_size;
    bool v2;
};
bool cgroup_find(const char *cgroup, const char *mountinfo,
                 struct cgroup_place *out);
/* Fills cgroup_* from there: the smallest limit on the way up, and the use of
 * the cgroup that has it; without any limit the process's own use. */
void cgroup_read(const struct cgroup_place *place, struct stats *stats);

/* Two-step form of process_memory_read for frequent readers, without
 * rss_shared: the cgroup rarely changes.  place NULL: no cgroup can be seen. */
bool process_memory_place(pid_t pid, struct cgroup_place *out);
void process_memory_read_at(pid_t pid, const struct cgroup_place *place,
                            struct stats *stats);

/* How many processes of that cgroup the kernel has killed for want of memory,
 * if it counts them; place NULL: on the whole machine. */
struct stats_figure process_memory_oom_kills(const struct cgroup_place *place);

/*
 * What a process has mapped, and how much of it is in memory: from
 * /proc/<pid>/smaps.
 *
 * The kernel walks all page tables of the process for it and locks the
 * process's memory map: for milliseconds per GB its own mmap and munmap wait.
 * So read it for a statement, not every second.
 */

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
