/* scheduler.c - see scheduler.h. */
#include "scheduler.h"

#include <string.h>

#include "clock.h"
#include "user_quota.h"

void
scheduler_init(struct turns *turns)
{
    memset(turns, 0, sizeof(*turns));
    pthread_mutex_init(&turns->lock, NULL);
}

void
scheduler_fini(struct turns *turns)
{
    pthread_mutex_destroy(&turns->lock);
}

/* ---- places: with the lock ---- */

static bool
can_take_thread_slot(const struct turns *turns, const struct turn *turn)
{
    struct share places = {.user = turn->owner};

    for (const struct turn *t = turns->placed; t; t = t->next)
        if (t->forwarded == turn->forwarded)
            share_count(&places, t->owner);
    return user_quota_has_slot(&places, PLACES);
}

static void
grant_thread_slot(struct turns *turns, struct turn *turn)
{
    turn->placed = true;
    turn->next = turns->placed;
    turns->placed = turn;
}

static bool
is_like(const struct turn *a, const struct turn *b)
{
    return a->forwarded == b->forwarded && strcmp(a->owner, b->owner) == 0;
}

/* Where the first of its user stands; NULL there: it would be the first. */
static struct turn **
find_line(struct turns *turns, const struct turn *turn)
{
    struct turn **at = &turns->awaiting;

    while (*at && !is_like(*at, turn))
        at = &(*at)->next;
    return at;
}

/* Behind those of its user: thousands may wait. */
static void
queue_for_thread_slot(struct turns *turns, struct turn *turn)
{
    struct turn **line = find_line(turns, turn), *first = *line;

    turn->awaits_slot = true;
    turn->next = turn->behind = NULL;
    turn->ahead = first ? first->last : NULL;
    if (first)
        first->last = first->last->behind = turn;
    else
        turn->last = *line = turn;
}

static void
leave_thread_slot_queue(struct turns *turns, struct turn *turn)
{
    struct turn **line = find_line(turns, turn);

    turn->awaits_slot = false;
    if (turn->behind)
        turn->behind->ahead = turn->ahead;
    else if (*line)
        (*line)->last = turn->ahead;
    if (turn->ahead) {
        turn->ahead->behind = turn->behind;
    } else if (turn->behind) {
        turn->behind->last = turn->last;
        turn->behind->next = turn->next;
        *line = turn->behind;
    } else {
        *line = turn->next;
    }
}

static void
grant_thread_slots(struct turns *turns)
{
    struct turn **at = &turns->awaiting, *turn;

    while ((turn = *at)) {
        if (!can_take_thread_slot(turns, turn)) {
            at = &turn->next;
            continue;
        }
        leave_thread_slot_queue(turns, turn);
        grant_thread_slot(turns, turn);
        turn->place.wake(turn->place.arg);
    }
}

static void
release_thread_slot(struct turns *turns, struct turn *turn)
{
    struct turn **at = &turns->placed;

    while (*at != turn)
        at = &(*at)->next;
    *at = turn->next;
    turn->placed = false;
    grant_thread_slots(turns);
}

/* ---- places ---- */

bool
scheduler_take_thread_slot(struct turns *turns, struct turn *turn)
{
    bool placed;

    pthread_mutex_lock(&turns->lock);
    if (!turn->placed && !turn->awaits_slot) {
        if (can_take_thread_slot(turns, turn))
            grant_thread_slot(turns, turn);
        else
            queue_for_thread_slot(turns, turn);
    }
    placed = turn->placed;
    pthread_mutex_unlock(&turns->lock);
    return placed;
}

/* ---- turns: with the lock ---- */

/* The slot of the turn that computes; of NULL, a free one.  NULL: none. */
static struct turn **
find_compute_slot(struct turns *turns, const struct turn *turn)
{
    for (size_t i = 0; i < TURNS; i++)
        if (turns->computing[i] == turn)
            return &turns->computing[i];
    return NULL;
}

static bool
may_compute(const struct turns *turns, const struct turn *turn)
{
    struct share share = {.user = turn->owner};

    for (size_t i = 0; i < TURNS; i++)
        if (turns->computing[i])
            share_count(&share, turns->computing[i]->owner);
    return user_quota_has_slot(&share, TURNS);
}

