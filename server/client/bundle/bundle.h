/*
 * bundle.h - heapwire bundle: what a node knows, as one file that a browser
 * opens offline.
 */
#ifndef HW_BUNDLE_H
#define HW_BUNDLE_H

#include <stdbool.h>

#include "client.h"

/* words: the names of count snapshots; none: the heap now, if the node can take
 * it, and the newest ones.  With hash, functions and modules are numbers of a
 * key that is thrown away, and what tells names in sentences is left out.
 * given: see client_ask.  file is replaced, once all is there. */
enum client_status bundle_write(const char *const *given, char **words,
                                int count, bool hash, const char *file);

#endif
