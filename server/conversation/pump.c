/* pump.c - see pump.h. */
#include "pump.h"

#include <string.h>

#include "memory.h"

static void
step(struct pump *pump)
{
    pump->outcome =
        pump->cursor->ops->step(pump->cursor, &pump->rows, &pump->error);
}

static struct pump *
pump_of(struct worker_job *job)
{
    return (struct pump *)((char *)job - offsetof(struct pump, job));
}

static void
on_worker(struct worker_job *job)
{
    struct pump *pump = pump_of(job);
    bool again;

    if (pump->opens) {
        pump->open(pump->arg);
        return;
    }
    do {
        pump->rows.count = 0;
        step(pump);
        again = pump->take && pump->take(pump->arg);
    } while (again && pump->outcome == STEP_MORE);
}

static void
on_worked(struct worker_job *job)
{
    struct pump *pump = pump_of(job);

    pump->state = PUMP_IDLE;
    pump->opens = false;
    pump->ready(pump->arg);
}

void
pump_open(struct pump *pump)
{
    pump->opens = true;
    pump->state = PUMP_STEPPING;
    workers_run(pump->workers, &pump->job);
}

bool
pump_step(struct pump *pump)
{
    if (pump->outcome == STEP_WAIT && !pump->woken) {
        pump->state = PUMP_PARKED;
        return false;
    }
    pump->woken = false;
    pump->outcome = STEP_MORE;
    pump->rows.count = 0;
    if (pump->cursor->instant ||
        pump->cancelled) { /* cancelled: it fails at once */
        step(pump);
        return true;
    }
    if (pump->one_by_one)
        pump->rows.capacity = 1;
    pump->state = PUMP_STEPPING;
    workers_run(pump->workers, &pump->job);
    return false;
}

/* Spurious and early wakes are fine: the cursor just says WAIT again. */
static void
on_wake(struct wake *wake)
{
    struct pump *pump = (struct pump *)wake; /* its first member */

    pump->woken = true;
    if (pump->state != PUMP_PARKED)
        return;
    pump->state = PUMP_IDLE;
    if (pump->opens || pump_step(pump))
        pump->ready(pump->arg);
}

void
pump_init(struct pump *pump, struct wakes *wakes, struct workers *workers,
          const char *owner, void (*ready)(void *arg), void *arg)
{
    memset(pump, 0, sizeof(*pump));
    wake_init(&pump->wake, wakes, on_wake);
    pump->workers = workers;
    pump->job.owner = owner;
    pump->job.run = on_worker;
    pump->job.done = on_worked;
    pump->ready = ready;
    pump->arg = arg;
}

struct waker
pump_waker(struct pump *pump)
{
    return wake_waker(&pump->wake);
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
    if (pump->cancelled)
        cursor->ops->cancel(cursor);
    return 0;
}

/* As if it had waited and been woken at once. */
void
pump_yield(struct pump *pump)
{
    struct waker waker = wake_waker(&pump->wake);

    pump->state = PUMP_PARKED;
    waker.wake(waker.arg);
}

void
pump_cancel(struct pump *pump)
{
    if (!pump->cursor && !pump->opens)
        return;
    if (pump->cursor)
        pump->cursor->ops->cancel(pump->cursor);
    if (pump->state == PUMP_STEPPING &&
        workers_withdraw(pump->workers, &pump->job)) {
        pump->state = PUMP_PARKED;
        if (pump->opens)
            error_set(&pump->error, ER_QUERY_INTERRUPTED,
                      "Query execution was interrupted");
    }
    if (!pump->cancelled && pump->state != PUMP_STEPPING)
        wake_waker(&pump->wake).wake(&pump->wake);
    pump->woken = true;
    pump->cancelled = true;
}

void
pump_fini(struct pump *pump)
{
    cursor_free(pump->cursor);
    pump->cursor = NULL;
    wake_forget(&pump->wake); /* the cursor was the last to wake it */
    mem_free(pump->rows.values);
    pump->rows.values = NULL;
}
