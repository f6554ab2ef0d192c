/*
 * mallctl.c - typed calls of mallctl, and one rule for how often figures are
 * refreshed.  See jemalloc.h.
 */
#include "jemalloc.h"

#include <errno.h>

#include "agent_tools.h"

enum { EPOCH_MIN_MS = 1000 };

int
mallctl_read(mallctl_fn *mallctl, const char *name, void *out, size_t size)
{
    size_t got = size;
    int error = mallctl(name, out, &got, NULL, 0);

    return error == 0 && got != size ? EINVAL : error;
}

bool
mallctl_read_bool(mallctl_fn *mallctl, const char *name)
{
    bool value = false;

    return mallctl_read(mallctl, name, &value, sizeof(value)) == 0 && value;
}

int
mallctl_write_bool(mallctl_fn *mallctl, const char *name, bool value)
{
    return mallctl(name, NULL, NULL, &value, sizeof(value));
}

int
mallctl_refresh(mallctl_fn *mallctl, struct mallctl_epoch *epoch)
{
    size_t size = sizeof(epoch->number);
    uint64_t next = 1;
    int error;

    if (epoch->at_ms != 0 && agent_monotonic_ms() - epoch->at_ms < EPOCH_MIN_MS)
        return 0;
    error = mallctl("epoch", &epoch->number, &size, &next, sizeof(next));
    if (error == 0)
        epoch->at_ms = agent_monotonic_ms();
    return error;
}
