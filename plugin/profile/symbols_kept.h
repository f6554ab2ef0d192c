/*
 * symbols_kept.h - symbols (symbols.h) that stay with the names they are made
 * of.
 *
 * Dump after dump has the same addresses, which are called the same: whoever
 * shows the first makes their symbols for all.  Of functions alone, without
 * the allocator's.  Callable from any thread.
 */
#ifndef HW_SYMBOLS_KEPT_H
#define HW_SYMBOLS_KEPT_H

#include "symbols.h"

struct profile;
struct symbols_kept;
struct view_options;

enum { SYMBOLS_KEPT_BYTES_MAX = 16 << 20 /* beside one table of names */ };

/* NULL: this profile, or these options, have none, or there is no memory; then
 * symbols_make is to be called.  *own: it stays with nobody, and is freed with
 * symbols_kept_free; otherwise it lasts as long as profile. */
struct symbols_kept *symbols_kept_get(const struct profile *profile,
                                      const struct view_options *options,
                                      bool *own);
void symbols_kept_free(struct symbols_kept *kept); /* NULL is fine */

/* Not to be added to. */
const struct symbols *symbols_kept_symbols(const struct symbols_kept *kept);
struct texts *symbols_kept_texts(const struct symbols_kept *kept);

#endif
