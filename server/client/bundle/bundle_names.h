/* bundle_names.h - makes names of functions unreadable. */
#ifndef HW_BUNDLE_NAMES_H
#define HW_BUNDLE_NAMES_H

#include <stddef.h>

struct buffer;

enum { BUNDLE_KEY = 32 };

/* Appends the JSON of calls() with each name in its lists "names" and "modules"
 * replaced by a keyed digest, so that equal names stay equal.  "", "all" and
 * names in one pair of parentheses or brackets stay, since they are no
 * functions; " (inline)" stays behind its name.  The title and notes may tell
 * names, and are left out. */
void bundle_hash_names(const char *json, size_t size,
                       const unsigned char key[BUNDLE_KEY], struct buffer *out);

/* Appends a string of JSON, which comes with its quotes, replaced in the same
 * way. */
void bundle_hash_name(const char *text, size_t size,
                      const unsigned char key[BUNDLE_KEY], struct buffer *out);

#endif
