/*
 * prof_index.h - heapwire-prof --index: makes a program's symbol index.
 *
 * For packagers: shipped beside the program, it names addresses on hosts that
 * have no debug information, and in microseconds on those that do.
 */
#ifndef HW_PROF_INDEX_H
#define HW_PROF_INDEX_H

struct error;
struct prof_command;

/* Makes the index of the command's one argument, where it says, with the help
 * of symbolizer, and says on stdout how large it is; on stderr, if it has
 * symbols only, for want of debug information. */
int prof_index_make(const char *symbolizer, const struct prof_command *command,
                    struct error *err);

#endif
