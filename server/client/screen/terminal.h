/* terminal.h - puts lines on a terminal and reads its keys. */
#ifndef HW_TERMINAL_H
#define HW_TERMINAL_H

#include <stdbool.h>

#include "screen.h"

/* Answers false if no terminal can be used, and *why says why. */
bool terminal_open(const char **why);
void terminal_close(void);
void terminal_size(unsigned *width, unsigned *height);
void terminal_paint(const struct screen_line *lines, unsigned height);
/* Reads the next key, as screen_press() takes it; false if there is none now.
 */
bool terminal_key(unsigned *key);

#endif
