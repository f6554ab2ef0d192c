/*
 * flamegraph.c - see flamegraph.h.
 *
 * The SVG has to work in three places: in a browser, where its script draws
 * anew for zoom and search; in viewers without scripts; and as a picture in a
 * document.  So C draws all frames, at a fixed width and with texts cut to it,
 * and appends the data of calls.c with the script.  A script alone would show
 * nothing in the second case, and a picture alone cannot be zoomed.
 *
 * At most FLAMEGRAPH_FRAMES_MAX frames are drawn, the widest: browsers become
 * slow beyond.  Colors come from a hash of the name, so equal profiles give
 * equal files.  Called on the thread that renders the view.
 */
#include "flamegraph.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "buffer.h"
#include "call_tree.h"
#include "calls.h"
#include "headline.h"
#include "errors.h"
#include "memory.h"
#include "profile.h"
#include "view_options.h"
#include "clean_text.h"

/* In pixels.  WIDTH is that of the picture without its script. */
enum {
    WIDTH = 1200,
    MARGIN = 10,
    ROW = 17, /* a frame and the gap above it */
    FRAME = 16,
    TITLE_BASE = 28,
    NOTE_BASE = 48,
    NOTE_ROW = 16,
    BAR = 8,
    FOOT = 34,
    PAD = 3,
    NOTE_COLUMNS = 100,
    NOTES_MAX = 8,
    TITLE_BYTES = 100,
    COLOR_TEXT = sizeof("#rrggbb")
};

static const double narrowest = 0.1;   /* width of a frame that is drawn */
static const double char_width = 7.25; /* of the monospaced font at 12 px */
static const double gap = 0.5;         /* between two frames */

struct drawing {
    const struct profile *profile;
    struct view_options options;
    struct call_tree *tree;
    struct buffer *out;
    /* scratch: texts of the current frame, clean */
    struct buffer name, figures;
    /* by node: its left edge, in the unit of the weights */
    double *x;
    struct call_tree_cut cut;
    uint32_t dropped;
    double width; /* of the root; the rest shows what the profile lacks */
    int top;      /* y of the highest frame, less FRAME */
};

/* ---- colors ---- */

static uint32_t
hash_frame_name(const char *name)
{
    /* FNV-1a, not seeded: the picture is the same every time */
    uint32_t h = 2166136261U;

    for (; *name; name++)
        h = (h ^ (unsigned char)*name) * 16777619U;
    return h ^ h >> 15;
}

/* hue in degrees, saturation and lightness from 0 to 1. */
static void
color_text(double hue, double saturation, double lightness, char *out)
{
    double rgb[3];

    for (int i = 0; i < 3; i++) {
        double k = fmod((i == 0 ? 0 : i == 1 ? 8 : 4) + hue / 30, 12);
        double a = saturation * fmin(lightness, 1 - lightness);

        rgb[i] = lightness - a * fmax(-1, fmin(fmin(k - 3, 9 - k), 1));
    }
    snprintf(out, COLOR_TEXT, "#%02x%02x%02x",
             (unsigned)lround(rgb[0] * 255) & 0xff,
             (unsigned)lround(rgb[1] * 255) & 0xff,
             (unsigned)lround(rgb[2] * 255) & 0xff);
}

/* Equal names have equal colors.  In a difference the color shows the direction
 * of the change, and how large it is beside the largest. */
static void
color_of(const struct profile *profile, const struct call_tree *tree,
         uint32_t i, char out[COLOR_TEXT])
{
    const struct call_tree_node *node = &tree->nodes[i];
    uint32_t h = hash_frame_name(node->name);
    double part;

    if (profile->difference) {
        if (node->total == 0 || call_tree_is_noise(tree, node)) {
            color_text(0, 0, 0.91, out);
            return;
        }
        part = sqrt(fabs(node->total) / tree->heaviest);
        color_text(node->total > 0 ? 8 : 215, 0.85, 0.93 - 0.3 * part, out);
    } else if (i == 0 || strcmp(node->name, "(no frames)") == 0) {
        color_text(0, 0, 0.85, out);
    } else { /* as on brendangregg.com: green for memory, orange for time */
        color_text(profile->kind == PROFILE_HEAP ? 80 + h % 75 : 5 + h % 50,
                   0.42 + (h >> 8) % 100 / 500.0,
                   0.66 + (h >> 16) % 100 / 900.0, out);
    }
}

