/*
 * node_poll.c - see node_poll.h.
 *
 * A view that fails never leaves a blank: its last rows stay, with the reason
 * and their time.  If there are none, rows of the newest kept snapshot take
 * their place, or another view.  A view may cost the database as much as a heap
 * profile, so the time between two polls is ten times what the last one took,
 * if that is more than the interval.  That keeps the load of a forgotten
 * `heapwire top` under a tenth.
 */
#include "node_poll.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "asker.h"
#include "buffer.h"
#include "clock.h"
#include "grid.h"
#include "memory.h"
#include "screen.h"

enum {
    STATEMENT_MAX = 8192,
    TIMEOUT_S = 5, /* seconds that a node may take to answer */
    /* the interval is at least so many times what an answer took */
    TIMES_MAX = 10,
    REST_MAX_S = 60,
    ER_DBACCESS_DENIED = 1044,
    ER_TABLEACCESS_DENIED = 1142,
    ER_SPECIFIC_ACCESS_DENIED = 1227
};

enum node_poll_step { REST, SETTLE, TABLES, NODES, MEMORY, BASE, VIEW };

struct node_poll {
    struct asker *asker;
    struct screen *screen;
    enum node_poll_step step;
    /* the view that is asked for, which may stand in for the one that is wanted
     */
    enum top_number view;
    struct top_scope scope;
    bool has_table[TOP_NUMBERS];
    char base_name[TOP_BASE_MAX + 1];
    struct grid *base; /* what TOP_DIFF compares to, of all nodes */
    uint64_t asked_ms, next_ms;
    /* what the last view took; one that waited for a silent node does not count
     */
    uint64_t cost_ms;
    unsigned done;
    bool failed, found; /* found: the names of tables have come */
    char why[SCREEN_NOTICE_MAX];
};

struct node_poll *
node_poll_new(struct asker *asker, struct screen *screen)
{
    struct node_poll *poll = mem_zalloc(1, sizeof(*poll));

    if (poll) {
        poll->asker = asker;
        poll->screen = screen;
    }
    return poll;
}

void
node_poll_free(struct node_poll *poll)
{
    if (!poll)
        return;
    grid_free(poll->base);
    mem_free(poll);
}

bool
node_poll_is_running(const struct node_poll *poll)
{
    return poll->step != REST;
}

unsigned
node_poll_asking_s(const struct node_poll *poll)
{
    return poll->step == REST
               ? 0
               : (unsigned)((clock_ms() - poll->asked_ms) / 1000);
}

unsigned
node_poll_count(const struct node_poll *poll)
{
    return poll->done;
}

bool
node_poll_has_failed(const struct node_poll *poll)
{
    return poll->failed;
}

static double
parse_memory_figure(const char *text)
{
    return text ? strtod(text, NULL) : -1;
}

static void
put_clock_time(int64_t wall_ms, char *out, size_t size)
{
    char text[CLOCK_TEXT];

    clock_text(wall_ms, text, sizeof(text));
    snprintf(out, size, "%s", text + sizeof("2026-11-29"));
}

/* ---- asking ---- */

static void
ask_step(struct node_poll *poll, enum node_poll_step step)
{
    struct buffer text;

    buffer_init(&text, STATEMENT_MAX);
    poll->step = step;
    switch (step) {
    case SETTLE:
        buffer_format(&text, "SET SESSION heapwire_timeout = %d", TIMEOUT_S);
        break;
    case TABLES:
        buffer_text(&text, "SELECT table_name FROM information_schema.tables "
                           "WHERE table_schema = 'heapwire'");
        break;
    case NODES:
        top_view_nodes_statement(&poll->scope, &text);
        break;
    case MEMORY:
        top_view_memory_statement(&poll->scope, &text);
        break;
    case BASE:
        poll->scope.node = 0;
        poll->scope.kept = false;
        top_view_statement(TOP_DIFF, &poll->scope, &text);
        break;
    case VIEW:
    case REST:
    default:
        top_view_statement(poll->view, &poll->scope, &text);
        break;
    }
    poll->asked_ms = clock_ms();
    asker_ask(poll->asker, text.failed || !text.data ? "DO 0" : text.data);
    buffer_fini(&text);
}

