/*
 * top.c - heapwire top: a loop over keys and answers, and tables without a
 * terminal.
 *
 * One thread polls both the terminal and the node's connection, so keys work
 * while a statement runs and no state needs a lock.  The terminal must be
 * restored however top ends, so signals only set a flag, and the program raises
 * the signal again once the terminal is closed.
 */
#include "top.h"

#include <err.h>
#include <errno.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "asker.h"
#include "grid.h"
#include "node_poll.h"
#include "memory.h"
#include "screen.h"
#include "terminal.h"

enum {
    BATCH_WIDTH = 200,
    BATCH_ROWS = 50, /* rows of a table at most */
    SECOND_MS = 1000,
    /* times that poll() reports a terminal from which nothing is read: it is
     * gone */
    SILENT_READS = 20
};

struct top {
    struct screen screen;
    struct asker *asker;
    struct node_poll *poll;
    struct screen_line *lines;
};

static volatile sig_atomic_t ended_by;

static void
on_end_signal(int number)
{
    ended_by = number;
}

/* ---- tables ---- */

/* Prints a line as the screen would show it, without blanks at its end. */
static void
print_line(struct screen_line *line)
{
    while (line->size > 0 && line->text[line->size - 1] == ' ')
        line->size--;
    fwrite(line->text, 1, line->size, stdout);
    putchar('\n');
}

static void
print_tables(struct top *top)
{
    struct screen *s = &top->screen;
    unsigned char widths[TOP_COLUMNS_MAX] = {0};
    struct screen_line *line = top->lines;
    double scale = 0;

    for (size_t i = 0; i < s->node_count; i++)
        scale = s->nodes[i].rss > scale ? s->nodes[i].rss : scale;
    for (size_t i = 0; i < s->node_count; i++) {
        line_start(line, SCREEN_HEAD, BATCH_WIDTH);
        screen_node_line(&s->nodes[i], scale, line);
        print_line(line);
    }
    line_start(line, SCREEN_PLAIN, BATCH_WIDTH);
    line_text(line, s->status);
    if (*s->notice) {
        line_text(line, ": ");
        line_text(line, s->notice);
    }
    print_line(line);
    putchar('\n');
    if (s->grid) {
        screen_widths(s->grid->view, BATCH_WIDTH, widths);
        line_start(line, SCREEN_TITLES, BATCH_WIDTH);
        screen_row(s->grid, 0, true, widths, 0, line);
        print_line(line);
    }
    for (size_t i = 0; s->grid && i < s->grid->shown && i < BATCH_ROWS; i++) {
        line_start(line, SCREEN_PLAIN, BATCH_WIDTH);
        screen_row(s->grid, s->grid->order[i], false, widths, 0, line);
        print_line(line);
    }
    putchar('\n');
}

/* ---- the loop ---- */

/* Waits for an answer, for a key if keys is set, or until the next poll is due.
 * Answers the events of standard input. */
static short
wait_for_either(struct top *top, bool keys)
{
    struct pollfd fds[2] = {{asker_fd(top->asker), asker_events(top->asker), 0},
                            {keys ? STDIN_FILENO : -1, POLLIN, 0}};
    int wait = !node_poll_is_running(top->poll) ? node_poll_wait_ms(top->poll)
               : asker_asks(top->asker)         ? asker_wait_ms(top->asker)
                                                : 0; /* the answer is there */

    if (keys && node_poll_is_running(top->poll) && wait > SECOND_MS)
        wait = SECOND_MS; /* the last line shows how long it has asked */
    if (poll(fds, 2, wait) < 0)
        fds[0].revents = fds[1].revents = 0; /* interrupted by a signal */
    if (node_poll_is_running(top->poll) &&
        (!asker_asks(top->asker) || asker_step(top->asker, fds[0].revents)))
        node_poll_continue(top->poll);
    return fds[1].revents;
}

static enum client_status
run_batch(struct top *top, unsigned long count)
{
    unsigned seen = 0;
    bool failed = false;

    while (!ended_by && seen < count) {
        node_poll_begin(top->poll);
        (void)wait_for_either(top, false);
        if (node_poll_count(top->poll) == seen)
            continue;
        seen = node_poll_count(top->poll);
        failed = failed || node_poll_has_failed(top->poll);
        /* A reader that is gone should end top as it ends cat; a connection
         * that breaks should not. */
        signal(SIGPIPE, SIG_DFL);
        print_tables(top);
        if (fflush(stdout) != 0)
            return CLIENT_FAILED;
        signal(SIGPIPE, SIG_IGN);
        if (failed && top->screen.node_count == 0)
            break; /* no node has answered yet: the words may be wrong */
    }
    if (failed)
        warnx("%s", top->screen.notice);
    return !failed                       ? CLIENT_OK
           : top->screen.node_count == 0 ? CLIENT_NO_NODE
                                         : CLIENT_FAILED;
}

