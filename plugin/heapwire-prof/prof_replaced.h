/*
 * prof_replaced.h - whether a raw profile's files are still those that it was
 * taken of.
 */
#ifndef HW_PROF_REPLACED_H
#define HW_PROF_REPLACED_H

struct mappings;

/* Says on stderr which are not, and that binary is another build than the file
 * it stands for, of the profile in path. */
void prof_replaced_tell(const struct mappings *maps, const char *binary,
                        const char *path);

#endif
