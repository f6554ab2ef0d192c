/*
 * process_memory.h - the kernel's figures of a process's memory and its limit.
 *
 * Reads small files of /proc and of the cgroup file systems; cheap for a
 * process of any size (nothing walks its page tables).
 */
#ifndef HW_PROCESS_MEMORY_H
#define HW_PROCESS_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "stats.h"

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
struct cgroup_path {
    char path[4096];
    size_t root_size;
    bool v2;
};
bool cgroup_find(const char *cgroup, const char *mountinfo,
                 struct cgroup_path *out);
/* Fills cgroup_* from there: the smallest limit on the way up, and the use of
 * the cgroup that has it; without any limit the process's own use. */
void cgroup_read(const struct cgroup_path *cgroup, struct stats *stats);

/* Two-step form of process_memory_read for frequent readers, without
 * rss_shared: the cgroup rarely changes.  cgroup NULL: none can be seen. */
bool process_memory_find_cgroup(pid_t pid, struct cgroup_path *out);
void process_memory_read_at(pid_t pid, const struct cgroup_path *cgroup,
                            struct stats *stats);

/* How many processes of that cgroup the kernel has killed for want of memory,
 * if it counts them; cgroup NULL: on the whole machine. */
struct stats_figure process_memory_oom_kills(const struct cgroup_path *cgroup);

/* Bytes of the page tables of a process. */
struct stats_figure process_memory_page_tables(pid_t pid);
/* Bytes of its pages of hugetlbfs, which are not a part of rss. */
struct stats_figure process_memory_huge(pid_t pid);
/* What a cgroup of version 2 is charged for beside the processes' pages: the
 * numbers behind those words in its memory.stat.  Not known: of the root, which
 * has the whole machine's. */
void cgroup_read_kernel(const struct cgroup_path *cgroup,
                        const char *const *words, struct stats_figure *figures,
                        size_t count);

#endif
