/*
 * start.c - starts and ends the agent's thread, and forgets it in a forked
 * child.
 *
 * Three kinds of callers meet here: the preloaded library before main, programs
 * that link us (heapwire.h), and the host's own threads that change their ids
 * (suspend.c).  One word, own.busy, admits one of them at a time: a mutex could
 * be held for ever in a forked child, or by a thread that a signal handler
 * interrupts, so it is tried, or waited for a few seconds only.  Signals are
 * blocked meanwhile.  heapwire_start may run on a thread that heapwire-run has
 * borrowed: it uses little stack, and only tries the lock.
 */
#include "start.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "agent.h"
#include "agent_tools.h"
#include "heapwire.h"
#include "shared_fds.h"

enum {
    /* jemalloc dumps, and libgcc unwinds, on this stack. */
    STACK_BYTES = 512 * 1024,
    WAIT_MS = 2000,       /* for a thread that starts or is to end */
    UNSHARE_MS = 1000,    /* until it has a descriptor table of its own */
    PATIENCE_MS = 3000,   /* for own.busy */
    ALIKE_MS = 250,       /* where libc may change the thread, too */
    BACK_MS = 500,        /* for a thread that still ends */
    BUSY_MS = 5,          /* once waiting was in vain */
    DUMP_WAIT_MS = 10000, /* a dump of a huge heap takes seconds */
    UNLIKE_MS = 600000,   /* where libc would abort the host otherwise */
    GONE_STEPS = 100000   /* of sched_yield() */
};

static struct {
    _Atomic pid_t busy; /* pid while a thread is in one of these functions */
    pid_t pid;          /* the process whose thread must be joined; 0: none */
    pthread_t thread;
    _Atomic pid_t tid; /* the thread's */
    pid_t starter;     /* the process that started a thread last: others (as
                        * vfork's child) have none to suspend */
    int error;         /* errno of a thread that ended during its start */
    bool fork_handled;
    bool slow;    /* the thread was not suspended in time */
    bool late;    /* it had not ended at the last resume either */
    bool stopped; /* by heapwire_stop(): it does not come back */
    struct agent_start start;
} own;

static void *
run_agent_thread(void *arg)
{
    own.tid = (pid_t)syscall(SYS_gettid);
    own.error = serve_run(arg);
    phase_enter(PHASE_ENDED);
    return NULL;
}

/* ---- the thread ---- */

void
signal_guard_begin(struct signal_guard *guard)
{
    sigset_t all;

    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &guard->cancel);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &guard->mask);
}

void
signal_guard_end(const struct signal_guard *guard)
{
    int disabled;

    pthread_sigmask(SIG_SETMASK, &guard->mask, NULL);
    pthread_setcancelstate(guard->cancel, &disabled);
}

static int
start_thread(void)
{
    struct signal_guard guard;
    pthread_attr_t attr;
    int error;

    phase_reset();
    own.error = 0;
    own.slow = own.late = own.stopped = own.start.unfit = false;
    error = pthread_attr_init(&attr);
    if (error != 0)
        return error;
    pthread_attr_setstacksize(&attr, STACK_BYTES);
    signal_guard_begin(&guard); /* the thread inherits the mask */
    error = pthread_create(&own.thread, &attr, run_agent_thread, &own.start);
    signal_guard_end(&guard);
    pthread_attr_destroy(&attr);
    if (error == 0)
        own.starter = own.pid = getpid();
    return error;
}

/* For callers with no other thread of the host: waits until the thread has left
 * their descriptor table.  A host that closes all descriptors would otherwise
 * meet the thread's, and seccomp filters that it sets would come after the
 * thread has looked for them. */
static int
start_unshared_thread(void)
{
    int error = start_thread();

    if (error == 0)
        phase_await(PHASE_FDS_UNSHARED, UNSHARE_MS);
    return error;
}

/* 0 once the thread has ended. */
static int
join_agent_thread(uint32_t wait_ms)
{
    struct timespec until;
    int error;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += wait_ms / 1000;
    until.tv_nsec += wait_ms % 1000 * 1000000L;
    if (until.tv_nsec >= 1000000000L) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000L;
    }
    error = pthread_clockjoin_np(own.thread, NULL, CLOCK_MONOTONIC, &until);
    if (error == 0)
        own.pid = 0;
    return error;
}

/* Joins the thread if it has ended.  True: it still runs. */
static bool
join_or_find_running(void)
{
    return own.pid == getpid() &&
           (phase_now() != PHASE_ENDED ||
            join_agent_thread(own.slow ? BUSY_MS : WAIT_MS) != 0);
}

/* 0, or the errno of a thread that ended before it served. */
static int
wait_until_serving(void)
{
    int error = phase_await(PHASE_SERVING, WAIT_MS);

    if (error != 0)
        return error;
    return phase_now() == PHASE_ENDED ? own.error : 0;
}

