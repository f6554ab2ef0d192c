/* daemon_place.c - see daemon.h. */
#include "daemon.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "deaths.h"
#include "errors.h"
#include "files.h"
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

/* heapwire-run makes it, if it is root and we are not, where nothing lies in
 * its place: it looks as often as it expects a sign of life. */
static bool
is_made_for_us(const struct place_watch *watch)
{
    const struct supervised *by = watch->supervised;
    struct stat st;

    return by->line >= 0 && by->beat_ms > 0 && geteuid() != 0 &&
           lstat(watch->path, &st) != 0 && errno == ENOENT;
}

/* Nobody would start an orphan again: it stays, and tries again. */
static void
lose(struct place_watch *watch, const char *why)
{
    const struct supervised *by = watch->supervised;
    bool stays = by->orphan && !by->alone;
    bool waits = !stays && is_made_for_us(watch);

    if (!watch->lost) {
        watch->lost_ms = clock_ms();
        log_fault("the state directory %s was deleted, and heapwired cannot "
                  "make it again: %s: %s",
                  watch->path, why,
                  stays   ? "serves on by TCP alone"
                  : waits ? "waits for heapwire-run to make it"
                          : "ends, to be started again");
    }
    watch->lost = true;
    if (!stays && !(waits && clock_ms() - watch->lost_ms <
                                 2ull * (by->beat_ms + PLACE_LOOK_MS)))
        watch->end(watch->arg);
}

static void
on_look(uv_timer_t *timer)
{
    struct place_watch *watch = timer->data;
    struct error err;
    bool again;

    if (state_dir_look(watch->dir, watch->path, &again, &err) != 0) {
        lose(watch, err.text);
        return;
    }
    watch->lost = false;
    renew_log();
    watch->deaths = deaths_watch(watch->path, watch->deaths);
    if (again) {
        log_fault("the state directory %s was deleted: heapwired has made it "
                  "again, and goes on",
                  watch->path);
        watch->renewed(watch->arg);
    }
    listener_renew(watch->local);
    listener_renew(watch->http_local);
}

void
place_watch_start(struct place_watch *watch, uv_loop_t *loop,
                  struct state_dir *dir, const char *path,
                  const struct supervised *supervised, struct listener *local,
                  struct listener *http_local, void (*renewed)(void *arg),
                  void (*end)(void *arg), void *arg)
{
    watch->dir = dir;
    watch->path = path;
    watch->supervised = supervised;
    watch->local = local;
    watch->http_local = http_local;
    watch->renewed = renewed;
    watch->end = end;
    watch->deaths = deaths_watch(path, -1);
    watch->arg = arg;
    uv_timer_init(loop, &watch->timer);
    watch->timer.data = watch;
    watch->open = true;
    uv_timer_start(&watch->timer, on_look, PLACE_LOOK_MS, PLACE_LOOK_MS);
}

void
place_watch_stop(struct place_watch *watch)
{
    if (!watch->open)
        return;
    uv_close((uv_handle_t *)&watch->timer, NULL);
    fd_close(watch->deaths);
    watch->open = false;
}
