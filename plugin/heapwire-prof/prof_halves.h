/* prof_halves.h - reads a large raw profile on two cores, a half on each. */
#ifndef HW_PROF_HALVES_H
#define HW_PROF_HALVES_H

struct heap_dump;

/* NULL: read it as a whole, because it is small, cannot be split, or is wrong
 * somewhere. */
struct heap_dump *prof_halves_dump(int fd);

#endif
