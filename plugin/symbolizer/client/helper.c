/*
 * helper.c - see helper.h.
 *
 * Reading debug information may crash, hang, or take all memory.  So this side
 * never waits without a deadline, checks each reply, and answers trouble by
 * SIGKILL and a new process: three times in ten minutes, then it stops.
 */
#include "helper.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "buffer.h"
#include "clock.h"
#include "confined.h"
#include "elf_file.h"
#include "errors.h"
#include "files.h"
#include "helper_exchange.h"
#include "memory.h"
#include "spawn_program.h"
#include "symbolizer_wire.h"

enum {
    READ_BYTES = 1 << 16,
    REAP_STEP_MS = 2,       /* between looks at a process that ends */
    CANCEL_STEP_MS = 50,    /* between looks at cancelled */
    LAST_WAIT_MS = 100,     /* the last for killed processes */
    IDLE_END_MS = 15000,    /* SCHED_IDLE makes exiting slow */
    AHEAD_MAX = 2,          /* questions sent ahead */
    AHEAD_ADDRESSES = 4096, /* in each; both fit the socket */
    EXIT_NOT_LOADED = 127   /* ld.so: a library is missing */
};

struct helper {
    char *program;
    uint64_t memory_bytes;
    uint32_t cpu_ms;
    int cancel_fd;
    const atomic_bool *cancelled; /* NULL: only cancel_fd cancels */
    uint32_t reader_mb;
    bool idle;
    pid_t pid; /* -1: none */
    struct helper_lost own_lost, *lost;
    int socket;
    uint64_t failures[HELPER_FAILURES_MAX]; /* a ring of times; 0: never */
    size_t next_failure;
    char last_failure[WIRE_COMPLAINT_MAX];
    bool late; /* the current question missed its deadline */
    struct helper_sent ahead[AHEAD_MAX];
    size_t ahead_count;
    struct buffer in, out;
};

struct helper *
helper_new(const struct helper_options *options, struct error *err)
{
    struct helper *h = mem_zalloc(1, sizeof(*h));

    if (!h)
        goto fail;
    h->pid = -1;
    h->socket = -1;
    buffer_init(&h->in, READ_BYTES + WIRE_REPLY_MAX + WIRE_HEAD);
    buffer_init(&h->out, WIRE_REQUEST_MAX + WIRE_HEAD);
    h->memory_bytes = options->memory_bytes;
    h->cpu_ms = options->cpu_ms;
    h->cancel_fd = options->cancel_fd;
    h->reader_mb = options->reader_mb;
    h->idle = options->idle;
    h->lost = options->lost ? options->lost : &h->own_lost;
    h->program = mem_strdup(options->program);
    if (!h->program)
        goto fail;
    return h;
fail:
    error_memory(err, "the symboliser");
    helper_free(h);
    return NULL;
}

void
helper_cancel_by(struct helper *h, const atomic_bool *cancelled)
{
    h->cancelled = cancelled;
}

/* Reaps our own child only; true once it has ended (or was never ours). */
static bool
reap_helper_process(pid_t pid)
{
    pid_t got;

    do
        got = waitpid(pid, NULL, WNOHANG);
    while (got < 0 && errno == EINTR);
    return got != 0;
}

/* Waits for pid's end by a pidfd; without one, or where a traced process has
 * ended before it can be reaped, for a moment. */
static void
await_exit(pid_t pid, int milliseconds)
{
    struct pollfd gone = {pidfd_open(pid, 0), POLLIN, 0};
    bool wait = gone.fd >= 0 && poll(&gone, 1, 0) == 0;

    (void)poll(&gone, wait, wait ? milliseconds : REAP_STEP_MS);
    fd_close(gone.fd);
}

/* SIGKILL takes a moment, or for ever if a disk hangs: then lost keeps the
 * process, to be reaped later. */