/* at_once may exceed the number of slots. */
static void
begin_computing(struct turns *turns, struct turn *turn)
{
    struct turn **slot = find_compute_slot(turns, NULL);

    if (slot)
        *slot = turn;
    turn->computes = true;
    turn->until_ms = clock_ms() + COMPUTE_SLICE_MS;
}

static void
enqueue_slot_waiter(struct turns *turns, struct turn *turn)
{
    struct turn **end = &turns->queue;

    if (turn->queued)
        return;
    while (*end)
        end = &(*end)->next_queued;
    turn->next_queued = NULL;
    turn->queued = true;
    *end = turn;
}

static void
dequeue_slot_waiter(struct turns *turns, struct turn *turn)
{
    struct turn **at = &turns->queue;

    if (!turn->queued)
        return;
    while (*at != turn)
        at = &(*at)->next_queued;
    *at = turn->next_queued;
    turn->queued = false;
}

/* True: somebody has one now. */
static bool
grant_compute_slots(struct turns *turns)
{
    struct turn *next;
    bool granted = false;

    for (struct turn *t = turns->queue; t && find_compute_slot(turns, NULL);
         t = next) {
        next = t->next_queued;
        if (!may_compute(turns, t))
            continue;
        dequeue_slot_waiter(turns, t);
        begin_computing(turns, t);
        t->granted.wake(t->granted.arg);
        granted = true;
    }
    return granted;
}

/* Its slot, to the next one of its user, whoever else has slots. */
static bool
pass_on(struct turns *turns, const struct turn *turn)
{
    struct turn *t = turns->queue;

    while (t && strcmp(t->owner, turn->owner) != 0)
        t = t->next_queued;
    if (!t)
        return false;
    dequeue_slot_waiter(turns, t);
    begin_computing(turns, t);
    t->granted.wake(t->granted.arg);
    return true;
}

static void
end_computing(struct turns *turns, struct turn *turn)
{
    struct turn **slot = find_compute_slot(turns, turn);

    turn->computes = false;
    if (!slot)
        return;
    *slot = NULL;
    (void)grant_compute_slots(turns);
}

/* Somebody else's turn, if one waits who may have it. */
static void
give_way(struct turns *turns, struct turn *turn)
{
    struct turn **slot = find_compute_slot(turns, turn);

    if (!turns->queue || !slot || clock_ms() < turn->until_ms)
        return;
    *slot = NULL;
    if (grant_compute_slots(turns) || pass_on(turns, turn)) {
        turn->computes = false;
        enqueue_slot_waiter(turns, turn);
    } else {
        *slot = turn;
        turn->until_ms = clock_ms() + COMPUTE_SLICE_MS;
    }
}

/* ---- turns ---- */

bool
scheduler_request_compute(struct turns *turns, struct turn *turn, bool at_once)
{
    bool computes;

    pthread_mutex_lock(&turns->lock);
    if (turn->computes && !at_once) {
        give_way(turns, turn);
    } else if (!turn->computes && (at_once || may_compute(turns, turn))) {
        dequeue_slot_waiter(turns, turn);
        begin_computing(turns, turn);
    } else if (!turn->computes) {
        enqueue_slot_waiter(turns, turn);
    }
    computes = turn->computes;
    pthread_mutex_unlock(&turns->lock);
    return computes;
}

bool
scheduler_is_slice_over(struct turns *turns, const struct turn *turn)
{
    bool is;

    pthread_mutex_lock(&turns->lock);
    is = turn->computes && clock_ms() >= turn->until_ms;
    pthread_mutex_unlock(&turns->lock);
    return is;
}

void
scheduler_yield_compute(struct turns *turns, struct turn *turn)
{
    pthread_mutex_lock(&turns->lock);
    end_computing(turns, turn);
    pthread_mutex_unlock(&turns->lock);
}

bool
scheduler_awaits_compute(struct turns *turns, struct turn *turn)
{
    bool queued;

    pthread_mutex_lock(&turns->lock);
    queued = turn->queued;
    pthread_mutex_unlock(&turns->lock);
    return queued;
}

void
scheduler_release_slots(struct turns *turns, struct turn *turn)
{
    pthread_mutex_lock(&turns->lock);
    dequeue_slot_waiter(turns, turn);
    end_computing(turns, turn);
    if (turn->awaits_slot)
        leave_thread_slot_queue(turns, turn);
    if (turn->placed)
        release_thread_slot(turns, turn);
    pthread_mutex_unlock(&turns->lock);
}
