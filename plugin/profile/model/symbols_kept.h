/*
 * symbols_kept.h - symbols (symbols.h) kept with the names they are made from.
 *
 * Dump after dump has the same addresses with the same names, so the symbols
 * made for the first serve all.  They are of functions alone, without the
 * allocator's.  Callable from any thread.
 */
#ifndef HW_SYMBOLS_KEPT_H
#define HW_SYMBOLS_KEPT_H

#include "symbols.h"

struct profile;
struct symbols_kept;
struct view_options;

enum { SYMBOLS_KEPT_BYTES_MAX = 16 << 20 /* beside one table of names */ };

/* *kept NULL: this profile, or these options, cannot have any; call
 * symbols_make instead.  *own: the caller frees them with symbols_kept_free;
 * otherwise they last as long as profile.  -1 without memory. */
int symbols_kept_get(const struct profile *profile,
                     const struct view_options *options,
                     struct symbols_kept **kept, bool *own);
void symbols_kept_free(struct symbols_kept *kept); /* NULL is fine */

/* False: the allocator's frames were chosen by other options. */
bool symbols_kept_have_parts(const struct symbols_kept *kept,
                             const struct view_options *options);

/* Both must not be added to. */
const struct symbols *symbols_kept_symbols(const struct symbols_kept *kept);
struct texts *symbols_kept_texts(const struct symbols_kept *kept);

#endif
