/*
 * bundle.h - heapwire bundle: what a node knows, as one file that a browser
 * opens offline.
 */
#ifndef HW_BUNDLE_H
#define HW_BUNDLE_H

#include <stdbool.h>

#include "client.h"

/* Writes a bundle to file, which is replaced once all is there.  words are the
 * names of count snapshots; if there are none, the bundle has the heap now, if
 * the node can take it, and the newest snapshots.  With hash, names of
 * functions and modules become digests under a key that is thrown away, and
 * texts that may tell names are left out.  given is client_ask()'s. */
enum client_status bundle_write(const char *const *given, char **words,
                                int count, bool hash, const char *file);

#endif
