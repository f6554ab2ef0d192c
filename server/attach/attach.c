/*
 * attach.c - see attach.h.
 *
 * A database that runs cannot be preloaded, so the agent is loaded by a thread
 * of its own that is borrowed by ptrace (inject.c); after that this is
 * heapwire-run as ever, with heapwired as its child.  The database is not: a
 * pidfd shows its end, and how it ended stays unknown.  A signal takes the
 * agent out again.  One thread, in one poll of the pidfd and a signalfd.
 */
#include "attach.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

#include "leave_reason.h"
#include "clock.h"
#include "deaths.h"
#include "errors.h"
#include "files.h"
#include "process_memory.h"
#include "state_dir.h"
#include "supervise.h"

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

enum {
    LINGER_STEP_MS = 250, /* the longest wait once the database has ended */
    /* Time for a heapwired to notice that its heapwire-run has ended, and to
     * give way. */
    GIVES_WAY_MS = 5000,
    GIVES_WAY_STEP_MS = 50, /* between looks */
    /* Time for the agent of a heapwire-run that was killed to start or to end.
     */
    SETTLES_MS = 2000,
    SETTLES_STEP_MS = 5 /* between looks */
};

struct stay {
    struct attach *attach;
    struct companion companion;
    struct death death;
    struct cgroup_path cgroup;
    bool has_cgroup, ended, asked;
    int lock;          /* on "linger", after the database's end; -1 */
    uint64_t until_ms; /* when that ends */
};

static void
block_attach_signals(void)
{
    static const int fatal[] = {SIGSEGV, SIGBUS,  SIGFPE, SIGILL,
                                SIGABRT, SIGTRAP, SIGSYS};
    struct sigaction child = {.sa_handler = SIG_DFL};
    sigset_t set;

    sigfillset(&set);
    for (size_t i = 0; i < sizeof(fatal) / sizeof(fatal[0]); i++)
        sigdelset(&set, fatal[i]);
    pthread_sigmask(SIG_SETMASK, &set, NULL);
    sigaction(SIGCHLD, &child, NULL);
}

/* ---- an agent that is there already ---- */

/* Waits until the heapwired there lingers or is gone.  ask: it is also asked to
 * end. */
static bool
gives_way(const char *dir, bool ask)
{
    const struct timespec step = {.tv_nsec = GIVES_WAY_STEP_MS * 1000000L};
    uint64_t until = clock_ms() + GIVES_WAY_MS;

    while (state_dir_is_served(dir) &&
           !(ask ? linger_end_of(dir) : linger_lock_is_held(dir))) {
        if (clock_ms() >= until)
            return false;
        nanosleep(&step, NULL);
    }
    return true;
}

/* Does its agent, if it has one, serve that directory? */
static bool
wait_until_agent_serves(const char *dir, pid_t pid)
{
    const struct timespec step = {.tv_nsec = SETTLES_STEP_MS * 1000000L};
    uint64_t until = clock_ms() + SETTLES_MS;
    pid_t served = 0;

    while (target_has_agent(pid) &&
           !(agent_lock_is_held(dir, &served) && served == pid)) {
        if (clock_ms() >= until)
            return false;
        nanosleep(&step, NULL);
    }
    return true;
}

/* An agent whose heapwire-run was killed is taken over; one that another
 * heapwire-run serves is refused. */
static int
check_agent(struct attach *attach, bool dry, struct error *err)
{
    const char *dir = attach->plan->state_dir;
    pid_t pid = attach->target.pid;

    if (!wait_until_agent_serves(dir, pid)) {
        error_set(err, ER_WRONG_VALUE,
                  "process %d has an agent, and its state directory is not %s "
                  "(--node-id, --state-dir)",
                  (int)pid, dir);
        return -1;
    }
    if (!target_has_agent(pid))
        return 0;
    if (!gives_way(dir, !dry)) {
        error_set(err, ER_WRONG_VALUE,
                  "process %d is served by another heapwire-run", (int)pid);
        return -1;
    }
    /* It may have ended meanwhile, and then is injected again. */
    attach->took = target_has_agent(pid);
    return 0;
}

/* ---- in and out ---- */

