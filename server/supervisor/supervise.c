/* supervise.c - see supervise.h.  One thread, which waits in sigtimedwait:
 * signals are blocked, so nothing runs in a handler.  The database is forked,
 * not spawned, as it needs a process group, the terminal and its signals back
 * before it runs. */
#include "supervise.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "leave_reason.h"
#include "clock.h"
#include "deaths.h"
#include "environment.h"
#include "errors.h"
#include "files.h"
#include "state_dir.h"
#include "process_facts.h"
#include "process_memory.h"

enum {
    SETTLE_MS = 1000, /* time for the rest to become a daemon or end */
    SETTLE_STEP_MS = 20,
    /* A database that ends sooner has failed to start: there is no evidence to
     * keep, and the next start must not wait. */
    LINGER_AFTER_MS = 10000,
    LINGER_STEP_MS = 250, /* between looks at what it lingers for */
    /* How long, and how often, it is seen whether a daemon leaves root. */
    DAEMON_MS = 10000,
    DAEMON_STEP_MS = 200, /* between these looks */
    SAVE_STEP_MS = 5000,  /* between two attempts to write its end */
    SIGNALLED = 128,      /* the shell's: 128 + n */
    ROOT_SHOWN = 64,      /* bytes of a path in a sentence of WHY_MAX */
    WHY_MAX = 256,
    NOT_RUNNABLE = 126,
    NOT_FOUND = 127
};

static const int forwarded[] = {SIGHUP,  SIGINT,  SIGQUIT,  SIGTERM, SIGUSR1,
                                SIGUSR2, SIGCONT, SIGWINCH, SIGTSTP};

struct supervisor {
    const struct plan *plan;
    struct companion companion;
    pid_t database; /* 0: ended */
    pid_t session;  /* the database's */
    int asked;      /* our signal that ended it; 0: none */
    int exit_status;
    bool terminal;      /* the database has it, from us */
    struct death death; /* as far as known */
    struct cgroup_path cgroup;
    bool has_cgroup;
    struct own_kills kills; /* in it */
    uint64_t started_ms;    /* monotonic: the database */
    uint64_t daemon_ms;     /* monotonic: when it left a daemon; or 0 */
    bool below;             /* its other root directory was reported */
    bool ended;             /* death is complete ... */
    bool unsaved;           /* ... and not yet in the file */
    bool logged;            /* the failure to write it was logged */
    uint64_t save_ms;       /* monotonic: the next attempt */
    bool over;              /* a signal ended the linger */
    int not_run;            /* a pipe: the child's errno, if it could not run */
    sigset_t waited, original;
    struct sigaction original_xfsz;
};

static void
sleep_ms(long ms)
{
    struct timespec pause = {.tv_sec = ms / 1000,
                             .tv_nsec = ms % 1000 * 1000000};

    nanosleep(&pause, NULL);
}

/* Blocks all signals but those of our own faults, and waits for them.  SIGXFSZ
 * is ignored: a file that may not grow is an error.  SIGTTIN and SIGTTOU stay
 * blocked, as we hand the terminal over and take it back. */
static void
block_supervisor_signals(struct supervisor *s)
{
    static const int faults[] = {SIGSEGV, SIGBUS,  SIGFPE, SIGILL,
                                 SIGABRT, SIGTRAP, SIGSYS, SIGXFSZ};
    struct sigaction child = {.sa_handler = SIG_DFL};
    struct sigaction ignore = {.sa_handler = SIG_IGN};

    sigfillset(&s->waited);
    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
        sigdelset(&s->waited, faults[i]);
    pthread_sigmask(SIG_SETMASK, &s->waited, &s->original);
    /* With SIG_IGN every exit status would be lost. */
    sigaction(SIGCHLD, &child, NULL);
    sigaction(SIGXFSZ, &ignore, &s->original_xfsz);
}

/* Executes the database; with our own environment if there is no room for more.
 */
