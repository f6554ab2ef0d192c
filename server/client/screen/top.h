/* top.h - heapwire top. */
#ifndef HW_TOP_H
#define HW_TOP_H

#include "client.h"

#define TOP_VIEWS "functions threads running waste diff diagnosis"

/* given is client_ask()'s, with 'b': tables instead of a screen, 'n': how many,
 * 'd': seconds between two.  view is a view's name; NULL means functions. */
enum client_status top_run(const char *const *given, const char *view);

#endif
