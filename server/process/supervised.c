/*
 * supervised.c - see supervised.h.
 *
 * A killed heapwire-run is noticed by the end of the socket to it, which the
 * kernel closes whatever the signal was.  (PR_SET_PDEATHSIG would end
 * heapwired, which has to outlive it.) A process without that socket polls the
 * state directory's file "linger" instead: four looks a second, and only in an
 * orphan.
 */
#include "supervised.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent_protocol.h"
#include "clock.h"
#include "config.h"
#include "confined.h"
#include "controller.h"
#include "errors.h"
#include "files.h"
#include "state_dir.h"
#include "log.h"
#include "thread.h"

/* ---- the end of the process ---- */

enum { STACK_BYTES = 256 * 1024 };

static void *
watch_main(void *arg)
{
    struct end_watch *watch = arg;
    uint64_t until = clock_ms() + watch->within_ms;
    int rc = 0;

    pthread_mutex_lock(&watch->lock);
    while (!watch->done && rc != ETIMEDOUT)
        rc = clock_cond_wait(&watch->ended, &watch->lock, until);
    if (!watch->done) {
        log_fault("ends although one thread has not: perhaps it waits for a "
                  "disk that hangs");
        /* _exit: exit() would run handlers that may wait for the same disk. */
        _exit(watch->status);
    }
    pthread_mutex_unlock(&watch->lock);
    return NULL;
}

void
end_watch_start(struct end_watch *watch, uint32_t within_ms, int status)
{
    struct thread_start thread = {"hw-end", STACK_BYTES, watch_main, watch};
    struct error ignored;

    watch->within_ms = within_ms;
    watch->status = status;
    watch->done = false;
    pthread_mutex_init(&watch->lock, NULL);
    clock_cond_init(&watch->ended);
    /* Without the thread, the stop takes as long as it takes. */
    watch->runs = thread_start(&watch->thread, &thread, &ignored) == 0;
}

void
end_watch_stop(struct end_watch *watch)
{
    pthread_mutex_lock(&watch->lock);
    watch->done = true;
    pthread_cond_signal(&watch->ended);
    pthread_mutex_unlock(&watch->lock);
    if (watch->runs)
        pthread_join(watch->thread, NULL);
    pthread_cond_destroy(&watch->ended);
    pthread_mutex_destroy(&watch->lock);
}

enum {
    /* heapwired is killed before a database that has nearly all memory ... */
    OOM_SCORE_ABOVE = 990,
    /* ... and after the symbolizer, whose score is 1000 */
    OOM_SCORE_MAX = 990
};

void
oom_score_raise(void)
{
    int fd = open("/proc/self/oom_score_adj", O_RDWR | O_CLOEXEC);
    char text[16] = "";
    long score;
    int size;

    if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0) {
        fd_close(fd);
        return;
    }
    score = strtol(text, NULL, 10);
    if (score < OOM_SCORE_MAX) {
        score += OOM_SCORE_ABOVE;
        if (score > OOM_SCORE_MAX)
            score = OOM_SCORE_MAX;
        size = snprintf(text, sizeof(text), "%ld", score);
        if (pwrite(fd, text, (size_t)size, 0) < 0)
            errno = 0; /* on failure the kernel's own choice stands */
    }
    fd_close(fd);
}

/* ---- descriptors ---- */

/* For kernels without close_range (before 5.9), and under filters. */
static void
close_listed(void)
{
    DIR *dir = opendir("/proc/self/fd");
    struct dirent *entry;

    if (!dir)
        return;
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): one thread so far */
    while ((entry = readdir(dir))) {
        long fd = strtol(entry->d_name, NULL, 10);

        /* Closing while reading is fine: procfs continues at the next number.
         */
        if (fd > STDERR_FILENO && fd != dirfd(dir))
            close((int)fd);
    }
    closedir(dir);
}

/* from is where the descriptors to be pointed at /dev/null begin. */
static void
to_null(int from, int to)
{
    int null = open("/dev/null", O_RDWR);

    if (null < 0)
        return;
    for (int fd = from; fd <= to; fd++)
        dup2(null, fd);
    if (null > STDERR_FILENO)
        close(null);
}

/* Comes first of all: closes everything but stderr (stdin and stdout become
 * /dev/null), ignores SIGPIPE, makes files private, and raises the limit of
 * descriptors as far as it goes.  kept: descriptors to keep, or -1; each is
 * replaced by a duplicate above stderr, the caller's, or by -1 if it was
 * closed. */
