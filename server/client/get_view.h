/*
 * get_view.h - heapwire get: writes a view of a heap to a file or to standard
 * output.
 */
#ifndef HW_GET_VIEW_H
#define HW_GET_VIEW_H

#include <stdbool.h>

#include "client.h"

/* The forms that every node has.  A shell completes these. */
#define VIEW_FORMS                                                             \
    "dot text top tree collapsed flamegraph svg pdf calls pprof raw "          \
    "address_names export"

/* given is client_ask()'s, with the file to write to in 'o'. The node is asked
 * for its forms if this one is not in VIEW_FORMS. */
enum client_status view_get(const char *const *given, const char *form,
                            const char *snapshot);

#endif
