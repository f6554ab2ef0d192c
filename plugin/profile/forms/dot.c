/*
 * dot.c - see forms.h.
 *
 * jeprof's graph, for tools and eyes that are used to it: the same lines in the
 * same order with the same rounding, down to its abbreviated units, so that
 * outputs can be compared by diff.  The differences are those that safety
 * needs.  A name may hold anything and is escaped, cut and cleaned for a quoted
 * label; and a legend says why a graph is empty.
 *
 * graph.c does the work; this only prints, one line per node and edge.
 * dot_picture.c draws the graph for people.
 */
#include "forms.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "ascii.h"
#include "buffer.h"
#include "headline.h"
#include "errors.h"
#include "graph.h"
#include "profile.h"
#include "view_options.h"

enum {
    WEIGHT_MAX = 100000, /* graphviz crashes on larger weights */
    /* of the lines that jeprof does not have; its font is large */
    LEGEND_COLUMNS = 50
};

/* The size of the UTF-8 character at s, or 0 if it is invalid. */
static size_t
utf8_character_size(const char *s, size_t left)
{
    const unsigned char *c = (const unsigned char *)s;
    size_t size;

    if (c[0] < 0x80)
        return 1;
    size = c[0] >= 0xc2 && c[0] < 0xe0   ? 2
           : c[0] >= 0xe0 && c[0] < 0xf0 ? 3
           : c[0] >= 0xf0 && c[0] < 0xf5 ? 4
                                         : 0;
    if (size == 0 || size > left)
        return 0;
    for (size_t i = 1; i < size; i++)
        if (c[i] < 0x80 || c[i] > 0xbf)
            return 0;
    if ((c[0] == 0xe0 && c[1] < 0xa0) || (c[0] == 0xed && c[1] > 0x9f) ||
        (c[0] == 0xf0 && c[1] < 0x90) || (c[0] == 0xf4 && c[1] > 0x8f))
        return 0; /* overlong, a surrogate, or above U+10FFFF */
    return size;
}

/* Adds one character of a name; '?' if a label cannot hold it.  size is 0 for a
 * byte that begins no valid character. */
static void
add_character(struct buffer *out, const char *s, size_t size)
{
    if (size == 0 || (unsigned char)*s < ' ' || *s == 0x7f) {
        buffer_char(out, '?');
        return;
    }
    if (*s == '"' || *s == '\\')
        buffer_char(out, '\\');
    buffer_add(out, s, size);
}

/* Where to cut a name: between characters, of at most four bytes each. */
static const char *
dot_name_end(const char *name)
{
    const char *end = name + strnlen(name, DOT_NAME_MAX);

    if (*end)
        for (int i = 0; i < 3 && ((unsigned char)*end & 0xc0) == 0x80; i++)
            end--;
    return end;
}

/* Adds a name within quotes.  In a label, a blank or "::" begins a new line, as
 * in jeprof's. */
static void
add_dot_name(struct buffer *out, const char *name, bool label)
{
    const char *end = dot_name_end(name);
    size_t size;

    while (name < end) {
        if (label && is_blank(*name)) {
            buffer_text(out, "\\n");
            while (name < end && is_blank(*name))
                name++;
        } else if (label && end - name > 1 && name[0] == ':' &&
                   name[1] == ':') {
            buffer_text(out, "\\n");
            name += 2;
        } else {
            size = utf8_character_size(name, (size_t)(end - name));
            add_character(out, name, size);
            name += size ? size : 1;
        }
    }
    if (*end)
        buffer_text(out, "...");
}

static void
add_dot_legend_line(struct buffer *out, const char *line)
{
    if (*line == '\0')
        return;
    add_dot_name(out, line, false);
    buffer_text(out, "\\l");
}

/* The distance to the next blank, or to the end. */
static size_t
word_size(const char *text)
{
    return strcspn(text, " ");
}

/* Adds the memory's text: its parts, which "; " separates, become lines, and
 * long ones are broken. */
static void
add_dot_memory(struct buffer *out, const char *memory)
{
    size_t left = strlen(memory), column = 0, size;

    for (; left > 0; memory += size, left -= size) {
        if (left > 2 && memory[0] == ';' && memory[1] == ' ') {
            buffer_text(out, "\\l");
            column = 0;
            size = 2;
        } else if (*memory == ' ' &&
                   column + 1 + word_size(memory + 1) > LEGEND_COLUMNS) {
            buffer_text(out, "\\l    ");
            column = 4;
            size = 1;
        } else {
            size = utf8_character_size(memory, left);
            add_character(out, memory, size);
            size = size ? size : 1;
            column++;
        }
    }
    buffer_text(out, "\\l");
}

