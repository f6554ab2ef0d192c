/*
 * jemalloc_find.h - every jemalloc in this process, and which one is the
 * database's.
 *
 * Finds functions by name, or with heapwire-run's findings in the file, and
 * checks them against the loaded object before any call.  libc only, no heap.
 */
#ifndef HW_JEMALLOC_FIND_H
#define HW_JEMALLOC_FIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent_protocol.h"
#include "mallctl.h"

struct known;
struct loaded_object;

enum { ALLOCATORS_MAX = 16, ALLOCATORS_SEEN = 512, ALLOCATOR_HOW_MAX = 16 };

struct allocator {
    mallctl_fn *mallctl; /* NULL: it cannot be called */
    char mallctl_name[AGENT_NAME_MAX];
    char variable[AGENT_NAME_MAX]; /* that this build reads */
    char version[AGENT_NAME_MAX];
    char how[ALLOCATOR_HOW_MAX]; /* it was found: "exported", "scan", ... */
    char object[AGENT_PATH_MAX];
    char note[AGENT_TEXT_MAX]; /* why it cannot be called */
    bool in_program;           /* in the executable itself */
    bool own;                  /* there, or in a file that heapwire-run named */
    bool preloaded;
    bool exported;                  /* found by its name */
    bool serves_malloc, serves_new; /* of the process */
    bool config_prof, opt_prof;
    uint64_t bytes; /* stats.allocated, as of: */
    struct mallctl_epoch epoch;
};

struct allocators {
    struct allocator list[ALLOCATORS_MAX];
    size_t count;
    int chosen; /* -1: none is the database's */
    char
        why[AGENT_TEXT_MAX]; /* not, where there are some; or what is missing */
};

/* Looks at all that is loaded.  known is AGENT_ENV_JEMALLOC's text, wanted
 * AGENT_ENV_ALLOCATOR's, or NULL.  To be called while nothing is loaded or
 * unloaded: on the main thread before main. */
void allocators_find(struct allocators *all, const char *known,
                     const char *wanted);

/* Adds those of one object.  handle, if any, keeps the object loaded;
 * heapwire-run found the first told entries of known. */
void allocators_look(struct allocators *all, const struct loaded_object *object,
                     void *handle, const struct known *known,
                     size_t known_count, size_t told);
void allocators_choose(struct allocators *all, const char *wanted);

/* Takes the one that the program has given; looks up no symbol. */
void allocators_give(struct allocators *all, mallctl_fn *mallctl,
                     const char *prefix);

/* The first reads its bytes in use as last counted; the second counts them
 * again, at most once a second. */
void allocator_read_bytes(struct allocator *allocator);
void allocator_count(struct allocator *allocator);

#endif
