/*
 * notifications.h - how other threads get the loop's attention.
 *
 * One queue and one uv_async_t per node.  A notification is never lost, calls
 * back once however often it was posted, and never after notification_cancel.
 */
#ifndef HW_NOTIFICATIONS_H
#define HW_NOTIFICATIONS_H

#include <pthread.h>
#include <stdbool.h>
#include <uv.h>

#include "waker.h"

struct error;

struct notification {
    struct notification_queue *home;
    struct notification *next;
    bool queued;
    void (*on_notify)(struct notification *notification); /* on the loop */
};

struct notification_queue {
    pthread_mutex_t
        lock; /* guards what follows and each notification's next, queued */
    struct notification *first;
    uv_async_t async;
};

int notification_queue_init(struct notification_queue *queue, uv_loop_t *loop,
                            struct error *err);
void notification_queue_close(
    /* begins to close: the loop must run on */
    struct notification_queue *queue);
void notification_queue_fini(struct notification_queue *queue); /* after that */

void notification_init(struct notification *notification,
                       struct notification_queue *home,
                       void (*on_notify)(struct notification *notification));
/* What other threads call; its arg is the notification. */
struct waker notification_waker(struct notification *notification);
/* On the loop, once no thread posts it any more. */
void notification_cancel(struct notification *notification);

#endif
