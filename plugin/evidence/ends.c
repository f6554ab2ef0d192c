/*
 * ends.c - records ends of databases that no parent saw; see memory_sampler.h.
 *
 * A death is only worth its record if it is told once, and truly.  Two cases
 * are left to us: a wrapper (mysqld_safe) that starts another database under
 * the same heapwire-run, and an end that took heapwire-run along (power, docker
 * kill, memory.oom.group).  In both the only witness is the history: its last
 * sample tells who lived until when.  So the sampler keeps the last sample of
 * each second here, and compares: another process took its place, the node is
 * gone, or, at our start, the process of the last sample is no longer there.
 */
#include "memory_sampler.h"

#include <stdio.h>
#include <unistd.h>

#include "leave_reason.h"
#include "clock.h"
#include "errors.h"
#include "log.h"
#include "memory.h"
#include "node_status.h"
#include "process_stat.h"
#include "store.h"

enum {
    DEATHS_CHECKED = 64,     /* a wrapper may restart it many times */
    ENDED_MS = 3000,         /* it may only have been disconnected */
    LIFETIME_MIN_MS = 10000, /* what lives shorter is no database */
    LATE_MS = 1000,          /* a sample may be newer than the recorded end */
    GROWTH_MS = 10000        /* over which growth is measured */
};

/* Whether heapwire-run has recorded this end: that of its child, which is the
 * database, or a wrapper that ended after it.  A heapwired that lingers after a
 * death also meets the successor that heapwire-run starts beside it, whose end
 * is not ours to record. */
static bool
is_recorded(const struct ends *ends)
{
    struct death last[DEATHS_CHECKED];
    size_t count = deaths_read(ends->state_dir, last, DEATHS_CHECKED);

    for (size_t i = 0; i < count; i++)
        if ((last[i].pid == ends->seen.pid &&
             last[i].at_ms >= ends->seen.started_ms) ||
            (last[i].started_ms <= ends->seen.at_ms &&
             last[i].at_ms + LATE_MS >= ends->seen.at_ms && !last[i].unknown))
            return true;
    return false;
}

/* The cgroup's limit; unknown if it is not below the machine's RAM, since then
 * it limits nothing. */
static struct stats_figure
limit_of(const struct history_sample *sample)
{
    uint64_t ram =
        (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);

    return sample->cgroup_limit.value < ram ? sample->cgroup_limit
                                            : (struct stats_figure){false, 0};
}

/* Records the end of the database that was seen last.  other_exe is named if
 * its own executable is not known: a wrapper starts the same one again. */
static void
keep_end(struct ends *ends, int64_t at_ms, const char *other_exe)
{
    struct death death = {.at_ms = at_ms,
                          .started_ms = ends->seen.started_ms,
                          .pid = ends->seen.pid,
                          .unknown = true};
    const char *exe = *ends->exe ? ends->exe : other_exe;
    struct error err;

    if (!ends->state_dir || is_recorded(ends))
        return;
    if (ends->adopted) {
        death.unseen = true;
        death.rss = ends->seen.rss;
        death.limit = limit_of(&ends->seen);
        death.growth = ends->growth;
    }
    snprintf(death.program, sizeof(death.program), "%s", exe);
    if (deaths_append(ends->state_dir, &death, &err) != 0)
        log_to(ends->log, "cannot record that %s (pid %d) ended: %s", exe,
               death.pid, err.text);
}

/*
 * Has another database taken the place of the last one?  Two that lived at the
 * same time are a process and its child, and a short-lived one is a helper of a
 * start script.  How the first ended is not known: its parent is the wrapper.
 */
static bool
took_its_place(const struct ends *ends, const struct history_sample *now)
{
    const struct history_sample *before = &ends->seen;

    return before->pid != 0 && !history_same_process(before, now) &&
           (ends->adopted ||
            before->at_ms - before->started_ms >= LIFETIME_MIN_MS) &&
           now->started_ms > before->at_ms &&
           !process_is_alive(before->pid, before->start_ticks);
}

void
ends_note(struct ends *ends, const struct history_sample *now, const char *exe)
{
    if (took_its_place(ends, now))
        keep_end(ends, ends->seen.at_ms, exe);
    ends->seen = *now;
    ends->adopted = false;
    snprintf(ends->exe, sizeof(ends->exe), "%s", exe);
}

void
ends_check(struct ends *ends, const struct node_status *status)
{
    if (ends->seen.pid == 0 || status->state == NODE_CONNECTED ||
        status->state == NODE_UNRESPONSIVE)
        return;
    if (ends->adopted) {
        /* The database of an earlier heapwired may still connect: it gets
         * ENDED_MS for that, or as long as its agent holds the lock of the
         * state directory. */
        if (!ends->state_dir || clock_ms() - ends->adopted_ms < ENDED_MS ||
            agent_lock_is_held(ends->state_dir, NULL) ||
            process_is_alive(ends->seen.pid, ends->seen.start_ticks))
            return;
        keep_end(ends, ends->seen.at_ms, "the database");
    } else if (ends->keeps && status->state == NODE_GONE &&
               clock_wall_ms() - status->since_ms >= ENDED_MS) {
        keep_end(ends, status->since_ms, "the database");
    } else {
        return;
    }
    ends->seen.pid = 0;
}

/* Finds the last database in history, and its growth over its last seconds. */
static void
read_history(struct ends *ends, struct history *history)
{
    struct history_sample sample, first = {0};
    struct history_sample *seen = &ends->seen;
    uint64_t next = 0;

    if (!history_last(history, 0, INT64_MAX, seen))
        return;
    while (history_read(history, &next, &sample, 1) == 1)
        if (first.pid == 0 && history_same_process(&sample, seen) &&
            sample.rss.known && seen->at_ms - sample.at_ms <= GROWTH_MS)
            first = sample;
    if (first.pid == 0 || first.at_ms == seen->at_ms)
        return;
    ends->growth.known = true;
    if (seen->rss.known && seen->rss.value > first.rss.value)
        ends->growth.value = (seen->rss.value - first.rss.value) * 1000 /
                             (uint64_t)(seen->at_ms - first.at_ms);
}

/* History has no names; a snapshot of that process, if one is kept, has. */
static void
find_ended_program_name(struct ends *ends, struct store *store)
{
    struct store_entry *list = mem_zalloc(STORE_COUNT_MAX, sizeof(*list));
    size_t count = list ? store_list(store, list, STORE_COUNT_MAX) : 0;

    for (size_t i = 0; i < count; i++)
        if (list[i].cause != SNAPSHOT_IMPORTED &&
            list[i].hello.pid == ends->seen.pid &&
            list[i].hello.start_ticks == ends->seen.start_ticks)
            snprintf(ends->exe, sizeof(ends->exe), "%.*s",
                     (int)sizeof(ends->exe) - 1, list[i].hello.exe);
    mem_free(list);
}

void
ends_adopt(struct ends *ends, struct history *history, struct store *store)
{
    if (!ends->state_dir)
        return;
    read_history(ends, history);
    ends->adopted = ends->seen.pid != 0;
    ends->adopted_ms = clock_ms();
    if (ends->adopted)
        find_ended_program_name(ends, store);
}