static void
add_dot_head(struct buffer *out, const struct profile *profile,
             const struct graph *graph, const struct view_options *options)
{
    const char *unit = figure_unit(options);
    char value[FIGURE_TEXT], why[EMPTINESS_TEXT];

    buffer_text(out, "digraph \"");
    add_dot_name(out, profile->program, false);
    buffer_format(out, "; %s %s\" {\n",
                  figure_value(graph->total, options, value), unit);
    buffer_text(out, "node [width=0.375,height=0.25];\n");
    buffer_text(out, "Legend [shape=box,fontsize=24,shape=plaintext,label=\"");
    add_dot_name(out, profile->program, false);
    buffer_format(out, "\\lTotal %s: %s\\l", unit,
                  figure_value(graph->total, options, value));
    buffer_format(out, "Focusing on: %s\\l",
                  figure_value(graph->focus, options, value));
    buffer_format(out, "Dropped nodes with <= %s abs(%s)\\l",
                  figure_value(graph->node_limit, options, value), unit);
    buffer_format(out, "Dropped edges with <= %s %s\\l",
                  figure_value(graph->edge_limit, options, value), unit);
    if (*emptiness_text(profile, options, graph->node_count > 0, why))
        buffer_format(out, "%s\\l", why);
    if (profile->truncated)
        buffer_text(out, "The profile was cut off\\l");
    if (*profile->memory)
        add_dot_memory(out, profile->memory);
    add_dot_legend_line(out, profile->note);
    buffer_text(out, "\"];\n");
}

static void
add_dot_node(struct buffer *out, const struct graph *graph,
             const struct view_options *options, uint32_t i)
{
    const struct graph_node *node = &graph->nodes[i];
    char value[FIGURE_TEXT], part[FIGURE_TEXT];
    double size = 8;

    if (graph->focus > 0)
        size += 50.0 * sqrt(fabs(node->flat / graph->focus));
    buffer_format(out, "N%u [label=\"", i + 1);
    add_dot_name(out, node->name, true);
    buffer_format(out, "\\n%s (%s)", figure_value(node->flat, options, value),
                  figure_percent(node->flat, graph->focus, part));
    if (node->flat != node->cumulative)
        buffer_format(out, "\\rof %s (%s)",
                      figure_value(node->cumulative, options, value),
                      figure_percent(node->cumulative, graph->focus, part));
    buffer_format(out, "\\r\",shape=box,fontsize=%.1f];\n", size);
}

static void
add_dot_edge(struct buffer *out, const struct graph *graph,
             const struct view_options *options, const struct graph_edge *edge)
{
    double part = graph->focus != 0 ? fabs(edge->value / graph->focus) : 0;
    double width = fmin(3 * part, 1) * 2;
    /* Time is weighed in milliseconds: in nanoseconds all weights would reach
     * WEIGHT_MAX. */
    double weighed = edge->value / (options->measure == MEASURE_TIME ? 1e6 : 1);
    double weight = fmin(pow(fabs(weighed), 0.7), WEIGHT_MAX);
    bool inlined = strstr(graph->nodes[edge->callee].name, "(inline)");
    char value[FIGURE_TEXT];

    buffer_format(out,
                  "N%u -> N%u [label=%s, weight=%d, "
                  "style=\"setlinewidth(%f)%s\"];\n",
                  edge->caller + 1, edge->callee + 1,
                  figure_value(edge->value, options, value), (int)weight, width,
                  inlined ? ",dashed" : "");
}

static void
add_dot_unseen_node(struct buffer *out, const struct profile *profile,
                    const struct view_options *options)
{
    double unseen = unshown_bytes(profile, options);
    double size = 8 + 50 * sqrt(fmin(unseen / profile->bytes, 1));
    char value[FIGURE_TEXT];

    if (unseen > 0)
        buffer_format(out,
                      "Unseen [label=\"" UNSHOWN_NAME "\\n%s\",shape=box,"
                      "style=filled,fillcolor=\"" UNSHOWN_COLOR
                      "\",fontsize=%.1f];\n",
                      figure_value(unseen, options, value), size);
}

int
dot_write(const struct profile *profile, const struct view_options *options,
          struct buffer *out, struct error *err)
{
    struct view_options jeprofs = profile_view(profile, options);
    struct graph *graph;

    jeprofs.jeprof_names = true;
    options = &jeprofs;
    graph = graph_new(profile, options, err);
    if (!graph)
        return -1;
    add_dot_head(out, profile, graph, options);
    for (uint32_t i = 0; i < graph->node_count; i++)
        add_dot_node(out, graph, options, i);
    add_dot_unseen_node(out, profile, options);
    for (size_t i = 0; i < graph->edge_count; i++)
        add_dot_edge(out, graph, options, &graph->edges[i]);
    buffer_text(out, "}\n");
    graph_free(graph);
    if (out->failed) {
        error_set(err, ER_OUT_OF_MEMORY,
                  "the graph is larger than %zu bytes or memory ran out",
                  out->max);
        return -1;
    }
    return 0;
}
