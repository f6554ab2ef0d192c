/* store_state.c - see store_state.h. */
#include "store_state.h"

#include <stdio.h>
#include <string.h>

#include "errors.h"
#include "memory.h"
#include "profile.h"

void
held_free(struct held *held)
{
    if (!held)
        return;
    snapshot_unref(held->snapshot);
    mem_free(held);
}

struct held *
store_held(const struct store *store, const char *name)
{
    for (size_t i = 0; i < store->count; i++)
        if (strcmp(store->list[i]->entry.name, name) == 0)
            return store->list[i];
    return NULL;
}

/* The one that was taken last, but for one (NULL: for none). */
static struct held *
taken_last(const struct store *store, const struct held *but)
{
    struct held *last = NULL;

    for (size_t i = 0; i < store->count; i++) {
        struct held *held = store->list[i];

        if (held == but)
            continue;
        if (!last || held->entry.taken_ms >= last->entry.taken_ms)
            last = held;
    }
    return last;
}

struct held *
store_meant(const struct store *store, const char *name)
{
    struct held *held = store_held(store, name);

    if (!held && strcmp(name, SNAPSHOT_LAST) == 0)
        return taken_last(store, NULL);
    if (!held && strcmp(name, SNAPSHOT_PREVIOUS) == 0)
        return taken_last(store, taken_last(store, NULL));
    return held;
}

void
store_forget(struct store *store, const struct held *held)
{
    size_t i = 0;

    while (store->list[i] != held)
        i++;
    held_free(store->list[i]);
    store->count--;
    memmove(store->list + i, store->list + i + 1,
            (store->count - i) * sizeof(store->list[0]));
}

uint64_t
store_memory_of(const struct snapshot *snapshot)
{
    return profile_bytes(snapshot->profile);
}

/* Lets decoded ones go that can be read again, but for the latest. */
static void
shrink(struct store *store)
{
    struct held *idle;
    uint64_t sum;

    do {
        idle = NULL;
        sum = 0;
        for (size_t i = 0; i < store->count; i++) {
            struct held *held = store->list[i];

            if (!held->snapshot || !held->entry.on_disk)
                continue;
            sum += store_memory_of(held->snapshot);
            if (held->used != store->uses && (!idle || held->used < idle->used))
                idle = held;
        }
        if (sum <= STORE_MEMORY_MAX || !idle)
            return;
        snapshot_unref(idle->snapshot);
        idle->snapshot = NULL;
    } while (true);
}

void
store_use(struct store *store, struct held *held)
{
    held->used = ++store->uses;
    shrink(store);
}

void
store_file(const char *name, bool pinned, char file[FILE_STORE_NAME])
{
    snprintf(file, FILE_STORE_NAME, "%s%s", name,
             pinned ? STORE_PINNED : STORE_ENDING);
}

int
store_let_go(struct store *store, struct held *held, struct error *err)
{
    char file[FILE_STORE_NAME];

    store_file(held->entry.name, held->entry.pinned, file);
    if (held->entry.on_disk && file_store_remove(&store->dir, file, err) != 0)
        return -1;
    pthread_mutex_lock(&store->lock);
    store_forget(store, held);
    pthread_mutex_unlock(&store->lock);
    return 0;
}
