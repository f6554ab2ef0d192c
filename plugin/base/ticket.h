/*
 * ticket.h - work that several wait for, each with a ticket.
 *
 * Work is shared by its tickets and by its owner's lists, by count.  The
 * owner's lock guards it, and is held while wakers run; a ticket belongs to one
 * thread, but any may read its progress.
 */
#ifndef HW_TICKET_H
#define HW_TICKET_H

#include <pthread.h>
#include <stdbool.h>

#include "await.h"
#include "errors.h"
#include "waker.h"

struct work;

/* All are called with the lock. */
struct work_kind {
    void (*free)(struct work *work);
    /* NULL, or: the last ticket of unfinished work has gone. */
    void (*left)(struct work *work);
    bool (*progress)(struct work *work, struct progress *out);
};

struct ticket {
    struct work *work;
    struct waker waker;
    bool keep; /* the owner's own */
    struct ticket *next;
};

/* First in what the owner shares. */
struct work {
    const struct work_kind *kind;
    pthread_mutex_t *lock; /* the owner's */
    bool finished, failed;
    struct error error;
    struct ticket *tickets;
    int references;
};

/* ---- for the owner, with the lock ---- */

/* One reference: the caller's.  The rest of work is zeroed. */
void work_init(struct work *work, const struct work_kind *kind,
               pthread_mutex_t *lock);
void work_unref(struct work *work); /* NULL is fine */
/* error NULL: it succeeded.  Wakes. */
void work_finish(struct work *work, const struct error *error);
/* Takes the ticket, zeroed before. */
void work_attach(struct work *work, struct ticket *ticket, struct waker waker);

/* ---- for those that wait, without the lock ---- */

enum ticket_state { TICKET_WAITING, TICKET_DONE, TICKET_FAILED };

/* FAILED: with *err. */
enum ticket_state ticket_look(struct ticket *ticket, struct error *err);
/* Blocks until the work is finished; the ticket's waker is the await's.  -1
 * with *err: it failed, or the wait is over. */
int ticket_wait(struct ticket *ticket, struct await *await, struct error *err);
/* Detaches: the work goes on for others, and the waker is not called any more
 * once this returns.  NULL is fine. */
void ticket_free(struct ticket *ticket);
/* How far the work is: false while it waits for its turn. */
bool ticket_progress(struct ticket *ticket, struct progress *out);

#endif
