/*
 * prof_check.h - checks that the files given to heapwire-prof belong together.
 */
#ifndef HW_PROF_CHECK_H
#define HW_PROF_CHECK_H

#include <stdbool.h>
#include <stddef.h>

struct error;
struct mappings;
struct prof_command;
struct profile;

/* Whether the file that begins with these bytes is a snapshot. */
bool prof_check_is_snapshot(const char *text, size_t size);

/* Checks that binary is a program: not a directory or a device, nor (if path, a
 * later profile's, is not NULL) itself a profile.  -1 with *err. */
int prof_check_binary(const char *binary, const char *path, struct error *err);

/* Checks that both profiles are of one program, as far as known.  -1 with *err,
 * which names both paths. */
int prof_check_program(const struct profile *now, const char *now_path,
                       const struct profile *base, const char *base_path,
                       struct error *err);

/* Warns on stderr if files of a raw profile were replaced, or if binary is
 * another build than the file that it stands for.  path is the profile's. */
void prof_check_replaced(const struct mappings *maps, const char *binary,
                         const char *path);

/* heapwire-prof --index makes a program's symbol index.
 * For packagers: an index shipped beside the program names addresses on hosts
 * without debug information, and takes microseconds on hosts with it. */

/* Makes the index of the command's one argument, at its output, with the help
 * of symbolizer.  Prints its size to stdout; if it has symbols only, for lack
 * of debug information, says so on stderr. */
int prof_index_make(const char *symbolizer, const struct prof_command *command,
                    struct error *err);

#endif
