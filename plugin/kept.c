/* kept.c - see kept.h. */
#include "kept.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "arena.h"
#include "profile.h"
#include "snapshot.h"

static void
forget_oldest(struct kept *kept)
{
    snapshot_unref(kept->list[0]);
    kept->count--;
    memmove(kept->list, kept->list + 1, kept->count * sizeof(kept->list[0]));
}

static size_t
bytes(const struct kept *kept)
{
    size_t sum = 0;

    for (size_t i = 0; i < kept->count; i++)
        sum += arena_used(kept->list[i]->profile->arena);
    return sum;
}

void
kept_fini(struct kept *kept)
{
    while (kept->count > 0)
        forget_oldest(kept);
}

void
kept_name(struct kept *kept, struct snapshot *snapshot)
{
    time_t seconds = (time_t)(snapshot->taken_ms / 1000);
    struct tm tm;

    memset(&tm, 0, sizeof(tm));
    gmtime_r(&seconds, &tm);
    snprintf(snapshot->name, sizeof(snapshot->name),
             "heap_%04d%02d%02d_%02d%02d%02d_%u", tm.tm_year + 1900,
             tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec,
             ++kept->serial);
}

void
kept_add(struct kept *kept, struct snapshot *snapshot)
{
    if (kept->count == KEPT_MAX)
        forget_oldest(kept);
    kept->list[kept->count++] = snapshot_ref(snapshot);
    while (kept->count > 1 && bytes(kept) > KEPT_MAX_BYTES)
        forget_oldest(kept);
}

size_t
kept_list(struct kept *kept, struct snapshot **out, size_t max)
{
    size_t count = kept->count < max ? kept->count : max;

    for (size_t i = 0; i < count; i++)
        out[i] = snapshot_ref(kept->list[i]);
    return count;
}

struct snapshot *
kept_find(struct kept *kept, const char *name)
{
    for (size_t i = 0; i < kept->count; i++)
        if (strcmp(kept->list[i]->name, name) == 0)
            return snapshot_ref(kept->list[i]);
    return NULL;
}
