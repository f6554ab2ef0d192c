/*
 * dot_fit.c - see dot_fit.h.
 *
 * An SVG cannot carry its font, and graphviz may have measured with yet another
 * one.  SVG's textLength makes any font fit: the viewer stretches or squeezes
 * the text to the width that is computed here from Helvetica's metrics, a table
 * of 95 numbers.  A real font library would be a dependency for one attribute.
 *
 * graphviz's output is searched for the few tags that matter rather than
 * parsed; text that is not understood stays as it is.
 */
#include "dot_fit.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "buffer.h"

enum { OTHER_WIDTH = 556, WIDE_WIDTH = 1000, POINTS_MAX = 8 };

static const double box_margin = 6; /* at both sides together */

/* Widths of ' ' to '~' in thousandths of the font's size: Adobe's metrics of
 * Helvetica, which Arial and Liberation Sans share. */
static const uint16_t widths[] = {
    278, 278, 355, 556, 556,  889, 667, 191, 333, 333, 389, 584, 278, 333,
    278, 278, 556, 556, 556,  556, 556, 556, 556, 556, 556, 556, 278, 278,
    584, 584, 584, 556, 1015, 667, 667, 722, 722, 667, 611, 778, 722, 278,
    500, 667, 556, 833, 722,  778, 667, 778, 722, 667, 611, 722, 667, 944,
    667, 667, 611, 278, 278,  278, 469, 556, 333, 556, 556, 500, 556, 556,
    278, 556, 556, 222, 222,  500, 222, 833, 556, 556, 556, 556, 333, 500,
    278, 556, 500, 722, 500,  500, 500, 334, 260, 334, 584};

static const char *
find_svg_text(const char *at, const char *end, const char *what)
{
    return at < end ? memmem(at, (size_t)(end - at), what, strlen(what)) : NULL;
}

/* The width of the text from at to end, which stands between tags, at a font
 * size of 1.  An entity counts as the character that it stands for. */
static double
width_of_text(const char *at, const char *end)
{
    unsigned sum = 0;

    while (at < end) {
        unsigned char c = (unsigned char)*at++;
        const char *behind;

        if (c == '&' && (behind = memchr(at, ';', (size_t)(end - at)))) {
            sum += strncmp(at, "amp", 3) == 0 ? widths['&' - ' '] : OTHER_WIDTH;
            at = behind + 1;
        } else if (c >= ' ' && c <= '~') {
            sum += widths[c - ' '];
        } else if (c >= 0xc0) { /* the first byte of a longer character */
            sum += c >= 0xe0 ? WIDE_WIDTH : OTHER_WIDTH;
        }
    }
    return sum / 1000.0;
}

/* The width of the first polygon, the node's box; infinite if there is none, or
 * if it is an arrow's head. */
static double
width_of_box(const char *at, const char *end)
{
    static const char points[] = " points=\"";
    const char *polygon = find_svg_text(at, end, points);
    double least = INFINITY, most = -INFINITY;
    char *behind;

    if (!polygon || find_svg_text(at, end, "<path"))
        return INFINITY;
    polygon += sizeof(points) - 1;
    for (int i = 0; i < POINTS_MAX; i++) {
        double x = strtod(polygon, &behind);

        if (behind == polygon || *behind != ',')
            break;
        least = fmin(least, x);
        most = fmax(most, x);
        strtod(behind + 1, &behind); /* y */
        polygon = behind;
    }
    return most > least ? most - least : INFINITY;
}

void
dot_fit_texts(const char *svg, size_t size, struct buffer *out)
{
    static const char font_size[] = "font-size=\"";
    const char *at = svg, *end = svg + size, *text, *close, *ends, *font;
    double room = fmax(width_of_box(svg, end) - box_margin, 1);

    while ((text = find_svg_text(at, end, "<text ")) &&
           (close = find_svg_text(text, end, ">")) &&
           (ends = find_svg_text(close, end, "</text>"))) {
        double width = 0;

        font = find_svg_text(text, close, font_size);
        if (font)
            width = strtod(font + sizeof(font_size) - 1, NULL) *
                    width_of_text(close + 1, ends);
        buffer_add(out, at, (size_t)(close - at));
        if (width > 0 && isfinite(width))
            buffer_format(out,
                          " textLength=\"%.1f\" "
                          "lengthAdjust=\"spacingAndGlyphs\"",
                          fmin(width, room));
        buffer_add(out, close, (size_t)(ends - close));
        at = ends;
    }
    buffer_add(out, at, (size_t)(end - at));
}
