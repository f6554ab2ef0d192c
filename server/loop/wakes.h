/*
 * wakes.h - how other threads get the loop's attention.
 *
 * One queue and one uv_async_t per node.  A wake is never lost, calls back once
 * however often it came, and never after wake_forget.
 */
#ifndef HW_WAKES_H
#define HW_WAKES_H

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

int wakes_init(struct wakes *wakes, uv_loop_t *loop, struct error *err);
void wakes_close(struct wakes *wakes); /* begins: the loop must run on */
void wakes_fini(struct wakes *wakes);  /* after that */

void wake_init(struct wake *wake, struct wakes *home,
               void (*on_wake)(struct wake *wake));
/* The other threads' end; its arg is the wake. */
struct waker wake_waker(struct wake *wake);
/* On the loop, once no thread wakes it any more. */
void wake_forget(struct wake *wake);

#endif
