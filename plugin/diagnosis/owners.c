/*
 * owners.c - adds mappings up by owner, and keeps the last sums; see owners.h.
 *
 * "Outside of jemalloc" is a riddle until somebody says whose it is: stacks,
 * glibc's malloc, a file, shared memory, a mapping of a buffer pool.  The
 * kernel tells sizes only by walking page tables (smaps) with the process's
 * memory map locked, which grows with RSS and can hang with the database.  So
 * it is read only where it matters, given up after READ_MS, and the last
 * result, or failure, is kept for one database: pages that reload a diagnosis
 * each second cost one reading a minute.  The lock guards that result alone and
 * is not held while reading, so two threads may read at once.
 */
#include "owners.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "await.h"
#include "bytes_text.h"
#include "clock.h"
#include "controller.h"
#include "errors.h"
#include "finding.h"
#include "memory.h"
#include "memory_map.h"

enum {
    OWNER_SHARE = 50, /* owners of a fiftieth of all, or more, are named */
    READ_SHARE = 50,  /* reading takes at most a fiftieth of the time */
    READ_MS = 3000    /* then the diagnosis goes on without it */
};

/* ---- the sums ---- */

/* One owner's mappings.  Foreign anonymous mappings are not added up: a buffer
 * pool should be seen as one. */
struct owned {
    enum range_kind kind;
    const char *name; /* of its kind; "" */
    const struct memory_range *first;
    uint64_t bytes;
    size_t count;
};

static int
compare_owned(const void *left, const void *right)
{
    const struct owned *a = left, *b = right;

    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    if (a->kind == RANGE_FOREIGN)
        return (a->first > b->first) - (a->first < b->first);
    return strcmp(a->name, b->name);
}

static int
compare_owned_by_bytes(const void *left, const void *right)
{
    const struct owned *a = left, *b = right;

    return (a->bytes < b->bytes) - (a->bytes > b->bytes);
}

static size_t
list_owned(const struct memory_map *map, struct owned *list)
{
    size_t count = 0, kept = 0;

    for (size_t i = 0; i < map->count; i++) {
        const struct memory_range *range = &map->list[i];
        bool named = range->kind == RANGE_FILE || range->kind == RANGE_SHARED;
        const char *name = *range->name ? range->name : range->owner;

        if (range->rss > 0 && range->kind != RANGE_JEMALLOC)
            list[count++] = (struct owned){range->kind, named ? name : "",
                                           range, range->rss, 1};
    }
    if (count > 0)
        qsort(list, count, sizeof(*list), compare_owned);
    for (size_t i = 0; i < count; i++)
        if (kept == 0 || compare_owned(&list[kept - 1], &list[i]) != 0) {
            list[kept++] = list[i];
        } else {
            list[kept - 1].bytes += list[i].bytes;
            list[kept - 1].count++;
        }
    if (kept > 0)
        qsort(list, kept, sizeof(*list), compare_owned_by_bytes);
    return kept;
}

/* Names a foreign mapping with the time at which heapwire first saw it. */
static void
name_foreign(const struct memory_range *range, char *out, size_t size)
{
    char since[CLOCK_TEXT] = "";

    if (range->first_seen_ms > 0)
        clock_text(range->first_seen_ms, since, sizeof(since));
    snprintf(out, size, "anonymous memory %s%s%s(a mapping of %s, %s%s%s)",
             *range->owner ? "of " : "", range->owner, *range->owner ? " " : "",
             bytes_text((double)range->size).text,
             *since ? "seen since " : "since when is not known", since,
             *since ? " UTC" : "");
}

static void
name_owned(const struct owned *owned, char *out, size_t size)
{
    const char *s = owned->count == 1 ? "" : "s";

    switch (owned->kind) {
    case RANGE_FOREIGN:
        name_foreign(owned->first, out, size);
        break;
    case RANGE_STACK:
        snprintf(out, size, "thread stacks (%zu mapping%s)", owned->count, s);
        break;
    case RANGE_GLIBC:
        snprintf(out, size, "glibc's malloc (%zu mapping%s)", owned->count, s);
        break;
    case RANGE_FILE:
        snprintf(out, size, "the file %s", owned->name);
        break;
    case RANGE_SHARED:
        snprintf(out, size, "shared memory %s",
                 *owned->name ? owned->name : "without a name");
        break;
    default:
        snprintf(out, size, "%s (%zu mapping%s)", range_kind_name(owned->kind),
                 owned->count, s);
    }
}

bool
owners_sum(const struct memory_map *map, struct owner_sums *out)
{
    struct owned *list =
        mem_alloc((map->count > 0 ? map->count : 1) * sizeof(*list));
    size_t count = list ? list_owned(map, list) : 0;
    uint64_t all = 0;

    memset(out, 0, sizeof(*out));
    out->taken_ms = map->taken_ms;
    for (size_t i = 0; i < map->count; i++)
        if (map->list[i].kind == RANGE_PAGE_TABLES)
            out->page_tables = (struct fact){true, map->list[i].size};
        else if (map->list[i].kind == RANGE_JEMALLOC && map->list[i].rss > 0)
            out->jemalloc =
                (struct fact){true, out->jemalloc.value + map->list[i].rss};
    for (size_t i = 0; i < count; i++)
        all += list[i].bytes;
    for (size_t i = 0; i < count; i++) {
        struct owner_sum *sum = &out->list[out->count];

        if (i >= FACTS_OWNERS || list[i].bytes * OWNER_SHARE < all) {
            out->more = (struct fact){true, out->more.value + list[i].bytes};
            continue;
        }
        name_owned(&list[i], sum->name, sizeof(sum->name));
        sum->bytes = list[i].bytes;
        out->count++;
    }
    mem_free(list);
    return list != NULL;
}

