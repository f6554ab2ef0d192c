/*
 * flight.c - see flight.h.
 *
 * Statements for views, jobs of the node and observations all need threads that
 * may block for seconds, but rarely: threads that always exist would cost the
 * database's machine memory for nothing.  So threads are made on demand.
 * Whoever makes a flight fit to run calls flights_roll(), which wakes an idle
 * thread or starts one; a thread that takes a flight calls it, too, because one
 * signal may have stood for two flights.  Threads end by themselves, so nobody
 * can keep a list of them to join: each joins the one that ended before it, and
 * flights_stop() the last.
 */
#include "flight.h"

#include <errno.h>
#include <stdio.h>

#include "clock.h"
#include "memory.h"
#include "thread.h"

enum { STACK_BYTES = 1 << 20 /* of a thread */ };

/* ---- threads: with the lock ---- */

static struct flight *
await_work(struct flights *f)
{
    /* NULL: idle for too long, or stopped */
    uint64_t until_ms = clock_ms() + FLIGHT_IDLE_MS;
    struct flight *flight = NULL;

    f->idle++;
    while (!f->stop && !(flight = f->next(f)) && clock_ms() < until_ms)
        (void)clock_cond_wait(&f->changed, &f->lock, until_ms);
    f->idle--;
    return flight;
}

/* Gives up the lock while the work runs; flight may be gone on return. */
static void
run_flight_unlocked(struct flights *f, struct flight *flight)
{
    flight->started = true;
    flights_roll(f);
    pthread_mutex_unlock(&f->lock);
    flight->kind->run(flight);
    pthread_mutex_lock(&f->lock);
}

static void *
flights_main(void *arg)
{
    struct flights *f = arg;
    struct flight *flight;
    pthread_t before;
    bool is_first;

    pthread_mutex_lock(&f->lock);
    while ((flight = await_work(f)) != NULL)
        run_flight_unlocked(f, flight);
    /* This thread becomes the latest that ended, and joins the one before,
     * which has at most its own join left to do. */
    is_first = !f->has_ended;
    before = f->ended;
    f->has_ended = true;
    f->ended = pthread_self();
    f->threads--;
    pthread_cond_broadcast(&f->changed);
    pthread_mutex_unlock(&f->lock);
    if (!is_first)
        pthread_join(before, NULL);
    return NULL;
}

void
flights_roll(struct flights *f)
{
    struct thread_start start = {f->name, STACK_BYTES, flights_main, f};
    struct error ignored;
    pthread_t thread;

    if (f->stop || !f->next(f))
        return;
    if (f->idle > 0)
        pthread_cond_signal(&f->changed);
    else if (f->threads < f->max &&
             thread_start(&thread, &start, &ignored) == 0)
        f->threads++;
}

void
flights_init(struct flights *f, const char *name, unsigned max,
             struct flight *(*next)(struct flights *flights))
{
    *f = (struct flights){.name = name, .max = max, .next = next};
    pthread_mutex_init(&f->lock, NULL);
    clock_cond_init(&f->changed);
}

/* ---- flights: with the lock ---- */

void
flight_init(struct flight *flight, const struct flight_kind *kind,
            struct flights *flights, const char *owner)
{
    flight->kind = kind;
    flight->flights = flights;
    flight->references = 1;
    snprintf(flight->owner, sizeof(flight->owner), "%s", owner ? owner : "");
}

void
flight_unref(struct flight *flight)
{
    if (flight && --flight->references == 0)
        flight->kind->free(flight);
}

static void
unlist_flight(struct flight *flight)
{
    struct flight **at = &flight->flights->first;

    if (!flight->listed)
        return;
    while (*at != flight)
        at = &(*at)->next;
    *at = flight->next;
    flight->listed = false;
    flight_unref(flight);
}

void
flights_stop(struct flights *f)
{
    pthread_mutex_lock(&f->lock);
    f->stop = true;
    pthread_cond_broadcast(&f->changed);
    while (f->threads > 0)
        pthread_cond_wait(&f->changed, &f->lock);
    while (f->first)
        unlist_flight(f->first);
    pthread_mutex_unlock(&f->lock);
    if (f->has_ended)
        pthread_join(f->ended, NULL);
    pthread_cond_destroy(&f->changed);
    pthread_mutex_destroy(&f->lock);
}

