/* trim.c - see trim.h. */
#include "trim.h"

#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* 0: unknown. */
static size_t
bytes_in_memory(void)
{
    FILE *file = fopen("/proc/self/statm", "re");
    unsigned long long pages = 0;

    if (!file)
        return 0;
    if (fscanf(file, "%*s %llu", &pages) != 1)
        pages = 0;
    fclose(file);
    return (size_t)pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* Takes milliseconds in a large heap. */
static void
on_worker(struct worker_job *job)
{
    (void)job;
    (void)malloc_trim(0);
}

/* Only memory freed from now on may start the next. */
static void
on_worked(struct worker_job *job)
{
    ((struct trim *)job)->begun = false; /* its first member */
}

static void
on_timer(uv_timer_t *timer)
{
    struct trim *trim = timer->data;

    if (trim->begun) /* still waits for a worker */
        trim_note(trim);
    else if (bytes_in_memory() > TRIM_BYTES) {
        trim->begun = true;
        workers_run(&trim->job);
    }
}

void
trim_init(struct trim *trim, uv_loop_t *loop, struct workers *workers)
{
    /* Otherwise the C library raises it, and keeps up to twice as much at the
     * end of each worker's heap, which malloc_trim does not release. */
    (void)mallopt(M_MMAP_THRESHOLD, TRIM_ALONE); // NOLINT: glibc's has a lock
    memset(trim, 0, sizeof(*trim));
    worker_job_init(&trim->job, workers);
    trim->job.owner = "";
    trim->job.run = on_worker;
    trim->job.done = on_worked;
    uv_timer_init(loop, &trim->timer);
    trim->timer.data = trim;
}

void
trim_close(struct trim *trim)
{
    trim->closed = true;
    uv_close((uv_handle_t *)&trim->timer, NULL);
}

void
trim_note(struct trim *trim)
{
    if (!trim->closed && !uv_is_active((uv_handle_t *)&trim->timer))
        uv_timer_start(&trim->timer, on_timer, TRIM_MS, 0);
}