/* ---- the interface ---- */

/* In a child only the forking thread exists. */
void
start_forked(void)
{
    shared_fds_close_all();
    handover_forget();
    access_forked();
    own.pid = 0;
}

static int
handle_forks(void (*on_fork)(void))
{
    int error = own.fork_handled ? 0 : pthread_atfork(NULL, NULL, on_fork);

    own.fork_handled = error == 0;
    return error;
}

int
start_take_environment(char *const *envp)
{
    return agent_settings_take_environment(own.start.settings, envp);
}

struct agent_start *
start_find_allocator(void)
{
    const char *settings = own.start.settings;

    jemalloc_find(&own.start.jemalloc, &own.start.named_jemalloc,
                  agent_settings_get(settings, AGENT_ENV_JEMALLOC),
                  agent_settings_get(settings, AGENT_ENV_ALLOCATOR));
    return &own.start;
}

int
start_early(void (*on_fork)(void))
{
    int error = handle_forks(on_fork);

    own.starter = getpid(); /* its children get its filters, too */
    return error != 0 || start_wants_child() ? error : start_unshared_thread();
}

bool
start_wants_child(void)
{
    const char *process =
        agent_settings_get(own.start.settings, AGENT_ENV_PROCESS);

    return process && strcmp(process, AGENT_PROCESS_PARENT) != 0;
}

int
start_in_child(pid_t elder, pid_t younger)
{
    own.start.silent = own.start.child = true;
    own.start.elders[0] = elder;
    own.start.elders[1] = younger;
    return start_unshared_thread();
}

static int
set_given_jemalloc(heapwire_mallctl *mallctl, const char *prefix)
{
    struct jemalloc_given *given = &own.start.named_jemalloc;
    const char *version = NULL;
    size_t i;

    if (join_or_find_running())
        return EALREADY;
    if (mallctl && (!prefix || strlen(prefix) >= JEMALLOC_PREFIX_MAX ||
                    mallctl_read(mallctl, "version", (void *)&version,
                                 sizeof(version)) != 0 ||
                    !version))
        return EINVAL;
    given->mallctl = mallctl;
    for (i = 0; mallctl && prefix[i]; i++)
        given->prefix[i] = prefix[i];
    given->prefix[i] = '\0';
    return 0;
}

/* Keeps our code loaded: if we are part of a plugin, its program may unload it
 * while threads are in our hooks. */
