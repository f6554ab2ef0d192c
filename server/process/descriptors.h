/*
 * descriptors.h - what a process inherits, and what heapwired keeps of it.
 */
#ifndef HW_DESCRIPTORS_H
#define HW_DESCRIPTORS_H

#include <stdbool.h>

/* First of all: closes everything but stderr (stdin and stdout become
 * /dev/null), ignores SIGPIPE, makes files private, and raises the limit of
 * descriptors as far as it goes.  What stdin was, under another number, which
 * is the caller's; -1 where that is not wanted, or was closed. */
int descriptors_prepare(bool keep_stdin);

/* Once started: nothing of the database's is kept, its stderr included. */
void descriptors_leave_stdio(bool keep_stderr);

#endif
