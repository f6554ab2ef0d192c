/*
 * graphviz.c - see view.h.
 *
 * SVG and PDF need graphviz's layout.  Its library would run in heapwired:
 * large, not thread-safe, and able to abort the process or to take minutes and
 * gigabytes.  So each picture is one run of the program dot: source in, picture
 * out, over one socket pair that is both its stdin and stdout (the parent polls
 * it, so neither side can block the other with a full pipe).  Limits are set
 * from outside by prlimit, since posix_spawn has no place for them; dot has
 * started by then, but has read nothing.  The caller blocks for as long as dot
 * runs, so it must be a thread of view_cache or heapwire-prof, not the event
 * loop.
 */
#include "view.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "buffer.h"
#include "clock.h"
#include "dot_picture.h"
#include "errors.h"
#include "files.h"
#include "graph.h"
#include "profile.h"
#include "spawn_program.h"
#include "view_options.h"

enum {
    READ_BYTES = 1 << 14,
    POLL_MS = 50,     /* how often cancelled is checked */
    DEATH_MS = 2000,  /* for a killed child to end */
    REAP_STEP_MS = 2, /* between looks at it */
    /* killed children that may wait to be reaped; one more would stay a
     * zombie */
    LOST_MAX = 16,
    NICE = 10,
    /* fonts and plugins that dot opens */
    DESCRIPTORS = 64,
    SOURCE_MAX = 64 << 20
};

/* Address space.  Enough for graphs of thousands of nodes, and small enough
 * that a layout that explodes does not push the database out of memory. */
static const rlim_t memory_max = (rlim_t)2 << 30;

/* Where packages install it.  $PATH is not used: heapwired cannot trust it. */
static const char *const dot_paths[] = {"/usr/bin/dot", "/usr/local/bin/dot",
                                        "/bin/dot", "/opt/graphviz/bin/dot"};

/* Children that were killed but did not end in time (a disk that hangs): a
 * later run reaps them.  Any thread, so the slots are atomic. */
static _Atomic pid_t lost[LOST_MAX];

static const struct {
    const char *name, *flag;
    const char *end; /* the last bytes of a complete picture */
} formats[] = {[GRAPHVIZ_SVG] = {"svg", "-Tsvg", "</svg>\n"},
               [GRAPHVIZ_PDF] = {"pdf", "-Tpdf", "%%EOF\n"}};

struct child {
    pid_t pid; /* 0: none, or reaped */
    int socket;
    int status;
};

const char *
graphviz_program(void)
{
    for (size_t i = 0; i < sizeof(dot_paths) / sizeof(dot_paths[0]); i++)
        if (access(dot_paths[i], X_OK) == 0)
            return dot_paths[i];
    return NULL;
}

static pid_t
reap_graphviz_child(pid_t pid, int *status)
{
    pid_t got;

    do
        got = waitpid(pid, status, WNOHANG);
    while (got < 0 && errno == EINTR);
    return got;
}

static void
reap_lost(void)
{
    for (size_t i = 0; i < LOST_MAX; i++) {
        pid_t pid = atomic_exchange(&lost[i], 0);

        if (pid > 0 && reap_graphviz_child(pid, NULL) == 0)
            atomic_store(&lost[i], pid);
    }
}

/* True once the child has ended and its status is known; until then pid
 * stays. */
static bool
wait_for_graphviz_exit(struct child *child, uint64_t until)
{
    pid_t got;

    while ((got = reap_graphviz_child(child->pid, &child->status)) == 0) {
        if (clock_ms() >= until)
            return false;
        (void)poll(NULL, 0, REAP_STEP_MS);
    }
    child->pid = 0;
    return got > 0;
}

static void
terminate_graphviz(struct child *child)
{
    fd_close(child->socket);
    child->socket = -1;
    if (child->pid <= 0)
        return;
    /* It is not reaped yet, so its number cannot be another process's.  Where
     * dot is a script, the signal to the group ends what the script started,
     * too. */
    (void)kill(-child->pid, SIGKILL);
    (void)wait_for_graphviz_exit(child, clock_ms() + DEATH_MS);
    for (size_t i = 0; child->pid > 0 && i < LOST_MAX; i++) {
        pid_t none = 0;

        if (atomic_compare_exchange_strong(&lost[i], &none, child->pid))
            child->pid = 0;
    }
}

static void
set_graphviz_limit(pid_t pid, __rlimit_resource_t what, rlim_t value)
{
    struct rlimit both = {value, value};

    /* A sandbox may refuse this; then the deadline is the only limit. */
    (void)prlimit(pid, what, &both, NULL);
}

static void
limit_child(pid_t pid, uint32_t deadline_ms)
{
    static const char most[] = "1000";
    char path[64];
    int fd;

    set_graphviz_limit(pid, RLIMIT_AS, memory_max);
    set_graphviz_limit(pid, RLIMIT_CPU, deadline_ms / 1000 + 1);
    set_graphviz_limit(pid, RLIMIT_CORE, 0);
    set_graphviz_limit(pid, RLIMIT_NOFILE, DESCRIPTORS);
    set_graphviz_limit(pid, RLIMIT_RTPRIO, 0);
    /* If memory runs out, the kernel shall kill dot, not the database. */
    (void)setpriority(PRIO_PROCESS, (id_t)pid, NICE);
    snprintf(path, sizeof(path), "/proc/%d/oom_score_adj", (int)pid);
    fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd >= 0 && write(fd, most, sizeof(most) - 1) < 0)
        errno = 0; /* refused: the limits must suffice */
    fd_close(fd);
}

