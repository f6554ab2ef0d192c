/*
 * start.c - the agent's thread: started, ended, forgotten in a fork's child.
 *
 * heapwire_start may run on a thread that somebody borrowed: a small stack, and
 * no lock but one that is only tried.
 */
#include "start.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "beside.h"
#include "fork.h"
#include "heapwire.h"

enum { WAIT_MS = 2000 };

enum phase { STARTING, SERVING, ENDED };

static struct {
    _Atomic pid_t busy; /* a thread of this process is in a function */
    pid_t pid;          /* of the process that has thread, to be joined */
    pthread_t thread;
    _Atomic uint32_t phase; /* enum phase, and a futex */
    int error;              /* why it ended while it was starting */
    atomic_bool stop;
    bool fork_handled;
    struct agent_start start;
} own;

/* ---- what the thread says ---- */

static void
enter(enum phase phase)
{
    own.phase = phase;
    syscall(SYS_futex, &own.phase, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

void
agent_started(void)
{
    enter(SERVING);
}

bool
agent_stopping(void)
{
    return own.stop;
}

static void *
run(void *arg)
{
    own.error = agent_serve(arg);
    enter(ENDED);
    return NULL;
}

/* ---- the thread ---- */

static int
start_thread(void)
{
    pthread_attr_t attr;
    sigset_t all, old;
    int error;

    own.phase = STARTING;
    own.stop = false;
    own.error = 0;
    error = pthread_attr_init(&attr);
    if (error != 0)
        return error;
    pthread_attr_setstacksize(&attr, AGENT_STACK_BYTES);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    error = pthread_create(&own.thread, &attr, run, &own.start);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    pthread_attr_destroy(&attr);
    if (error == 0)
        own.pid = getpid();
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

/* 0 once the thread is no more. */
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
    return own.pid == getpid() && (own.phase != ENDED || join() != 0);
}

/* 0, or why it ended before it served. */
static int
wait_until_serving(void)
{
    const struct timespec step = {.tv_sec = WAIT_MS / 1000};
    int64_t until_ms = agent_monotonic_ms() + WAIT_MS;

    while (own.phase == STARTING) {
        if (agent_monotonic_ms() >= until_ms)
            return ETIMEDOUT;
        syscall(SYS_futex, &own.phase, FUTEX_WAIT_PRIVATE, STARTING, &step,
                NULL, 0);
    }
    return own.phase == ENDED ? own.error : 0;
}

/* ---- settings ---- */

static bool
is_ours(const char *text)
{
    return strncmp(text, AGENT_ENV_PREFIX, sizeof(AGENT_ENV_PREFIX) - 1) == 0;
}

/* The value of the first of that name, from here on. */
static const char *
find_setting(const char *at, const char *name)
{
    size_t size = strlen(name);

    for (; *at; at += strlen(at) + 1) {
        if (strncmp(at, name, size) == 0 && at[size] == '=')
            return at + size + 1;
    }
    return NULL;
}

const char *
agent_setting(const struct agent_start *start, const char *name)
{
    return find_setting(start->settings, name);
}

const char *
agent_next_setting(const char *value, const char *name)
{
    return find_setting(value + strlen(value) + 1, name);
}

/* One more setting of that length; room is left for the NUL that ends all. */
static int
append(size_t *used, const char *text, size_t size)
{
    char *settings = own.start.settings;

    if (size + 2 > sizeof(own.start.settings) - *used)
        return E2BIG;
    memcpy(settings + *used, text, size);
    settings[*used + size] = '\0';
    *used += size + 1;
    settings[*used] = '\0';
    return 0;
}

static int
check_directory(void)
{
    const char *dir = agent_setting(&own.start, AGENT_ENV_STATE);

    return dir && dir[0] == '/' && strlen(dir) < AGENT_PATH_MAX ? 0 : EINVAL;
}

static int
take_lines(const char *line)
{
    size_t used = 0;
    int error = 0;

    own.start.settings[0] = '\0';
    while (*line && error == 0) {
        size_t size = strcspn(line, "\n");

        if (size > 0) {
            if (!is_ours(line) || !memchr(line, '=', size))
                return EINVAL;
            error = append(&used, line, size);
        }
        line += size + (line[size] == '\n');
    }
    return error != 0 ? error : check_directory();
}

int
agent_take_environment(char *const *envp)
{
    size_t used = 0;
    int error = 0;

    own.start.settings[0] = '\0';
    for (; envp && *envp && error == 0; envp++) {
        if (is_ours(*envp))
            error = append(&used, *envp, strlen(*envp));
    }
    return error != 0 ? error : check_directory();
}

/* ---- the interface ---- */

/* A child has no thread but the one that forked. */
void
agent_forked(void)
{
    agent_shared_close_all();
    own.pid = 0;
}

static int
handle_forks(void (*on_fork)(void))
{
    int error = own.fork_handled ? 0 : pthread_atfork(NULL, NULL, on_fork);

    own.fork_handled = error == 0;
    return error;
}

struct agent_start *
agent_look_early(void)
{
    agent_find_jemalloc(&own.start, &own.start.jemalloc);
    return &own.start;
}

int
agent_start_early(void (*on_fork)(void))
{
    int error = handle_forks(on_fork);

    return error != 0 || agent_wants_child() ? error : start_thread();
}

bool
agent_wants_child(void)
{
    const char *process = agent_setting(&own.start, AGENT_ENV_PROCESS);

    return process && strcmp(process, AGENT_PROCESS_PARENT) != 0;
}

int
agent_start_in_child(void)
{
    own.start.silent = own.start.child = true;
    return start_thread();
}

void
agent_find_jemalloc(const struct agent_start *start, struct jemalloc *jemalloc)
{
    if (start->given.mallctl)
        jemalloc_use(jemalloc, &start->given);
    else
        jemalloc_find(jemalloc, agent_setting(start, AGENT_ENV_JEMALLOC),
                      agent_setting(start, AGENT_ENV_ALLOCATOR));
    if (jemalloc_status(jemalloc) == AGENT_OK)
        fork_watch(jemalloc->mallctl);
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
                    jemalloc_read(mallctl, "version", (void *)&version,
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
    error = settings ? take_lines(settings) : agent_take_environment(environ);
    if (error == 0)
        error = beside_check(&own.start);
    if (error == 0)
        error = handle_forks(agent_forked);
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
    own.stop = true;
    /* Not by its number: that may be another thread's by now, which the signal
     * would end, and the program with it. */
    pthread_kill(own.thread, AGENT_WAKE);
    return join();
}

/* In a fork's child its parent's is no more. */
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
