/*
 * loop.c - see loop.h.
 *
 * An event that epoll reported may be of a source that has been closed since,
 * without the lock: so what a source is part of is freed by a task, which runs
 * after the events of a round.
 */
#include "loop.h"

#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include "clock.h"
#include "errors.h"
#include "files.h"
#include "thread.h"

/* Thread-local, so a thread reads them without the lock. */
/* this thread leads; a process has one loop */
static _Thread_local bool leads;
static _Thread_local bool lowered;    /* its priority, */
static _Thread_local int former_nice; /* from this */

/* ---- tasks ---- */

static void
tasks_init(struct loop_tasks *tasks)
{
    tasks->first = NULL;
    tasks->end = &tasks->first;
}

static void
tasks_remove(struct loop_tasks *tasks, struct loop_task *task)
{
    struct loop_task **at = &tasks->first;

    while (*at && *at != task)
        at = &(*at)->next;
    if (!*at)
        return;
    *at = task->next;
    if (tasks->end == &task->next)
        tasks->end = at;
}

void
loop_later(struct loop *loop, struct loop_task *task)
{
    if (task->queued)
        return;
    task->queued = true;
    task->next = NULL;
    *loop->later.end = task;
    loop->later.end = &task->next;
    if (!leads)
        loop_wake(loop); /* whoever leads may be waiting for events */
}

void
loop_cancel_task(struct loop *loop, struct loop_task *task)
{
    if (!task->queued)
        return;
    tasks_remove(&loop->later, task);
    tasks_remove(&loop->now, task);
    task->queued = false;
}

static void
run_task(struct loop *loop)
{
    struct loop_task *task = loop->now.first;

    tasks_remove(&loop->now, task);
    task->queued = false;
    task->run(task);
}

/* ---- sources ---- */

int
loop_watch(struct loop *loop, struct loop_source *source, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.ptr = source};
    /* The first registration adds the descriptor, 0 removes it. */
    int operation = source->events == 0 ? EPOLL_CTL_ADD
                    : events == 0       ? EPOLL_CTL_DEL
                                        : EPOLL_CTL_MOD;

    if (source->fd < 0 || source->events == events)
        return 0;
    if (epoll_ctl(loop->epoll, operation, source->fd, &event) != 0)
        return -1;
    source->events = events;
    return 0;
}

void
loop_close(struct loop *loop, struct loop_source *source)
{
    (void)loop_watch(loop, source, 0);
    fd_close(source->fd);
    source->fd = -1;
}

static void
handle_event(struct loop *loop)
{
    const struct epoll_event *event = &loop->ready[loop->ready_at++];
    struct loop_source *source = event->data.ptr;

    /* It may have been closed by an event of the same round. */
    if (source->fd >= 0 && source->events != 0)
        source->on_event(source, event->events);
}

static void
on_woken(struct loop_source *source, uint32_t events)
{
    struct loop *loop = (void *)((char *)source - offsetof(struct loop, wake));
    eventfd_t count;

    (void)events;
    (void)eventfd_read(source->fd, &count);
    loop->on_wake(loop->arg);
}

void
loop_wake(struct loop *loop)
{
    (void)eventfd_write(loop->wake.fd, 1);
}

/* ---- leading ---- */

void
loop_set_tick(struct loop *loop, uint64_t ms)
{
    if (loop->tick_ms == ms)
        return;
    loop->tick_ms = ms;
    loop->due_ms = ms ? clock_ms() + ms : 0;
    if (!leads)
        loop_wake(loop);
}

static int
wait_ms(const struct loop *loop)
{
    uint64_t now_ms = clock_ms();

    if (loop->later.first)
        return 0;
    if (loop->tick_ms == 0)
        return -1;
    return loop->due_ms > now_ms ? (int)(loop->due_ms - now_ms) : 0;
}

/* Waits for the events of a new round.  Tasks queued from now on belong to the
 * round after it, or one that queues itself would keep events from being
 * handled. */
static void
begin_round(struct loop *loop)
{
    int timeout_ms = wait_ms(loop), count;

    pthread_mutex_unlock(&loop->lock);
    count = epoll_wait(loop->epoll, loop->ready, LOOP_EVENTS, timeout_ms);
    pthread_mutex_lock(&loop->lock);
    loop->ready_at = 0;
    loop->ready_count = count > 0 ? count : 0;
    loop->now = loop->later;
    /* An empty list ends in its own head, so a copy would end in the other's.
     */
    if (!loop->now.first)
        tasks_init(&loop->now);
    tasks_init(&loop->later);
    loop->round_ms = clock_ms();
}

static void
run_loop_tick(struct loop *loop)
{
    loop->due_ms = loop->round_ms + loop->tick_ms;
    loop->on_tick(loop->arg);
}

/* Runs until this thread no longer leads.  Each event, task and tick may give
 * up the lead; whoever leads then continues with the next one of the round. */
static void
lead_event_loop(struct loop *loop)
{
    loop->led = leads = true;
    watchdog_begin(&loop->watchdog);
    while (leads && !loop->stop) {
        if (loop->ready_at < loop->ready_count)
            handle_event(loop);
        else if (loop->now.first)
            run_task(loop);
        else if (loop->tick_ms > 0 && loop->round_ms >= loop->due_ms)
            run_loop_tick(loop);
        else
            begin_round(loop);
        if (leads)
            watchdog_mark(&loop->watchdog, 0);
    }
    if (leads)
        loop->led = leads = false;
}