static void
end_node_poll(struct node_poll *poll, uint64_t took_ms)
{
    struct screen *s = poll->screen;
    double rest_s = s->interval_s;
    char at[CLOCK_TEXT];

    if ((double)took_ms * TIMES_MAX / 1000 > rest_s)
        rest_s = (double)took_ms * TIMES_MAX / 1000;
    if (rest_s > REST_MAX_S && rest_s > s->interval_s)
        rest_s = s->interval_s > REST_MAX_S ? s->interval_s : REST_MAX_S;
    put_clock_time(clock_wall_ms(), at, sizeof(at));
    if (rest_s > s->interval_s)
        snprintf(s->status, sizeof(s->status),
                 "%s UTC, every %.3g s (an answer takes %.1f s)", at, rest_s,
                 (double)took_ms / 1000);
    else
        snprintf(s->status, sizeof(s->status), "%s UTC, every %g s", at,
                 rest_s);
    poll->step = REST;
    poll->done++;
    poll->next_ms = clock_ms() + (uint64_t)(rest_s * 1000);
}

/* Asks for the view that the screen wants.  If the node has no table for it,
 * asks for the one that stands in for it, or says so. */
static void
ask_view(struct node_poll *poll)
{
    struct screen *s = poll->screen;

    poll->view = s->view == TOP_DIFF && *s->base ? TOP_DIFF_KEPT : s->view;
    poll->scope.node = s->node;
    poll->scope.kept = false;
    *poll->why = '\0';
    if (poll->found && !poll->has_table[poll->view]) {
        snprintf(poll->why, sizeof(poll->why), "%s",
                 top_views[poll->view].missing
                     ? top_views[poll->view].missing
                     : "the node has no table for this view");
        if (top_views[poll->view].instead < 0) {
            struct grid *none = grid_new(poll->view);

            if (none) {
                grid_free(s->grid);
                s->grid = none;
            }
            snprintf(s->notice, sizeof(s->notice), "%s", poll->why);
            poll->failed = true;
            end_node_poll(poll, 0);
            return;
        }
        poll->view = (enum top_number)top_views[poll->view].instead;
    }
    if (poll->view == TOP_DIFF_KEPT) {
        snprintf(poll->base_name, sizeof(poll->base_name), "%s", s->base);
        poll->scope.base = poll->base_name;
    }
    ask_step(poll, poll->view == TOP_DIFF && !poll->base ? BASE : VIEW);
}

bool
node_poll_begin(struct node_poll *poll)
{
    struct screen *s = poll->screen;
    bool due = s->hurry || (!s->paused && clock_ms() >= poll->next_ms);

    if (poll->step != REST || (!due && poll->done > 0))
        return false;
    if (asker_is_new(poll->asker))
        ask_step(poll, SETTLE);
    else if (s->hurry && poll->done > 0)
        ask_view(poll);
    else
        ask_step(poll, NODES);
    s->hurry = false;
    return true;
}

int
node_poll_wait_ms(const struct node_poll *poll)
{
    uint64_t now = clock_ms();

    if (poll->screen->hurry)
        return 0;
    if (poll->screen->paused)
        return -1;
    return poll->next_ms > now ? (int)(poll->next_ms - now) : 0;
}

/* ---- answers ---- */

static void
read_table_names(struct node_poll *poll, MYSQL_RES *rows)
{
    char name[64];
    MYSQL_ROW row;

    memset(poll->has_table, 0, sizeof(poll->has_table));
    while ((row = mysql_fetch_row(rows)))
        for (unsigned i = 0; i < TOP_NUMBERS; i++) {
            snprintf(name, sizeof(name), "%s%s",
                     top_views[i].alone || poll->scope.alone ? "" : "cluster_",
                     top_views[i].table);
            if (row[0] && strcmp(row[0], name) == 0)
                poll->has_table[i] = true;
        }
    poll->found = true;
}

