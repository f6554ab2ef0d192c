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
    mallctl_fn *mallctl; /* NULL: cannot be called */
    char mallctl_name[AGENT_NAME_MAX];
    char variable[AGENT_NAME_MAX]; /* read by this build */
    char version[AGENT_NAME_MAX];
    char how[ALLOCATOR_HOW_MAX]; /* how it was found: "exported", "scan", ... */
    char object[AGENT_PATH_MAX];
    char note[AGENT_TEXT_MAX]; /* why it cannot be called */
    bool in_program;           /* in the executable itself */
    bool own; /* in the program, or in a file that heapwire-run named */
    bool preloaded;
    bool exported;                  /* dlsym finds it */
    bool serves_malloc, serves_new; /* of the process */
    bool config_prof, opt_prof;
    bool counted;             /* built with statistics: at the time in epoch */
    uint64_t bytes, resident; /* stats.allocated and stats.resident */
    struct mallctl_epoch epoch;
};

struct allocators {
    struct allocator list[ALLOCATORS_MAX];
    size_t count;
    int chosen;               /* index of the database's; -1: none */
    char why[AGENT_TEXT_MAX]; /* why none was chosen, or what is missing */
};

/* Searches all loaded objects.  known is AGENT_ENV_JEMALLOC's text, wanted
 * AGENT_ENV_ALLOCATOR's, or NULL.  Call it on the main thread before main,
 * while no object can be loaded or unloaded. */
void allocators_find(struct allocators *all, const char *known,
                     const char *wanted);

/* Adds the jemallocs of one object.  handle (or NULL) keeps the object loaded;
 * the first from_run entries of known are heapwire-run's. */
void allocators_look(struct allocators *all, const struct loaded_object *object,
                     void *handle, const struct known *known,
                     size_t known_count, size_t from_run);
void allocators_choose(struct allocators *all, const char *wanted);

/* Adds the jemalloc that the program has named, without looking up symbols. */
void allocators_give(struct allocators *all, mallctl_fn *mallctl,
                     const char *prefix);

/* Bytes in use: the first as last refreshed; the second refreshes them, at most
 * once a second. */
void allocator_read_bytes(struct allocator *allocator);
void allocator_count(struct allocator *allocator);

/* ---- jemalloc_late.c ---- */

/* Objects that were loaded after the program's start.  Used by the agent's
 * thread alone, which holds no lock meanwhile, and waits for the loader's only
 * where a file brings a jemalloc. */
enum { LATE_SEEN_MAX = 1024 };

struct late {
    unsigned long long adds; /* dlpi_adds at the last look */
    bool again;              /* an object was not ready: look again */
    uint64_t seen[LATE_SEEN_MAX];
    size_t seen_count;
};

/* Marks all objects loaded now as known. */
void late_begin(struct late *late);

/*
 * Adds the jemallocs of new objects (with a zeroed struct: of all) once the
 * loader has finished with them, and keeps these objects loaded.  known and
 * wanted as in allocators_find; an earlier choice stays.  True if it added one.
 */
bool late_look(struct late *late, struct allocators *all, const char *known,
               const char *wanted);

#endif