static void
execute_database_program(const struct plan *plan, char *const *envp)
{
    environment_name_process((char **)envp);
    if (plan->segment >= 0 && envp == plan->envp)
        fcntl(plan->segment, F_SETFD, 0); /* no other child gets it */
    execve(plan->program, plan->argv, envp);
    if (errno != E2BIG)
        return;
    fprintf(stderr,
            "heapwire-run: the environment has no room for what the agent "
            "needs: %m; the database runs without heapwire\n");
    environment_name_process(environ);
    if (plan->segment >= 0)
        fcntl(plan->segment, F_SETFD, FD_CLOEXEC);
    execve(plan->program, plan->argv, environ);
}

static void
run_database(const struct supervisor *s, int not_run)
{
    const struct plan *plan = s->plan;
    char *const *const environments[] = {
        [DEATH_FINAL] = plan->envp,
        [DEATH_WITHOUT_OPTIONS] = plan->plain_envp,
        [DEATH_WITHOUT_HEAPWIRE] = plan->bare_envp,
    };
    char *const *envp =
        environments[plan->start ? plan->start->restart : DEATH_FINAL];
    int saved;

    setpgid(0, 0);
    if (s->terminal)
        tcsetpgrp(STDIN_FILENO, getpgrp());
    sigaction(SIGXFSZ, &s->original_xfsz, NULL);
    pthread_sigmask(SIG_SETMASK, &s->original, NULL);
    execute_database_program(plan, envp);
    saved = errno;
    fprintf(stderr, "heapwire-run: cannot run %s: %m\n", plan->program);
    (void)!write(not_run, &saved, sizeof(saved));
    _exit(saved == ENOENT ? NOT_FOUND : NOT_RUNNABLE);
}

/* ---- what is known of the database ---- */

static struct stats_figure
count_kills(const struct supervisor *s)
{
    return process_memory_oom_kills(s->has_cgroup ? &s->cgroup : NULL);
}

/* The command's name, or for a script the database's: a program may be called
 * by many links, and behave by its name. */
static const char *
exec_name(const struct plan *plan)
{
    char resolved[PATH_MAX];

    if (!plan->exe ||
        (realpath(plan->program, resolved) && strcmp(resolved, plan->exe) == 0))
        return plan->program;
    return plan->name;
}

/* The database is this process now: the child, or its survivor. */
static void
note_database(struct supervisor *s, pid_t pid)
{
    const struct plan *plan = s->plan;

    s->database = pid;
    s->death.pid = pid;
    if (s->death.started_ms != 0)
        return;
    s->death.started_ms = clock_wall_ms();
    s->started_ms = clock_ms();
    s->has_cgroup = process_memory_find_cgroup(getpid(), &s->cgroup) &&
                    process_memory_oom_kills(&s->cgroup).known;
    s->death.oom_machine = !s->has_cgroup;
    s->death.oom_before = count_kills(s);
    own_kills_start(&s->kills, s->started_ms, s->death.oom_before);
    snprintf(s->death.program, sizeof(s->death.program), "%s", exec_name(plan));
}

/* Call it when heapwired has failed, and not by us.  Of the machine's kills
 * none is known to be ours. */
static void
note_own_kills(struct supervisor *s, bool database_killed)
{
    uint64_t own = own_kills_of(&s->kills, count_kills(s), database_killed);

    if (own == 0 || s->death.oom_machine)
        return;
    s->death.oom_own.known = true;
    s->death.oom_own.value += own;
}

/* Was it killed by SIGKILL, and is not reaped yet? */
static bool
was_killed(pid_t pid)
{
    siginfo_t info = {.si_pid = 0};

    return pid != 0 &&
           waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid != 0 && info.si_code == CLD_KILLED &&
           info.si_status == SIGKILL;
}

static bool
was_run(const struct supervisor *s)
{
    int error;

    return read(s->not_run, &error, sizeof(error)) <= 0;
}

/* Tries again later: a full disk may have room then. */
static void
save_death(struct supervisor *s)
{
    struct error err;

    if (!s->unsaved || clock_ms() < s->save_ms)
        return;
    s->save_ms = clock_ms() + SAVE_STEP_MS;
    s->unsaved = deaths_append(s->plan->state_dir, &s->death, &err) != 0;
    if (s->unsaved && !s->logged)
        fprintf(stderr,
                "heapwire-run: %s: cannot record how the database ended; this "
                "is tried again until heapwire-run ends\n",
                err.text);
    s->logged = true;
}

