/*
 * shared_fds.h - our descriptors in a table that the host shares with us
 * (shared_fds_...), or in one of the thread's own (own_table_...).
 *
 * A host may close any descriptor of its table, or copy the table into a forked
 * child.  So the agent records its descriptors and checks which file a number
 * refers to.  It records nothing in a table of its own.
 */
#ifndef HW_SHARED_FDS_H
#define HW_SHARED_FDS_H

#include <stdbool.h>
#include <sys/types.h>

enum { SHARED_FDS_MAX = 16 }; /* of more, a forked child keeps some */

/* The file that a descriptor refers to; zeroed if it is not open. */
struct shared_fds_file {
    dev_t device;
    ino_t inode;
};
struct shared_fds_file shared_fds_file_of(int fd);
/* True if fd is open and refers to file. */
bool shared_fds_file_is(int fd, struct shared_fds_file file);

void shared_fds_begin(void);        /* begins recording */
bool shared_fds_is_recording(void); /* whether it records */
void shared_fds_add(int fd);
void shared_fds_drop(int fd);
/* In a forked child: closes recorded descriptors that still refer to the same
 * file. */
void shared_fds_close_all(void);

/* Leaves the host's table for a copy, and closes all in it but the standard
 * descriptors and kept (-1: none).  calls: those of enum confined_call that the
 * thread's filters allow.  False: they do not allow it, or the kernel does not.
 */
bool own_table_enter(unsigned calls, int kept);
/* Opens /dev/null as 0-2 where the host has closed them, so that ours get other
 * numbers; with replace, also in place of the host's.  -1 with errno:
 * /dev/null cannot be opened. */
int own_table_null(bool replace);

#endif
