/*
 * start.c - starts and ends the agent's thread, and forgets it in a forked
 * child.
 *
 * heapwire_start may run on a thread that heapwire-run has borrowed: it uses
 * little stack, and only tries its one lock.
 */
#include "start.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "agent.h"
#include "agent_settings.h"
#include "beside.h"
#include "heapwire.h"
#include "phase.h"
#include "serve.h"
#include "shared_fds.h"

enum {
    /* jemalloc dumps, and libgcc unwinds, on this stack. */
    STACK_BYTES = 512 * 1024,
    WAIT_MS = 2000,
    APART_MS = 1000
};

static struct {
    _Atomic pid_t busy; /* pid while a thread is in one of these functions */
    pid_t pid;          /* the process that must join thread */
    pthread_t thread;
    int error; /* errno of a thread that ended during its start */
    bool fork_handled;
    struct agent_start start;
} own;

static void *
run(void *arg)
{
    own.error = serve_run(arg);
    phase_enter(PHASE_ENDED);
    return NULL;
}

/* ---- the thread ---- */

static int
start_thread(void)
{
    pthread_attr_t attr;
    sigset_t all, old;
    int error;

    phase_reset();
    own.error = 0;
    error = pthread_attr_init(&attr);
    if (error != 0)
        return error;
    pthread_attr_setstacksize(&attr, STACK_BYTES);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    error = pthread_create(&own.thread, &attr, run, &own.start);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    pthread_attr_destroy(&attr);
    if (error == 0)
        own.pid = getpid();
    return error;
}

/* Where no other thread of the host runs: it begins, or goes on, once the
 * thread has left its descriptor table.  A host that closes all descriptors
 * would otherwise meet the thread's, and seccomp filters that it sets would
 * come after the thread has looked for them. */
static int
start_apart(void)
{
    int error = start_thread();

    if (error == 0)
        phase_await(PHASE_APART, APART_MS);
    return error;
}

static struct timespec
deadline(void)
{
    struct timespec at;

    clock_gettime(CLOCK_MONOTONIC, &at);
    at.tv_sec += WAIT_MS / 1000;
    return at;
}

/* 0 once the thread has ended. */
static int
join(void)
{
    struct timespec until = deadline();
    int error = pthread_clockjoin_np(own.thread, NULL, CLOCK_MONOTONIC, &until);

    if (error == 0)
        own.pid = 0;
    return error;
}

static bool
running(void)
{
    return own.pid == getpid() && (phase_now() != PHASE_ENDED || join() != 0);
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

/* Only the forking thread exists in a child. */
void
start_forked(void)
{
    shared_fds_close_all();
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
start_look_early(void)
{
    const char *settings = own.start.settings;

    jemalloc_find(&own.start.jemalloc, &own.start.given,
                  agent_settings_get(settings, AGENT_ENV_JEMALLOC),
                  agent_settings_get(settings, AGENT_ENV_ALLOCATOR));
    return &own.start;
}

int
start_early(void (*on_fork)(void))
{
    int error = handle_forks(on_fork);

    return error != 0 || start_wants_child() ? error : start_apart();
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
    return start_apart();
}

static int
use(heapwire_mallctl *mallctl, const char *prefix)
{
    struct jemalloc_given *given = &own.start.given;
    const char *version = NULL;
    size_t i;

    if (running())
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

static int
start(const char *settings)
{
    int error;

    if (running())
        return EALREADY;
    error = settings
                ? agent_settings_take_lines(own.start.settings, settings)
                : agent_settings_take_environment(own.start.settings, environ);
    if (error == 0)
        error = beside_check(own.start.settings);
    if (error == 0)
        error = handle_forks(start_forked);
    own.start.silent = own.start.late = true;
    own.start.child = false;
    if (error == 0)
        error = start_thread();
    if (error == 0) {
        error = wait_until_serving();
        running(); /* joins one that has ended */
    }
    return error;
}

static int
stop(void)
{
    if (!running())
        return 0;
    phase_stop();
    /* Not by thread id: another thread may have it by now, and the signal would
     * kill the program. */
    pthread_kill(own.thread, PHASE_WAKE);
    return join();
}

/* In a forked child the parent's thread does not exist. */
static bool
enter_function(void)
{
    pid_t self = getpid(), there = own.busy;

    return there != self &&
           atomic_compare_exchange_strong(&own.busy, &there, self);
}

static int
leave_function(int error)
{
    own.busy = 0;
    return error;
}

int
heapwire_use(heapwire_mallctl *mallctl, const char *prefix)
{
    return enter_function() ? leave_function(use(mallctl, prefix)) : EAGAIN;
}

int
heapwire_start(const char *settings)
{
    return enter_function() ? leave_function(start(settings)) : EAGAIN;
}

int
heapwire_stop(void)
{
    return enter_function() ? leave_function(stop()) : EAGAIN;
}
