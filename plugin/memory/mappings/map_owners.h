/*
 * map_owners.h - whose each mapping is.
 *
 * Pure but for the peek, which a test fakes.
 */
#ifndef HW_MAP_OWNERS_H
#define HW_MAP_OWNERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct map_peek;
struct memory_map;

enum {
    MAP_THREADS_MAX = 65536,
    /* Pages whose presence is counted, where a mapping has several owners. */
    MAP_COUNTED_MAX = 4 << 20
};

struct map_thread {
    uint64_t sp; /* stack pointer; 0: unknown, the thread runs */
    int32_t tid;
    char name[64]; /* as the kernel has it: any bytes */
};

/* What is known in addition to the list. */
struct map_hints {
    int32_t pid;                /* its main thread has "[stack]" */
    struct map_thread *threads; /* ascending by sp */
    size_t thread_count;
    uint64_t stack_size;         /* of a thread that asked for none; 0: any */
    const struct map_peek *peek; /* NULL: its memory may not be read */
    bool jemalloc;               /* it serves the process's malloc */
    uint64_t jemalloc_most;      /* bytes that it has mapped; 0: not known */
};

/* Gives each mapping an owner; one that has several is divided.  -1 with *err:
 * no memory. */
int map_owners_find(struct memory_map *map, const struct map_hints *hints,
                    struct error *err);

#endif