/* ---- frames ---- */

static void
choose_drawn_frames(struct drawing *d)
{
    const struct call_tree *tree = d->tree;
    double unseen = unshown_bytes(d->profile, &d->options);

    d->width = WIDTH - 2 * MARGIN;
    if (unseen > 0)
        d->width *= tree->nodes[0].changed / (tree->nodes[0].changed + unseen);
    d->cut =
        call_tree_cut_at(tree, tree->nodes[0].changed * narrowest / d->width,
                         FLAMEGRAPH_FRAMES_MAX);
    /* With a total of 0 nothing is drawn, and there is nothing to report as too
     * narrow. */
    d->dropped = tree->nodes[0].changed > 0 ? tree->count - d->cut.kept : 0;
}

/* Parents come before their children in the list, so one pass suffices. */
static void
lay_out(struct drawing *d)
{
    const struct call_tree_node *nodes = d->tree->nodes;

    for (uint32_t i = 0; i < d->tree->count; i++) {
        double x = d->x[i];

        for (uint32_t k = nodes[i].child; k; k = nodes[k].next) {
            d->x[k] = x;
            x += nodes[k].changed;
        }
    }
}

/* Draws note in lines of at most NOTE_COLUMNS, broken at blanks.  Returns the y
 * behind it. */
static int
add_flamegraph_note(struct drawing *d, const char *note, int y)
{
    struct buffer *text = &d->name;
    size_t at = 0;

    buffer_clear(text);
    shown_name(note, (size_t)NOTE_COLUMNS * NOTES_MAX, text);
    if (text->failed)
        d->out->failed = true;
    while (!d->out->failed && at < text->size) {
        size_t size =
            shown_line(text->data + at, text->size - at, NOTE_COLUMNS);

        buffer_format(d->out, "<text class=\"note middle\" x=\"%d\" y=\"%d\">",
                      WIDTH / 2, y);
        xml_text(text->data + at, size, d->out);
        buffer_text(d->out, "</text>\n");
        at += size;
        y += NOTE_ROW;
    }
    return y;
}

static const char style[] =
    "text{font:12px ui-monospace,\"DejaVu Sans Mono\",Menlo,Consolas,"
    "monospace;fill:#1b1b1b}\n"
    "#title{font:600 17px system-ui,\"DejaVu Sans\",Verdana,sans-serif}\n"
    ".note{fill:#666}\n"
    ".middle{text-anchor:middle}\n"
    "#frames text{pointer-events:none}\n"
    "#frames g:hover rect{stroke:#1b1b1b;stroke-width:1}\n";

static int
height_of(const struct drawing *d, int bar)
{
    return bar + BAR + (int)(d->cut.deepest + 1) * ROW + FOOT;
}

/* The notes decide the height, so they are drawn first, into a buffer. */
static void
add_notes(struct drawing *d, int *y)
{
    char text[EMPTINESS_TEXT];

    *y = add_flamegraph_note(d, d->profile->memory, NOTE_BASE);
    *y = add_flamegraph_note(d, d->profile->note, *y);
    if (d->profile->truncated)
        *y = add_flamegraph_note(d, "The profile was cut off.", *y);
    emptiness_text(d->profile, &d->options, d->tree->nodes[0].changed > 0,
                   text);
    *y = add_flamegraph_note(d, text, *y);
}