static void
await_helper_death(struct helper *h, pid_t pid, uint64_t patience_ms)
{
    uint64_t until = clock_ms() + patience_ms;

    while (!reap_helper_process(pid)) {
        if (clock_ms() < until) {
            await_exit(pid, HELPER_KILL_MS);
            continue;
        }
        for (size_t i = 0; i < HELPER_LOST_MAX; i++)
            if (h->lost->pids[i] == 0) {
                h->lost->pids[i] = pid;
                break;
            }
        return;
    }
}

size_t
helper_lost_reap(struct helper_lost *lost, int milliseconds)
{
    uint64_t until = clock_ms() + (uint64_t)milliseconds;
    size_t count = 0;
    pid_t *pid;

    for (size_t i = 0; i < HELPER_LOST_MAX; i++) {
        pid = &lost->pids[i];
        while (*pid) {
            if (reap_helper_process(*pid))
                *pid = 0;
            else if (clock_ms() < until)
                await_exit(*pid, milliseconds);
            else
                break;
        }
        count += *pid != 0;
    }
    return count;
}

/* It is not reaped yet, so its pid cannot be another process's. */
static void
end_process(struct helper *h, bool wait)
{
    fd_close(h->socket);
    h->socket = -1;
    if (h->pid > 0) {
        (void)kill(h->pid, SIGKILL);
        await_helper_death(h, h->pid, wait ? HELPER_KILL_MS : 0);
    }
    h->pid = -1;
    helper_lost_reap(h->lost, 0);
    h->ahead_count = 0;
    buffer_clear(&h->in);
    buffer_clear(&h->out);
}

void
helper_end(struct helper *h)
{
    end_process(h, true);
}

void
helper_let_go(struct helper *h)
{
    end_process(h, false);
}

void
helper_free(struct helper *h)
{
    if (!h)
        return;
    helper_end(h);
    helper_lost_reap(&h->own_lost, LAST_WAIT_MS);
    buffer_fini(&h->in);
    buffer_fini(&h->out);
    mem_free(h->program);
    mem_free(h);
}

static bool
is_restart_limit_reached(const struct helper *h)
{
    uint64_t oldest = h->failures[h->next_failure];

    return oldest && clock_ms() - oldest < HELPER_WINDOW_MS;
}

static enum helper_result
record_helper_failure(struct helper *h, const struct error *err)
{
    helper_end(h);
    h->failures[h->next_failure] = clock_ms();
    h->next_failure = (h->next_failure + 1) % HELPER_FAILURES_MAX;
    snprintf(h->last_failure, sizeof(h->last_failure), "%.*s",
             (int)sizeof(h->last_failure) - 1, err->text);
    return h->late ? HELPER_LATE : HELPER_FAILED;
}

static int
spawn_helper(struct helper *h, int socket)
{
    char memory[24], seconds[24], parent[24], reader[24];
    char *const argv[] = {h->program, memory, seconds,
                          parent,     reader, (char *)debug_fetched_dir(),
                          NULL};
    char *const environment[] = {NULL};
    struct spawn_program helper = {
        h->program, argv, environment, {socket, -1, -1}};

    snprintf(memory, sizeof(memory), "%llu",
             (unsigned long long)h->memory_bytes);
    snprintf(seconds, sizeof(seconds), "%u", h->cpu_ms / 1000 + 1);
    snprintf(parent, sizeof(parent), "%d", (int)getpid());
    snprintf(reader, sizeof(reader), "%u", h->reader_mb);
    return spawn_program(&helper, &h->pid);
}

