/*
 * fanout.c - see fanout.h.
 *
 * The loop appends blocks of rows and ends to a list; the statement takes them
 * off.  The other way go bits (todo): begin, resume, leave.  An end is part of
 * its task, so that it can be reported without memory.  When PEER_UNREAD_MAX
 * bytes wait, links stop reading until the statement has taken half: TCP then
 * stops the nodes.  A fan-out with its tasks and its text is one allocation;
 * its two owners, statement and loop, each let go of it, and the last one frees
 * it.
 */
#include "fanout.h"

#include <inttypes.h>
#include <string.h>

#include "clock.h"
#include "memory.h"

static void begin_more(struct peer_fanout *f);
static void end_task(struct fanout_task *task, const struct error *error);

/* ---- any thread: what both owners hold ---- */

static void
destroy_fanout(struct peer_fanout *f)
{
    struct fanout_item *item;

    while ((item = f->first)) {
        f->first = item->next;
        if (item->block) {
            mem_free(item->block);
            mem_free(item);
        }
    }
    for (size_t i = 0; i < f->request.id_count; i++)
        mem_free(f->tasks[i].end.text);
    mem_free(f);
}

/* Lets go of the fan-out for one of its owners. */
static void
release_fanout(struct peer_fanout *f)
{
    bool last;

    pthread_mutex_lock(f->home->lock);
    last = --f->holders == 0;
    pthread_mutex_unlock(f->home->lock);
    if (last)
        destroy_fanout(f);
}

/* Called under the lock.  Wakes the loop once, however much there is to do. */
static void
notify_fanout_loop(struct peer_fanout *f, unsigned todo)
{
    struct fanout_home *home = f->home;

    if (f->settled || home->stopped)
        return;
    f->todo |= todo;
    if (f->is_due)
        return;
    f->is_due = true;
    f->next_due = home->due;
    home->due = f;
    home->wake(home);
}

static size_t
fanout_alloc_size(const struct peer_request *request)
{
    return sizeof(struct peer_fanout) +
           request->id_count * (sizeof(struct fanout_task) + sizeof(uint64_t)) +
           request->text.size;
}

static void
copy_request(struct peer_fanout *f, const struct peer_request *request)
{
    size_t count = request->id_count;
    uint64_t *ids = (uint64_t *)&f->tasks[count];
    char *text = (char *)&ids[count];

    f->request = *request;
    f->caller = *request->caller;
    memcpy(ids, request->ids, count * sizeof(*ids));
    memcpy(text, request->text.data, request->text.size);
    f->request.ids = ids;
    f->request.text = (struct span){text, request->text.size};
    f->request.caller = &f->caller;
    /* Nodes older than that privilege refuse callers who have it. */
    if (!request->stops)
        f->caller.privileges &= ~(uint32_t)PRIVILEGE_TUNE;
}

struct peer_fanout *
fanout_ask(struct fanout_home *home, const struct peer_request *request,
           struct error *err)
{
    struct peer_fanout *f = NULL;
    bool stopped;

    if (request->id_count == 0 || request->id_count > PEERS_MAX ||
        request->column_count == 0 ||
        request->column_count > PEER_COLUMNS_MAX ||
        request->text.size > FANOUT_TEXT_MAX) {
        error_set(err, ER_UNKNOWN,
                  "%zu nodes, %zu columns and %zu bytes of text are not a "
                  "valid question to nodes",
                  request->id_count, request->column_count, request->text.size);
        return NULL;
    }
    f = mem_zalloc(1, fanout_alloc_size(request));
    if (!f) {
        error_memory(err, "a question to other nodes");
        return NULL;
    }
    copy_request(f, request);
    f->home = home;
    f->asked_ns = uv_hrtime();
    f->deadline_ms = clock_ms() + request->timeout_ms;
    f->to_take = request->id_count;
    f->holders = 2;
    for (size_t i = 0; i < request->id_count; i++) {
        f->tasks[i].fanout = f;
        f->tasks[i].end.task = &f->tasks[i];
    }
    pthread_mutex_lock(home->lock);
    stopped = home->stopped;
    notify_fanout_loop(f, FANOUT_BEGIN);
    pthread_mutex_unlock(home->lock);
    if (!stopped)
        return f;
    error_set(err, ER_SHUTDOWN, "Server shutdown in progress");
    destroy_fanout(f);
    return NULL;
}

