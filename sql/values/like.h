/* like.h - MySQL's LIKE: % and _, escapes; letters as they compare
 * (collate.h). */
#ifndef HW_LIKE_H
#define HW_LIKE_H

#include "reader.h"

enum { LIKE_PATTERN_MAX = 256 }; /* bytes; a longer one matches nothing */

/* _ is one UTF-8 character.  No recursion: at worst text times pattern. */
bool like_match(struct span text, struct span pattern, char escape);
/* The same for bytes, with case. */
bool like_match_binary(struct span text, struct span pattern, char escape);

#endif
