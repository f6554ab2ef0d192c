/*
 * dot_picture.c - see dot_picture.h.
 *
 * jeprof's labels are long, and graphviz makes the tooltip of a box from its
 * id, "N12".  Here labels are cut to a few lines, and afterwards the titles in
 * graphviz's SVG, which browsers show as tooltips, are replaced by the whole
 * name and figures.  Putting them into the source as a tooltip attribute would
 * make graphviz escape and lay out kilobytes per box.
 *
 * plugin/views/graphviz.c runs graphviz in between: dot_picture before it,
 * dot_picture_titled after it.  Names come from the program that is observed,
 * so each one is cleaned and escaped for its place.
 */
#include "dot_picture.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "buffer.h"
#include "dot_fit.h"
#include "headline.h"
#include "graph.h"
#include "profile.h"
#include "view_options.h"
#include "clean_text.h"

enum {
    NAME_BYTES = 1024,
    LABEL_COLUMNS = 96, /* of a label's name; a longer one loses its middle */
    LINE_COLUMNS = 32,
    LEGEND_COLUMNS = 100,
    LEGEND_BYTES = 4096,
    SCRATCH_MAX = 1 << 16
};

static const double font_least = 9, font_more = 13, pen_least = 0.6,
                    pen_more = 3.4;

struct painter {
    const struct profile *profile;
    const struct graph *graph;
    const struct view_options *options;
    struct buffer *out;
    struct buffer name, line; /* scratch: the current name and line, clean */
};

/* ---- texts ---- */

/* Adds text within quotes.  graphviz reads HTML's entities there, so a '&' has
 * to be one. */
static void
add_quoted_label(struct buffer *out, const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (text[i] == '"' || text[i] == '\\')
            buffer_char(out, '\\');
        buffer_char(out, text[i]);
        if (text[i] == '&')
            buffer_text(out, "amp;");
    }
}

/* The size of a name's next line, which ends behind a "::", a comma or a blank
 * if there is one. */
static size_t
line_of_name(const char *text, size_t size)
{
    size_t fits = shown_fit(text, size, LINE_COLUMNS);

    if (fits == size)
        return size;
    for (size_t i = fits; i > 1; i--)
        if (text[i - 1] == ',' || text[i - 1] == ' ' ||
            (text[i - 1] == ':' && text[i - 2] == ':'))
            return i;
    return fits;
}

/* Adds text line by line: line() gives the size of the next one, and end
 * follows each. */
static void
add_picture_lines(struct buffer *out, const struct buffer *text,
                  const char *end,
                  size_t (*line)(const char *text, size_t size))
{
    size_t size;

    for (size_t at = 0; !text->failed && at < text->size; at += size) {
        size = line(text->data + at, text->size - at);
        add_quoted_label(out, text->data + at, size);
        buffer_text(out, end);
    }
}

static size_t
line_of_legend(const char *text, size_t size)
{
    return shown_line(text, size, LEGEND_COLUMNS);
}

static void
add_picture_legend(struct painter *p, const char *text)
{
    buffer_clear(&p->line);
    shown_name(text, LEGEND_BYTES, &p->line);
    p->out->failed |= p->line.failed;
    add_picture_lines(p->out, &p->line, "\\l", line_of_legend);
}

static void
format_node_name(struct painter *p, const struct graph_node *node)
{
    buffer_clear(&p->name);
    shown_name(node->name, NAME_BYTES, &p->name);
    p->out->failed |= p->name.failed;
}

static void
add_share(struct painter *p, struct buffer *out, double value)
{
    char text[FIGURE_TEXT], part[FIGURE_TEXT];

    figure_text(value, p->options, p->profile->difference, text);
    buffer_format(out, "%s, %s", text,
                  figure_percent(value, p->graph->focus, part));
}

/* ---- the source ---- */

static double
share_of(const struct painter *p, double value)
{
    /* A difference may sum up to less than its parts, so the share is
     * limited. */
    double focus = fabs(p->graph->focus);

    return focus > 0 ? fmin(fabs(value) / focus, 1) : 0;
}

static unsigned
mix_with_white(unsigned to, double part)
{
    return (unsigned)lround(255 + (to - 255.0) * part);
}

