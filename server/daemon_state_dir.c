/*
 * daemon_state_dir.c - see daemon.h.
 *
 * A timer looks whether names are still there, since an inotify watch ends with
 * the directory that it watches.  Files are given to another user through a
 * descriptor that was opened without following links and then examined: between
 * a check of a name and a chown of it, a former owner of the directory could
 * put something else in its place.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent_protocol.h"
#include "budgets.h"
#include "certificate.h"
#include "clock.h"
#include "daemon.h"
#include "deaths.h"
#include "errors.h"
#include "files.h"
#include "last_moment.h"
#include "log.h"
#include "state_dir.h"
#include "supervised.h"

/* All files that lie in the directory itself but the lock; the subdirectories
 * have functions of their own (store_give, index_service_give). */
static const char *const names[GIVEN_FILES] = {
    AGENT_SOCKET, AGENT_LOCK,  CERTIFICATE_OWN,  CERTIFICATE_OWN_KEY,
    DEATHS_FILE,  LINGER_FILE, LAST_MOMENT_FILE, LAST_MOMENT_AGAIN,
    BUDGETS_FILE, BUDGETS_NEW, "heapwired.log"};

void
given_files_note(struct given_files *files, const struct state_dir *dir)
{
    struct stat st;

    *files = (struct given_files){.dir = dir};
    /* Only a directory that was another user's can have strange files. */
    for (size_t i = 0; i < GIVEN_FILES && dir->owner != geteuid(); i++)
        if (fstatat(dir->fd, names[i], &st, AT_SYMLINK_NOFOLLOW) == 0 &&
            st.st_uid != dir->owner)
            files->strange[i] = st.st_ino;
}

static bool
is_strange(const struct given_files *files, const struct stat *st)
{
    size_t i = 0;

    while (i < GIVEN_FILES && files->strange[i] != st->st_ino)
        i++;
    return i < GIVEN_FILES;
}

int
given_files_give(const struct given_files *files, int fd,
                 const struct account *account)
{
    struct stat st;

    if (fstat(fd, &st) != 0)
        return -1;
    if (is_strange(files, &st))
        return 0;
    /* A second name may lie anywhere, where its owner must not change. */
    if (st.st_nlink == 1 && (S_ISSOCK(st.st_mode) || S_ISREG(st.st_mode)))
        return fchownat(fd, "", account->uid, account->gid, AT_EMPTY_PATH);
    errno = EPERM;
    return -1;
}

static int
give_named(const struct given_files *files, const char *name,
           const struct account *account)
{
    int fd = openat(files->dir->fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    int rc;

    if (fd < 0)
        return errno == ENOENT ? 0 : -1;
    rc = given_files_give(files, fd, account);
    fd_close(fd);
    return rc;
}

int
given_files_give_two(const struct given_files *files, const char *one,
                     const char *other, const struct account *account)
{
    return give_named(files, one, account) == 0
               ? give_named(files, other, account)
               : -1;
}

static void
renew_log(void)
{
    struct error err;
    struct stat st;

    if (log_fd() >= 0 && fstat(log_fd(), &st) == 0 && st.st_nlink == 0 &&
        log_reopen(&err) == 0)
        log_line("the log was deleted: this one is new");
}

/* heapwire-run makes the directory, if it is root and we are not and the name
 * is free.  It looks once per interval of heartbeats. */
static bool
is_made_for_us(const struct state_dir_watch *watch)
{
    const struct supervised *by = watch->supervised;
    struct stat st;

    return by->line >= 0 && by->beat_ms > 0 && geteuid() != 0 &&
           lstat(watch->path, &st) != 0 && errno == ENOENT;
}

/* Nobody would start an orphan again, so it serves on and tries again. */
static void
handle_lost_directory(struct state_dir_watch *watch, const char *why)
{
    const struct supervised *by = watch->supervised;
    bool stays = by->orphan && !by->alone;
    bool waits = !stays && is_made_for_us(watch);

    if (!watch->lost) {
        watch->lost_ms = clock_ms();
        log_fault("the state directory %s was deleted, and heapwired cannot "
                  "make it again: %s: %s",
                  watch->path, why,
                  stays   ? "goes on serving by TCP only"
                  : waits ? "waits for heapwire-run to make it"
                          : "ends, to be started again");
    }
    watch->lost = true;
    /* Two rounds of heapwire-run and of this timer: if it has not made the
     * directory by then, it does not. */
    if (!stays && !(waits && clock_ms() - watch->lost_ms <
                                 2ull * (by->beat_ms + STATE_DIR_CHECK_MS)))
        watch->end(watch->arg);
}

static void
on_directory_timer(uv_timer_t *timer)
{
    struct state_dir_watch *watch = timer->data;
    struct error err;
    bool replaced;

    if (state_dir_recheck(watch->dir, watch->path, &replaced, &err) != 0) {
        handle_lost_directory(watch, err.text);
        return;
    }
    watch->lost = false;
    renew_log();
    watch->deaths = deaths_watch(watch->path, watch->deaths);
    if (replaced) {
        log_fault("the state directory %s was deleted: heapwired has made it "
                  "again, and goes on",
                  watch->path);
        watch->renewed(watch->arg);
    }
    listener_renew(watch->local);
    listener_renew(watch->http_local);
}

void
state_dir_watch_start(struct state_dir_watch *watch, uv_loop_t *loop,
                      struct state_dir *dir, const char *path,
                      const struct supervised *supervised,
                      struct listener *local, struct listener *http_local,
                      void (*renewed)(void *arg), void (*end)(void *arg),
                      void *arg)
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
    uv_timer_start(&watch->timer, on_directory_timer, STATE_DIR_CHECK_MS,
                   STATE_DIR_CHECK_MS);
}

void
state_dir_watch_stop(struct state_dir_watch *watch)
{
    if (!watch->open)
        return;
    uv_close((uv_handle_t *)&watch->timer, NULL);
    fd_close(watch->deaths);
    watch->open = false;
}
