/*
 * borrowed.h - what heapwire-run --attach calls on a thread that it has
 * borrowed from the program.
 *
 * The call answers through memory alone: the thread then continues its own
 * work, as after a signal handler.
 */
#ifndef HW_BORROWED_H
#define HW_BORROWED_H

#include <stdint.h>

#include "heapwire.h"

/* heapwire_start(settings), or heapwire_stop() for NULL, into *result. */
HEAPWIRE_API void heapwire_borrowed(const char *settings, int32_t *result);

#endif
