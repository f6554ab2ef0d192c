/* snapshot.c - see snapshot.h. */
#include "snapshot.h"

#include <stdatomic.h>
#include <string.h>

#include "errors.h"
#include "memory.h"
#include "profile.h"

static atomic_uint_fast64_t serials; /* a counter; orders nothing else */

uint64_t
snapshot_serial(void)
{
    return atomic_fetch_add(&serials, 1) + 1;
}

struct snapshot *
snapshot_new(void)
{
    struct snapshot *snapshot = mem_zalloc(1, sizeof(*snapshot));

    if (snapshot) {
        snapshot->references = 1;
        snapshot->serial = snapshot_serial();
    }
    return snapshot;
}

struct snapshot *
snapshot_ref(struct snapshot *snapshot)
{
    atomic_fetch_add_explicit(&snapshot->references, 1, memory_order_relaxed);
    return snapshot;
}

/* Release pairs with acquire: the thread that frees has seen all uses end. */
void
snapshot_unref(struct snapshot *snapshot)
{
    if (!snapshot || atomic_fetch_sub_explicit(&snapshot->references, 1,
                                               memory_order_acq_rel) > 1)
        return;
    profile_free(snapshot->profile);
    mem_free(snapshot);
}

bool
snapshot_is_name(const char *name, size_t size)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyz0123456789_";

    if (size == 0 || size > SNAPSHOT_NAME_MAX)
        return false;
    for (size_t i = 0; i < size; i++)
        if (!memchr(allowed, name[i], sizeof(allowed) - 1))
            return false;
    return true;
}

/* Callers that offer another way out cut the text at the semicolon. */
#define HOW_NEVERTHELESS                                                       \
    "a script's .force(), or the option 'force' of SELECT top(...) and its "   \
    "like, compares them nevertheless"

int
snapshot_comparable(const struct snapshot *snapshot,
                    const struct snapshot *base, struct error *err)
{
    const struct agent_hello *a = &snapshot->hello, *b = &base->hello;
    enum profile_kind kind = snapshot->profile->kind;

    if (kind != base->profile->kind) {
        error_set(err, ER_WRONG_ARGUMENTS,
                  "snapshot %s is of %s, and %s of %s: they cannot be compared",
                  snapshot->name, profile_kind_name(kind), base->name,
                  profile_kind_name(base->profile->kind));
        return -1;
    }
    if (strcmp(a->boot_id, b->boot_id) != 0 || a->pid != b->pid ||
        a->start_ticks != b->start_ticks) {
        error_set(err, ER_WRONG_ARGUMENTS,
                  "snapshots %s (pid %d) and %s (pid %d) are of different "
                  "processes; take a new snapshot as base; " HOW_NEVERTHELESS,
                  snapshot->name, a->pid, base->name, b->pid);
        return -1;
    }
    if (kind != PROFILE_HEAP)
        return 0;
    if (snapshot->profile->rate != base->profile->rate) {
        error_set(err, ER_WRONG_ARGUMENTS,
                  "snapshots %s and %s have different sample rates (%llu and "
                  "%llu bytes); " HOW_NEVERTHELESS,
                  snapshot->name, base->name,
                  (unsigned long long)snapshot->profile->rate,
                  (unsigned long long)base->profile->rate);
        return -1;
    }
    if (a->resets != b->resets) {
        error_set(err, ER_WRONG_ARGUMENTS,
                  "the profile was reset between %s and %s; " HOW_NEVERTHELESS,
                  base->name, snapshot->name);
        return -1;
    }
    return 0;
}
