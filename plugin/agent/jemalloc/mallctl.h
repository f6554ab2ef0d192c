/*
 * mallctl.h - a jemalloc's mallctl, called with typed values.
 *
 * 0, or what mallctl returned (an errno).  Callable in a fork's child.
 */
#ifndef HW_MALLCTL_H
#define HW_MALLCTL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef int mallctl_fn(const char *name, void *old, size_t *old_size, void *new,
                       size_t new_size);

/* Also EINVAL when the value has another size. */
int mallctl_read(mallctl_fn *mallctl, const char *name, void *out, size_t size);
/* False if it cannot be read. */
bool mallctl_read_bool(mallctl_fn *mallctl, const char *name);
int mallctl_write_bool(mallctl_fn *mallctl, const char *name, bool value);

/* When a jemalloc's figures were refreshed; zeroed: refresh at the next call.
 */
struct mallctl_epoch {
    int64_t at_ms;   /* monotonic */
    uint64_t number; /* the program may refresh them, too */
};

/*
 * Refreshes the figures unless they are younger than a second: a refresh adds
 * up every arena under a lock that the program's own mallctl calls take, too.
 */
int mallctl_refresh(mallctl_fn *mallctl, struct mallctl_epoch *epoch);

/* Nothing could read or stop sampling in a child without an agent, so
 * prof.active is switched off in the children that the database forks, and back
 * on in a child with an agent.  Children of vfork() share their parent's memory
 * and stay as they are.
 *
 * Registers the handlers for a jemalloc that can profile.  Call it after the
 * first use of that jemalloc, whose own fork handlers must come before ours. */
void fork_watch(mallctl_fn *mallctl);
/* In a child with an agent: restores the parent's prof.active. */
void fork_keep(void);

#endif
