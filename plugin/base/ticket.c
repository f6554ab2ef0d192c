/* ticket.c - see ticket.h. */
#include "ticket.h"

#include <stddef.h>

#include "memory.h"

void
work_init(struct work *work, const struct work_kind *kind,
          pthread_mutex_t *lock)
{
    work->kind = kind;
    work->lock = lock;
    work->references = 1;
}

void
work_unref(struct work *work)
{
    if (work && --work->references == 0)
        work->kind->free(work);
}

void
work_finish(struct work *work, const struct error *error)
{
    work->finished = true;
    work->failed = error != NULL;
    if (error)
        work->error = *error;
    for (struct ticket *t = work->tickets; t; t = t->next)
        t->waker.wake(t->waker.arg);
}

void
work_attach(struct work *work, struct ticket *ticket, struct waker waker)
{
    ticket->work = work;
    ticket->waker = waker;
    ticket->next = work->tickets;
    work->tickets = ticket;
    work->references++;
}

enum ticket_state
ticket_look(struct ticket *ticket, struct error *err)
{
    struct work *work = ticket->work;
    enum ticket_state state = TICKET_WAITING;

    pthread_mutex_lock(work->lock);
    if (work->finished)
        state = work->failed ? TICKET_FAILED : TICKET_DONE;
    if (state == TICKET_FAILED)
        *err = work->error;
    pthread_mutex_unlock(work->lock);
    return state;
}

static bool
progress_of(void *ticket, struct progress *out)
{
    return ticket_progress(ticket, out);
}

int
ticket_wait(struct ticket *ticket, struct await *await, struct error *err)
{
    enum ticket_state state;

    await_watch(await, progress_of, ticket);
    while ((state = ticket_look(ticket, err)) == TICKET_WAITING)
        if (await_news(await, err) != 0)
            break;
    await_watch(await, NULL, NULL);
    return state == TICKET_DONE ? 0 : -1;
}

void
ticket_free(struct ticket *ticket)
{
    struct ticket **at;
    struct work *work;
    pthread_mutex_t *lock;

    if (!ticket)
        return;
    work = ticket->work;
    lock = work->lock;
    pthread_mutex_lock(lock);
    for (at = &work->tickets; *at != ticket; at = &(*at)->next)
        ;
    *at = ticket->next;
    if (!work->tickets && !work->finished && work->kind->left)
        work->kind->left(work);
    work_unref(work);
    pthread_mutex_unlock(lock);
    mem_free(ticket);
}

bool
ticket_progress(struct ticket *ticket, struct progress *out)
{
    struct work *work = ticket->work;
    bool known;

    pthread_mutex_lock(work->lock);
    known = work->kind->progress(work, out);
    pthread_mutex_unlock(work->lock);
    return known;
}
