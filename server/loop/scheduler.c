/*
 * scheduler.c - see scheduler.h.
 *
 * Thread slots bound how many statements exist off the loop; compute slots
 * bound how many of them use a processor.  Both are granted under one lock by
 * whoever releases one: there is no scheduler thread, and no statement polls.
 * Lists of who has slots are counted through at each request (at most 384 and 8
 * entries); those that wait may be thousands, so each user's stand in a line of
 * their own, and a user who is at the limit costs one comparison.
 */
#include "scheduler.h"

#include <string.h>

#include "clock.h"
#include "user_quota.h"

void
scheduler_init(struct scheduler *scheduler)
{
    memset(scheduler, 0, sizeof(*scheduler));
    pthread_mutex_init(&scheduler->lock, NULL);
}

void
scheduler_fini(struct scheduler *scheduler)
{
    pthread_mutex_destroy(&scheduler->lock);
}

/* ---- thread slots: with the lock ---- */

static bool
can_take_thread_slot(const struct scheduler *scheduler,
                     const struct scheduler_entry *entry)
{
    struct user_quota quota = {.user = entry->owner};

    for (const struct scheduler_entry *t = scheduler->with_slot; t; t = t->next)
        if (t->forwarded == entry->forwarded)
            user_quota_count(&quota, t->owner);
    return user_quota_has_slot(&quota, THREAD_SLOTS);
}

static void
grant_thread_slot(struct scheduler *scheduler, struct scheduler_entry *entry)
{
    entry->has_slot = true;
    entry->next = scheduler->with_slot;
    scheduler->with_slot = entry;
}

/* One line per user, and forwarded statements apart: they have slots of their
 * own. */
static bool
is_like(const struct scheduler_entry *a, const struct scheduler_entry *b)
{
    return a->forwarded == b->forwarded && strcmp(a->owner, b->owner) == 0;
}

/* The place of the user's first entry; points to NULL if there is none. */
static struct scheduler_entry **
find_line(struct scheduler *scheduler, const struct scheduler_entry *entry)
{
    struct scheduler_entry **at = &scheduler->awaiting;

    while (*at && !is_like(*at, entry))
        at = &(*at)->next;
    return at;
}

/* Appends in constant time, for thousands may wait. */
static void
queue_for_thread_slot(struct scheduler *scheduler,
                      struct scheduler_entry *entry)
{
    struct scheduler_entry **line = find_line(scheduler, entry), *first = *line;

    entry->awaits_slot = true;
    entry->next = entry->behind = NULL;
    entry->ahead = first ? first->last : NULL;
    if (first)
        first->last = first->last->behind = entry;
    else
        entry->last = *line = entry;
}

static void
leave_thread_slot_queue(struct scheduler *scheduler,
                        struct scheduler_entry *entry)
{
    struct scheduler_entry **line = find_line(scheduler, entry);

    entry->awaits_slot = false;
    /* The last of a line takes its predecessor's place as `last`; the first
     * hands its place among the users to the one behind. */
    if (entry->behind)
        entry->behind->ahead = entry->ahead;
    else if (*line)
        (*line)->last = entry->ahead;
    if (entry->ahead) {
        entry->ahead->behind = entry->behind;
    } else if (entry->behind) {
        entry->behind->last = entry->last;
        entry->behind->next = entry->next;
        *line = entry->behind;
    } else {
        *line = entry->next;
    }
}

static void
grant_thread_slots(struct scheduler *scheduler)
{
    struct scheduler_entry **at = &scheduler->awaiting, *entry;

    while ((entry = *at)) {
        /* A user without a free share does not hold up the users behind. */
        if (!can_take_thread_slot(scheduler, entry)) {
            at = &entry->next;
            continue;
        }
        leave_thread_slot_queue(scheduler, entry);
        grant_thread_slot(scheduler, entry);
        entry->slot.wake(entry->slot.arg);
    }
}

static void
release_thread_slot(struct scheduler *scheduler, struct scheduler_entry *entry)
{
    struct scheduler_entry **at = &scheduler->with_slot;

    while (*at != entry)
        at = &(*at)->next;
    *at = entry->next;
    entry->has_slot = false;
    grant_thread_slots(scheduler);
}

/* ---- thread slots ---- */

bool
scheduler_take_thread_slot(struct scheduler *scheduler,
                           struct scheduler_entry *entry)
{
    bool has_slot;

    pthread_mutex_lock(&scheduler->lock);
    if (!entry->has_slot && !entry->awaits_slot) {
        if (can_take_thread_slot(scheduler, entry))
            grant_thread_slot(scheduler, entry);
        else
            queue_for_thread_slot(scheduler, entry);
    }
    has_slot = entry->has_slot;
    pthread_mutex_unlock(&scheduler->lock);
    return has_slot;
}

/* ---- compute slots: with the lock ---- */

/* The slot of entry, or for NULL a free one; NULL: there is none. */
static struct scheduler_entry **
find_compute_slot(struct scheduler *scheduler,
                  const struct scheduler_entry *entry)
{
    for (size_t i = 0; i < COMPUTE_SLOTS; i++)
        if (scheduler->computing[i] == entry)
            return &scheduler->computing[i];
    return NULL;
}

static bool
may_compute(const struct scheduler *scheduler,
            const struct scheduler_entry *entry)
{
    struct user_quota quota = {.user = entry->owner};

    for (size_t i = 0; i < COMPUTE_SLOTS; i++)
        if (scheduler->computing[i])
            user_quota_count(&quota, scheduler->computing[i]->owner);
    return user_quota_has_slot(&quota, COMPUTE_SLOTS);
}