static void
read_end(const struct fanout_end *end, struct peer_end *out)
{
    memset(out, 0, sizeof(*out));
    out->id_index = (size_t)(end->task - end->task->fanout->tasks);
    out->truncated = end->truncated;
    out->elapsed_us = end->elapsed_us;
    if (end->code == 0)
        return;
    error_set(&out->error, (enum error_code)end->code, "%s",
              end->text ? end->text : "failed, and no memory to say why");
}

/* The cells' spans count, too. */
static size_t
block_memory_bytes(const struct peer_fanout *f, const struct peer_block *block)
{
    return block->bytes +
           block->row_count * f->request.column_count * sizeof(struct span);
}

enum peer_event
fanout_take(struct peer_fanout *f, struct peer_block **block,
            struct peer_end *end)
{
    struct fanout_item *item;
    enum peer_event event = PEER_NOTHING_YET;

    pthread_mutex_lock(f->home->lock);
    item = f->first;
    if (item) {
        f->first = item->next;
        if (!f->first)
            f->last = NULL;
        if (item->block)
            f->unread -= block_memory_bytes(f, item->block);
        else
            f->to_take--;
        /* Half, so that it does not stop and go with each block. */
        if (f->full && f->unread <= PEER_UNREAD_MAX / 2)
            notify_fanout_loop(f, FANOUT_RESUME);
    } else if (f->to_take == 0) {
        event = PEER_ALL_ENDED;
    }
    pthread_mutex_unlock(f->home->lock);
    if (!item)
        return event;
    if (!item->block) {
        read_end((struct fanout_end *)item, end);
        return PEER_END;
    }
    *block = item->block;
    mem_free(item);
    return PEER_BLOCK;
}

void
fanout_release(struct peer_fanout *f)
{
    if (!f)
        return;
    pthread_mutex_lock(f->home->lock);
    f->released = true;
    notify_fanout_loop(f, FANOUT_LEAVE);
    pthread_mutex_unlock(f->home->lock);
    release_fanout(f);
}

/* The loop: what comes */

static void
push_fanout_item(struct peer_fanout *f, struct fanout_item *item)
{
    pthread_mutex_lock(f->home->lock);
    item->next = NULL;
    if (f->last)
        f->last->next = item;
    else
        f->first = item;
    f->last = item;
    if (item->block) {
        f->unread += block_memory_bytes(f, item->block);
        if (f->unread >= PEER_UNREAD_MAX)
            /* until it is resumed: links may have paused before */
            f->full = true;
    }
    /* Under the lock, so no wake comes after the release. */
    if (!f->released)
        f->request.waker.wake(f->request.waker.arg);
    pthread_mutex_unlock(f->home->lock);
}

/* -1: no memory, and the gathered rows are lost. */
static int
push_gathered_block(struct fanout_task *task)
{
    struct peer_fanout *f = task->fanout;
    struct fanout_item *item;
    struct peer_block *block;

    if (peer_gather_take(&f->home->gather, &block) != 0)
        return -1;
    if (!block)
        return 0;
    item = mem_zalloc(1, sizeof(*item));
    if (!item) {
        mem_free(block);
        return -1;
    }
    block->id_index = (size_t)(task - f->tasks);
    item->block = block;
    push_fanout_item(f, item);
    return 0;
}

/* The loop: how it ends */

static void
on_fanout_handle_closed(uv_handle_t *handle)
{
    struct peer_fanout *f = handle->data;
    struct fanout_home *home = f->home;

    if (--f->handles > 0)
        return;
    if (f->previous)
        f->previous->next = f->next;
    else
        home->running = f->next;
    if (f->next)
        f->next->previous = f->previous;
    pthread_mutex_lock(home->lock);
    f->settled = true;
    for (struct peer_fanout **at = &home->due; f->is_due && *at;
         at = &(*at)->next_due)
        if (*at == f) {
            *at = f->next_due;
            break;
        }
    pthread_mutex_unlock(home->lock);
    release_fanout(f);
}

static void
settle_if_done(struct peer_fanout *f)
{
    if (f->ended < f->request.id_count ||
        uv_is_closing((uv_handle_t *)&f->deadline))
        return;
    uv_close((uv_handle_t *)&f->deadline, on_fanout_handle_closed);
    uv_close((uv_handle_t *)&f->jitter, on_fanout_handle_closed);
}

/* A script that tunes stops at the first failure: nodes not yet asked are not.
 */