static enum client_status
run_screen(struct top *top)
{
    struct screen *s = &top->screen;
    const char *why = NULL;
    unsigned key, silent = 0;
    short revents;

    if (!terminal_open(&why)) {
        warnx("top needs a terminal: %s\n--batch prints tables", why);
        return CLIENT_FAILED;
    }
    while (!s->ended && !ended_by && silent < SILENT_READS) {
        terminal_size(&s->width, &s->height);
        if (s->rearrange)
            screen_arrange(s);
        s->asking_s = node_poll_asking_s(top->poll);
        screen_layout(s, top->lines);
        terminal_paint(top->lines, s->height);
        node_poll_begin(top->poll);
        revents = wait_for_either(top, true);
        silent = revents ? silent + 1 : silent;
        while (terminal_key(&key)) {
            screen_press(s, key);
            silent = 0;
        }
        if (revents & (POLLHUP | POLLERR | POLLNVAL))
            break;
    }
    terminal_close();
    return CLIENT_OK;
}

static bool
choose_view(struct screen *s, const char *name)
{
    for (unsigned i = 0; name && i < TOP_DIFF_KEPT; i++)
        if (strcmp(top_views[i].name, name) == 0) {
            s->view = i;
            return true;
        }
    return !name;
}

static enum client_status
check_batch_options(const char *const *given, double *seconds,
                    unsigned long *count)
{
    char *end;

    *seconds = given['d'] ? strtod(given['d'], &end) : 2;
    if (given['d'] && (end == given['d'] || *end || !(*seconds >= .1) ||
                       *seconds > SCREEN_INTERVAL_MAX)) {
        warnx("--interval takes .1 to %d seconds, not '%s'",
              SCREEN_INTERVAL_MAX, given['d']);
        return CLIENT_USAGE;
    }
    *count = given['n'] ? strtoul(given['n'], &end, 10) : (unsigned long)-1;
    if (given['n'] &&
        (end == given['n'] || *end || *given['n'] == '-' || *count == 0)) {
        warnx("--count takes a number of 1 or more, not '%s'", given['n']);
        return CLIENT_USAGE;
    }
    return CLIENT_OK;
}

static void
catch_ends(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action = {.sa_handler = on_end_signal};

    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        sigaction(numbers[i], &action, NULL);
}

enum client_status
top_run(const char *const *given, const char *view)
{
    struct screen_node *nodes =
        mem_zalloc(SCREEN_NODES_MAX, sizeof(struct screen_node));
    struct top top = {0};
    enum client_status status;
    unsigned long count;
    double seconds;

    setlocale(LC_CTYPE, ""); /* NOLINT(concurrency-mt-unsafe): one thread */
    screen_init(&top.screen, nodes);
    status = check_batch_options(given, &seconds, &count);
    if (status == CLIENT_OK && !choose_view(&top.screen, view)) {
        warnx("there is no view %s; there are functions, threads, running, "
              "waste, diff and diagnosis",
              view);
        status = CLIENT_USAGE;
    }
    if (status != CLIENT_OK)
        goto out;
    top.screen.interval_s = seconds;
    top.asker = asker_new(given);
    top.poll = node_poll_new(top.asker, &top.screen);
    top.lines = mem_zalloc(SCREEN_HEIGHT_MAX, sizeof(*top.lines));
    status = CLIENT_FAILED;
    if (!nodes || !top.asker || !top.poll || !top.lines) {
        warnx("no memory");
        goto out;
    }
    catch_ends();
    signal(SIGPIPE, SIG_IGN);
    status = given['b'] ? run_batch(&top, count) : run_screen(&top);
out:
    grid_free(top.screen.grid);
    node_poll_free(top.poll);
    asker_free(top.asker);
    mem_free(top.lines);
    mem_free(nodes);
    signal(SIGPIPE, SIG_DFL);
    if (ended_by) { /* ends as the signal would have ended it */
        signal((int)ended_by, SIG_DFL);
        raise((int)ended_by);
    }
    return status;
}