static void
descriptors_prepare(int kept[2])
{
    struct rlimit limit;

    if (confined_filters() != 0 || close_range(STDERR_FILENO + 1, ~0U, 0) != 0)
        close_listed();
    if (fcntl(STDERR_FILENO, F_GETFD) < 0)
        to_null(STDERR_FILENO, STDERR_FILENO);
    /* Duplicated before stdin and stdout are pointed at /dev/null below. */
    for (size_t i = 0; i < 2; i++)
        if (kept[i] >= 0)
            kept[i] = fcntl(kept[i], F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    to_null(STDIN_FILENO, STDOUT_FILENO);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* a file that may not grow is an error */
    umask(077);
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
}

void
descriptors_leave_stdio(bool keep_stderr)
{
    if (!keep_stderr)
        to_null(STDERR_FILENO, STDERR_FILENO);
}

void
supervised_init(struct supervised *s)
{
    const char *beat = getenv(SUPERVISED_ENV); /* NOLINT: one thread so far */

    int kept[2] = {-1, -1};

    memset(s, 0, sizeof(*s));
    s->lock = -1;
    s->alone = getenv(AGENT_ENV_STARTED) != NULL; /* NOLINT: the same */
    /* The agent's environment is the database's: it may still have the variable
     * of the heapwire-run that started that database. */
    if (beat && !s->alone)
        kept[0] = STDIN_FILENO;
    if (getenv(SUPERVISED_RECORDER)) /* NOLINT: the same */
        kept[1] = STDOUT_FILENO;
    descriptors_prepare(kept);
    s->line = kept[0];
    s->segment = kept[1];
    if (beat && s->line >= 0)
        s->beat_ms = (uint32_t)strtoul(beat, NULL, 10);
}

/* ---- an orphan ---- */

static void
end_supervised_daemon(struct supervised *s, const char *why)
{
    log_line("ends: %s", why);
    s->end(s->arg);
}

/* Ending releases the lock on "linger", which a successor waits for. */
static void
on_supervised_timer(uv_timer_t *timer)
{
    struct supervised *s = timer->data;
    struct node_status status;

    if (linger_is_lost(s->lock)) {
        fd_close(s->lock);
        s->lock = -1;
    }
    if (s->lock < 0)
        s->lock = linger_begin(s->config->state_dir);
    if (linger_is_over(s->lock)) {
        end_supervised_daemon(
            s, s->alone
                   ? "the database has released it, or a heapwire-run has come"
                   : "another heapwire-run has come");
        return;
    }
    /* The agent that started us may not be reachable yet. */
    if (s->alone && clock_wall_ms() - s->began_ms < SUPERVISED_ALONE_MS)
        return;
    controller_status(s->controller, &status);
    if (s->alone &&
        status.state == NODE_ABSENT) /* it ended before we checked */
        end_supervised_daemon(s, "there is no agent");
    else if ((status.state == NODE_GONE || status.state == NODE_ABSENT) &&
             clock_wall_ms() - status.since_ms >=
                 (int64_t)s->config->linger_s * 1000)
        end_supervised_daemon(
            s, s->alone ? "the database has ended"
                        : "heapwire-run was killed, and the database has "
                          "ended");
}

static void
become_orphan(struct supervised *s)
{
    s->orphan = true;
    uv_poll_stop(&s->poll);
    log_line("heapwire-run was killed: serves until the database has ended "
             "(and %u s more), or another heapwire-run comes",
             s->config->linger_s);
    uv_timer_start(&s->timer, on_supervised_timer, 0, SUPERVISED_ORPHAN_MS);
}

/* ---- the line ---- */

/* A full socket has not been read for long: the fault is not on this side. */
static void
on_beat(uv_timer_t *timer)
{
    struct supervised *s = timer->data;

    (void)!send(s->line, ".", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void
on_line(uv_poll_t *poll, int status, int events)
{
    struct supervised *s = poll->data;
    char word[SUPERVISED_MESSAGE_MAX];
    unsigned uid;
    ssize_t n;
    int pid;

    (void)events;
    n = recv(s->line, word, sizeof(word) - 1, MSG_DONTWAIT);
    if (status < 0 || n == 0) {
        become_orphan(s);
    } else if (n > 0) {
        word[n] = '\0';
        /* our parent wrote it */
        if (sscanf(word, SUPERVISED_DATABASE, &uid, &pid) == 2)
            s->database(s->arg, uid, pid);
    }
}

void
supervised_start(struct supervised *s, uv_loop_t *loop,
                 struct controller *controller, const struct config *config,
                 void (*end)(void *arg),
                 void (*database)(void *arg, uid_t uid, pid_t pid), void *arg)
{
    if (!s->alone &&
        (s->line < 0 || uv_poll_init(loop, &s->poll, s->line) != 0))
        return;
    s->controller = controller;
    s->config = config;
    s->end = end;
    s->database = database;
    s->arg = arg;
    uv_timer_init(loop, &s->timer);
    s->timer.data = s->poll.data = s;
    s->open = true;
    /* No line from the start is the same as a line that has ended. */
    s->orphan = s->alone;
    s->began_ms = clock_wall_ms();
    if (s->alone) {
        uv_timer_start(&s->timer, on_supervised_timer, 0, SUPERVISED_ORPHAN_MS);
        return;
    }
    uv_poll_start(&s->poll, UV_READABLE | UV_DISCONNECT, on_line);
    if (s->beat_ms > 0)
        uv_timer_start(&s->timer, on_beat, 0, s->beat_ms);
}

void
supervised_stop(struct supervised *s)
{
    if (!s->open)
        return;
    s->open = false;
    uv_close((uv_handle_t *)&s->timer, NULL);
    if (!s->alone)
        uv_close((uv_handle_t *)&s->poll, NULL);
}
