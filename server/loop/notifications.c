/*
 * notifications.c - see notifications.h.
 *
 * Of libuv only uv_async_send() may be called by other threads, and it merges
 * calls: so what was posted stands in a queue of our own, each notification at
 * most once.  The queue is a list that is walked to its end to append; it is
 * short, as one notification belongs to one object.
 */
#include "notifications.h"

#include <string.h>

#include "errors.h"

static struct notification *
pop_notification(struct notification_queue *queue)
{
    struct notification *notification;

    pthread_mutex_lock(&queue->lock);
    notification = queue->first;
    if (notification) {
        queue->first = notification->next;
        notification->queued = false;
    }
    pthread_mutex_unlock(&queue->lock);
    return notification;
}

/* Takes one at a time, since on_notify may cancel any other, and no more than
 * there were at first, since on_notify may post again: that has an async of its
 * own. */
static void
on_async(uv_async_t *async)
{
    struct notification_queue *queue = async->data;
    struct notification *notification;
    size_t count = 0;

    pthread_mutex_lock(&queue->lock);
    for (notification = queue->first; notification;
         notification = notification->next)
        count++;
    pthread_mutex_unlock(&queue->lock);
    while (count-- > 0) {
        notification = pop_notification(queue);
        if (!notification)
            return;
        notification->on_notify(notification);
    }
}

int
notification_queue_init(struct notification_queue *queue, uv_loop_t *loop,
                        struct error *err)
{
    int rc;

    memset(queue, 0, sizeof(*queue));
    rc = uv_async_init(loop, &queue->async, on_async);
    if (rc != 0) {
        error_set(err, ER_UNKNOWN, "cannot make the loop's wake-up: %s",
                  uv_strerror(rc));
        return -1;
    }
    queue->async.data = queue;
    pthread_mutex_init(&queue->lock, NULL);
    return 0;
}

void
notification_queue_close(struct notification_queue *queue)
{
    uv_close((uv_handle_t *)&queue->async, NULL);
}

void
notification_queue_fini(struct notification_queue *queue)
{
    pthread_mutex_destroy(&queue->lock);
}

void
notification_init(struct notification *notification,
                  struct notification_queue *home,
                  void (*on_notify)(struct notification *notification))
{
    memset(notification, 0, sizeof(*notification));
    notification->home = home;
    notification->on_notify = on_notify;
}

static void
post_notification(void *arg)
{
    struct notification *notification = arg;
    struct notification_queue *queue = notification->home;
    struct notification **end = &queue->first;
    bool queued;

    pthread_mutex_lock(&queue->lock);
    queued = notification->queued;
    if (!queued) {
        while (*end)
            end = &(*end)->next;
        notification->queued = true;
        notification->next = NULL;
        *end = notification;
    }
    pthread_mutex_unlock(&queue->lock);
    /* After the unlock: the loop would wake only to wait for the lock. */
    if (!queued)
        uv_async_send(&queue->async);
}

struct waker
notification_waker(struct notification *notification)
{
    struct waker waker = {post_notification, notification};

    return waker;
}

void
notification_cancel(struct notification *notification)
{
    struct notification_queue *queue = notification->home;

    if (!queue)
        return;
    pthread_mutex_lock(&queue->lock);
    for (struct notification **at = &queue->first; notification->queued && *at;
         at = &(*at)->next)
        if (*at == notification) {
            *at = notification->next;
            notification->queued = false;
            break;
        }
    pthread_mutex_unlock(&queue->lock);
}
