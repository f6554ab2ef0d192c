/* sample_run.c - see sample_run.h. */
#include "sample_run.h"

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
    sample_run_begin(run);
    return 0;
}

uint64_t
sample_run_processor_ms(const struct sample_run *run)
{
    return (run->ticks - run->first_ticks) * 1000 /
           (uint64_t)sysconf(_SC_CLK_TCK);
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
sample_run_begin(struct sample_run *run)
{
    look_at_process(run);
    run->first_ticks = run->ticks;
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
    return tid < 0 || tid >= TIDS || (run->seen[tid / 8] >> (tid % 8) & 1);
}

void
sample_run_see(struct sample_run *run, int32_t tid)
{
    if (sample_run_has_seen(run, tid))
        return;
    run->seen[tid / 8] |= (uint8_t)(1u << (tid % 8));
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
