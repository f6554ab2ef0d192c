/*
 * layout.c - makes the lines that heapwire top shows, for any size of a
 * terminal.
 *
 * From the top: the memory of the nodes, a line each while there is room; a
 * line for the view, with what is missing and why; the titles; the rows; the
 * keys.  A small terminal keeps rows before the rest.  Nodes in trouble come
 * before others if not all have room, and a figure that does not fit is dropped
 * whole, because half of a number reads as another number.
 */
#include <stdio.h>
#include <string.h>

#include "grid.h"
#include "screen.h"

enum {
    TEXT_MIN = 8,   /* columns that the last column has at least */
    BAR = 20,       /* cells of the bar in a node's line */
    BAR_FROM = 70,  /* narrower terminals get no bar */
    KEYS_FROM = 95, /* narrower terminals show only the first keys */
    /* with a notice, lines from which the view has its line too */
    BOTH_FROM = 9,
    NODES_PART = 3, /* nodes take a third of the lines at most */
};

static const char *const help_lines[] = {
    "1 to 6, Tab       functions, threads, running, waste, diff, diagnosis",
    "arrows, PgUp/Dn   move; left and right move the last column",
    "< >, F6           sort by the column before, behind;  I the other way",
    "/, F3             search; F3 in it: the next one",
    "\\, F4             show only rows with a text; empty: all",
    "space, U          mark a row; unmark all",
    "n, a              next node; all nodes",
    "d, p, r           seconds between two looks; pause; look now",
    "b                 diff: since which snapshot (empty: since the start)",
    "q, F10            quit",
    "",
    "A node's bar: # in use, + other pages of it, - free or jemalloc's own,",
    ". not jemalloc's; the whole is its limit, or the largest RSS of all.",
    "+- is a standard error: what is less than twice that may be chance.",
};
enum { HELP_LINES = sizeof(help_lines) / sizeof(help_lines[0]) };

void
screen_arrange(struct screen *s)
{
    if (!s->grid)
        return;
    grid_arrange(s->grid, s->sort[s->grid->number],
                 s->ascending[s->grid->number], s->filter);
    if (s->chosen >= s->grid->shown)
        s->chosen = s->grid->shown ? s->grid->shown - 1 : 0;
    s->rearrange = false;
}

/* ---- nodes ---- */

/* Writes a figure.  If it has no room the line ends there: a figure further
 * right, without this one before it, could be taken for this one. */
static void
put_memory_figure(const char *name, double bytes, struct screen_line *line)
{
    char figure[FIGURE_TEXT] = "?", text[FIGURE_TEXT * 2];

    if (bytes >= 0)
        figure_bytes(bytes, figure);
    snprintf(text, sizeof(text), " %s %s", name, figure);
    if (line->width + strlen(text) <= line->max)
        line_text(line, text);
    else
        line->max = line->width;
}

static void
put_bar(const struct screen_node *node, double scale, struct screen_line *line)
{
    const double ends[] = {node->allocated, node->active, node->resident,
                           node->rss};
    char bar[BAR + 4] = " [";
    double whole = node->limit > 0 ? node->limit : scale;

    for (unsigned i = 0; i < BAR; i++) {
        double at = (i + .5) * whole / BAR;

        bar[i + 2] = ' ';
        for (unsigned k = 0; k < 4 && bar[i + 2] == ' ' && whole > 0; k++)
            if (at < ends[k] && (k == 3 || at < node->rss || node->rss < 0))
                bar[i + 2] = "#+-."[k];
    }
    bar[BAR + 2] = ']';
    bar[BAR + 3] = '\0';
    line_text(line, bar);
}

void
screen_node_line(const struct screen_node *node, double scale,
                 struct screen_line *line)
{
    bool well = strcmp(node->state, "connected") == 0,
         hung = strcmp(node->state, "unresponsive") == 0;
    char id[24];

    snprintf(id, sizeof(id), "%llu", (unsigned long long)node->id);
    line_text(line, id);
    if (!well) {
        line->style = SCREEN_TROUBLE;
        line_text(line, " ");
        line_text(line, *node->state ? node->state : "state unknown");
    }
    if (line->max >= BAR_FROM && (node->rss >= 0 || node->resident >= 0))
        put_bar(node, scale, line);
    if (node->rss >= 0 || well) {
        if (!well && !hung) /* no process answers: these are older figures */
            line_text(line, " last");
        put_memory_figure("rss", node->rss, line);
        if (node->limit > 0)
            put_memory_figure("of", node->limit, line);
        put_memory_figure(hung ? "last alloc" : "alloc", node->allocated, line);
        put_memory_figure("active", node->active, line);
        put_memory_figure("resident", node->resident, line);
    }
    if (!well && *node->error) {
        line_text(line, ": ");
        line_text(line, node->error);
    }
}

