/*
 * keys.c - what the keys of heapwire top do: see screen.h.
 *
 * Keys are those of htop if it has the same action, since most users know
 * them.  A key only changes the screen's state: hurry asks the nodes at once,
 * and rearrange sorts the rows that are there again, so sorting and filtering
 * never cost a statement.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "grid.h"
#include "screen.h"

enum { PAGE_REST = 6, SHIFT = 8 };

void
screen_init(struct screen *s, struct screen_node *nodes)
{
    memset(s, 0, sizeof(*s));
    s->nodes = nodes;
    s->interval_s = 2;
    for (unsigned i = 0; i < TOP_NUMBERS; i++)
        s->sort[i] = top_views[i].sort;
    /* the most urgent finding has place 1 */
    s->ascending[TOP_DIAGNOSIS] = true;
}

/* ---- moves ---- */

static void
move_choice(struct screen *s, long by)
{
    size_t shown = s->grid ? s->grid->shown : 0;

    if (by < 0 && (size_t)-by > s->chosen)
        s->chosen = 0;
    else
        s->chosen += (size_t)by;
    if (s->chosen >= shown)
        s->chosen = shown ? shown - 1 : 0;
}

static void
seek_text(struct screen *s, bool next)
{
    size_t shown = s->grid ? s->grid->shown : 0;

    for (size_t i = 0; *s->search && i < shown; i++) {
        size_t at = (s->chosen + i + next) % shown;

        if (grid_row_has(s->grid, s->grid->order[at], s->search)) {
            s->chosen = at;
            return;
        }
    }
}

static void
change_view(struct screen *s, enum top_number view)
{
    s->view = view;
    s->chosen = s->first = 0;
    s->shift = 0;
    s->hurry = true;
}

static void
choose_next_node(struct screen *s)
{
    size_t at = 0;

    while (at < s->node_count && s->nodes[at].id != s->node)
        at++;
    at = s->node && at < s->node_count ? at + 1 : 0;
    s->node = at < s->node_count ? s->nodes[at].id : 0;
    s->chosen = s->first = 0;
    s->hurry = true;
}

static void
move_sort(struct screen *s, int by)
{
    const struct top_view *view = s->grid ? s->grid->view : &top_views[s->view];
    unsigned *sort = &s->sort[view - top_views];

    *sort = (*sort + view->count + (unsigned)by) % view->count;
    s->rearrange = true;
}

static void
mark_row(struct screen *s)
{
    size_t i = 0;
    uint64_t key;

    if (!s->grid || s->chosen >= s->grid->shown)
        return;
    key = grid_row_key(s->grid, s->grid->order[s->chosen]);
    while (i < s->mark_count && s->marks[i] != key)
        i++;
    if (i < s->mark_count)
        s->marks[i] = s->marks[--s->mark_count];
    else if (i < SCREEN_MARKS_MAX)
        s->marks[s->mark_count++] = key;
    move_choice(s, 1);
}

/* ---- a line of input ---- */

static void
open_prompt(struct screen *s, enum screen_prompt prompt, const char *input)
{
    s->prompt = prompt;
    snprintf(s->input, sizeof(s->input), "%s", input);
}

static void
accept_input(struct screen *s)
{
    double seconds;
    char *end;

    switch (s->prompt) {
    case PROMPT_SEARCH:
        snprintf(s->search, sizeof(s->search), "%s", s->input);
        seek_text(s, false);
        break;
    case PROMPT_FILTER:
        snprintf(s->filter, sizeof(s->filter), "%s", s->input);
        s->rearrange = true;
        break;
    case PROMPT_INTERVAL:
        seconds = strtod(s->input, &end);
        if (end != s->input && !*end && seconds >= .1 &&
            seconds <= SCREEN_INTERVAL_MAX)
            s->interval_s = seconds;
        break;
    case PROMPT_BASE:
        snprintf(s->base, sizeof(s->base), "%s", s->input);
        change_view(s, TOP_DIFF);
        break;
    case PROMPT_NONE:
    default:
        break;
    }
    s->prompt = PROMPT_NONE;
}

/* Filters and searches while a text is typed, as htop does. */
static void
follow_input(struct screen *s)
{
    if (s->prompt == PROMPT_FILTER) {
        snprintf(s->filter, sizeof(s->filter), "%s", s->input);
        s->rearrange = true;
    } else if (s->prompt == PROMPT_SEARCH) {
        snprintf(s->search, sizeof(s->search), "%s", s->input);
        seek_text(s, false);
    }
}

/* Appends a character as UTF-8.  Control characters are not taken, since input
 * is sent to the node and shown on the terminal. */
