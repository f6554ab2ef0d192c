/*
 * node_poll.c - see node_poll.h.
 *
 * A view that fails is never a blank: its last rows stay, with the reason and
 * their time; if there are none, the newest kept snapshot has some, or another
 * view.  A view may cost the database what a heap profile costs, so the time
 * between two is ten times what one took, if that is more than the interval.
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
    TIMEOUT_S = 5,  /* of a node that does not answer */
    TIMES_MAX = 10, /* an answer's time goes into the interval */
    REST_MAX_S = 60,
    ER_DBACCESS_DENIED = 1044,
    ER_TABLEACCESS_DENIED = 1142,
    ER_SPECIFIC_ACCESS_DENIED = 1227
};

enum node_poll_step { REST, SETTLE, TABLES, NODES, MEMORY, BASE, VIEW };

struct look {
    struct asker *asker;
    struct screen *screen;
    enum node_poll_step step;
    enum top_number view; /* that is asked for; it may be one instead */
    struct top_scope place;
    bool has_table[TOP_NUMBERS];
    char base_name[TOP_BASE_MAX + 1];
    struct grid *base; /* of TOP_DIFF, of all nodes */
    uint64_t asked_ms, next_ms;
    uint64_t cost_ms; /* of the last view that no silent node was waited for */
    unsigned done;
    bool failed, found; /* found: the tables' list has come */
    char why[SCREEN_NOTICE_MAX];
};

struct look *
node_poll_new(struct asker *asker, struct screen *screen)
{
    struct look *look = mem_zalloc(1, sizeof(*look));

    if (look) {
        look->asker = asker;
        look->screen = screen;
    }
    return look;
}

void
node_poll_free(struct look *look)
{
    if (!look)
        return;
    grid_free(look->base);
    mem_free(look);
}

bool
node_poll_is_running(const struct look *look)
{
    return look->step != REST;
}

unsigned
node_poll_asking_s(const struct look *look)
{
    return look->step == REST
               ? 0
               : (unsigned)((clock_ms() - look->asked_ms) / 1000);
}

unsigned
node_poll_count(const struct look *look)
{
    return look->done;
}

