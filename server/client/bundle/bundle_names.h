/* bundle_names.h - names of functions, made unreadable. */
#ifndef HW_BUNDLE_NAMES_H
#define HW_BUNDLE_NAMES_H

#include <stddef.h>

struct buffer;

enum { BUNDLE_KEY = 32 };

/* Appends calls()'s JSON with each name of its lists "names" and "modules"
 * replaced by a keyed digest: equal names stay equal.  Kept are "", "all" and
 * what stands in one pair of parentheses or brackets, which is no function;
 * " (inline)" stays behind its name.  Its title and notes, which may tell
 * names, are left out. */
void bundle_hash_names(const char *json, size_t size,
                       const unsigned char key[BUNDLE_KEY], struct buffer *out);

/* Appends a string of JSON, with its quotes, replaced likewise. */
void bundle_hash_name(const char *text, size_t size,
                      const unsigned char key[BUNDLE_KEY], struct buffer *out);

#endif