static void
read_nodes(struct node_poll *poll, MYSQL_RES *rows)
{
    struct screen *s = poll->screen;
    struct screen_node *node;
    MYSQL_ROW row;

    if (mysql_num_fields(rows) != NODES_COLUMNS)
        return;
    s->node_count = 0;
    while (s->node_count < SCREEN_NODES_MAX && (row = mysql_fetch_row(rows))) {
        uint64_t id = row[NODES_ID] ? strtoull(row[NODES_ID], NULL, 10) : 0;

        if (row[NODES_STATE] && strcmp(row[NODES_STATE], "left") == 0)
            continue;
        node = &s->nodes[s->node_count++];
        if (node->id != id) /* a node's figures stay until newer ones come */
            *node = (struct screen_node){.id = id,
                                         .rss = -1,
                                         .limit = -1,
                                         .allocated = -1,
                                         .active = -1,
                                         .resident = -1};
        snprintf(node->state, sizeof(node->state), "%s",
                 row[NODES_STATE] ? row[NODES_STATE] : "");
        snprintf(node->error, sizeof(node->error), "%s",
                 row[NODES_ERROR] ? row[NODES_ERROR] : "");
        if (poll->scope.alone || s->node_count == 1)
            poll->scope.self = id;
    }
}

static void
read_memory(struct node_poll *poll, MYSQL_RES *rows)
{
    struct screen *s = poll->screen;
    MYSQL_ROW row;

    if (mysql_num_fields(rows) != MEMORY_COLUMNS)
        return;
    while ((row = mysql_fetch_row(rows))) {
        uint64_t id =
            row[MEMORY_NODE] ? strtoull(row[MEMORY_NODE], NULL, 10) : 0;

        for (size_t i = 0; i < s->node_count; i++) {
            struct screen_node *node = &s->nodes[i];

            if (node->id != id)
                continue;
            node->rss = parse_memory_figure(row[MEMORY_RSS]);
            node->limit = parse_memory_figure(row[MEMORY_LIMIT]);
            node->allocated = parse_memory_figure(row[MEMORY_ALLOCATED]);
            node->active = parse_memory_figure(row[MEMORY_ACTIVE]);
            node->resident = parse_memory_figure(row[MEMORY_RESIDENT]);
        }
    }
}

static struct grid *
read_grid(enum top_number view, uint64_t of_node, MYSQL_RES *rows)
{
    unsigned count = mysql_num_fields(rows);
    struct span cells[TOP_COLUMNS_MAX];
    struct grid *grid = grid_new(view);
    const unsigned long *sizes;
    MYSQL_ROW row;

    while (grid && count <= TOP_COLUMNS_MAX && (row = mysql_fetch_row(rows))) {
        sizes = mysql_fetch_lengths(rows);
        for (unsigned i = 0; i < count; i++)
            cells[i] = (struct span){row[i], sizes[i]};
        grid_add(grid, cells, count);
    }
    if (grid) {
        grid->node = of_node;
        grid->taken_ms = clock_ms();
        grid->wall_ms = clock_wall_ms();
    }
    return grid;
}

static void
show_grid(struct node_poll *poll, struct grid *grid)
{
    struct screen *s = poll->screen;
    struct grid *old = s->grid;
    bool same = old && old->number == grid->number;

    grid_derive(grid, same ? old : NULL,
                grid->number == TOP_DIFF ? poll->base : NULL);
    s->grid = grid;
    screen_arrange(s);
    grid_free(old);
}

/* Asks for rows in another way after why made this one fail; false if there is
 * no other. */
static bool
ask_instead(struct node_poll *poll, const char *why)
{
    const struct top_view *view = &top_views[poll->view];
    bool of_heap = strncmp(view->table, "heap_", 5) == 0 && !view->alone;

    snprintf(poll->why, sizeof(poll->why), "%s", why);
    if (of_heap && !poll->scope.kept && view->instead < 0 &&
        poll->view != TOP_DIFF) {
        poll->scope.kept = true;
    } else if (view->instead >= 0) {
        poll->view = (enum top_number)view->instead;
        poll->scope.kept = false;
    } else {
        return false;
    }
    ask_step(poll, VIEW);
    return true;
}

