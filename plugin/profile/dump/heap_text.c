/* heap_text.c - see heap_text.h. */
#include "heap_text.h"

#include <string.h>

#include "errors.h"

enum {
    PIECE_BYTES = 256 << 10, /* fits a core's cache */
    WINDOW_MAX = 1 << 30
};

void
heap_lines_init(struct heap_lines *lines, struct span text,
                const struct heap_source *source)
{
    memset(lines, 0, sizeof(*lines));
    lines->pos = text.size ? text.data : "";
    lines->end = lines->pos + text.size;
    lines->source = source;
    buffer_init(&lines->window, WINDOW_MAX);
}

void
heap_lines_fini(struct heap_lines *lines)
{
    buffer_fini(&lines->window);
}

/* The kept line goes first: it precedes what is left. */
static void
move_to_front(struct heap_lines *lines)
{
    size_t kept = lines->kept.size, left = (size_t)(lines->end - lines->pos);
    char *to = lines->window.data;

    if (kept > 0)
        memmove(to, lines->kept.data, kept);
    if (left > 0 && lines->pos != to + kept)
        memmove(to + kept, lines->pos, left);
    lines->kept.data = to;
    lines->pos = to + kept;
    lines->window.size = kept + left;
}

/* 1: more bytes came; 0: the end; -1 with *err. */
static int
read_more(struct heap_lines *lines, struct error *err)
{
    struct buffer *window = &lines->window;
    size_t taken;
    char *place;
    ssize_t n;

    if (!lines->source)
        return 0;
    if (window->data)
        move_to_front(lines);
    taken = window->data ? (size_t)(lines->pos - window->data) : 0;
    place = buffer_reserve(window, PIECE_BYTES);
    if (!place) {
        error_memory(err, "a line of the heap profile");
        return -1;
    }
    n = lines->source->read(lines->source->arg, place, PIECE_BYTES, err);
    if (n < 0)
        return -1;
    buffer_claim(window, (size_t)n);
    lines->kept.data = window->data;
    lines->pos = window->data + taken;
    lines->end = window->data + window->size;
    if (n == 0)
        lines->source = NULL;
    return n > 0;
}

int
heap_lines_next(struct heap_lines *lines, struct span *line, struct error *err)
{
    const char *newline = NULL;
    size_t seen = 0;
    int more = 1;

    while (more > 0 && !newline) {
        size_t left = (size_t)(lines->end - lines->pos);

        if (left > seen)
            newline = memchr(lines->pos + seen, '\n', left - seen);
        seen = left;
        if (!newline)
            more = read_more(lines, err);
    }
    if (!newline)
        return more;
    *line = (struct span){lines->pos, (size_t)(newline - lines->pos)};
    lines->pos = newline + 1;
    return 1;
}

int
heap_lines_rest(struct heap_lines *lines, struct span *rest, struct error *err)
{
    const char *newline = NULL;
    int more;

    do
        more = read_more(lines, err);
    while (more > 0);
    if (lines->end > lines->pos)
        newline = memrchr(lines->pos, '\n', (size_t)(lines->end - lines->pos));
    *rest = (struct span){lines->pos, 0};
    if (newline)
        rest->size = (size_t)(newline - lines->pos) + 1;
    lines->pos += rest->size;
    return more;
}

bool
heap_lines_cut(const struct heap_lines *lines)
{
    return lines->pos < lines->end;
}
