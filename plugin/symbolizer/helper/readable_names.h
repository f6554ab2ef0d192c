/*
 * readable_names.h - readable forms of names: demangled, without version, each
 * made once.
 *
 * Demangling takes most of the time of many names, so expected names are
 * demangled by several threads.  All calls come from one thread.
 */
#ifndef HW_READABLE_NAMES_H
#define HW_READABLE_NAMES_H

#include <stddef.h>

#include "reader.h"

struct code_chain;
struct readable_names;

/* The texts made take at most bytes_max.  NULL: out of memory. */
struct readable_names *readable_names_new(size_t bytes_max);
void readable_names_free(struct readable_names *names); /* NULL is fine */

/* addr2line_reader.readable with a struct readable_names: the readable form of
 * name, which is not "". */
const char *readable_names_get(void *arg, struct span name);

/* Expects the linkage names of chain, for readable_names_make.  -1 without
 * memory. */
int readable_names_expect(struct readable_names *names,
                          const struct code_chain *chain);

/* Makes the expected names.  A name that failed is tried again when it is asked
 * for. */
void readable_names_make(struct readable_names *names);

#endif
