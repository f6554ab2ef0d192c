/* notifications.c - see notifications.h. */
#include "notifications.h"

#include <string.h>

#include "errors.h"

static struct wake *
pop_notification(struct wakes *wakes)
{
    struct wake *wake;

    pthread_mutex_lock(&wakes->lock);
    wake = wakes->first;
    if (wake) {
        wakes->first = wake->next;
        wake->queued = false;
    }
    pthread_mutex_unlock(&wakes->lock);
    return wake;
}

/* One at a time, as on_wake may forget any other; and no more than there were
 * at first, as on_wake may wake again: the rest has its own async. */
static void
on_async(uv_async_t *async)
{
    struct wakes *wakes = async->data;
    struct wake *wake;
    size_t count = 0;

    pthread_mutex_lock(&wakes->lock);
    for (wake = wakes->first; wake; wake = wake->next)
        count++;
    pthread_mutex_unlock(&wakes->lock);
    while (count-- > 0) {
        wake = pop_notification(wakes);
        if (!wake)
            return;
        wake->on_wake(wake);
    }
}

int
notification_queue_init(struct wakes *wakes, uv_loop_t *loop, struct error *err)
{
    int rc;

    memset(wakes, 0, sizeof(*wakes));
    rc = uv_async_init(loop, &wakes->async, on_async);
    if (rc != 0) {
        error_set(err, ER_UNKNOWN, "cannot make the loop's wake-up: %s",
                  uv_strerror(rc));
        return -1;
    }
    wakes->async.data = wakes;
    pthread_mutex_init(&wakes->lock, NULL);
    return 0;
}

void
notification_queue_close(struct wakes *wakes)
{
    uv_close((uv_handle_t *)&wakes->async, NULL);
}

void
notification_queue_fini(struct wakes *wakes)
{
    pthread_mutex_destroy(&wakes->lock);
}

void
notification_init(struct wake *wake, struct wakes *home,
          void (*on_wake)(struct wake *wake))
{
    memset(wake, 0, sizeof(*wake));
    wake->home = home;
    wake->on_wake = on_wake;
}

static void
post_notification(void *arg)
{
    struct wake *wake = arg;
    struct wakes *wakes = wake->home;
    struct wake **end = &wakes->first;
    bool queued;

    pthread_mutex_lock(&wakes->lock);
    queued = wake->queued;
    if (!queued) {
        while (*end)
            end = &(*end)->next;
        wake->queued = true;
        wake->next = NULL;
        *end = wake;
    }
    pthread_mutex_unlock(&wakes->lock);
    if (!queued)
        uv_async_send(&wakes->async);
}

struct waker
notification_waker(struct wake *wake)
{
    struct waker waker = {post_notification, wake};

    return waker;
}

void
notification_cancel(struct wake *wake)
{
    struct wakes *wakes = wake->home;

    if (!wakes)
        return;
    pthread_mutex_lock(&wakes->lock);
    for (struct wake **at = &wakes->first; wake->queued && *at;
         at = &(*at)->next)
        if (*at == wake) {
            *at = wake->next;
            wake->queued = false;
            break;
        }
    pthread_mutex_unlock(&wakes->lock);
}
