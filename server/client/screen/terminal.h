/* terminal.h - lines on a terminal, and keys from it: ncurses, nowhere else. */
#ifndef HW_TERMINAL_H
#define HW_TERMINAL_H

#include <stdbool.h>

#include "screen.h"

/* False, with *why: there is none that can be used. */
bool terminal_open(const char **why);
void terminal_close(void);
void terminal_size(unsigned *width, unsigned *height);
void terminal_paint(const struct screen_line *lines, unsigned height);
/* The next key, as screen_press() takes it; false: there is none now. */
bool terminal_key(unsigned *key);

#endif