static void
spare_others(const struct fanout_task *failed)
{
    struct peer_fanout *f = failed->fanout;
    struct error error;

    if (f->leaving)
        return;
    f->leaving = true;
    error_set(&error, ER_UNKNOWN,
              "not asked: node %" PRIu64 " failed before, and a script that "
              "tunes goes from node to node and stops there",
              f->request.ids[failed - f->tasks]);
    for (size_t i = f->begun; i < f->request.id_count; i++)
        end_task(&f->tasks[i], &error);
}

/* Ends a node's part; error code 0: it has answered. */
static void
end_task(struct fanout_task *task, const struct error *error)
{
    struct peer_fanout *f = task->fanout;
    struct fanout_end *end = &task->end;
    struct error none;

    if (task->ended)
        return;
    /* The rows before the end come first. */
    if (push_gathered_block(task) != 0) {
        error_memory(&none, "the answer");
        error = &none;
    }
    task->ended = true;
    f->ended++;
    if (task->begun) {
        f->running--;
        end->elapsed_us = (uv_hrtime() - task->begun_ns) / 1000;
    }
    end->code = error->code;
    end->truncated = task->cut;
    if (error->code != 0)
        end->text = mem_strdup(error->text);
    push_fanout_item(f, &end->item);
    if (error->code != 0 && f->request.stops)
        spare_others(task);
    begin_more(f);
    settle_if_done(f);
}

/* late: the time is over, which says something about the nodes. */
static void
cancel_fanout_tasks(struct peer_fanout *f, const struct error *why, bool late)
{
    f->leaving = true;
    /* The last ones first: those that wait for a link must not get one from
     * those that have one. */
    for (size_t i = f->request.id_count; i-- > 0;) {
        if (f->tasks[i].ended)
            continue;
        if (f->tasks[i].begun)
            peer_call_cancel(&f->tasks[i].call, late ? why : NULL);
        end_task(&f->tasks[i], why);
    }
}

static void
on_deadline(uv_timer_t *timer)
{
    struct peer_fanout *f = timer->data;
    struct error error;

    peer_failure_timeout(&error, f->request.timeout_ms);
    cancel_fanout_tasks(f, &error, true);
}

/* The loop: calls */

static bool
can_fanout_task_take_row(void *arg)
{
    struct fanout_task *task = arg;

    return !task->fanout->full;
}

static void
stop_early(struct fanout_task *task, const struct error *error)
{
    struct error none;

    if (push_gathered_block(task) != 0) {
        error_memory(&none, "the answer");
        error = &none;
    }
    /* The node did answer: that we have enough is not its fault. */
    peer_note(task->call.peer, task->call.link, NULL);
    peer_call_cancel(&task->call, NULL);
    end_task(task, error);
}

static void
on_fanout_task_row(void *arg, const struct span *cells)
{
    static const struct error none;
    struct fanout_task *task = arg;
    struct peer_fanout *f = task->fanout;
    struct error error;
    size_t size = 0;

    for (size_t i = 0; i < f->request.column_count; i++)
        size += cells[i].size;
    if (size > f->request.node_bytes_max - task->bytes ||
        size > f->request.bytes_max - f->bytes) {
        task->cut = true;
        stop_early(task, &none);
        return;
    }
    task->bytes += size;
    f->bytes += size;
    peer_gather_add(&f->home->gather, cells, f->request.column_count);
    if (peer_gather_full(&f->home->gather) && push_gathered_block(task) != 0) {
        error_memory(&error, "the answer");
        stop_early(task, &error);
    }
}

static void
on_fanout_task_idle(void *arg)
{
    struct fanout_task *task = arg;
    struct error error;

    if (push_gathered_block(task) != 0) {
        error_memory(&error, "the answer");
        stop_early(task, &error);
    }
}

static void
on_fanout_task_ended(void *arg, const struct error *error)
{
    end_task(arg, error);
}

static const struct peer_call_events events = {.wants =
                                                   can_fanout_task_take_row,
                                               .row = on_fanout_task_row,
                                               .quiet = on_fanout_task_idle,
                                               .ended = on_fanout_task_ended};

