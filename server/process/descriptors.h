/* descriptors.h - which inherited descriptors heapwired keeps. */
#ifndef HW_DESCRIPTORS_H
#define HW_DESCRIPTORS_H

#include <stdbool.h>

/* First of all: closes everything but stderr (stdin and stdout become
 * /dev/null), ignores SIGPIPE, makes files private, and raises the limit of
 * descriptors as far as it goes.  Returns a duplicate of the former stdin, the
 * caller's; -1 if keep_stdin is false, or it was closed. */
int descriptors_prepare(bool keep_stdin);

/* After the start: drops the database's descriptors, its stderr included. */
void descriptors_leave_stdio(bool keep_stderr);

#endif
