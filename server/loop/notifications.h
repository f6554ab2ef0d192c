/*
 * notifications.h - how other threads get the loop's attention.
 *
 * One queue and one uv_async_t per node.  A wake is never lost, calls back once
 * however often it came, and never after notification_cancel.
 */
#ifndef HW_NOTIFICATIONS_H
#define HW_NOTIFICATIONS_H

#include <pthread.h>
#include <stdbool.h>
#include <uv.h>

#include "waker.h"

struct error;

struct wake {
    struct wakes *home;
    struct wake *next;
    bool queued;
    void (*on_wake)(struct wake *wake); /* on the loop */
};

struct wakes {
    pthread_mutex_t
        lock; /* guards what follows and every wake's next, queued */
    struct wake *first;
    uv_async_t async;
};

int notification_queue_init(struct wakes *wakes, uv_loop_t *loop, struct error *err);
void notification_queue_close(struct wakes *wakes); /* begins: the loop must run on */
void notification_queue_fini(struct wakes *wakes);  /* after that */

void notification_init(struct wake *wake, struct wakes *home,
               void (*on_wake)(struct wake *wake));
/* The other threads' end; its arg is the wake. */
struct waker notification_waker(struct wake *wake);
/* On the loop, once no thread wakes it any more. */
void notification_cancel(struct wake *wake);

#endif
