/* get_view.h - heapwire get: a view of a heap, as it comes. */
#ifndef HW_GET_VIEW_H
#define HW_GET_VIEW_H

#include <stdbool.h>

#include "client.h"

/* Those that every node has: also what a shell completes. */
#define VIEW_FORMS                                                             \
    "dot text top tree collapsed flamegraph svg pdf calls pprof raw "          \
    "address_names export"

/* given: client_ask()'s, and 'o': the file to write to.  Asks the node for its
 * forms where form is not known here. */
enum client_status view_get(const char *const *given, const char *form,
                            const char *snapshot);

#endif