static bool
node_is_chosen(const struct screen *s, const struct screen_node *node)
{
    return !s->node || s->node == node->id;
}

/* Writes the lines of the nodes that are chosen, and how many have no room.  If
 * not all fit, the first pass takes those in trouble. */
static unsigned
lay_nodes(const struct screen *s, struct screen_line *lines, unsigned room)
{
    size_t count = 0;
    double scale = 0;
    unsigned n = 0, most;
    bool all;

    for (size_t i = 0; i < s->node_count; i++) {
        scale = s->nodes[i].rss > scale ? s->nodes[i].rss : scale;
        count += node_is_chosen(s, &s->nodes[i]);
    }
    all = count <= room;
    most = all || room == 1 ? room : room - 1;
    for (int pass = 0; pass < (all ? 1 : 2); pass++)
        for (size_t i = 0; i < s->node_count && n < most; i++) {
            const struct screen_node *node = &s->nodes[i];
            bool well = strcmp(node->state, "connected") == 0;

            if (!node_is_chosen(s, node) || (!all && well != (pass == 1)))
                continue;
            line_start(&lines[n], SCREEN_HEAD, s->width);
            screen_node_line(node, scale, &lines[n++]);
        }
    if (n < room && n < count) {
        char more[64];

        snprintf(more, sizeof(more), "and %zu nodes more (n: one by one)",
                 count - n);
        line_start(&lines[n], SCREEN_HEAD, s->width);
        line_text(&lines[n++], more);
    }
    return n;
}

/* ---- the view ---- */

/* Drops columns of the highest rank until the last column has TEXT_MIN. */
unsigned
screen_widths(const struct top_view *view, unsigned width,
              unsigned char *widths)
{
    unsigned used = 0, last = view->count - 1U, worst;

    for (unsigned i = 0; i < last; i++) {
        widths[i] = view->columns[i].width;
        used += widths[i] + 1U;
    }
    while (used + TEXT_MIN > width) {
        worst = last;
        for (unsigned i = 0; i < last; i++)
            if (widths[i] && (worst == last || view->columns[i].rank >=
                                                   view->columns[worst].rank))
                worst = i;
        if (worst == last)
            break;
        used -= widths[worst] + 1U;
        widths[worst] = 0;
    }
    return used < width ? width - used : 0;
}

static void
format_cell(const struct top_column *column, double number, char *out)
{
    switch (column->kind) {
    case TOP_BYTES:
    case TOP_GROWN:
    case TOP_GROWN_ERROR:
        figure_bytes(number, out);
        break;
    case TOP_COUNT:
        figure_count(number, out);
        break;
    case TOP_TIME:
        figure_time(number, out);
        break;
    default:
        figure_percent(number, out);
        break;
    }
}

void
screen_row(const struct grid *grid, size_t row, bool titles,
           const unsigned char *widths, unsigned shift,
           struct screen_line *line)
{
    const struct top_view *view = grid->view;
    unsigned last = view->count - 1U;
    char figure[FIGURE_TEXT];

    for (unsigned i = 0; i <= last; i++) {
        const struct top_column *column = &view->columns[i];
        const struct grid_cell *cell = titles ? NULL : grid_at(grid, row, i);
        struct span text = {column->title, strlen(column->title)};

        if (i < last && !widths[i])
            continue;
        if (cell)
            text = cell->text;
        if (!text.data) /* the figure is not known */
            text = (struct span){"-", 1};
        if (cell && cell->text.data && column->kind != TOP_TEXT) {
            format_cell(column, cell->number, figure);
            text = (struct span){figure, strlen(figure)};
        }
        if (i == last)
            line_add(line, text, titles ? 0 : shift, line->max);
        else if (column->kind == TOP_TEXT)
            line_left(line, text, widths[i]);
        else
            line_right(line, text.data, widths[i]);
        if (i < last)
            line_fill(line, line->width + 1);
    }
}

static bool
row_is_marked(const struct screen *s, size_t row)
{
    uint64_t key = grid_row_key(s->grid, row);

    for (size_t i = 0; i < s->mark_count; i++)
        if (s->marks[i] == key)
            return true;
    return false;
}