/* With at_once there may be more that compute than slots; such a one has none.
 */
static void
begin_computing(struct scheduler *scheduler, struct scheduler_entry *entry)
{
    struct scheduler_entry **slot = find_compute_slot(scheduler, NULL);

    if (slot)
        *slot = entry;
    entry->computes = true;
    entry->until_ms = clock_ms() + COMPUTE_SLICE_MS;
}

static void
enqueue_slot_waiter(struct scheduler *scheduler, struct scheduler_entry *entry)
{
    struct scheduler_entry **end = &scheduler->queue;

    if (entry->queued)
        return;
    while (*end)
        end = &(*end)->next_queued;
    entry->next_queued = NULL;
    entry->queued = true;
    *end = entry;
}

static void
dequeue_slot_waiter(struct scheduler *scheduler, struct scheduler_entry *entry)
{
    struct scheduler_entry **at = &scheduler->queue;

    if (!entry->queued)
        return;
    while (*at != entry)
        at = &(*at)->next_queued;
    *at = entry->next_queued;
    entry->queued = false;
}

/* True: somebody has one now. */
static bool
grant_compute_slots(struct scheduler *scheduler)
{
    struct scheduler_entry *next;
    bool granted = false;

    for (struct scheduler_entry *t = scheduler->queue;
         t && find_compute_slot(scheduler, NULL); t = next) {
        next = t->next_queued;
        if (!may_compute(scheduler, t))
            continue;
        dequeue_slot_waiter(scheduler, t);
        begin_computing(scheduler, t);
        t->granted.wake(t->granted.arg);
        granted = true;
    }
    return granted;
}

/* Gives the slot of entry to the next one of the same user, whatever other
 * users have. */
static bool
pass_on(struct scheduler *scheduler, const struct scheduler_entry *entry)
{
    struct scheduler_entry *t = scheduler->queue;

    while (t && strcmp(t->owner, entry->owner) != 0)
        t = t->next_queued;
    if (!t)
        return false;
    dequeue_slot_waiter(scheduler, t);
    begin_computing(scheduler, t);
    t->granted.wake(t->granted.arg);
    return true;
}

static void
end_computing(struct scheduler *scheduler, struct scheduler_entry *entry)
{
    struct scheduler_entry **slot = find_compute_slot(scheduler, entry);

    entry->computes = false;
    if (!slot)
        return;
    *slot = NULL;
    (void)grant_compute_slots(scheduler);
}

/* The slot is emptied first, so that it can be granted; if nobody can take it,
 * entry keeps it for another slice. */
static void
give_way(struct scheduler *scheduler, struct scheduler_entry *entry)
{
    struct scheduler_entry **slot = find_compute_slot(scheduler, entry);

    /* Checked by the one that computes: nobody can be stopped from outside. */
    if (!scheduler->queue || !slot || clock_ms() < entry->until_ms)
        return;
    *slot = NULL;
    if (grant_compute_slots(scheduler) || pass_on(scheduler, entry)) {
        entry->computes = false;
        enqueue_slot_waiter(scheduler, entry);
    } else {
        *slot = entry;
        entry->until_ms = clock_ms() + COMPUTE_SLICE_MS;
    }
}

/* ---- what statements call ---- */

bool
scheduler_request_compute(struct scheduler *scheduler,
                          struct scheduler_entry *entry, bool at_once)
{
    bool computes;

    pthread_mutex_lock(&scheduler->lock);
    if (entry->computes && !at_once) {
        give_way(scheduler, entry);
    } else if (!entry->computes && (at_once || may_compute(scheduler, entry))) {
        dequeue_slot_waiter(scheduler, entry);
        begin_computing(scheduler, entry);
    } else if (!entry->computes) {
        enqueue_slot_waiter(scheduler, entry);
    }
    computes = entry->computes;
    pthread_mutex_unlock(&scheduler->lock);
    return computes;
}

bool
scheduler_is_slice_over(struct scheduler *scheduler,
                        const struct scheduler_entry *entry)
{
    bool is;

    pthread_mutex_lock(&scheduler->lock);
    is = entry->computes && clock_ms() >= entry->until_ms;
    pthread_mutex_unlock(&scheduler->lock);
    return is;
}

void
scheduler_yield_compute(struct scheduler *scheduler,
                        struct scheduler_entry *entry)
{
    pthread_mutex_lock(&scheduler->lock);
    end_computing(scheduler, entry);
    pthread_mutex_unlock(&scheduler->lock);
}

bool
scheduler_awaits_compute(struct scheduler *scheduler,
                         struct scheduler_entry *entry)
{
    bool queued;

    pthread_mutex_lock(&scheduler->lock);
    queued = entry->queued;
    pthread_mutex_unlock(&scheduler->lock);
    return queued;
}

void
scheduler_release_slots(struct scheduler *scheduler,
                        struct scheduler_entry *entry)
{
    /* Wakers are called under the lock: entry cannot be freed meanwhile, as its
     * statement needs the same lock for that. */
    pthread_mutex_lock(&scheduler->lock);
    dequeue_slot_waiter(scheduler, entry);
    end_computing(scheduler, entry);
    if (entry->awaits_slot)
        leave_thread_slot_queue(scheduler, entry);
    if (entry->has_slot)
        release_thread_slot(scheduler, entry);
    pthread_mutex_unlock(&scheduler->lock);
}