/* Puts the flight in the list and sees that a thread will take it.  -1 with
 * *err: there is no thread at all for it.  One that exists will come to it,
 * sooner or later. */
static int
begin_flight(struct flight *flight, struct error *err)
{
    struct flights *f = flight->flights;
    struct flight **end = &f->first;

    while (*end)
        end = &(*end)->next;
    *end = flight;
    flight->listed = true;
    flight->references++;
    if (f->max == 0)
        run_flight_unlocked(f, flight);
    else
        flights_roll(f);
    if (f->threads > 0 || f->max == 0 || !f->next(f))
        return 0;
    error_set(err, ER_CANT_CREATE_THREAD,
              "Can't create a new thread (errno %d); raise heapwired's limit "
              "of threads (ulimit -u, TasksMax), or try again later",
              errno);
    return -1;
}

void
flight_finish(struct flight *flight, const struct error *failure)
{
    flight->finished = true;
    flight->failed = failure != NULL;
    if (failure)
        flight->error = *failure;
    for (struct seat *seat = flight->seats; seat; seat = seat->next)
        seat->waker.wake(seat->waker.arg);
    unlist_flight(flight);
}

static void
abandon_flight(struct flight *flight)
{
    if (flight->started) {
        /* running: at most asked to stop, and its thread finishes it */
        atomic_store(&flight->cancelled, flight->kind->cancels);
        return;
    }
    unlist_flight(flight);
    flights_roll(flight->flights);
}

static void
drop_seat(struct seat *seat)
{
    struct flight *flight = seat->flight;
    struct seat **at = &flight->seats;

    while (*at != seat)
        at = &(*at)->next;
    *at = seat->next;
    /* the last follower has left */
    if (!flight->seats && !flight->finished)
        abandon_flight(flight);
    flight_unref(flight);
    mem_free(seat);
}

struct seat *
flight_join(struct flight *flight, struct waker waker, struct error *err)
{
    struct seat *seat = mem_zalloc(1, sizeof(*seat));

    if (!seat) {
        error_memory(err, "a slot of the queue");
        return NULL;
    }
    *seat = (struct seat){flight, waker, .next = flight->seats};
    flight->seats = seat;
    flight->references++;
    /* The seat comes first: begin_flight may run the work at once, and a flight
     * without seats would count as abandoned. */
    if (flight->listed || flight->finished || begin_flight(flight, err) == 0)
        return seat;
    drop_seat(seat);
    return NULL;
}

/* ---- followers ---- */

enum flight_state
flight_poll(struct seat *seat, struct error *err)
{
    struct flight *flight = seat->flight;
    enum flight_state state = FLIGHT_RUNS;

    pthread_mutex_lock(&flight->flights->lock);
    if (flight->finished)
        state = flight->failed ? FLIGHT_FAILED : FLIGHT_DONE;
    if (state == FLIGHT_FAILED)
        *err = flight->error;
    pthread_mutex_unlock(&flight->flights->lock);
    return state;
}

static bool
report_seat_progress(void *seat, struct progress *out)
{
    return flight_progress(seat, out);
}

int
flight_wait(struct seat *seat, struct await *await, struct error *err)
{
    enum flight_state state;

    await_watch(await, report_seat_progress, seat);
    while ((state = flight_poll(seat, err)) == FLIGHT_RUNS)
        if (await_notification(await, err) != 0)
            break;
    await_watch(await, NULL, NULL);
    return state == FLIGHT_DONE ? 0 : -1;
}

void
flight_leave(struct seat *seat)
{
    struct flights *f = seat ? seat->flight->flights : NULL;

    if (!f)
        return;
    pthread_mutex_lock(&f->lock);
    drop_seat(seat);
    pthread_mutex_unlock(&f->lock);
}

bool
flight_progress(struct seat *seat, struct progress *out)
{
    struct flight *flight = seat->flight;
    bool known;

    pthread_mutex_lock(&flight->flights->lock);
    known = flight->kind->progress(flight, out);
    pthread_mutex_unlock(&flight->flights->lock);
    return known;
}
