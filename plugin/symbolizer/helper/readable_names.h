/*
 * readable_names.h - names as they are read: demangled, without their version,
 * each once.
 *
 * Of many names most of the time goes into that, so those that are known
 * beforehand are made readable several at a time.  Calls are one thread's.
 */
#ifndef HW_READABLE_NAMES_H
#define HW_READABLE_NAMES_H

#include <stddef.h>

#include "reader.h"

struct code_chain;
struct readable_names;

/* Texts that it makes take at most bytes_max.  NULL: out of memory. */
struct readable_names *readable_names_new(size_t bytes_max);
void readable_names_free(struct readable_names *names); /* NULL is fine */

/* addr2line_reader.readable of readable_names: what name, which is not "",
 * reads as. */
const char *readable_names_get(void *arg, struct span name);

/* Those of chain that are linkage names will be asked for, after
 * readable_names_make.  -1 without memory. */
int readable_names_expect(struct readable_names *names,
                          const struct code_chain *chain);

/* Makes what is expected.  Whatever fails is tried again when it is asked
 * for. */
void readable_names_make(struct readable_names *names);

#endif