static void
add_flamegraph_head(struct drawing *d)
{
    struct buffer notes, *out = d->out;
    int bar, height;

    /* The head's size, which comes before the notes, depends on their lines. */
    buffer_init(&notes, 1 << 20);
    d->out = &notes;
    add_notes(d, &bar);
    d->out = out;
    bar = bar > NOTE_BASE ? bar + 4 : NOTE_BASE + 4;
    height = height_of(d, bar);
    d->top = bar + BAR - FRAME;
    buffer_format(out,
                  "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" version=\"1.1\" "
                  "width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\">\n"
                  "<style>%s%s</style>\n"
                  "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n"
                  "<g id=\"head\"><rect width=\"100%%\" height=\"%d\" "
                  "fill=\"#fff\" fill-opacity=\".92\"/>\n"
                  "<text id=\"title\" class=\"middle\" x=\"%d\" y=\"%d\">",
                  WIDTH, height, WIDTH, height, style, flame_style,
                  bar + BAR - FRAME, WIDTH / 2, TITLE_BASE);
    buffer_clear(&d->figures);
    headline_add(&d->figures, d->profile, &d->options, TITLE_BYTES);
    if (d->figures.size)
        xml_text(d->figures.data, d->figures.size, out);
    buffer_text(out, "</text>\n");
    buffer_add(out, notes.size ? notes.data : "", notes.size);
    buffer_text(out, "</g>\n");
    buffer_format(out, "<text class=\"note\" x=\"%d\" y=\"%d\">", MARGIN,
                  height - 12);
    buffer_format(out, "Width: %s%s %s",
                  d->profile->difference ? "how much changed, in " : "",
                  figure_what(d->options.measure),
                  figure_where(d->options.measure, d->profile->kind));
    if (d->profile->difference)
        buffer_text(out, "; red grew, blue shrank, grey is within noise");
    if (d->dropped)
        buffer_format(out, "; %u too narrow to show", d->dropped);
    buffer_text(out, "</text>\n");
    if (notes.failed || d->figures.failed)
        out->failed = true;
    buffer_fini(&notes);
}

/* Adds the lines of a frame's tooltip below its name. */
static void
add_frame_figures(struct drawing *d, const struct call_tree_node *node)
{
    const struct call_tree_node *root = &d->tree->nodes[0];
    bool difference = d->profile->difference;
    char text[FIGURE_TEXT];

    figure_text(node->total, &d->options, difference, text);
    buffer_text(d->out, text);
    if (d->profile->kind == PROFILE_HEAP && fabs(node->total) >= 1024 &&
        measure_is_amount(d->options.measure) && !d->options.show_bytes)
        buffer_format(d->out, " (%.0f bytes)", node->total);
    if (!difference) {
        buffer_format(d->out, ", %.2f%%", node->total * 100 / root->total);
        if (node->child && node->self >= 0.5) {
            figure_text(node->self, &d->options, false, text);
            buffer_format(d->out, "\nitself %s", text);
        }
        return;
    }
    if (node->changed > fabs(node->total)) {
        figure_text(node->changed, &d->options, false, text);
        buffer_format(d->out, ", %s changed", text);
    }
    buffer_format(d->out, "\n%.2f%% of what changed",
                  node->changed * 100 / root->changed);
    if (call_tree_is_noise(d->tree, node))
        buffer_text(d->out, ", within sampling noise");
}

static void
add_label(struct drawing *d, double x, double width, int y)
{
    double room = (width - 2 * PAD) / char_width;
    size_t columns = room < 0 ? 0 : (size_t)room, size = d->name.size;

    if (columns < 3 || size == 0)
        return;
    if (shown_columns(d->name.data, size) < columns)
        columns = shown_columns(d->name.data, size);
    /* textLength keeps the label within its frame in whatever font a viewer
     * takes. */
    buffer_format(d->out, "<text x=\"%.2f\" y=\"%d\" textLength=\"%.1f\">",
                  x + PAD, y + 12, (double)columns * char_width);
    if (shown_columns(d->name.data, size) <= columns) {
        xml_text(d->name.data, size, d->out);
    } else {
        size = shown_fit(d->name.data, size, columns - 1);
        xml_text(d->name.data, size, d->out);
        buffer_text(d->out, "\xe2\x80\xa6");
    }
    buffer_text(d->out, "</text>");
}

