/*
 * get_view.h - heapwire get: writes a view of a heap to a file or to standard
 * output.
 */
#ifndef HW_GET_VIEW_H
#define HW_GET_VIEW_H

#include <stdbool.h>

#include "client.h"

/* given: client_ask()'s.  Prints the names of the node's forms, one a line. */
enum client_status view_list_forms(const char *const *given);

/* given: also 'o', the file to write to. */
enum client_status view_get(const char *const *given, const char *form,
                            const char *snapshot);

#endif
