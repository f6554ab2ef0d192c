/* snapshot.c - see snapshot.h. */
#include "snapshot.h"

#include "memory.h"
#include "profile.h"

struct snapshot *
snapshot_new(void)
{
    struct snapshot *snapshot = mem_zalloc(1, sizeof(*snapshot));

    if (snapshot)
        snapshot->references = 1;
    return snapshot;
}

struct snapshot *
snapshot_ref(struct snapshot *snapshot)
{
    __atomic_add_fetch(&snapshot->references, 1, __ATOMIC_RELAXED);
    return snapshot;
}

/* Release pairs with acquire: whoever frees has seen all uses end. */
void
snapshot_unref(struct snapshot *snapshot)
{
    if (!snapshot ||
        __atomic_sub_fetch(&snapshot->references, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    profile_free(snapshot->profile);
    mem_free(snapshot);
}