bool
node_poll_has_failed(const struct look *look)
{
    return look->failed;
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
ask_step(struct look *look, enum node_poll_step step)
{
    struct buffer text;

    buffer_init(&text, STATEMENT_MAX);
    look->step = step;
    switch (step) {
    case SETTLE:
        buffer_format(&text, "SET SESSION heapwire_timeout = %d", TIMEOUT_S);
        break;
    case TABLES:
        buffer_text(&text, "SELECT table_name FROM information_schema.tables "
                           "WHERE table_schema = 'heapwire'");
        break;
    case NODES:
        top_view_nodes_statement(&look->place, &text);
        break;
    case MEMORY:
        top_view_memory_statement(&look->place, &text);
        break;
    case BASE:
        look->place.node = 0;
        look->place.kept = false;
        top_view_statement(TOP_DIFF, &look->place, &text);
        break;
    case VIEW:
    case REST:
    default:
        top_view_statement(look->view, &look->place, &text);
        break;
    }
    look->asked_ms = clock_ms();
    asker_ask(look->asker, text.failed || !text.data ? "DO 0" : text.data);
    buffer_fini(&text);
}

static void
end_node_poll(struct look *look, uint64_t took_ms)
{
    struct screen *s = look->screen;
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
    look->step = REST;
    look->done++;
    look->next_ms = clock_ms() + (uint64_t)(rest_s * 1000);
}

/* The view that the screen wants, or says that the node has no such table. */
static void
ask_view(struct look *look)
{
    struct screen *s = look->screen;

    look->view = s->view == TOP_DIFF && *s->base ? TOP_DIFF_KEPT : s->view;
    look->place.node = s->node;
    look->place.kept = false;
    *look->why = '\0';
    if (look->found && !look->has_table[look->view]) {
        snprintf(look->why, sizeof(look->why), "%s",
                 top_views[look->view].missing
                     ? top_views[look->view].missing
                     : "the node has no table for this view");
        if (top_views[look->view].instead < 0) {
            struct grid *none = grid_new(look->view);

            if (none) {
                grid_free(s->grid);
                s->grid = none;
            }
            snprintf(s->notice, sizeof(s->notice), "%s", look->why);
            look->failed = true;
            end_node_poll(look, 0);
            return;
        }
        look->view = (enum top_number)top_views[look->view].instead;
    }
    if (look->view == TOP_DIFF_KEPT) {
        snprintf(look->base_name, sizeof(look->base_name), "%s", s->base);
        look->place.base = look->base_name;
    }
    ask_step(look, look->view == TOP_DIFF && !look->base ? BASE : VIEW);
}

bool
node_poll_begin(struct look *look)
{
    struct screen *s = look->screen;
    bool due = s->hurry || (!s->paused && clock_ms() >= look->next_ms);

    if (look->step != REST || (!due && look->done > 0))
        return false;
    if (asker_is_new(look->asker))
        ask_step(look, SETTLE);
    else if (s->hurry && look->done > 0)
        ask_view(look);
    else
        ask_step(look, NODES);
    s->hurry = false;
    return true;
}

int
node_poll_wait_ms(const struct look *look)
{
    uint64_t now = clock_ms();

    if (look->screen->hurry)
        return 0;
    if (look->screen->paused)
        return -1;
    return look->next_ms > now ? (int)(look->next_ms - now) : 0;
}

/* ---- answers ---- */

static void
read_table_names(struct look *look, MYSQL_RES *rows)
{
    char name[64];
    MYSQL_ROW row;

    memset(look->has_table, 0, sizeof(look->has_table));
    while ((row = mysql_fetch_row(rows)))
        for (unsigned i = 0; i < TOP_NUMBERS; i++) {
            snprintf(name, sizeof(name), "%s%s",
                     top_views[i].alone || look->place.alone ? "" : "cluster_",
                     top_views[i].table);
            if (row[0] && strcmp(row[0], name) == 0)
                look->has_table[i] = true;
        }
    look->found = true;
}

static void
read_nodes(struct look *look, MYSQL_RES *rows)
{
    struct screen *s = look->screen;
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
        if (node->id != id) /* its figures stay until there are newer ones */
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
        if (look->place.alone || s->node_count == 1)
            look->place.self = id;
    }
}

