/*
 * measure.c - turns a sample of history into the figures that marks.c judges.
 */
#include "measure.h"

#include <unistd.h>

#include "clock.h"
#include "history.h"
#include "marks.h"
#include "memory.h"
#include "outlook.h"
#include "store.h"

static uint64_t
ram_bytes(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);

    return pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : 0;
}

void
measure_sample(const struct history_sample *sample, struct marks_now *now)
{
    uint64_t ram = ram_bytes(), cache = sample->cgroup_cache.value;

    now->rss = sample->rss.value;
    now->used = now->rss;
    now->total = ram;
    if (!sample->cgroup_limit.known || !sample->cgroup_current.known ||
        sample->cgroup_limit.value == 0 ||
        (ram > 0 && sample->cgroup_limit.value >= ram))
        return;
    now->of_cgroup = true;
    now->total = sample->cgroup_limit.value;
    now->used = sample->cgroup_current.value;
    /* Page cache is dropped before the kernel kills: it is not in use. */
    now->used -= cache < now->used ? cache : now->used;
}

void
measure_left(struct history *history, struct marks_now *now)
{
    struct outlook outlook;

    outlook_find(history, &outlook);
    now->left_s = outlook.ends ? outlook.left_s : -1;
    now->left_of_cgroup = outlook.headroom.of_cgroup;
}

/* Asked of the store, not remembered: heapwired may have been restarted
 * since. */
uint64_t
measure_ring_ago_ms(struct store *store, const struct history_sample *sample)
{
    struct store_entry *list = mem_zalloc(STORE_COUNT_MAX, sizeof(*list));
    size_t count = list ? store_list(store, list, STORE_COUNT_MAX) : 0;
    int64_t last_ms = 0, now_ms = clock_wall_ms();

    for (size_t i = 0; i < count; i++)
        if (list[i].cause == SNAPSHOT_RING &&
            list[i].hello.pid == sample->pid &&
            list[i].hello.start_ticks == sample->start_ticks &&
            list[i].taken_ms > last_ms)
            last_ms = list[i].taken_ms;
    mem_free(list);
    if (last_ms == 0)
        return UINT64_MAX;
    return last_ms < now_ms ? (uint64_t)(now_ms - last_ms) : 0;
}
