/*
 * keeper_watch.c - see keeper.h.
 *
 * Its own file, since only this part needs main's libuv loop.  An ended keeper
 * is noticed by its socket, never by SIGCHLD: a keeper that does not answer in
 * time is hung up by keeper.c and so looks the same.
 */
#include "keeper.h"

#include <string.h>

#include "errors.h"
#include "log.h"

static void
stop_secrets_poll(struct keeper_watch *w)
{
    if (w->watched)
        uv_close((uv_handle_t *)&w->socket, NULL);
    w->watched = false;
}

static void on_time(uv_timer_t *timer);

/* Pauses grow, because an attempt may block the loop for KEEPER_FILES_MS. */
static void
plan_secrets_retry(struct keeper_watch *w)
{
    w->pause_ms = w->pause_ms ? 2 * w->pause_ms : KEEPER_RETRY_MS;
    if (w->pause_ms > KEEPER_RETRY_MAX_MS)
        w->pause_ms = KEEPER_RETRY_MAX_MS;
    uv_timer_start(&w->timer, on_time, w->pause_ms, 0);
}

static void
on_end(uv_poll_t *socket, int status, int events)
{
    struct keeper_watch *w = socket->data;

    (void)status;
    (void)events;
    log_fault("heapwire-keeper, which has the secrets, has ended or was too "
              "late: no password can be checked until there is another");
    stop_secrets_poll(w);
    plan_secrets_retry(w);
}

static void
start_secrets_poll(struct keeper_watch *w)
{
    w->watched =
        uv_poll_init(w->timer.loop, &w->socket, keeper_socket(w->keeper)) == 0;
    w->socket.data = w;
    if (w->watched)
        uv_poll_start(&w->socket, UV_DISCONNECT, on_end);
}

static void
on_time(uv_timer_t *timer)
{
    struct keeper_watch *w = timer->data;
    struct error err;

    plan_secrets_retry(w); /* keeper_watch_loaded() cancels it */
    if (!w->watched && keeper_restart(w->keeper, &err) != 0) {
        log_fault("%s", err.text);
        return;
    }
    /* A keeper that runs but could not load is only asked to load again. */
    if (!w->watched) {
        start_secrets_poll(w);
        log_line("started another heapwire-keeper");
    }
    w->on_restart(w->arg);
}

void
keeper_watch_start(struct keeper_watch *w, uv_loop_t *loop,
                   struct keeper *keeper, void (*again)(void *arg), void *arg)
{
    memset(w, 0, sizeof(*w));
    w->keeper = keeper;
    w->on_restart = again;
    w->arg = arg;
    w->open = true;
    uv_timer_init(loop, &w->timer);
    w->timer.data = w;
    start_secrets_poll(w);
}

void
keeper_watch_loaded(struct keeper_watch *w)
{
    if (!w->open || !w->watched)
        return;
    uv_timer_stop(&w->timer);
    w->pause_ms = 0;
}

void
keeper_watch_stop(struct keeper_watch *w)
{
    if (!w->open)
        return;
    stop_secrets_poll(w);
    uv_close((uv_handle_t *)&w->timer, NULL);
    w->open = false;
}
