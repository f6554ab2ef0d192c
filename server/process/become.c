/*
 * become.c - see supervised.h.
 *
 * heapwired cannot know at its start whom to become: a database often starts as
 * root and changes its user later.  So it polls the uid that the agent reports,
 * often at first and then seldom, or is told by heapwire-run (follower_hint),
 * and leaves root for good at the first uid that is not 0.
 */
#include "supervised.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "controller.h"
#include "errors.h"

enum { NAMES_MAX = 16384 };

int
account_find(const char *name, struct account *out, struct error *err)
{
    char names[NAMES_MAX];
    struct passwd entry, *found = NULL;

    errno = getpwnam_r(name, &entry, names, sizeof(names), &found);
    if (errno) {
        error_sys(err, ER_WRONG_VALUE, "cannot look up the user '%s'", name);
        return -1;
    }
    if (!found) {
        error_set(err, ER_WRONG_VALUE, "this system has no user '%s'", name);
        return -1;
    }
    out->uid = entry.pw_uid;
    out->gid = entry.pw_gid;
    return 0;
}

/* In a container the database's uid may have no passwd entry: then /proc gives
 * the group. */
static bool
account_of(uid_t uid, pid_t pid, struct account *out)
{
    char names[NAMES_MAX], path[32];
    struct passwd entry, *found = NULL;
    struct stat st;

    out->uid = uid;
    if (getpwuid_r(uid, &entry, names, sizeof(names), &found) == 0 && found) {
        out->gid = entry.pw_gid;
        return true;
    }
    snprintf(path, sizeof(path), "/proc/%d", (int)pid);
    if (stat(path, &st) != 0 || st.st_uid != uid)
        return false;
    out->gid = st.st_gid;
    return true;
}

int
become(const struct account *account, struct error *err)
{
    if (account->uid == geteuid())
        return 0;
    /* In this order: each step needs a privilege that the next one gives up. */
    if (setgroups(0, NULL) != 0 ||
        setresgid(account->gid, account->gid, account->gid) != 0 ||
        setresuid(account->uid, account->uid, account->uid) != 0) {
        error_sys(err, ER_UNKNOWN, "cannot become uid %u",
                  (unsigned)account->uid);
        return -1;
    }
    /* The saved ids are gone, too, or this would succeed. */
    if (setuid(0) == 0) {
        error_set(err, ER_UNKNOWN, "could be root again after becoming uid %u",
                  (unsigned)account->uid);
        return -1;
    }
    return 0;
}

/* A database often starts as root and leaves it soon: looks often at each new
 * incarnation, and seldom later. */
static void
set_pace(struct follower *f, const struct agent_hello *hello)
{
    uint64_t now_ms = clock_ms();
    bool later;

    if (hello->pid != f->pid || hello->start_ticks != f->start_ticks) {
        f->pid = hello->pid;
        f->start_ticks = hello->start_ticks;
        f->seen_ms = now_ms;
    }
    later = now_ms - f->seen_ms >= BECOME_SOON_FOR_MS;
    if (later != f->later)
        uv_timer_set_repeat(&f->timer,
                            later ? BECOME_LATER_MS : BECOME_SOON_MS);
    f->later = later;
}

static void
on_follower_timer(uv_timer_t *timer)
{
    struct follower *f = timer->data;
    struct node_status status;
    struct account account;

    controller_status(f->controller, &status);
    set_pace(f, &status.hello);
    if (status.state != NODE_CONNECTED || status.hello.uid == 0 ||
        status.hello.uid == (uid_t)-1)
        return;
    /* leave() fails where a file cannot be given yet; the timer then tries
     * again. */
    if (account_of(status.hello.uid, status.hello.pid, &account) &&
        f->leave(f->arg, &account) == 0)
        uv_timer_stop(&f->timer);
}

void
follower_start(struct follower *f, uv_loop_t *loop,
               struct controller *controller,
               int (*leave)(void *arg, const struct account *account),
               void *arg)
{
    memset(f, 0, sizeof(*f));
    f->controller = controller;
    f->leave = leave;
    f->arg = arg;
    f->seen_ms = clock_ms();
    f->open = true;
    uv_timer_init(loop, &f->timer);
    f->timer.data = f;
    uv_timer_start(&f->timer, on_follower_timer, BECOME_SOON_MS,
                   BECOME_SOON_MS);
}

bool
follower_hint(struct follower *f, uid_t uid, pid_t pid)
{
    struct account account;

    if (!f->open || geteuid() != 0 || uid == 0 ||
        !account_of(uid, pid, &account) || f->leave(f->arg, &account) != 0)
        return false;
    uv_timer_stop(&f->timer);
    return true;
}

void
follower_stop(struct follower *f)
{
    if (f->open)
        uv_close((uv_handle_t *)&f->timer, NULL);
    f->open = false;
}
