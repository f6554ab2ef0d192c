/*
 * shared_fds.h - our descriptors in a table that the host shares with us.
 *
 * A host may close any number of its table, or copy all into a fork's child.
 * So the agent records what it opens there, and checks which file a number
 * means.  In a table of our own nothing is recorded.
 */
#ifndef HW_SHARED_FDS_H
#define HW_SHARED_FDS_H

#include <stdbool.h>
#include <sys/types.h>

enum { SHARED_FDS_MAX = 16 };

/* Which file a descriptor means; zeroed when it is not open. */
struct shared_fds_file {
    dev_t device;
    ino_t inode;
};
struct shared_fds_file shared_fds_file_of(int fd);
/* Whether fd is open and means file. */
bool shared_fds_file_is(int fd, struct shared_fds_file file);

void shared_fds_begin(void); /* from here on, record */
void shared_fds_add(int fd);
void shared_fds_drop(int fd);
/* In a fork's child: closes what was recorded and still means the same file. */
void shared_fds_close_all(void);

#endif
