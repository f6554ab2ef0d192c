/*
 * screen.h - what heapwire top shows, and what its keys change.
 *
 * node_poll.c fills it with what nodes answer, keys.c with what people want,
 * and layout.c makes lines of it.  Pure: no terminal, no clock, no node.
 */
#ifndef HW_SCREEN_H
#define HW_SCREEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "screen_line.h"
#include "top_view.h"

struct grid;

enum {
    SCREEN_HEIGHT_MAX = 300,
    SCREEN_NODES_MAX = 1000,
    SCREEN_MARKS_MAX = 256,
    SCREEN_INPUT_MAX = 64,
    SCREEN_NOTICE_MAX = 1100,
    SCREEN_STATE_MAX = 24,
    SCREEN_INTERVAL_MAX = 3600
};

/* Keys that are no character. */
enum screen_key {
    KEYS_UP = 0x200000, /* beyond Unicode */
    KEYS_DOWN,
    KEYS_LEFT,
    KEYS_RIGHT,
    KEYS_PAGE_UP,
    KEYS_PAGE_DOWN,
    KEYS_HOME,
    KEYS_END,
    KEYS_BACKSPACE,
    KEYS_ENTER,
    KEYS_ESCAPE,
    KEYS_REDRAW,
    KEYS_F0 /* and F1 to F12 behind it */
};

enum screen_prompt {
    PROMPT_NONE,
    PROMPT_SEARCH,
    PROMPT_FILTER,
    PROMPT_INTERVAL,
    PROMPT_BASE
};

/* A negative figure of memory is not known. */
struct screen_node {
    uint64_t id;
    char state[SCREEN_STATE_MAX]; /* as in nodes.state */
    char error[SCREEN_INPUT_MAX * 4];
    double rss, limit, allocated, active, resident;
};

struct screen {
    unsigned width, height;
    enum top_number view;
    unsigned sort[TOP_NUMBERS]; /* the column to sort by */
    bool ascending[TOP_NUMBERS];
    size_t chosen, first; /* among the rows that are shown */
    /* columns of text that are scrolled out of the last column */
    unsigned shift;
    enum screen_prompt prompt;
    char input[SCREEN_INPUT_MAX + 1], filter[SCREEN_INPUT_MAX + 1],
        search[SCREEN_INPUT_MAX + 1], base[TOP_BASE_MAX + 1];
    bool help, paused, ended;
    bool hurry;     /* ask at once, whatever the interval is */
    bool rearrange; /* the rows' order or filter has changed */
    double interval_s;
    uint64_t node; /* 0 means all */
    uint64_t marks[SCREEN_MARKS_MAX];
    size_t mark_count;
    struct screen_node *nodes; /* room for SCREEN_NODES_MAX */
    size_t node_count;
    struct grid *grid; /* what is shown; NULL if nothing has come yet */
    char notice[SCREEN_NOTICE_MAX]; /* why something is missing, or "" */
    /* when nodes were asked, and how often they are */
    char status[128];
    unsigned asking_s; /* seconds that the running statement has taken */
};

void screen_init(struct screen *screen, struct screen_node *nodes);

/* Does what a key does.  key is a Unicode character or one of enum screen_key.
 */
void screen_press(struct screen *screen, unsigned key);

/* Sorts and filters the grid as the view wants it. */
void screen_arrange(struct screen *screen);

/* Fills all screen->height lines. */
void screen_layout(struct screen *screen, struct screen_line *lines);

/* Writes the widths of the columns, 0 for those that have no room.  Answers the
 * width of the last one. */
unsigned screen_widths(const struct top_view *view, unsigned width,
                       unsigned char *widths);

/* Writes the cells of a row in those widths, or the titles. */
void screen_row(const struct grid *grid, size_t row, bool titles,
                const unsigned char *widths, unsigned shift,
                struct screen_line *line);

/* Writes a node's line.  scale is the full length of a bar whose node has no
 * limit. */
void screen_node_line(const struct screen_node *node, double scale,
                      struct screen_line *line);

#endif
