/* descriptors.h - which inherited descriptors heapwired keeps. */
#ifndef HW_DESCRIPTORS_H
#define HW_DESCRIPTORS_H

#include <stdbool.h>

/* First of all: closes everything but stderr (stdin and stdout become
 * /dev/null), ignores SIGPIPE, makes files private, and raises the limit of
 * descriptors as far as it goes.  Each of kept that is not -1 is such a number,
 * and becomes a duplicate, the caller's; -1 if it was closed. */
void descriptors_prepare(int kept[2]);

/* After the start: drops the database's descriptors, its stderr included. */
void descriptors_leave_stdio(bool keep_stderr);

#endif