static void
note_death(struct supervisor *s, int status)
{
    struct death *death = &s->death;

    death->at_ms = clock_wall_ms();
    death->signalled = WIFSIGNALED(status);
    death->code = death->signalled ? WTERMSIG(status) : WEXITSTATUS(status);
    death->asked = s->asked;
    if (!s->plan->start || s->plan->start->restart == DEATH_FINAL)
        death->recorded = process_recorded(s->plan->segment, death->pid);
    if (was_killed(s->companion.pid) && !s->companion.hung)
        note_own_kills(s, death->signalled && death->code == SIGKILL);
    death->oom_after = count_kills(s);
    s->ended = was_run(s);
    s->unsaved = s->ended && s->plan->heapwired;
    s->save_ms = 0; /* whatever came of the attempt before */
    save_death(s);
}

/* ---- the database ---- */

static int
start_database(struct supervisor *s)
{
    int ends[2] = {-1, -1};
    pid_t pid;

    s->terminal = tcgetpgrp(STDIN_FILENO) == getpgrp();
    s->session = getsid(0);
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
        ends[0] = ends[1] = -1; /* then a failure to run it goes unnoticed */
    pid = fork();
    if (pid == 0)
        run_database(s, ends[1]);
    fd_close(ends[1]);
    s->not_run = ends[0];
    if (pid < 0) {
        fprintf(stderr, "heapwire-run: cannot fork: %m\n");
        return -1;
    }
    note_database(s, pid);
    if (s->plan->start)
        start_watch_begin(s->plan->start, s->plan, pid);
    return 0;
}

static void
take_terminal(struct supervisor *s)
{
    if (s->terminal)
        tcsetpgrp(STDIN_FILENO, getpgrp());
}

/* A database that daemonises leaves a child behind, which we adopt (subreaper);
 * so does one that ends while it saves in the background, and a wrapper that
 * our signal ended.  The first leaves the session, the second ends soon, the
 * third gets the wrapper's signal. */
static pid_t
find_survivor(const struct supervisor *s)
{
    uint64_t until = clock_ms() + SETTLE_MS;
    pid_t pid;

    while ((pid = process_adopted(s->plan->exe, s->companion.pid)) != 0) {
        if (getsid(pid) != s->session || clock_ms() >= until)
            return pid;
        sleep_ms(SETTLE_STEP_MS);
    }
    return 0;
}

/* Records the end, with the reason, and starts again.  If fork fails, there is
 * no second process. */
static void
restart_failed_database(struct supervisor *s, int status)
{
    s->death.restarted = s->plan->start->restart;
    s->asked = s->plan->start->hung ? SIGKILL : 0;
    note_death(s, status);
    s->asked = 0;
    memset(&s->death, 0, sizeof(s->death));
    s->ended = s->unsaved = false;
    fd_close(s->not_run);
    s->not_run = -1;
    (void)start_database(s);
}

static void
database_ended(struct supervisor *s, int status)
{
    pid_t next = status == 0 || s->asked ? find_survivor(s) : 0;

    take_terminal(s);
    s->terminal = false;
    s->database = next;
    if (s->plan->start && !s->asked &&
        start_watch_ended(s->plan->start, status)) {
        restart_failed_database(s, status);
        return;
    }
    if (next != 0) {
        note_database(s, next);
        s->daemon_ms = clock_ms();
        s->session = getsid(next);
        if (s->asked)
            kill(next, s->asked);
        return;
    }
    note_death(s, status);
    if (WIFSIGNALED(status)) {
        s->exit_status = SIGNALLED + WTERMSIG(status);
    } else {
        s->exit_status = WEXITSTATUS(status);
    }
}

/* Ctrl-Z reached the database's group alone: stops us, too, so that our shell
 * goes on.  With SIGCONT it gives us the terminal (fg) or keeps it (bg). */