static int
spawn_dot(const struct graphviz_run *run, int socket, pid_t *pid)
{
    char *const argv[] = {(char *)run->program,
                          (char *)formats[run->format].flag, NULL};
    char *const environment[] = {(char *)"PATH=/usr/bin:/bin",
                                 (char *)"HOME=/nonexistent",
                                 (char *)"LC_ALL=C.UTF-8", NULL};
    struct spawn_program dot = {
        run->program, argv, environment, {socket, socket, -1}};

    return spawn_program(&dot, pid);
}

/* Both ends are close-on-exec; spawn_program duplicates dot's onto 0 and 1, so
 * our end closing is what dot sees. */
static int
start_graphviz(struct child *child, const struct graphviz_run *run,
               struct error *err)
{
    int pair[2];

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
        error_sys(err, ER_UNKNOWN, "cannot make a socket for graphviz");
        return -1;
    }
    errno = spawn_dot(run, pair[1], &child->pid);
    if (errno != 0) {
        error_sys(err, ER_UNKNOWN, "cannot start graphviz's %s", run->program);
        child->pid = 0;
        fd_close(pair[0]);
        fd_close(pair[1]);
        return -1;
    }
    fd_close(pair[1]);
    child->socket = pair[0];
    limit_child(child->pid, run->deadline_ms);
    return 0;
}

/* Sends as much as the socket takes now.  Once everything is sent, the child
 * sees the end of its stdin.  -1: the child does not read any more. */
static int
send_dot_source(struct child *child, const char *source, size_t size,
                size_t *done)
{
    ssize_t n = send(child->socket, source + *done, size - *done,
                     MSG_NOSIGNAL | MSG_DONTWAIT);

    if (n < 0 && errno != EINTR && errno != EAGAIN)
        return -1; /* it closed its end: its exit status says why */
    *done += n > 0 ? (size_t)n : 0;
    if (*done == size)
        (void)shutdown(child->socket, SHUT_WR);
    return 0;
}

enum take { TAKE_MORE, TAKE_END, TAKE_FAILED };

static enum take
receive_picture_part(struct child *child, struct buffer *answer,
                     struct error *err)
{
    char piece[READ_BYTES];
    ssize_t n = recv(child->socket, piece, sizeof(piece), MSG_DONTWAIT);

    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return TAKE_MORE;
    if (n <= 0)
        return TAKE_END;
    buffer_add(answer, piece, (size_t)n);
    if (!answer->failed)
        return TAKE_MORE;
    error_set(err, ER_OUT_OF_MEMORY,
              "the picture is larger than %zu bytes or memory ran out: show "
              "fewer nodes (nodecount, nodefraction), or take dot()'s source",
              answer->max);
    return TAKE_FAILED;
}

static int
check_time(const struct graphviz_run *run, uint64_t until, struct error *err)
{
    if (run->cancelled &&
        atomic_load_explicit(run->cancelled, memory_order_relaxed)) {
        error_set(err, ER_QUERY_INTERRUPTED, "Query execution was interrupted");
        return -1;
    }
    if (clock_ms() < until)
        return 0;
    error_set(err, ER_QUERY_TIMEOUT,
              "graphviz needed more than %u seconds: show fewer nodes "
              "(nodecount, nodefraction), or take dot()'s source",
              run->deadline_ms / 1000);
    return -1;
}

/* Sends and receives until the child closes its end. */
static int
exchange_with_graphviz(struct child *child, const struct graphviz_run *run,
                       const char *source, size_t size, uint64_t until,
                       struct buffer *answer, struct error *err)
{
    size_t done = 0;
    enum take taken = TAKE_MORE;

    while (taken == TAKE_MORE) {
        struct pollfd fd = {child->socket,
                            (short)(POLLIN | (done < size ? POLLOUT : 0)), 0};
        int n;

        if (check_time(run, until, err) != 0)
            return -1;
        n = poll(&fd, 1, POLL_MS);
        if (n < 0 && errno != EINTR) {
            error_sys(err, ER_UNKNOWN, "cannot wait for graphviz");
            return -1;
        }
        if (n > 0 && (fd.revents & POLLOUT) && done < size &&
            send_dot_source(child, source, size, &done) != 0)
            /* Stop sending, but read on: dot may have answered or say by its
             * status what was wrong. */
            done = size;
        if (n > 0 && (fd.revents & (POLLIN | POLLHUP | POLLERR)))
            taken = receive_picture_part(child, answer, err);
    }
    return taken == TAKE_END ? 0 : -1;
}