/* ---- the reading ---- */

bool
owners_are_wanted(const struct diagnosis_facts *facts)
{
    return facts->has_jemalloc
               ? finding_is_outside_worth(facts)
               : finding_is_worth(facts, facts->rss, facts->rss);
}

/* The latest result, of one controller's database. */
static struct {
    pthread_mutex_t lock; /* guards all below */
    const struct controller *controller;
    struct agent_hello hello;
    uint64_t at_ms, took_ms, outside;
    bool failed; /* there are no sums, for this: */
    struct error why;
    struct owner_sums sums;
} latest = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* May the latest result be used?  The lock is held. */
static bool
is_latest_of(const struct controller *controller,
             const struct agent_hello *hello, uint64_t outside)
{
    uint64_t apart = outside > latest.outside ? outside - latest.outside
                                              : latest.outside - outside;
    uint64_t age_ms = clock_ms() - latest.at_ms;

    if (latest.controller != controller || latest.hello.pid != hello->pid ||
        latest.hello.started_ms != hello->started_ms)
        return false;
    /* about as much is outside, and it is fresh; or reading costs too much */
    return (!latest.failed && age_ms < OWNERS_FRESH_MS &&
            apart <= latest.outside / 8) ||
           age_ms < READ_SHARE * latest.took_ms;
}

static int
read_owners(struct controller *controller, const char *user,
            struct await *await, struct owner_sums *out, struct error *err)
{
    const struct job_request request = {.kind = JOB_MAPPINGS, .owner = user};
    struct job_result result = {0};
    uint64_t until_ms = clock_ms() + READ_MS;
    uint64_t deadline_ms = await_limit(await, until_ms);
    int rc;

    rc = controller_wait(
        controller_submit(controller, &request, await_waker(await), err), await,
        &result, err);
    /* The await is the statement's: its own deadline comes back. */
    await->deadline_ms = deadline_ms;
    if (rc != 0 && clock_ms() >= until_ms && !await_is_over(await))
        error_set(
            err, ER_UNKNOWN,
            "its mappings were not read within %d s: there are too many, the "
            "kernel has its memory map locked, or heapwired has much to do",
            READ_MS / 1000);
    if (rc != 0)
        return -1;
    rc = -1;
    if (result.mappings->failure)
        error_set(err, ER_UNKNOWN, "%s", result.mappings->failure);
    else if (!owners_sum(result.mappings, out))
        error_memory(err, "the owners of mappings");
    else
        rc = 0;
    memory_map_unref(result.mappings);
    return rc;
}

/* Keeps a failure, too, unless the await ended it: what took long is not tried
 * again at once. */
static void
keep_latest(const struct controller *controller,
            const struct agent_hello *hello, uint64_t began_ms,
            uint64_t outside, const struct owner_sums *sums,
            const struct error *why)
{
    pthread_mutex_lock(&latest.lock);
    latest.controller = controller;
    latest.hello = *hello;
    latest.at_ms = clock_ms();
    latest.took_ms = latest.at_ms - began_ms;
    latest.outside = outside;
    latest.failed = why != NULL;
    if (why)
        latest.why = *why;
    else
        latest.sums = *sums;
    pthread_mutex_unlock(&latest.lock);
}

/* False: the latest result cannot be used.  *rc: as owners_find's. */
static bool
recall_latest(const struct controller *controller,
              const struct agent_hello *hello, uint64_t outside, int *rc,
              struct owner_sums *out, struct error *err)
{
    bool found;

    pthread_mutex_lock(&latest.lock);
    found = is_latest_of(controller, hello, outside);
    *rc = found && latest.failed ? -1 : 0;
    if (found && latest.failed)
        *err = latest.why;
    else if (found)
        *out = latest.sums;
    pthread_mutex_unlock(&latest.lock);
    return found;
}

/* The status is on the heap, as it has several kilobytes. */
int
owners_find(struct controller *controller, const char *user,
            struct await *await, uint64_t outside, struct owner_sums *out,
            struct error *err)
{
    struct node_status *status = mem_alloc(sizeof(*status));
    uint64_t began_ms = clock_ms();
    int rc = 0;

    if (!status) {
        error_memory(err, "the owners of mappings");
        return -1;
    }
    controller_status(controller, status);
    if (!recall_latest(controller, &status->hello, outside, &rc, out, err)) {
        rc = read_owners(controller, user, await, out, err);
        if (rc == 0 || !await_is_over(await))
            keep_latest(controller, &status->hello, began_ms, outside, out,
                        rc == 0 ? NULL : err);
    }
    mem_free(status);
    return rc;
}
