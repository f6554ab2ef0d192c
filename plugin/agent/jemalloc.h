/*
 * allocator.h - the jemalloc of this process, found by name at run time.
 *
 * Used by the agent's thread alone, but for allocator_find.  Return values are
 * 0 or what mallctl returned (an errno).
 */
#ifndef HW_ALLOCATOR_H
#define HW_ALLOCATOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent_protocol.h"

typedef int mallctl_fn(const char *name, void *old, size_t *old_size, void *new,
                       size_t new_size);

struct allocator {
    mallctl_fn *mallctl; /* NULL: none serves this process */
    char mallctl_name[AGENT_NAME_MAX];
    const char *conf_name; /* the variable that this build reads */
    bool config_prof, opt_prof;
    int64_t active_since_ms; /* wall clock; 0 while inactive */
    uint32_t changes;
    int64_t epoch_ms; /* monotonic: statistics are as of then */
};

/* Called on the main thread before main: a fork's child takes over what was
 * found, for dlsym may hang there on a loader lock that nobody holds any more.
 */
void allocator_find(struct allocator *allocator);

/* Takes the calling thread out of the profiles. */
void allocator_hide_thread(struct allocator *allocator);

/* AGENT_OK when profiles can be had, or why not. */
enum agent_status allocator_status(const struct allocator *allocator);

void allocator_hello(struct allocator *allocator, struct agent_hello *hello);
int allocator_get_active(struct allocator *allocator, bool *active);
int allocator_set_active(struct allocator *allocator, bool active);

/* path must lead to a memfd: a dump holds locks that fork() needs. */
int allocator_dump(struct allocator *allocator, const char *path);

/* ENOENT for a name that is not on the closed list. */
int allocator_stat(struct allocator *allocator, const char *name,
                   uint64_t *value);

#endif
