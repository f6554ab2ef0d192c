/*
 * prof_index.h - heapwire-prof --index: makes a program's symbol index.
 *
 * For packagers: an index shipped beside the program names addresses on hosts
 * without debug information, and takes microseconds on hosts with it.
 */
#ifndef HW_PROF_INDEX_H
#define HW_PROF_INDEX_H

struct error;
struct prof_command;

/* Makes the index of the command's one argument, at its output, with the help
 * of symbolizer.  Prints its size to stdout; if it has symbols only, for lack
 * of debug information, says so on stderr. */
int prof_index_make(const char *symbolizer, const struct prof_command *command,
                    struct error *err);

#endif
