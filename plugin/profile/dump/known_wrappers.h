/*
 * known_wrappers.h - the allocation functions of well-known databases, which
 * count as the allocator's (wrappers.h) without being named by the user.
 *
 * A user's list that begins with "none" switches them off.
 */
#ifndef HW_KNOWN_WRAPPERS_H
#define HW_KNOWN_WRAPPERS_H

/* Those of program (a path), as a list of wrappers.h; "" where it has none, or
 * where list (NULL: empty) is the user's and says "none". */
const char *known_wrappers(const char *program, const char *list);

#endif