static void
fail_view(struct node_poll *poll, const char *why)
{
    struct screen *s = poll->screen;
    struct grid *none;
    char at[CLOCK_TEXT];

    /* The first reason explains more than what followed from it. */
    if (!*poll->why)
        snprintf(poll->why, sizeof(poll->why), "%s", why);
    poll->failed = true;
    if (s->grid && s->grid->number == poll->view && s->grid->node == s->node &&
        s->grid->rows > 0) {
        put_clock_time(s->grid->wall_ms, at, sizeof(at));
        snprintf(s->notice, sizeof(s->notice), "rows of %s UTC: %s", at,
                 poll->why);
    } else {
        snprintf(s->notice, sizeof(s->notice), "%s", poll->why);
        none = grid_new(poll->view);
        if (none)
            show_grid(poll, none);
    }
    end_node_poll(poll, 0);
}

static void
end_view(struct node_poll *poll, MYSQL_RES *rows, const char *error)
{
    struct screen *s = poll->screen;
    const char *warnings = asker_warnings(poll->asker);
    uint64_t took_ms = clock_ms() - poll->asked_ms;
    bool kept_rows = s->grid && s->grid->number == poll->view &&
                     s->grid->node == s->node && s->grid->rows > 0;
    struct grid *grid;

    if (!rows) {
        if ((kept_rows && poll->view == s->view) || !ask_instead(poll, error))
            fail_view(poll, error);
        return;
    }
    if (mysql_num_rows(rows) == 0 && !poll->scope.kept && !*poll->why &&
        top_views[poll->view].instead >= 0 &&
        ask_instead(poll, *warnings ? warnings : top_views[poll->view].empty))
        return;
    grid = read_grid(poll->view, poll->scope.node, rows);
    if (!grid) {
        fail_view(poll, "no memory");
        return;
    }
    show_grid(poll, grid);
    snprintf(s->notice, sizeof(s->notice), "%s%s%s",
             poll->scope.kept ? "rows of the last kept snapshot: " : "",
             poll->why, *poll->why ? "" : warnings);
    poll->failed = false;
    if (took_ms / 1000 < TIMEOUT_S)
        poll->cost_ms = took_ms;
    end_node_poll(poll, poll->cost_ms);
}

/* Marks all nodes as not asked: the connection is lost, or none can be made. */
static void
fail_screen_update(struct node_poll *poll, const char *why)
{
    struct screen *s = poll->screen;

    for (size_t i = 0; i < s->node_count; i++)
        snprintf(s->nodes[i].state, sizeof(s->nodes[i].state), "not asked");
    poll->view = s->grid ? s->grid->number : s->view;
    *poll->why = '\0';
    fail_view(poll, why);
}

static bool
is_denied(unsigned number)
{
    return number == ER_DBACCESS_DENIED || number == ER_TABLEACCESS_DENIED ||
           number == ER_SPECIFIC_ACCESS_DENIED;
}

void
node_poll_continue(struct node_poll *poll)
{
    MYSQL_RES *rows = asker_take_rows(poll->asker);
    unsigned number;
    const char *error = asker_error(poll->asker, &number);

    if (*error && asker_is_new(poll->asker)) {
        fail_screen_update(poll, error);
        return;
    }
    switch (poll->step) {
    case SETTLE:
        ask_step(poll, TABLES);
        break;
    case TABLES:
        if (rows)
            read_table_names(poll, rows);
        ask_step(poll, NODES);
        break;
    case NODES:
        if (rows)
            read_nodes(poll, rows);
        ask_step(poll, MEMORY);
        break;
    case MEMORY:
        if (is_denied(number) && !poll->scope.alone) {
            poll->scope.alone = true; /* the account may ask this node only */
            ask_step(poll, TABLES);
            break;
        }
        if (rows)
            read_memory(poll, rows);
        if (!poll->base && poll->done == 0)
            ask_step(poll, BASE);
        else
            ask_view(poll);
        break;
    case BASE:
        if (rows && !poll->base)
            poll->base = read_grid(TOP_DIFF, 0, rows);
        if (poll->done > 0 && !poll->base)
            fail_view(poll, *error ? error : "no memory");
        else
            ask_view(poll);
        break;
    case VIEW:
        /* keys were pressed meanwhile, and something else is wanted */
        if (poll->screen->hurry)
            ask_view(poll);
        else
            end_view(poll, rows, error);
        poll->screen->hurry = false;
        break;
    case REST:
    default:
        break;
    }
    mysql_free_result(rows);
}