static struct injection
injection_of(const struct attach *attach, const char *settings)
{
    return (struct injection){.target = &attach->target,
                              .library = attach->library,
                              .settings = settings};
}

int
attach_try(struct attach *attach, struct error *err)
{
    struct injection injection = injection_of(attach, attach->settings);

    injection.dry = true;
    if (target_sees(&attach->target, attach->library, err) != 0 ||
        check_agent(attach, true, err) != 0)
        return -1;
    if (attach->took) {
        fprintf(stderr,
                "heapwire-run: dry run: process %d (%s) has its agent "
                "already\n",
                (int)attach->target.pid, attach->target.exe);
        return 0;
    }
    if (inject(&injection, err) != 0)
        return -1;
    fprintf(stderr,
            "heapwire-run: dry run: would load %s into process %d (%s) by its "
            "thread %s; nothing was touched\n",
            attach->library, (int)attach->target.pid, attach->target.exe,
            injection.thread);
    return 0;
}

/* The target's user must be able to use the directory: heapwired runs as that
 * user, and root takes it back when heapwired is started again. */
static int
give_directory(const struct attach *attach, struct error *err)
{
    const char *dir = attach->plan->state_dir;
    struct stat st;

    if (geteuid() == 0 && attach->target.uid != 0 && lstat(dir, &st) == 0 &&
        S_ISDIR(st.st_mode) && st.st_uid == 0) {
        if (!state_dir_can_be_given(dir)) {
            error_set(err, ER_WRONG_VALUE,
                      "root cannot give %s to uid %u: others than root can "
                      "write to the directory that it lies in (--state-dir)",
                      dir, (unsigned)attach->target.uid);
            return -1;
        }
        if (lchown(dir, attach->target.uid, (gid_t)-1) != 0) {
            error_sys(err, ER_UNKNOWN, "cannot give %s to uid %u", dir,
                      (unsigned)attach->target.uid);
            return -1;
        }
    }
    return target_sees(&attach->target, dir, err);
}

int
attach_start(struct attach *attach, struct error *err)
{
    struct injection injection = injection_of(attach, attach->settings);
    const struct target *t = &attach->target;

    block_attach_signals();
    /* The pidfd is of whatever has that pid now; the start time shows that it
     * is the target still, so from here on the pid cannot be reused unnoticed.
     */
    attach->pidfd = (int)syscall(SYS_pidfd_open, t->pid, 0);
    if (attach->pidfd < 0 || !target_is_there(t)) {
        if (attach->pidfd >= 0)
            errno = ESRCH;
        error_sys(err, ER_UNKNOWN, "cannot watch process %d", (int)t->pid);
        return -1;
    }
    if (target_sees(t, attach->library, err) != 0 ||
        give_directory(attach, err) != 0 ||
        check_agent(attach, false, err) != 0)
        return -1;
    if (attach->took) {
        fprintf(stderr, "heapwire-run: process %d (%s) has its agent already\n",
                (int)t->pid, t->exe);
        return 0;
    }
    if (inject(&injection, err) != 0)
        return -1;
    fprintf(stderr,
            "heapwire-run: attached to process %d (%s) by its thread %s, which "
            "was kept for %u.%03u ms\n",
            (int)t->pid, t->exe, injection.thread, injection.stopped_us / 1000,
            injection.stopped_us % 1000);
    return 0;
}

static int
take_out(struct stay *s)
{
    struct injection injection = injection_of(s->attach, NULL);
    const struct target *t = &s->attach->target;
    struct error err = {0};

    if (!target_has_agent(t->pid))
        return EX_OK;
    if (inject(&injection, &err) != 0) {
        fprintf(stderr,
                "heapwire-run: %s; the agent stays in process %d, idle, and "
                "switches profiling off after guard_timeout (attach again to "
                "take it out)\n",
                err.text, (int)t->pid);
        return EX_TEMPFAIL;
    }
    fprintf(stderr, "heapwire-run: detached from process %d\n", (int)t->pid);
    return EX_OK;
}

/* ---- the database's end ---- */

