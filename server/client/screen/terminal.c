/*
 * terminal.c - see terminal.h.
 *
 * This is the only file that uses ncurses.  ncurses itself restores the
 * terminal at Ctrl-Z and draws again after fg, and a resize comes as a key.  A
 * lone Escape is told from the start of an arrow key by ESCAPE_MS, which is too
 * short to be felt.
 */
#include "terminal.h"

#include <curses.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ESCAPE_MS = 25, ESCAPE = 27, DELETE = 127, CONTROL_L = 12 };

static SCREEN *terminal;
static attr_t styles[SCREEN_KEYS + 1];

static void
choose_styles(void)
{
    styles[SCREEN_HEAD] = A_NORMAL;
    styles[SCREEN_TITLES] = A_REVERSE;
    styles[SCREEN_CHOSEN] = A_STANDOUT;
    styles[SCREEN_MARKED] = A_BOLD;
    styles[SCREEN_TROUBLE] = A_BOLD;
    styles[SCREEN_KEYS] = A_DIM;
    if (!has_colors() || start_color() == ERR || use_default_colors() == ERR)
        return;
    init_pair(1, COLOR_BLACK, COLOR_GREEN);
    init_pair(2, COLOR_BLACK, COLOR_CYAN);
    init_pair(3, COLOR_YELLOW, -1);
    init_pair(4, COLOR_RED, -1);
    init_pair(5, COLOR_CYAN, -1);
    styles[SCREEN_TITLES] = (attr_t)COLOR_PAIR(1);
    styles[SCREEN_CHOSEN] = (attr_t)COLOR_PAIR(2);
    styles[SCREEN_MARKED] = (attr_t)COLOR_PAIR(3) | A_BOLD;
    styles[SCREEN_TROUBLE] = (attr_t)COLOR_PAIR(4) | A_BOLD;
    styles[SCREEN_HEAD] = (attr_t)COLOR_PAIR(5);
}

bool
terminal_open(const char **why)
{
    const char *term = getenv("TERM"); /* NOLINT: one thread */

    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
        *why = "standard input and output are none";
    else if (!term || !*term)
        *why = "TERM is not set";
    else if (strcmp(term, "dumb") == 0)
        *why = "TERM is dumb";
    else if (!(terminal = newterm(NULL, stdout, stdin)))
        *why = "TERM is not known here";
    else if (tigetstr("cup") == NULL || tigetstr("cup") == (char *)-1)
        *why = "this TERM cannot move its cursor";
    if (!terminal || *why) {
        if (terminal)
            terminal_close();
        return false;
    }
    set_escdelay(ESCAPE_MS);
    cbreak();
    noecho();
    nonl();
    keypad(stdscr, TRUE);
    nodelay(stdscr, TRUE);
    curs_set(0);
    choose_styles();
    return true;
}

void
terminal_close(void)
{
    if (!terminal)
        return;
    endwin();
    delscreen(terminal);
    terminal = NULL;
}

void
terminal_size(unsigned *width, unsigned *height)
{
    *width = COLS > SCREEN_WIDTH_MAX ? SCREEN_WIDTH_MAX
             : COLS > 0              ? (unsigned)COLS
                                     : 1;
    *height = LINES > SCREEN_HEIGHT_MAX ? SCREEN_HEIGHT_MAX
              : LINES > 0               ? (unsigned)LINES
                                        : 1;
}

void
terminal_paint(const struct screen_line *lines, unsigned height)
{
    erase();
    for (unsigned i = 0; i < height; i++) {
        attrset(styles[lines[i].style]);
        mvaddnstr((int)i, 0, lines[i].text, (int)lines[i].size);
    }
    attrset(A_NORMAL);
    refresh();
}

bool
terminal_key(unsigned *key)
{
    static const struct {
        int curses;
        unsigned key;
    } keys[] = {
        {KEY_UP, KEYS_UP},
        {KEY_DOWN, KEYS_DOWN},
        {KEY_LEFT, KEYS_LEFT},
        {KEY_RIGHT, KEYS_RIGHT},
        {KEY_PPAGE, KEYS_PAGE_UP},
        {KEY_NPAGE, KEYS_PAGE_DOWN},
        {KEY_HOME, KEYS_HOME},
        {KEY_END, KEYS_END},
        {KEY_BACKSPACE, KEYS_BACKSPACE},
        {KEY_ENTER, KEYS_ENTER},
        {KEY_RESIZE, KEYS_REDRAW},
    };
    wint_t got;
    int kind = get_wch(&got);

    if (kind == ERR)
        return false;
    *key = (unsigned)got;
    if (kind == OK) {
        if (got == '\r' || got == '\n')
            *key = KEYS_ENTER;
        else if (got == ESCAPE)
            *key = KEYS_ESCAPE;
        else if (got == DELETE || got == '\b')
            *key = KEYS_BACKSPACE;
        else if (got == CONTROL_L) {
            *key = KEYS_REDRAW;
            clearok(curscr, TRUE);
        }
        return true;
    }
    *key = KEYS_REDRAW; /* any other key only draws the screen again */
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        if ((int)got == keys[i].curses)
            *key = keys[i].key;
    if ((int)got > KEY_F0 && (int)got <= KEY_F0 + 12)
        *key = KEYS_F0 + ((unsigned)got - KEY_F0);
    return true;
}
