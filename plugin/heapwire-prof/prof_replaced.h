/* prof_replaced.h - checks that a raw profile's files are still the same. */
#ifndef HW_PROF_REPLACED_H
#define HW_PROF_REPLACED_H

struct mappings;

/* Warns on stderr of replaced files, and if binary is another build than the
 * file that it stands for.  path is the profile's. */
void prof_replaced_tell(const struct mappings *maps, const char *binary,
                        const char *path);

#endif