static int
check_answer(struct child *child, const char *end, const struct buffer *answer,
             uint64_t until, struct error *err)
{
    size_t end_size = strlen(end);

    if (!wait_for_graphviz_exit(child, until) && child->pid > 0) {
        error_set(err, ER_QUERY_TIMEOUT, "graphviz did not end in time");
        return -1;
    }
    if (WIFSIGNALED(child->status)) {
        error_set(err, ER_UNKNOWN,
                  "graphviz was killed by signal %d (its memory limit is %u "
                  "MB): show fewer nodes, or take dot()'s source",
                  WTERMSIG(child->status), (unsigned)(memory_max >> 20));
        return -1;
    }
    if (WEXITSTATUS(child->status) != 0) {
        error_set(err, ER_UNKNOWN,
                  "graphviz ended with status %d: dot() gives the graph's "
                  "source",
                  WEXITSTATUS(child->status));
        return -1;
    }
    /* dot can end with status 0 although it stopped in the middle: a full disk,
     * or a plugin that failed. */
    if (answer->size < end_size ||
        memcmp(answer->data + answer->size - end_size, end, end_size) != 0) {
        error_set(err, ER_UNKNOWN,
                  "graphviz did not answer with a whole picture: dot() gives "
                  "the graph's source");
        return -1;
    }
    return 0;
}

int
graphviz_render(const struct graphviz_run *run, const char *source, size_t size,
                struct buffer *out, struct error *err)
{
    uint64_t until = clock_ms() + run->deadline_ms;
    struct child child = {.socket = -1};
    size_t room = out->max - out->size;
    struct buffer answer;
    int rc = -1;

    /* A buffer of its own: out must be as it was after a failure. */
    buffer_init(&answer,
                room < GRAPHVIZ_OUTPUT_MAX ? room : GRAPHVIZ_OUTPUT_MAX);
    reap_lost();
    if (start_graphviz(&child, run, err) == 0 &&
        exchange_with_graphviz(&child, run, source, size, until, &answer,
                               err) == 0)
        rc =
            check_answer(&child, formats[run->format].end, &answer, until, err);
    terminate_graphviz(&child);
    if (rc == 0) {
        buffer_add(out, answer.data, answer.size);
        rc = out->failed ? -1 : 0;
        if (rc != 0)
            error_memory(err, "the picture");
    }
    buffer_fini(&answer);
    return rc;
}

static int
check_size(const struct buffer *out, struct error *err)
{
    if (!out->failed)
        return 0;
    error_set(err, ER_OUT_OF_MEMORY,
              "the picture is larger than %zu bytes or memory ran out: show "
              "fewer nodes (nodecount, nodefraction), or take dot()'s source",
              out->max);
    return -1;
}

/* Browsers show an SVG element's <title> as a tooltip; dot_picture_titled()
 * puts whole names and figures there. */
static int
render_svg(const struct graphviz_run *run, const struct profile *profile,
           const struct graph *graph, const struct view_options *options,
           const struct buffer *source, struct buffer *out, struct error *err)
{
    struct buffer svg;
    int rc;

    buffer_init(&svg, GRAPHVIZ_OUTPUT_MAX);
    rc = graphviz_render(run, source->data, source->size, &svg, err);
    if (rc == 0) {
        dot_picture_titled(profile, graph, options, svg.data, svg.size, out);
        rc = check_size(out, err);
    }
    buffer_fini(&svg);
    return rc;
}

/* The graph is limited before (nodecount, nodefraction): layout is what takes
 * dot's time, and it grows faster than the graph. */
static int
draw_call_graph(enum graphviz_format format, const struct profile *profile,
                const struct view_options *options, struct buffer *out,
                struct error *err)
{
    struct graphviz_run run = {graphviz_program(), format, GRAPHVIZ_DEADLINE_MS,
                               options ? options->cancelled : NULL};
    struct view_options view = profile_view(profile, options);
    struct buffer source;
    struct graph *graph;
    int rc = -1;

    if (!run.program) {
        error_set(err, ER_NOT_SUPPORTED,
                  "%s needs graphviz, which is not installed on this "
                  "machine: install its package (apt install graphviz), or "
                  "take dot()'s source and draw it elsewhere; flamegraph() "
                  "needs no other program",
                  formats[format].name);
        return -1;
    }
    graph = graph_new(profile, &view, err);
    if (!graph)
        return -1;
    buffer_init(&source, SOURCE_MAX);
    dot_picture(profile, graph, &view, &source);
    if (source.failed)
        error_memory(err, "the graph's source");
    else if (format == GRAPHVIZ_SVG)
        rc = render_svg(&run, profile, graph, &view, &source, out, err);
    else
        rc = graphviz_render(&run, source.data, source.size, out, err);
    buffer_fini(&source);
    graph_free(graph);
    return rc;
}

int
graphviz_svg(const struct profile *profile, const struct view_options *options,
             struct buffer *out, struct error *err)
{
    return draw_call_graph(GRAPHVIZ_SVG, profile, options, out, err);
}

int
graphviz_pdf(const struct profile *profile, const struct view_options *options,
             struct buffer *out, struct error *err)
{
    return draw_call_graph(GRAPHVIZ_PDF, profile, options, out, err);
}
