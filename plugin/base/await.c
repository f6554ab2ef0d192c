/*
 * await.c - a condition variable with a deadline and a cancel token.
 *
 * A statement waits for flights, the agent, other nodes and plain time; KILL, a
 * timeout or the client's end may come from any thread at any moment.  Each of
 * these would need its own wake-up, so all of them end here, in one condition
 * and one flag: whoever has news sets notified, which is kept if nobody waits
 * yet, so no wake-up is lost between a check and the wait.  A tick cuts a wait
 * into pieces, to look whether the client is still connected.  While a thread
 * waits it gives its compute slot to others (parks), with no lock of ours held,
 * since that takes the locks of the scheduler and of the loop.
 */
#include "await.h"

#include "clock.h"
#include "errors.h"

void
await_init(struct await *await, void (*parks)(void *arg, bool begins),
           void *arg)
{
    *await = (struct await){.parks = parks, .arg = arg};
    clock_cond_init(&await->changed);
    pthread_mutex_init(&await->lock, NULL);
    pthread_mutex_init(&await->progress_lock, NULL);
}

void
await_fini(struct await *await)
{
    pthread_cond_destroy(&await->changed);
    pthread_mutex_destroy(&await->lock);
    pthread_mutex_destroy(&await->progress_lock);
}

/* ---- cancellation and deadline ---- */

/* The flag is set under the lock: a waiter that has just read it as false has
 * not yet begun to wait, or else is woken by the signal. */
void
await_cancel(struct await *await)
{
    pthread_mutex_lock(&await->lock);
    atomic_store(&await->cancelled, true);
    pthread_cond_signal(&await->changed);
    pthread_mutex_unlock(&await->lock);
}

bool
await_cancelled(const struct await *await)
{
    return atomic_load(&await->cancelled);
}

void
await_grant(struct await *await, uint64_t ms)
{
    atomic_fetch_add(&await->granted_ms, ms);
}

uint64_t
await_limit(struct await *await, uint64_t until_ms)
{
    uint64_t before = await->deadline_ms;
    /* await_deadline_ms() adds what was granted, so it is subtracted here. */
    uint64_t granted_ms = atomic_load(&await->granted_ms);
    uint64_t deadline_ms = until_ms - granted_ms; /* may wrap below 0 */

    /* signed, because of the wrap; 0 would mean that there is no deadline */
    if (before == 0 || (int64_t)(deadline_ms - before) < 0)
        await->deadline_ms = deadline_ms != 0 ? deadline_ms : 1;
    return before;
}

/* clock_ms at which the await is over; 0: never. */
static uint64_t
await_deadline_ms(const struct await *await)
{
    return await->deadline_ms != 0
               ? await->deadline_ms + atomic_load(&await->granted_ms)
               : 0;
}

bool
await_is_over(const struct await *await)
{
    uint64_t last_ms = await_deadline_ms(await);

    return await_cancelled(await) || (last_ms > 0 && clock_ms() >= last_ms);
}

static int
set_interrupted_error(struct error *err)
{
    error_set(err, ER_QUERY_INTERRUPTED, "Query execution was interrupted");
    return -1;
}

int
await_check(const struct await *await, struct error *err)
{
    return await_cancelled(await) ? set_interrupted_error(err) : 0;
}

/* ---- waiting ---- */

static void
notify_awaiting_thread(void *arg)
{
    struct await *await = arg;

    pthread_mutex_lock(&await->lock);
    await->notified = true;
    pthread_cond_signal(&await->changed);
    pthread_mutex_unlock(&await->lock);
}

struct waker
await_waker(struct await *await)
{
    return (struct waker){notify_awaiting_thread, await};
}

/* The caller holds the lock.  until_ms 0: without a limit.  Conditions wake
 * without a cause, so all are checked again. */
static void
sleep_until(struct await *await, uint64_t until_ms)
{
    while (!await->notified && !await_cancelled(await) &&
           (until_ms == 0 || clock_ms() < until_ms))
        if (until_ms > 0)
            (void)clock_cond_wait(&await->changed, &await->lock, until_ms);
        else
            pthread_cond_wait(&await->changed, &await->lock);
}

/* Sleeps until the next tick; true when the whole wait has ended. */
static bool
sleep_a_tick(struct await *await, uint64_t until_ms)
{
    uint64_t next_ms = await->tick ? clock_ms() + AWAIT_TICK_MS : 0;
    bool enough;

    if (until_ms > 0 && (next_ms == 0 || until_ms < next_ms))
        next_ms = until_ms;
    pthread_mutex_lock(&await->lock);
    sleep_until(await, next_ms);
    enough = await->notified;
    pthread_mutex_unlock(&await->lock);
    return enough || await_is_over(await) ||
           (until_ms > 0 && clock_ms() >= until_ms);
}

/* tick runs without the lock, since it writes to the client and may cancel. */
static void
sleep_long(struct await *await, uint64_t until_ms)
{
    while (!sleep_a_tick(await, until_ms))
        if (await->tick)
            await->tick(await->arg);
}

/* Consumes the notification; false if there was none. */
static bool
take_notification(struct await *await)
{
    bool notified;

    pthread_mutex_lock(&await->lock);
    notified = await->notified;
    await->notified = false;
    pthread_mutex_unlock(&await->lock);
    return notified;
}

/* Blocks until there is a notification, which is consumed, or until
 * until_ms. */
static void
block_until_notified(struct await *await, uint64_t until_ms)
{
    if (await->parks)
        await->parks(await->arg, true);
    sleep_long(await, until_ms);
    if (await->parks)
        await->parks(await->arg, false);
    (void)take_notification(await);
}

void
await_pause(struct await *await)
{
    sleep_long(await, await_deadline_ms(await));
    (void)take_notification(await);
}

void
await_compute(struct await *await)
{
    if (!await)
        return;
    /* false without a true before: no wait, but a long computation */
    if (await->parks)
        await->parks(await->arg, false);
    if (await->tick)
        await->tick(await->arg);
}

int
await_until(struct await *await, const char *what, uint64_t until_ms,
            struct error *err)
{
    uint64_t last_ms = await_deadline_ms(await);

    if (until_ms > 0 && (last_ms == 0 || until_ms < last_ms))
        last_ms = until_ms;
    /* A notification from before the call ends the wait at once, without giving
     * up the compute slot. */
    if (!take_notification(await) && !await_is_over(await)) {
        atomic_store(&await->waits, what);
        block_until_notified(await, last_ms);
        atomic_store(&await->waits, NULL);
    }
    return await_is_over(await) ? set_interrupted_error(err) : 0;
}

int
await_notification(struct await *await, struct error *err)
{
    return await_until(await, "waiting for the node", 0, err);
}

/* ---- progress ---- */

void
await_watch(struct await *await, await_progress_of *progress, void *of)
{
    pthread_mutex_lock(&await->progress_lock);
    await->progress = progress;
    await->of = of;
    pthread_mutex_unlock(&await->progress_lock);
}

void
await_stages(struct await *await, unsigned before, unsigned after)
{
    pthread_mutex_lock(&await->progress_lock);
    await->before = before;
    await->after = after;
    pthread_mutex_unlock(&await->progress_lock);
}

/* Calls progress under progress_lock, so that await_watch can promise that it
 * is not called after its return. */
bool
await_progress(struct await *await, struct progress *out)
{
    bool known;

    pthread_mutex_lock(&await->progress_lock);
    known = await->progress && await->progress(await->of, out);
    if (known) {
        out->stage += await->before;
        out->stages += await->before + await->after;
    }
    pthread_mutex_unlock(&await->progress_lock);
    return known;
}