static void
add_frame(struct drawing *d, uint32_t i)
{
    const struct call_tree_node *node = &d->tree->nodes[i];
    double scale = d->width / d->tree->nodes[0].changed;
    double x = MARGIN + d->x[i] * scale;
    double width = fmax(node->changed * scale - gap, narrowest);
    int y = d->top + (int)(d->cut.deepest - node->depth) * ROW + FRAME;
    char color[COLOR_TEXT];

    buffer_clear(&d->name);
    shown_name(i == 0 ? "all" : node->name, FLAMEGRAPH_NAME_MAX, &d->name);
    if (d->name.failed) {
        d->out->failed = true;
        return;
    }
    buffer_text(d->out, "<g><title>");
    xml_text(d->name.data, d->name.size, d->out);
    buffer_char(d->out, '\n');
    add_frame_figures(d, node);
    color_of(d->profile, d->tree, i, color);
    buffer_format(d->out,
                  "</title><rect x=\"%.2f\" y=\"%d\" width=\"%.2f\" "
                  "height=\"%d\" rx=\"1\" fill=\"%s\"/>",
                  x, y, width, FRAME, color);
    add_label(d, x, width, y);
    buffer_text(d->out, "</g>\n");
}

/* Draws what the profile lacks as one block to the right of all frames. */
static void
add_unseen_frame(struct drawing *d)
{
    double x = MARGIN + d->width, width = WIDTH - MARGIN - x;
    int y = d->top + FRAME, height = (int)d->cut.deepest * ROW + FRAME;
    char text[FIGURE_TEXT];

    if (width < narrowest)
        return;
    buffer_text(d->out, "<g id=\"unseen\"><title>");
    unshown_add(d->out, d->profile, &d->options, "\n");
    buffer_clear(&d->name);
    shown_name(d->profile->memory, (size_t)NOTE_COLUMNS * NOTES_MAX, &d->name);
    xml_text(d->name.size ? d->name.data : "", d->name.size, d->out);
    buffer_format(d->out,
                  "</title><rect x=\"%.2f\" y=\"%d\" width=\"%.2f\" "
                  "height=\"%d\" rx=\"1\" fill=\"" UNSHOWN_COLOR "\"/>",
                  x, y, width, height);
    buffer_clear(&d->name);
    figure_text(unshown_bytes(d->profile, &d->options), &d->options, false,
                text);
    buffer_format(&d->name, UNSHOWN_NAME " %s", text);
    add_label(d, x, width, y + height - FRAME);
    d->out->failed |= d->name.failed;
    buffer_text(d->out, "</g>\n");
}

static int
draw_flamegraph(struct drawing *d, struct error *err)
{
    add_flamegraph_head(d);
    buffer_text(d->out, "<g id=\"frames\">\n");
    for (uint32_t i = 0; i < d->tree->count && !d->out->failed; i++) {
        if (view_cancelled(&d->options, i, err))
            return -1;
        if (call_tree_cut_keeps(&d->cut, d->tree, i))
            add_frame(d, i);
    }
    buffer_text(d->out, "</g>\n");
    add_unseen_frame(d);
    buffer_text(d->out, "<metadata id=\"calls\">");
    if (calls_add(d->profile, d->tree, &d->options, d->out, err) != 0)
        return -1;
    buffer_text(d->out, "</metadata>\n<script><![CDATA[\n(function () {\n");
    buffer_add(d->out, flame_script, flame_script_size);
    buffer_text(d->out, "})();\n]]></script>\n</svg>\n");
    if (!d->out->failed)
        return 0;
    error_set(err, ER_OUT_OF_MEMORY,
              "the flame graph is larger than %zu bytes or memory ran out",
              d->out->max);
    return -1;
}

int
flamegraph_write(const struct profile *profile,
                 const struct view_options *options, struct buffer *out,
                 struct error *err)
{
    struct drawing d = {.profile = profile, .out = out};
    int rc = -1;

    d.options = profile_view(profile, options);
    d.tree = call_tree_new(profile, &d.options, CALL_TREE_SHORT,
                           CALL_TREE_BY_NAME, err);
    if (!d.tree)
        return -1;
    buffer_init(&d.name, 4096);
    buffer_init(&d.figures, 4096);
    d.x = mem_zalloc(d.tree->count, sizeof(*d.x));
    if (d.x) {
        choose_drawn_frames(&d);
        lay_out(&d);
        rc = draw_flamegraph(&d, err);
    } else {
        error_memory(err, "the flame graph");
    }
    mem_free(d.x);
    buffer_fini(&d.name);
    buffer_fini(&d.figures);
    call_tree_free(d.tree);
    return rc;
}
