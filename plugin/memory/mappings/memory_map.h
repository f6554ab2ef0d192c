/*
 * memory_map.h - what a process has mapped, one by one, how much of it is in
 * memory, and whose each is.
 *
 * Immutable once made and shared by reference count (atomic).
 */
#ifndef HW_MEMORY_MAP_H
#define HW_MEMORY_MAP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;
struct error;

enum {
    /* Mappings; those past it are summed up in one.  The kernel allows a
     * process 65530, unless vm.max_map_count was raised. */
    MEMORY_MAP_MAX = 65536,
    MEMORY_MAP_BYTES_MAX = 64 << 20, /* of the texts */
    RANGE_NAME_MAX = 1023            /* bytes; a longer one is cut */
};

/* Bytes: what is larger is a reserve (a sanitizer's, a runtime's) in which no
 * allocator's marks are looked for. */
#define RANGE_SEARCHED_MAX (UINT64_C(1) << 40)

enum range_kind {
    RANGE_FOREIGN, /* anonymous, of no allocator that is known */
    RANGE_JEMALLOC,
    RANGE_GLIBC,
    RANGE_STACK,
    RANGE_FILE,
    RANGE_SHARED,
    RANGE_VDSO,
    RANGE_PAGE_TABLES,
    RANGE_KERNEL,
    RANGE_OTHERS, /* past MEMORY_MAP_MAX */
    RANGE_UNKNOWN
};

/* A mapping, or a part of one: neighbours of two owners may be one mapping to
 * the kernel.  Without an address range (start and end 0), it is what the
 * kernel holds for the process or its cgroup, and not of its rss. */
struct memory_range {
    uint64_t start, end;
    /* Bytes.  Of a part, rss alone is known of the last four. */
    uint64_t size, rss, dirty, anonymous, swap;
    bool part;
    bool uncounted;      /* rss and those behind it are not known, and 0 */
    char permissions[5]; /* "rw-p" */
    bool bare;           /* the kernel gives it no name and no file */
    enum range_kind kind;
    const char *name;      /* a path or the kernel's word, clean; "" */
    const char *owner;     /* whose it is, clean; "" */
    const char *evidence;  /* how that is known; static */
    int32_t tid;           /* of a stack; 0: none, or not known */
    int64_t first_seen_ms; /* wall clock; 0: not known */
};

struct memory_map {
    struct memory_range *list; /* those with a range ascend, and come first */
    size_t count, capacity;
    struct memory_range rest; /* of those past the ceiling */
    size_t rest_count;
    size_t bad_lines;    /* that no kernel writes */
    bool cut;            /* the text ends too soon: there are more */
    bool by_agent;       /* it read them itself */
    bool not_dirty;      /* dirty is unknown of all */
    int64_t taken_ms;    /* wall clock */
    uint32_t took_ms;    /* to read and to sort out */
    const char *remark;  /* what is missing, and why; "" */
    const char *failure; /* why there is nothing; NULL: there is */
    struct arena *arena; /* the texts */
    atomic_int references;
};

/* NULL without memory. */
struct memory_map *memory_map_new(void);
/* Adds one, zeroed.  NULL: past the ceiling, or without memory.  Pointers to
 * earlier ones become invalid. */
struct memory_range *memory_map_add(struct memory_map *map);
/* A clean copy, cut at RANGE_NAME_MAX; "" without memory. */
const char *memory_map_text(struct memory_map *map, const char *text,
                            size_t size);
const char *range_kind_name(enum range_kind kind);
/* Writable, private, without a name or file, in memory at least in part, and no
 * larger than RANGE_SEARCHED_MAX. */
bool memory_range_is_anonymous(const struct memory_range *range);

struct memory_map *memory_map_ref(struct memory_map *map);
void memory_map_unref(struct memory_map *map); /* NULL is fine */

#endif
