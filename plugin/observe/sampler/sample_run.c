/*
 * sample_run.c - see sample_run.h.
 *
 * A pid may be reused while a profile runs, so the database is known by its pid
 * and its start time, checked each 20 ms.  Threads that were met are a set of
 * bits by tid: 512 KB, and one test for each sample.
 */
#include "sample_run.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "errors.h"
#include "memory.h"
#include "process_stat.h"
#include "sample_task.h"

enum {
    /* 20 ms between looks at cancelled and at the process */
    STEP_NS = 20 * 1000 * 1000,
    TIDS = 1 << 22, /* the kernel's PID_MAX_LIMIT */
    SECOND_NS = 1000 * 1000 * 1000
};

uint64_t
sample_now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * SECOND_NS + (uint64_t)now.tv_nsec;
}

uint8_t *
sample_bits_new(void)
{
    return mem_zalloc(TIDS / 8, 1);
}

bool
sample_bits_get(const uint8_t *bits, int32_t tid)
{
    return tid >= 0 && tid < TIDS && bits[tid / 8] >> (tid % 8) & 1;
}

void
sample_bits_set(uint8_t *bits, int32_t tid, bool value)
{
    uint8_t bit = (uint8_t)(1u << (tid % 8));

    if (tid < 0 || tid >= TIDS)
        return;
    if (value)
        bits[tid / 8] |= bit;
    else
        bits[tid / 8] &= (uint8_t)~bit;
}

/* Whether the process still runs, and updates its ticks.  Its main thread may
 * have ended (a zombie) while others run. */
static bool
check_main_process(struct sample_run *run)
{
    struct sample_tids tids = {0};
    struct process_stat stat;
    bool more = true;

    if (!process_stat_read(run->options->pid, &stat) ||
        stat.start_ticks != run->processes.list[0].start_ticks)
        return false;
    run->own_ticks = stat.user_ticks + stat.system_ticks;
    run->waited_ticks = stat.waited_ticks;
    if (process_stat_is_over(&stat)) {
        more = sample_tids_list(run->options->pid, &tids, NULL) == 0 &&
               tids.count > 1;
        sample_tids_fini(&tids);
    }
    return more;
}

void
sample_run_list(struct sample_run *run)
{
    uint64_t start_ticks = run->processes.list[0].start_ticks;

    if (!processes_read(run->options->pid, &run->processes) ||
        (start_ticks != 0 && run->processes.list[0].start_ticks != start_ticks))
        run->processes.count = 0;
    run->processes.list[0].start_ticks =
        start_ticks ? start_ticks : run->processes.list[0].start_ticks;
}

static bool
is_process_listed(const struct processes *processes,
                  const struct process_id *id)
{
    for (size_t i = 0; i < processes->count; i++)
        if (processes->list[i].pid == id->pid &&
            processes->list[i].start_ticks == id->start_ticks)
            return true;
    return false;
}

uint32_t
sample_run_born(const struct sample_run *run)
{
    struct processes now;
    uint32_t born = 0;

    if (!processes_read(run->options->pid, &now) || run->report->beyond > 0)
        return 0;
    for (size_t i = 1; i < now.count; i++)
        born += !is_process_listed(&run->processes, &now.list[i]);
    return born + (uint32_t)now.left_out;
}

static void
list_processes(struct sample_run *run)
{
    const struct processes *processes = &run->processes;
    struct sampler_report *report = run->report;

    sample_run_list(run);
    report->children =
        processes->count > 0 ? (uint32_t)processes->count - 1 : 0;
    report->beyond = (uint32_t)processes->left_out;
    report->closed = (uint32_t)processes->closed;
}

int
sample_run_init(struct sample_run *run, struct error *err)
{
    list_processes(run);
    if (run->processes.count == 0 || !check_main_process(run)) {
        error_set(err, ER_NO_SUCH_THREAD,
                  "there is no process %d, or /proc does not show it",
                  run->options->pid);
        return -1;
    }
    run->seen = sample_bits_new();
    if (!run->seen) {
        error_memory(err, "the threads that were seen");
        return -1;
    }
    sample_run_begin(run);
    return 0;
}

/* A child's time is added to its parent's cutime when that waits for it, but is
 * lost if the parent ignores SIGCHLD.  So the larger of the two sums counts. */
uint64_t
sample_run_processor_ms(struct sample_run *run)
{
    uint64_t own, all = 0;
    struct processes now;

    if (check_main_process(run) && processes_read(run->options->pid, &now))
        all = run->own_ticks + run->waited_ticks + now.ticks;
    own = run->own_ticks - run->first_own_ticks;
    all = all > run->first_ticks ? all - run->first_ticks : 0;
    return (all > own ? all : own) * 1000 / (uint64_t)sysconf(_SC_CLK_TCK);
}

int
sample_run_tids(const struct sample_run *run, struct sample_tids *tids,
                struct error *err)
{
    return sample_tids_list_all(&run->processes, tids, err);
}

void
sample_run_fini(struct sample_run *run)
{
    run->report->milliseconds =
        (uint32_t)((sample_now_ns() - run->begin_ns) / 1000000);
    run->report->processor_ms = sample_run_processor_ms(run);
    mem_free(run->seen);
}

void
sample_run_reset(struct sample_run *run)
{
    memset(run->seen, 0, TIDS / 8);
    run->report->threads = run->report->unseen = 0;
    list_processes(run);
}

void
sample_run_begin(struct sample_run *run)
{
    struct processes now;

    check_main_process(run);
    run->first_own_ticks = run->own_ticks;
    run->first_ticks = run->own_ticks + run->waited_ticks;
    if (processes_read(run->options->pid, &now))
        run->first_ticks += now.ticks;
    run->begin_ns = sample_now_ns();
    run->end_ns =
        run->begin_ns + (uint64_t)run->options->milliseconds * 1000000;
}

int
sample_run_cancelled(const struct sample_run *run, struct error *err)
{
    if (!run->options->cancelled || !atomic_load(run->options->cancelled))
        return 0;
    error_set(err, ER_QUERY_INTERRUPTED, "the profile was cancelled");
    return -1;
}

int
sample_run_rest(struct sample_run *run, uint64_t until_ns, bool *over,
                struct error *err)
{
    uint64_t now;

    for (;;) {
        struct timespec step = {0, STEP_NS};

        if (sample_run_cancelled(run, err) != 0)
            return -1;
        run->report->ended = !check_main_process(run);
        now = sample_now_ns();
        *over = run->report->ended || now >= run->end_ns;
        if (*over || now >= until_ns)
            return 0;
        if (until_ns > run->end_ns)
            until_ns = run->end_ns;
        if (until_ns - now < STEP_NS)
            step.tv_nsec = (long)(until_ns - now);
        nanosleep(&step, NULL);
    }
}

bool
sample_run_has_seen(const struct sample_run *run, int32_t tid)
{
    return tid < 0 || tid >= TIDS || sample_bits_get(run->seen, tid);
}

void
sample_run_see(struct sample_run *run, int32_t tid)
{
    if (sample_run_has_seen(run, tid))
        return;
    sample_bits_set(run->seen, tid, true);
    run->report->threads++;
}

int
sample_run_give(struct sample_run *run, const struct sample *sample,
                struct error *err)
{
    run->report->samples++;
    sample_run_see(run, sample->tid);
    return run->take(run->arg, sample, err);
}
