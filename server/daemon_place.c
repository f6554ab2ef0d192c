/* daemon_place.c - see daemon_place.h. */
#include "daemon_place.h"

#include <sys/stat.h>

#include "errors.h"
#include "listener.h"
#include "log.h"
#include "state_dir.h"
#include "supervised.h"

static void
renew_log(void)
{
    struct error err;
    struct stat st;

    if (log_fd() >= 0 && fstat(log_fd(), &st) == 0 && st.st_nlink == 0 &&
        log_reopen(&err) == 0)
        log_line("the log was deleted: this one is new");
}

/* Nobody would start an orphan again: it stays. */
static void
lose(struct place_watch *watch, const char *why)
{
    const struct supervised *by = watch->supervised;

    watch->lost = true;
    if (by->orphan && !by->alone) {
        log_fault("%s: serves on by TCP alone", why);
        return;
    }
    log_fault("%s: ends, to be started again", why);
    watch->end(watch->arg);
}

static void
on_look(uv_timer_t *timer)
{
    struct place_watch *watch = timer->data;
    struct error err;

    if (watch->lost)
        return;
    if (state_dir_look(watch->dir, watch->path, &err) != 0) {
        lose(watch, err.text);
        return;
    }
    renew_log();
    listener_renew(watch->local);
    listener_renew(watch->http_local);
}

void
place_watch_start(struct place_watch *watch, uv_loop_t *loop,
                  struct state_dir *dir, const char *path,
                  const struct supervised *supervised, struct listener *local,
                  struct listener *http_local, void (*end)(void *arg),
                  void *arg)
{
    watch->dir = dir;
    watch->path = path;
    watch->supervised = supervised;
    watch->local = local;
    watch->http_local = http_local;
    watch->end = end;
    watch->arg = arg;
    uv_timer_init(loop, &watch->timer);
    watch->timer.data = watch;
    watch->open = true;
    uv_timer_start(&watch->timer, on_look, PLACE_LOOK_MS, PLACE_LOOK_MS);
}

void
place_watch_stop(struct place_watch *watch)
{
    if (watch->open)
        uv_close((uv_handle_t *)&watch->timer, NULL);
    watch->open = false;
}