static void
database_stopped(struct supervisor *s)
{
    pid_t group = getpgid(s->database);

    if (!s->terminal)
        return;
    take_terminal(s);
    raise(SIGSTOP);
    s->terminal = tcgetpgrp(STDIN_FILENO) == getpgrp();
    if (s->terminal)
        tcsetpgrp(STDIN_FILENO, group);
    if (group > 0)
        kill(-group, SIGCONT);
}

/* 0: no further child has ended or stopped.  Messages of the next one are
 * passed on first, while /proc still shows whose child it was. */
static pid_t
next_child(struct supervisor *s, int *status)
{
    siginfo_t info = {.si_pid = 0};

    if (waitid(P_ALL, 0, &info, WEXITED | WSTOPPED | WNOHANG | WNOWAIT) != 0 ||
        info.si_pid == 0)
        return 0;
    notify_relay_pass(s->plan->notify);
    return waitpid(info.si_pid, status, WNOHANG | WUNTRACED);
}

static void
reap_child_processes(struct supervisor *s)
{
    int status;
    pid_t pid;

    while ((pid = next_child(s, &status)) > 0) {
        if (WIFSTOPPED(status)) {
            if (pid == s->database)
                database_stopped(s);
        } else if (pid == s->companion.pid) {
            if (status != 0 && !s->companion.hung && s->database != 0)
                note_own_kills(s, was_killed(s->database));
            companion_ended(&s->companion, status);
        } else if (pid == s->database) {
            database_ended(s, status);
        }
    }
}

static void
forward_database_signal(struct supervisor *s, int signal)
{
    if (signal == SIGTERM || signal == SIGINT || signal == SIGQUIT)
        s->asked = signal;
    for (size_t i = 0; i < sizeof(forwarded) / sizeof(forwarded[0]); i++) {
        if (forwarded[i] == signal)
            kill(s->database, signal);
    }
}

static void
wait_for_signal(struct supervisor *s, int timeout_ms)
{
    struct timespec timeout = {.tv_sec = timeout_ms / 1000,
                               .tv_nsec = timeout_ms % 1000 * 1000000L};
    siginfo_t info;
    int signal = timeout_ms < 0 ? sigwaitinfo(&s->waited, &info)
                                : sigtimedwait(&s->waited, &info, &timeout);

    if (signal == SIGCHLD)
        reap_child_processes(s);
    else if (signal > 0 && s->database != 0)
        forward_database_signal(s, signal);
    else if (signal == SIGTERM || signal == SIGINT || signal == SIGQUIT ||
             signal == SIGHUP)
        s->over = true;
}

/* Should heapwired keep serving the dead database's data? */
static bool
is_to_linger(const struct supervisor *s)
{
    return s->plan->linger_ms > 0 && s->ended && !death_was_clean(&s->death) &&
           (s->companion.pid != 0 ||
            (s->companion.restart_ms != 0 && s->companion.served)) &&
           clock_ms() - s->started_ms >= LINGER_AFTER_MS;
}

static void
print_linger_note(const struct supervisor *s)
{
    char how[256];

    death_describe(&s->death, how, sizeof(how));
    fprintf(stderr,
            "heapwire-run: %s (pid %d) %s; heapwired serves what is known of "
            "it for %llu s more (SIGTERM ends that; --linger 0: not at all)\n",
            s->death.program, s->death.pid, how,
            (unsigned long long)s->plan->linger_ms / 1000);
}

/* Until the time is over, a signal comes, or a successor.  The caller releases
 * the lock when heapwired has ended. */
static int
linger_after_database(struct supervisor *s)
{
    uint64_t until = clock_ms() + s->plan->linger_ms, now;
    int lock = linger_begin(s->plan->state_dir);

    if (lock < 0 && errno == EWOULDBLOCK)
        return -1;
    flock(s->plan->state_lock, LOCK_UN); /* a successor may come */
    print_linger_note(s);
    s->companion.last = true;
    while (!s->over && (now = clock_ms()) < until && !linger_is_over(lock) &&
           (s->companion.pid != 0 || s->companion.restart_ms != 0)) {
        companion_tick(&s->companion);
        save_death(s);
        wait_for_signal(s, until - now < LINGER_STEP_MS ? (int)(until - now)
                                                        : LINGER_STEP_MS);
    }
    return lock;
}