static void
stay_loaded(void)
{
    Dl_info found;

    if (dladdr(&own, &found) != 0)
        dlopen(found.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

static int
start_agent_with_settings(const char *settings)
{
    int error;

    if (join_or_find_running())
        return EALREADY;
    error = settings
                ? agent_settings_take_lines(own.start.settings, settings)
                : agent_settings_take_environment(own.start.settings, environ);
    if (error == 0)
        error = launcher_check(own.start.settings);
    if (error == 0)
        error = handle_forks(start_forked);
    stay_loaded();
    own.start.silent = own.start.late = true;
    own.start.child = false;
    own.start.elders[0] = own.start.elders[1] = 0;
    if (error == 0)
        error = start_thread();
    if (error == 0) {
        error = wait_until_serving();
        (void)join_or_find_running();
    }
    return error;
}

static int
stop_agent_thread(bool handover, uint32_t wait_ms)
{
    if (!join_or_find_running())
        return 0;
    phase_stop(handover);
    /* By pthread_t, not by thread id: another thread may have that id by now,
     * and the signal would kill the program. */
    pthread_kill(own.thread, PHASE_WAKE);
    return join_agent_thread(wait_ms);
}

/* Drops the state of a suspended thread, where none exists or will follow. */
static void
drop_suspended_state(void)
{
    serve_abandon_left();
    handover_close();
}

/* False: another thread of this process is in one of these functions.  A child
 * that inherited own.busy takes it over: that thread does not exist there. */
static bool
enter_function(struct signal_guard *guard)
{
    pid_t self = getpid(), there;

    signal_guard_begin(guard);
    there = own.busy;
    if (there != self &&
        atomic_compare_exchange_strong(&own.busy, &there, self))
        return true;
    signal_guard_end(guard);
    return false;
}

static int
leave_function(const struct signal_guard *guard, int error)
{
    own.busy = 0;
    signal_guard_end(guard);
    return error;
}

/* ---- out of the way ---- */

bool
start_may_suspend(void)
{
    return own.starter == getpid() && (pid_t)syscall(SYS_gettid) != own.tid;
}

void
start_no_new_privs(void)
{
    own.start.no_new_privs = true;
}

bool
start_has_callers_rights(void)
{
    return own.pid == getpid() &&
           host_privileges_equal((pid_t)syscall(SYS_gettid), own.tid);
}

/* Waits until the kernel has removed the thread: who joins it is woken a little
 * earlier, and until then unshare(), for one, still counts it. */
static void
wait_until_gone(pid_t tid)
{
    for (int i = 0; i < GONE_STEPS; i++) {
        if (syscall(SYS_tgkill, getpid(), tid, 0) != 0)
            return;
        sched_yield();
    }
}

/* Waits for own.busy.  False: the thread that has it was stopped in there. */
static bool
enter_patiently(struct signal_guard *guard)
{
    const struct timespec step = {.tv_nsec = 1000000};
    int64_t until_ms = agent_monotonic_ms() + PATIENCE_MS;

    while (!enter_function(guard)) {
        if (agent_monotonic_ms() >= until_ms)
            return false;
        nanosleep(&step, NULL);
    }
    return true;
}

/* Ends the thread, and waits for it as long as the host's change needs.  Where
 * libc would abort the host, as our thread may not do what the host's may:
 * until it has ended.  Where libc may change it, too: a moment.  Where only the
 * calling thread changes: for one dump, once.  A signal handler may have
 * interrupted malloc, whose lock our thread needs to end: then what it
 * interrupted must go on first, so the wait is limited. */
static bool
stop_for_handover(bool alone)
{
    /* one that is starting may need the present root directory */
    uint32_t first_ms = phase_now() < PHASE_SERVING ? WAIT_MS : ALIKE_MS;
    uint32_t more_ms = UNLIKE_MS;

    if (stop_agent_thread(!own.stopped, own.slow ? BUSY_MS : first_ms) == 0)
        return true;
    if (alone)
        more_ms = own.slow ? BACK_MS : DUMP_WAIT_MS;
    else if (start_has_callers_rights())
        more_ms = 0;
    own.slow = true;
    return more_ms != 0 && join_agent_thread(more_ms) == 0;
}

bool
start_suspend_agent(bool alone)
{
    struct signal_guard guard;
    bool here;

    if (!enter_patiently(&guard))
        return false;
    here = join_or_find_running();
    if (here) {
        /* Other children of the database wait for the lock. */
        handover_open(
            own.start.child && !shared_fds_is_recording()
                ? agent_settings_get(own.start.settings, AGENT_ENV_STATE)
                : NULL);
        if (stop_for_handover(alone))
            wait_until_gone(own.tid); /* joined: it wrote its id */
    }
    leave_function(&guard, 0);
    return here && !own.stopped;
}

bool
start_leave(bool all_threads)
{
    struct signal_guard guard;
    bool here;

    if (!enter_patiently(&guard))
        return false;
    here = join_or_find_running();
    own.start.unfit = true;
    if (!here && start_wants_child() && !own.start.child)
        serve_write_unfit_reason(&own.start);
    /* it may already be suspended for another thread's change */
    if (!here || stop_agent_thread(false, DUMP_WAIT_MS) == 0 ||
        (all_threads && join_agent_thread(UNLIKE_MS) == 0))
        drop_suspended_state();
    leave_function(&guard, 0);
    return here && !own.stopped;
}

void
start_refuse(unsigned calls)
{
    own.start.refused |= calls;
}

bool
start_resume_agent(void)
{
    struct signal_guard guard;
    bool back = false;

    if (!enter_patiently(&guard))
        return false;
    /* one that still dumps may stay, unless it has seen that it must go */
    if (!own.stopped && own.pid == getpid() && phase_now() != PHASE_ENDED &&
        phase_stay()) {
        back = true;
        own.start.unfit = false;
        handover_close();
    } else if (own.pid != getpid() ||
               join_agent_thread(own.late ? BUSY_MS : BACK_MS) == 0) {
        back = true;
        if (own.stopped || start_unshared_thread() != 0)
            serve_abandon_left();
        handover_close();
    }
    own.late = !back;
    leave_function(&guard, 0);
    return back;
}

int
heapwire_use(heapwire_mallctl *mallctl, const char *prefix)
{
    struct signal_guard guard;

    return enter_function(&guard)
               ? leave_function(&guard, set_given_jemalloc(mallctl, prefix))
               : EAGAIN;
}

int
heapwire_start(const char *settings)
{
    struct signal_guard guard;

    return enter_function(&guard)
               ? leave_function(&guard, start_agent_with_settings(settings))
               : EAGAIN;
}

int
heapwire_stop(void)
{
    struct signal_guard guard;
    int error;

    if (!enter_function(&guard))
        return EAGAIN;
    own.stopped = true;
    error = stop_agent_thread(false, WAIT_MS);
    if (error == 0)
        drop_suspended_state();
    return leave_function(&guard, error);
}