static int
start_helper_process(struct helper *h, struct error *err)
{
    const struct sched_param none = {0};
    int pair[2];

    if (h->pid > 0)
        return 0;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
        error_sys(err, ER_UNKNOWN, "cannot make a socket for the symboliser");
        return -1;
    }
    errno = spawn_helper(h, pair[1]);
    if (errno != 0) {
        error_sys(err, ER_UNKNOWN, "cannot start %s", h->program);
        h->pid = -1;
        fd_close(pair[0]);
        fd_close(pair[1]);
        return -1;
    }
    fd_close(pair[1]);
    /* Set here: a thread of ours could not leave SCHED_IDLE again. */
    if (h->idle && confined_spares(CONFINED_PRIORITY))
        (void)sched_setscheduler(h->pid, SCHED_IDLE, &none);
    h->socket = pair[0];
    return 0;
}

/* Waits for events on the socket: 1, or 0 when cancelled, or -1 with err. */
static int
await_helper_socket(struct helper *h, short events, uint64_t until,
                    struct error *err)
{
    struct pollfd fds[] = {{h->socket, events, 0}, {h->cancel_fd, POLLIN, 0}};
    uint64_t now;
    int n;

    for (;;) {
        now = clock_ms();
        if (now >= until) {
            h->late = true;
            error_set(err, ER_UNKNOWN, "the symboliser took too long");
            return -1;
        }
        if (h->cancelled && atomic_load(h->cancelled))
            return 0;
        if (h->cancelled && until - now > CANCEL_STEP_MS)
            now = until - CANCEL_STEP_MS;
        n = poll(fds, 2, (int)(until - now));
        if (n < 0 && errno != EINTR) {
            error_sys(err, ER_UNKNOWN, "cannot wait for the symboliser");
            return -1;
        }
        if (n > 0 && fds[1].revents)
            return 0;
        if (n > 0)
            return 1;
    }
}