static void
begin_task(struct peer_fanout *f)
{
    struct fanout_task *task = &f->tasks[f->begun];
    uint64_t id = f->request.ids[f->begun];
    struct peer *peer = f->home->find(f->home, id);
    struct error error;

    f->begun++;
    if (!peer) {
        error_set(&error, ER_KEY_NOT_FOUND, PEER_NOT_FOUND);
        end_task(task, &error);
        return;
    }
    task->begun = true;
    task->begun_ns = uv_hrtime();
    f->running++;
    peer_call_start(&task->call, peer, &f->request, f->deadline_ms, &events,
                    task);
}

/* Spreads nodes and clients that would begin at the same moment (xorshift64).
 */
static uint64_t
random_jitter_ms(struct fanout_home *home)
{
    home->seed ^= home->seed << 13;
    home->seed ^= home->seed >> 7;
    home->seed ^= home->seed << 17;
    return home->seed % (FANOUT_JITTER_MS + 1);
}

static void
on_jitter(uv_timer_t *timer)
{
    struct peer_fanout *f = timer->data;

    if (!f->leaving)
        begin_task(f);
    begin_more(f);
}

/* Each link holds the text in hexadecimal, so long texts go to few nodes at
 * once. */
static size_t
at_once(const struct peer_fanout *f)
{
    size_t sent = 2 * f->request.text.size + 1;

    return sent < FANOUT_SENT_MAX ? FANOUT_SENT_MAX / sent : 1;
}

static void
begin_more(struct peer_fanout *f)
{
    if (f->leaving || f->beginning || f->begun == f->request.id_count)
        return;
    if (f->request.parallel > 0) {
        if (f->running < f->request.parallel &&
            !uv_is_active((uv_handle_t *)&f->jitter))
            uv_timer_start(&f->jitter, on_jitter, random_jitter_ms(f->home), 0);
        return;
    }
    /* begin_task() may end a task, which calls this again */
    f->beginning = true;
    while (f->begun < f->request.id_count && !f->leaving &&
           f->running < at_once(f))
        begin_task(f);
    f->beginning = false;
}

/* The loop: what the others want */

static void
start_fanout(struct peer_fanout *f)
{
    struct fanout_home *home = f->home;
    uint64_t now = clock_ms();

    uv_timer_init(home->loop, &f->deadline);
    uv_timer_init(home->loop, &f->jitter);
    f->deadline.data = f->jitter.data = f;
    f->handles = 2;
    f->next = home->running;
    if (f->next)
        f->next->previous = f;
    home->running = f;
    uv_timer_start(&f->deadline, on_deadline,
                   f->deadline_ms > now ? f->deadline_ms - now : 0, 0);
    begin_more(f);
}

static void
resume_fanout_calls(struct peer_fanout *f)
{
    pthread_mutex_lock(f->home->lock);
    f->full = f->unread >= PEER_UNREAD_MAX;
    pthread_mutex_unlock(f->home->lock);
    for (size_t i = 0; !f->full && i < f->begun; i++)
        if (f->tasks[i].begun && !f->tasks[i].ended)
            peer_call_resume(&f->tasks[i].call);
}

static struct peer_fanout *
take_due_fanout(struct fanout_home *home, unsigned *todo)
{
    struct peer_fanout *f;

    pthread_mutex_lock(home->lock);
    f = home->due;
    if (f) {
        home->due = f->next_due;
        f->is_due = false;
        *todo = f->todo;
        f->todo = 0;
    }
    pthread_mutex_unlock(home->lock);
    return f;
}

void
fanout_work(struct fanout_home *home)
{
    struct error error;
    struct peer_fanout *f;
    unsigned todo;

    while ((f = take_due_fanout(home, &todo))) {
        /* First, so that a fan-out which was given up at once asks nobody; but
         * its timers must have begun before it can be settled. */
        if (todo & FANOUT_LEAVE)
            f->leaving = true;
        if (todo & FANOUT_BEGIN)
            start_fanout(f);
        if (todo & FANOUT_RESUME)
            resume_fanout_calls(f);
        if (todo & FANOUT_LEAVE) {
            error_set(&error, ER_QUERY_INTERRUPTED, "interrupted");
            cancel_fanout_tasks(f, &error, false);
        }
    }
}

void
fanout_stop(struct fanout_home *home, const struct error *why)
{
    pthread_mutex_lock(home->lock);
    home->stopped = true;
    pthread_mutex_unlock(home->lock);
    fanout_work(home);
    for (struct peer_fanout *f = home->running; f; f = f->next)
        cancel_fanout_tasks(f, why, false);
}
