/* sample_run.c - see sample_run.h. */
#include "sample_run.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "errors.h"
#include "memory.h"
#include "process_stat.h"
#include "sample_task.h"

enum {
    STEP_NS = 20 * 1000 * 1000, /* between looks at cancelled */
    TIDS = 1 << 22,             /* the kernel's PID_MAX_LIMIT */
    SECOND_NS = 1000 * 1000 * 1000
};

uint64_t
sample_now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * SECOND_NS + (uint64_t)now.tv_nsec;
}

static bool
has_bit(const uint8_t *bits, int32_t i)
{
    return bits[i / 8] >> (i % 8) & 1;
}

static void
set_bit(uint8_t *bits, int32_t i)
{
    bits[i / 8] |= (uint8_t)(1u << (i % 8));
}

/* Whether the process, or all of it but its main thread, is still there. */
static bool
look_at_process(struct sample_run *run)
{
    struct sample_tids tids = {0};
    struct process_stat stat;
    bool more = true;

    if (!process_stat_read(run->options->pid, &stat) ||
        (run->start_ticks != 0 && stat.start_ticks != run->start_ticks))
        return false;
    run->start_ticks = stat.start_ticks;
    run->ticks = stat.user_ticks + stat.system_ticks;
    if (stat.state == 'Z' || stat.state == 'X') {
        more = sample_tids_list(run->options->pid, &tids, NULL) == 0 &&
               tids.count > 1;
        sample_tids_free(&tids);
    }
    return more;
}

int
sample_run_init(struct sample_run *run, struct error *err)
{
    if (run->options->pid <= 0 || !look_at_process(run)) {
        error_set(err, ER_NO_SUCH_THREAD,
                  "there is no process %d, or /proc does not show it",
                  run->options->pid);
        return -1;
    }
    run->seen = mem_zalloc(TIDS / 8, 1);
    if (!run->seen) {
        error_memory(err, "the threads that were seen");
        return -1;
    }
    run->task_pid = run->options->pid;
    if (run->options->child_count > 0) {
        run->task_pid = 0;
        run->ours = mem_zalloc(TIDS / 8, 1);
        if (!run->ours) {
            mem_free(run->seen);
            error_memory(err, "the processes that are sampled");
            return -1;
        }
        for (size_t i = 0; i < run->options->child_count; i++)
            set_bit(run->ours, run->options->children[i]);
    }
    sample_run_begin(run);
    return 0;
}

/* Those of children that have ended are not known. */
static uint64_t
all_ticks(const struct sample_run *run)
{
    struct process_stat stat;
    uint64_t ticks = run->ticks;

    for (size_t i = 0; i < run->options->child_count; i++)
        if (process_stat_read(run->options->children[i], &stat))
            ticks += stat.user_ticks + stat.system_ticks;
    return ticks;
}

uint64_t
sample_run_processor_ms(const struct sample_run *run)
{
    uint64_t ticks = all_ticks(run);

    return ticks < run->first_ticks ? 0
                                    : (ticks - run->first_ticks) * 1000 /
                                          (uint64_t)sysconf(_SC_CLK_TCK);
}

int
sample_run_tids(const struct sample_run *run, struct sample_tids *tids,
                struct error *err)
{
    const struct sampler_options *options = run->options;

    return sample_tids_list_all(options->pid, options->children,
                                options->child_count, tids, err);
}

/* Whether both execute one file. */
static bool
executes_same(int32_t pid, int32_t other)
{
    struct stat st[2];
    char path[32];
    int32_t pids[] = {pid, other};

    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof(path), "/proc/%d/exe", pids[i]);
        if (stat(path, &st[i]) != 0)
            return false;
    }
    return st[0].st_dev == st[1].st_dev && st[0].st_ino == st[1].st_ino;
}

bool
sample_run_has(struct sample_run *run, int32_t pid)
{
    if (pid == run->options->pid)
        return true;
    if (!run->ours || pid < 0 || pid >= TIDS)
        return false;
    if (!has_bit(run->ours, pid) && executes_same(run->options->pid, pid))
        set_bit(run->ours, pid);
    return has_bit(run->ours, pid);
}

void
sample_run_fini(struct sample_run *run)
{
    run->report->milliseconds =
        (uint32_t)((sample_now_ns() - run->begin_ns) / 1000000);
    run->report->processor_ms = sample_run_processor_ms(run);
    mem_free(run->seen);
    mem_free(run->ours);
}

void
sample_run_forget(struct sample_run *run)
{
    memset(run->seen, 0, TIDS / 8);
    run->report->threads = run->report->unseen = 0;
}

void
sample_run_begin(struct sample_run *run)
{
    look_at_process(run);
    run->first_ticks = all_ticks(run);
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
        run->report->ended = !look_at_process(run);
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
    return tid < 0 || tid >= TIDS || has_bit(run->seen, tid);
}

void
sample_run_see(struct sample_run *run, int32_t tid)
{
    if (sample_run_has_seen(run, tid))
        return;
    set_bit(run->seen, tid);
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