/* A root heapwired follows its user; reports whatever else separates them. */
static void
database_arrived(struct supervisor *s, uid_t uid, pid_t pid)
{
    const struct plan *plan = s->plan;
    uid_t owner = plan->user != (uid_t)-1 ? plan->user : geteuid();
    char why[512];

    if (owner == 0 && plan->user == (uid_t)-1)
        owner = uid;
    companion_send_database(&s->companion, uid, pid);
    if (state_dir_excludes(plan->state_dir, owner, uid, why, sizeof(why)))
        fprintf(stderr, "heapwire-run: %s\n", why);
}

/* The agent of a daemon's parent ends with it.  The daemon's own opens the
 * state directory by its name, which leads elsewhere after a chroot, and it may
 * have no stderr: so we say it. */
static void
note_other_root(struct supervisor *s)
{
    char root[ROOT_SHOWN], why[WHY_MAX];

    if (s->below || !process_has_other_root(s->database, root, sizeof(root)) ||
        agent_lock_is_held(s->plan->state_dir, NULL))
        return;
    s->below = true;
    snprintf(why, sizeof(why),
             "it became a daemon with another root directory (%s), below which "
             "the state directory is not found: run it in the foreground "
             "(haproxy -db)",
             root);
    fprintf(stderr, "heapwire-run: %s (pid %d) has no agent: %s\n",
            s->death.program, s->database, why);
    leave_reason_write(s->plan->state_dir, s->database, why);
}

/* A daemon may leave root, or its root directory, after its main, where nothing
 * reports it: its agent waits for the directory, and its stderr is closed. */
static int
follow_daemon(struct supervisor *s)
{
    uid_t uid;

    if (s->database == 0 || s->daemon_ms == 0 ||
        clock_ms() - s->daemon_ms >= DAEMON_MS)
        return -1;
    uid = process_user(s->database);
    if (uid != 0 && uid != (uid_t)-1 && uid != s->companion.uid)
        database_arrived(s, uid, s->database);
    note_other_root(s);
    return DAEMON_STEP_MS;
}

static int
sooner_ms(int a, int b)
{
    return a >= 0 && (b < 0 || a < b) ? a : b;
}

/* Returns milliseconds until the next step, or -1. */
static int
run_supervisor_tick(struct supervisor *s)
{
    struct start_watch *start = s->plan->start;
    pid_t heapwired = s->companion.pid;
    int companion = companion_tick(&s->companion);
    int due = start ? start_watch_tick(start) : -1;

    if (s->companion.pid != heapwired)
        own_kills_start(&s->kills, clock_ms(), count_kills(s));
    else
        own_kills_follow(&s->kills, clock_ms(), count_kills(s));
    notify_relay_pass(s->plan->notify);
    if (start && start_watch_arrived(start))
        database_arrived(s, start->uid, start->database);
    return sooner_ms(follow_daemon(s), sooner_ms(due, companion));
}

int
supervise(const struct plan *plan)
{
    struct supervisor s = {
        .plan = plan, .exit_status = NOT_RUNNABLE, .not_run = -1};
    int lock = -1;

    block_supervisor_signals(&s);
    milestone_socket_notify(plan->notify->fd);
    if (plan->start)
        milestone_socket_notify(plan->start->fd);
    /* Makes orphans of the database our children, whether we are PID 1 or not.
     */
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    if (plan->heapwired)
        deaths_reserve(plan->state_dir);
    companion_init(&s.companion, plan);
    companion_start(&s.companion);
    if (start_database(&s) == 0) {
        if (plan->no_agent)
            database_arrived(&s, process_user(s.database), s.database);
        while (s.database != 0)
            wait_for_signal(&s, run_supervisor_tick(&s));
        notify_relay_pass(plan->notify);
        if (is_to_linger(&s))
            lock = linger_after_database(&s);
    }
    companion_stop(&s.companion);
    s.save_ms = 0;
    save_death(&s);
    fd_close(lock);
    fd_close(s.companion.line);
    fd_close(s.not_run);
    return s.exit_status;
}
