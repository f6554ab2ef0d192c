/*
 * map_seen.h - since when memory without a name has been there: what is
 * mapped is remembered from scan to scan.
 *
 * A scan reads /proc/<pid>/maps, which counts no pages: some milliseconds for
 * a thousand mappings.  Any thread.
 */
#ifndef HW_MAP_SEEN_H
#define HW_MAP_SEEN_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct memory_map;

enum { MAP_SEEN_MAX = 4096 /* the largest */, MAP_SEEN_SCAN_MS = 60000 };

struct seen_range {
    uint64_t start, end;
    int64_t first_ms; /* wall clock */
};

/* Of one process; zeroed, with its lock, at first. */
struct map_seen {
    pthread_mutex_t lock; /* guards all below */
    pid_t pid;
    uint64_t start_ticks;
    struct seen_range *list; /* ascending */
    size_t count;
    uint64_t due_ms; /* clock_ms: the next scan of its own */
};

void map_seen_init(struct map_seen *seen);
void map_seen_fini(struct map_seen *seen);

/* Whether a scan is due: after a while, or at another process. */
bool map_seen_is_due(struct map_seen *seen, pid_t pid, uint64_t start_ticks);
/* Scans.  It may wait as long as the kernel has the memory map of a hung
 * process locked; the lock is not held then, so nobody else waits. */
void map_seen_scan(struct map_seen *seen, pid_t pid, uint64_t start_ticks);
/* Remembers the mappings of that process, taken at now_ms, and sets
 * first_seen_ms of each foreign one. */
void map_seen_note(struct map_seen *seen, pid_t pid, uint64_t start_ticks,
                   struct memory_map *map, int64_t now_ms);

#endif