static void
add_picture_node(struct painter *p, uint32_t i)
{
    const struct graph_node *node = &p->graph->nodes[i];
    double part = sqrt(share_of(p, node->flat));
    bool shrank = node->flat < 0;
    struct buffer *out = p->out;

    format_node_name(p, node);
    buffer_clear(&p->line);
    if (p->name.size)
        shown_middle(p->name.data, p->name.size, LABEL_COLUMNS, &p->line);
    p->out->failed |= p->line.failed;
    buffer_format(out, "N%u [label=\"", i + 1);
    add_picture_lines(out, &p->line, "\\n", line_of_name);
    add_share(p, out, node->flat);
    if (node->flat != node->cumulative) {
        buffer_text(out, "\\nof ");
        add_share(p, out, node->cumulative);
    }
    buffer_format(out, "\",fontsize=%.1f,fillcolor=\"#%02x%02x%02x\"];\n",
                  font_least + font_more * part,
                  mix_with_white(shrank ? 0x86 : 0xf4, part),
                  mix_with_white(shrank ? 0xb4 : 0x9a, part),
                  mix_with_white(shrank ? 0xf0 : 0x6e, part));
}

static void
add_picture_edge(struct painter *p, const struct graph_edge *edge)
{
    bool inlined = strstr(p->graph->nodes[edge->callee].name, "(inline)");
    double part = share_of(p, edge->value);
    char text[FIGURE_TEXT];

    figure_text(edge->value, p->options, p->profile->difference, text);
    buffer_format(
        p->out, "N%u -> N%u [label=\"%s\",weight=%d,penwidth=%.2f%s];\n",
        edge->caller + 1, edge->callee + 1, text, 1 + (int)(100 * part),
        pen_least + pen_more * part, inlined ? ",style=dashed" : "");
}

static void
add_picture_head(struct painter *p)
{
    bool heap = p->profile->kind == PROFILE_HEAP;
    struct buffer *out = p->out;
    char text[FIGURE_TEXT], why[EMPTINESS_TEXT];

    buffer_format(out, "digraph %s {\n", heap ? "heap" : "time");
    buffer_text(out,
                "graph [fontname=\"Helvetica,DejaVu Sans,sans-serif\","
                "fontsize=12,labelloc=t,labeljust=l,ranksep=0.35,label=\"");
    buffer_clear(&p->name);
    headline_add(&p->name, p->profile, p->options, NAME_BYTES);
    out->failed |= p->name.failed;
    if (p->name.size)
        add_quoted_label(out, p->name.data, p->name.size);
    buffer_text(out, "\\l");
    add_picture_legend(
        p, p->profile->difference
               ? "Boxes: larger and darker, the more it changed itself; "
                 "red grew, blue shrank; \"of\": with what it called"
           : heap ? "Boxes: larger and darker, the more it holds itself; "
                    "\"of\": with what it called"
                  : "Boxes: larger and darker, the more time was in it "
                    "itself; \"of\": with what it called");
    add_picture_legend(
        p, heap ? "Arrows: what was asked for through that call; "
                  "dashed: the function was inlined"
                : "Arrows: the time of that call; dashed: the function "
                  "was inlined");
    figure_text(p->graph->node_limit, p->options, false, text);
    buffer_format(out, "Left out: functions of at most %s", text);
    figure_text(p->graph->edge_limit, p->options, false, text);
    buffer_format(out, ", calls of at most %s\\l", text);
    add_picture_legend(p, emptiness_text(p->profile, p->options,
                                         p->graph->node_count > 0, why));
    if (p->profile->truncated)
        add_picture_legend(p, "The profile was cut off");
    add_picture_legend(p, p->profile->memory);
    add_picture_legend(p, p->profile->note);
    buffer_text(out, "\"];\n"
                     "node [shape=box,style=filled,color=\"#777777\","
                     "fontname=\"Helvetica,DejaVu Sans,sans-serif\","
                     "width=0.4,height=0.25,margin=\"0.09,0.05\"];\n"
                     "edge [fontname=\"Helvetica,DejaVu Sans,sans-serif\","
                     "fontsize=9,color=\"#555555\",arrowsize=0.6];\n");
}

static struct painter
painter_of(const struct profile *profile, const struct graph *graph,
           const struct view_options *options, struct buffer *out)
{
    struct painter p = {profile, graph, options, out, .name = {0}};

    buffer_init(&p.name, SCRATCH_MAX);
    buffer_init(&p.line, SCRATCH_MAX);
    return p;
}

static void
painter_fini(struct painter *p)
{
    buffer_fini(&p->name);
    buffer_fini(&p->line);
}