static ssize_t
send_question_part(struct helper *h, const struct helper_exchange *x,
                   size_t done)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(x->fds))];
    } control;
    const size_t size = x->fd_count * sizeof(x->fds[0]);
    struct iovec piece = {h->out.data + done, h->out.size - done};
    struct msghdr message = {0};
    struct cmsghdr *c;

    message.msg_iov = &piece;
    message.msg_iovlen = 1;
    if (done == 0) {
        memset(&control, 0, sizeof(control));
        message.msg_control = control.bytes;
        message.msg_controllen = CMSG_SPACE(size);
        c = CMSG_FIRSTHDR(&message);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(size);
        memcpy(CMSG_DATA(c), x->fds, size);
    }
    return sendmsg(h->socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* Explains, by its exit status, why the helper closed its socket. */
static void
explain_death(struct helper *h, struct error *err)
{
    uint64_t until = clock_ms() + (h->idle ? IDLE_END_MS : HELPER_KILL_MS);
    struct pollfd cancel = {h->cancel_fd, POLLIN, 0};
    int status = 0;
    pid_t got;

    while ((got = waitpid(h->pid, &status, WNOHANG)) == 0 &&
           clock_ms() < until && poll(&cancel, 1, 0) == 0)
        await_exit(h->pid, HELPER_KILL_MS);
    if (got != 0)
        h->pid = -1;
    h->late = got > 0 && WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU;
    if (h->late)
        error_set(err, ER_UNKNOWN, "the symboliser took too long");
    else if (got > 0 && WIFSIGNALED(status))
        error_set(err, ER_UNKNOWN, "the symboliser was killed by signal %d",
                  WTERMSIG(status));
    else if (got > 0 && WEXITSTATUS(status) == WIRE_EXIT_MEMORY)
        error_set(err, ER_UNKNOWN,
                  "the symboliser needed more than its %llu MB of memory",
                  (unsigned long long)(h->memory_bytes >> 20));
    else if (got > 0 && WEXITSTATUS(status) == WIRE_EXIT_VERSION)
        error_set(err, ER_UNKNOWN,
                  "%s is of another version than this program: restart it",
                  h->program);
    else if (got > 0 && WEXITSTATUS(status) == EXIT_NOT_LOADED)
        error_set(err, ER_UNKNOWN,
                  "the symboliser cannot start: ldd %s shows which library of "
                  "it is missing",
                  h->program);
    else if (got > 0)
        error_set(err, ER_UNKNOWN, "the symboliser ended with status %d",
                  WEXITSTATUS(status));
    else
        error_set(err, ER_UNKNOWN, "the symboliser closed its connection");
}

/* Sends h->out.  Returns as await_helper_socket: 1 when everything is sent. */
static int
send_question(struct helper *h, const struct helper_exchange *x, uint64_t until,
              struct error *err)
{
    size_t done = 0;
    ssize_t n;
    int ready;

    while (done < h->out.size) {
        ready = await_helper_socket(h, POLLOUT, until, err);
        if (ready <= 0)
            return ready;
        n = send_question_part(h, x, done);
        if (n < 0 && errno != EINTR && errno != EAGAIN) {
            explain_death(h, err);
            return -1;
        }
        done += n > 0 ? (size_t)n : 0;
    }
    return 1;
}

/* Receives what is there.  Returns as await_helper_socket; 1: go on. */
static int
receive_some(struct helper *h, uint64_t until, struct error *err)
{
    char *place;
    ssize_t n;
    int ready;

    ready = await_helper_socket(h, POLLIN, until, err);
    if (ready <= 0)
        return ready;
    place = buffer_reserve(&h->in, READ_BYTES);
    if (!place) {
        error_memory(err, "the symboliser's answer");
        return -1;
    }
    n = recv(h->socket, place, READ_BYTES, MSG_DONTWAIT);
    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return 1;
    if (n <= 0) {
        explain_death(h, err);
        return -1;
    }
    buffer_claim(&h->in, (size_t)n);
    return 1;
}

/* Takes all complete messages; WIRE_DONE is the last, unless another question
 * was sent ahead. */
static enum helper_take
take_replies(struct helper *h, struct helper_exchange *x, struct error *err)
{
    enum wire_framing framing = WIRE_READY;
    enum helper_take result = HELPER_TAKE_MORE;
    struct span payload;
    size_t used = 0;

    while (result == HELPER_TAKE_MORE) {
        framing = wire_next(h->in.data + used, h->in.size - used,
                            WIRE_REPLY_MAX, &payload);
        if (framing != WIRE_READY)
            break;
        result = helper_exchange_take(x, payload, err);
        used += WIRE_HEAD + payload.size;
    }
    if (framing == WIRE_BAD || (result == HELPER_TAKE_DONE &&
                                used < h->in.size && h->ahead_count == 0))
        result = HELPER_TAKE_GARBAGE;
    if (result == HELPER_TAKE_GARBAGE)
        error_set(err, ER_UNKNOWN, "the symboliser answered garbage");
    buffer_drop_front(&h->in, used);
    return result;
}

static int
ready_to_start(struct helper *h, struct error *err)
{
    h->late = false;
    if (h->pid > 0)
        return 0;
    if (helper_lost_reap(h->lost, 0) == HELPER_LOST_MAX) {
        error_set(err, ER_UNKNOWN,
                  "%d symbolisers were killed and do not end: maybe a disk "
                  "that they read from hangs",
                  HELPER_LOST_MAX);
        return -1;
    }
    if (!is_restart_limit_reached(h))
        return 0;
    error_set(err, ER_UNKNOWN,
              "the symboliser failed %d times in 10 minutes, most recently: %s",
              HELPER_FAILURES_MAX, h->last_failure);
    return -1;
}

/* Sends h->out unless the question was sent ahead, and takes the replies. */
static enum helper_result
exchange_with_helper(struct helper *h, struct helper_exchange *x,
                     uint64_t until, struct error *err)
{
    enum helper_take taken = HELPER_TAKE_MORE;
    int ready;

    if (!x->sent && h->out.failed) { /* sent: a later question's failure */
        error_memory(err, "a question to the symboliser");
        return record_helper_failure(h, err);
    }
    ready = x->sent ? 1 : send_question(h, x, until, err);
    if (x->sent) /* some may have come with the previous question's */
        taken = take_replies(h, x, err);
    while (ready > 0 && taken == HELPER_TAKE_MORE) {
        ready = receive_some(h, until, err);
        if (ready > 0)
            taken = take_replies(h, x, err);
    }
    if (taken == HELPER_TAKE_DONE)
        return HELPER_DONE;
    if (ready == 0) {
        helper_end(h);
        return HELPER_CANCELLED;
    }
    if (taken == HELPER_TAKE_REFUSED) { /* not the helper's failure */
        helper_end(h);
        return HELPER_FAILED;
    }
    return record_helper_failure(h, err);
}

void
helper_prepare(struct helper *h)
{
    struct error later;

    if (ready_to_start(h, &later) == 0)
        (void)start_helper_process(h, &later);
}

static void
put_question(struct helper *h, const struct helper_question *question)
{
    buffer_clear(&h->out);
    wire_put_request(&h->out, question->path, helper_sent_of(question).flags,
                     question->offsets, question->count);
}

bool
helper_ask_ahead(struct helper *h, const struct helper_question *question)
{
    const struct helper_sent sent = helper_sent_of(question);
    const struct helper_exchange x = helper_exchange_of(question);
    struct error later;
    ssize_t n;

    for (size_t i = 0; i < h->ahead_count; i++)
        if (helper_sent_is(&h->ahead[i], &sent))
            return true;
    if (h->ahead_count == AHEAD_MAX || question->count > AHEAD_ADDRESSES ||
        ready_to_start(h, &later) != 0 || start_helper_process(h, &later) != 0)
        return false;
    put_question(h, question);
    n = h->out.failed ? -1 : send_question_part(h, &x, 0);
    if (n <= 0)
        return false;
    if ((size_t)n < h->out.size) { /* helper_ask sends it all again */
        helper_end(h);
        return false;
    }
    h->ahead[h->ahead_count++] = sent;
    return true;
}

/* Whether the next answers are for this question; another one's would come
 * first, so its process is given up. */
static bool
take_sent(struct helper *h, const struct helper_question *question)
{
    const struct helper_sent sent = helper_sent_of(question);

    if (h->ahead_count == 0)
        return false;
    if (!helper_sent_is(&h->ahead[0], &sent)) {
        helper_end(h);
        return false;
    }
    h->ahead_count--;
    memmove(h->ahead, h->ahead + 1, h->ahead_count * sizeof(sent));
    return true;
}

enum helper_result
helper_ask(struct helper *h, const struct helper_question *question,
           struct error *err)
{
    uint64_t until = clock_ms() + question->deadline_ms;
    struct helper_exchange x = helper_exchange_of(question);

    x.sent = take_sent(h, question);
    if (ready_to_start(h, err) != 0)
        return HELPER_EXHAUSTED;
    if (start_helper_process(h, err) != 0)
        return record_helper_failure(h, err);
    if (!x.sent)
        put_question(h, question);
    return exchange_with_helper(h, &x, until, err);
}

enum helper_result
helper_make_index(struct helper *h, const struct helper_index *index,
                  struct error *err)
{
    uint64_t until = clock_ms() + index->deadline_ms;
    struct helper_exchange x = {
        .index = index, .fds = {index->object_fd, -1}, .fd_count = 1};

    if (ready_to_start(h, err) != 0)
        return HELPER_EXHAUSTED;
    if (start_helper_process(h, err) != 0)
        return record_helper_failure(h, err);
    buffer_clear(&h->out);
    wire_put_request(&h->out, index->path,
                     index->unwind
                         ? WIRE_MAKE_UNWIND
                         : WIRE_MAKE_INDEX |
                               (index->symbols_only ? WIRE_SYMBOLS_DO : 0),
                     NULL, 0);
    return exchange_with_helper(h, &x, until, err);
}
