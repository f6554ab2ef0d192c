/*
 * prof_halves.h - a large raw profile, read on two cores: each half by itself.
 */
#ifndef HW_PROF_HALVES_H
#define HW_PROF_HALVES_H

struct heap_dump;

/* NULL: it is to be read as one, for it is small, no file that was cut in two,
 * or wrong somewhere. */
struct heap_dump *prof_halves_dump(int fd);

#endif