static void
lay_rows(struct screen *s, struct screen_line *lines, unsigned room)
{
    unsigned char widths[TOP_COLUMNS_MAX] = {0};
    size_t shown = s->grid->shown;

    screen_widths(s->grid->view, s->width, widths);
    if (room > 1) { /* a title line, if a row fits below it */
        screen_row(s->grid, 0, true, widths, 0, &lines[0]);
        line_fill(&lines[0], s->width);
        lines[0].style = SCREEN_TITLES;
        lines++;
        room--;
    }
    if (s->chosen < s->first)
        s->first = s->chosen;
    if (room > 0 && s->chosen >= s->first + room)
        s->first = s->chosen - room + 1;
    if (s->first + room > shown)
        s->first = shown > room ? shown - room : 0;
    for (unsigned i = 0; i < room && s->first + i < shown; i++) {
        size_t row = s->grid->order[s->first + i];

        if (row_is_marked(s, row))
            lines[i].style = SCREEN_MARKED;
        if (s->first + i == s->chosen)
            lines[i].style = SCREEN_CHOSEN;
        screen_row(s->grid, row, false, widths, s->shift, &lines[i]);
        line_fill(&lines[i], s->width);
    }
    if (shown == 0 && room > 0)
        line_text(&lines[0],
                  *s->filter ? "no row has that text" : "there are no rows");
}

/* Writes the line of the view: what is shown, of which nodes, in which order.
 */
static void
lay_view_line(const struct screen *s, struct screen_line *line)
{
    const struct top_view *view = s->grid ? s->grid->view : &top_views[s->view];
    char text[256], nodes[32] = "all nodes";

    if (s->node)
        snprintf(nodes, sizeof(nodes), "node %llu",
                 (unsigned long long)s->node);
    snprintf(text, sizeof(text), "%s, %s%s, by %s%s%s%s%s%s", view->name, nodes,
             s->grid && s->grid->cut ? " (the largest rows)" : "",
             view->columns[s->sort[view - top_views]].title,
             s->ascending[view - top_views] ? " upwards" : "",
             *s->filter ? ", with " : "", s->filter,
             s->view == TOP_DIFF ? ", since " : "",
             s->view != TOP_DIFF ? ""
             : *s->base          ? s->base
                                 : "the start of top");
    line_text(line, text);
}

static void
lay_keys(const struct screen *s, struct screen_line *line)
{
    static const char *const asks[] = {
        [PROMPT_SEARCH] = "search: ",
        [PROMPT_FILTER] = "only rows with: ",
        [PROMPT_INTERVAL] = "seconds: ",
        [PROMPT_BASE] = "since snapshot: ",
    };
    char asks_for[32];

    line->style = SCREEN_KEYS;
    if (s->prompt != PROMPT_NONE) {
        line_text(line, asks[s->prompt]);
        line_text(line, s->input);
        line_text(line, "_");
        return;
    }
    line_text(line, s->width < KEYS_FROM
                        ? "F1 help  q quit"
                        : "F1 help  1-6 views  F3 search  F4 filter  F6 sort  "
                          "n node  q quit");
    line_text(line, s->paused ? "  PAUSED  " : "  ");
    if (s->asking_s > 0) {
        snprintf(asks_for, sizeof(asks_for), "asking for %u s; ", s->asking_s);
        line_text(line, asks_for);
    }
    line_text(line, s->status);
}

void
screen_layout(struct screen *s, struct screen_line *lines)
{
    unsigned at = 0, foot = s->height > 3 ? 1 : 0, nodes;

    for (unsigned i = 0; i < s->height; i++)
        line_start(&lines[i], SCREEN_PLAIN, s->width);
    if (s->help) {
        for (; at < s->height && at < HELP_LINES; at++)
            line_text(&lines[at], help_lines[at]);
        return;
    }
    nodes = s->height / NODES_PART;
    if (s->height > 2)
        at = lay_nodes(s, lines, nodes ? nodes : 1);
    if (*s->notice && s->height > 1) {
        lines[at].style = SCREEN_TROUBLE;
        line_text(&lines[at++], s->notice);
    }
    if (s->height > (*s->notice ? BOTH_FROM : 4))
        lay_view_line(s, &lines[at++]);
    if (s->prompt != PROMPT_NONE && s->height > 0)
        foot = 1;
    if (s->grid && at + foot < s->height)
        lay_rows(s, lines + at, s->height - at - foot);
    else if (at + foot < s->height)
        line_text(&lines[at], *s->notice ? "" : "waiting for the node");
    if (foot)
        lay_keys(s, &lines[s->height - 1]);
}