/* ---- the threads ---- */

/* On Linux the priority of a thread is set by PRIO_PROCESS and 0. */
void
loop_lower_priority(void)
{
    if (lowered)
        return;
    former_nice = getpriority(PRIO_PROCESS, 0);
    lowered =
        former_nice < LOOP_NICE && setpriority(PRIO_PROCESS, 0, LOOP_NICE) == 0;
}

/* False: the kernel does not allow it. */
static bool
raise_priority(void)
{
    lowered = lowered && setpriority(PRIO_PROCESS, 0, former_nice) != 0;
    return !lowered;
}

void
loop_restore_priority(void)
{
    (void)raise_priority();
}

/* False: this thread is one too many at rest, or the loop stops. */
static bool
wait_to_lead_loop(struct loop *loop)
{
    uint64_t until_ms = clock_ms() + LOOP_IDLE_MS;
    int rc = 0;

    while (loop->led && !loop->stop) {
        rc = clock_cond_wait(&loop->rest, &loop->lock, until_ms);
        if (rc == ETIMEDOUT && loop->led && loop->resting > 1)
            return false;
        if (rc == ETIMEDOUT)
            until_ms = clock_ms() + LOOP_IDLE_MS;
    }
    return !loop->stop;
}

/* Nobody can join itself, and waiting for all at the stop would keep the stacks
 * of many.  So each thread that ends joins the one that ended before it. */
static void
end_loop_thread(struct loop *loop)
{
    pthread_t before = loop->ended;
    bool joins = loop->has_ended;

    loop->ended = pthread_self();
    loop->has_ended = true;
    loop->threads--;
    pthread_cond_broadcast(&loop->rest); /* loop_stop() counts them */
    pthread_mutex_unlock(&loop->lock);
    if (joins)
        pthread_join(before, NULL);
}

/* Whoever starts the thread has already counted it as resting. */
static void *
thread_main(void *arg)
{
    struct loop *loop = arg;

    pthread_mutex_lock(&loop->lock);
    while (wait_to_lead_loop(loop)) {
        loop->resting--;
        lead_event_loop(loop);
        loop->resting++;
        if (!raise_priority())
            break;
    }
    loop->resting--;
    end_loop_thread(loop);
    return NULL;
}

static int
add_loop_thread(struct loop *loop, struct error *err)
{
    struct thread_start start = {"hw-loop", LOOP_STACK_BYTES, thread_main,
                                 loop};
    pthread_t thread;

    if (thread_start(&thread, &start, err) != 0)
        return -1;
    loop->threads++;
    loop->resting++;
    return 0;
}

int
loop_make_ready(struct loop *loop, struct error *err)
{
    struct error ignored;

    if (!leads || loop->resting > 0 || add_loop_thread(loop, &ignored) == 0)
        return 0;
    error_sys(err, ER_CANT_CREATE_THREAD,
              "Can't create a new thread (errno %d), and all of heapwired's "
              "wait for others; raise its limit of threads (ulimit -u, "
              "TasksMax), or try again later",
              errno);
    return -1;
}

void
loop_yield_lead(struct loop *loop)
{
    if (leads) {
        leads = loop->led = false;
        pthread_cond_signal(&loop->rest);
    }
    pthread_mutex_unlock(&loop->lock);
}

bool
loop_leads(void)
{
    return leads;
}

void
loop_lock(struct loop *loop)
{
    pthread_mutex_lock(&loop->lock);
}

void
loop_unlock(struct loop *loop)
{
    pthread_mutex_unlock(&loop->lock);
}

/* ---- start and stop ---- */

int
loop_init(struct loop *loop, struct error *err)
{
    memset(loop, 0, sizeof(*loop));
    tasks_init(&loop->later);
    tasks_init(&loop->now);
    loop->epoll = epoll_create1(EPOLL_CLOEXEC);
    loop->wake = (struct loop_source){
        .fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), .on_event = on_woken};
    pthread_mutex_init(&loop->lock, NULL);
    clock_cond_init(&loop->rest);
    if (loop->epoll >= 0 && loop->wake.fd >= 0 &&
        loop_watch(loop, &loop->wake, EPOLLIN) == 0)
        return 0;
    error_sys(err, ER_UNKNOWN, "cannot make an event loop");
    loop_fini(loop);
    return -1;
}

int
loop_start(struct loop *loop, struct error *err)
{
    int rc;

    pthread_mutex_lock(&loop->lock);
    rc = add_loop_thread(loop, err);
    if (rc == 0)
        rc = add_loop_thread(loop, err);
    pthread_mutex_unlock(&loop->lock);
    return rc;
}

void
loop_stop(struct loop *loop)
{
    pthread_mutex_lock(&loop->lock);
    loop->stop = true;
    pthread_cond_broadcast(&loop->rest);
    loop_wake(loop);
    while (loop->threads > 0)
        pthread_cond_wait(&loop->rest, &loop->lock);
    pthread_mutex_unlock(&loop->lock);
    if (loop->has_ended)
        pthread_join(loop->ended, NULL);
    loop->has_ended = false;
}

void
loop_fini(struct loop *loop)
{
    fd_close(loop->epoll);
    fd_close(loop->wake.fd);
    pthread_cond_destroy(&loop->rest);
    pthread_mutex_destroy(&loop->lock);
}
