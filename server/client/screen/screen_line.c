/*
 * screen_line.c - see screen_line.h.
 *
 * Texts come from nodes, so each passes through clean_text() and is then
 * measured by character with wcwidth().  What has no width there, such
 * as a combining character, becomes '?': a terminal and this program must agree
 * on where each column starts, or the screen falls apart.
 */
#include "screen_line.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <wchar.h>

#include "clean_text.h"

enum { ADD_MAX = 4096 /* bytes of a text that are looked at */ };

void
line_start(struct screen_line *line, enum screen_style style, unsigned max)
{
    line->style = style;
    line->width = 0;
    line->size = 0;
    line->max = max < SCREEN_WIDTH_MAX ? max : SCREEN_WIDTH_MAX;
    *line->text = '\0';
}

/* Decodes the character at s, which must be well-formed; *size gets its bytes.
 */
static wchar_t
decode_character(const unsigned char *s, size_t *size)
{
    wchar_t c;

    *size = *s < 0x80 ? 1 : *s < 0xe0 ? 2 : *s < 0xf0 ? 3 : 4;
    c = *size == 1 ? *s : *s & (0xff >> (*size + 1));
    for (size_t i = 1; i < *size; i++)
        c = (c << 6) | (s[i] & 0x3f);
    return c;
}

void
line_add(struct screen_line *line, struct span text, unsigned skip,
         unsigned width)
{
    char clean[ADD_MAX + 1];
    unsigned used = 0;
    size_t size;

    text.size = text.size < ADD_MAX ? text.size : ADD_MAX;
    clean_text(text, clean); /* a character cut here becomes '?' too */
    if (width > line->max - line->width)
        width = line->max - line->width;
    for (size_t i = 0; i < text.size; i += size) {
        const char *bytes = clean + i;
        wchar_t c = decode_character((const unsigned char *)bytes, &size);
        int wide = wcwidth(c);
        size_t count = size;

        if (wide <= 0) {
            wide = 1;
            bytes = "?";
            count = 1;
        }
        if (skip > 0) {
            skip -= (unsigned)wide < skip ? (unsigned)wide : skip;
            continue;
        }
        if (used + (unsigned)wide > width)
            break;
        memcpy(line->text + line->size, bytes, count);
        line->size += count;
        used += (unsigned)wide;
    }
    line->text[line->size] = '\0';
    line->width += used;
}

void
line_text(struct screen_line *line, const char *text)
{
    line_add(line, (struct span){text, strlen(text)}, 0, line->max);
}

void
line_fill(struct screen_line *line, unsigned to_width)
{
    if (to_width > line->max)
        to_width = line->max;
    while (line->width < to_width) {
        line->text[line->size++] = ' ';
        line->width++;
    }
    line->text[line->size] = '\0';
}

void
line_left(struct screen_line *line, struct span text, unsigned width)
{
    unsigned end = line->width + width;

    line_add(line, text, 0, width);
    line_fill(line, end);
}

void
line_right(struct screen_line *line, const char *text, unsigned width)
{
    unsigned size = (unsigned)strlen(text);

    if (size < width)
        line_fill(line, line->width + width - size);
    line_add(line, (struct span){text, size}, 0, width);
}

/* Writes a value with a letter for the power of base.  Subtracting .5 keeps
 * 1023.7 from being printed as "1024". */
static void
put_scaled(double value, double base, const char *letters, char *out)
{
    size_t power = 0;
    double size = fabs(value);

    while (size >= base - .5 && letters[power + 1]) {
        size /= base;
        value /= base;
        power++;
    }
    if (power == 0)
        snprintf(out, FIGURE_TEXT, "%.0f", value);
    else
        snprintf(out, FIGURE_TEXT, "%.*f%c", size < 9.95, value,
                 letters[power]);
}

void
figure_bytes(double bytes, char *out)
{
    put_scaled(bytes, 1024, " KMGTPE", out);
}

void
figure_count(double count, char *out)
{
    if (fabs(count) < 1e5)
        snprintf(out, FIGURE_TEXT, "%.0f", count);
    else
        put_scaled(count, 1000, " kMGTPE", out);
}

void
figure_percent(double share, char *out)
{
    snprintf(out, FIGURE_TEXT, "%.1f", share);
}

void
figure_time(double ms, char *out)
{
    double s = ms / 1000;
    uint64_t whole = s > 0 && s < 1e12 ? (uint64_t)s : 0;

    if (s < 60)
        snprintf(out, FIGURE_TEXT, "%.1fs", s);
    else if (s < 3600)
        snprintf(out, FIGURE_TEXT, "%llu:%02llu",
                 (unsigned long long)whole / 60,
                 (unsigned long long)whole % 60);
    else
        snprintf(out, FIGURE_TEXT, "%lluh%02llu",
                 (unsigned long long)whole / 3600,
                 (unsigned long long)whole / 60 % 60);
}