static void
type_character(struct screen *s, unsigned c)
{
    size_t size = strlen(s->input), bytes = c < 0x80      ? 1
                                            : c < 0x800   ? 2
                                            : c < 0x10000 ? 3
                                                          : 4;

    if (c < ' ' || c == 0x7f || (c >= 0x80 && c < 0xa0) ||
        size + bytes > SCREEN_INPUT_MAX)
        return;
    if (bytes == 1)
        s->input[size] = (char)c;
    else
        for (size_t i = 0; i < bytes; i++)
            s->input[size + i] =
                (char)(i == 0 ? (0xf00 >> bytes & 0xff) | c >> 6 * (bytes - 1)
                              : 0x80 | (c >> 6 * (bytes - 1 - i) & 0x3f));
    s->input[size + bytes] = '\0';
}

static void
erase_character(struct screen *s)
{
    size_t size = strlen(s->input);

    while (size > 0 && ((unsigned char)s->input[size - 1] & 0xc0) == 0x80)
        size--;
    s->input[size ? size - 1 : 0] = '\0';
}

static void
press_in_prompt(struct screen *s, unsigned key)
{
    switch (key) {
    case KEYS_ESCAPE:
        if (s->prompt == PROMPT_FILTER) {
            *s->filter = '\0';
            s->rearrange = true;
        }
        s->prompt = PROMPT_NONE;
        return;
    case KEYS_ENTER:
        accept_input(s);
        return;
    case KEYS_BACKSPACE:
        erase_character(s);
        break;
    case KEYS_F0 + 3: /* finds the next one */
        if (s->prompt == PROMPT_SEARCH)
            seek_text(s, true);
        return;
    case KEYS_F0 + 10:
        s->ended = true;
        return;
    default:
        if (key < KEYS_UP)
            type_character(s, key);
        break;
    }
    follow_input(s);
}

/* ---- keys ---- */

void
screen_press(struct screen *s, unsigned key)
{
    long page = s->height > PAGE_REST ? (long)s->height - PAGE_REST : 1;
    char seconds[24];

    if (key == KEYS_REDRAW)
        return;
    if (s->prompt != PROMPT_NONE) {
        press_in_prompt(s, key);
        return;
    }
    if (s->help && key != 'q' && key != KEYS_F0 + 10) {
        s->help = false;
        return;
    }
    switch (key) {
    case 'q':
    case KEYS_F0 + 10:
        s->ended = true;
        break;
    case 'h':
    case '?':
    case KEYS_F0 + 1:
        s->help = true;
        break;
    case '/':
    case KEYS_F0 + 3:
        open_prompt(s, PROMPT_SEARCH, "");
        break;
    case '\\':
    case KEYS_F0 + 4:
        open_prompt(s, PROMPT_FILTER, s->filter);
        break;
    case KEYS_ESCAPE:
        *s->filter = '\0';
        s->rearrange = true;
        break;
    case '<':
        move_sort(s, -1);
        break;
    case '>':
    case KEYS_F0 + 6:
        move_sort(s, 1);
        break;
    case 'I':
        s->ascending[s->grid ? s->grid->number : s->view] ^= true;
        s->rearrange = true;
        break;
    case KEYS_UP:
    case 'k':
        move_choice(s, -1);
        break;
    case KEYS_DOWN:
    case 'j':
        move_choice(s, 1);
        break;
    case KEYS_PAGE_UP:
        move_choice(s, -page);
        break;
    case KEYS_PAGE_DOWN:
        move_choice(s, page);
        break;
    case KEYS_HOME:
        s->chosen = 0;
        break;
    case KEYS_END:
        s->chosen = s->grid && s->grid->shown ? s->grid->shown - 1 : 0;
        break;
    case KEYS_LEFT:
        s->shift -= s->shift < SHIFT ? s->shift : SHIFT;
        break;
    case KEYS_RIGHT:
        s->shift += s->shift < SCREEN_WIDTH_MAX * 2 ? SHIFT : 0;
        break;
    case ' ':
        mark_row(s);
        break;
    case 'U':
        s->mark_count = 0;
        break;
    case 'p':
        s->paused = !s->paused;
        s->hurry = !s->paused;
        break;
    case 'r':
        s->hurry = true;
        break;
    case 'd':
        snprintf(seconds, sizeof(seconds), "%g", s->interval_s);
        open_prompt(s, PROMPT_INTERVAL, seconds);
        break;
    case 'b':
        open_prompt(s, PROMPT_BASE, s->base);
        break;
    case 'n':
        choose_next_node(s);
        break;
    case 'a':
        s->node = 0;
        s->hurry = true;
        break;
    case '\t':
        change_view(s, (s->view + 1) % TOP_DIFF_KEPT);
        break;
    default:
        if (key >= '1' && key < '1' + TOP_DIFF_KEPT)
            change_view(s, key - '1');
        break;
    }
}