/* Adds what the profile lacks as a box without arrows.  graphviz makes the id
 * of a node its title, so the id says what it is. */
static void
add_picture_unseen_node(struct painter *p)
{
    double unseen = unshown_bytes(p->profile, p->options);
    double part = sqrt(fmin(unseen / p->profile->bytes, 1));
    char text[FIGURE_TEXT];

    if (unseen <= 0)
        return;
    figure_text(unseen, p->options, false, text);
    buffer_format(p->out, "\"");
    unshown_add(p->out, p->profile, p->options, "");
    buffer_format(p->out,
                  "\" [label=\"" UNSHOWN_NAME
                  "\\n%s\",fontsize=%.1f,fillcolor=\"" UNSHOWN_COLOR "\"];\n",
                  text, font_least + font_more * part);
}

void
dot_picture(const struct profile *profile, const struct graph *graph,
            const struct view_options *options, struct buffer *out)
{
    struct painter p = painter_of(profile, graph, options, out);

    add_picture_head(&p);
    for (uint32_t i = 0; i < graph->node_count; i++)
        add_picture_node(&p, i);
    add_picture_unseen_node(&p);
    for (size_t i = 0; i < graph->edge_count; i++)
        add_picture_edge(&p, &graph->edges[i]);
    buffer_text(out, "}\n");
    painter_fini(&p);
}

/* ---- titles ---- */

/* Parses "N12" at *at into the index of a node; false: there is no such
 * node. */
static bool
take_node(const struct graph *graph, const char **at, uint32_t *number)
{
    char *end;
    unsigned long n;

    if (**at != 'N')
        return false;
    n = strtoul(*at + 1, &end, 10);
    if (n == 0 || n > graph->node_count)
        return false;
    *at = end;
    *number = (uint32_t)n - 1;
    return true;
}

static double
edge_value_between(const struct graph *graph, uint32_t caller, uint32_t callee)
{
    for (size_t i = 0; i < graph->edge_count; i++)
        if (graph->edges[i].caller == caller &&
            graph->edges[i].callee == callee)
            return graph->edges[i].value;
    return 0;
}

static void
add_title_name(struct painter *p, uint32_t i)
{
    format_node_name(p, &p->graph->nodes[i]);
    if (p->name.size)
        xml_text(p->name.data, p->name.size, p->out);
}

/* Writes what a <title> with that id is to say: a node's "N12", or an edge's
 * "N12&#45;&gt;N13".  False: it is neither. */
static bool
add_title(struct painter *p, const char *id)
{
    static const char arrow[] = "&#45;&gt;";
    const struct graph_node *node;
    uint32_t first, second;

    if (!take_node(p->graph, &id, &first))
        return false;
    node = &p->graph->nodes[first];
    if (*id == '<') {
        add_title_name(p, first);
        buffer_text(p->out, "\nitself ");
        add_share(p, p->out, node->flat);
        buffer_text(p->out, "\nwith what it called ");
        add_share(p, p->out, node->cumulative);
        return true;
    }
    if (strncmp(id, arrow, sizeof(arrow) - 1) != 0)
        return false;
    id += sizeof(arrow) - 1;
    if (!take_node(p->graph, &id, &second) || *id != '<')
        return false;
    add_title_name(p, first);
    buffer_text(p->out, "\ncalls ");
    add_title_name(p, second);
    buffer_char(p->out, '\n');
    add_share(p, p->out, edge_value_between(p->graph, first, second));
    return true;
}

void
dot_picture_titled(const struct profile *profile, const struct graph *graph,
                   const struct view_options *options, const char *svg,
                   size_t size, struct buffer *out)
{
    static const char open[] = "<title>", close[] = "</title>";
    struct painter p = painter_of(profile, graph, options, out);
    const char *at = svg, *end = svg + size, *title;

    while ((title = memmem(at, (size_t)(end - at), open, sizeof(open) - 1))) {
        const char *behind =
            memmem(title, (size_t)(end - title), close, sizeof(close) - 1);

        if (!behind)
            break;
        title += sizeof(open) - 1;
        dot_fit_texts(at, (size_t)(title - at), out);
        /* A title that is not ours, like the graph's, stays. */
        at = add_title(&p, title) ? behind : title;
    }
    dot_fit_texts(at, (size_t)(end - at), out);
    painter_fini(&p);
}
