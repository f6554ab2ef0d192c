/* supervised.c - see supervised.h. */
#include "supervised.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent_protocol.h"
#include "clock.h"
#include "config.h"
#include "controller.h"
#include "descriptors.h"
#include "files.h"
#include "linger.h"
#include "log.h"

void
supervised_init(struct supervised *s)
{
    const char *beat = getenv(SUPERVISED_ENV); /* NOLINT: one thread so far */

    int kept[2] = {-1, -1};

    memset(s, 0, sizeof(*s));
    s->lock = -1;
    s->alone = getenv(AGENT_ENV_STARTED) != NULL; /* NOLINT: the same */
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
give_up(struct supervised *s, const char *why)
{
    log_line("ends: %s", why);
    s->end(s->arg);
}

/* Our end releases the lock, which a successor waits for. */
static void
on_look(uv_timer_t *timer)
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
        give_up(s,
                s->alone
                    ? "the database has released it, or a heapwire-run has come"
                    : "another heapwire-run has come");
        return;
    }
    if (s->alone && clock_wall_ms() - s->began_ms < SUPERVISED_ALONE_MS)
        return;
    controller_status(s->controller, &status);
    if (s->alone && status.state == NODE_ABSENT) /* it ended before our look */
        give_up(s, "there is no agent");
    else if ((status.state == NODE_GONE || status.state == NODE_ABSENT) &&
             clock_wall_ms() - status.since_ms >=
                 (int64_t)s->config->linger_s * 1000)
        give_up(s, s->alone ? "the database has ended"
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
    uv_timer_start(&s->timer, on_look, 0, SUPERVISED_ORPHAN_MS);
}

/* ---- the line ---- */

/* A full line was not read for long, which is not our fault. */
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
    char word[SUPERVISED_WORD_MAX];
    unsigned uid;
    ssize_t n;
    int pid;

    (void)events;
    n = recv(s->line, word, sizeof(word) - 1, MSG_DONTWAIT);
    if (status < 0 || n == 0) {
        become_orphan(s);
    } else if (n > 0) {
        word[n] = '\0';
        /* NOLINTNEXTLINE(cert-err34-c): of our parent */
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
    s->orphan = s->alone;
    s->began_ms = clock_wall_ms();
    if (s->alone) {
        uv_timer_start(&s->timer, on_look, 0, SUPERVISED_ORPHAN_MS);
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