static void
read_memory(struct look *look, MYSQL_RES *rows)
{
    struct screen *s = look->screen;
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
show_grid(struct look *look, struct grid *grid)
{
    struct screen *s = look->screen;
    struct grid *old = s->grid;
    bool same = old && old->number == grid->number;

    grid_derive(grid, same ? old : NULL,
                grid->number == TOP_DIFF ? look->base : NULL);
    s->grid = grid;
    screen_arrange(s);
    grid_free(old);
}

/* Another way to have rows, after why; false: there is none. */
static bool
ask_instead(struct look *look, const char *why)
{
    const struct top_view *view = &top_views[look->view];
    bool of_heap = strncmp(view->table, "heap_", 5) == 0 && !view->alone;

    snprintf(look->why, sizeof(look->why), "%s", why);
    if (of_heap && !look->place.kept && view->instead < 0 &&
        look->view != TOP_DIFF) {
        look->place.kept = true;
    } else if (view->instead >= 0) {
        look->view = (enum top_number)view->instead;
        look->place.kept = false;
    } else {
        return false;
    }
    ask_step(look, VIEW);
    return true;
}

static void
fail_view(struct look *look, const char *why)
{
    struct screen *s = look->screen;
    struct grid *none;
    char at[CLOCK_TEXT];

    /* A first reason is the better one. */
    if (!*look->why)
        snprintf(look->why, sizeof(look->why), "%s", why);
    look->failed = true;
    if (s->grid && s->grid->number == look->view && s->grid->node == s->node &&
        s->grid->rows > 0) {
        put_clock_time(s->grid->wall_ms, at, sizeof(at));
        snprintf(s->notice, sizeof(s->notice), "rows of %s UTC: %s", at,
                 look->why);
    } else {
        snprintf(s->notice, sizeof(s->notice), "%s", look->why);
        none = grid_new(look->view);
        if (none)
            show_grid(look, none);
    }
    end_node_poll(look, 0);
}

static void
end_view(struct look *look, MYSQL_RES *rows, const char *error)
{
    struct screen *s = look->screen;
    const char *warnings = asker_warnings(look->asker);
    uint64_t took_ms = clock_ms() - look->asked_ms;
    bool kept_rows = s->grid && s->grid->number == look->view &&
                     s->grid->node == s->node && s->grid->rows > 0;
    struct grid *grid;

    if (!rows) {
        if ((kept_rows && look->view == s->view) || !ask_instead(look, error))
            fail_view(look, error);
        return;
    }
    if (mysql_num_rows(rows) == 0 && !look->place.kept && !*look->why &&
        top_views[look->view].instead >= 0 &&
        ask_instead(look, *warnings ? warnings : top_views[look->view].empty))
        return;
    grid = read_grid(look->view, look->place.node, rows);
    if (!grid) {
        fail_view(look, "no memory");
        return;
    }
    show_grid(look, grid);
    snprintf(s->notice, sizeof(s->notice), "%s%s%s",
             look->place.kept ? "rows of the last kept snapshot: " : "",
             look->why, *look->why ? "" : warnings);
    look->failed = false;
    if (took_ms / 1000 < TIMEOUT_S)
        look->cost_ms = took_ms;
    end_node_poll(look, look->cost_ms);
}

/* A node's connection is lost, or none can be made. */
static void
fail_screen_update(struct look *look, const char *why)
{
    struct screen *s = look->screen;

    for (size_t i = 0; i < s->node_count; i++)
        snprintf(s->nodes[i].state, sizeof(s->nodes[i].state), "not asked");
    look->view = s->grid ? s->grid->number : s->view;
    *look->why = '\0';
    fail_view(look, why);
}

static bool
is_denied(unsigned number)
{
    return number == ER_DBACCESS_DENIED || number == ER_TABLEACCESS_DENIED ||
           number == ER_SPECIFIC_ACCESS_DENIED;
}

void
node_poll_continue(struct look *look)
{
    MYSQL_RES *rows = asker_take_rows(look->asker);
    unsigned number;
    const char *error = asker_error(look->asker, &number);

    if (*error && asker_is_new(look->asker)) {
        fail_screen_update(look, error);
        return;
    }
    switch (look->step) {
    case SETTLE:
        ask_step(look, TABLES);
        break;
    case TABLES:
        if (rows)
            read_table_names(look, rows);
        ask_step(look, NODES);
        break;
    case NODES:
        if (rows)
            read_nodes(look, rows);
        ask_step(look, MEMORY);
        break;
    case MEMORY:
        if (is_denied(number) && !look->place.alone) {
            look->place.alone = true; /* without others */
            ask_step(look, TABLES);
            break;
        }
        if (rows)
            read_memory(look, rows);
        if (!look->base && look->done == 0)
            ask_step(look, BASE);
        else
            ask_view(look);
        break;
    case BASE:
        if (rows && !look->base)
            look->base = read_grid(TOP_DIFF, 0, rows);
        if (look->done > 0 && !look->base)
            fail_view(look, *error ? error : "no memory");
        else
            ask_view(look);
        break;
    case VIEW:
        if (look->screen->hurry) /* something else is wanted by now */
            ask_view(look);
        else
            end_view(look, rows, error);
        look->screen->hurry = false;
        break;
    case REST:
    default:
        break;
    }
    mysql_free_result(rows);
}
