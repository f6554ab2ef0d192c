/* pump.c - see pump.h. */
#include "pump.h"

#include <errno.h>
#include <string.h>

#include "errors.h"
#include "memory.h"

static void
step(struct pump *pump)
{
    pump->rows.count = 0;
    pump->outcome =
        pump->cursor->ops->step(pump->cursor, &pump->rows, &pump->error);
}

/* A step without rows ends the worker's turn: the cursor is about to wait, and
 * the rows before go out first. */
static void
on_worker(struct worker_job *job)
{
    struct pump *pump = (struct pump *)job; /* its first member */
    bool again;

    if (pump->opens) {
        pump->open(pump->arg);
        return;
    }
    do {
        step(pump);
        again = pump->take && pump->take(pump->arg);
    } while (again && pump->outcome == STEP_MORE && pump->rows.count > 0);
}

/* What was withdrawn fails. */
static void
on_turn(struct worker_job *job)
{
    struct pump *pump = (struct pump *)job;
    bool yields = pump->state == PUMP_YIELDING && !pump->opens;

    pump->state = PUMP_IDLE;
    pump->opens = false;
    if (job->refused) {
        errno = job->refused;
        error_sys(
            &pump->error, ER_CANT_CREATE_THREAD,
            "Can't create a new thread (errno %d), and all of heapwired's "
            "wait for others; raise its limit of threads (ulimit -u, "
            "TasksMax), or try again later",
            job->refused);
        pump->outcome = STEP_FAIL;
    }
    if (!yields || pump_step(pump))
        pump->ready(pump->arg);
}

void
pump_open(struct pump *pump)
{
    pump->opens = true;
    pump->state = PUMP_STEPPING;
    workers_run(&pump->job);
}

bool
pump_step(struct pump *pump)
{
    pump->rows.count = 0;
    if (await_check(&pump->await, &pump->error) != 0) {
        pump->outcome = STEP_FAIL;
        return true;
    }
    pump->outcome = STEP_MORE;
    if (pump->cursor->instant) {
        step(pump);
        return true;
    }
    if (pump->one_by_one)
        pump->rows.capacity = 1;
    pump->state = PUMP_STEPPING;
    workers_run(&pump->job);
    return false;
}

static void
on_park(void *arg, bool begins)
{
    struct pump *pump = arg;

    if (begins)
        workers_park(&pump->job);
    else
        workers_go_on(&pump->job, await_is_over(&pump->await));
}

void
pump_init(struct pump *pump, struct workers *workers, const char *owner,
          void (*ready)(void *arg), void *arg)
{
    memset(pump, 0, sizeof(*pump));
    worker_job_init(&pump->job, workers);
    await_init(&pump->await, on_park, pump);
    pump->job.owner = owner;
    pump->job.run = on_worker;
    pump->job.done = on_turn;
    pump->ready = ready;
    pump->arg = arg;
}

/* Long turns for a worker, because a switch between threads costs more than a
 * row. */
static size_t
batch_of(const struct pump *pump, const struct cursor *cursor)
{
    size_t rows = cursor->instant    ? CURSOR_BATCH_SMALL
                  : pump->one_by_one ? 1
                                     : CURSOR_BATCH;

    while (rows > 1 && rows * cursor->column_count > CURSOR_VALUES_MAX)
        rows /= 2;
    return rows;
}

int
pump_start(struct pump *pump, struct cursor *cursor, struct error *err)
{
    size_t rows = batch_of(pump, cursor), values = rows * cursor->column_count;

    if (values > 0) {
        pump->rows.values = mem_alloc(values * sizeof(*pump->rows.values));
        if (!pump->rows.values) {
            error_memory(err, "the rows of a result");
            cursor_free(cursor);
            return -1;
        }
    }
    pump->rows.capacity = rows;
    pump->cursor = cursor;
    pump->outcome = STEP_MORE;
    return 0;
}

void
pump_yield(struct pump *pump)
{
    pump->state = PUMP_YIELDING;
    workers_yield(&pump->job);
}

void
pump_cancel(struct pump *pump)
{
    await_cancel(&pump->await);
    if (pump->state != PUMP_STEPPING || !workers_withdraw(&pump->job))
        return;
    if (pump->opens)
        (void)await_check(&pump->await, &pump->error);
    pump_yield(pump);
}

void
pump_fini(struct pump *pump)
{
    cursor_free(pump->cursor);
    pump->cursor = NULL;
    wake_forget(&pump->job.wake);
    mem_free(pump->rows.values);
    pump->rows.values = NULL;
    await_fini(&pump->await);
}