static void
note_start(struct stay *s)
{
    const struct target *t = &s->attach->target;
    uint64_t hertz = (uint64_t)sysconf(_SC_CLK_TCK);
    struct timespec up;

    clock_gettime(CLOCK_BOOTTIME, &up);
    s->death.pid = t->pid;
    s->death.unknown = s->death.attached = true;
    /* Its start is known in ticks since the boot. */
    s->death.started_ms = clock_wall_ms() -
                          ((int64_t)up.tv_sec * 1000 + up.tv_nsec / 1000000) +
                          (int64_t)(t->started_ticks * 1000 / hertz);
    s->has_cgroup = process_memory_find_cgroup(t->pid, &s->cgroup) &&
                    process_memory_oom_kills(&s->cgroup).known;
    s->death.oom_machine = !s->has_cgroup;
    s->death.oom_before =
        process_memory_oom_kills(s->has_cgroup ? &s->cgroup : NULL);
    snprintf(s->death.program, sizeof(s->death.program), "%s", t->exe);
}

static void
note_end(struct stay *s)
{
    const struct plan *plan = s->attach->plan;
    struct error err;

    s->ended = true;
    s->death.at_ms = clock_wall_ms();
    s->death.oom_after =
        process_memory_oom_kills(s->has_cgroup ? &s->cgroup : NULL);
    s->until_ms = clock_ms() + plan->linger_ms;
    if (deaths_append(plan->state_dir, &s->death, &err) != 0)
        fprintf(stderr, "heapwire-run: %s: its end is not kept\n", err.text);
    s->lock = linger_begin(plan->state_dir);
    flock(plan->state_lock, LOCK_UN); /* a successor may come */
    s->companion.last = true;
    fprintf(
        stderr,
        "heapwire-run: process %d (%s) has ended; how is not known, because "
        "heapwire-run was attached to it; heapwired serves what is known of it "
        "for %llu s more (SIGTERM ends that; --linger 0: not at all)\n",
        (int)s->attach->target.pid, s->attach->target.exe,
        (unsigned long long)plan->linger_ms / 1000);
}

static bool
is_over(const struct stay *s)
{
    return s->asked ||
           (s->ended &&
            (s->lock < 0 || clock_ms() >= s->until_ms ||
             linger_is_over(s->lock) ||
             (s->companion.pid == 0 && s->companion.restart_ms == 0)));
}

static void
take_signal(struct stay *s, int from)
{
    struct signalfd_siginfo info;
    int status;
    pid_t pid;

    while (read(from, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
        /* Any signal but SIGCHLD asks for the end. */
        if (info.ssi_signo != SIGCHLD)
            s->asked = true;
    }
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        if (pid == s->companion.pid)
            companion_ended(&s->companion, status);
    }
}

static void
wait_for_events(struct stay *s, int signals)
{
    struct pollfd polled[] = {
        {.fd = signals, .events = POLLIN},
        {.fd = s->ended ? -1 : s->attach->pidfd, .events = POLLIN},
    };
    int timeout_ms = companion_tick(&s->companion);

    /* While it lingers, a successor is looked for. */
    if (s->ended && (timeout_ms < 0 || timeout_ms > LINGER_STEP_MS))
        timeout_ms = LINGER_STEP_MS;
    if (poll(polled, 2, timeout_ms) <= 0)
        return;
    if (polled[0].revents)
        take_signal(s, signals);
    if (polled[1].revents && !s->ended)
        note_end(s);
}

int
attach_stay(struct attach *attach)
{
    struct stay *s = &(struct stay){.attach = attach, .lock = -1};
    sigset_t set;
    int signals, status = EX_OK;

    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGQUIT);
    sigaddset(&set, SIGHUP);
    signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (signals < 0) {
        fprintf(stderr, "heapwire-run: cannot wait for signals: %m\n");
        take_out(s);
        return EX_OSERR;
    }
    note_start(s);
    deaths_reserve(attach->plan->state_dir);
    companion_init(&s->companion, attach->plan);
    /* the agent that serves there is our target's */
    s->companion.begun = true;
    companion_start(&s->companion);
    while (!is_over(s))
        wait_for_events(s, signals);
    if (!s->ended)
        status = take_out(s);
    companion_stop(&s->companion);
    fd_close(s->lock);
    fd_close(s->companion.line);
    fd_close(signals);
    fd_close(attach->pidfd);
    return status;
}
